#!/usr/bin/env python3
"""Commands and instances by the thousand, and what they leave behind: memory, descriptors, threads, processes that
nobody collected, files. The bounds are per command and per instance, never by the clock. TAP.

ROUNDS=n (default 12) of COMMANDS small commands, of which a third is refused, and a redo of DATES instances. HEAVY=1: 500
rounds, spread evenly over SECONDS (default 7200), so that what grows with time is seen as well as what grows with work.
The curves stand in the output, a line a round."""
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import SLOW, Skip, Site, main, test, until  # noqa: E402

HEAVY = bool(os.environ.get("HEAVY"))
SECONDS = float(os.environ.get("SECONDS") or 7200)
ROUNDS = int(os.environ.get("ROUNDS") or (500 if HEAVY else 12))
COMMANDS, DATES, JOBS = 200, 1000, 40
KEPT = 10_000  # commands that the server keeps in memory: the older ones are in the store alone
# The goal is 2 KB a command. Allocators keep pages of their own, and sqlite a cache: so a part that is there once.
COMMAND_BYTES, ONCE_BYTES = 2048, 12 << 20
DOCUMENT = """workflow: soak
project: e2e
timezone: UTC
start_date: 2026-03-01
end_date: 2026-03-01
tasks:
  wide:
    type: noop
    cycle: minute
    catchup: {{mode: none}}
  told:
    type: shell
    cycle: minute
    catchup: {{mode: none}}
    params:
      script: "echo {n}"
"""


def memory(pid):
    """Anonymous memory in bytes: what a program keeps for itself."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no RssAnon")


def size_of(folder):
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def look(s):
    """One point of every curve."""
    point = {"disk": size_of(s.dir / "base") + size_of(s.dir / "joblogs"), "spool": size_of(s.dir / "b1")}
    for name in ("baseserver", "sirdar-cgi", "taskbroker", "taskrunner-loader", "jobkeeper"):
        pids = s.pids(name)
        point[name] = {"anon": sum(map(memory, pids)), "processes": len(pids),
                       "fds": sum(len(os.listdir(f"/proc/{p}/fd")) for p in pids),
                       "threads": sum(len(os.listdir(f"/proc/{p}/task")) for p in pids)}
    return point


def settled(s):
    """Nothing runs and nothing is unfinished: the curves are read at rest."""
    until("all is over", lambda: s.get("/api/v1/server")["instances"].get("Running", 0) == 0 and
          sum(s.get("/api/v1/server")["instances"].values()) == 0, 300, every=0.1)


def chosen(task, last=0):
    return {"tasks": [f"e2e/soak/{task}"], "from": "2026-03-01T00:00:00Z",
            "to": f"2026-03-01T{last // 60:02}:{last % 60:02}:00Z"}


def asked(s, kind, **args):
    """A machine whose disk stands for half a minute answers 503: the same request is asked again."""
    named = {} if args.get("dry_run") else {"request_id": os.urandom(16).hex()}
    expect = args.pop("expect", (200, 201, 202))
    answer = {}

    def is_answered():
        answer["is"] = s.command(kind, expect=(*expect, 503), **named, **args)
        error = answer["is"].get("error")
        return not isinstance(error, dict) or error["code"] not in ("AGAIN", "TIMEOUT")
    until(f"{kind} is answered", is_answered, 300, every=1)
    return answer["is"]


def save(s, text, **more):
    asked(s, "apply", documents=[{"name": "soak.yaml", "text": text}], **more)


def small_commands(s, n):
    """Of every five: one applied, one that may change nothing, one previewed, two refused."""
    told, any_of = {"tasks": ["e2e/soak/told"]}, (200, 201, 202, 400, 404, 409, 413, 422)
    for i in range(COMMANDS):
        which = i % 5
        if which == 0:
            asked(s, "priority", selection=chosen("wide"), priority=1 + (n + i) % 10, expect=any_of)
        elif which == 1:
            asked(s, "freeze" if (i // 5) % 2 else "unfreeze", selection=told)
        elif which == 2:
            asked(s, "redo", dry_run=True, selection=chosen("wide", 100), expect=any_of)
        elif which == 3:
            asked(s, "kill", selection={"tasks": [f"e2e/soak/none{i}"]}, expect=(400, 404, 409))
        else:
            save(s, DOCUMENT.format(n=n).replace("noop", "nothing" * 2000), expect=(400, 404, 409, 413, 422))
    asked(s, "unfreeze", selection=told)


def work(s):
    for task, many in (("wide", DATES), ("told", JOBS)):
        done = s.command_over(asked(s, "backfill", selection=chosen(task, many - 1), finished="redo"), 300)
        assert done["state"] == "done" and done["done"] == many, done


@test
def commands_and_instances_by_the_thousand_leave_nothing_behind(s):
    if SLOW > 1:
        raise Skip("sanitizers keep memory of their own")
    s.apply(DOCUMENT.format(n=0))
    points, began = [], time.monotonic()
    for n in range(ROUNDS):
        if HEAVY:
            time.sleep(max(0.0, began + n * SECONDS / ROUNDS - time.monotonic()))
        save(s, DOCUMENT.format(n=n))
        small_commands(s, n)
        work(s)
        settled(s)
        points.append(look(s))
        print("# " + json.dumps({"round": n, "disk": points[-1]["disk"], "spool": points[-1]["spool"], **{
            k: v["anon"] for k, v in points[-1].items() if isinstance(v, dict)}}), flush=True)
    flat(points)


def flat(points):
    """From a third of the way to the end."""
    first, last = points[len(points) // 3], points[-1]
    rounds = len(points) - 1 - len(points) // 3
    commands = rounds * (COMMANDS + 4)
    wrong = []
    for name, now in last.items():
        if not isinstance(now, dict):
            continue
        was = first[name]
        for what in ("processes", "threads", "fds"):
            if now[what] > was[what] + 4:
                wrong.append(f"{name}: {was[what]} -> {now[what]} {what}")
        grown, may = now["anon"] - was["anon"], min(commands, KEPT) * COMMAND_BYTES + ONCE_BYTES
        if grown > may:
            wrong.append(f"{name}: {grown} bytes more after {commands} commands, at most {may}")
    if last["spool"] > first["spool"] + (4 << 20):
        wrong.append(f"the broker's spool: {first['spool']} -> {last['spool']} bytes")
    grown, may = last["disk"] - first["disk"], rounds * ((DATES + JOBS) * 4096 + COMMANDS * 8192) + (32 << 20)
    if grown > may:
        wrong.append(f"store and logs: {grown} bytes more, at most {may}")
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    sys.exit(main(lambda: Site("soak").start(("shell:8", "noop:64"))))
