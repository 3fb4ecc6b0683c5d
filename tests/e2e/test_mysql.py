#!/usr/bin/env python3
"""The whole on MariaDB: a server of the test's own, killed and stopped under load. TAP.

KILLS=n (default 12, HEAVY=1: 200) blows at database and baseserver."""
import os
import random
import signal
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import mariadb  # noqa: E402
import test_chaos as chaos  # noqa: E402
from harness import TESTS, Site, Skip, main, stand_still, test, until  # noqa: E402

TESTS.clear()  # those of chaos: only its load and its judge are wanted here

KILLS = int(os.environ.get("KILLS") or (200 if os.environ.get("HEAVY") else 12))
PAUSE_S = 30 if os.environ.get("HEAVY") else 10
TIMEOUT_S = 8  # of a statement
server = None


class MysqlSite(Site):
    """The server goes with the site."""

    def __init__(self):
        global server
        if not mariadb.program("mariadbd"):
            raise Skip("no mariadbd: packaging/deps.sh test")
        server = mariadb.MariaDB()
        server.sql("CREATE DATABASE sirdar")
        super().__init__("mysql", store=server.url("sirdar", timeout=TIMEOUT_S))

    def close(self):
        try:
            super().close()
        finally:
            server.close()


@test
def what_runs_on_mariadb_is_listed_counted_and_explained(s):
    load = s.load
    load.more()
    rows = chaos.judge(s, load)
    assert len(s.history(rows[0]["id"])) >= 4
    assert {i["state"] for i in s.instances(task="e2e/chaos0/fails")} == {"StopSchedule"}
    tables = {t for t in server.sql("SHOW TABLES", "sirdar").split()}
    assert {"lb_task", "lb_task_run", "lb_task_run_history", "lb_task_link", "lb_task_event"} <= tables
    n = int(server.sql("SELECT COUNT(*) FROM lb_task_run_history", "sirdar"))
    assert n == load.total(), (n, load.total())
    assert server.sql("SELECT COUNT(*) FROM lb_task_run", "sirdar").strip() == "0"
    parts = server.sql("SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA ="
                       " 'sirdar' AND TABLE_NAME = 'lb_task_event'")
    assert int(parts) >= 8, parts


def managed(s):
    """A server that begins while its database is away ends with 69 (EX_UNAVAILABLE): a service manager starts it again."""
    if s.base.proc.poll() is not None:
        assert s.base.proc.returncode == os.EX_UNAVAILABLE, s.base.tail()
        s.base.start(wait=False)


@test
def a_database_killed_under_load_loses_nothing_and_doubles_nothing(s):
    random.seed(chaos.SEED)
    load = s.load
    load.more()
    until("jobs run", load.ends)
    for n in range(KILLS):
        server.kill()
        server.start()
        if (chaos.alive(s) or 99) < 12:
            load.more()
        if n % 4 == 3:
            s.base.kill()
            s.base.start(wait=False)
        chaos.goes_on(s, load, managed)
        time.sleep(random.uniform(0, 0.4))  # the next blow falls at a random moment
    until("the server leads", lambda: managed(s) or s.up())
    chaos.judge(s, load)
    s.sirdar("audit", "verify")


def brokers_of(s):
    """Who is online, as the server tells it now. (Sessions may be made anew: nobody's lease is
    prolonged while the right to lead cannot be proven.)"""
    return {b["name"]: b["online"] for b in s.get("/api/v1/brokers")["brokers"]}


@test
def while_the_database_stands_still_the_server_answers_and_jobs_live_on(s):
    load = s.load
    load.more()
    until("jobs run", lambda: load.ends() > 0)
    s.wait_broker("b1", ("shell",))
    ready = brokers_of(s)
    # The last one that waits: how one that is over ended is read from the store.
    waits = until("one waits", lambda: max(((i["run_date"], i["id"]) for i in s.instances() if i["state"] in ("Ready", "DependenceFinish")),
                                           default=None))[1]
    stand_still(server.process.pid)
    asked, slowest, said, online = 0, 0, set(), []
    end = time.monotonic() + PAUSE_S
    try:
        while time.monotonic() < end:
            # What is answered from memory is answered.
            began = time.monotonic()
            said.add(s.ask("GET", "/api/v1/health")[1]["status"])
            online.append(brokers_of(s) == ready)
            assert "line" in s.get(f"/api/v1/instances/{waits}/why")
            asked, slowest = asked + 1, max(slowest, time.monotonic() - began)
            time.sleep(0.1)  # not to fill the pause with questions only
    finally:
        server.process.send_signal(signal.SIGCONT)
    ends, began = load.ends(), time.monotonic()
    print(f"# {asked} rounds of questions meanwhile, the slowest {slowest:.2f} s")
    assert "failing" in said, said
    assert sum(online) > len(online) / 2, online
    # One that waited for the database would have waited for its timeout at least.
    assert slowest < TIMEOUT_S, slowest
    until("work goes on", lambda: load.ends() > ends or load.ends() >= load.total(), 60)
    took = time.monotonic() - began
    print(f"# work went on {took:.1f} s after the database did, which had stood still for {PAUSE_S} s")
    if os.environ.get("HEAVY"):  # what is promised, on a machine that has nothing else to do
        assert took < 10, took
    chaos.judge(s, load)


def refused(s, store, *words):
    sets = {**s.base_sets, "store": store, "state_dir": s.dir / "other", "listen": "127.0.0.1:0"}
    done = s.run(s.argv("baseserver", sets))
    said = done.stderr + done.stdout
    assert done.returncode != 0 and all(w in said for w in words), (done.returncode, said)
    assert len(said.splitlines()) == 1, said


@test
def what_is_wrong_with_the_database_is_said_at_the_start_in_one_line(s):
    server.sql("CREATE DATABASE foreign_one; CREATE TABLE foreign_one.t (a INT);"
               "CREATE USER poor@127.0.0.1 IDENTIFIED BY 'x'; CREATE DATABASE bare;"
               "GRANT SELECT ON bare.* TO poor@127.0.0.1")
    password = s.dir / "password"
    password.write_text("x\n")
    password.chmod(0o600)
    at = f"127.0.0.1:{server.port}"
    refused(s, server.url("nowhere"), "nowhere", "Unknown database")
    refused(s, server.url("foreign_one"), "foreign_one", "not Sirdar's")
    refused(s, f"mysql://poor@{at}/bare", "Access denied", "poor")
    refused(s, f"mysql://poor@{at}/bare?password_file={password}", "denied", "poor")
    for tls in ("verify", "require"):
        refused(s, f"mysql://poor@{at}/bare?tls={tls}&password_file={password}", f":{server.port}", "SSL")
    refused(s, f"mysql://poor@{at}/bare?colour=red", "no option 'colour'")
    refused(s, "mysql://127.0.0.1/x", "user")
    refused(s, f"mysql://root@127.0.0.1:1,127.0.0.1:2/x", "127.0.0.1")
    # The second host answers: its word counts.
    refused(s, f"mysql://root@127.0.0.1:1,{at}/nowhere", "nowhere", "Unknown database")
    server.sql("CREATE USER writes@127.0.0.1; CREATE DATABASE locked; GRANT ALL ON locked.* TO writes@127.0.0.1;"
               "SET GLOBAL read_only = 1")
    try:
        refused(s, f"mysql://writes@{at}/locked", "read-only")
    finally:
        server.sql("SET GLOBAL read_only = 0")
    password.chmod(0o644)
    refused(s, f"mysql://poor@{at}/bare?password_file={password}", "password")
    server.sql("UPDATE lb_migration SET checksum = 'x' WHERE number = 1", "sirdar")
    refused(s, server.url("sirdar"), "lb_migration", "0001_ledger.sql")


@test
def a_read_only_host_is_passed_over_while_another_takes_writes(s):
    """A replica answers like any other."""
    with mariadb.MariaDB("--read-only", flush=0) as replica:
        replica.sql("CREATE DATABASE apart; CREATE USER writes@127.0.0.1; GRANT ALL ON apart.* TO writes@127.0.0.1")
        server.sql("CREATE DATABASE apart; GRANT ALL ON apart.* TO writes@127.0.0.1")
        hosts = [f"127.0.0.1:{x.port}" for x in (replica, server)]
        db = str(s.base.argv[0]).replace("baseserver", "sirdar-db")
        done = s.run([db, "build", "--yes", f"mysql://writes@{hosts[0]},{hosts[1]}/apart"])
        assert done.returncode == 0, done.stderr
        assert "lb_task" in server.sql("SHOW TABLES", "apart") and not replica.sql("SHOW TABLES", "apart")
        # There is no other: its word counts.
        refused(s, f"mysql://writes@{hosts[0]},127.0.0.1:1/apart", "read-only")


def make():
    s = MysqlSite()
    try:
        s.start(("shell:12",), retry_max_ms=100)
        s.load = chaos.Load(s, s.dir / "data/load", minutes=10)
    except BaseException:
        s.close()
        raise
    return s


if __name__ == "__main__":
    sys.exit(main(make))
