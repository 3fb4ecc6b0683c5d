#!/usr/bin/env python3
"""`sirdar simulate` and `sirdar edges` agree with what the server's actors then do.

Goal: the same instances, due times, states, starts and ends; and an instance is satisfied at the
very moment that its due time and the ends of the parents named by `sirdar edges` say.
Method: random workflows (cycles, crons, zones, DST days, offsets, links of every kind, windows,
strategies, joins, serialisation, limits, calendars); the offline commands on one side,
tests/agree/agree.c (the real actors under a virtual clock) on the other.

    tests/agree/run            N= workflows (default 60), SEED= of the first
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

sys.dont_write_bytecode = True
BUILD = Path(os.environ.get("B", "build/gcc"))
NEVER = 2**63 - 1
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe",
         "America/St_Johns", "Asia/Kathmandu", "America/Sao_Paulo", "Africa/Cairo"]
# Days around which zones change their clocks, and a month's and a year's end.
DAYS = ["2026-03-07", "2026-03-28", "2026-04-04", "2026-10-03", "2026-10-24", "2026-10-31",
        "2025-12-30", "2024-02-28", "2026-06-10", "2026-04-23"]
# Cycles by how long a span is interesting.
SHORT = ["minute", "5 minute", "15 minute", "30 minute", "hour", "7 minute"]
MIDDLE = ["30 minute", "hour", "2 hour", "6 hour", "day", "5 hour"]
LONG = ["6 hour", "day", "2 day", "week", "month", "day", "day"]
CRONS = {"s": ["*/10 * * * *", "0 * * * *", "30 0/5 * * * ?"],
         "m": ["30 2 * * *", "0 */3 * * *", "15 1,13 * * *", "0 30 2 * * ?"],
         "l": ["30 2 * * *", "0 6 * * 1-5", "0 0 6 1 * ?", "0 12 * * 1", "0 0 2 L * ?"]}
WINDOWS = {"s": ["(t-1h, t]", "[@hour, t]", "{latest}", "[t-10m, t)"],
           "m": ["[@day-1d, @day)", "(t-24h, t]", "{latest}", "[@day, t]", "[t-6h, t)"],
           "l": ["[@day-1d, @day)", "{@week-3d}", "[@month-1M, @month)", "{@month-1d}", "{latest}", "{@week-3d, @week-1d}",
                 "[@week-1w, @week)", "(t-72h, t]"]}
STRATEGIES = ["all", "all", "all", "any", "first 2", "last 1", "last 2", "at_least 2"]


def instant(text):
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


class Workflow:
    """One random workflow: its documents, its span and its durations."""

    def __init__(self, seed):
        self.rnd = rnd = random.Random(seed)
        self.size = rnd.choice("smml")
        zone = rnd.choice(ZONES)
        day = datetime.fromisoformat(rnd.choice(DAYS)).replace(tzinfo=ZoneInfo(zone))
        span = {"s": timedelta(hours=rnd.choice([6, 20, 30])), "m": timedelta(days=rnd.choice([2, 4])),
                "l": timedelta(days=rnd.choice([20, 45, 70]))}[self.size]
        if self.size == "l" and rnd.random() < 0.5:
            day -= timedelta(days=15)
        self.start = day.astimezone(timezone.utc)
        self.end = self.start + span
        self.calendar = self.size == "l" and rnd.random() < 0.35
        self.doc = {"workflow": "w", "project": "p", "timezone": zone,
                    "start_date": self.start.strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "end_date": self.end.strftime("%Y-%m-%dT%H:%M:%SZ"), "tasks": {}}
        if rnd.random() < 0.15:
            self.doc["quota"] = {"running": rnd.randint(1, 4)}
        if rnd.random() < 0.15:
            self.doc["overlap"] = rnd.choice(["skip", "queue", "replace"])
            if rnd.random() < 0.5:
                self.doc["defaults"] = {"cycle": rnd.choice({"s": ["hour"], "m": ["day"], "l": ["week", "month"]}[self.size])}
        for i in range(rnd.randint(2, 6)):
            self.doc["tasks"][f"t{i}"] = self.task(i)
        self.pipeline = self.steps() if rnd.random() < 0.3 else None
        self.durations = {f"t{i}": rnd.choice({"s": [0, 1, 30, 61], "m": [0, 1, 61, 600, 4000],
                                                 "l": [0, 1, 600, 4000, 20000]}[self.size])
                          for i in range(len(self.doc["tasks"]))}
        for step in (self.pipeline or {}).get("steps", []):
            self.durations[step["name"]] = rnd.choice([0, 1, 30, 61, 600])

    def task(self, i):
        rnd = self.rnd
        task = {"type": "noop"}
        if rnd.random() < 0.3:
            task["cron"] = rnd.choice(CRONS[self.size])
        else:
            task["cycle"] = rnd.choice({"s": SHORT, "m": MIDDLE, "l": LONG}[self.size])
            if rnd.random() < 0.3:
                task["fire"] = "end"
            if rnd.random() < 0.3:
                task["offset"] = rnd.choice({"s": ["1m", "90s"], "m": ["5m", "10m"],
                                             "l": ["2h30m", "1h"]}[self.size])
        if rnd.random() < 0.25:
            task["timezone"] = rnd.choice(ZONES)
        if self.calendar and rnd.random() < 0.5 and task.get("cycle") == "day":
            task["calendar"] = "cal"
        if i and rnd.random() < 0.8:
            task["needs"] = [self.need(i) for _ in range(rnd.randint(1, 3))]
            if len(task["needs"]) > 1 and rnd.random() < 0.25:
                task["join"] = rnd.choice(["any", 1, 2])
        if rnd.random() < 0.15:
            task.setdefault("needs", []).append({"task": f"t{i}", "depend": -1})
        if rnd.random() < 0.15:
            task["concurrency"] = rnd.randint(1, 2)
        if rnd.random() < 0.15:
            task["serial"] = rnd.choice(["ordered", "unordered"])
        elif rnd.random() < 0.25 and "overlap" not in self.doc:
            task["overlap"] = rnd.choice(["skip", "queue", "replace", "allow"])
        if rnd.random() < 0.3:
            task["priority"] = rnd.randint(1, 10)
        return task

    def steps(self):
        """A pipeline beside it, on each of its nodes or as plain tasks."""
        rnd = self.rnd
        pipe = {"pipeline": "pipe", "project": "p", "timezone": self.doc["timezone"],
                "start_date": self.doc["start_date"], "end_date": self.doc["end_date"],
                "steps": [{"name": f"s{k}", "type": "noop", "dependence": rnd.choice(["strong", "strong", "weak"])}
                          for k in range(rnd.randint(2, 4))]}
        if rnd.random() < 0.75:
            pipe["nodes"] = rnd.choice([["n1"], ["n1", "n2"], ["n2", "n1"]])
        pipe["cycle"] = rnd.choice({"s": ["5 minute", "hour"], "m": ["hour", "6 hour"], "l": ["day", "week"]}[self.size])
        if rnd.random() < 0.5:
            pipe["fire"] = "end"
        if rnd.random() < 0.4:
            pipe["finished"] = {"type": "noop"}
        if rnd.random() < 0.5 and any(s["dependence"] == "strong" for s in pipe["steps"]):
            pipe["failed"] = {"type": "noop"}
        if rnd.random() < 0.5:
            pipe["overlap"] = rnd.choice([False, "queue", "replace"])
        return pipe

    def need(self, i):
        rnd = self.rnd
        need = {"task": f"t{rnd.randrange(i)}"}
        kind = rnd.random()
        if kind < 0.4:
            need["window"] = rnd.choice(WINDOWS[self.size])
        elif kind < 0.5:
            need["depend"] = -rnd.randint(1, 3)
        else:
            need["depend"] = rnd.randint(1, 3)
        if rnd.random() < 0.4:
            need["strategy"] = rnd.choice(STRATEGIES)
        if rnd.random() < 0.1:
            need["on"] = rnd.choice(["done", "failure"])
        elif rnd.random() < 0.1:
            need["pass_after"] = rnd.choice(["10m", "3h"])
        return need

    def documents(self):
        docs = [{"name": "w.yaml", "text": json.dumps(self.doc)}]
        if self.calendar:
            off = [(self.start + timedelta(days=d)).strftime("%Y-%m-%d") for d in (3, 4, 9, 20)]
            docs.insert(0, {"name": "cal.yaml", "text": json.dumps(
                {"calendar": "cal", "weekends": ["sunday"], "holidays": off})})
        if self.pipeline:
            docs.append({"name": "pipe.yaml", "text": json.dumps(self.pipeline)})
        return docs


def sirdar(*args):
    done = subprocess.run([BUILD / "bin/sirdar", *args, "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise ValueError(done.stderr or done.stdout)
    return json.loads(done.stdout)


def offline(flow, folder):
    """What the commands say: rows by (task, run_date); edges the same."""
    files = []
    for doc in flow.documents():
        files.append(f"{folder}/{doc['name']}")
        Path(files[-1]).write_text(doc["text"], encoding="utf-8")
    took = f"{folder}/durations.yaml"
    Path(took).write_text(json.dumps({t: f"{d}s" for t, d in flow.durations.items()}),
                          encoding="utf-8")
    span = ["--from", (flow.start - timedelta(days=800)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "--to", (flow.end + timedelta(days=2, seconds=-1)).strftime("%Y-%m-%dT%H:%M:%SZ")]
    rows = sirdar("simulate", *files, *span, "--durations", took)
    edges = sirdar("edges", *files, *span)
    by_child = {}
    for edge in edges:
        key = (edge["child"], instant(edge["run_date"]))
        by_child.setdefault(key, {})[edge["link"]] = [
            (p["parent"], instant(p["run_date"])) for p in edge["parents"]]
    return {(r["task"], instant(r["run_date"])): r for r in rows}, by_child


def online(flow):
    """What the actors did: by (task, run_date)."""
    start = int(flow.start.timestamp()) - 3600
    end = int(flow.end.timestamp()) + 120 * 86400
    took = [f"p/{'pipe' if t[0] == 's' else 'w'}/{t}={d * 1000000}" for t, d in flow.durations.items()]
    done = subprocess.run([BUILD / "test/agree", str(start), str(end), *took],
                          input=json.dumps({"documents": flow.documents()}), capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise ValueError(f"agree ended with {done.returncode}: {done.stderr}")
    rows = {}
    for line in done.stdout.splitlines():
        task, date, due, state, reason, satisfied, begun, end_us = line.split()
        key = (task, int(date))
        if key in rows:
            raise ValueError(f"two rows of {key}")
        rows[key] = {"due": int(due), "state": state, "reason": reason,
                     "satisfied": int(satisfied), "start": int(begun), "end": int(end_us)}
    return rows


def micro(text):
    return NEVER if text is None else instant(text) * 1000000


def one_by_one(flow, key):
    task = flow.doc["tasks"].get(key[0].split("/")[-1], {})
    return "concurrency" in task or task.get("serial") == "unordered"


def compare(flow, said, did):
    """Lines that differ between `sirdar simulate` and the actors. Who goes first where a quota or
    the task lets only some go is nobody's promise when all that says so comes at one instant:
    with a quota starts are not compared, of such a task all together."""
    timed = "quota" not in flow.doc
    for key in sorted(set(said) | set(did)):
        a, b = said.get(key), did.get(key)
        if not a or not b:
            yield f"{key}: {'only simulated' if a else 'only made by the server'}"
            continue
        if instant(a["due"]) != b["due"]:
            yield f"{key}: due {a['due']}, the server has {b['due']}"
        skipped = b["state"] == "Skipped"
        if b["reason"] == "replaced" and b["end"] == b["due"] * 1000000 and a["state"] == "Skipped":
            continue  # a link died at the instant at which the next run replaced it: either may be first
        if (a["state"] == "Skipped") != skipped:
            yield f"{key}: {a['state']} {a['reason']}, the server has {b['state']} {b['reason']}"
        elif skipped and a["reason"] != b["reason"]:
            yield f"{key}: skipped for {a['reason']}, the server has {b['reason']}"
        elif one_by_one(flow, key):
            continue
        elif timed and not skipped and (micro(a["start"]) != b["start"] or micro(a["end"]) != b["end"]):
            yield (f"{key}: {a['start']} to {a['end']}, the server has {b['start'] / 1e6:.6f}"
                   f" to {b['end'] / 1e6:.6f}")
    for task in {key[0] for key in did if timed and one_by_one(flow, key) and key in said}:
        starts = [sorted(x for k, x in rows if k[0] == task and x != NEVER) for rows in (
            [(k, micro(r["start"])) for k, r in said.items() if r["state"] != "Skipped"],
            [(k, r["start"]) for k, r in did.items() if r["state"] != "Skipped"])]
        if starts[0] != starts[1]:
            yield f"{task}: starts at other times than simulated"


def met_at(need, ends):
    """When a link is met, by its strategy, from the ends of its parents in order of date."""
    name, _, n = need.get("strategy", "all").partition(" ")
    n = min(int(n or 1), len(ends))
    if not ends:
        return 0
    if name == "any":
        return min(ends)
    if name == "first":
        return max(ends[:n])
    if name == "last":
        return max(ends[-n:])
    if name == "at_least":
        return sorted(ends)[n - 1]
    return max(ends)


def satisfied_at(task, due, links, did):
    times = []
    for number, need in enumerate(task.get("needs", [])):
        ends = [did[p]["end"] for p in links.get(number, [])]
        at = met_at(need, ends)
        if need.get("on") == "failure" and links.get(number):
            at = NEVER  # nothing fails here
        elif "pass_after" in need:
            at = min(at, (due + {"10m": 600, "3h": 10800}[need["pass_after"]]) * 1000000)
        times.append(at)
    times.sort()
    join = task.get("join", "all")
    need = len(times) if join == "all" else min(1 if join == "any" else join, len(times))
    return max([due * 1000000] + times[:need])


def compare_edges(flow, edges, did):
    """Instances that were not satisfied when their edges say. Where something was skipped or killed, links
    can be dead: simulate has judged that."""
    if any(r["state"] in ("Skipped", "Killed") for r in did.values()):
        return
    for key, row in sorted(did.items()):
        if key[0].split("/")[1] == "pipe":
            continue  # no needs of its own: a step's parts wait for parts
        task = flow.doc["tasks"][key[0].split("/")[-1]]
        if task.get("serial") == "ordered" or {"overlap"} & {*task, *flow.doc}:
            continue
        try:
            want = satisfied_at(task, row["due"], edges.get(key, {}), did)
        except KeyError as parent:
            yield f"{key}: the parent {parent} of its edges was never made"
            continue
        if want not in (NEVER, row["satisfied"]):
            yield f"{key}: by its edges satisfied at {want / 1e6:.6f}, was {row['satisfied'] / 1e6:.6f}"


def one(seed):
    flow = Workflow(seed)
    with tempfile.TemporaryDirectory() as folder:
        try:
            said, edges = offline(flow, folder)
        except ValueError as why:
            return 0, f"refused: {why}", []
        did = online(flow)
    return len(did), "", list(compare(flow, said, did)) + list(compare_edges(flow, edges, did))


def main():
    n, first = int(os.environ.get("N") or 60), int(os.environ.get("SEED") or 1)
    bad = rows = refused = 0
    for seed in range(first, first + n):
        made, why, differences = one(seed)
        rows += made
        refused += bool(why)
        if why and os.environ.get("VERBOSE"):
            print(f"# SEED={seed}: {why}")
        if differences:
            bad += 1
            print(f"# SEED={seed}: {len(differences)} differences")
            for line in differences[:8]:
                print(f"#   {line}")
            if n == 1:
                print("# " + json.dumps(Workflow(seed).doc, indent=1).replace("\n", "\n# "))
    print(f"# {n} workflows ({refused} refused by check), {rows} instances")
    good = not bad and rows and refused < n * 0.6
    print(f"{'ok' if good else 'not ok'} - simulate and edges say what the server does")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
