#!/usr/bin/env python3
"""Runners of other languages: what each SDK's README says, walked literally from copy to a task under the
server; and what the `foreign` runner does with good, bad, dead and silent programs. TAP."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, RUNNERS, Site, Skip, gone, main, test, until  # noqa: E402

RUN = BIN / "sirdar-runner-run"
SDK = ROOT / "plugins-sdk"
HEAD = "project: foreign\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\n"
DAY = "2026-03-01T00:00:00Z"


def foreign_site():
    site = Site("foreign", types_dir="/nowhere")
    site.runners, types = site.dir / "runners", site.dir / "types"
    site.runners.mkdir()
    for so in ("noop.so", "foreign.so", "python.so", "java.so"):
        shutil.copy(RUNNERS / so, site.runners)
    shutil.copytree(BIN.parent / "types", types)
    site.types = types
    site.base_sets["types_dir"] = types
    site.base.argv = site.argv("baseserver", site.base_sets)
    return site.start(types=("noop:1",), runners_dir=site.runners)


def walk(site, language):
    """The commands of the README's only indented block, in one shell that ends at the first failure."""
    text = (SDK / language / "README.md").read_text()
    block = re.search(r"## Ten minutes\n.*?\n((?:    [^\n]*\n)+)", text, re.S).group(1)
    work = site.dir / language
    work.mkdir()
    done = site.run(["sh", "-exc", f"cd {work}\n{block}"], seconds=180, SIRDAR=str(ROOT), RUNNERS=str(site.runners),
                    TYPES=str(site.types), PATH=f"{BIN}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def run_task(site, name, kind, params="", states="Succ", seconds=60):
    site.apply(f"workflow: {name}\n{HEAD}tasks:\n  t: {{type: {kind}, cycle: day, catchup: {{mode: all}}, "
               f"params: {{{params}}}}}\n", **{"from": "2026-03-01"})
    return site.wait_state(f"foreign/{name}/t", DAY, states, seconds)


def stranger(site, language, kind, words):
    done = walk(site, language)
    assert all(w in done.stdout for w in words), done.stdout + done.stderr
    site.add_broker(f"b-{language}", types=(f"{kind}:4",), runners_dir=site.runners)
    i = run_task(site, language, kind, "times: 3")
    until("its log has come", lambda: f"hello world 3" in str(site.log_of(i["id"])), 60)


@test
def a_stranger_has_a_task_type_in_python(site):
    stranger(site, "python", "greet", ("hello world 1\n", "hello world 2\n"))


def need(*programs, heavy=False):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        raise Skip(f"this machine has no {', '.join(missing)}")
    if heavy and not os.environ.get("HEAVY"):
        raise Skip("HEAVY=1: Go first compiles its own library")


@test
def a_stranger_has_a_task_type_in_php(site):
    need("php")
    stranger(site, "php", "salute", ("hello world 1\n", "hello world 2\n"))


@test
def a_stranger_has_a_task_type_in_java(site):
    need("java", "javac", "jar")
    stranger(site, "java", "howdy", ("hello world 1\n", "hello world 2\n"))


@test
def a_stranger_has_a_task_type_in_go(site):
    need("go", heavy=True)
    stranger(site, "go", "hail", ("hello world 1\n", "hello world 2\n"))


@test
def each_sdk_passes_its_own_tests(site):
    for needs, heavy, folder, argv in (((), False, "python", [sys.executable, "-m", "unittest", "discover", "-s", "tests"]),
                                       (("php",), False, "php", ["php", "tests/test.php"]),
                                       (("javac",), False, "java", ["tests/run"]),
                                       (("go",), True, "go", ["go", "test", "./..."])):
        try:
            need(*needs, heavy=heavy)
        except Skip:
            continue  # said above
        done = site.run(["sh", "-c", 'cd "$0" && exec "$@"', SDK / folder, *argv], seconds=300,
                        PYTHONDONTWRITEBYTECODE="1", GOFLAGS="-mod=mod")
        assert done.returncode == 0, done.stdout + done.stderr


# --- a guest without an SDK, that does what its job says --------------------------------------------

ZOO = r'''
import json, os, signal, sys, time
stopping = 0
to = os.fdopen(4, "w")
def say(**m):
    to.write(json.dumps(m) + "\n"); to.flush()
def state(name):
    path = os.path.join(os.environ["STATE"], name)
    seen = os.path.exists(path); open(path, "w").close()
    return seen
for line in os.fdopen(3):
    m = json.loads(line)
    if m["op"] == "hello":
        if "HELLO" in os.environ:
            print(os.environ["HELLO"], file=to, flush=True)
        else:
            say(op="hello", protocol=1, concurrency=int(os.environ.get("AT_ONCE", "1")))
    elif m["op"] == "ping":
        say(op="pong", n=m["n"])
    elif m["op"] == "kill" and m["job"] == stopping:
        say(op="done", job=m["job"], exit_code=-15)
    elif m["op"] == "run":
        job, do = m["job"], m["params"].get("do", "")
        if do == "tell":
            print(json.dumps(m)); print("environ", dict(os.environ)); print("argv", open("/proc/self/cmdline").read())
            sys.stdout.flush()
        elif do == "die":
            print("I die", file=sys.stderr, flush=True); os.kill(os.getpid(), signal.SIGSEGV)
        elif do == "die once" and not state("died"):
            os._exit(3)
        elif do == "hang":
            signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)
        elif do == "eat":
            hold = []
            while True: hold.append(b"x" * (1 << 20))
        elif do in ("leave", "leave naked"):  # an orphan with a session of its own, and without the environment it was born with
            os.system(("env -i " if "naked" in do else "") + "setsid sh -c 'echo $$ >%s; exec sleep 600' >/dev/null 2>&1 3>&- 4>&- &" % os.path.join(os.environ["STATE"], "left"))
            while not os.path.exists(os.path.join(os.environ["STATE"], "left")) or not open(os.path.join(os.environ["STATE"], "left")).read(): time.sleep(0.01)
            os._exit(3)
        elif do == "who":
            limits = [x for x in open("/proc/self/limits") if x.startswith("Max open files")][0].split()[3]
            privileges = [x for x in open("/proc/self/status") if x.startswith("NoNewPrivs")][0].split()[1]
            mask = os.umask(0); os.umask(mask)
            print("I am", os.getresuid(), os.getresgid(), os.getgroups(), limits, privileges, oct(mask), flush=True)
        elif do == "babble":
            print("hello?", file=to, flush=True)
        elif do == "long":
            to.write('"' + "x" * 3000000); to.flush()
        elif do == "forget":
            continue
        elif do == "stop":
            stopping = job
            continue
        elif do.startswith("{"):
            print(do.replace("JOB", str(job)), file=to, flush=True)
        print("pid", os.getpid(), flush=True)
        say(op="output", job=job, name="pid", value=str(os.getpid()))
        say(op="done", job=job)
'''


def zoo(site, name="zoo", guest="", **env):
    """A type `name` of that guest in its own folder -> the manifest."""
    folder = site.dir / f"zoo-{name}"
    folder.mkdir(exist_ok=True)
    (folder / "zoo.py").write_text(ZOO)
    pairs = ", ".join(f"{k}: '{v}'" for k, v in dict(env, STATE=folder).items())
    path = folder / f"{name}.yaml"
    path.write_text(f"type: {name}\nothers: true\nrunner: foreign\nguest:\n  command: [python3, zoo.py]\n"
                    f"  environment: {{{pairs}}}\n{guest}params:\n  - {{name: key, type: text, secret: true}}\n")
    return path


def alone(site, manifest, params="", more="", *words):
    job = manifest.parent / "job.yaml"
    job.write_text(f"params: {{{params}}}\n{more}")
    return site.run([RUN, manifest, "--job", job, *words])


@test
def parameters_and_secrets_come_through_the_pipe_alone(site):
    done = alone(site, zoo(site), "do: tell, word: \"a\\\"b\\u00e4\", key: pw", "secrets: {pw: tulip}\n")
    assert done.returncode == 0, done
    told, environ, argv = [line for line in done.stdout.splitlines() if not line.startswith("pid")]
    assert '"pw": "tulip"' in told and '\\"b\\u00e4' in told and '"token": "' in told, told
    assert "tulip" not in environ + argv and "tell" not in environ + argv, environ + argv
    assert "SIRDAR_SITE" not in environ, environ  # nothing of the broker's


@test
def a_guest_that_dies_fails_its_job_as_infrastructure_with_its_last_words(site):
    done = alone(site, zoo(site), "do: die")
    assert done.returncode == 1 and "verdict infrastructure" in done.stderr, done
    assert "signal 11 (SIGSEGV), last words: I die" in done.stderr, done


@test
def a_guest_that_hangs_is_ended_and_says_why(site):
    done = alone(site, zoo(site, guest="  hang: 400ms\n"), "do: hang")
    assert "verdict infrastructure" in done.stderr and "it hangs: no word for 400 ms" in done.stderr, done


@test
def nonsense_gets_one_clear_error(site):
    for do, words in (("babble", "it said `hello?` on descriptor 4, want one JSON object a line"),
                      ("long", "a line of more than 1048576 bytes"),
                      ('{"op":"progress","job":JOB,"permille":2000}', "permille must be a whole number, 0 to 1000"),
                      ('{"op":"progess","job":JOB}', "op is 'progess', want hello progress log output done pong"),
                      ('{"op":"done","job":JOB,"verdict":"maybe"}', "want one of code retry fatal infra not_yet"),
                      ('{"op":"done","job":77}', "it speaks of job 77, which it was never given"),
                      ('{"op":"log","job":JOB}', "text is missing"),
                      ('{"op":"hello","protocol":1}', "it said hello twice")):
        done = alone(site, zoo(site), "do: '%s'" % do)
        assert "verdict infrastructure" in done.stderr and words in done.stderr, (do, done)


@test
def a_guest_that_cannot_begin_is_refused_with_the_reason(site):
    for guest, env, words in (("", {"HELLO": '{"op":"hello","protocol":9}'}, "it speaks protocol 9, this broker 1"),
                              ("", {"HELLO": '{"op":"pong","n":1}'}, "it began without a hello"),
                              ("  start: 300ms\n", {"HELLO": ""}, "no hello within 300 ms"),
                              ("  directory: ..\n", {}, "can't open file")):
        done = alone(site, zoo(site, guest=guest, **env))
        assert done.returncode == 78 and words in done.stderr, (words, done)


@test
def a_manifest_that_is_wrong_is_refused_with_its_place(site):
    path = zoo(site)
    good = path.read_text()
    for old, new, words in (("command:", "comand:", "zoo.yaml:5:3: guest has no key 'comand' (did you mean 'command'"),
                            ("python3", "pyhton3", "no program 'pyhton3' in PATH=/usr/local/sbin"),
                            ("[python3, zoo.py]", "python3", "zoo.yaml:5:12: guest.command is 'python3', want a list"),
                            ("runner: foreign", "runner: ../x", "runner is '../x', want the name of a plugin"),
                            ("guest:\n", "guest:\n  concurrency: 0\n", "guest.concurrency is '0', want a number, 1 to 1024")):
        path.write_text(good.replace(old, new))
        done = alone(site, path)
        assert done.returncode == 78 and words in done.stderr, (words, done)
    path.write_text(good)
    path.chmod(0o666)
    done = alone(site, path)
    path.chmod(0o644)
    assert done.returncode == 78 and "anyone may write this file" in done.stderr, done


@test
def a_job_that_is_told_to_stop_stops_or_is_ended_by_force(site):
    done = alone(site, zoo(site), "do: forget", "grace: 300ms\n", "--kill-after", "0.2")
    assert "exit code -9" in done.stderr and "ended by force: it did not stop" in done.stderr, done
    done = alone(site, zoo(site), "do: stop", "grace: 60s\n", "--kill-after", "0.2")
    assert "exit code -15" in done.stderr, done


# --- under the server ----------------------------------------------------------------------------------

@test
def jobs_share_a_process_and_a_death_is_the_infrastructures(site):
    path = zoo(site, "crowd", "  concurrency: 2\n", AT_ONCE=8)
    shutil.copy(path.parent / "zoo.py", site.runners)
    for folder in (site.runners, site.types):
        shutil.copy(path, folder)
    site.add_broker("b-crowd", types=("crowd:4",), runners_dir=site.runners)
    first = run_task(site, "c1", "crowd")
    second = run_task(site, "c2", "crowd")
    pids = [re.search(r"pid (\d+)", until("its log", lambda i=i: str(site.log_of(i["id"])), 60)).group(1)
            for i in (first, second)]
    assert pids[0] == pids[1], pids
    again = run_task(site, "c3", "crowd", "do: die once")
    assert again["state"] == "Succ", again
    assert "exit 3" in str(site.history(again["id"])), site.history(again["id"])


def held(site, name, guest="", **broker):
    """That zoo as a type with one process a job, on a broker of its own."""
    path = zoo(site, name, guest)
    path.parent.chmod(0o1777)
    path.write_text(path.read_text().replace("  command: [python3, zoo.py]", f"  directory: {path.parent}\n  command: [python3, zoo.py]"))
    for folder in (site.runners, site.types):
        shutil.copy(path, folder)
    site.add_broker(f"b-{name}", types=(f"{name}:4",), runners_dir=site.runners, **broker)
    return path.parent


@test
def a_guest_is_the_user_of_its_manifest_with_the_limits_of_a_job(site):
    if os.geteuid() != 0:
        raise Skip("needs root: guests of other users")
    held(site, "other", "  user: nobody\n", users="nobody", job_files_max=123, job_umask="027")
    i = run_task(site, "other", "other", "do: who")
    text = until("its log", lambda: str(site.log_of(i["id"])), 60)
    assert "I am (65534, 65534, 65534) (65534, 65534, 65534) [65534] 123 1 0o27" in text, text
    (site.runners / "stranger.yaml").write_text("type: stranger\nrunner: foreign\nguest: {command: [python3], user: daemon}\n")
    site.add_broker("b-stranger", types=("stranger:1",), runners_dir=site.runners, wait=False, users="nobody")
    until("the refusal is shown", lambda: [
        t for b in site.get("/api/v1/brokers")["brokers"] for t in b["types"]
        if t["type"] == "stranger" and t["state"] == "refused" and "guest.user is 'daemon', want one of" in str(t)], 60)


def groups_hold(site, name, what):
    """Does this host let the jobkeeper hold that? What it says, the guests' holder finds too."""
    said = re.search(rf"limits: .*{what}=(\d)", site.brokers[f"b-{name}"].text())
    return said and said.group(1) != "0"


@test
def a_guest_over_its_memory_dies_alone_and_its_job_says_why(site):
    held(site, "eater", "  memory: 64MiB\n")
    if not groups_hold(site, "eater", "memory"):
        raise Skip("no cgroup of memory that we may use")
    pids = [re.search(r"pid (\d+)", until("its log", lambda: str(site.log_of(run_task(site, f"eater{k}", "eater")["id"])), 60)).group(1) for k in (1, 2)]
    assert pids[0] == pids[1], pids  # it stays, while it is well
    site.apply(f"workflow: eater3\n{HEAD}tasks:\n  t: {{type: eater, cycle: day, catchup: {{mode: all}}, params: {{do: eat}}}}\n", **{"from": "2026-03-01"})
    until("the reason is shown", lambda: (i := site.instance("foreign/eater3/t", DAY)) and
          "was ended: over its memory of 67108864 bytes" in str(site.history(i["id"])), 60)
    site.sirdar("kill", "foreign/eater3/t", "2026-03-01", "--yes")
    site.wait_state("foreign/eater3/t", DAY, ("Killed", "StopSchedule"), 60)
    assert run_task(site, "eater4", "eater")["state"] == "Succ"


@test
def what_left_a_guest_is_ended_with_it(site):
    for name, groups in (("leaver", "auto"), ("descent", "off")):
        folder = held(site, name, cgroup=groups)
        do = "leave naked" if " cgroup=/" in site.brokers[f"b-{name}"].text() else "leave"
        site.apply(f"workflow: {name}\n{HEAD}tasks:\n  t: {{type: {name}, cycle: day, catchup: {{mode: all}}, params: {{do: {do}}}}}\n", **{"from": "2026-03-01"})
        until("the reason is shown", lambda: (i := site.instance(f"foreign/{name}/t", DAY)) and "exit 3" in str(site.history(i["id"])), 60)
        site.sirdar("kill", f"foreign/{name}/t", "2026-03-01", "--yes")
        site.wait_state(f"foreign/{name}/t", DAY, ("Killed", "StopSchedule"), 60)
        for pid in (folder / "left").read_text().split():
            until(f"{name}: {pid} is gone", lambda pid=pid: gone(pid), 60)


@test
def a_type_that_is_wrong_is_refused_and_the_reason_is_shown(site):
    (site.runners / "wrong.yaml").write_text("type: wrong\nrunner: foreign\nguest: {command: [no-such-program]}\n")
    site.add_broker("b-wrong", types=("wrong:1",), runners_dir=site.runners, wait=False)
    until("the refusal is shown", lambda: [
        t for b in site.get("/api/v1/brokers")["brokers"] for t in b["types"]
        if t["type"] == "wrong" and t["state"] == "refused" and "no program 'no-such-program'" in str(t)], 60)


# --- the runner `python`: a process of the jobkeeper's that a warm interpreter forks ----------------------

WARM = "import os; print('warm' if b'zygote' in open('/proc/self/cmdline', 'rb').read() else 'cold')\n"


def python_job(site, name, script, wait=True, more="", stream="stdout", **keys):
    if "b-py" not in site.brokers:
        site.add_broker("b-py", types=("python:8",), runners_dir=site.runners, **site.job_users(foreign="nobody"))
    lines = "".join(f"        {line}\n" for line in script.splitlines())
    site.apply(f"workflow: {name}\n{HEAD}tasks:\n  t:\n    type: python\n    cycle: day\n    catchup: {{mode: all}}\n"
               + "".join(f"    {k}: {v}\n" for k, v in keys.items())
               + f"    params:\n      script: |\n{lines}{more}", **{"from": "2026-03-01"})
    if not wait:
        return None
    i = site.wait_state(f"foreign/{name}/t", DAY, ("Succ", "StopSchedule"), 60)
    until("its output is shipped", lambda: not os.listdir(site.dir / "b-py" / "logs"), 60)
    try:
        return i, str(site.log_of(i["id"], stream=stream))
    except AssertionError as e:
        raise AssertionError(f"{i} {site.history(i['id'])} {e}") from e


def place(site):
    """Where a job without a directory of its own works."""
    return site.dir / "work" / ("nobody" if os.geteuid() == 0 else "")


@test
def a_python_job_is_forked_from_a_warm_interpreter_and_is_as_one_of_its_own(site):
    more = "      arguments: [a b, '$[yyyyMMdd]']\n      environment: {COLOUR: green}\n      word: x\n"
    i, text = python_job(site, "py", WARM + "import sys\nprint(sys.argv[1:], os.environ['COLOUR'], os.environ['SIRDAR_PARAM_word'],\n"
                         "      os.environ['SIRDAR_TASK'], __name__, os.getcwd(), os.getsid(0) == os.getpid(), 'HOME' in os.environ)\n"
                         "print('::output n=5')\n", more=more)
    assert i["state"] == "Succ" and "warm" in text, (i, text)
    assert "['a b', '20260301'] green x foreign/py/t __main__" in text and f"{place(site)} True" in text, text
    i, text = python_job(site, "py7", WARM + "raise SystemExit(7)\n", retry="{attempts: 1}")
    assert i["state"] == "StopSchedule" and "exit" in str(site.history(i["id"])) and " 7" in str(site.history(i["id"])), i
    i, text = python_job(site, "pyx", "import nothing_of_that_name\n", stream="stderr", retry="{attempts: 1}")
    assert i["state"] == "StopSchedule" and "nothing_of_that_name" in text and "runpy" not in text, (i, text)
    i, text = python_job(site, "pycold", WARM, more="      environment: {PYTHONUNBUFFERED: '1'}\n")
    assert i["state"] == "Succ" and "cold" in text, (i, text)


@test
def a_line_of_a_python_job_is_in_its_log_while_it_runs_warm_and_cold(site):
    for name, is_warm in (("pysays", True), ("pysays2", False)):
        gate = site.dir / "data" / name
        script = f"import os, time\nprint('a first word')\nwhile not os.path.exists('{gate}'):\n    time.sleep(0.02)\nprint('over')\n"
        python_job(site, name, script, wait=False, more="" if is_warm else "      warm: false\n")
        i = until("it runs", lambda name=name: (f := site.instances(f"foreign/{name}/t")) and f[0]["state"] == "Running" and f[0], 60)
        until("it is there", lambda i=i: site.ask("GET", f"/api/v1/instances/{i['id']}/log") == (200, b"a first word\n"), 60)
        gate.write_text("")
        assert site.wait_state(f"foreign/{name}/t", DAY, ("Succ", "StopSchedule"), 60)["state"] == "Succ"


@test
def what_work_is_called_elsewhere_is_the_same_at_every_attempt_and_no_others(site):
    said = site.dir / "data" / "work"
    script = (f"import os\nwith open('{said}', 'a') as f: print(os.environ['SIRDAR_WORK_ID'], os.environ.get('SIRDAR_WORK_AGAIN'), file=f)\n"
              "print(1, flush=True)\nraise SystemExit(os.environ['SIRDAR_ATTEMPT'] == '1')\n")
    for name in ("work1", "work2"):
        i, _ = python_job(site, name, script, retry="{attempts: 2, delay: 0s}")
        assert i["state"] == "Succ" and i["attempt"] == 2, i
    words = [line.split() for line in said.read_text().splitlines()]
    assert [again for _, again in words] == ["None", "1", "None", "1"], words
    assert words[0][0] == words[1][0] != words[2][0] == words[3][0] and re.fullmatch(r"sirdar-[0-9a-f-]+", words[0][0]), words


@test
def a_python_job_of_another_user_is_that_user(site):
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")
    i, text = python_job(site, "pyuser", WARM + "print(os.getresuid(), os.getresgid(), os.getgroups())\n"
                         "try: os.listdir(%r)\nexcept PermissionError: print('private')\n"
                         "print([l for l in open('/proc/self/status') if 'NoNewPrivs' in l])" % str(site.dir / "b-py"), run_as="nobody")
    assert i["state"] == "Succ" and "(65534, 65534, 65534) (65534, 65534, 65534)" in text, (i, text)
    assert "warm" in text and "private" in text and re.search(r"NoNewPrivs:\W*t1", text), text


@test
def a_killed_python_job_is_dead_with_all_it_started(site):
    pids = site.dir / "data" / "py-pids"
    python_job(site, "pykill", f"import os, subprocess, time\n"
               "p = subprocess.Popen(['setsid', 'sh', '-c', 'trap \"\" TERM; sleep 600 & wait; sleep 600'])\n"
               f"open('{pids}.new', 'w').write(f'{{os.getpid()}} {{p.pid}}')\nos.rename('{pids}.new', '{pids}')\ntime.sleep(600)\n",
               wait=False)
    until("the job is there", pids.exists, 60)
    site.sirdar("kill", "foreign/pykill/t", "2026-03-01", "--yes")
    i = site.wait_state("foreign/pykill/t", DAY, ("Killed", "StopSchedule", "Succ", "Hanged"), 60)
    assert i["state"] == "Killed", i
    for pid in pids.read_text().split():
        until(f"{pid} is gone", lambda pid=pid: gone(pid), 60)


@test
def a_python_job_survives_its_broker_and_its_interpreter(site):
    begun, gate = site.dir / "data" / "py-begun", site.dir / "data" / "py-gate"
    python_job(site, "pylives", f"import os, time\nopen('{begun}', 'w').close()\nwhile not os.path.exists('{gate}'): time.sleep(0.05)\n"
               "print('lived', flush=True)\n", wait=False)
    until("it has begun", begun.exists, 60)
    site.brokers["b-py"].restart()
    site.wait_broker("b-py", ["python"], 60)
    gate.touch()
    i = site.wait_state("foreign/pylives/t", DAY, ("Succ", "StopSchedule"), 60)
    assert i["state"] == "Succ" and i["attempt"] == 1, i


@test
def a_java_job_runs_a_class_with_its_heap_and_options(site):
    need("java", "javac")
    folder = site.dir / "classes"
    folder.mkdir()
    (folder / "M.java").write_text("public class M { public static void main(String[] a) { System.out.println(a[0] + ' ' "
                                   "+ Runtime.getRuntime().maxMemory() / 1048576 + ' ' + System.getProperty(\"k\")); System.exit(3); } }\n")
    assert site.run(["javac", folder / "M.java"]).returncode == 0
    job = site.dir / "java.yaml"
    job.write_text(f"params: {{class: M, classpath: {folder}, heap: 64m, options: '[\"-XX:+UseSerialGC\", \"-Dk=v\"]', arguments: '[\"a b\"]'}}\n")
    done = site.run([RUN, RUNNERS / "java.so", "--job", job])
    assert re.match(r"a b [56]\d v$", done.stdout.strip()) and "exit code 3" in done.stderr, done


if __name__ == "__main__":
    sys.exit(main(foreign_site))
