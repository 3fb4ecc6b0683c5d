#!/usr/bin/env python3
"""Programs of neighbouring releases together, in the order of docs/upgrade.md. The later releases
are built by `make next` (tests/upgrade). TAP."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import mariadb  # noqa: E402
import test_chaos as chaos  # noqa: E402
import test_ha  # noqa: E402
from harness import BIN, ROOT, TESTS, Site, Skip, main, test, until  # noqa: E402

NOW = 2  # of this release's protocol
TESTS.clear()  # those of chaos and ha: only their sites, load and judge are wanted here


def later(program, by=1):
    return str(BIN.parent / f"next{by}" / "bin" / program)


def build_next():
    flavour = BIN.parent.name
    if "-" in flavour:
        raise Skip("later releases are built without sanitizers only")
    made = [os.path.relpath(BIN.parent / f"next{n}" / "made", ROOT) for n in (1, 2)]
    done = subprocess.run(["make", "-s", f"CC={flavour}", *made], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def becomes(daemon, by):
    """The same daemon with the program of another release; by=0: of this one."""
    name = os.path.basename(daemon.argv[0])
    daemon.stop()
    daemon.argv[0] = later(name, by) if by else str(BIN / name)
    daemon.start()


def greeted(daemon, name):
    """The version of the protocol agreed on with a peer, since the daemon started."""
    found = re.findall(rf"session\.greeted .*name={name} .*protocol=(\d+)", daemon.text(daemon.mark))
    return int(found[-1]) if found else 0


def runs(s):
    """A workflow from apply to the last row, by what is there now."""
    until("the face has the server", s.up, 60)
    s.wait_broker("b1", ["shell"])
    s.load.more()
    until("jobs end", lambda: s.load.ends() > 0, 60)


def schema_of(s):
    import sqlite3
    base = sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True)
    try:
        return base.execute("PRAGMA user_version").fetchone()[0]
    finally:
        base.close()


def refused(s, argv, *words):
    done = s.run(argv)
    said = (done.stderr + done.stdout).strip()
    assert done.returncode != 0 and all(w in said for w in words), (done.returncode, said)
    assert len(said.splitlines()) == 1, said


@test
def brokers_one_release_ahead_work_for_the_server_and_the_other_way_round(s):
    runs(s)
    was = schema_of(s)
    becomes(s.brokers["b1"], 1)
    runs(s)
    assert greeted(s.base, "b1") == NOW
    # The server follows, in the middle of the work; the face and the broker of before stay.
    becomes(s.brokers["b1"], 0)
    becomes(s.base, 1)
    assert schema_of(s) == was + 1
    runs(s)
    assert greeted(s.base, "b1") == NOW
    becomes(s.brokers["b1"], 1)
    becomes(s.cgi, 1)
    runs(s)
    assert greeted(s.base, "b1") == NOW + 1 and greeted(s.base, "cgi") == NOW + 1
    chaos.judge(s, s.load)


@test
def the_way_back_by_one_release_is_open(s):
    """What the next release has migrated, this one's programs take up again."""
    becomes(s.cgi, 0)
    becomes(s.base, 0)
    runs(s)
    chaos.judge(s, s.load)
    becomes(s.brokers["b1"], 0)
    runs(s)
    chaos.judge(s, s.load)


@test
def what_is_two_releases_apart_is_refused_in_one_line(s):
    until("nothing is left to do", lambda: chaos.alive(s) == 0, 60)
    becomes(s.base, 2)
    # The face and the broker are of this release: neither the schema nor the protocol is theirs.
    broker = s.brokers["b1"]
    until("the broker is refused by name", lambda: re.search(
        rf"speaks protocol {NOW - 1} to {NOW}, this server {NOW + 1} to {NOW + 2}", broker.text()), 60)
    assert not greeted(s.base, "b1")
    s.base.stop()
    s.cgi.stop()
    refused(s, [BIN / "baseserver", *s.base.argv[1:]], "it is more than one release behind", "schema")
    refused(s, [BIN / "sirdar", "db", "check", f"sqlite:{s.dir}/base"], "schema")
    # The release between may.
    becomes(s.base, 1)
    becomes(broker, 1)
    becomes(s.cgi, 1)
    s.wait_broker("b1", ["shell"])
    runs(s)
    chaos.judge(s, s.load)


class MysqlPair(test_ha.Pair):
    lock_is_lease = False

    def __init__(self):
        self.database = mariadb.MariaDB(flush=0)
        self.database.sql("CREATE DATABASE sirdar")
        super().__init__("upgrade", store=self.database.url("sirdar", timeout=3))

    def close(self):
        try:
            super().close()
        finally:
            self.database.close()

    def schema(self):
        return int(self.database.sql("SELECT MAX(number) FROM lb_migration", "sirdar"))


@test
def a_standby_one_release_ahead_migrates_and_the_leader_goes_on(_):
    if not mariadb.program("mariadbd"):
        print("# not shown: no mariadbd")
        return
    with MysqlPair() as s:
        s.begin()
        s.load = chaos.Load(s, s.dir / "data/load", minutes=10)
        runs(s)
        was = s.schema()
        s.base2.stop()
        s.base2.argv[0] = later("baseserver", 2)
        s.base2.start(wait=False)
        assert s.base2.proc.wait(60) != 0
        assert "it is more than one release behind; stop it first" in s.base2.text(s.base2.mark)
        assert s.schema() == was and s.leader() is s.base
        becomes(s.base2, 1)
        assert s.schema() == was + 1
        # Its connections too are made anew on the schema ahead of it.
        for line in s.database.sql("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = 'sirdar'").split():
            s.database.sql(f"KILL {line}")
        runs(s)
        assert s.leader() is s.base
        chaos.judge(s, s.load)
        # The leader is stopped: the one that waits leads; the old one may even come back and wait.
        s.base.stop()
        until("the next release leads", lambda: s.leader() is s.base2, 60)
        s.base.start(wait=False)
        until("the old one waits", lambda: s.base.has(r"standby\.waits", s.base.mark), 60)
        runs(s)
        s.base2.stop()
        until("the old one leads again", lambda: s.leader() is s.base, 60)
        runs(s)
        chaos.judge(s, s.load)


def make():
    build_next()
    s = Site("upgrade")
    try:
        s.start(("shell:12",), retry_max_ms=100)
        s.load = chaos.Load(s, s.dir / "data/load", minutes=10)
    except BaseException:
        s.close()
        raise
    return s


if __name__ == "__main__":
    sys.exit(main(make))
