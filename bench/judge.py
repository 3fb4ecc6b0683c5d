#!/usr/bin/env python3
"""What it costs to judge many documents in one apply: 10,000 workflows of one task beside 1,000, in one run.

A walk over all workflows for each workflow shows as a ratio of 100, work that each costs alone as one of 10.
The figures are processor seconds of the baseserver: what others of the machine do does not count.
`bench/run judge`; SCALE=0.1 makes it smaller.
"""
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from whole import SCALE, figure, noop_site  # noqa: E402

MANY = int(10000 * SCALE)
FEW = MANY // 10
LAPS = 3  # of the few: their median
HEAD = "start_date: 2026-01-01\ndefaults: {type: noop, cycle: once, state: offline}\n"


def document(project, n, title, body="{}"):
    return {"name": f"w{n}.yaml", "text": f"project: {project}\nworkflow: w{n}\ntitle: {title}\n{HEAD}tasks: {{t: {body}}}\n"}


def documents(project, n, title="first", body="{}"):
    return [document(project, i, title, body) for i in range(n)]


def processor_s(pid):
    """Of all threads, to the nanosecond."""
    return sum(int(p.read_text().split()[0]) for p in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def apply(s, docs, dry_run=False, **args):
    """-> processor seconds of the server, until the answer, or until all is durable."""
    began = processor_s(s.base.pid)
    body = {"documents": docs, "dry_run": dry_run, **args}
    if not dry_run:
        body["request_id"] = os.urandom(16).hex()
    status, answer = s.ask("POST", "/api/v1/workflows", body, seconds=600)
    assert status in (200, 202), (status, str(answer)[:300])
    if not dry_run:
        s.command_over(answer, seconds=600)
    return processor_s(s.base.pid) - began


def library(project, keep):
    return {"name": "lib.yaml", "text": f"project: {project}\nlibrary: common\ntasks:\n"
                                        f"  load: {{type: noop, params: {{keep: '{keep}'}}}}\n"}


def laps(s, project, n):
    """What is done with n workflows -> its name, processor seconds."""
    uses = "{use: common/load}"
    yield "judged, new (dry run)", apply(s, documents(project, n), dry_run=True)
    yield "saved, new", apply(s, documents(project, n))
    yield "judged again, as they are", apply(s, documents(project, n), dry_run=True)
    yield "saved, each changed", apply(s, documents(project, n, "second"))
    apply(s, [library(project, 1)])
    yield "saved, each uses a library", apply(s, documents(project, n, "second", uses))
    yield "saved, the library changed", apply(s, [library(project, 2)])
    yield "pruned to one", apply(s, documents(project, 1, "second"), prune=[project], retire=True)


def main():
    with noop_site("judge") as s:
        few = {}
        for lap in range(LAPS):
            for what, took in laps(s, f"few{lap}", FEW):
                few.setdefault(what, []).append(took)
        for what, took in laps(s, "many", MANY):
            beside = sorted(few[what])[LAPS // 2]
            figure(f"{MANY} workflows {what}", took, "s", note=f"{FEW}: {beside:.3g} s, {took / beside:.3g} times")


if __name__ == "__main__":
    main()
