#!/usr/bin/env python3
"""The rate of no-op instances with 10,000,000 rows of history, beside the rate with none: the same fan on
a full and on an empty store by turns, on SQLite and on MariaDB. `bench/run history` starts this.

    bench/history.py [sqlite] [mysql]      ROWS=10000000 TURNS=6 SCALE=1
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/mysql")]
import mariadb  # noqa: E402
import rows  # noqa: E402
import whole  # noqa: E402
from whole import figure, until  # noqa: E402

ROWS, TURNS = int(os.environ.get("ROWS", "10000000")), int(os.environ.get("TURNS", "6"))
DAYS = 80  # that they are of: retention_days is 90
FAN = int(100000 * whole.SCALE)


def ran(db, mark):
    return db.sql(f"SELECT count(*) FROM lb_task_run_history WHERE last_number > {mark}"
                  " AND job_status = 3")[0][0]


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def rate(url, look, turn, database=None):
    """Instances a second of one fan; microseconds of processor an instance of server and database."""
    name = f"fan{turn}"
    with whole.noop_site(f"history-{turn}", store=url) as s:
        db = look()
        s.apply(whole.workflow(name, {"root": "cycle: year", "leaf": "cycle: minute, needs: [root]"}))
        mark = db.sql("SELECT number FROM lb_leader")[0][0]
        start, end = whole.minutes(FAN)
        pids = [s.base.pid] + [database] * (database is not None)
        used = sum(map(cpu_of, pids))
        began = time.monotonic()
        s.command("backfill", selection={"workflow": f"bench/{name}", "from": start, "to": end},
                  order="free", dependencies="inside", message="bench")
        until("all is done", lambda: whole.unfinished(s) < 50 and ran(db, mark) > FAN, 300, every=0.05)
        took = time.monotonic() - began
        used = sum(map(cpu_of, pids)) - used
        db.close()
    return FAN / took, used / FAN * 1e6


class SqliteStores:
    name = "SQLite"

    def __init__(self, folder):
        self.folders = {kind: f"{folder}/{kind}" for kind in ("empty", "full")}

    def url(self, kind):
        return f"sqlite:{self.folders[kind]}"

    def look(self, kind):
        return lambda: rows.Sqlite(self.folders[kind])

    def database(self):
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class MariaStores:
    name = "MariaDB"

    def __init__(self, folder):
        self.server = mariadb.MariaDB("--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G", sync=True,
                                      base=folder)
        self.server.sql("CREATE DATABASE empty; CREATE DATABASE full")

    def url(self, kind):
        return self.server.url(kind)

    def look(self, kind):
        return lambda: rows.Maria(self.server, kind)

    def database(self):
        return self.server.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()


def fill(stores):
    for kind in ("empty", "full"):
        subprocess.run([whole.B / "bin/sirdar-db", "build", stores.url(kind)], check=True,
                       capture_output=True)
    db = stores.look("full")()
    began = time.monotonic()
    if stores.database():
        rows.past_days(db, DAYS)
    rows.history(db, ROWS, days=DAYS)
    db.close()
    figure(f"history, {stores.name}: rows filled in", ROWS / (time.monotonic() - began), "rows/s")


def measure(stores):
    got = {"empty": [], "full": []}
    for turn in range(2 * TURNS):
        # empty, full, full, empty, ...: what the machine does meanwhile falls on both
        kind = ("empty", "full", "full", "empty")[turn % 4]
        got[kind].append(rate(stores.url(kind), stores.look(kind), turn, stores.database()))
    (empty, full), (cpu_empty, cpu_full) = (
        [statistics.median(x[n] for x in got[kind]) for kind in ("empty", "full")] for n in (0, 1))
    figure(f"history, {stores.name}: rate with none", empty, "instances/s")
    figure(f"history, {stores.name}: rate with {ROWS:,} rows", full, "instances/s",
           note=" ".join(f"{x[0]:.0f}" for x in got["full"]) + " beside " +
           " ".join(f"{x[0]:.0f}" for x in got["empty"]))
    # Of neighbours in time: a machine that is busy is so for both.
    pairs = statistics.median(f[0] / e[0] for f, e in zip(got["full"], got["empty"]))
    figure(f"history, {stores.name}: of the rate with none, median of pairs", pairs, "", 0.95)
    # What others do to the machine does not touch the work.
    figure(f"history, {stores.name}: CPU an instance, server and database", cpu_full, "us", cpu_empty * 1.05,
           "less", f"with none {cpu_empty:.1f}")


def main(names):
    kinds = {"sqlite": SqliteStores, "mysql": MariaStores}
    for name in names or kinds:
        if name == "mysql" and not mariadb.program("mariadbd"):
            print("mysql: no mariadbd here: packaging/deps.sh test")
            continue
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder, \
                kinds[name](folder) as stores:
            fill(stores)
            measure(stores)
    return 0 if all(good for *_, good in whole.FIGURES) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
