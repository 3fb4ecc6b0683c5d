#!/usr/bin/env python3
"""A database that is wrong: refused at the start in one line; at run time a clear state (health,
/readyz, `sirdar server status`) and work that goes on by itself when it is right again. TAP."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import mariadb  # noqa: E402
import test_chaos as chaos  # noqa: E402
from harness import TESTS, Site, Skip, main, test, until  # noqa: E402
from proxy import OldServer, Proxy  # noqa: E402

TESTS.clear()  # those of chaos: only its load and its judge are wanted here

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
HOUR = 3600


class WrongSite(Site):
    """The server is a user with rights on its own database only, as an installation has it."""

    def __init__(self):
        if not mariadb.program("mariadbd"):
            raise Skip("no mariadbd: packaging/deps.sh test")
        self.offset, env = None, {}
        if os.path.exists(FAKETIME):
            self.offset = tempfile.NamedTemporaryFile("w", prefix="sirdar-offset-", suffix=".txt")
            self.clock(0)
            env = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": self.offset.name,
                   "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        self.database = mariadb.MariaDB(env=env)
        self.database.sql("CREATE DATABASE sirdar; CREATE USER sirdar@127.0.0.1;"
                          "GRANT ALL ON sirdar.* TO sirdar@127.0.0.1")
        self.url = f"mysql://sirdar@127.0.0.1:{self.database.port}/sirdar?timeout=3"
        # The clock is looked at five times in two leases.
        super().__init__("wrong", store=self.url, epoch_ms=3000, lead_ms=4000)

    def clock(self, seconds):
        """What the database thinks the time is, from now on."""
        self.offset.seek(0)
        self.offset.write(f"{seconds:+07d}\n")
        self.offset.flush()

    def close(self):
        try:
            super().close()
        finally:
            self.database.close()
            if self.offset:
                self.offset.close()

    def problems(self):
        return self.get("/api/v1/server")["problems"]


def refused(s, store, *words):
    sets = {**s.base_sets, "store": store, "state_dir": s.dir / "other", "listen": "127.0.0.1:0"}
    done = s.run(s.argv("baseserver", sets))
    said = done.stderr + done.stdout
    assert done.returncode != 0 and all(w in said for w in words), (done.returncode, said)
    assert len(said.splitlines()) == 1, said


def plain(s, path):
    """As a probe asks: without a token."""
    import http.client
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=30)
    try:
        link.request("GET", path)
        answer = link.getresponse()
        return answer.status, answer.read().decode()
    finally:
        link.close()


def trouble(s, spoil, mend, *words):
    """While the database is spoilt the state says why; afterwards work goes on by itself."""
    load = s.load
    load.more()
    until("jobs run", lambda: chaos.alive(s))
    mark = len(s.base.text())
    spoil()
    try:
        def told():
            status, answer = s.ask("GET", "/api/v1/health")
            if status == 200 or any(w not in " ".join(answer["problems"]) for w in words):
                return None
            return answer
        answer = until("health says it", told, 60)
        assert answer["status"] == "failing" and not answer["store"]["ok"], answer
        status, text = plain(s, "/readyz")
        assert status == 503 and all(w in text for w in words), (status, text)
        assert plain(s, "/healthz")[0] == 200
        said = s.sirdar("server", "status").stdout
        assert "problem: the store refuses commits" in said and all(w in said for w in words), said
        lines = [x for x in s.base.text(mark).splitlines() if "ledger.store-down" in x]
        assert 1 <= len(lines) <= 3, lines
        assert s.base.proc.poll() is None
    finally:
        mend()
    at, began = load.ends(), time.monotonic()
    until("work goes on", lambda: load.ends() > at or not chaos.alive(s), 60)
    print(f"# work went on {time.monotonic() - began:.1f} s after the database was right again")
    until("it is ready", lambda: plain(s, "/readyz")[0] == 200, 60)
    assert s.base.text(mark).count("baseserver: ") == 0
    chaos.judge(s, load)


def throw_out(s):
    """Rights are looked up when a session begins."""
    s.database.sql("KILL USER sirdar@127.0.0.1")


@test
def an_old_server_is_refused_by_its_version(s):
    for version, words in (("5.5.68-MariaDB", "MariaDB 10.5"), ("10.4.34-MariaDB-log", "10.4.34"),
                           ("5.7.44-log", "MySQL 8.0"), ("4.1.22", "4.1.22")):
        old = OldServer(version)
        try:
            refused(s, f"mysql://root@127.0.0.1:{old.port}/x?timeout=5", version, words, "is needed")
        finally:
            old.close()


@test
def wrong_passwords_and_missing_grants_are_told_apart(s):
    at = f"127.0.0.1:{s.database.port}"
    for name, text in (("right", "secret"), ("wrong", "geheim")):
        path = s.dir / name
        path.write_text(text + "\n")
        path.chmod(0o600)
    s.database.sql("CREATE DATABASE empty_one; CREATE USER walled@127.0.0.1 IDENTIFIED BY 'secret'")
    refused(s, f"mysql://walled@{at}/empty_one?password_file={s.dir}/wrong", "Access denied for user 'walled'")
    refused(s, f"mysql://nobody@{at}/empty_one", "Access denied for user 'nobody'")
    refused(s, f"mysql://walled@{at}/empty_one?password_file={s.dir}/right", "to database 'empty_one'")
    for grant, missing in (("SELECT", "CREATE"), ("SELECT, CREATE", "INSERT"),
                           ("SELECT, CREATE, INSERT, UPDATE, DELETE, INDEX", "ALTER")):
        s.database.sql(f"CREATE OR REPLACE DATABASE empty_one; GRANT {grant} ON empty_one.* TO walled@127.0.0.1")
        refused(s, f"mysql://walled@{at}/empty_one?password_file={s.dir}/right", "empty_one", f"{missing} command denied")


@test
def a_schema_that_is_not_what_its_record_says_is_refused(s):
    """Schemas of other releases: test_upgrade.py."""
    s.database.sql("CREATE DATABASE versions; GRANT ALL ON versions.* TO sirdar@127.0.0.1")
    url = s.url.replace("/sirdar?", "/versions?")
    done = s.run([str(s.base.argv[0]).replace("baseserver", "sirdar-db"), "build", url, "--yes"])
    assert done.returncode == 0, done.stderr
    s.database.sql("UPDATE lb_migration SET number = 100 WHERE number = 2", "versions")
    refused(s, url, "lb_migration: number 2 is missing")
    s.database.sql("UPDATE lb_migration SET number = 2, checksum = 'x' WHERE number = 100", "versions")
    refused(s, url, "lb_migration: 2 is")


@test
def a_database_an_hour_off_is_named_at_the_start_and_while_it_runs(s):
    if not s.offset:
        raise Skip("no libfaketime: packaging/deps.sh test")
    load = s.load
    load.more()
    for sign, which in ((1, "ahead of this server's"), (-1, "behind this server's")):
        mark = len(s.base.text())
        s.clock(sign * HOUR)
        said = until("it is said", lambda which=which: [p for p in s.problems() if which in p], 60)
        assert said[0].startswith("the database's clock is 3"), said
        assert s.ask("GET", "/api/v1/health")[1]["status"] == "degraded"
        assert plain(s, "/readyz")[0] == 200  # it works all the same: nothing is timed by that clock
        assert "problem: the database's clock" in s.sirdar("server", "status").stdout
        until("it is logged", lambda mark=mark: s.base.has(r"warn lead\.clock off_s=-?3\d\d\d ", mark))
        if sign == 1:  # at the start, and with two servers: nobody takes a lease by that clock
            s.base.restart()
            until("it is said at the start", lambda: s.base.has(r"lead\.clock off_s=3", s.base.mark), 60)
        chaos.goes_on(s, load)
        load.more()
    s.clock(0)
    until("it is over", lambda: not s.problems(), 60)
    until("it is logged", lambda: s.base.has("the clocks agree again"))
    chaos.judge(s, load)


@test
def a_database_that_becomes_read_only_is_waited_for(s):
    trouble(s, lambda: s.database.sql("SET GLOBAL read_only = 1"),
            lambda: s.database.sql("SET GLOBAL read_only = 0"), "not allowed")


@test
def rights_that_are_taken_away_are_waited_for(s):
    def spoil():
        s.database.sql("REVOKE INSERT, UPDATE ON sirdar.* FROM sirdar@127.0.0.1")
        throw_out(s)

    def mend():
        s.database.sql("GRANT ALL ON sirdar.* TO sirdar@127.0.0.1")
        throw_out(s)
    trouble(s, spoil, mend, "not allowed")


@test
def a_password_that_changes_under_a_server_is_waited_for(s):
    def spoil():
        s.database.sql("ALTER USER sirdar@127.0.0.1 IDENTIFIED BY 'other'")
        throw_out(s)
    trouble(s, spoil, lambda: s.database.sql("ALTER USER sirdar@127.0.0.1 IDENTIFIED BY ''"),
            "not authenticated")


@test
def sessions_that_are_thrown_out_are_made_again(s):
    load = s.load
    load.more()
    for _ in range(10):
        throw_out(s)
        time.sleep(0.2)  # the next blow falls in the middle of its work
    chaos.goes_on(s, load)
    until("it is ready", lambda: plain(s, "/readyz")[0] == 200, 60)
    chaos.judge(s, load)


@test
def a_database_without_space_is_waited_for(_):
    with FullSite() as s:
        s.begin()
        trouble(s, s.fill, s.empty, "no space left")


class FullSite(Site):
    """The database's directory is a small file system of its own."""

    def __init__(self):
        self.disk = tempfile.mkdtemp(prefix="sirdar-disk-")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", self.disk], capture_output=True).returncode:
            os.rmdir(self.disk)
            raise Skip("no mount here: not root")
        self.database = None
        try:
            self.database = mariadb.MariaDB("--innodb-log-file-size=8M", base=self.disk)
            self.database.sql("CREATE DATABASE sirdar")
            super().__init__("full", store=self.database.url("sirdar", timeout=3))
        except BaseException:
            self.unmount()
            raise

    def begin(self):
        self.start(("shell:12",), retry_max_ms=100)
        self.load = chaos.Load(self, self.dir / "data/load", minutes=60, sleep=(0, 0))

    def fill(self):
        """To the last byte; the tables then grow into nothing."""
        with open(os.path.join(self.disk, "ballast"), "wb", buffering=0) as f:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        f.write(b"x" * size)
                except OSError:
                    pass

    def empty(self):
        os.unlink(os.path.join(self.disk, "ballast"))

    def unmount(self):
        if self.database:
            self.database.close()
        subprocess.run(["umount", self.disk], check=False)
        shutil.rmtree(self.disk, ignore_errors=True)

    def close(self):
        try:
            super().close()
        finally:
            self.unmount()


def make():
    s = WrongSite()
    try:
        s.start(("shell:12",), retry_max_ms=100)
        s.load = chaos.Load(s, s.dir / "data/load", minutes=10)
    except BaseException:
        print(s.logs())
        s.close()
        raise
    return s


if __name__ == "__main__":
    sys.exit(main(make))
