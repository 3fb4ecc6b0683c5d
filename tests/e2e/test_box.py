#!/usr/bin/env python3
"""`isolation: box`: what a job has in its box, that it is kept as any other is (exit, signal, kill, files, outputs), that nothing
of it stays, and that a machine whose kernel gives no box takes no job. What a box keeps from it: test_hostile_job.py. TAP."""
import ctypes
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, RUNNERS, Daemon, Site, Skip, main, test, until  # noqa: E402

AT = "2026-03-01T00:00:00Z"
ENDS = ("Succ", "StopSchedule", "Killed", "Hanged")
NUMBERS = iter(range(1000))
UNSHARE = {"x86_64": 272}.get(os.uname().machine, 97)
LANDLOCK = 444  # landlock_create_ruleset, on every machine
WITHOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_call.py")


def begin(s, script, type_="shell", group="box", keys=(), **params):
    name = f"w{next(NUMBERS)}"
    s.apply(f"workflow: {name}\nproject: one\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n  t:\n    type: {type_}\n"
            f"    group: {group}\n    cycle: day\n    catchup: {{mode: all}}\n    retry: {{attempts: 1}}\n" + "".join(f"    {k}: {v}\n" for k, v in dict(keys).items())
            + "    params:\n" + "".join(f"      {k}: {json.dumps(str(v))}\n" for k, v in dict(params, script=script).items()), **{"from": "2026-03-01"})
    return f"one/{name}/t"


def over(s, task):
    i = s.wait_state(task, AT, ENDS, 60)
    return s.get(f"/api/v1/instances/{i['id']}")


def said(s, script, state="Succ", **more):
    i = over(s, begin(s, script, **more))
    assert i["state"] == state, (i, s.history(i["id"]), s.log_of(i["id"]))
    text = s.log_of(i["id"])
    return text if isinstance(text, str) else text.decode()


@test
def a_job_in_a_box_has_its_own_processes_and_places(s):
    text = said(s, "id -u; echo procs $(ls -d /proc/[0-9]* | wc -l); pwd; echo tmp $TMPDIR; touch /tmp/a /var/tmp/b /dev/shm/c here; ls $TMPDIR; ls -a; "
                   "ls $SIRDAR_FILES; ls $(dirname $SIRDAR_FILES) | wc -l; grep -E '^(CapEff|Seccomp|NoNewPrivs)' /proc/self/status; echo pid $$$$")
    assert re.search(r"^590\d\d$", text, re.M) and re.search(r"^procs [3-9]$", text, re.M), text
    assert re.search(r"^a\nb\nc$", text, re.M) and re.search(r"^here$", text, re.M), text
    assert re.search(r"^CapEff:\s+0+$", text, re.M) and re.search(r"^Seccomp:\s+2$", text, re.M) and re.search(r"^NoNewPrivs:\s+1$", text, re.M), text
    assert int(re.search(r"^pid (\d+)$", text, re.M)[1]) < 10, text
    place = re.search(r"^tmp (.*)/tmp$", text, re.M)[1]
    assert sorted(os.listdir(place)) in ([], ["tmp"]) and not os.path.exists("/tmp/a"), os.listdir(place)
    assert "here" not in said(s, "ls; ls /tmp")  # nor for the next one


@test
def its_end_its_signal_and_its_outputs_are_told_as_of_any_job(s):
    for script, what in (("exit 7", "7"), ("kill -9 $$$$", "-9"), ("exec /nowhere/program", "127")):
        i = over(s, begin(s, script))
        assert i["state"] == "StopSchedule" and f"'exit_code': {what}" in str(s.history(i["id"])) + str(i), (script, i, s.history(i["id"]))
    i = over(s, begin(s, "echo 'sirdar:output n=42'", keys={"outputs": "[n]"}))
    assert i["state"] == "Succ" and i["outputs"]["n"] == "42", i


@test
def a_kill_has_its_grace_and_leaves_nothing(s):
    mark = f"4242{os.getpid()}"
    task = begin(s, f"trap 'echo bye; exit 3' TERM; setsid sleep {mark} & echo up; while :; do sleep 0.05; done")

    def left():
        return [p for p in filter(str.isdigit, os.listdir("/proc")) if mark.encode() in (open(f"/proc/{p}/cmdline", "rb").read() if os.path.exists(f"/proc/{p}/cmdline") else b"")]
    i = until("it runs", lambda: (i := s.instance(task, AT)) and i["state"] == "Running" and s.ask("GET", f"/api/v1/instances/{i['id']}/log")[0] == 200
              and "up" in str(s.log_of(i["id"])) and i, 60)
    s.sirdar("kill", task, "2026-03-01", "--yes")
    assert s.wait_state(task, AT, ENDS, 60)["state"] in ("Killed", "StopSchedule")
    assert "bye" in str(s.log_of(i["id"])), s.log_of(i["id"])
    until("nothing is left", lambda: not left(), 60)


@test
def a_warm_interpreter_forks_no_job_out_of_its_box(s):
    if BIN.resolve().is_relative_to("/tmp"):
        raise Skip("this build is below /tmp, which a box hides, and the type's program with it")
    text = said(s, "import os\nprint('procs', len([p for p in os.listdir('/proc') if p.isdigit()]), 'parent', os.getppid())", type_="python")
    assert re.search(r"procs [23] parent [012]", text), text


def landlocked(s):
    """A broker of its own for what follows: the same jobs, bound by the kernel's Landlock."""
    if ctypes.CDLL(None).syscall(LANDLOCK, None, 0, 1) < 6:
        raise Skip("this kernel's Landlock does not scope signals (Linux 6.12)")
    if "bound" not in s.brokers:
        s.add_broker("bound", types=("shell:8", "python:2"), groups="bound", job_uids="59060-59069", work_dir=s.dir / "bound-work", isolation="landlock")


@test
def a_job_that_landlock_binds_works_and_ends_as_any_other(s):
    landlocked(s)
    text = said(s, "sleep 100 & kill $!; wait $!; echo child $?; sh -c 'kill -TERM $PPID' & trap 'echo self' TERM; wait; wait; "
                   "sleep 100 & ls /proc/$!/fd | wc -l; echo 'sirdar:output n=42'; grep NoNewPrivs /proc/self/status", group="bound", keys={"outputs": "[n]"})
    assert "child 143" in text and "self" in text and re.search(r"^[1-9]$", text, re.M) and re.search(r"NoNewPrivs:\s+1", text), text
    i = over(s, begin(s, "exit 7", group="bound"))
    assert "'exit_code': 7" in str(s.history(i["id"])) + str(i), i
    mark = f"4243{os.getpid()}"
    task = begin(s, f"setsid sleep {mark} & echo up; sleep {mark}", group="bound")
    until("it runs", lambda: (i := s.instance(task, AT)) and i["state"] == "Running", 60)
    s.sirdar("kill", task, "2026-03-01", "--yes")
    assert s.wait_state(task, AT, ENDS, 60)["state"] in ("Killed", "StopSchedule")
    until("nothing is left", lambda: not [p for p in s.pids("sleep") if mark.encode() in open(f"/proc/{p}/cmdline", "rb").read()], 60)


@test
def two_jobs_of_one_project_that_landlock_binds_do_not_signal_each_other(s):
    landlocked(s)
    gate = s.dir / "data" / "gate"
    task = begin(s, f"echo $$$$ > {gate}.new; mv {gate}.new {gate}; while [ ! -e {gate}.go ]; do sleep 0.1; done", group="bound")
    pid = until("it runs", lambda: gate.exists() and gate.read_text().strip(), 60)
    for type_, script in (("shell", f"kill -0 {pid} && echo signals; kill -9 {pid}; cat /proc/{pid}/environ && echo reads; readlink /proc/{pid}/fd/1 && echo looks; id -u; echo over"),
                          ("python", f"import os\nfor n in (0, 9):\n    try:\n        os.kill({pid}, n)\n        print('signals')\n    except PermissionError:\n        pass\nprint('over')")):
        text = said(s, script, type_=type_, group="bound")
        assert "over" in text and not re.search("signals|reads|looks", text), (type_, text)
    assert os.stat(f"/proc/{pid}").st_uid in range(59060, 59070)
    (s.dir / "data" / "gate.go").touch()
    assert over(s, task)["state"] == "Succ"


@test
def where_the_kernel_gives_no_box_the_broker_does_not_begin_and_says_why(s):
    s.add_key("none")
    sets = s.broker_sets("none", ("shell:2",), groups="none", job_uids="59080-59089", work_dir=s.dir / "none-work", isolation="box")
    done = s.run([sys.executable, WITHOUT, str(UNSHARE), *s.argv("taskbroker", sets)])
    assert done.returncode != 0 and "isolation: box: the kernel refuses namespaces of users" in done.stderr, done
    sets["isolation"] = "landlock"
    done = s.run([sys.executable, WITHOUT, str(LANDLOCK), *s.argv("taskbroker", sets)])
    assert done.returncode != 0 and "isolation: landlock: this kernel has no Landlock" in done.stderr, done


def make():
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")
    s = Site("box")
    s.base_sets.update(types_dir=BIN.parent / "types")
    s.base = Daemon(s, "baseserver", s.argv("baseserver", s.base_sets), r"baseserver\.up")
    s.base.start()
    s.start_cgi()
    (s.dir / "data").chmod(0o1777)
    s.add_broker("box", types=("shell:8", "python:2"), groups="box", job_uids="59070-59079", work_dir=s.dir / "box-work", isolation="box")
    return s


if __name__ == "__main__":
    sys.exit(main(make))
