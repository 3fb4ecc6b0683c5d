#!/usr/bin/env python3
"""A store that is damaged, lost work, or is another one: the server that finds it does not lead on
it, says what it found and what may be done, and exits with a code of its own; each of the ways on
then works. TAP."""
import functools
import os
import random
import re
import shutil
import signal
import sqlite3
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import mariadb  # noqa: E402
from harness import BIN, TESTS, Daemon, Site, Skip, main, stand_still, test, until  # noqa: E402
from test_ha_mysql import MysqlPair  # noqa: E402

TESTS.clear()  # those of a pair are its own

DAMAGED, LOST, STRANGER = 65, 66, 67
WAYS = ("Three ways on", "put back a whole copy", "accept-loss")
WORKFLOW = """workflow: w%d
project: e2e
timezone: UTC
start_date: 2026-03-01
end_date: 2026-03-01
defaults: {type: noop, catchup: {mode: all}}
tasks:
  done: {cycle: 10 minute, params: {seconds: 0}}
"""
RUNS = 144


class Made(Site):
    """A server with some work done, and what there is of its store."""

    def __init__(self, name="damage", **sets):
        super().__init__(name, **sets)
        self.start()
        self.n = 0
        self.store = self.dir / "base"

    def work(self):
        self.n += 1
        self.apply(WORKFLOW % self.n, **{"from": "2026-03-01"})
        self.wait_all_over(f"e2e/w{self.n}/done", RUNS)

    def halt(self, hard=True):
        self.base.kill() if hard else self.base.stop()

    def sql(self, text):
        db = sqlite3.connect(self.store / "sirdar.db")
        rows = db.execute(text).fetchall()
        db.commit()
        db.close()
        return rows

    def whole_file(self):
        """Nothing is left in the log."""
        self.sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def refused(self, code, *words):
        """The server ends by itself; what it says to people has no SQL in it."""
        mark = self.base.mark = self.base.log.stat().st_size
        self.base.start(wait=False)
        got = self.base.proc.wait(120)
        said = [line for line in self.base.text(mark).splitlines() if line.startswith("baseserver: ")]
        text = "\n".join(said)
        assert got == code, (got, self.base.tail())
        for word in (*words, *WAYS):
            assert word in text + self.base.text(mark), (word, text)
        for word in ("UNIQUE", "SELECT", "INSERT", "UPDATE", "PRAGMA"):
            assert word not in text, text
        assert "baseserver.up" not in self.base.text(mark), text
        return text

    def accept(self, *more, expect=0):
        done = self.run([BIN / "sirdar-db", "accept-loss", "--yes", *more, f"sqlite:{self.store}"])
        assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def goes_on(self):
        """It leads, the broker is back, work is done."""
        self.base.start()
        self.cgi.stop()  # it has the former file open
        self.start_cgi()
        self.wait_broker("b1", ["noop"])
        self.work()

    def anchored(self, seconds=30):
        """The file beside the store knows all of it."""
        until("the anchor is up to date", lambda: any(
            line.split()[5:6] == [str(self.sql("SELECT number FROM lb_leader")[0][0])]
            for line in (self.store / "anchor").read_text("utf-8").splitlines()), seconds)

    def copy_to(self, name):
        to = self.dir / name
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        for f in self.store.glob("sirdar.db*"):
            shutil.copy(f, to / f.name)
        return to

    def put_back(self, name):
        for f in self.store.glob("sirdar.db*"):
            f.unlink()
        for f in (self.dir / name).glob("sirdar.db*"):
            shutil.copy(f, self.store / f.name)

    def serve_from(self, name):
        """Another server, with a copy as its state_dir; the face reads that."""
        self.base = Daemon(self, f"baseserver-{name}", self.argv("baseserver", {**self.base_sets, "state_dir": self.dir / name}),
                           r"baseserver\.up")
        self.cgi.argv = [a.replace(f"sqlite:{self.store}", f"sqlite:{self.dir}/{name}") for a in self.cgi.argv]
        self.store = self.dir / name

    def flip(self, kind, bits=20):
        """Bits of the heads of pages that hold a table's or an index's rows."""
        self.whole_file()
        file, pages = self.store / "sirdar.db", set()
        db = sqlite3.connect(file)
        roots = [r for (r,) in db.execute("SELECT rootpage FROM sqlite_schema WHERE type = ? AND rootpage > 0"
                                          " AND tbl_name IN ('lb_task_run_history', 'lb_task_event', 'lb_command')", (kind,))]
        db.close()
        data = bytearray(file.read_bytes())
        size = int.from_bytes(data[16:18], "big")

        def walk(page):
            pages.add(page)
            at = (page - 1) * size
            if data[at] in (2, 5):  # an inner page: its children
                for i in range(int.from_bytes(data[at + 3:at + 5], "big")):
                    cell = int.from_bytes(data[at + 12 + 2 * i:at + 14 + 2 * i], "big")
                    walk(int.from_bytes(data[at + cell:at + cell + 4], "big"))
                walk(int.from_bytes(data[at + 8:at + 12], "big"))
        for root in roots:
            walk(root)
        dice = random.Random(7)
        for _ in range(bits):
            at = (dice.choice(sorted(pages)) - 1) * size + dice.randrange(24)
            data[at] ^= 1 << dice.randrange(8)
        file.write_bytes(data)


def each(f):
    """A store of its own: what one test leaves is no matter to the next."""
    @functools.wraps(f)
    def run(_):
        with Made() as s:
            try:
                f(s)
            except Exception:
                print("\n".join("# " + line for line in s.logs(30).splitlines()), flush=True)
                raise
    return test(run)


@each
def flipped_bits_in_tables_are_found_and_a_back_up_helps(s):
    s.work()
    s.halt(hard=False)
    s.copy_to("backup")
    s.flip("table")
    s.refused(DAMAGED, "sirdar.db", "damaged")
    said = s.accept(expect=1)
    assert "put a whole copy in its place" in said, said
    s.put_back("backup")
    s.goes_on()


@each
def flipped_bits_in_indexes_are_found_and_an_older_copy_and_its_loss_help(s):
    s.halt(hard=False)
    s.copy_to("older")
    s.base.start()
    s.wait_broker("b1", ["noop"])
    s.work()
    s.halt(hard=False)
    s.flip("index", 4)
    s.refused(DAMAGED, "sirdar.db", "damaged")
    check = s.run([BIN / "sirdar-db", "check", f"sqlite:{s.store}"])
    assert check.returncode == 1 and "damaged" in check.stdout, (check.stdout, check.stderr)
    s.put_back("older")
    s.refused(LOST, "lost acknowledged work")
    s.accept()
    s.goes_on()


@each
def a_log_that_was_deleted_is_missed_and_the_loss_can_be_accepted(s):
    s.work()
    s.whole_file()
    s.work()
    runs = s.instances("e2e/w%d/done" % s.n)
    assert len(runs) == RUNS
    s.anchored()
    s.halt()
    assert (s.store / "sirdar.db-wal").stat().st_size > 0
    for f in s.store.glob("sirdar.db-*"):
        f.unlink()
    text = s.refused(LOST, "lost acknowledged work", "anchor", "epoch")
    assert "this server knew transition" in text, text
    before = s.sql("SELECT epoch FROM lb_leader")[0][0]
    s.refused(LOST)  # it stays so
    s.accept()
    s.goes_on()
    epoch, base = s.sql("SELECT epoch, base_epoch FROM lb_leader")[0]
    assert base >= before + 1000 and epoch > base, (before, epoch, base)
    rows = s.get("/api/v1/audit")["items"]
    assert any(a["action"] == "accept-loss" for a in rows), rows[:5]


@each
def an_older_copy_put_back_is_missed_by_the_server_and_by_brokers(s):
    s.work()
    s.halt(hard=False)
    s.copy_to("older")
    s.base.start()
    s.wait_broker("b1", ["noop"])
    s.work()
    s.halt(hard=False)
    s.copy_to("newer")
    s.put_back("older")
    s.refused(LOST, "lost acknowledged work", "this server knew")
    # The anchor went with it: what brokers know remains.
    (s.store / "anchor").unlink()
    mark = s.base.log.stat().st_size
    s.base.start(wait=False)
    assert s.base.proc.wait(120) == LOST, s.base.tail()
    text = s.base.text(mark)
    assert "broker b1 has worked for transition" in text and "Three ways on" in text, text
    s.refused(LOST, "broker b1 knew transition")  # at once, the second time
    # The newer copy is all that is needed.
    s.put_back("newer")
    s.goes_on()


def claims(s):
    """What the server counts of claims that it did not believe."""
    return {w: int(n) for w, n in re.findall(r'sirdar_broker_claims_ignored_total\{why="(\w+)"\} (\d+)',
                                             s.ask("GET", "/metrics")[1].decode())}


def lies(s, why, lie):
    """Its file says what no server told it: counted, told once, and no more."""
    s.brokers["b1"].stop()
    files = list((s.dir / "b1").glob("**/epoch*"))
    assert len(files) >= 2, files  # the broker's, and its loaders'
    for file in files:
        epoch, store, number, proof = file.read_text("utf-8").split()
        assert len(proof) == 32, file.read_text("utf-8")
        file.write_text(" ".join(map(str, lie(int(epoch), store, int(number), proof))) + "\n", "utf-8")
    before = claims(s)[why]
    s.brokers["b1"].start()
    until("each claim is counted", lambda: claims(s)[why] >= before + len(files))
    told = until("the claim is told", lambda: re.findall(r"claim\.ignored.*", s.base.text(s.base.mark)))
    assert len(told) == 1 and "name=b1" in told[0], told
    assert s.base.proc.poll() is None and not s.base.has("store.doubted"), s.base.tail()
    return told[0], files


@each
def a_broker_that_lies_of_what_it_has_seen_is_named_and_stops_nothing(s):
    s.work()
    text, _ = lies(s, "false", lambda epoch, store, number, proof: (epoch, store, 10 ** 15, proof))
    assert "transition 1000000000000000 of epoch" in text and "its proof is not this store's" in text, text
    s.wait_broker("b1", ["noop"])
    s.work()
    s.base.restart()
    s.wait_broker("b1", ["noop"])
    text, _ = lies(s, "unproven", lambda epoch, store, number, proof: (epoch, store, 10 ** 15))
    assert "proves nothing" in text, text
    s.wait_broker("b1", ["noop"])
    s.work()


@each
def a_broker_that_lies_of_the_epoch_shuts_out_itself_alone(s):
    s.work()
    text, files = lies(s, "false", lambda epoch, store, number, proof: (epoch + 5, store, number, proof))
    assert "its proof is not this store's" in text, text
    until("it is refused", lambda: s.base.has("EPOCH", s.base.mark) and s.base.has("peer has obeyed epoch", s.base.mark))
    s.add_broker("b2", types=("noop:64",))
    s.work()
    s.brokers["b1"].stop()
    for file in files:
        file.unlink()
    s.brokers["b1"].start()
    s.wait_broker("b1", ["noop"])


@each
def the_loss_is_accepted_past_what_brokers_saw(s):
    s.work()
    s.halt(hard=False)
    s.copy_to("older")
    s.base.start()
    s.wait_broker("b1", ["noop"])
    s.work()
    s.halt(hard=False)
    s.put_back("older")
    anchor = (s.store / "anchor").read_bytes()
    s.accept()
    (s.store / "anchor").write_bytes(anchor)  # as another server has it, which was not reached
    s.goes_on()


@each
def another_server_takes_over_with_the_newer_copy(s):
    s.work()
    s.halt(hard=False)
    s.copy_to("older")
    s.base.start()
    s.wait_broker("b1", ["noop"])
    s.work()
    s.halt(hard=False)
    s.copy_to("newer")
    s.put_back("older")
    s.refused(LOST, "lost acknowledged work")
    # Way two: the machine that the copy was taken from. Nothing but its own state_dir is known there.
    one = s.base
    s.serve_from("newer")
    s.goes_on()
    assert not s.base.has("claim.ignored|store.doubted"), s.base.tail()
    for n in range(1, s.n + 1):
        assert len(s.instances(f"e2e/w{n}/done")) == RUNS, n
    # The first one is no danger meanwhile.
    s.base.stop()
    s.base, s.store = one, s.dir / "base"
    s.refused(LOST, "lost acknowledged work")


@each
def a_copy_that_another_server_worked_on_is_not_the_store_however_far_it_came(s):
    s.work()
    s.halt(hard=False)
    s.copy_to("other")
    s.base.start()
    s.wait_broker("b1", ["noop"])
    s.work()
    s.halt(hard=False)
    one = s.base
    s.serve_from("other")
    s.brokers["b1"].stop()
    for file in (s.dir / "b1").glob("**/epoch*"):
        file.unlink()  # as if it were another one
    s.brokers["b1"].start()
    s.goes_on()
    s.work()
    s.base.stop()
    s.base, s.store = one, s.dir / "base"
    s.put_back("other")
    s.refused(LOST, "went another way after transition", "another server used")


@each
def what_does_not_read_beside_the_store_is_told_and_stops_nobody(s):
    s.work()
    s.halt(hard=False)
    anchor = s.store / "anchor"
    anchor.write_bytes(anchor.read_bytes()[:100])
    s.base.start()
    assert s.base.has("anchor.unread.*nothing reads back", s.base.mark), s.base.tail()
    s.halt(hard=False)
    anchor.unlink()
    anchor.mkdir()
    s.base.start()
    assert s.base.has("anchor.unread", s.base.mark) and s.base.has("anchor.not-kept", s.base.mark), s.base.tail()
    s.wait_broker("b1", ["noop"])
    s.work()
    s.halt(hard=False)
    anchor.rmdir()
    s.goes_on()
    s.anchored()
    assert not s.base.has("anchor\\.(unread|not-kept)", s.base.mark), s.base.tail()


@test
def what_ends_before_all_is_quiet_is_in_the_anchor_without_another_commit(_):
    # No sign of life of the server comes to its help: the next is minutes away.
    with Made("quiet", lose_ms=600000, lead_ms=600000, epoch_ms=590000, renew_ms=190000) as s:
        for _ in range(5):
            s.work()
            s.anchored(60)


@each
def a_leader_row_that_stands_back_is_named(s):
    s.work()
    s.halt(hard=False)
    s.sql("UPDATE lb_leader SET number = number - 40")
    s.refused(LOST, "lost acknowledged work")
    (s.store / "anchor").unlink()
    s.refused(DAMAGED, "lb_leader is at", "one state of the database")
    s.sql("UPDATE lb_leader SET chain_number = number, mark_number = number - 10")
    s.refused(DAMAGED, "lb_task_event goes on to", "one state of the database")
    s.accept()
    s.goes_on()


@each
def an_event_that_was_changed_is_noticed(s):
    s.work()
    s.halt(hard=False)
    s.sql("UPDATE lb_task_event SET exit_code = 7 WHERE number = (SELECT MAX(number) FROM lb_task_event)")
    s.refused(DAMAGED, "lb_task_event", "not those that were written")
    s.accept()
    s.goes_on()


@each
def a_truncated_database_is_named(s):
    s.work()
    s.halt(hard=False)
    s.whole_file()
    s.copy_to("backup")
    file = s.store / "sirdar.db"
    os.truncate(file, file.stat().st_size // 2)
    s.refused(DAMAGED, "sirdar.db", "damaged")
    s.put_back("backup")
    s.goes_on()


@each
def the_store_of_another_installation_is_refused(s):
    s.work()
    s.halt(hard=False)
    s.copy_to("own")
    with Site("other") as other:
        other.base.start()
        other.base.stop()
        for f in s.store.glob("sirdar.db*"):
            f.unlink()
        shutil.copy(other.dir / "base/sirdar.db", s.store / "sirdar.db")
    s.refused(STRANGER, "another installation", "anchor")
    for f in s.store.glob("sirdar.db*"):
        f.unlink()
    s.refused(STRANGER, "was made anew")
    s.put_back("own")
    s.goes_on()


@each
def health_tells_how_far_the_check_is(s):
    def over():
        store = s.get("/api/v1/health")["store"]
        return store["check"] == "whole" and store["checked_tables"] == store["tables"] > 10
    until("the store was looked through", over)


@each
def damage_that_is_found_beside_the_running_server_ends_it(s):
    s.work()
    for _ in range(5):
        s.base.stop()
        s.whole_file()
        (root,), (size,) = s.sql("SELECT rootpage FROM sqlite_schema WHERE name = 'lb_workflow'") + s.sql("PRAGMA page_size")
        s.copy_to("whole")
        s.base.start()
        with open(s.store / "sirdar.db", "r+b") as f:
            f.seek((root - 1) * size + 1)
            f.write(b"\x01\x02\x03\x04")
        until("the look is over", lambda: s.base.has("store.damaged|store.whole", s.base.mark))
        if s.base.has("store.damaged", s.base.mark):
            break
        s.base.stop()  # it was there before us
        s.put_back("whole")
    health = until("health tells it", lambda: next((h for h in [s.ask("GET", "/api/v1/health")] if h[0] == 503), None))[1]
    assert health["store"]["check"] == "damaged" and any("damaged" in p for p in health["problems"]), health
    status, metrics = s.ask("GET", "/metrics")
    assert status == 200 and re.search(r"sirdar_store_damaged\S* 1\b", str(metrics)), metrics
    assert s.base.proc.wait(120) == DAMAGED, s.base.tail()
    s.refused(DAMAGED, "sirdar.db", "damaged")
    note = (s.store / "damaged").read_text("utf-8")
    assert "damaged" in note, note
    s.put_back("whole")  # of before the last start
    s.accept()
    (s.store / "damaged").write_text(note, "utf-8")
    s.goes_on()
    assert not (s.store / "damaged").exists()


def copied(server, one, other):
    """As a dump that is read back does it."""
    server.sql(f"DROP DATABASE {other}; CREATE DATABASE {other}")
    for table in server.sql(f"SHOW TABLES FROM {one}").split():
        server.sql(f"CREATE TABLE {other}.{table} LIKE {one}.{table};"
                   f"INSERT INTO {other}.{table} SELECT * FROM {one}.{table}")


@each
def an_older_copy_of_a_database_put_back_is_missed(s):
    if not mariadb.program("mariadbd"):
        raise Skip("no mariadbd")
    s.close()
    with mariadb.MariaDB(flush=0) as server:
        server.sql("CREATE DATABASE sirdar")
        with Site("damage-my", store=server.url("sirdar")) as m:
            m.start()
            m.apply(WORKFLOW % 1, **{"from": "2026-03-01"})
            m.wait_all_over("e2e/w1/done", RUNS)
            m.base.stop()
            m.cgi.stop()
            server.sql("CREATE DATABASE older")
            copied(server, "sirdar", "older")
            m.base.start()
            m.start_cgi()
            m.wait_broker("b1", ["noop"])
            m.apply(WORKFLOW % 2, **{"from": "2026-03-01"})
            m.wait_all_over("e2e/w2/done", RUNS)
            m.base.stop()
            m.cgi.stop()
            copied(server, "older", "sirdar")
            mark = m.base.log.stat().st_size
            m.base.start(wait=False)
            assert m.base.proc.wait(120) == LOST, m.base.tail()
            assert "this server knew transition" in m.base.text(mark), m.base.tail()  # before it leads
            done = m.run([BIN / "sirdar-db", "accept-loss", "--yes", server.url("sirdar")])
            assert done.returncode == 0, (done.stdout, done.stderr)
            m.base.start()
            m.start_cgi()
            m.wait_broker("b1", ["noop"])
            m.apply(WORKFLOW % 3, **{"from": "2026-03-01"})
            m.wait_all_over("e2e/w3/done", RUNS)


@each
def a_standby_that_follows_is_told_by_brokers_that_the_database_was_put_back(s):
    s.close()
    m = MysqlPair()
    with m:
        server = m.database
        m.begin()
        m.add_broker("b2", types=("noop:64",))
        m.apply(WORKFLOW % 1, **{"from": "2026-03-01"})
        m.wait_all_over("e2e/w1/done", RUNS)
        server.sql("CREATE DATABASE older; CREATE DATABASE newer")
        copied(server, "sirdar", "older")
        m.apply(WORKFLOW % 2, **{"from": "2026-03-01"})
        m.wait_all_over("e2e/w2/done", RUNS)
        assert m.leader() is m.base and m.base2.has("standby.waits", m.base2.mark)
        stand_still(m.base2.pid)  # no hurry for what follows
        m.base.stop()
        copied(server, "sirdar", "newer")
        copied(server, "older", "sirdar")
        os.kill(m.base2.pid, signal.SIGCONT)
        assert m.base2.proc.wait(120) == LOST, m.base2.tail()
        text = m.base2.text(m.base2.mark)
        assert "has worked for transition" in text and "Three ways on" in text, text
        # Neither leads on it any more, whichever is asked: not even until a broker speaks.
        for daemon, word in ((m.base, "this server knew transition"), (m.base2, "broker b. knew transition")):
            mark = daemon.log.stat().st_size
            daemon.start(wait=False)
            assert daemon.proc.wait(120) == LOST, daemon.tail()
            assert daemon.has(word, mark) and not daemon.has("lead.taken|baseserver.up", mark), daemon.tail()
        copied(server, "newer", "sirdar")
        m.base2.ready = r"baseserver\.up"
        m.base2.start()
        m.cgi.stop()
        m.start_cgi()
        m.wait_broker("b2", ["noop"])
        m.apply(WORKFLOW % 3, **{"from": "2026-03-01"})
        for n in (1, 2, 3):
            m.wait_all_over(f"e2e/w{n}/done", RUNS)


if __name__ == "__main__":
    sys.exit(main(lambda: Site("damage-none")))
