#!/usr/bin/env python3
"""All tasks at once: 100,000 tasks that come due in the same second, through every program.

Target: all dispatched (granted) within 4 s of that second, none lost, none doubled. Beside it, in
the same run: how long the same number of instances of one task takes (`fan`'s way), and the disk.
`bench/run burst`; SCALE=0.1 makes it smaller.
"""
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from whole import (SCALE, backfill_and_wait, connect, cpu_seconds, fdatasync_rate, figure,  # noqa: E402
                   minutes, noop_site, rfc3339, until, workflow)

TASKS = int(100000 * SCALE)
EACH = min(5000, TASKS)  # tasks of one workflow
SUCC = 3                 # schema/tbl/state.def
SETTLE_S = 12            # at least, from the last apply to the second


def document(number, at):
    tasks = "".join(f"  t{i}: {{cycle: once}}\n" for i in range(EACH))
    return (f"workflow: burst{number}\nproject: bench\ntimezone: UTC\nstart_date: {rfc3339(at)}\n"
            f"defaults: {{type: noop}}\ntasks:\n{tasks}")


def grant_number():
    table = (Path(__file__).resolve().parent.parent / "schema/tbl/event.def").read_text()
    line = next(row for row in table.splitlines() if row.startswith("EVENT(GRANT,"))
    return int(line.split(",")[1])


def main():
    with noop_site("burst", slots=1024, ahead=4096) as s:
        s.apply(workflow("one", {"leaf": "cycle: minute"}))
        start, end = minutes(TASKS)
        limit = backfill_and_wait(s, TASKS, start, end, workflow="bench/one", order="free",
                                  dependencies="inside")
        figure("limit: as many instances of one task", limit, "s", note=f"fdatasync {fdatasync_rate(s.dir):.0f}/s")
        flows = TASKS // EACH
        at = int(time.time()) + SETTLE_S + flows
        for number in range(flows):
            s.apply(document(number, at))
        left = at - time.time()
        figure("time to spare before the second", left, "s", 0)
        used = cpu_seconds(s)
        time.sleep(max(0, left))
        n = flows * EACH
        count = f"select count(*) from lb_task_run_history where curr_run_date = {at} and job_status = {SUCC}"

        def over():
            with connect(s) as db:
                return db.execute(count).fetchone()[0] >= n
        until("all have run", over, 120, every=0.1)
        spent = {k: v - used.get(k, 0) for k, v in cpu_seconds(s).items()}
        with connect(s) as db:
            rows, keys, last_end = db.execute(
                "select count(*), count(distinct task_id), max(ended_us) from lb_task_run_history"
                f" where curr_run_date = {at}").fetchone()
            grants, granted, first, last = db.execute(
                "select count(*), count(distinct task_id), min(at_us), max(at_us) from lb_task_event"
                f" where curr_run_date = {at} and event = {grant_number()}").fetchone()
        figure("all dispatched, after the second", last / 1e6 - at, "s", 4, "less", f"{n} tasks, the first {first / 1e6 - at:.3f} s")
        figure("all over, durable, after the second", last_end / 1e6 - at, "s")
        figure("lost", n - keys, "instances", 0, "less")
        figure("doubled", rows - keys + grants - granted, "instances", 0, "less")
        for program in ("baseserver", "taskrunner-loader"):
            figure(f"CPU of {program}", spent.get(program, 0) / n * 1e6, "us/instance")
    return 0


if __name__ == "__main__":
    sys.exit(main())
