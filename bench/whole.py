#!/usr/bin/env python3
"""Benchmarks of the real programs together, through every layer: cgi, baseserver on SQLite FULL with
TLS, taskbroker, loader, jobkeeper. `bench/run` starts this; see bench/README.md.

    bench/whole.py [NAME...]      names: those of BENCHES, below
"""
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/e2e"))
from harness import B, Site, rfc3339, until  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")
SCALE = float(os.environ.get("SCALE", "1"))
DAY0 = 1767225600  # 2026-01-01
# Leases as in production: heartbeats of tests would only cost.
PRODUCTION = {"beat_ms": 10000, "fence_ms": 150000, "kill_ms": 15000, "lose_ms": 180000}
QUIET = {"report_ms": 10000, "output_flush_ms": 500}
BENCHES, FIGURES = {}, []


def bench(function):
    BENCHES[function.__name__] = function
    return function


def figure(name, value, unit, target=None, better="more", note=""):
    good = target is None or (value >= target if better == "more" else value <= target)
    mark = "" if target is None else f"{'>=' if better == 'more' else '<='} {target:g} " + \
        ("" if good else "FALLS SHORT")
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    print(f"{name:44} {text:>12} {unit:14} {mark:24} {note}", flush=True)
    FIGURES.append((name, value, unit, good))


# --- the machine's limits, measured beside

def tool(name, *args):
    path = B / "bench" / name
    if not path.exists():
        subprocess.run(["make", "-s", str(path.relative_to(Path.cwd()) if path.is_relative_to(
            Path.cwd()) else path)], check=True)
    return subprocess.run([str(path), *map(str, args)], check=True, capture_output=True,
                          text=True).stdout


def spawn_rate(program, count=1500, at_once=2):
    return float(tool("bench_spawn", count, at_once, program).split()[1])


def fdatasync_ms(folder):
    """The median of appended pages: what a commit waits for, at the least."""
    fd, took = os.open(f"{folder}/.fdatasync", os.O_WRONLY | os.O_CREAT, 0o600), []
    try:
        for n in range(200):
            began = time.monotonic()
            os.pwrite(fd, b"x" * 4096, 4096 * n)
            os.fdatasync(fd)
            took.append(time.monotonic() - began)
        return statistics.median(took) * 1000
    finally:
        os.close(fd)
        os.unlink(f"{folder}/.fdatasync")


def fdatasync_rate(folder):
    fd = os.open(f"{folder}/.fdatasync", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        end, n = time.monotonic() + 0.3, 0
        while time.monotonic() < end:
            os.pwrite(fd, b"x" * 4096, 4096 * (n % 256))
            os.fdatasync(fd)
            n += 1
        return n / 0.3
    finally:
        os.close(fd)
        os.unlink(f"{folder}/.fdatasync")


# --- what the programs cost

def processes(s):
    found = {"baseserver": [s.base.pid], "sirdar-cgi": [s.cgi.pid]}
    for name in ("taskbroker", "taskrunner-loader", "jobkeeper"):
        found[name] = s.pids(name)
    return found


def cpu_seconds(s):
    used = {}
    for name, pids in processes(s).items():
        for pid in pids:
            words = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
            used[name] = used.get(name, 0) + (int(words[11]) + int(words[12])) / TICK
    return used


def memory_kb(pid, what="VmRSS"):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1])
    return 0


# --- workloads: plans wholly in the past, of which a backfill makes the rows

def workflow(name, tasks, defaults="type: noop"):
    text = f"workflow: {name}\nproject: bench\ntimezone: UTC\nstart_date: 2026-01-01\n"
    text += f"defaults: {{{defaults}, catchup: {{mode: none}}}}\ntasks:\n"
    return text + "".join(f"  {task}: {{{body}}}\n" for task, body in tasks.items())


def minutes(n):
    """The span that holds n minutes from DAY0."""
    return rfc3339(DAY0), rfc3339(DAY0 + 60 * (n - 1))


def connect(s):
    return sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True, timeout=30)


def succeeded(s):
    with connect(s) as db:
        return db.execute("select count(*) from lb_task_run_history where job_status = 3").fetchone()[0]


def unfinished(s):
    return sum(s.get("/api/v1/server")["instances"].values())


def backfill_and_wait(s, n, start, end, seconds=300, **args):
    """From the command's acceptance until the last success can be read from the store; -> s."""
    before = succeeded(s)
    began = time.monotonic()
    c = s.command("backfill", selection={"workflow": args.pop("workflow"), "from": start, "to": end},
                  message="bench", **args)
    state = {}

    def over():
        state.update(s.get(f"/api/v1/commands/{c['command']}"))
        return state["state"] in ("done", "failed", "cancelled") and unfinished(s) < 50 and \
            succeeded(s) - before >= n
    until("all is done", over, seconds, every=0.03)
    took = time.monotonic() - began
    ran = succeeded(s) - before
    # A minute may have ended meanwhile: its own instances run too.
    assert state["state"] == "done" and n <= ran <= n * 1.01 + 200, f"{ran} of {n}; {state}"
    return took


def noop_site(name, slots=512, ahead=1024, **more):
    return Site(name, **PRODUCTION, **more).start(
        (f"noop:{slots}",), pull_ahead=ahead, **QUIET)


RATE = 30000  # no-op instances a second, durable


def rate_of(name, tasks, n_dates, n, target=None):
    with noop_site(name) as s:
        s.apply(workflow(name, tasks))
        start, end = minutes(n_dates)
        used = cpu_seconds(s)
        took = backfill_and_wait(s, n, start, end, workflow=f"bench/{name}", order="free",
                                 dependencies="inside")
        spent = {k: v - used.get(k, 0) for k, v in cpu_seconds(s).items()}
        figure(f"{name}: no-op instances, durable", n / took, "instances/s", target or RATE,
               note=f"{n} in {took:.2f} s, fdatasync {fdatasync_rate(s.dir):.0f}/s")
        for program in ("baseserver", "taskrunner-loader", "taskbroker", "sirdar-cgi"):
            figure(f"{name}: CPU of {program}", spent.get(program, 0) / n * 1e6, "us/instance")
        figure(f"{name}: peak RSS of baseserver", memory_kb(s.base.pid, "VmHWM") / 1024, "MB")


@bench
def fan():
    """One parent and its 100,000 children."""
    n = int(100000 * SCALE)
    rate_of("fan", {"root": "cycle: year", "leaf": "cycle: minute, needs: [root]"}, n, n + 1)


@bench
def backfill():
    """A year of hours of a tree of 10 tasks: 87,600 instances, by one command."""
    n = int(8760 * SCALE)
    tasks = {"t1": "cycle: hour"}
    for i in range(2, 11):
        tasks[f"t{i}"] = f"cycle: hour, needs: [t{i // 2}]"
    with noop_site("backfill") as s:
        s.apply(workflow("year", tasks).replace("start_date: 2026-01-01", "start_date: 2025-01-01"))
        start, end = rfc3339(DAY0 - 365 * 86400), rfc3339(DAY0 - 365 * 86400 + 3600 * (n - 1))
        began, made, before = time.monotonic(), {}, succeeded(s)
        c = s.command("backfill", selection={"workflow": "bench/year", "from": start, "to": end},
                      dependencies="inside", message="bench")

        def durable():
            made.update(s.get(f"/api/v1/commands/{c['command']}"))
            return made["state"] == "done"
        until("it is durable", durable, 300, every=0.01)
        took = time.monotonic() - began
        assert made["total"] == made["done"] == 10 * n, made
        figure("backfill of a year: durable", took, "s", 1, "less",
               f"{10 * n} instances, fdatasync {fdatasync_rate(s.dir):.0f}/s")
        until("all of it ran", lambda: succeeded(s) - before >= 10 * n, 300, every=0.03)
        figure("backfill of a year: done", time.monotonic() - began, "s", 5, "less")


@bench
def save():
    """A workflow of 5,000 tasks with 20,000 links, saved."""
    n = int(5000 * SCALE)
    tasks = {}
    for i in range(n):
        needs = ", ".join(f"t{k}" for k in range(max(0, i - 4), i))
        tasks[f"t{i}"] = "cycle: day" + (f", needs: [{needs}]" if needs else "")
    text = workflow("wide", tasks)
    with noop_site("save") as s:
        for what in ("new", "changed"):
            began = time.monotonic()
            s.command_over(s.apply(text))
            took = time.monotonic() - began
            figure(f"{n} tasks and {4 * n} links saved, {what}", took, "s", 1, "less",
                   f"{len(text) / 1e6:.1f} MB")
            text = text.replace("type: noop", "type: noop, priority: 7")


@bench
def chains():
    """10,000 chains of 10."""
    n = int(10000 * SCALE)
    tasks = {"c0": "cycle: minute"}
    for i in range(1, 10):
        tasks[f"c{i}"] = f"cycle: minute, needs: [c{i - 1}]"
    rate_of("chains", tasks, n, 10 * n)


@bench
def tree():
    """Binary trees of 127 tasks, 800 of them."""
    n = int(800 * SCALE)
    tasks = {"t1": "cycle: minute"}
    for i in range(2, 128):
        tasks[f"t{i}"] = f"cycle: minute, needs: [t{i // 2}]"
    rate_of("tree", tasks, n, 127 * n)


# --- latency

def percentiles(values):
    values = sorted(values)
    return statistics.median(values), values[min(len(values) - 1, int(len(values) * 0.99))]


def ended_rows(s, task):
    with connect(s) as db:
        return db.execute("select r.curr_run_date, r.started_us, r.ended_us from lb_task_run_history r "
                          "join lb_task t using (task_id) where t.task_name like ? order by 1", (f"%{task}",)).fetchall()


def chain_rows(s, task, n):
    rows = ended_rows(s, task)
    with connect(s) as db:
        granted = dict(db.execute(
            "select e.curr_run_date, max(e.at_us) from lb_task_event e join lb_task t using "
            "(task_id) where t.task_name like ? and e.event = 8 group by 1", (f"%{task}",)))
        ended = dict(db.execute(
            "select e.curr_run_date, max(e.at_us) from lb_task_event e join lb_task t using "
            "(task_id) where t.task_name like ? and e.event = 10 group by 1", (f"%{task}",)))
    assert len(rows) == n, f"{len(rows)} of {n}"
    return rows, granted, ended


def handover_of(kind, n, body, slots):
    types = (f"{kind}:{slots}",)
    with Site("handover", **PRODUCTION).start(types, **QUIET) as s:
        s.apply(workflow("line", {"link": f"{body}, cycle: minute, needs: [{{task: link, depend: -1}}]"},
                         f"type: {kind}"))
        start, end = minutes(n)
        backfill_and_wait(s, n, start, end, workflow="bench/line")
        rows, granted, ended = chain_rows(s, "bench/line/link", n)
        # A no-op says no start: from end to end, which is a little more.
        gaps = [((b[1] or b[2]) - a[2]) / 1000 for a, b in zip(rows, rows[1:])]
        p50, p99 = percentiles(gaps)
        figure(f"hand-over {kind}: parent's end to child's start p50", p50, "ms", 1.0, "less",
               f"aim 0.35; {n} in a row, fdatasync {fdatasync_ms(s.dir):.2f} ms")
        figure(f"hand-over {kind}: p99", p99, "ms")
        inside = [(granted[b[0]] - ended[a[0]]) / 1000 for a, b in zip(rows, rows[1:])
                  if b[0] in granted and a[0] in ended]
        if inside:
            figure(f"hand-over {kind}: inside the server p50", statistics.median(inside), "ms")


@bench
def handover():
    """One after the other, each waiting for the one before; the system else idle."""
    handover_of("noop", int(1000 * SCALE), "priority: 5", 8)
    handover_of("shell", int(400 * SCALE), f'params: {{command: "{stamp()} /dev/null"}}', 2)


def stamp():
    path = B / "bench" / "stamp"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O2", "-static", "-o", str(path),
                        str(Path(__file__).resolve().parent / "stamp.c")], check=True)
    return path


@bench
def due():
    """A cron of every second: from the instant it is due to the job's own first line."""
    n = max(10, int(30 * SCALE))
    with Site("due", **PRODUCTION).start(("shell:4",), **QUIET) as s:
        out = s.dir / "data/stamps"
        s.apply("workflow: due\nproject: bench\ntimezone: UTC\ntasks:\n  tick:\n    type: shell\n"
                '    cron: "* * * * * ?"\n    catchup: {mode: none}\n'
                f'    params: {{command: "{stamp()} {out}"}}\n')
        until(f"{n} ticks", lambda: out.exists() and len(out.read_text().splitlines()) > n, n + 60,
              every=0.2)
        lines = [tuple(map(int, line.split())) for line in out.read_text().splitlines()][1:]
        late = [(ns - date * 10**9) / 1e6 for date, ns in lines]
        p50, p99 = percentiles(late)
        figure("due: instant to the child's main p50", p50, "ms", None, note="floor 0.67")
        figure("due: p99", p99, "ms")
        with connect(s) as db:
            rows = db.execute("select curr_run_date, started_us from lb_task_run_history "
                              "where started_us > 0 and job_status = 3").fetchall()
        early = [(us - date * 10**6) / 1000 for date, us in rows][1:]
        if early:
            p50, p99 = percentiles(early)
            figure("due: instant to the process's start p50", p50, "ms", 1.5, "less",
                   f"the keeper's posix_spawn; fdatasync {fdatasync_ms(s.dir):.2f} ms")
            figure("due: instant to the process's start p99", p99, "ms")


@bench
def processes_rate():
    """/bin/true as jobs, against bare posix_spawn before and after."""
    n = int(3000 * SCALE)
    with Site("procs", **PRODUCTION).start(("shell:8",), pull_ahead=16,
                                                                 **QUIET) as s:
        s.apply(workflow("procs", {"p": "cycle: minute, params: {command: /bin/true}"}, "type: shell"))
        before = spawn_rate("/bin/true")
        used = cpu_seconds(s)
        took = backfill_and_wait(s, n, *minutes(n), workflow="bench/procs", order="free")
        spent = {k: v - used.get(k, 0) for k, v in cpu_seconds(s).items()}
        after = spawn_rate("/bin/true")
        raw = (before + after) / 2
        figure("processes: /bin/true jobs", n / took, "jobs/s",
               note=f"raw posix_spawn {before:.0f} before, {after:.0f} after, per s")
        figure("processes: of the raw rate", 100 * n / took / raw, "%", 70, "more", "aim 85")
        for program in ("baseserver", "taskrunner-loader", "jobkeeper"):
            figure(f"processes: CPU of {program}", spent.get(program, 0) / n * 1e6, "us/job")


# --- memory and recovery

@bench
def idle():
    """RSS of the programs with nothing to do, one type."""
    with Site("idle", **PRODUCTION).start(("shell:8",), **QUIET) as s:
        s.apply(workflow("one", {"t": "cycle: day, params: {command: /bin/true}"}, "type: shell"))
        backfill_and_wait(s, 5, "2026-01-01", "2026-01-05", workflow="bench/one")
        base = memory_kb(s.base.pid) / 1024
        figure("idle: RSS of baseserver", base, "MB", 20, "less")
        parts = {name: sum(memory_kb(p) for p in s.pids(name)) / 1024
                 for name in ("taskbroker", "taskrunner-loader", "jobkeeper")}
        figure("idle: RSS of taskbroker, one loader, jobkeeper", sum(parts.values()), "MB", 15, "less",
               ", ".join(f"{k} {v:.1f}" for k, v in parts.items()))
        figure("idle: RSS of sirdar-cgi", memory_kb(s.cgi.pid) / 1024, "MB")
        used, began = cpu_seconds(s), time.monotonic()
        until("three seconds have passed", lambda: time.monotonic() - began > 3, 5, every=0.5)
        spent = sum(v - used.get(k, 0) for k, v in cpu_seconds(s).items())
        figure("idle: CPU of all programs", 100 * spent / (time.monotonic() - began), "% of a core")


@bench
def restart():
    """A million unfinished instances: memory of each, and the first dispatch after kill -9."""
    n = int(1000000 * SCALE)
    with Site("restart", **PRODUCTION).start(("noop:8",), **QUIET) as s:
        # `gate` never ends while it is frozen; every minute of `wait` waits for it.
        s.apply(workflow("wait", {"gate": "cycle: year", "wait": "cycle: minute, needs: [gate]",
                                  "ready": "cycle: minute"}).replace("2026-01-01", "2020-01-01"))
        s.command("freeze", selection={"tasks": ["bench/wait/gate"]})
        with_none = memory_kb(s.base.pid)
        first = 1577836800
        c = s.command("backfill", dependencies="all", order="free", selection={
            "tasks": ["bench/wait/wait", "bench/wait/gate"], "from": rfc3339(first),
            "to": rfc3339(first + 60 * (n - 1))})
        began = time.monotonic()
        s.command_over(c, 600)
        until("all rows are there", lambda: unfinished(s) >= n, 300, every=0.2)
        figure("restart: rows made by a backfill", n / (time.monotonic() - began), "rows/s")
        def bytes_each():
            return (memory_kb(s.base.pid) - with_none) * 1024 / n
        figure("restart: memory of a waiting instance, just made", bytes_each(), "bytes",
               note="with the store's cache full")
        # Some seconds without a change: what only served the commits has gone back.
        began = time.monotonic()
        until("it is quiet", lambda: time.monotonic() - began > 8, 20, every=0.5)
        figure("restart: memory of a waiting instance, fresh", bytes_each(), "bytes", 300, "less",
               "whole baseserver")
        s.brokers["b1"].kill()
        for name in ("taskrunner-loader",):
            for pid in s.pids(name):
                os.kill(pid, 9)
        s.command("backfill", selection={"tasks": ["bench/wait/ready"], "from": rfc3339(first),
                                         "to": rfc3339(first + 600)})
        until("they are ready", lambda: s.get("/api/v1/server")["instances"].get("DependenceFinish", 0)
              >= 10, 30)
        s.base.kill()
        s.brokers["b1"].start(wait=False)
        with connect(s) as db:
            number = db.execute("select max(number) from lb_task_event").fetchone()[0]
        began = time.time()
        s.base.start(wait=False)

        def granted():
            with connect(s) as db:
                return db.execute("select min(at_us) from lb_task_event where number > ? and event = 8",
                                  (number,)).fetchone()[0]
        at = until("the first dispatch", granted, 120, every=0.02)
        figure("restart: exec to the first dispatch", at / 1e6 - began, "s", 5, "less",
               f"{n} unfinished")
        until("the server leads", s.up)
        figure("restart: memory of a waiting instance, loaded", bytes_each(), "bytes", 300, "less",
               "whole baseserver")
        figure("restart: peak RSS of baseserver", memory_kb(s.base.pid, "VmHWM") / 1024, "MB")


def main(names):
    unknown = [n for n in names if n not in BENCHES]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    failed = 0
    for name in names or BENCHES:
        print(f"\n== {name}: {BENCHES[name].__doc__.splitlines()[0]}", flush=True)
        try:
            BENCHES[name]()
        except Exception as e:  # noqa: BLE001
            failed += 1
            print(f"{name}: not measured: {type(e).__name__}: {e}", flush=True)
    short = [f for f in FIGURES if not f[3]]
    print(f"\n{len(FIGURES)} figures, {len(short)} fall short, {failed} benchmarks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
