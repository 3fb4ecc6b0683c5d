#!/usr/bin/env python3
"""The layout of the packages, below a root of its own: users of sysusers.d, places of tmpfiles.d, the
settings of packaging/examples, each daemon as its own user and with its unit's umask. TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, RUNNERS, Daemon, Site, Skip, main, test, until  # noqa: E402
from without_call import CLONE3  # noqa: E402

PACKAGING = ROOT / "packaging"
WITHOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_call.py")
PROGRAM = {"sirdar": "baseserver", "sirdar-cgi": "sirdar-cgi", "sirdar-notifier": "sirdar-notifier",
           "sirdar-broker": "taskbroker"}
FILE = {"sirdar": "baseserver", "sirdar-cgi": "cgi", "sirdar-notifier": "notifier", "sirdar-broker": "taskbroker"}
UIDS = f"{1500000 + os.getpid() * 4}-{1500003 + os.getpid() * 4}"  # the launcher ends all there is of a number: this run's own
READY = {"sirdar": r"baseserver\.up", "sirdar-cgi": r"cgi\.ready", "sirdar-notifier": r"notifier\.(up|ready)|link\.up|server\.up",
         "sirdar-broker": r"broker\.keeper_up"}


def ids(root, user):
    """-> uid, gid and the further groups, as the root's own files say."""
    rows = [line.split(":") for line in (root / "etc/passwd").read_text().splitlines()]
    uid, gid = next((int(r[2]), int(r[3])) for r in rows if r[0] == user)
    groups = [line.split(":") for line in (root / "etc/group").read_text().splitlines()]
    return uid, gid, [int(g[2]) for g in groups if user in g[3].split(",")]


def as_user(root, user, *argv):
    uid, gid, more = ids(root, user)
    groups = ",".join(map(str, more))
    return [shutil.which("setpriv"), f"--reuid={uid}", f"--regid={gid}", f"--groups={groups}" if more else "--clear-groups",
            "--no-new-privs", "sh", "-c", 'umask 077; exec "$@"', "sh", *map(str, argv)]


def as_root(*argv):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (argv, done.stdout, done.stderr)
    return done.stdout


def layout(s):
    """Users, places and settings; ports and the plugins' directory are this run's."""
    root = s.root = Path(s.short.name)
    for d in ("etc", "usr/lib/sysusers.d", "usr/lib/tmpfiles.d"):
        (root / d).mkdir(parents=True)
    for d in ("sysusers", "tmpfiles"):
        shutil.copy(PACKAGING / f"{d}.d/sirdar.conf", root / f"usr/lib/{d}.d")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    as_root("systemd-sysusers", f"--root={root}", "sirdar.conf")
    as_root("systemd-tmpfiles", f"--root={root}", "--create", "sirdar.conf")
    for name in FILE.values():
        text = (PACKAGING / f"examples/{name}.yaml").read_text()
        for place in ("/etc/sirdar", "/var/lib/sirdar"):
            text = text.replace(place, f"{root}{place}")
        text = text.replace("127.0.0.1:7420", f"127.0.0.1:{s.port}").replace("127.0.0.1:7480", f"127.0.0.1:{s.http}")
        text = text.replace("/usr/local/lib/sirdar/runners", str(RUNNERS)).replace("# name: etl-1", "name: broker #")
        if name == "cgi":
            text += f'state_dir: {root}/var/lib/sirdar/cgi\nweb_dir: ""\n'
        if name == "notifier":
            text += f"state_dir: {root}/var/lib/sirdar/notifier\nname: notifier\n"
        if name == "taskbroker":
            text += "load_max_percent: 100000\ndisk_free_min_bytes: 1048576\n"
        if name == "baseserver":
            text += "disk_free_min_bytes: 1048576\n"
        (root / f"etc/sirdar/{name}.yaml").write_text(text)
    channels = root / "etc/sirdar/channels.yaml"
    channels.touch(0o600)
    channels.write_text("channels: {}\n")
    os.chown(channels, *ids(root, "sirdar-notifier")[:2])


def jobkeeper(s):
    """Its service's command line, with this run's places, and its users and capabilities."""
    unit = (PACKAGING / "systemd/sirdar-jobkeeper.service").read_text()
    line, = (row.partition("=")[2] for row in unit.splitlines() if row.startswith("ExecStart="))
    place = s.root / "run/sirdar-jobs"  # RuntimeDirectory=
    place.mkdir(parents=True)
    uid, gid, _ = ids(s.root, "sirdar-launch")
    os.chown(place, uid, gid)
    line = line.replace("@prefix@/bin", str(BIN)).replace("59000-59999", UIDS)
    for path in ("/etc/sirdar", "/var/lib/sirdar", "/run/sirdar-jobs"):
        line = line.replace(f"={path}", f"={s.root}{path}")
    for user in ("sirdar-keeper", "sirdar-broker"):
        line = line.replace(f"={user} ", "=%d:%d " % ids(s.root, user)[:2])
    rights, = (row.partition("=")[2] for row in unit.splitlines() if row.startswith("AmbientCapabilities="))
    rights = ",".join("+" + r[len("CAP_"):].lower() for r in rights.split())
    argv = as_user(s.root, "sirdar-launch", *line.split())
    return argv[:3] + [f"--inh-caps=-all,{rights}", f"--ambient-caps={rights}", f"--bounding-set=-all,{rights}"] + argv[3:]


def key_add(s, name, file):
    """For one release still: root's shell, the server's program, the peer's file."""
    return subprocess.run(["sh", "-c", f'umask 077; "$0" -c {s.root}/etc/sirdar/baseserver.yaml --set keys_file={s.root}/etc/sirdar/keys key-add {name} > {s.root}/etc/sirdar/{file}',
                           str(BIN / "baseserver")], capture_output=True, text=True, timeout=60)


def owner(path):
    st = path.stat()
    return st.st_uid, f"{st.st_mode & 0o7777:04o}"


@test
def key_add_of_root_leaves_every_key_its_owner(s):
    for name, file, user in (("cgi", "cgi.key", "sirdar-cgi"), ("notifier", "notifier.key", "sirdar-notifier"),
                             ("broker", "broker.key", "sirdar-broker")):
        done = key_add(s, name, file)
        assert done.returncode == 0, done
        assert owner(s.root / "etc/sirdar" / file) == (ids(s.root, user)[0], "0600")
    keys = s.root / "etc/sirdar/keys"
    assert owner(keys) == (ids(s.root, "sirdar")[0], "0600"), owner(keys)
    assert len(keys.read_text().splitlines()) == 3
    keys.rename(keys.with_suffix(".kept"))  # it makes one too
    assert key_add(s, "late", "late.key").returncode == 0
    assert owner(keys) == (ids(s.root, "sirdar")[0], "0600"), owner(keys)
    keys.with_suffix(".kept").rename(keys)


@test
def key_add_of_the_servers_user_says_who_can(s):
    done = s.run(as_user(s.root, "sirdar", BIN / "baseserver", "-c", s.root / "etc/sirdar/baseserver.yaml",
                         "--set", f"keys_file={s.root}/etc/sirdar/keys", "key-add", "more"))
    assert done.returncode != 0 and "run it as root" in done.stderr, done


def enrol_as_the_manual_says(s):
    """Its lines as they stand there, by root; and a notifier in the same way."""
    text = (ROOT / "docs/book/en/install.md").read_text()
    lines = re.findall(r"^    (baseserver .*? admin .*?|[a-z-]+ -c \S+ enrol CODE)(?: +#.*)?$", text[text.index("systemd-sysusers;"):].split("\n\n")[0], re.M)
    assert len(lines) == 6, lines
    lines += [re.sub(r"\bcgi --kind face|\bcgi(?= --fing)", lambda m: m[0].replace("cgi", "notifier").replace("face", "notifier"), line)
              .replace("sirdar-cgi -c /etc/sirdar/cgi", "sirdar-notifier -c /etc/sirdar/notifier") for line in lines[:3]]
    said = {"CODE": "", "KEY": ""}
    for line in lines:
        line = line.replace("/etc/sirdar", f"{s.root}/etc/sirdar").replace('"$(hostname)"', "broker")
        words = [said.get(w, w) for w in line.split()]
        done = s.run([BIN / words[0], *words[1:]])
        assert done.returncode == 0, (line, done)
        if done.stdout:
            said["KEY" if "enrol" in words else "CODE"] = done.stdout.strip()
    for user, place in (("sirdar-cgi", "cgi"), ("sirdar-notifier", "notifier"), ("sirdar-broker", "taskbroker")):
        own = s.root / f"var/lib/sirdar/{place}/own.key"
        assert owner(own) == (ids(s.root, user)[0], "0600"), (own, owner(own))
    assert owner(s.root / "var/lib/sirdar/baseserver/admin.sock") == (ids(s.root, "sirdar")[0], "0600")
    for user in ("sirdar-cgi", "sirdar-broker", "sirdar-keeper"):
        done = s.run(as_user(s.root, user, BIN / "baseserver", "-c", s.root / "etc/sirdar/baseserver.yaml", "admin", "list"))
        assert done.returncode == 77, (user, done)


@test
def each_daemon_starts_as_its_own_user_and_a_job_runs(s):
    keeper = Daemon(s, "jobkeeper", [sys.executable, WITHOUT, CLONE3] + jobkeeper(s), r"keeper\.ready")
    s.brokers["jobkeeper"] = keeper.start()
    assert os.stat(f"/proc/{keeper.pid}").st_uid in (0, ids(s.root, "sirdar-keeper")[0])  # not dumpable: root's
    for user in PROGRAM:
        # As in the units, whose RestrictNamespaces= takes clone3 from all that it is set for.
        d = Daemon(s, FILE[user], [sys.executable, WITHOUT, CLONE3] + as_user(s.root, user, BIN / PROGRAM[user], "-c", s.root / f"etc/sirdar/{FILE[user]}.yaml"), READY[user])
        s.brokers[user] = d.start()
        assert os.stat(f"/proc/{d.pid}").st_uid == ids(s.root, user)[0]
        if user == "sirdar":
            enrol_as_the_manual_says(s)
    made = s.run([BIN / "baseserver", "-c", s.root / "etc/sirdar/baseserver.yaml", "admin", "token", "test"])
    assert made.returncode == 0, made
    s.token = made.stdout.strip()
    first = s.root / "var/lib/sirdar/baseserver/first-password"
    assert owner(first) == (ids(s.root, "sirdar")[0], "0600"), owner(first)
    for user in ("sirdar-cgi", "sirdar-broker", "sirdar-notifier"):
        assert s.run(as_user(s.root, user, "cat", first)).returncode != 0, user
    until("the cgi is up", s.up)
    s.wait_broker("broker", ["shell"])
    s.command("project-trust", project="p")  # new ones are not: packaged brokers give projects no users of their own
    s.apply("workflow: w\nproject: p\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n  t:\n    type: shell\n"
            "    cycle: day\n    catchup: {mode: all}\n    params: {script: \"id -u; echo hello\"}\n", **{"from": "2026-03-01"})
    i = s.wait_state("p/w/t", "2026-03-01T00:00:00Z", ("Succ", "StopSchedule"), 60)
    assert i["state"] == "Succ", (i, s.history(i["id"]))
    text = str(s.log_of(i["id"]))
    assert "hello" in text and UIDS.split("-", maxsplit=1)[0] in text, text
    assert (s.root / "var/lib/sirdar/launch/job_uids").read_text() == UIDS.split("-", maxsplit=1)[0] + " p\n"
    says = {b["name"]: b["separates"] for b in s.get("/api/v1/brokers")["brokers"]}
    assert says == {"broker": "yes"}, says


@test
def a_job_is_nobody_of_the_packages_and_comes_to_no_place_of_theirs(s):
    root, keeper = s.root, s.brokers["jobkeeper"].pid
    script = f"for p in {root}/etc/sirdar/*.key {root}/var/lib/sirdar/*; do head -c 1 $p >/dev/null 2>&1 && echo read $p; ls $p >/dev/null 2>&1 && test -d $p && echo list $p; done; kill -0 {keeper} 2>/dev/null && echo kills; echo over"
    s.apply("workflow: v\nproject: q\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n  t:\n    type: shell\n"
            f"    cycle: day\n    catchup: {{mode: all}}\n    params:\n      script: |\n        {script}\n", **{"from": "2026-03-01"})
    i = s.wait_state("q/v/t", "2026-03-01T00:00:00Z", ("Succ", "StopSchedule"), 60)
    assert i["state"] == "Succ", (i, s.history(i["id"]))
    assert s.log_of(i["id"]) == b"over\n", s.log_of(i["id"])


@test
def the_http_face_reads_the_store_and_neither_writes_it_nor_reads_a_key(s):
    base, db = s.root / "var/lib/sirdar/baseserver", "sirdar.db"
    assert owner(base)[1] == "2750" and owner(base / db)[1] == "0640", (owner(base), owner(base / db))
    for name in os.listdir(base):
        if not name.startswith(db):
            assert os.stat(base / name).st_mode & 0o077 == 0 or os.path.isdir(base / name), name
    for user in ("sirdar-cgi", "sirdar-notifier"):
        def may(flag, path, user=user):
            return s.run(as_user(s.root, user, "test", flag, path)).returncode == 0
        for path in (base, *(base / f"{db}{end}" for end in ("", "-wal", "-shm"))):
            assert may("-r", path) and not may("-w", path), (user, path)
        for path in (s.root / "etc/sirdar/keys", s.root / "etc/sirdar/broker.key", s.root / "var/lib/sirdar/joblogs",
                     s.root / "var/lib/sirdar/taskbroker"):
            assert not may("-r", path), (user, path)


@test
def a_face_that_only_reads_follows_the_store_over_checkpoints_and_a_restart(s):
    def names():
        return {i["task"] for i in s.get("/api/v1/instances?limit=500")["items"]}
    for k in range(3):
        s.apply(f"workflow: more{k}\nproject: p\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-20\n"
                "tasks:\n  t: {type: noop, cycle: day, catchup: {mode: all}}\n", **{"from": "2026-03-01"})
        until("it shows", lambda k=k: f"p/more{k}/t" in names())
        server, face = s.brokers["sirdar"], s.brokers["sirdar-cgi"]
        if k == 2:  # what a clean end leaves has no log and no index beside it
            assert server.stop() == 0
            face.restart()
            server.start()
        else:
            server.restart(hard=k == 1)
        until("it is back", s.up)
        assert f"p/more{k}/t" in names()


def site():
    if os.geteuid() != 0:
        raise Skip("needs root: users of their own")
    for tool in ("systemd-sysusers", "systemd-tmpfiles", "setpriv"):
        if not shutil.which(tool):
            raise Skip(f"no {tool} here")
    s = Site("packaged")
    # A socket's path has 108 bytes, and those below the root are long.
    s.short = tempfile.TemporaryDirectory(prefix="sp-", dir="/tmp")
    os.chmod(s.short.name, 0o755)
    layout(s)
    return s


if __name__ == "__main__":
    sys.exit(main(site))
