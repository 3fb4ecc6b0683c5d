#!/usr/bin/env python3
"""The offline commands of `sirdar`: what they print, and their exit codes. TAP."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("B", "build/gcc")
SIRDAR = os.environ.get("SIRDAR_BIN") or str(BUILD / "bin" / "sirdar")
EXAMPLES = ROOT / "docs" / "examples"

number = failed = 0


def check(name, good, more=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good and more:
        print("\n".join("# " + line for line in str(more).splitlines()))


def run(*args, stdin=None):
    p = subprocess.run([SIRDAR, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout, p.stderr


def answer(*args, stdin=None):
    code, out, err = run(*args, "--json", stdin=stdin)
    try:
        return code, json.loads(out)
    except ValueError:
        return code, f"no JSON: {out!r} {err!r}"


def write(folder, name, text):
    path = Path(folder) / name
    path.write_text(text)
    return path


CIRCLE = """workflow: w
tasks:
  a: {type: noop, cycle: day, needs: [b]}
  b: {type: noop, cycle: day, needs: [a]}
"""
CHAIN = """workflow: w
project: p
timezone: Europe/Berlin
start_date: 2026-01-01
parameters: {db: dw}
tasks:
  h: {type: noop, cycle: hour}
  d: {type: noop, cycle: day, fire: end, offset: 30m, needs: [h, {task: d, depend: -1}], params: {own: "${db}"}}
  m: {type: noop, cycle: month, offset: 2h, needs: [{task: d, window: "[@month-1M, @month)"}]}
"""


def checks(folder):
    code, got = answer("check", *sorted(EXAMPLES.glob("*.yaml")))
    check("the examples have no findings", (code, got) == (0, []), (code, got))
    path = write(folder, "bad.yaml", "workflow: w\ntasks:\n  a:\n    type: noop\n    cycle: day\n    priority: 11\n    retyr: 1\n")
    code, got = answer("check", path)
    check("errors end with 1", code == 1, code)
    check("each finding has the seven fields", all(
        list(x) == ["file", "line", "column", "path", "code", "message", "hint"] for x in got), got)
    check("a value out of range is found at its place", got[0] == {
        "file": str(path), "line": 6, "column": 15, "path": "tasks.a.priority", "code": "wrong_value",
        "message": "priority is '11', want a number from 1 to 10", "hint": ""}, got[0])
    check("an unknown key names the nearest", got[1]["code"] == "unknown_key"
          and (got[1]["line"], got[1]["column"]) == (7, 5) and got[1]["hint"] == "did you mean 'retry'?", got[1])
    code, out, err = run("check", path)
    check("people read file:line:column", code == 1 and f"{path}:6:15: priority is '11'" in out, out + err)
    code, got = answer("check", "-", stdin=CIRCLE)
    check("a circle is named in order", code == 1 and got[0]["code"] == "cycle"
          and "default/w/a -> default/w/b -> default/w/a" in got[0]["message"], got)
    code, got = answer("check", write(folder, "x.yaml", "a: [1\nb: 2\n"))
    check("broken YAML is told with line and column", code == 1 and got[0]["code"] == "syntax"
          and got[0]["line"] == 2, got)
    code, got = answer("check", "-", stdin=json.dumps({"workflow": "w", "tasks": {"a": {
        "type": "noop", "cycle": "day", "description": "\U0001f600"}}}))
    check("JSON is taken", (code, got) == (0, []), got)
    code, got = answer("check", write(folder, "1.yaml", CHAIN), write(
        folder, "2.yaml", "workflow: v\nproject: q\ntimezone: Europe/Berlin\nstart_date: 2026-01-01\n"
        "tasks: {x: {type: noop, cycle: day, fire: end, offset: 1h, needs: [p/w/d]}}\n"))
    check("files are judged together", (code, got) == (0, []), got)
    code, got = answer("check", folder / "2.yaml")
    check("a task in no file is an error with a hint", code == 1 and got[0]["code"] == "unknown_task"
          and got[0]["hint"], got)
    code, out, err = run("check", Path(folder) / "none.yaml")
    check("a missing file ends with 1 and one line, and nothing is called good", code == 1 and len(err.splitlines()) == 1 and not out, out + err)
    for text in ("", "# nothing yet\n"):
        code, got = answer("check", write(folder, "empty.yaml", text))
        check("an empty file is none", code == 1 and [x["code"] for x in got] == ["empty"], got)
    code, got = answer("check", write(folder, "all.yaml", "workflow: w\nstart_date: 2026-02-30\ntasks:\n"
                       "  a: {type: shell, cycle: day, retyr: 1, needs: [b, c], params: {script: 'echo ${nobody}'}}\n  b: {type: noop, cycle: day, needs: [a]}\n"))
    check("unknown keys and what else is wrong are told at once", {x["code"] for x in got} >= {"unknown_key", "unknown_task", "wrong_value", "macro"}, got)
    check("a day that does not exist is said to be none", "2026-02 has 28 days" in str(got), got)
    code, got = answer("check", write(folder, "two.yaml", "workflow: w\ntsks: 1\ntasks:\n  a: {type: noop, cycle: day}\n---\nworkflow: v\n"
                       "tasks:\n  b: {type: noop, cycle: day, needs: [w/a, w/x], state: nothing}\n---\nworkflow: u\ntasks:\n  b: {type: noop, cycle: day, needs: [b]}\n"))
    check("of documents with other mistakes what depends on them waits", [x["code"] for x in got] == ["unknown_key", "wrong_value", "cycle"], got)


def simulations(folder):
    path = write(folder, "chain.yaml", CHAIN)
    code, got = answer("simulate", path, "--from", "2026-03-29", "--to", "2026-03-29")
    hours = [x for x in got if x["task"] == "p/w/h"]
    check("the day of 23 hours has 23 instances", code == 0 and len(hours) == 23, got)
    check("rows have six fields", list(got[0]) == ["task", "run_date", "label", "due", "state", "reason"], got[0])
    day = [x for x in got if x["task"] == "p/w/d"]
    check("a day is due after its end, on the wall", day == [{
        "task": "p/w/d", "run_date": "2026-03-28T23:00:00Z", "label": "2026-03-29", "due": "2026-03-29T22:30:00Z",
        "state": "planned", "reason": ""}], day)
    durations = write(folder, "durations.yaml", "h: 40m\np/w/d: 1h\n")
    code, got = answer("simulate", path, "--from", "2026-03-28", "--to", "2026-03-30", "--durations", durations)
    ends = {(x["task"], x["run_date"]): (x["start"], x["end"]) for x in got}
    check("with durations there are starts and ends", code == 0
          and ends[("p/w/d", "2026-03-28T23:00:00Z")] == ("2026-03-29T22:30:00Z", "2026-03-29T23:30:00Z"), ends)
    code, out, err = run("simulate", path, "--from", "2026-03-28", "--to", "2026-03-30", "--durations",
                         write(folder, "no.yaml", "zzz: 1h\n"))
    check("an unknown task among the durations is refused", code == 1 and "zzz" in err, err)
    code, got = answer("simulate", EXAMPLES / "dns_refresh.yaml", "--from", "2026-03-01T00:00:00Z", "--to",
                       "2026-03-01T00:00:10Z")
    check("a failure link that nothing triggers is Skipped(link)", [
        (x["task"], x["state"], x["reason"]) for x in got][-1] == ("default/dns_refresh/failed", "Skipped", "link"), got)
    code, out, err = run("simulate", path)
    check("a missing span is wrong use", code == 2 and not out, err)
    code, out, err = run("simulate", path, "--from", "soon", "--to", "2026-03-30")
    check("what is no date is refused", code == 1 and "'soon' is no date" in err and "yesterday" in err, err)
    code, out, err = run("simulate", path, "--date", "2026-03-30..2026-03-29")
    check("so is a range that ends before it begins", code == 1 and "2026-03-30..2026-03-29 ends before" in err, err)
    code, out, err = run("simulate", path, "--date", "2026-03-29", "--to", "2026-03-30")
    check("a range is said once", code == 2 and not out, err)


def both_ends_of_a_range_are_meant(folder):
    path = write(folder, "chain.yaml", CHAIN)
    days = lambda *said: [x["label"] for x in answer("simulate", path, *said)[1] if x["task"] == "p/w/d"]
    want = ["2026-03-28", "2026-03-29", "2026-03-30"]
    check("--to is the last day that is meant", days("--from", "2026-03-28", "--to", "2026-03-30") == want)
    check("so is the end of A..B", days("--date", "2026-03-28..2026-03-30") == want)
    check("and the end of an instant with its offset is that instant",
          days("--date", "2026-03-28T00:00:00+01:00..2026-03-29T22:00:00Z") == want)
    check("a month is all of it", len(days("--from", "2026-03", "--to", "2026-03")) == 31)
    children = {x["label"] for x in answer("edges", path, "--date", "2026-03-28..2026-03-30")[1] if x["child"] == "p/w/d"}
    check("edges mean the same", children == set(want), children)
    one = answer("edges", path, "--date", "2026-03-29")[1]
    again = [answer("edges", path, "--date", x)[1] for x in {p["label"] for e in one for p in e["parents"] if p["parent"] == "p/w/d"}]
    check("a label that is printed is taken back", [x["label"] for e in again for x in e if x["child"] == "p/w/d"] ==
          ["2026-03-28"] * 2, again)
    check("today is a date too", len(days("--date", "today")) == 1)
    check("and so is a week of days ago", len(days("--date", "-7d..-1d")) == 7)


def edges(folder):
    path = write(folder, "chain.yaml", CHAIN)
    code, got = answer("edges", path, "--from", "2026-03-29", "--to", "2026-03-29")
    check("edges come by child, run_date and link", code == 0 and
          [(x["child"], x["run_date"], x["link"]) for x in got] ==
          [("p/w/d", "2026-03-28T23:00:00Z", 0), ("p/w/d", "2026-03-28T23:00:00Z", 1)], got)
    check("a day waits for its 23 hours", len(got[0]["parents"]) == 23 and got[0]["parents"][0] == {
        "parent": "p/w/h", "run_date": "2026-03-28T23:00:00Z", "label": "2026-03-29 00:00"}, got[0])
    check("and for the day before", got[1]["parents"] == [
        {"parent": "p/w/d", "run_date": "2026-03-27T23:00:00Z", "label": "2026-03-28"}], got[1])
    code, got = answer("edges", path, "--from", "2026-01-01", "--to", "2026-01-01")
    month = [x for x in got if x["child"] == "p/w/m"]
    check("a window before the begin says so", month == [{
        "child": "p/w/m", "run_date": "2025-12-31T23:00:00Z", "label": "2026-01", "link": 0, "parents": [],
        "note": "before its begin"}], month)
    note = {(x["child"], x["link"]): x["note"] for x in got if x["run_date"] == "2025-12-31T23:00:00Z"}
    check("so does the day before the first one", note["p/w/d", 1] == "before its begin" and not note["p/w/d", 0], got)
    code, out, err = run("edges", path, "--from", "2025-11-01", "--to", "2025-11-03")
    check("dates before the task's begin are told", code == 0 and
          "p/w/d: before its begin: its plan begins with 2026-01-01" in err, (out, err))
    path = write(folder, "empty.yaml", CHAIN + '  e: {type: noop, cycle: day, needs: [{task: m, window: "[@day, @day+1d)"}]}\n')
    code, got = answer("edges", path, "--date", "2026-01-10")
    check("an empty window says so", [x["note"] for x in got if x["child"] == "p/w/e"] == ["no instance in window"], got)


def crons_and_macros(folder):
    code, got = answer("cron", "next", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-03-28", "--count", "3")
    check("cron times in a gap run at its end", (code, got) == (0, [
        "2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]), got)
    code, got = answer("cron", "next", "0 0 1 1 *", "--tz", "UTC", "--from", "2026-01-01T00:00:00Z", "--count", "1")
    check("a time that is the begin is meant", got == ["2026-01-01T00:00:00Z"], got)
    code, out, err = run("cron", "next", "99 * * * *", "--json")
    check("a wrong expression ends with 1", code == 1 and not out and "99" in err, err)
    path = write(folder, "chain.yaml", CHAIN)
    code, got = answer("macro", "${biz_date} $[yyyyMMdd-1] ${db} ${own} $$x", "--task", f"{path}:d", "--run-date",
                       "2026-03-01")
    check("macros are replaced", (code, got) == (0, {"text": "2026-03-01 20260228 dw dw $x"}), got)
    path = write(folder, "gives.yaml", "workflow: w\nproject: p\ntasks:\n  a: {type: shell, cycle: day, outputs: [n]}\n"
                 "  b: {type: shell, cycle: day, needs: [a]}\n")
    code, got = answer("macro", "${a.n} $[dd]", "--task", f"{path}:b", "--run-date", "2026-03-01")
    check("an output of a parent stays as it is", (code, got) == (0, {"text": "${a.n} 01"}), got)
    code, out, err = run("macro", "${a.m}", "--task", f"{path}:b", "--run-date", "2026-03-01")
    check("one that it does not declare is refused", code == 1 and "a.m" in err, err)
    path = write(folder, "chain.yaml", CHAIN)
    code, out, err = run("macro", "${nope}", "--task", f"{path}:d", "--run-date", "2026-03-01")
    check("unknown names are refused", code == 1 and "nope" in err, err)
    code, out, err = run("macro", "x", "--task", f"{path}:zz", "--run-date", "2026-03-01")
    check("an unknown task ends with 4", code == 4, (code, err))


def the_program():
    code, out, err = run("--help")
    check("help lists the commands", code == 0 and all(
        f"  {name} " in out for name in ("check", "simulate", "edges", "cron next", "macro")), out)
    code, out, err = run("--version")
    check("version is one line", code == 0 and out.startswith("sirdar "), out)
    check("an unknown command is wrong use", run("frobnicate")[0] == 2)
    check("half a command is wrong use", run("cron")[0] == 2)


if not os.access(SIRDAR, os.X_OK):
    print(f"not ok 1 - {SIRDAR} is built")
    sys.exit(1)
with tempfile.TemporaryDirectory() as scratch:
    the_program()
    checks(Path(scratch))
    simulations(scratch)
    both_ends_of_a_range_are_meant(scratch)
    edges(scratch)
    crons_and_macros(scratch)
print(f"1..{number}")
sys.exit(failed > 0)
