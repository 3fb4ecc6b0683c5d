#!/usr/bin/env python3
"""Two commits by turns: what an instance costs the baseserver. `make bench-compare OLD NEW` starts this.

    bench/compare.py A B [BENCH...]     BENCH: fan, chains (the default), tree: those of whole.py that measure a rate
                                        ROUNDS=12 (at least 6), SCALE=0.2, ALLOWED=3 (percent)

Each commit is unpacked and built below build/compare. A round measures both, one after the other, and the next round
begins with the other: what the machine does to one it does to both. Each run is a process, a site and a store of its own,
with the harness and the benches of its own commit. Measured from the command to the last success: processor time of the baseserver
(its own clock of nanoseconds), bytes that it wrote into files, syncs (count.c), each by instance.

Verdict of a figure: the median of the rounds' ratios B/A is within ALLOWED percent, or not; `differs` only where a
sign test over the rounds says that it is no luck (p below 0.05), else `undecided`, which more ROUNDS decide. The
sign test tells also a difference inside of what is allowed: then p is small and the verdict is still `same`.
Exit status: 0 all the same, 1 something differs, 2 undecided."""
import json
import math
import os
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build/compare"
ROUNDS = max(6, int(os.environ.get("ROUNDS", "12")))  # of five even five alike are luck, one time in sixteen
ALLOWED = float(os.environ.get("ALLOWED", "3")) / 100
SCALE = os.environ.get("SCALE", "0.2")
FIGURES = (("cpu_us", "CPU us"), ("bytes", "bytes written"), ("syncs", "syncs"))


# --- one run, in a process of its own: `compare.py --once BENCH`, SIRDAR_ROOT the commit's tree

def once(name):
    root = Path(os.environ["SIRDAR_ROOT"])
    sys.path.insert(0, str(root / "bench"))
    import whole

    class Counted(whole.Site):
        def __init__(self, *args, **sets):
            super().__init__(*args, **sets)
            self.count = self.dir / "count"
            self.base.argv[:0] = ["/usr/bin/env", f"LD_PRELOAD={PLACE / 'count.so'}", f"BENCH_COUNT={self.count}"]

        def spent(self):
            written, _, syncs = struct.unpack("=QQQ", self.count.read_bytes()[:24])
            cpu = time.clock_gettime((~self.base.pid << 3) | 2)  # the processor clock of another process
            return {"cpu_us": cpu * 1e6, "bytes": written, "syncs": syncs}

    def rate_of(name, tasks, n_dates, n, *_):
        with whole.noop_site(name) as s:
            s.apply(whole.workflow(name, tasks))
            start, end = whole.minutes(n_dates)
            before = s.spent()
            took = whole.backfill_and_wait(s, n, start, end, workflow=f"bench/{name}", order="free",
                                           dependencies="inside")
            after = s.spent()
            told = {k: (after[k] - before[k]) / n for k in after}
            assert all(v > 0 for v in told.values()), f"not counted: {told}"
            print(json.dumps({**told, "rate": n / took}))

    whole.Site, whole.rate_of = Counted, rate_of
    whole.BENCHES[name]()


# --- two commits by turns

def build(commit):
    """The commit's tree, built; once."""
    sha = subprocess.run(["git", "rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=ROOT, check=True,
                         capture_output=True, text=True).stdout.strip()
    tree = PLACE / sha[:12]
    if not (tree / "built").exists():
        tree.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "archive", sha], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-xf", "-"], cwd=tree, input=archive, check=True)
        env = {k: v for k, v in os.environ.items() if k not in ("B", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        print(f"building {commit} ({sha[:12]}) in {tree.relative_to(ROOT)}", flush=True)
        subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "CC=gcc", "all"], cwd=tree, env=env, check=True,
                       stdout=subprocess.DEVNULL)
        (tree / "built").touch()
    return tree


def measured(tree, name):
    env = dict(os.environ, SIRDAR_ROOT=str(tree), B=str(tree / "build/gcc"), SCALE=SCALE, PYTHONDONTWRITEBYTECODE="1")
    out = subprocess.run([sys.executable, __file__, "--once", name], cwd=tree, env=env, capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"{name} of {tree.name} was not measured:\n{out.stdout[-1000:]}{out.stderr[-2000:]}")
    return json.loads(out.stdout.splitlines()[-1])


def sign_test(pairs):
    """How often luck alone makes a split as uneven as this one or more so; equal pairs count nowhere."""
    more, less = sum(b > a for a, b in pairs), sum(b < a for a, b in pairs)
    n = more + less
    tail = sum(math.comb(n, k) for k in range(max(more, less), n + 1)) / 2**n
    return more, less, min(1.0, 2 * tail)


def judged(pairs):
    """-> median of A, of B, ratio, pairs with more, with less, p, verdict."""
    more, less, p = sign_test(pairs)
    ratio = statistics.median(b / a for a, b in pairs)
    verdict = "same" if abs(ratio - 1) <= ALLOWED else "differs" if p < 0.05 else "undecided"
    return (statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), ratio, more, less, p, verdict)


def main(a, b, *names):
    PLACE.mkdir(parents=True, exist_ok=True)
    trees = build(a), build(b)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-Wall", "-o", PLACE / "count.so", ROOT / "bench/count.c"], check=True)
    verdicts = set()
    for name in names or ("fan", "chains"):
        pairs = {key: [] for key, _ in FIGURES}
        for turn in range(-1, ROUNDS):  # the first warms the disk and the caches: not counted
            got = {}
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                got[side] = measured(trees[side], name)
            if turn >= 0:
                for key in pairs:
                    pairs[key].append((got[0][key], got[1][key]))
        with open("/proc/loadavg", encoding="ascii") as f:
            load = f.read().split()[0]
        print(f"\n{name}, an instance: {ROUNDS} rounds, SCALE={SCALE}, load {load}\n"
              f"{'':16}{a[:12]:>14}{b[:12]:>14}{'B/A':>8}  B more, less   p      verdict")
        for key, what in FIGURES:
            left, right, ratio, more, less, p, verdict = judged(pairs[key])
            verdicts.add(verdict)
            print(f"{what:16}{left:14.4g}{right:14.4g}{ratio:8.3f}  {more:6} {less:5}   {p:.3f}  {verdict}", flush=True)
    print(f"\nwithin {ALLOWED * 100:g} %: {'yes' if verdicts == {'same'} else 'NO: ' + ', '.join(sorted(verdicts - {'same'}))}")
    return 1 if "differs" in verdicts else 2 if "undecided" in verdicts else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"]:
        once(sys.argv[2])
    elif len(sys.argv) < 3:
        sys.exit("make bench-compare OLD NEW: two commits")
    else:
        sys.exit(main(*sys.argv[1:]))
