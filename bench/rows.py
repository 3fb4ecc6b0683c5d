"""Stores filled in bulk with SQL: unfinished instances, history. For benchmarks that want millions of rows
and not the hours in which they would come about."""
import sqlite3
import time

NAMES = ("next_run_date job_status task_id curr_run_date part due eff_due_us created_us started_us "
         "ended_us retry_at_us token last_number cause generation revision version broker_id "
         "exit_code attempt infra reason flags origin priority intent former grace_ms").split()


class Sqlite:
    """A store's directory, while nobody has it."""
    name = "SQLite"

    def __init__(self, folder):
        self.db = sqlite3.connect(f"{folder}/sirdar.db", isolation_level=None, timeout=60)

    def sql(self, text):
        return self.db.execute(text).fetchall()

    def series(self, lo, hi):
        return (f"(WITH RECURSIVE s(i) AS (SELECT {lo} UNION ALL SELECT i + 1 FROM s WHERE i < {hi})"
                " SELECT i FROM s) AS s")

    def close(self):
        self.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.close()


class Maria:
    name = "MariaDB"

    def __init__(self, server, database="sirdar"):
        self.server, self.database = server, database

    def sql(self, text):
        return [tuple(int(w) if w.lstrip("-").isdigit() else w for w in line.split("\t"))
                for line in self.server.sql(text, self.database).splitlines()]

    def series(self, lo, hi):
        return f"(SELECT seq AS i FROM seq_{lo}_to_{hi}) AS s"

    def close(self):
        pass


def insert(db, table, lo, hi, **values):
    """Rows lo..hi of the expressions, of `i`; what is not said is 0."""
    names = [n for n in (["id"] if "id" in values else []) + NAMES]
    return (f"INSERT INTO {table} ({', '.join(names)}) SELECT "
            f"{', '.join(str(values.get(n, 0)) for n in names)} FROM {db.series(lo, hi)}")


def slices(lo, hi, n):
    return [(at, min(at + n - 1, hi)) for at in range(lo, hi + 1, n)]


def unfinished(db, task, version, lo, hi, first, slot=1):
    """Ready rows of a task, a minute each; the places from `slot` on."""
    number = db.sql("SELECT number FROM lb_leader")[0][0]
    now = int(time.time()) * 1000000
    for a, b in slices(lo, hi, 100000):
        db.sql(insert(db, "lb_task_run", a, b, id=f"i - {lo} + {slot}", job_status=0, task_id=task,
                      curr_run_date=f"{first} + 60 * i", next_run_date=f"{first} + 60 * i + 60",
                      due=f"{first} + 60 * i", eff_due_us=f"({first} + 60 * i) * 1000000",
                      created_us=now, last_number=f"{number} + 1 + i - {lo}", generation=1,
                      revision=1, version=version, origin=2, priority=5))
    db.sql(f"UPDATE lb_leader SET number = {number + hi - lo + 1}")


def past_days(db, days):
    """The partitions that a store has which was in use on each of the last days. MariaDB."""
    today = int(time.time()) // 86400
    cuts = [("pold", today - days)] + [(time.strftime("p%Y%m%d", time.gmtime(86400 * d)), d + 1)
                                       for d in range(today - days, today)]
    parts = ", ".join(f"PARTITION {name} VALUES LESS THAN ({86400 * 1000000 * below})" for name, below in cuts)
    for table in ("lb_task_run_history", "lb_task_event"):
        db.sql(f"ALTER TABLE {table} REORGANIZE PARTITION pold INTO ({parts})")


def history(db, n, task=1000000, tasks=1000, days=80):
    """n successes of the last days, of tasks that are gone by now; their outcomes are kept already."""
    number = db.sql("SELECT number FROM lb_leader")[0][0]
    now = int(time.time())
    step = days * 86400 * 1000000 // n
    date = f"({now} - 60 * (({n} - i) DIV {tasks}))"
    if isinstance(db, Sqlite):
        date = date.replace(" DIV ", " / ")
    for a, b in slices(1, n, 250000):
        db.sql(insert(db, "lb_task_run_history", a, b, job_status=3,
                      task_id=f"{task} + i % {tasks}", curr_run_date=date, next_run_date=date,
                      due=date, eff_due_us=f"{date} * 1000000", created_us=f"{date} * 1000000",
                      started_us=f"{now * 1000000} - ({n} - i) * {step}", ended_us=f"{now * 1000000} - ({n} - i) * {step}",
                      token="i", last_number=f"{number} + i", generation=1, revision=4, version=1,
                      broker_id=1, attempt=1, priority=5))
    db.sql(f"UPDATE lb_leader SET number = {number + n}, outcome_number = {number + n}")
