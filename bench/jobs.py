#!/usr/bin/env python3
"""Jobs that weigh: a tree of 1,000 processes killed, logs shipped while the scheduler hands over.
`bench/run kill logs` starts this; see bench/README.md."""
import os
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
from whole import (FIGURES, PRODUCTION, QUIET, SCALE, backfill_and_wait, chain_rows, ended_rows, cpu_seconds,  # noqa: E402
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
    # what floods succeeds too, and was counted
    until("the last link is in the store", lambda: len(ended_rows(s, f"bench/{name}/link")) == n, 60)
    rows, _, _ = chain_rows(s, f"bench/{name}/link", n)
    return statistics.median(((b[1] or b[2]) - a[2]) / 1000 for a, b in zip(rows, rows[1:]))


# As fast as it can; and about 60 MB/s a job, so that four keep a broker a little above its 200 MB/s.
# Bytes that nothing packs: what is kept is counted on the disk.
FLAT_OUT = "cat {data}"
PACED = "i=0; while [ $i -lt 60 ]; do tail -c +$(({each} / 60 * i + 1)) {data} | head -c $(({each} / 60)); sleep 0.02; i=$((i + 1)); done"


def flood(s, name, script, jobs, each, alone):
    """Jobs that print, four at a time; meanwhile a chain of no-ops. -> MB/s."""
    data = s.dir / "data/noise"
    if not data.exists():
        data.write_bytes(os.urandom(each))
        data.chmod(0o644)
    script = script.replace("{each}", str(each)).replace("{data}", str(data))
    s.apply(workflow(f"flood_{name}", {"f": "cycle: minute, params: {script: '" + script + "'}"}, "type: shell"))

    def kept():
        return sum(f.stat().st_size for f in (s.dir / "joblogs").rglob("*.seg"))

    began, used, before = [0.0], cpu_seconds(s), kept()
    whole = before + jobs * each

    def start():
        first, last = minutes(jobs)
        began[0] = time.monotonic()
        s.command("backfill", selection={"workflow": f"bench/flood_{name}", "from": first, "to": last})
        until("it floods", lambda: kept() > before + each / 4)
    beside = handover_p50(s, f"beside_{name}", int(500 * SCALE), start)
    busy = kept() < whole
    until("all is shipped", lambda: kept() >= whole, 300, every=0.01)
    rate = jobs * each / (time.monotonic() - began[0]) / 1e6
    spent = {k: (v - used.get(k, 0)) / (jobs * each / 1e9) for k, v in cpu_seconds(s).items()}
    print("  CPU, s a GB: " + ", ".join(f"{k} {v:.2f}" for k, v in spent.items() if v > 0.005))
    return rate, beside / alone, f"{alone:.2f} ms alone, {beside:.2f} ms beside" + ("" if busy else "; the flood ended first")


def logs():
    jobs, each = 12, int(90e6 * SCALE) // 60 * 60
    with Site("logs", **PRODUCTION).start(
            ("noop:8", "shell:4"), **{**QUIET, "output_flush_ms": 100,
                                      "output_chunk_bytes": 262144}) as s:
        alone = handover_p50(s, "alone", int(500 * SCALE))
        rate, times, words = flood(s, "flat_out", FLAT_OUT, jobs, each, alone)
        copy = copy_rate(s.dir, each)
        figure("logs: shipped by one broker", rate, "MB/s", 200, "more",
               f"{jobs} jobs of {each / 1e6:.0f} MB; a plain copy on this disk {copy:.0f} MB/s")
        figure("logs: hand-over p50 beside it, flat out", times, "x", None, "less", words)
        rate, times, words = flood(s, "paced", PACED, 2 * jobs, each, alone)
        figure("logs: hand-over p50 beside jobs that print 60 MB/s each", times, "x", 1.5, "less",
               f"{rate:.0f} MB/s; {words}")


def copy_rate(folder, n):
    began = time.monotonic()
    subprocess.run(["sh", "-c", f"head -c {n} /dev/zero | cat > {folder}/.copy"], check=True)
    return n / (time.monotonic() - began) / 1e6


if __name__ == "__main__":
    for name in sys.argv[1:] or ["kill", "logs"]:
        {"kill": kill, "logs": logs}[name]()
    sys.exit(0 if FIGURES else 1)
