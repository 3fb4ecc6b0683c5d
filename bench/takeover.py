#!/usr/bin/env python3
"""A standby takes over with 1,000,000 unfinished instances under load: after kill -9 of the leader, and
after its clean stop; a cold start of the same store beside it. `bench/run takeover` starts this.

    bench/takeover.py [sqlite] [mysql]      ROWS=1000000 TURNS=1
"""
import os
import re
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/mysql"), str(HERE.parent / "tests/e2e")]
import mariadb  # noqa: E402
import rows  # noqa: E402
import test_ha  # noqa: E402
import test_ha_mysql  # noqa: E402
import whole  # noqa: E402
from harness import until  # noqa: E402
from whole import figure  # noqa: E402

ROWS, TURNS = int(os.environ.get("ROWS", "1000000")), int(os.environ.get("TURNS", "1"))
test_ha.EPOCH_MS, test_ha.LEAD_MS = 10000, 12000  # as delivered
test_ha_mysql.MysqlPair.earnest = {"sync": True}  # each commit on disk
DAY0 = 1577836800  # 2020
TEXT = """workflow: wait
project: bench
timezone: UTC
start_date: 2020-01-01
defaults: {type: noop, catchup: {mode: none}}
tasks:
  gate: {cycle: year}
  wait: {cycle: minute, needs: [gate]}
  ready: {cycle: minute, type: shell, params: {script: sleep 0.1}}
"""


class Stores:
    def __init__(self, kind):
        self.kind = kind
        self.pair = test_ha_mysql.MysqlPair() if kind == "mysql" else test_ha.Pair()

    def look(self):
        if self.kind == "mysql":
            return rows.Maria(self.pair.database)
        return rows.Sqlite(self.pair.dir / "shared")  # test_ha.py


def fill(st):
    """The servers are down meanwhile."""
    s = st.pair
    s.apply(TEXT, "wait.yaml")
    s.command("freeze", selection={"tasks": ["bench/wait/gate"]})
    s.base2.stop()
    s.base.stop()
    db = st.look()
    task = {n.rsplit("/", 1)[1]: (i, v) for n, i, v in
            db.sql("SELECT task_name, task_id, version FROM lb_task WHERE task_name LIKE 'bench/%'")}
    top = db.sql("SELECT coalesce(max(id), 0) FROM lb_task_run")[0][0]
    rows.unfinished(db, *task["wait"], 1, ROWS, DAY0, top + 1)
    rows.unfinished(db, *task["ready"], 1, 20000, DAY0, top + 1 + ROWS)
    db.close()


def granted(st, epoch):
    db = st.look()
    at = db.sql(f"SELECT min(at_us) FROM lb_task_event WHERE epoch = {epoch} AND event = 8")[0][0]
    return at if isinstance(at, int) else None


def up(d, mark, seconds=120):
    until("it is up", lambda: d.has(r"baseserver\.up", mark), seconds)
    return (float(re.findall(r"^(\S+) .*baseserver\.up", d.text(mark), re.M)[-1]),
            int(re.findall(r"baseserver\.up epoch=(\d+)", d.text(mark))[-1]),
            re.findall(r"ledger\.loaded (.*)", d.text(mark))[-1])


def take_over(st, was, ends, times):
    s = st.pair
    other = s.other(was)
    until("the standby has all", lambda: other.has(r"standby\.warm", other.mark), 300)
    mark, began = len(other.text()), time.time()
    ends()
    at, epoch, loaded = up(other, mark)
    first = until("a job starts", lambda: granted(st, epoch), 60, every=0.2)
    times.append((at - began, first / 1e6 - began))
    print("# " + loaded, flush=True)
    s.both()
    return other


def run(kind):
    st = Stores(kind)
    name = "MariaDB" if kind == "mysql" else "SQLite"
    s = st.pair
    try:
        s.begin()
        fill(st)
        mark, began = len(s.base.text()), time.time()
        s.base.start(wait=False)
        at, epoch, loaded = up(s.base, mark)
        first = until("a job starts", lambda: granted(st, epoch), 60, every=0.2)
        figure(f"takeover, {name}: cold, exec to the first dispatch", first / 1e6 - began, "s", 8,
               "less", f"up after {at - began:.2f} s; {loaded}")
        s.base2.start()
        leader, killed, stopped = s.base, [], []
        for _ in range(TURNS):
            leader = take_over(st, leader, leader.kill, killed)
            leader = take_over(st, leader, leader.stop, stopped)
        for what, times, target in (("kill -9", killed, 20), ("clean stop", stopped, 5)):
            figure(f"takeover, {name}: {what} to active", statistics.median(t[0] for t in times), "s",
                   target, "less", f"first dispatch {statistics.median(t[1] for t in times):.2f} s")
    except BaseException:
        print(s.logs())
        raise
    finally:
        s.close()


def main(names):
    for name in names or ("sqlite", "mysql"):
        if name == "mysql" and not mariadb.program("mariadbd"):
            print("mysql: no mariadbd here: packaging/deps.sh test")
            continue
        run(name)
    return 0 if all(good for *_, good in whole.FIGURES) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
