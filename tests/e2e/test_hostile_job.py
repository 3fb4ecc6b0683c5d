#!/usr/bin/env python3
"""A job that would have what is not its project's (nasty/tricks.py), beside another project's job with a secret:
where the broker is root nothing of it passes; where it is not, what passes is what the manual says. TAP."""
import json
import os
import re
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Daemon, Site, Skip, main, test, until  # noqa: E402

HERE = Path(os.path.dirname(os.path.abspath(__file__)))
AT = "2026-03-01T00:00:00Z"
# docs/manual.md, "As whom jobs run": with one user for all, all of it is everybody's.
BARE = re.compile(r"read_(key|machine|state|journal|epoch|output|place|file|work|files|secrets)$|write_(state|work|place|files)$"
                  r"|hard_link_to_the_key|move_the_victims_place|victims_|link_where"
                  r"|(kill|limits_of)_(broker|keeper|loader)$|(trace|descriptors_of|kill|limits_of|environment_of)_victim$|socket_keeper$|cgroup_"
                  r"|(mount_in|root_of)_a_namespace_of_its_own$|userfaultfd$|keyring$|calls_of_another_machine$")


def workflow(s, project, name, script, group):
    s.apply(f"workflow: {name}\nproject: {project}\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n"
            f"  t:\n    type: shell\n    group: {group}\n    cycle: day\n    catchup: {{mode: all}}\n    params:\n      script: |\n"
            + "".join(f"        {line}\n" for line in script.splitlines()), **{"from": "2026-03-01"})
    return f"{project}/{name}/t"


def place_of(pid):
    return os.readlink(f"/proc/{pid}/cwd")


def facts(s, name, victim, word):
    """All that is there to be taken from a job on that broker."""
    state = s.dir / name
    keeper, = s.pids("jobkeeper", state)
    loader = s.pids("taskrunner-loader", f"name={name}")[0]
    place, files = place_of(victim), s.dir / f"{name}-files"
    token = next((p for p in Path(files).iterdir()), files)
    group = next((line.rstrip().split(":", 2)[2] for line in open(f"/proc/{victim}/cgroup", encoding="ascii") if "sirdar" in line), "")
    cgroup = next((f"{r}{group}" for r in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") if group and os.path.isdir(f"{r}{group}")), "")
    target = s.dir / f"{name}-target"
    target.mkdir(exist_ok=True)
    base = s.dir / "base"
    return {
        "word": word[::-1], "victim": victim, "victim_uid": os.stat(f"/proc/{victim}").st_uid, "place": place,
        "key": str(s.dir / f"{name}.key"), "cgroup": cgroup, "target": str(target), "target_uid": 0,
        "read": {k: str(v) for k, v in {
            "key": s.dir / f"{name}.key", "keys_file": s.dir / "keys", "store": base / "sirdar.db", "wal": base / "sirdar.db-wal",
            "vault": s.dir / "secrets.key", "base": base, "cgi": s.dir / "cgi", "cgi_token": s.dir / "token", "joblogs": s.dir / "joblogs",
            "machine": state / "machine", "state": state, "journal": state / "keeper.journal", "epoch": state / "epoch.shell",
            "output": state / "logs", "uids": state / "job_uids", "place": place, "file": f"{place}/secret", "work": f"{place}/tmp",
            "files": files, "secrets": token}.items()},
        "write": {"plugins": os.environ.get("B", "/usr/lib"), "base": str(base), "state": str(state), "work": str(s.dir / f"{name}-work"),
                  "place": place, "files": str(files), "map": str(state / "job_uids"), "logs": str(s.dir / "joblogs")},
        "processes": {"broker": s.brokers[name].pid, "keeper": keeper, "loader": loader, "victim": victim, "server": s.base.pid,
                      "cgi": s.cgi.pid, "init": 1},
        "sockets": {"keeper": str(state / "keeper.sock"), "docker": "/var/run/docker.sock", "containerd": "/run/containerd/containerd.sock",
                    "bus": "/run/dbus/system_bus_socket", "systemd": "/run/systemd/private"},
    }


def tried(s, name):
    """-> what passed on that broker, of two runs, the second after what the first left."""
    word = "secret" + os.urandom(8).hex()
    hold, seen = s.dir / "data" / f"{name}-hold", s.dir / "data" / f"{name}-victim"
    victim = workflow(s, "victim", f"victim-{name}", f"export SECRET={word}\nw={word}\necho {word} >secret\n"
                      f"sh -c 'echo $$$$ >{seen}.new; mv {seen}.new {seen}; while [ ! -e {hold} ]; do sleep 0.1; done'\n", name)
    until("the victim runs", seen.exists, 60)
    path = s.dir / "data" / f"{name}.json"
    path.write_text(json.dumps(facts(s, name, int(seen.read_text()), word)))
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
    print(f"# {name}: {len(passed)} of {count} tricks passed: {' '.join(sorted(passed))}", flush=True)
    return passed


@test
def where_the_broker_is_root_no_trick_of_a_job_passes(s):
    s.add_broker("uid", types=("shell:8",), groups="uid", job_uids="59000-59009", work_dir=s.dir / "uid-work")
    passed = tried(s, "uid")
    assert not passed, passed


@test
def where_it_is_not_what_passes_is_what_the_manual_says(s):
    """Else a machine would keep less from jobs than people were told."""
    s.add_key("bare")
    for path in (s.dir / "bare", s.dir / "bare-work", s.dir / "bare-files"):
        path.mkdir(0o700)
        os.chown(path, 65534, 65534)
    os.chown(s.dir / "bare.key", 65534, 65534)
    sets = s.broker_sets("bare", ("shell:8",), groups="bare", work_dir=s.dir / "bare-work")
    sets.pop("jobs_as_root")
    d = s.brokers["bare"] = Daemon(s, "bare", [shutil.which("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups",
                                               *s.argv("taskbroker", sets)], r"broker\.keeper_up")
    d.start()
    s.wait_broker("bare", ["shell"])
    passed = tried(s, "bare")
    more = {p for p in passed if not BARE.match(p)}
    assert not more and "read_key" in passed, more


@test
def the_tricks_do_pass_where_jobs_are_root(s):
    """Else that none passes would say nothing."""
    s.add_broker("root", types=("shell:8",), groups="root", work_dir=s.dir / "root-work")
    passed = tried(s, "root")
    want = {f"read_{what}" for what in ("key", "keys_file", "store", "vault", "cgi", "joblogs", "journal", "file", "secrets", "output")}
    want |= {"victims_environment", "victims_memory", "victims_descriptors", "victims_directory", "kill_server", "kill_keeper", "kill_victim",
             "write_state", "write_base", "socket_keeper", "hard_link_to_the_key", "move_the_victims_place", "setuid", "root_already",
             "accounts", "at_and_cron", "keyring", "userfaultfd", "mount_in_a_namespace_of_its_own", "limits_of_victim", "environment_of_broker"}
    assert want <= passed, want - passed


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
