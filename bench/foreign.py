#!/usr/bin/env python3
"""Runners of other languages: jobs through one warm Python process, and what a Python job costs to start.
`bench/run foreign` starts this; see bench/README.md."""
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "bench")]
from harness import B  # noqa: E402
from whole import FIGURES, SCALE, figure  # noqa: E402

GUEST = "from sirdar_runner import serve\nserve(lambda job: None, concurrency=%d)\n"
STAMP = "import os, time\nos.write(1, b'%d' % time.monotonic_ns())\n"


def alone(folder, n):
    """The limit: the same program, told all its jobs at once by a file, heard by nobody who thinks."""
    run = {"op": "run", "type": "noop", "task": "p/w/t", "task_id": 1, "token": "1", "run_date": 0, "due_us": 0, "part": 0,
           "generation": 1, "attempt": 1, "budget_ms": 0, "grace_ms": 0, "timezone": "UTC", "params": {}, "secrets": {}}
    with open(folder / "told", "w") as f:
        f.write('{"op":"hello","protocol":1,"type":"noop"}\n')
        for i in range(n):
            f.write(json.dumps(dict(run, job=i + 1)) + "\n")
    began = time.monotonic()
    # EOF would end it before its last jobs: it is heard until their number is there.
    child = subprocess.Popen(["sh", "-c", "(cat told; sleep 60) | exec python3 one.py 3<&0 4>&1 1>&2"], cwd=folder, start_new_session=True,
                             stdout=subprocess.PIPE, env=dict(os.environ, SIRDAR_GUEST="1"))
    done = 0
    for line in child.stdout:
        done += b'"done"' in line
        if done == n:
            break
    took = time.monotonic() - began
    os.killpg(child.pid, 9)
    child.wait()
    return n / took


def through(folder, n, slots):
    (folder / "noop.yaml").write_text("type: noop\nrunner: foreign\nguest: {command: [python3, %s]}\n" % ("many.py" if slots > 1 else "one.py"))
    subprocess.run(["make", "-s", str((B / "bench/bench_loader").relative_to(ROOT))], cwd=ROOT, check=True)
    done = subprocess.run([f"{B}/bench/bench_loader", f"{B}/bin/taskrunner-loader", str(folder / "noop.yaml"), str(n), str(slots)],
                          cwd=ROOT, capture_output=True, text=True, timeout=110)
    found = re.search(r"([\d.]+)\s*(?:jobs)?/s|([\d.]+) jobs a second|([\d.]+) a second", done.stdout)
    assert found, done.stdout + done.stderr
    return float(next(g for g in found.groups() if g)), done.stdout.strip().splitlines()[-1]


def jobs():
    n = int(10000 * SCALE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(B / "runners/foreign.so", folder)
        shutil.copytree(ROOT / "plugins-sdk/python/sirdar_runner", folder / "sirdar_runner")
        (folder / "one.py").write_text(GUEST % 1)
        (folder / "many.py").write_text(GUEST % 32)
        limit = alone(folder, n)
        for slots in (1, 32):
            rate, line = through(folder, n, slots)
            figure(f"foreign: Python jobs, one warm process, {slots} at a time", rate, "/s", 2000, "more",
                   f"the program alone {limit:.0f}/s; {line}")


def start():
    """From before the spawn to the job's first line; the zygote as the runner starts it."""
    program = (ROOT / "runners/python/zygote.py").read_text()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("")
    listener.listen(64)
    socket_name = listener.getsockname()[1:].decode()
    hold, leash = os.pipe()

    def place():
        os.dup2(hold, 0)
        os.dup2(listener.fileno(), 63)
        os.dup2(63, 3)
    zygote = subprocess.Popen(["/usr/bin/python3", "-c", program], preexec_fn=place, close_fds=False)
    os.close(hold)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(STAMP)
        f.flush()

        def took(argv):
            began = time.monotonic_ns()
            text = subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout
            return (int(text) - began) / 1e6
        ways = {"warm": [B / "bin/sirdar-python-job", socket_name, str(os.getuid()), "python3", f.name],
                "cold": [B / "bin/sirdar-python-job", "-", "0", "/usr/bin/python3", f.name]}
        times = {}
        for way, argv in ways.items():
            took(argv)
            times[way] = sorted(took(argv) for _ in range(int(200 * SCALE) or 1))
        began = [time.monotonic_ns()]
        for _ in range(int(200 * SCALE) or 1):
            subprocess.run(["/bin/true"], check=True)
            began.append(time.monotonic_ns())
        raw = statistics.median(b - a for a, b in zip(began, began[1:])) / 1e6
    zygote.kill()
    zygote.wait()
    os.close(leash)
    p50 = {way: statistics.median(t) for way, t in times.items()}
    figure("python: spawn to the script's first line, warm, p50", p50["warm"], "ms", 5.0, "less",
           f"p99 {times['warm'][-max(1, len(times['warm']) // 100)]:.2f}; an interpreter of its own {p50['cold']:.1f}; /bin/true and back {raw:.2f}")


if __name__ == "__main__":
    for what in sys.argv[1:] or ["jobs", "start"]:
        {"jobs": jobs, "start": start}[what]()
    sys.exit(0 if FIGURES else 1)
