#!/usr/bin/env python3
"""The named ranges of DolphinScheduler and the cycle pairs of WeData, each with the window that the
manual gives for it, against dates worked out by hand. TAP."""
import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("B", "build/gcc")
SIRDAR = os.environ.get("SIRDAR_BIN") or str(BUILD / "bin" / "sirdar")
MANUAL = "".join((ROOT / "docs/book/en" / page).read_text() for page in ("links.md", "parameters.md"))


def d(text):
    return datetime.fromisoformat(text)


def every(lo, hi, **step):
    """lo, lo + step, ... before hi."""
    lo, hi, out = d(lo), d(hi), []
    while lo < hi:
        out.append(lo)
        lo += timedelta(**step)
    return out


def hours(lo, hi):
    return every(lo, hi, hours=1)


def days(lo, hi):
    return every(lo, hi, days=1)


def minutes(lo, hi):
    return every(lo, hi, minutes=1)


# A Wednesday at 06:30, by hourly parents for hours and daily parents for days.
DOLPHIN_AT = "2026-03-11 06:30"
DOLPHIN = {
    "currentHour": ("hour", hours("2026-03-11 06:00", "2026-03-11 07:00")),
    "last1Hour": ("hour", hours("2026-03-11 05:00", "2026-03-11 06:00")),
    "last2Hours": ("hour", hours("2026-03-11 04:00", "2026-03-11 06:00")),
    "last3Hours": ("hour", hours("2026-03-11 03:00", "2026-03-11 06:00")),
    "last24Hours": ("hour", hours("2026-03-10 01:00", "2026-03-11 01:00")),
    "today": ("hour", hours("2026-03-11 00:00", "2026-03-12 00:00")),
    "last1Days": ("day", days("2026-03-10", "2026-03-11")),
    "last2Days": ("day", days("2026-03-09", "2026-03-11")),
    "last3Days": ("day", days("2026-03-08", "2026-03-11")),
    "last7Days": ("day", days("2026-03-04", "2026-03-11")),
    "thisWeek": ("day", days("2026-03-09", "2026-03-12")),
    "lastWeek": ("day", days("2026-03-02", "2026-03-09")),
    "lastMonday": ("day", [d("2026-03-02")]),
    "lastTuesday": ("day", [d("2026-03-03")]),
    "lastWednesday": ("day", [d("2026-03-04")]),
    "lastThursday": ("day", [d("2026-03-05")]),
    "lastFriday": ("day", [d("2026-03-06")]),
    "lastSaturday": ("day", [d("2026-03-07")]),
    "lastSunday": ("day", [d("2026-03-08")]),
    "thisMonth": ("day", days("2026-03-01", "2026-03-12")),
    "thisMonthBegin": ("day", [d("2026-03-01")]),
    "thisMonthEnd": ("day", [d("2026-03-31")]),
    "lastMonth": ("day", days("2026-02-01", "2026-03-01")),
    "lastMonthBegin": ("day", [d("2026-02-01")]),
    "lastMonthEnd": ("day", [d("2026-02-28")]),
}

# The run dates of the one that waits, by its cycle.
WEDATA_AT = {"MINUTE": "2026-03-11 06:07", "HOUR": "2026-03-11 06:00", "DAY": "2026-03-11", "WEEK": "2026-03-09",
             "MONTH": "2026-03-01", "YEAR": "2026-01-01"}
WEDATA = {
    "DAY on HOUR CURRENT_DAY": hours("2026-03-11", "2026-03-12"),
    "DAY on HOUR PREVIOUS_DAY": hours("2026-03-10", "2026-03-11"),
    "DAY on HOUR PREVIOUS_DAY_LATER_OFFSET_HOUR": hours("2026-03-10 01:00", "2026-03-11 01:00"),
    "DAY on MINUTE CURRENT_DAY": minutes("2026-03-11", "2026-03-12"),
    "DAY on MINUTE PREVIOUS_DAY": minutes("2026-03-10", "2026-03-11"),
    "DAY on MINUTE PREVIOUS_DAY_LATER_OFFSET_MINUTE": minutes("2026-03-10 00:01", "2026-03-11 00:01"),
    "HOUR on MINUTE CURRENT_HOUR": minutes("2026-03-11 06:00", "2026-03-11 07:00"),
    "HOUR on MINUTE PREVIOUS_HOUR": minutes("2026-03-11 05:00", "2026-03-11 06:00"),
    "HOUR on MINUTE PREVIOUS_HOUR_LATER_OFFSET_MINUTE": minutes("2026-03-11 05:01", "2026-03-11 06:01"),
    "HOUR on HOUR CURRENT_HOUR": [d("2026-03-11 06:00")],
    "HOUR on HOUR PREVIOUS_HOUR_CYCLE": [d("2026-03-11 05:00")],
    "MINUTE on MINUTE CURRENT_MINUTE": [d("2026-03-11 06:07")],
    "MINUTE on MINUTE PREVIOUS_MINUTE_CYCLE": [d("2026-03-11 06:06")],
    "HOUR on DAY CURRENT_DAY": [d("2026-03-11")],
    "MINUTE on HOUR CURRENT_HOUR": [d("2026-03-11 06:00")],
    "DAY on WEEK CURRENT_WEEK": [d("2026-03-09")],
    "DAY on MONTH CURRENT_MONTH": [d("2026-03-01")],
    "DAY on YEAR CURRENT_YEAR": [d("2026-01-01")],
    "DAY on MONTH RECENT_DATE": [d("2026-03-01")],
    "WEEK on DAY PREVIOUS_WEEK": days("2026-03-02", "2026-03-09"),
    "WEEK on DAY CURRENT_WEEK": days("2026-03-09", "2026-03-16"),
    "WEEK on DAY PREVIOUS_FRIDAY": [d("2026-03-06")],
    "WEEK on DAY PREVIOUS_WEEKEND": [d("2026-03-08")],
    "WEEK on DAY CURRENT_DAY": [d("2026-03-09")],
    "WEEK on DAY PREVIOUS_DAY": [d("2026-03-08")],
    "MONTH on DAY PREVIOUS_MONTH": days("2026-02-01", "2026-03-01"),
    "MONTH on DAY CURRENT_MONTH": days("2026-03-01", "2026-04-01"),
    "MONTH on DAY PREVIOUS_END_OF_MONTH": [d("2026-02-28")],
    "MONTH on DAY CURRENT_DAY": [d("2026-03-01")],
    "MONTH on DAY PREVIOUS_DAY": [d("2026-02-28")],
    "YEAR on DAY ALL_DAY_OF_YEAR": days("2026-01-01", "2027-01-01"),
    "YEAR on DAY CURRENT_DAY": [d("2026-01-01")],
    "YEAR on DAY PREVIOUS_DAY": [d("2025-12-31")],
    "YEAR on MONTH ALL_MONTH_OF_YEAR": [d(f"2026-{m:02}-01") for m in range(1, 13)],
    "YEAR on MONTH CURRENT_MONTH": [d("2026-01-01")],
    "YEAR on MONTH PREVIOUS_MONTH": [d("2025-12-01")],
    "HOUR on HOUR RANGE_HOUR -3,-1": hours("2026-03-11 03:00", "2026-03-11 06:00"),
    "DAY on DAY RANGE_DAY -2,0": days("2026-03-09", "2026-03-12"),
    "DAY on DAY LIST_DAY -7,-1,0": [d("2026-03-04"), d("2026-03-10"), d("2026-03-11")],
    "HOUR on MINUTE LIST_MINUTE -30,0": [d("2026-03-11 05:30"), d("2026-03-11 06:00")],
}

number = failed = 0


def check(name, good, more=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good and more:
        print("\n".join("# " + line for line in str(more).splitlines()[:8]))


def picked(folder, parent, child, need, at):
    path = folder / "range.yaml"
    path.write_text(f"workflow: w\nstart_date: 2020-01-01\ntasks:\n  p: {{type: noop, {parent}}}\n"
                    f"  c: {{type: noop, {child}, needs: [{{task: p, {need}}}]}}\n")
    p = subprocess.run([SIRDAR, "edges", str(path), "--date", at, "--json"], capture_output=True, text=True, timeout=60)
    edges = json.loads(p.stdout) if p.stdout else []
    rows = [q["run_date"] for e in edges if e["child"].endswith("/c") for q in e["parents"]]
    return sorted(d(r.rstrip("Z")) for r in rows), p.stderr


def show(found, want):
    return f"found {[str(x) for x in found[:3]]}.. ({len(found)}), want {[str(x) for x in want[:3]]}.. ({len(want)})"


with tempfile.TemporaryDirectory() as scratch:
    here = Path(scratch)
    told = dict(re.findall(r"^\| `(\w+)` \| `([\[({][^`]*)` \|$", MANUAL, re.M))
    check("the manual has every named range of DolphinScheduler", set(told) == set(DOLPHIN), set(told) ^ set(DOLPHIN))
    source = (ROOT / "admin-console/cli/import/ds_depend.c").read_text()
    code = dict(re.findall(r'\{ "(\w+)", "(\[[^"]*)" \}', source))
    check("the importer uses the same windows", code == told, set(code.items()) ^ set(told.items()))
    for name, (unit, want) in DOLPHIN.items():
        got, err = picked(here, f"cycle: {unit}", 'cron: "30 6 * * *"', f'window: "{told.get(name)}"', DOLPHIN_AT)
        check(f"DolphinScheduler {name}", got == want, show(got, want) + err)
    rows = re.findall(r"^\| (\w+) on (\w+) \| `([^`]+)` \| `([^`]+)`(?:; also `(depend: -?\d)`)? \|$", MANUAL, re.M)
    names = {f"{a} on {b} {n}" for a, b, n, _, _ in rows}
    check("the manual has every pair of WeData", names == set(WEDATA), names ^ set(WEDATA))
    for a, b, name, window, also in rows:
        key = f"{a} on {b} {name}"
        for need in [f'window: "{window}"'] + ([also] if also else []):
            got, err = picked(here, f"cycle: {b.lower()}", f"cycle: {a.lower()}", need, WEDATA_AT[a])
            check(f"WeData {key}: {need}", got == WEDATA.get(key, []), show(got, WEDATA.get(key, [])) + err)
    path = here / "macro.yaml"
    path.write_text("workflow: w\nstart_date: 2020-01-01\ntasks:\n  t: {type: noop, cycle: day, fire: end}\n")
    examples = re.findall(r"^\| `(\$[^`]+)`[^|]*\| `([^`$]+)` \|", MANUAL, re.M)
    check("the manual has examples of macros", len(examples) >= 11, examples)
    for macro, want in examples:
        p = subprocess.run([SIRDAR, "macro", macro, "--task", f"{path}:t", "--run-date", "2026-03-01"],
                           capture_output=True, text=True, timeout=60)
        check(f"the manual's {macro}", p.stdout.strip() == want, p.stdout + p.stderr)
print(f"1..{number}")
sys.exit(failed > 0)
