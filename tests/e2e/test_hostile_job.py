#!/usr/bin/env python3
"""A job that would have what is not its project's (nasty/tricks.py), beside another project's job with a secret:
where the broker is root, or a launcher starts jobs for one that is not, nothing of it passes; else what passes is
what the manual says. TAP."""
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Daemon, Site, Skip, main, test, until  # noqa: E402
from lent import BROKER, Lent, as_user, missing as lent_missing, place, status  # noqa: E402

HERE = Path(os.path.dirname(os.path.abspath(__file__)))
AT = "2026-03-01T00:00:00Z"
# docs/book/en/jobs.md, "As whom jobs run": with one user for all, all of it is everybody's.
BARE = re.compile(r"read_(key|machine|state|journal|epoch|output|place|file|work|files|secrets)$|write_(state|work|place|files)$"
                  r"|hard_link_to_the_key|move_the_victims_place|victims_|link_where"
                  r"|(kill|limits_of)_(broker|keeper|loader)$|(trace|descriptors_of|kill|limits_of|environment_of)_victim$|socket_keeper$|cgroup_"
                  r"|(mount_in|root_of)_a_namespace_of_its_own$|userfaultfd$|keyring$|calls_of_another_machine$")


# What the kernel's Landlock stops; that a descriptor is there (victims_descriptors) it does not hide, but what it is of.
INTO_PROCESSES = re.compile(r"(kill|trace|descriptors_of|environment_of)_|victims_(?!directory$|descriptors$)")
LANDLOCK = 444  # landlock_create_ruleset, on every machine


def workflow(s, project, name, script, group):
    s.apply(f"workflow: {name}\nproject: {project}\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n"
            f"  t:\n    type: shell\n    group: {group}\n    cycle: day\n    catchup: {{mode: all}}\n    params:\n      script: |\n"
            + "".join(f"        {line}\n" for line in script.splitlines()), **{"from": "2026-03-01"})
    return f"{project}/{name}/t"


def place_of(pid):
    return os.readlink(f"/proc/{pid}/cwd")


# What another job of one project has where each is in a box: its place is memory that nothing outside it is shown.
BOXED = ("place", "file", "work", "files", "files_place")


def facts(s, name, victim, word, lent=None, in_box=False):
    """All that is there to be taken from a job on that broker."""
    state = Path(lent.state) if lent else s.dir / name
    keeper = lent.process.pid if lent else s.pids("jobkeeper", state)[0]
    loader = s.pids("taskrunner-loader", f"name={name}")[0]
    place, files = place_of(victim), Path(lent.base) / "files" if lent else s.dir / f"{name}-files"
    token = next((p for p in Path(files).iterdir()), files)
    group = next((line.rstrip().split(":", 2)[2] for line in open(f"/proc/{victim}/cgroup", encoding="ascii") if "sirdar" in line), "")
    cgroup = next((f"{r}{group}" for r in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") if group and os.path.isdir(f"{r}{group}")), "")
    target = s.dir / f"{name}-target"
    target.mkdir(exist_ok=True)
    base, own = s.dir / "base", s.dir / name
    kept = Path(lent.base) / "launch/job_uids" if lent else state / "job_uids"
    # Files lie in a directory that nobody may list: the victim's own is asked for by name.
    more = {"keeper_socket_place": own, "places": Path(lent.base) / "jobs", "files_place": files, "lines": Path(lent.base) / "launch"} if lent else {}
    told = {
        "word": word[::-1], "victim": victim, "victim_uid": os.stat(f"/proc/{victim}").st_uid, "place": place,
        "key": str(s.dir / f"{name}.key"), "cgroup": cgroup, "target": str(target), "target_uid": 0,
        "read": {k: str(v) for k, v in {
            "key": s.dir / f"{name}.key", "keys_file": s.dir / "keys", "store": base / "sirdar.db", "wal": base / "sirdar.db-wal",
            "vault": s.dir / "secrets.key", "base": base, "cgi": s.dir / "cgi", "cgi_token": s.dir / "token", "joblogs": s.dir / "joblogs",
            "machine": own / "machine", "state": state, "journal": state / "keeper.journal", "epoch": own / "epoch.shell",
            "output": state / "logs", "uids": kept, "place": place, "file": f"{place}/secret", "work": f"{place}/tmp",
            "files": files, "secrets": token, **more}.items()},
        "write": {"plugins": os.environ.get("B", "/usr/lib"), "base": str(base), "state": str(state), "work": str(s.dir / f"{name}-work"),
                  "place": place, "files": str(files), "map": str(kept), "logs": str(s.dir / "joblogs"), **{k: str(v) for k, v in more.items()}},
        "processes": {"broker": s.brokers[name].pid, "keeper": keeper, "loader": loader, "victim": victim, "server": s.base.pid,
                      "cgi": s.cgi.pid, "init": 1, **({"launcher": lent.launcher()} if lent else {})},
        "sockets": {"keeper": str(state / "keeper.sock"), "docker": "/var/run/docker.sock", "containerd": "/run/containerd/containerd.sock",
                    "bus": "/run/dbus/system_bus_socket", "systemd": "/run/systemd/private"},
    }
    if in_box:  # its own is there by the same names
        # Below /tmp the way to its place is its own too.
        boxed = BOXED + ("places",) if str(s.dir).startswith(("/tmp/", "/var/tmp/")) else BOXED
        there = {what: f"/proc/{victim}/root{told['read'][what]}" for what in boxed if what in told["read"]}
        told["place"] = there["place"]
        for which in ("read", "write"):
            told[which].update({what: path for what, path in there.items() if what in told[which]})
        del told["processes"]["init"]  # process 1 is its own there
    return told


def victim_of(word):
    """The victim, as this machine numbers it: the one of its processes that only sleeps."""
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if word.encode() in Path(f"/proc/{pid}/environ").read_bytes() and Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
                return pid
        except OSError:
            continue
    return None


def tried_in_a_box(s, name, lent=None):
    """-> what passed of a job in a box against another job of its project in its own."""
    word = "secret" + os.urandom(8).hex()
    task = workflow(s, "victim", f"victim-{name}", f"export SECRET={word}\nexport w={word}\necho {word} >secret\necho {word} >$TMPDIR/other\necho {word} >/tmp/third\n"
                    f"exec sleep 100000\n", name)
    victim = until("the victim runs", lambda: victim_of(word), 60)
    told = facts(s, name, victim, word, lent, in_box=True)
    told["read"].update({"tmp": "/tmp/third", "shm": f"/proc/{victim}/root/dev/shm/other"})
    script = "cat >tricks.py <<'END_OF_TRICKS'\n" + (HERE / "nasty/tricks.py").read_text() + "\nEND_OF_TRICKS\n" \
             + "cat >facts.json <<'END_OF_FACTS'\n" + json.dumps(told) + "\nEND_OF_FACTS\nexec python3 -u tricks.py facts.json"
    hostile = workflow(s, "victim", f"hostile-{name}", script, name)
    i = s.wait_state(hostile, AT, ("Succ", "StopSchedule", "Killed", "Hanged"), 120)
    assert i["state"] == "Succ", (s.history(i["id"]), s.log_of(i["id"], stream="stderr"))
    text = str(s.log_of(i["id"]))
    count, passed = int(re.search(r"tried (\d+)", text)[1]), set(re.findall(r"passed (\w+)", text))
    assert count >= 69, text
    assert victim_of(word) == victim
    s.sirdar("kill", task, "2026-03-01", "--yes")
    s.wait_state(task, AT, ("Killed", "StopSchedule"), 60)
    until("all of it is gone", lambda: not os.path.exists(f"/proc/{victim}"), 60)
    say_passed(name, count, passed)
    return passed


TABLE = {}


def say_passed(name, count, passed):
    TABLE[name] = passed
    print(f"# {name}: {len(passed)} of {count} tricks passed: {' '.join(sorted(passed))}", flush=True)


def tried(s, name, lent=None):
    """-> what passed on that broker, of two runs, the second after what the first left."""
    word = "secret" + os.urandom(8).hex()
    hold, seen = s.dir / "data" / f"{name}-hold", s.dir / "data" / f"{name}-victim"
    victim = workflow(s, "victim", f"victim-{name}", f"export SECRET={word}\nw={word}\necho {word} >secret\n"
                      f"sh -c 'echo $$$$ >{seen}.new; mv {seen}.new {seen}; while [ ! -e {hold} ]; do sleep 0.1; done'\n", name)
    until("the victim runs", seen.exists, 60)
    path = s.dir / "data" / f"{name}.json"
    path.write_text(json.dumps(facts(s, name, int(seen.read_text()), word, lent)))
    passed = set()
    for n in (1, 2):
        task = workflow(s, "hostile", f"hostile-{name}{n}", f"exec python3 -u {s.dir}/data/tricks.py {path}", name)
        i = s.wait_state(task, AT, ("Succ", "StopSchedule", "Killed", "Hanged"), 120)
        assert i["state"] == "Succ", (i, s.log_of(i["id"], stream="stderr"))
        text = str(s.log_of(i["id"]))
        count = int(re.search(r"tried (\d+)", text)[1])
        assert count >= 69, text
        passed |= set(re.findall(r"passed (\w+)", text))
    hold.touch()
    assert s.wait_state(victim, AT, ("Succ", "StopSchedule", "Killed"), 60)["state"] == "Succ"
    say_passed(name, count, passed)
    return passed


@test
def where_the_broker_is_root_no_trick_of_a_job_passes(s):
    s.add_broker("uid", types=("shell:8",), groups="uid", job_uids="59000-59009", work_dir=s.dir / "uid-work")
    passed = tried(s, "uid")
    assert not passed, passed


@test
def in_a_box_no_trick_passes_against_another_job_of_its_project(s):
    s.add_broker("box", types=("shell:8",), groups="box", job_uids="59010-59019", work_dir=s.dir / "box-work", isolation="box")
    passed = tried_in_a_box(s, "box")
    assert not passed, passed


@test
def in_a_box_that_a_launcher_starts_no_trick_passes_either(s):
    k = add_lent(s, "lentbox", isolation="box")
    passed = tried_in_a_box(s, "lentbox", k)
    assert not passed, passed
    assert k.stop() == 0, k.logged()[-2000:]


@test
def without_a_box_jobs_of_one_project_have_each_other(s):
    """Else that none passes in a box would say nothing."""
    s.add_broker("same", types=("shell:8",), groups="same", job_uids="59020-59029", work_dir=s.dir / "same-work")
    passed = tried_in_a_box(s, "same")
    want = {"read_file", "read_place", "victims_environment", "kill_victim", "victims_directory", "read_tmp"}
    assert want <= passed, want - passed


def add_lent(s, name, **more):
    """A broker that is not root, and a jobkeeper with a launcher, each a user of its own as their services are."""
    why = lent_missing()
    if why:
        raise Skip(why)
    s.add_key(name)
    for path in (s.dir / name, s.dir / f"{name}-work"):
        place(path, BROKER, 0o700)
    os.chown(s.dir / f"{name}.key", BROKER, BROKER)
    s.lent = Lent(str(BIN / "jobkeeper"), str(s.dir / f"{name}-lent"))
    sets = s.broker_sets(name, ("shell:8",), groups=name, work_dir=s.dir / f"{name}-work", keeper_dir=s.lent.state, **more)
    for unwanted in ("jobs_as_root", "files_dir"):
        sets.pop(unwanted, None)
    d = s.brokers[name] = Daemon(s, name, as_user(BROKER, *s.argv("taskbroker", sets)), r"broker\.keeper_up")
    d.start()
    s.wait_broker(name, ["shell"])
    return s.lent


@test
def where_a_launcher_starts_jobs_no_trick_passes_and_no_daemon_of_the_machine_is_root(s):
    k = add_lent(s, "lent")
    passed = tried(s, "lent", k)
    assert not passed, passed
    for pid in (k.process.pid, k.launcher(), *s.pids("taskbroker", "name=lent"), *s.pids("taskrunner-loader", "name=lent")):
        assert "0" not in status(pid)["Uid"].split() + status(pid)["Gid"].split(), status(pid)
    says = {b["name"]: b["separates"] for b in s.get("/api/v1/brokers")["brokers"]}
    assert says["lent"] == "yes", says
    assert k.stop() == 0, k.logged()[-2000:]


def add_bare(s, name, **more):
    """A broker of a user without rights, whose jobs are that user's too."""
    s.add_key(name)
    for path in (s.dir / name, s.dir / f"{name}-work", s.dir / f"{name}-files"):
        path.mkdir(0o700)
        os.chown(path, 65534, 65534)
    os.chown(s.dir / f"{name}.key", 65534, 65534)
    sets = s.broker_sets(name, ("shell:8",), groups=name, work_dir=s.dir / f"{name}-work", **more)
    sets.pop("jobs_as_root")
    d = s.brokers[name] = Daemon(s, name, [shutil.which("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups",
                                           *s.argv("taskbroker", sets)], r"broker\.keeper_up")
    d.start()
    s.wait_broker(name, ["shell"])


@test
def with_landlock_a_job_of_the_same_user_looks_into_and_signals_nobody_elses_processes(s):
    """What is left is what files, limits and namespaces of that user are."""
    if ctypes.CDLL(None).syscall(LANDLOCK, None, 0, 1) < 6:
        raise Skip("this kernel's Landlock does not scope signals (Linux 6.12)")
    add_bare(s, "landlock", isolation="landlock")
    passed = tried(s, "landlock")
    more = {p for p in passed if not BARE.match(p)}
    assert not more and "read_key" in passed, more
    assert not {p for p in passed if INTO_PROCESSES.match(p)}, passed


@test
def where_it_is_not_what_passes_is_what_the_manual_says(s):
    """Else a machine would keep less from jobs than people were told."""
    add_bare(s, "bare")
    passed = tried(s, "bare")
    assert {p for p in passed if INTO_PROCESSES.match(p)} >= {"kill_broker", "kill_victim", "environment_of_victim", "victims_memory"}, passed
    more = {p for p in passed if not BARE.match(p)}
    assert not more and "read_key" in passed, more


@test
def a_box_where_projects_are_not_separated_is_refused_with_the_cure(s):
    for sets, words in (({}, "set keeper_dir, job_uids or job_users_file"), ({"isolation": "bocks"}, "isolation is 'bocks', want uid, landlock or box")):
        argv = s.argv("taskbroker", dict(s.broker_sets("bare", ("shell:1",)), isolation="box") | sets)
        done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=120, env=s.env)
        assert done.returncode == 78 and words in done.stderr, done


@test
def the_tricks_do_pass_where_jobs_are_root(s):
    """Else that none passes would say nothing."""
    s.add_broker("root", types=("shell:8",), groups="root", work_dir=s.dir / "root-work")
    passed = tried(s, "root")
    want = {f"read_{what}" for what in ("key", "keys_file", "store", "vault", "cgi", "joblogs", "journal", "file", "secrets")}  # output: gone once it is handed in
    want |= {"victims_environment", "victims_memory", "victims_descriptors", "victims_directory", "kill_server", "kill_keeper", "kill_victim",
             "write_state", "write_base", "socket_keeper", "hard_link_to_the_key", "move_the_victims_place", "setuid", "root_already",
             "accounts", "at_and_cron", "keyring", "userfaultfd", "mount_in_a_namespace_of_its_own", "limits_of_victim", "environment_of_broker"}
    assert want <= passed, want - passed
    print_table()


def print_table():
    """Who gets at what: a row for each trick that passed anywhere."""
    columns = [c for c in ("uid", "lent", "box", "lentbox", "same", "landlock", "bare", "root") if c in TABLE]
    print("# trick" + " " * 40 + " ".join(f"{c:>8}" for c in columns))
    for name in sorted(set().union(*TABLE.values())):
        print(f"# {name:<44} " + " ".join(f"{'passed' if name in TABLE[c] else '-':>8}" for c in columns), flush=True)


def make():
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")
    s = Site("hostile")
    (s.dir / "secrets.key").touch(0o600)
    (s.dir / "secrets.key").write_text(os.urandom(32).hex() + "\n")
    s.base_sets["secrets_key_file"] = s.dir / "secrets.key"
    s.base = Daemon(s, "baseserver", s.argv("baseserver", s.base_sets), r"baseserver\.up")
    s.env["SIRDAR_WORD"] = "never-a-jobs"
    s.base.start()
    s.start_cgi()
    (s.dir / "data").chmod(0o1777)
    shutil.copy(HERE / "nasty/tricks.py", s.dir / "data")
    return s


if __name__ == "__main__":
    sys.exit(main(make))
