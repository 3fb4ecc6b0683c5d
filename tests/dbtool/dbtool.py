"""sirdar-db from outside, on stores of either kind. What `run` and tests/mysql share."""
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

BUILD = os.environ.get("B", "build/gcc")


def db(*words, program="sirdar-db"):
    """(exit code, what it said). A database server lets go of a program that has ended in its own time."""
    end = time.monotonic() + 60
    while True:
        done = subprocess.run([f"{BUILD}/bin/{program}", *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        if "other connection(s)" not in done.stderr or time.monotonic() > end:
            return done.returncode, done.stdout + done.stderr
        time.sleep(0.05)


def sums(text):
    return [line.split() for line in text.splitlines() if line.startswith("lb_")]


def half_copy(source, target, settle):
    """A copy that was killed in the middle of the events; `settle` waits until its sessions are over."""
    with subprocess.Popen([f"{BUILD}/bin/sirdar-db", "copy", source, target], stdout=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as copy:
        for line in copy.stdout:
            if line.startswith("lb_task_data"):
                break
        copy.kill()
        assert copy.wait() == -9, "it was done before it could be killed"
    settle()


class Copies:
    """From `source` to `target`, each a function that makes a store and one that runs SQL on it."""

    def __init__(self, source, target, spoil, settle=lambda: None):
        (self.new_source, self.on_source), (self.new_target, self.on_target) = source, target
        self.settle = settle
        self.spoil = spoil  # a trigger of the target that changes rows of history

    def source(self, rows=12000):
        url = self.new_source()
        assert db("mock", "--rows", str(rows), "--tasks", "40", "--days", "2", url)[0] == 0
        return url

    def a_copy_that_broke_off_goes_on_where_it_was(self):
        source, target = self.source(), self.new_target()
        half_copy(source, target, self.settle)
        assert db("check", target)[0] != 0
        code, said = db("copy", source, target)  # not asked: nothing but this copy is in it
        assert code == 0 and "goes on" in said, said
        code, said = db("compare", source, target)
        assert code == 0 and said.splitlines()[-1].startswith("0 of "), said
        assert db("check", target)[0] == 0
        assert db("copy", source, target)[0] == 73, "a whole copy is not taken for a broken one"

    def what_is_there_of_it_is_believed_only_when_it_is_the_same(self):
        source, target = self.source(), self.new_target()
        half_copy(source, target, self.settle)
        self.on_target(target, "DELETE FROM lb_task_event WHERE number > 500;"
                               "DELETE FROM lb_task WHERE task_id = 7;"
                               "UPDATE lb_task_link SET strategy = strategy + 1 WHERE task_to_id = 7")
        code, said = db("copy", source, target)
        assert code == 0 and "goes on" in said, said
        assert db("compare", source, target)[0] == 0

    def a_source_that_was_used_meanwhile_is_copied_anew_after_a_question(self):
        source, target = self.source(), self.new_target()
        half_copy(source, target, self.settle)
        self.on_source(source, "UPDATE lb_leader SET epoch = epoch + 1")
        code, said = db("copy", source, target)
        assert code == 73 and "--yes" in said and "begins anew" in said, said
        code, said = db("copy", "--yes", source, target)
        assert code == 0 and db("compare", source, target)[0] == 0, said

    def a_row_that_comes_out_otherwise_than_it_went_in_is_noticed(self):
        source, target = self.source(), self.new_target()
        half_copy(source, target, self.settle)
        self.on_target(target, self.spoil)
        code, said = db("copy", source, target)
        assert code == 69 and "lb_task_run_history: 12000 rows" in said and "(" in said, said
        assert db("copy", source, target)[0] == 69, "and again"
        self.on_target(target, "DROP TRIGGER spoil")
        assert db("copy", source, target)[0] == 0

    def one_value_of_one_row_is_found_by_compare(self):
        source, target = self.source(300), self.new_target()
        assert db("copy", source, target)[0] == 0
        for table, harm in (("lb_task_event", "UPDATE lb_task_event SET note = '' WHERE number = 77"),
                            ("lb_task_run_history", "UPDATE lb_task_run_history SET exit_code = 1 WHERE last_number = 8"),
                            ("lb_task_link", "DELETE FROM lb_task_link WHERE task_to_id = 7")):
            self.on_target(target, harm)
            for pair in ((source, target), (target, source)):
                code, said = db("compare", *pair)
                assert code == 1 and any(table in line and "DIFFERS" in line for line in said.splitlines()), said


class Suite:
    """`stores` makes urls of empty stores; `sql` runs statements on one."""

    def __init__(self, new_store, sql, hold):
        self.new_store, self.sql, self.hold = new_store, sql, hold

    def a_new_store_is_built_is_empty_and_passes_every_check(self):
        url = self.new_store()
        assert db("build", url)[0] == 0
        code, said = db("check", url)
        assert code == 0 and "0 of" in said, said
        code, said = db("migrate", "--dry-run", url)
        assert code == 0 and "would apply" not in said, said

    def what_migrate_would_apply_is_listed_and_not_applied(self):
        url = self.new_store()
        assert db("build", url)[0] == 0
        self.sql(url, "DELETE FROM lb_migration WHERE number >= 6")
        if url.startswith("sqlite:"):
            self.sql(url, "PRAGMA user_version = 5")
        code, said = db("migrate", "--dry-run", url)
        assert code == 0 and "would apply 0006" in said and "0005" not in said, said
        assert db("check", url)[0] == 1
        assert "0006" in db("migrate", "--dry-run", url)[1]

    def mock_makes_what_fits_together_and_only_in_an_empty_store(self):
        url = self.new_store()
        code, said = db("mock", "--rows", "3000", "--tasks", "70", "--days", "5", url)
        assert code == 0 and "3000 rows" in said and "12000 events" in said, said
        assert db("check", url)[0] == 0, db("check", url)
        assert db("mock", "--rows", "10", url)[0] == 73
        assert db("mock", "--rows", "10", "--yes", url)[0] == 0

    def nothing_is_destroyed_unasked(self):
        url = self.new_store()
        assert db("mock", "--rows", "100", url)[0] == 0
        for verb in ("clean", "build"):
            code, said = db(verb, url)
            assert code == 64 and "--yes" in said and len(said.splitlines()) == 1, said
        assert db("copy", url, url)[0] in (73, 75)
        code, said = db("copy", url, self.new_store())
        assert code == 0 and any(int(row[1]) > 0 for row in sums(said) if row[0] == "lb_task_event"), said
        assert db("clean", "--yes", url)[0] == 0
        code, said = db("copy", url, self.new_store())
        assert code == 0 and all(int(row[1]) == 0 for row in sums(said) if row[0] == "lb_task_event"), said

    def a_store_that_somebody_has_open_is_refused(self):
        url = self.new_store()
        assert db("mock", "--rows", "100", url)[0] == 0
        with self.hold(url):
            for words in (("clean", "--yes", url), ("check", url), ("migrate", url), ("build", "--yes", url),
                          ("mock", "--yes", url), ("copy", "--yes", self.new_store(), url)):
                code, said = db(*words)
                assert code in (75, 69) and len(said.splitlines()) == 1, (words, code, said)
        assert db("check", url)[0] == 0

    def each_thing_that_does_not_fit_is_found_and_named(self):
        url = self.new_store()
        assert db("mock", "--rows", "400", "--tasks", "40", url)[0] == 0
        wrong = (("lb_task_run_history", "not finished", "UPDATE lb_task_run_history SET job_status = 2 WHERE last_number = 8",
                  "UPDATE lb_task_run_history SET job_status = 3 WHERE last_number = 8"),
                 ("lb_task_run_history", "task that is not there", "UPDATE lb_task_run_history SET task_id = 999 WHERE last_number = 8",
                  "UPDATE lb_task_run_history SET task_id = 2 WHERE last_number = 8"),
                 ("lb_task_event", "another instance", "UPDATE lb_task_event SET prev = 1 WHERE number = 6",
                  "UPDATE lb_task_event SET prev = 5 WHERE number = 6"),
                 ("lb_task_link", "comes from a task", "UPDATE lb_task_link SET task_from_id = 999 WHERE task_to_id = 7",
                  "UPDATE lb_task_link SET task_from_id = 6 WHERE task_to_id = 7"),
                 ("lb_task_event", "ahead", "UPDATE lb_leader SET number = number - 1",
                  "UPDATE lb_leader SET number = number + 1"),
                 ("lb_task", "no workflow", "UPDATE lb_task SET workflow_id = 77 WHERE task_id = 3",
                  "UPDATE lb_task SET workflow_id = 1 WHERE task_id = 3"))
        for table, words, harm, mend in wrong:
            self.sql(url, harm)
            code, said = db("check", url)
            assert code == 1 and any(line.startswith(table) and words in line for line in said.splitlines()), (harm, said)
            self.sql(url, mend)
            assert db("check", url)[0] == 0, (mend, db("check", url))


def sqlite_sql(url, text):
    base = sqlite3.connect(url.removeprefix("sqlite:") + "/sirdar.db")
    base.executescript(text)
    base.commit()
    base.close()


class Folder:
    def __init__(self):
        self.dir, self.n = Path(tempfile.mkdtemp(prefix="sirdar-db-")), 0

    def new_store(self):
        self.n += 1
        return f"sqlite:{self.dir}/{self.n}"

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def run(tests):
    """TAP"""
    bad = 0
    print(f"1..{len(tests)}")
    for n, (name, test) in enumerate(tests, 1):
        began = time.monotonic()
        try:
            test()
            print(f"ok {n} - {name.replace('_', ' ')} # {time.monotonic() - began:.1f} s", flush=True)
        except Exception as e:  # noqa: BLE001
            bad += 1
            print(f"not ok {n} - {name.replace('_', ' ')}\n# {type(e).__name__}: {e}", flush=True)
    return 1 if bad else 0


def of_suite(suite, suffix=""):
    return [(name + suffix, getattr(suite, name)) for name in vars(type(suite))
            if "_" in name[1:] and not name.startswith("_") and callable(getattr(suite, name))]


SPOIL_SQLITE = ("CREATE TRIGGER spoil AFTER INSERT ON lb_task_run_history WHEN NEW.last_number = 400 BEGIN"
                " UPDATE lb_task_run_history SET priority = 9 WHERE last_number = 400; END")
SPOIL_MYSQL = ("CREATE TRIGGER spoil BEFORE INSERT ON lb_task_run_history FOR EACH ROW"
               " SET NEW.priority = IF(NEW.last_number = 400, 9, NEW.priority)")
