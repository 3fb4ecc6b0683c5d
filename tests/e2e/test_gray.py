#!/usr/bin/env python3
"""Gray failures: programs that are alive and sick, machines that stand still and come back, two machines
with one name, a machine on which nothing starts. One of these at a time, drawn by a seed, while work runs
on two brokers. TAP.

The judge is outside the product: a ledger line that each job appends at its start and its end, a lock held on
a file per instance, and lines that each execution prints under its own fence token. It reads every log.

ROUNDS=n (default 10: each kind once; HEAVY=1: 500) and SEED=n choose; KINDS=a,b only these."""
import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import OVER, Daemon, Late, Site, main, test, until  # noqa: E402
from proxy import Wire  # noqa: E402
from witness import Load  # noqa: E402

HEAVY = bool(os.environ.get("HEAVY"))
ROUNDS = int(os.environ.get("ROUNDS") or (500 if HEAVY else 10))
SEED = int(os.environ.get("SEED") or time.time_ns() % 1000000)
DAY, MINUTES, LINES = 1772323200, 12, 12
LEASES = {"beat_ms": 200, "fence_ms": 3000, "kill_ms": 500, "lose_ms": 6000, "epoch_ms": 3000, "lead_ms": 4000}
LOSE_S = LEASES["lose_ms"] / 1000

def sleeps(seconds):
    """Lines all the while, each under its own token, so that logs that mix are seen."""
    return f'n=0\nwhile [ $n -lt {LINES} ]; do echo "$n $me"; n=$((n+1)); sleep {seconds}; done'


def gray_load(s, folder):
    return Load(s, folder, "gray", MINUTES, 6, lambda: (sleeps(0.02), sleeps(random.choice((0.1, 0.3, 0.6))), sleeps(0.01)))


class GraySite(Site):
    """b1 reaches the server straight, b2 through a wire that can be held."""

    def __init__(self):
        super().__init__("gray", infra_max=1000, **LEASES)
        self.wire = Wire(self.port)
        for name in ("b1", "b2"):
            (self.dir / f"work-{name}").mkdir()

    def broker_sets(self, name, types, **sets):
        return super().broker_sets(name, types, work_dir=self.dir / f"work-{name.split('-')[0]}",
                                   retry_max_ms=100, report_ms=100, loader_silent_ms=1000, **sets)

    def begin(self):
        self.start(("shell:8",), loader_crash_max=3)
        self.add_broker("b2", ("shell:8",), server=f"127.0.0.1:{self.wire.port}", loader_crash_max=1000)
        return self

    def close(self):
        self.wire.open.set()
        self.wire.close()
        super().close()

    def unfinished(self):
        try:
            return sum(self.get("/api/v1/server")["instances"].values())
        except Exception:  # noqa: BLE001
            return None


def signal_to(pids, what):
    sent = 0
    for pid in pids:
        try:
            os.kill(pid, what)
            sent += 1
        except ProcessLookupError:
            pass
    return sent


def hold():
    """Seconds that a fault lasts: short of the fence, past it, past the loss of the lease."""
    return random.choice((0.5, 1.5, LEASES["fence_ms"] / 1000 + 1, LOSE_S + 1, LOSE_S + 3))


def stand(seconds):
    """A fault's own length, not a wait for anything: what it does to the work is judged afterwards."""
    threading.Event().wait(seconds)


def frozen(s, program, seconds):
    """One process of a kind stands still, the others go on."""
    pids = s.pids(program)
    if not pids:
        return
    pid = random.choice(pids)
    signal_to([pid], signal.SIGSTOP)
    stand(seconds)
    signal_to([pid], signal.SIGCONT)


# --- the kinds: a function each, which begins the fault, lasts, and ends it

KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


@kind
def server_stops(s):
    signal_to([s.base.pid], signal.SIGSTOP)
    stand(hold())
    signal_to([s.base.pid], signal.SIGCONT)


@kind
def server_away(s):
    s.base.kill()
    stand(hold())
    s.base.start(wait=False)


@kind
def loader_frozen(s):
    frozen(s, "taskrunner-loader", hold())


@kind
def keeper_frozen(s):
    frozen(s, "jobkeeper", hold())


@kind
def broker_frozen(s):
    frozen(s, "taskbroker", hold())


@kind
def agents_frozen(s):
    """Broker and loaders of a machine stand still together; its jobkeeper and its jobs do not."""
    here = s.dir / random.choice(("b1", "b2"))
    pids = s.pids("taskbroker", here) + s.pids("taskrunner-loader", here)
    signal_to(pids, signal.SIGSTOP)
    stand(hold())
    signal_to(pids, signal.SIGCONT)


@kind
def wire_held(s):
    s.wire.open.clear()
    stand(hold())
    s.wire.open.set()


@kind
def quarantined(s):
    """The loaders of b1 die until their type is in quarantine there; b1 begins anew at the end."""
    for _ in range(3):
        pids = [p for p in s.pids("taskrunner-loader", s.dir / "b1")]
        if signal_to(pids, signal.SIGKILL):
            try:
                until("a loader again", lambda old=pids: set(s.pids("taskrunner-loader", s.dir / "b1")) - set(old), 3)
            except Late:
                break
    stand(min(hold(), LOSE_S))
    s.brokers["b1"].restart()


@kind
def cloned(s):
    """A copy of b1 with its name and key, and a state of its own: what a cloned machine is."""
    sets = s.broker_sets("b1", ("shell:8",))
    sets["state_dir"] = s.dir / f"clone-{time.monotonic_ns()}"
    sets["files_dir"] = s.dir / "clone-files"
    clone = Daemon(s, "clone", s.argv("taskbroker", sets), r"broker\.keeper_up")
    clone.start(wait=False)
    stand(hold())
    signal_to(s.pids("taskbroker", sets["state_dir"]) + s.pids("taskrunner-loader", sets["state_dir"]) +
              s.pids("jobkeeper", sets["state_dir"]), signal.SIGKILL)
    clone.kill()


@kind
def sick(s):
    """Nothing starts on b2: its working directory is not there."""
    work = s.dir / "work-b2"
    work.rename(s.dir / "work-away")
    stand(hold())
    (s.dir / "work-away").rename(work)


# --- the judge

def ran(work):
    """-> {key: [(token, attempt, place in the ledger, word)]} of starts and of ends."""
    starts, ends = {}, {}
    for at, (word, task, date, generation, attempt, token, what) in enumerate(work.lines()):
        key = (int(task), int(date), int(generation))
        (starts if word == "start" else ends).setdefault(key, []).append((int(token), int(attempt), at, what))
    return starts, ends


def key_of(i):
    return i["task_id"], DAY + 60 * (int(i["run_date"][11:13]) * 60 + int(i["run_date"][14:16])), i["generation"]


def judge_run(s, i, started, ended):
    """What is wrong with one instance: states, executions."""
    fails = i["task"].endswith("/fails")
    tokens = [t for t, _, _, _ in started]
    if len(set(tokens)) != len(tokens):
        yield f"a lease ran twice: {started}"
    yield from (f"two executions at once: {x}" for x in started if x[3] == "OVERLAP")
    if i["state"] != ("StopSchedule" if fails else "Succ") or (fails and i["exit_code"] != 9):
        yield f"{i['state']} ({i['reason']}, exit {i['exit_code']}): {started} {ended}"
    good = [e for e in ended if e[3] == ("9" if fails else "0")]
    if len(good) < (2 if fails else 1):
        yield f"it ended well {len(good)} times: {started} {ended}"
    if len(good) > (2 if fails else 1):  # it may run again only when nobody could say how it ended
        reasons = {e["reason"] for e in s.history(i["id"])}
        if not reasons & {"lost", "fenced"}:
            yield f"it ran again though its end was seen: {good} {reasons}"


def judge_order(rows, starts, ends):
    """A child starts after each of its parents ended well, by the jobs' own ledger."""
    by_name = {(i["task"], key_of(i)[1]): key_of(i) for i in rows}

    def well(task, date):
        return min((e[2] for e in ends.get(by_name.get((task, date)), []) if e[3] == "0"), default=None)
    for (task, date), key in by_name.items():
        flow, _, leaf = task.rpartition("/")
        parents = {"b": [(f"{flow}/a", date)], "c": [(f"{flow}/b", date), (f"{flow}/c", date - 60)],
                   "fails": [(f"{flow}/a", date + 60 * n) for n in range(6)]}.get(leaf, [])
        for parent in parents:
            if parent not in by_name:
                continue
            done, first = well(*parent), min((x[2] for x in starts.get(key, [])), default=None)
            if first is not None and (done is None or done > first):
                yield f"{task} {date} started at line {first}, before {parent} had ended ({done})"


def judge_log(s, i, started):
    """The log of the last execution has all that it printed, in order, and after it nothing of another one."""
    status, text = s.ask("GET", f"/api/v1/instances/{i['id']}/log?stream=stdout&bytes=262144")
    if status != 200:
        yield f"it has no log: {status} {text}"
        return
    lines = (text.decode() if isinstance(text, bytes) else text).splitlines()
    task, date, generation = key_of(i)
    token, attempt = max(started)[:2]
    mine = f"{task} {date} {generation} {attempt} {token}"
    want = [f"{n} {mine}" for n in range(LINES)]
    own = [n for n, line in enumerate(lines) if line.endswith(mine)]
    if not own or lines[own[0]:] != want:
        yield f"the log does not end with what token {token} printed: {lines[-30:]}"
    for line in lines[:own[0] if own else len(lines)]:
        words = line.split()
        if len(words) == 6 and words[1:4] != [str(task), str(date), str(generation)]:
            yield f"a line of another instance: {line}"


def judge(s, work):
    rows = work.all_over(300)
    starts, ends = ran(work)
    wrong = [] if len(rows) == work.total() else [f"{len(rows)} rows of {work.total()}"]
    for i in rows:
        started, ended = starts.get(key_of(i), []), ends.get(key_of(i), [])
        faults = list(judge_run(s, i, started, ended))
        if i["state"] in OVER and started:
            faults += judge_log(s, i, started)
        wrong += [f"{i['task']} {i['run_date']}: {f}" for f in faults]
    wrong += judge_order(rows, starts, ends)
    unknown = set(starts) - {key_of(i) for i in rows}
    wrong += [f"ran without a row: {sorted(unknown)[:5]}"] if unknown else []
    assert not wrong, f"{len(wrong)} faults (seed {SEED}):\n" + "\n".join(wrong[:20])
    again = sum(len(x) - 1 for k, x in starts.items())
    print(f"# {len(rows)} instances, {len(work.lines())} lines of the ledger, {again} executions after the first", flush=True)


def goes_on(s, work, after):
    at = work.ends()
    try:
        until(f"work goes on after {after}", lambda: work.ends() > at or s.unfinished() == 0, 120)
    except Late as e:
        raise Late(f"{e} (seed {SEED})\n{s.story()}") from None


def deck():
    """Every kind as often as every other, in a drawn order."""
    chosen = [k for k in KINDS if k in os.environ.get("KINDS", ",".join(KINDS)).split(",")]
    while True:
        random.shuffle(chosen)
        yield from chosen


@test
def sick_machines_and_twins_lose_nothing_double_nothing_strand_nothing_and_mix_no_logs(s):
    random.seed(SEED)
    work = gray_load(s, s.dir / "data/gray")
    work.more()
    until("jobs run", work.ends, 60)
    cards = deck()
    for n in range(ROUNDS):
        while (s.unfinished() or 0) < 3 * MINUTES:  # so much is under way that a fault meets all of its stages
            work.more()
        name = next(cards)
        print(f"# {n}: {name}", flush=True)
        KINDS[name](s)
        goes_on(s, work, name)
    judge(s, work)


if __name__ == "__main__":
    print(f"# seed {SEED}", flush=True)
    sys.exit(main(lambda: GraySite().begin()))
