"""Branches of lib/sched that no test takes, from gcovr's JSON.

    report.py JSON

Every file must be at 100 %, but for what unreachable.txt names. Prints TAP.
"""
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def table(name):
    rows = [line.split("\t") for line in (HERE / name).read_text().splitlines()
            if line and not line.startswith("#")]
    return rows


def open_branches(data, unreachable):
    """file -> [(line, how many, text)], and the rows of unreachable.txt that were of use."""
    found, used, all_, taken = {}, set(), 0, 0
    for f in data["files"]:
        source = (ROOT / f["file"]).read_text().split("\n")
        rows = found.setdefault(f["file"], [])
        for line in f["lines"]:
            if line.get("gcovr/noncode") or not line["branches"]:
                continue
            text = source[line["line_number"] - 1].strip()
            missed = sum(b["count"] == 0 for b in line["branches"])
            if (f["file"], text) in unreachable:
                used.add((f["file"], text))
                continue
            all_ += len(line["branches"])
            taken += len(line["branches"]) - missed
            if missed:
                rows.append((line["line_number"], missed, text))
    return found, used, all_, taken


def main():
    data = json.load(open(sys.argv[1]))
    unreachable = {(r[0], r[1]) for r in table("unreachable.txt")}
    found, used, all_, taken = open_branches(data, unreachable)
    bad = 0
    for n, (name, rows) in enumerate(sorted(found.items()), 1):
        missed = sum(r[1] for r in rows)
        good = not missed
        bad += not good
        print(f"{'ok' if good else 'not ok'} {n} - {name}: {missed} branches not taken")
        for line, count, text in rows if not good else ():
            print(f"#   {name}:{line}: {count}: {text}")
    stale = unreachable - used
    good = not stale and all_ > 2000
    bad += not good
    print(f"{'ok' if good else 'not ok'} {len(found) + 1} - every row of unreachable.txt stands for a line"
          + "".join(f"\n#   {f}: {t}" for f, t in sorted(stale)))
    print(f"1..{len(found) + 1}")
    print(f"# {taken} of {all_} branches taken: {100 * taken / all_:.1f} %")
    return bad != 0


sys.exit(main())
