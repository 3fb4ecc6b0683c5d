#!/usr/bin/env python3
"""What the demo shows of its runs: `show.py wait N SECONDS` until N runs are over, with progress;
`show.py timeline` their course by task, as text. Asks through `sirdar run list`."""
import calendar
import json
import os
import subprocess
import sys
import time

SIRDAR = os.environ.get("SIRDAR", "sirdar")
OVER = ("Succ", "StopSchedule", "Killed", "Skipped")
CELLS = 60


def runs(since):
    """Of the demo's own workflows: what else somebody has put into the project is his."""
    rows = []
    for workflow in ("demo/packages/*", "demo/weekly/*"):
        out = subprocess.run([SIRDAR, "run", "list", workflow, "--all", "--json"],
                             stdout=subprocess.PIPE, check=True).stdout
        rows += json.loads(out)
    return [r for r in rows if r["run_date"] >= since]


def seconds(text):
    whole, _, part = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (part or "0"))


def wait(want, limit, since):
    end, last, terminal = time.monotonic() + limit, None, sys.stdout.isatty()
    while True:
        rows = runs(since)
        good = sum(r["state"] == "Succ" for r in rows)
        bad = [r for r in rows if r["state"] in OVER and r["state"] != "Succ"]
        full = min(40, good * 40 // max(want, 1))
        line = f"  [{'#' * full}{'.' * (40 - full)}] {good} of {want} runs done"
        if terminal:
            print("\r" + line, end="", flush=True)
        elif line != last:
            print(line, flush=True)
        last = line
        if bad or good >= want or time.monotonic() > end:
            break
        time.sleep(0.5 if terminal else 2)
    if terminal:
        print()
    for r in bad[:5]:
        print(f"  {r['task']} {r['run_date']}: {r['state']} ({r['reason']})")
    if not bad and good < want:
        print(f"  not done in {limit} s: sirdar why TASK RUN_DATE says what it waits for")
    return 0 if good >= want and not bad else 1


def timeline(since):
    tasks = {}
    for r in runs(since):
        if r.get("started") and r.get("ended"):
            tasks.setdefault(r["task"], []).append((seconds(r["started"]), seconds(r["ended"])))
    spans = [s for rows in tasks.values() for s in rows]
    if not spans:
        return 1
    begin, end = min(s[0] for s in spans), max(s[1] for s in spans)
    cell = max((end - begin) / CELLS, 1e-6)
    print(f"{'task':28} {'runs':>5} {'mean':>8}  |{f'{end - begin:.1f} s':-^{CELLS}}|")
    for name, rows in sorted(tasks.items(), key=lambda t: min(s[0] for s in t[1])):
        busy = [0.0] * CELLS  # seconds of work in each cell
        for a, b in rows:
            for i in range(int((a - begin) / cell), min(CELLS - 1, int((b - begin) / cell)) + 1):
                busy[min(i, CELLS - 1)] += max(0, min(b, begin + (i + 1) * cell)
                                               - max(a, begin + i * cell))
        bar = "".join(" " if x <= 0 else ".:#"[min(2, int(x / cell))] for x in busy)
        mean = sum(b - a for a, b in rows) / len(rows)
        print(f"{name:28} {len(rows):5} {mean * 1000:5.0f} ms  |{bar}|")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["wait"] and len(sys.argv) == 5:
        sys.exit(wait(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
    if sys.argv[1:2] == ["timeline"] and len(sys.argv) == 3:
        sys.exit(timeline(sys.argv[2]))
    sys.exit("usage: show.py wait N SECONDS SINCE | timeline SINCE")
