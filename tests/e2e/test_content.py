#!/usr/bin/env python3
"""Rows that somebody wrote by hand: a server that finds them says in one line which table, which row
and which column, and ends; no crash, no silence. On SQLite and, where there is a mariadbd, on
MariaDB. TAP."""
import os
import shutil
import sqlite3
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import mariadb  # noqa: E402
from harness import Site, Skip, main, test, until  # noqa: E402

WORKFLOW = """workflow: rows
project: e2e
timezone: UTC
start_date: 2026-03-01
end_date: 2026-03-01
defaults: {type: noop, catchup: {mode: all}}
tasks:
  done: {cycle: 6 hour, params: {seconds: 0}}
  open: {cycle: 6 hour, type: shell, needs: [done], params: {script: "true"}}
"""
# What is written, what the line must name. `first` of a table: the row with its smallest key.
ROWS = (
    ("UPDATE lb_task_run SET job_status = 99", "lb_task_run", "task_id", "job_status", "99"),
    ("UPDATE lb_task_run SET created_us = -5", "lb_task_run", "task_id", "created_us", "-5"),
    ("UPDATE lb_task_run SET reason = 9999", "lb_task_run", "task_id", "reason", "9999"),
    ("UPDATE lb_task_run SET task_id = 4000000", "lb_task_run", "4000000"),
    ("UPDATE lb_task_run SET job_status = 3", "lb_task_run", "job_status"),
    ("UPDATE lb_task_run SET last_number = 99999999", "lb_task_run", "last_number", "99999999"),
    ("UPDATE lb_task SET task_status = 9", "lb_task", "task_status", "9"),
    ("UPDATE lb_task SET frozen = 7", "lb_task", "frozen", "7"),
    ("UPDATE lb_task SET task_name = 'e2e/rows/other' WHERE task_name = 'e2e/rows/open'", "lb_task", "e2e/rows/open"),
    ("UPDATE lb_task SET task_name = 'e2e/rows/open'", "lb_task", "both e2e/rows/open"),
    ("DELETE FROM lb_task WHERE task_name = 'e2e/rows/done'", "lb_task", "e2e/rows/done"),
    ("DELETE FROM lb_workflow", "lb_task_run", "task_id 2", "in no workflow"),
    ("UPDATE lb_workflow SET body = '{'", "stored workflow e2e/rows", "line 2"),
    ("UPDATE lb_workflow SET body = ''", "lb_workflow", "e2e/rows"),
    ("UPDATE lb_workflow SET retired = 5", "lb_workflow", "retired", "5"),
    ("INSERT INTO lb_calendar VALUES (9, 1, 'bad', 0, 'x', 1, '{')", "stored calendar bad", "line 2"),
    ("INSERT INTO lb_pool VALUES (9, 1, 'bad', 0, 'x', 1, '{')", "lb_pool", "bad"),
    ("INSERT INTO lb_setting VALUES (9, 1, 'parameters/e2e', 0, 'x', 1, '[')", "lb_setting", "parameters/e2e"),
    ("INSERT INTO lb_broker VALUES (9, 1, 'bad', 0, 'x', 1, '[')", "lb_broker", "bad"),
    ("INSERT INTO lb_plan VALUES (1, 1, 'bad', 0, 'x', 1, '[')", "stored plan of e2e/rows/done"),
    ("UPDATE lb_command SET ended_us = 0, state = 1, kind = 'nonsense'", "lb_command", "nonsense"),
    ("UPDATE lb_command SET ended_us = 0, state = 99", "lb_command", "state", "99"),
    ("UPDATE lb_command SET ended_us = 0, total = -1", "lb_command", "total", "-1"),
    ("UPDATE lb_command SET ended_us = 0, created_us = -1", "lb_command", "created_us", "-1"),
    ("INSERT INTO lb_outcome VALUES (1, 0, 60, 99, 0, 1)", "lb_outcome", "job_status", "99"),
    ("INSERT INTO lb_outcome VALUES (1, 60, 0, 4, 0, 1)", "lb_outcome", "task_id 1 at 60"),
    ("UPDATE lb_task_run_history SET job_status = 99", "lb_task_run_history", "job_status", "99"),
    ("UPDATE lb_leader SET epoch = -1", "lb_leader", "epoch", "-1"),
    ("UPDATE lb_leader SET number = -1", "lb_leader", "number", "-1"),
    ("UPDATE lb_leader SET number = 1", "lb_leader is at 1"),
    ("UPDATE lb_leader SET lease_ms = -7", "lb_leader", "lease_ms", "-7"),
    ("DELETE FROM lb_leader", "lb_leader", "no row"),
)


def table_of(text):
    return next(w for w in text.split() if w.startswith("lb_"))


class Sqlite:
    name = "sqlite"

    def __init__(self, s):
        self.file, self.kept = s.dir / "base/sirdar.db", s.dir / "kept.db"

    def keep(self):
        db = sqlite3.connect(self.file)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        shutil.copy(self.file, self.kept)

    def back(self):
        for end in ("-wal", "-shm"):
            Path(str(self.file) + end).unlink(missing_ok=True)
        shutil.copy(self.kept, self.file)

    def run(self, text):
        self.touched = table_of(text)
        db = sqlite3.connect(self.file)
        db.execute("PRAGMA ignore_check_constraints = 1")
        with db:
            db.execute(text)
        db.close()

    def mend(self):
        """Beside the server: through SQL."""
        table = self.touched
        db = sqlite3.connect(self.file)
        db.execute("ATTACH ? AS kept", (str(self.kept),))
        with db:
            db.execute(f"DELETE FROM main.{table}")
            db.execute(f"INSERT INTO main.{table} SELECT * FROM kept.{table}")
        db.close()


class Maria:
    name = "mysql"

    def __init__(self, server):
        self.server = server

    def tables(self):
        return self.server.sql("SHOW TABLES", "sirdar").split()

    def keep(self):
        self.server.sql("CREATE OR REPLACE DATABASE kept")
        self.server.sql("".join(f"CREATE TABLE kept.{t} AS SELECT * FROM sirdar.{t};" for t in self.tables()))

    def back(self):
        self.server.sql("".join(f"DELETE FROM sirdar.{t}; INSERT INTO sirdar.{t} SELECT * FROM kept.{t};"
                                for t in {"lb_leader", self.touched}))

    def run(self, text):
        self.touched = table_of(text)
        self.server.sql(text, "sirdar")


    def mend(self):
        t = self.touched
        self.server.sql(f"DELETE FROM sirdar.{t}; INSERT INTO sirdar.{t} SELECT * FROM kept.{t};")


class RowSite(Site):
    def __init__(self, store):
        self.database = None
        if store == "mysql":
            if not mariadb.program("mariadbd"):
                raise Skip("no mariadbd: packaging/deps.sh test")
            self.database = mariadb.MariaDB(flush=0)
            self.database.sql("CREATE DATABASE sirdar")
            super().__init__("rows-mysql", store=self.database.url("sirdar"))
            self.rows = Maria(self.database)
        else:
            super().__init__("rows")
            self.rows = Sqlite(self)

    def fill(self):
        """Finished and unfinished instances, a document, a command."""
        self.start(("noop:8",))
        self.apply(WORKFLOW, **{"from": "2026-03-01"})
        until("the finished ones are", lambda: sum(i["state"] == "Succ" for i in self.instances("e2e/rows/done")) == 4)
        until("the others wait", lambda: len(self.instances("e2e/rows/open")) == 4)
        for d in (*self.brokers.values(), self.cgi, self.base):
            assert d.stop() == 0, d.tail()
        self.rows.keep()

    def close(self):
        try:
            super().close()
        finally:
            if self.database:
                self.database.close()


def refusals(store):
    s = RowSite(store)
    wrong = []
    try:
        s.fill()
        for text, *words in ROWS:
            if os.environ.get("TELL"):
                print("#", text, flush=True)
            s.rows.run(text)
            said = starts(s)
            if said is None:
                wrong.append(f"{text}: it starts")
            else:
                code, lines = said
                if code <= 0 or len(lines) != 1 or not all(w in lines[0] for w in words):
                    wrong.append(f"{text}: exit {code}, wanted {words}: {lines}")
            s.rows.back()
            (s.dir / "base/anchor").unlink(missing_ok=True)  # else an older state is refused: test_store_damage.py
        assert starts(s) is None, "what was put back does not start"
    finally:
        s.close()
    assert not wrong, f"{len(wrong)} of {len(ROWS)}:\n" + "\n".join(wrong)


def starts(s):
    """None when it leads, else exit status and what it said itself."""
    s.base.start(wait=False)
    up = until("it leads or ends", lambda: s.base.has(r"baseserver\.up", s.base.mark) or s.base.proc.poll() is not None)
    if up is not True and s.base.proc.poll() is None:
        assert s.base.stop() == 0, s.base.tail()
        return None
    code = s.base.proc.wait()
    return code, [x for x in s.base.text(s.base.mark).splitlines() if x.startswith("baseserver: ")]


# What is read only when somebody asks: the answer names the row, nobody ends.
ASKED = (
    ("UPDATE lb_task_run_history SET job_status = 99", "/api/v1/instances?task=e2e%2Frows%2Fdone",
     "lb_task_run_history", "job_status", "99"),
    ("UPDATE lb_task_run_history SET reason = 9999", "/api/v1/instances?task=e2e%2Frows%2Fdone",
     "lb_task_run_history", "reason", "9999"),
    ("UPDATE lb_task_run_history SET ended_us = -7", "/api/v1/instances?task=e2e%2Frows%2Fdone",
     "lb_task_run_history", "ended_us", "-7"),
    ("UPDATE lb_task_event SET event = 999", "/api/v1/instances/{id}/events", "lb_task_event", "event", "999"),
    ("UPDATE lb_task_event SET to_status = 77", "/api/v1/instances/{id}/events", "lb_task_event", "state"),
    ("UPDATE lb_statistic SET job_status = 99", "/api/v1/statistics", "lb_statistic", "job_status", "99"),
)


def answers(store):
    s = RowSite(store)
    wrong = []
    try:
        s.fill()
        s.base.start()
        s.cgi.start()
        done = until("the server answers", lambda: s.up() and s.instances("e2e/rows/done"))
        for text, path, *words in ASKED:
            if os.environ.get("TELL"):
                print("#", text, flush=True)
            s.rows.run(text)
            status, answer = s.ask("GET", path.format(id=done[0]["id"]))
            if status != 500 or not all(w in str(answer) for w in words):
                wrong.append(f"{text}: {status}, wanted {words}: {str(answer)[:300]}")
            if "history SET job_status" in text:
                command = s.command("redo", selection={"tasks": ["e2e/rows/done"], "from": "2026-03-01T00:00:00Z",
                                                       "to": "2026-03-01T00:00:00Z"}, expect=range(200, 600))
                assert (command["state"], command["failed"]) == ("done", 1), command
            s.rows.mend()
            assert s.base.proc.poll() is None and s.cgi.proc.poll() is None, s.logs()
        assert s.ask("GET", "/api/v1/instances?task=e2e%2Frows%2Fdone")[0] == 200
    finally:
        s.close()
    assert not wrong, f"{len(wrong)} of {len(ASKED)}:\n" + "\n".join(wrong)


@test
def rows_of_sqlite_that_go_bad_under_a_server_are_named_to_who_asks(_):
    answers("sqlite")


@test
def rows_of_mariadb_that_go_bad_under_a_server_are_named_to_who_asks(_):
    answers("mysql")


@test
def rows_of_sqlite_that_are_wrong_are_named_in_one_line_at_the_start(_):
    refusals("sqlite")


@test
def rows_of_mariadb_that_are_wrong_are_named_in_one_line_at_the_start(_):
    refusals("mysql")


class Nothing:
    def reports(self):
        return []

    def logs(self):
        return ""

    def close(self):
        pass


if __name__ == "__main__":
    sys.exit(main(Nothing))
