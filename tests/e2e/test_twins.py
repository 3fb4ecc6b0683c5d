#!/usr/bin/env python3
"""Two machines with one name and key: the one that has the name keeps it, the other is refused, told and shown,
and taken when the first falls silent. Jobs hold a lock and write down their tokens: none starts twice. TAP."""
import glob
import os
import re
import shutil
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TESTS, Daemon, Site, Skip, main, stand_still, test, until  # noqa: E402
from keeper_client import rewrite_journal  # noqa: E402
from test_life import AT, ledger, script, workflow  # noqa: E402

TESTS.clear()
REFUSED = r"session\.refused .*code=IDENTITY"


def witness(s, seconds):
    data = s.dir / "data"
    return script(f"exec 9>>{data}/lock.$(basename $SIRDAR_TASK)\n"
                  f"flock -n 9 || echo $SIRDAR_TASK >> {data}/overlap\n"
                  f"echo $SIRDAR_FENCE_TOKEN >> {data}/tokens\nsleep {seconds}")


def judge(s, task, n):
    rows = s.wait_all_over(task, n, 90)
    assert all(i["state"] == "Succ" for i in rows), rows
    tokens = ledger(s, "tokens")
    assert len(tokens) == len(set(tokens)), tokens
    assert ledger(s, "overlap") == []
    return rows


def copy_of_files(s, name, to):
    """As a copy of a disk has them: all of one moment, so once more if a file went while it was made."""
    def whole():
        shutil.rmtree(s.dir / to, ignore_errors=True)
        try:
            return shutil.copytree(s.dir / name, s.dir / to, symlinks=True,
                                   ignore=lambda d, names: [n for n in names if n.endswith(".sock")])
        except (shutil.Error, FileNotFoundError):
            return None
    until(f"the files of {name} are copied", whole, 60)


def twin(s, name, copy_of=None):
    """A machine with b1's name and key, and a state directory of its own: a copy of another's, if asked."""
    if copy_of:
        copy_of_files(s, copy_of, name)
    sets = s.broker_sets("b1", ("shell:8",), state_dir=s.dir / name, files_dir=s.dir / (name + "-files"))
    sets["state_dir"] = s.dir / name
    return Daemon(s, name, s.argv("taskbroker", sets), r"broker\.keeper_up").start()


def broker(s):
    return next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "b1")


def of_another_boot(body):
    return re.sub(rb"[0-9a-f]{8}-[0-9a-f-]{27}", b"0" * 36, body)


def of_no_file(body):
    """As a jobkeeper of an earlier release wrote it; and what a clone of a whole disk looks like: nothing in it
    says that it is a copy. Field 11, the file's place, becomes one that nobody reads."""
    return re.sub(rb"\x5a(.[0-9a-f]+\.[0-9a-f]+\.[0-9a-f]+\.)", lambda m: b"\x7a" + m[1], of_another_boot(body))


def booted(s, name):
    """As its files are after a boot: the same ones, and what they say of the boot is over."""
    rewrite_journal(s.dir / name, of_another_boot)
    text = (s.dir / name / "machine").read_bytes()
    with open(s.dir / name / "machine", "r+b") as f:
        f.write(of_another_boot(text))


def cards():
    return [p for p in glob.glob("/sys/class/net/*/device")]


def programs(s, name, *which):
    return [p for program in which for p in s.pids(program, f"{s.dir / name}\0")]


def end_machine(s, name):
    """All of it at once, as when its power goes."""
    for pid in programs(s, name, "taskbroker", "taskrunner-loader", "jobkeeper"):
        os.kill(pid, signal.SIGKILL)


@test
def a_copy_of_a_machine_is_refused_told_and_shown_and_nothing_starts_twice(s):
    copy = twin(s, "copy", "b1")
    until("it is refused", lambda: copy.has(r"taskbroker warn link\.refused code=IDENTITY"), 30)
    until("its loader too", lambda: copy.has(r"taskrunner-loader warn link\.refused code=IDENTITY"), 30)
    workflow(s, "twins", {f"t{n}": witness(s, 0.3) for n in range(40)})
    rows = judge(s, "e2e/twins/*", 40)
    assert all(i["attempt"] == 1 for i in rows), rows
    assert not copy.has(r"link\.up"), copy.tail()
    shown = broker(s)
    assert "another machine" in shown["twin"] and shown["twin_refused"] > 0, shown
    until("it tries again, from another port",
          lambda: broker(s)["twin_refused"] > shown["twin_refused"], 60)
    assert broker(s)["twin"] == shown["twin"] and "127.0.0.1:" not in shown["twin"], (shown, broker(s))
    assert "another machine" in s.sirdar("broker", "list").stdout


@test
def a_server_that_starts_again_keeps_the_name_with_the_machine_that_had_it(s):
    mark = s.base.log.stat().st_size
    s.base.restart()
    until("the first is back", lambda: s.base.has(r"session\.greeted .*name=b1 role=1", mark), 60)
    until("the copy is refused", lambda: s.base.has(REFUSED, mark), 60)
    s.wait_broker("b1", ["shell"])
    workflow(s, "again", {f"t{n}": witness(s, 0.2) for n in range(20)})
    judge(s, "e2e/again/*", 20)
    assert not s.copy().has(r"link\.up"), s.copy().tail()


@test
def a_taskbroker_that_died_is_followed_at_once_by_one_on_its_machine(s):
    workflow(s, "kept", {"t": witness(s, 3)})
    s.wait_state("e2e/kept/t", AT, "Running")
    mark = s.brokers["b1"].log.stat().st_size
    s.brokers["b1"].restart(hard=True)
    until("it is greeted", lambda: s.brokers["b1"].has(r"taskbroker info link\.up", mark), 30)
    assert not s.brokers["b1"].has(r"code=IDENTITY", mark), s.brokers["b1"].text(mark)
    rows = judge(s, "e2e/kept/t", 1)
    assert rows[0]["attempt"] == 1, rows


@test
def the_copy_is_taken_when_the_first_machine_is_gone_and_its_job_runs_again_once_it_is_lost(s):
    workflow(s, "gone", {"t": witness(s, 1.5)})
    i = s.wait_state("e2e/gone/t", AT, "Running")
    until("its job runs", lambda: (s.dir / "data" / "lock.t").exists(), 30)
    mark = s.base.log.stat().st_size
    end_machine(s, "b1")
    until("the copy is greeted", lambda: s.copy().has(r"taskbroker info link\.up"), 30)
    assert s.base.has(r"broker\.machine name=b1", mark), s.base.text(mark)
    judge(s, "e2e/gone/t", 1)
    # Not by the new machine's list: what the former held is lost by silence, when it is fenced for sure.
    reasons = [e["reason"] for e in s.history(i["id"]) if e["event"] == "fail-retry"]
    assert reasons == ["lost"], s.history(i["id"])
    until("nobody else greets", lambda: not broker(s)["twin"], 90)


@test
def a_machine_that_was_cut_off_finds_its_name_taken_and_its_job_never_ran_beside_another(s):
    workflow(s, "cut", {"t": witness(s, 8).replace("sleep", "exec sleep")})
    s.wait_state("e2e/cut/t", AT, "Running")
    # Its keeper goes on and fences; who speaks for it stands still, with its connections half open.
    silent = programs(s, "copy", "taskbroker", "taskrunner-loader")
    for pid in silent:
        stand_still(pid)
    third = twin(s, "third")
    until("the third is taken", lambda: third.has(r"taskbroker info link\.up"), 60)
    mark = s.copy().log.stat().st_size
    for pid in silent:
        os.kill(pid, signal.SIGCONT)
    until("the one that was cut off is refused", lambda: s.copy().has(r"link\.refused code=IDENTITY", mark), 60)
    judge(s, "e2e/cut/t", 1)


@test
def a_copy_taken_while_jobs_run_says_nothing_of_them_and_they_never_run_beside_another(_):
    with make("twins-live") as s:
        workflow(s, "live", {f"t{n}": witness(s, 5).replace("sleep", "exec sleep") for n in range(3)})
        ids = [s.wait_state(f"e2e/live/t{n}", AT, "Running")["id"] for n in range(3)]
        until("its jobs run", lambda: len(ledger(s, "tokens")) == 3, 30)
        copy = twin(s, "copy", "b1")
        until("it is refused", lambda: copy.has(r"taskbroker warn link\.refused code=IDENTITY"), 30)
        # Nobody speaks for the first machine any more; its keeper has the jobs, until it fences.
        for pid in programs(s, "b1", "taskbroker", "taskrunner-loader"):
            os.kill(pid, signal.SIGKILL)
        until("the copy is taken", lambda: copy.has(r"taskbroker info link\.up"), 30)
        for n in range(3):
            judge(s, f"e2e/live/t{n}", 1)
        assert copy.has(r"journal\.copied"), copy.tail()
        assert not copy.has(r"job\.lost"), copy.tail()
        assert [f for f in os.listdir(s.dir / "copy") if f.startswith("keeper.journal.copy-")]
        for i in ids:
            reasons = [e["reason"] for e in s.history(i) if e["event"] == "fail-retry"]
            assert reasons == ["lost"], s.history(i)


def running(s, name, n):
    """Three jobs that outlive who speaks for them; each lets nobody else run beside it."""
    workflow(s, name, {f"t{k}": witness(s, 5).replace("sleep", "exec sleep") for k in range(n)})
    ids = [s.wait_state(f"e2e/{name}/t{k}", AT, "Running")["id"] for k in range(n)]
    until("its jobs run", lambda: len(ledger(s, "tokens")) == n, 30)
    return ids


def silence(s, name):
    """Nobody speaks for that machine any more; its keeper has the jobs, until it fences."""
    for pid in programs(s, name, "taskbroker", "taskrunner-loader"):
        os.kill(pid, signal.SIGKILL)


def judge_lost(s, name, ids):
    for k, i in enumerate(ids):
        judge(s, f"e2e/{name}/t{k}", 1)
        reasons = [e["reason"] for e in s.history(i) if e["event"] == "fail-retry"]
        assert reasons == ["lost"], s.history(i)


@test
def what_a_clone_of_the_whole_disk_says_of_the_former_ones_jobs_is_not_believed(_):
    with make("twins-disk") as s:
        ids = running(s, "disk", 3)
        copy_of_files(s, "b1", "clone")
        rewrite_journal(s.dir / "clone", of_no_file)
        clone = twin(s, "clone")
        until("it is refused", lambda: clone.has(r"taskbroker warn link\.refused code=IDENTITY"), 30)
        assert len(re.findall(r"job\.lost", clone.text())) == 3, clone.tail()
        silence(s, "b1")
        until("it is taken", lambda: clone.has(r"taskbroker info link\.up"), 30)
        judge_lost(s, "disk", ids)


@test
def after_the_server_starts_again_who_took_a_name_is_not_asked_for_what_the_former_one_runs(_):
    with make("twins-again") as s:
        ids = running(s, "again", 3)
        copy = twin(s, "copy", "b1")
        until("it is refused", lambda: copy.has(r"taskbroker warn link\.refused code=IDENTITY"), 30)
        silence(s, "b1")
        until("it is taken", lambda: copy.has(r"taskbroker info link\.up"), 30)
        until("its loader too", lambda: copy.has(r"taskrunner-loader info link\.up"), 30)
        mark = s.base.log.stat().st_size
        s.base.restart(hard=True)
        until("it is back", lambda: s.base.has(r"session\.greeted .*name=b1 role=2", mark), 60)
        judge_lost(s, "again", ids)


@test
def a_machine_that_was_booted_is_believed_when_it_says_what_it_lost(_):
    if not cards():
        raise Skip("a machine without a network card cannot tell itself from a clone of its disk")
    with Twins("twins-boot", beat_ms=300, fence_ms=400000, kill_ms=500, lose_ms=600000, epoch_ms=1000) as s:
        s.start(types=("shell:8",))
        ids = running(s, "boot", 2)
        for pid in s.pids("jobkeeper", f"{s.dir / 'b1'}\0") + programs(s, "b1", "taskbroker", "taskrunner-loader"):
            os.kill(pid, signal.SIGKILL)
        for pid in s.pids("sleep"):
            os.kill(pid, signal.SIGKILL)
        booted(s, "b1")
        mark = s.brokers["b1"].log.stat().st_size
        s.brokers["b1"].restart(hard=True)
        until("it is taken", lambda: s.brokers["b1"].has(r"taskbroker info link\.up", mark), 60)
        assert s.base.has(r"broker\.machine name=b1 .*was booted"), s.base.tail()
        for k, i in enumerate(ids):  # not by silence, which would take ten minutes
            judge(s, f"e2e/boot/t{k}", 1)
            assert "restarted" in str(s.history(i)), s.history(i)


class Twins(Site):
    def copy(self):
        d = Daemon(self, "copy", ["-"], "")
        return d


def make(name="twins"):
    s = Twins(name, beat_ms=300, fence_ms=4000, kill_ms=500, lose_ms=6000, epoch_ms=1000)
    return s.start(types=("shell:8",))


if __name__ == "__main__":
    sys.exit(main(make))
