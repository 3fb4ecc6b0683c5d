#!/usr/bin/env python3
"""Jobs that weigh: a tree of 1,000 processes killed, logs shipped while the scheduler hands over.
`bench/run kill logs` starts this; see bench/README.md."""
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "bench")]
from harness import B, Site, until  # noqa: E402
from keeper_client import Keeper, carriers  # noqa: E402
from whole import (FIGURES, PRODUCTION, QUIET, SCALE, backfill_and_wait, chain_rows, cpu_seconds,  # noqa: E402
                   figure, minutes, workflow)

TREE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for n in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        if n % 3 == 0:
            os.setsid()
        time.sleep(600)
        os._exit(0)
print("ready", flush=True)
time.sleep(600)
"""


def kill():
    """1,000 processes, a third of them in sessions of their own, all deaf to TERM: from the
    request, without grace, to the confirmed end."""
    n = int(1000 * SCALE)
    for how, options in (("cgroup", ()), ("walks over /proc", ("--cgroup=off",))):
        took = []
        with tempfile.TemporaryDirectory() as folder:
            keeper = Keeper(str(B / "bin/jobkeeper"), folder + "/k", *options)
            link = keeper.link()
            for token in range(1, 4):
                link.start(token, ["python3", "-c", TREE, str(n)])
                until("the tree stands", lambda: keeper.output(token) == b"ready\n", 60)
                began = time.monotonic()
                link.kill(token, grace_us=0)
                link.wait("exited", token, 60)
                took.append(time.monotonic() - began)
                assert not carriers(token)
            keeper.stop()
        figure(f"kill: a tree of {n}, by {how}", statistics.median(took), "s", 1.0, "less",
               "of three: " + " ".join(f"{t:.2f}" for t in took))


def handover_p50(s, name, n, start_flood=lambda: None):
    s.apply(workflow(name, {"link": "priority: 5, cycle: minute, needs: [{task: link, depend: -1}]"}))
    start_flood()
    backfill_and_wait(s, n, *minutes(n), workflow=f"bench/{name}")
    rows, _, _ = chain_rows(s, f"bench/{name}/link", n)
    return statistics.median(((b[1] or b[2]) - a[2]) / 1000 for a, b in zip(rows, rows[1:]))


def logs():
    """Jobs that print as fast as they can, four at a time; meanwhile a chain of no-ops."""
    jobs, each = 12, int(90e6 * SCALE)
    with Site("logs", **PRODUCTION, recovery_wait_ms=200).start(
            ("noop:8", "shell:4"), **{**QUIET, "output_flush_ms": 100,
                                      "output_chunk_bytes": 262144}) as s:
        alone = handover_p50(s, "alone", int(500 * SCALE))
        s.apply(workflow("flood", {"f": f"cycle: minute, params: {{script: 'head -c {each} /dev/zero'}}"},
                         "type: shell"))

        def kept():
            return sum(f.stat().st_size for f in (s.dir / "joblogs").rglob("*") if f.is_file())

        began, used = [0.0], cpu_seconds(s)

        def flood():
            start, end = minutes(jobs)
            began[0] = time.monotonic()
            s.command("backfill", selection={"workflow": "bench/flood", "from": start, "to": end})
            until("it floods", lambda: kept() > each / 4)
        beside = handover_p50(s, "beside", int(500 * SCALE), flood)
        busy = kept() < jobs * each
        until("all is shipped", lambda: kept() >= jobs * each, 300, every=0.01)
        rate = jobs * each / (time.monotonic() - began[0]) / 1e6
        spent = {k: (v - used.get(k, 0)) / (jobs * each / 1e9) for k, v in cpu_seconds(s).items()}
        print("  CPU, s a GB: " + ", ".join(f"{k} {v:.2f}" for k, v in spent.items() if v > 0.005))
        copy = copy_rate(s.dir, each)
        figure("logs: shipped by one broker", rate, "MB/s", 200, "more",
               f"{jobs} jobs of {each / 1e6:.0f} MB; a plain copy on this disk {copy:.0f} MB/s")
        figure("logs: hand-over p50 beside it", beside / alone, "x", 1.5, "less",
               f"{alone:.2f} ms alone, {beside:.2f} ms beside" + ("" if busy else "; the flood ended first"))


def copy_rate(folder, n):
    began = time.monotonic()
    subprocess.run(["sh", "-c", f"head -c {n} /dev/zero | cat > {folder}/.copy"], check=True)
    return n / (time.monotonic() - began) / 1e6


if __name__ == "__main__":
    for name in sys.argv[1:] or ["kill", "logs"]:
        {"kill": kill, "logs": logs}[name]()
    sys.exit(0 if FIGURES else 1)
