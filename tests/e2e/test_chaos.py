#!/usr/bin/env python3
"""kill -9 of baseserver, taskbroker and loader in loops under load. The witness is what the jobs
themselves wrote: one ledger line at each start and end, and a lock held on a file per instance. TAP.

KILLS=n (default 210, HEAVY=1: 2000) and SEED=n choose; a run is named by its seed.
"""
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import witness  # noqa: E402
from harness import Late, Site, gone, main, test, until  # noqa: E402

KILLS = int(os.environ.get("KILLS") or (2000 if os.environ.get("HEAVY") else 210))
SEED = int(os.environ.get("SEED") or time.time_ns() % 1000000)
DAY = 1772323200


class Load(witness.Load):
    def __init__(self, s, folder, minutes=20, sleep=(0.05, 0.4)):
        super().__init__(s, folder, "chaos", minutes, 10,
                         lambda: (f"sleep {sleep[0]}", f"sleep {sleep[1]}", "sleep 0.02"))


def alive(s):
    """unfinished instances, or None while nobody answers"""
    try:
        return sum(s.get("/api/v1/server")["instances"].values())
    except Exception:  # noqa: BLE001
        return None


def judge(s, load, lost_allowed=False):
    """No instance lost, none run twice, no job disturbed, no exit status lost."""
    s.instances("e2e/chaos*")  # the cgi learns the names of what is new after an answer without them
    rows = load.all_over(120)
    by_key, ends, wrong = {}, {}, []
    for line in load.lines():
        kind, task, date, generation, attempt, token, what = line
        key = (int(task), int(date), int(generation))
        (by_key if kind == "start" else ends).setdefault(key, []).append((int(token), int(attempt), what))
        if what == "OVERLAP":
            wrong.append(f"two attempts at once: {' '.join(line)}")
    for i in rows:
        key = (i["task_id"], DAY + 60 * minute_of(i), i["generation"])
        name, started, ended = i["task"], by_key.get(key, []), ends.get(key, [])
        tokens = [t for t, _, _ in started]
        if len(set(tokens)) != len(tokens):
            wrong.append(f"{name} {key}: a lease was run twice: {started}")
        if not lost_allowed and {t for t, _, _ in started} != {t for t, _, _ in ended}:
            wrong.append(f"{name} {key}: a job was disturbed: {started} {ended}")
        fails = name.endswith("/fails")
        want_state, want_ends = ("StopSchedule", 2) if fails else ("Succ", 1)
        good = [e for e in ended if e[2] == ("9" if fails else "0")]
        if i["state"] != want_state:
            wrong.append(f"{name} {key}: {i['state']} ({i['reason']}), started {started}, ended {ended}")
        if len(good) != want_ends:
            wrong.append(f"{name} {key}: ended well {len(good)} times: {started} {ended}")
        if fails and i["exit_code"] != 9:
            wrong.append(f"{name} {key}: exit status {i['exit_code']}")
    unknown = set(by_key) - {(i["task_id"], DAY + 60 * minute_of(i), i["generation"]) for i in rows}
    if unknown:
        wrong.append(f"ran without a row: {sorted(unknown)[:5]}")
    assert len(rows) == load.total(), f"{len(rows)} rows of {load.total()}"
    assert not wrong, f"{len(wrong)} faults (seed {SEED}):\n" + "\n".join(wrong[:20])
    return rows


def minute_of(i):
    return int(i["run_date"][11:13]) * 60 + int(i["run_date"][14:16])


def kill_pid(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def strike(s, who):
    """-> was somebody killed? Started again at once, as a supervisor does."""
    if who == "loader":
        pids = s.pids("taskrunner-loader")
        return bool(pids) and kill_pid(random.choice(pids))
    d = s.base if who == "base" else s.brokers["b1"]
    d.kill()
    d.start(wait=False)
    return True


def goes_on(s, load, look_after=lambda s: None):
    """Something ends, or nothing is left to do; else all that is known is told. look_after(s): before each look."""
    at = load.ends()
    try:
        until("work goes on between the blows", lambda: look_after(s) or load.ends() > at or alive(s) == 0, 60)
    except Late as e:
        raise Late(f"{e} (seed {SEED})\n{s.story()}") from None


def storm(s, load, kills, whom, pause):
    done, ended = dict.fromkeys(whom, 0), load.ends()
    while sum(done.values()) < kills:
        open_ = alive(s)
        if open_ is not None and open_ < 12:
            load.more()
        who = random.choice(whom)
        done[who] += strike(s, who)
        # The next blow falls at a random moment; now and then they are let work for a while.
        time.sleep(random.uniform(0, pause) if random.random() < 0.8 else 4 * pause)
        if sum(done.values()) % 20 == 0:
            goes_on(s, load)
    print(f"# seed {SEED}: killed {done}, {load.ends() - ended} jobs ended meanwhile", flush=True)


@test
def kills_of_server_broker_and_loader_lose_nothing_and_run_nothing_twice(s):
    random.seed(SEED)
    load = Load(s, s.dir / "data/storm")
    load.more()
    until("jobs run", load.ends)
    storm(s, load, KILLS, ("base", "broker", "loader"), 0.35)
    until("the server leads", s.up)
    rows = judge(s, load)
    print(f"# {len(rows)} instances, {len(load.lines())} lines of the jobs' ledger")
    for i in random.sample(rows, min(20, len(rows))):
        events = s.history(i["id"])
        assert events, i


@test
def a_killed_jobkeeper_takes_its_jobs_along_which_are_lost_and_tried_again(s):
    folder = s.dir / "data/keeper"
    folder.mkdir()
    s.apply("workflow: keeper\nproject: e2e\ntimezone: UTC\nstart_date: 2026-03-01\n"
            "end_date: 2026-03-01\ntasks:\n  t:\n    type: shell\n    cycle: day\n"
            "    catchup: {mode: all}\n    params:\n      script: |\n"
            f"        echo \"start $SIRDAR_FENCE_TOKEN $$$$\" >> {folder}/ledger\n"
            f"        while [ ! -e {folder}/gate ]; do sleep 0.05; done\n"
            f"        echo \"end $SIRDAR_FENCE_TOKEN\" >> {folder}/ledger\n", **{"from": "2026-03-01"})
    ledger = folder / "ledger"
    until("the job runs", lambda: ledger.exists() and ledger.read_text())
    first = int(ledger.read_text().split()[2])
    for pid in s.pids("jobkeeper"):
        kill_pid(pid)
    until("it runs again", lambda: len(ledger.read_text().splitlines()) == 2, 90)
    assert gone(first), "the first job lived on without its keeper"
    (folder / "gate").touch()
    i = s.wait_state("e2e/keeper/t", "2026-03-01T00:00:00Z", ("Succ", "StopSchedule", "Hanged"))
    lines = [line.split() for line in ledger.read_text().splitlines()]
    assert i["state"] == "Succ" and [w[0] for w in lines] == ["start", "start", "end"], (i, lines)
    assert lines[1][1] == lines[2][1] != lines[0][1], lines
    assert int(lines[1][1]) > int(lines[0][1]), "a later lease has a larger token"
    assert i["attempt"] == 1, f"a lost machine burns no attempt: {i}"


if __name__ == "__main__":
    sys.exit(main(lambda: Site("chaos").start(("shell:12",), retry_max_ms=100)))
