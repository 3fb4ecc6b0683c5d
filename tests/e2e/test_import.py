#!/usr/bin/env python3
"""`sirdar import`: what becomes of other schedulers' files, and what is said of the rest. TAP."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("B", "build/gcc")
SIRDAR = os.environ.get("SIRDAR_BIN") or str(BUILD / "bin" / "sirdar")
FIXTURES = Path("tests") / "fixtures"

number = failed = 0


def check(name, good, more=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good and more:
        print("\n".join("# " + line for line in str(more).splitlines()))


def run(*args, stdin=None):
    p = subprocess.run([SIRDAR, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=60, cwd=ROOT)
    return p.returncode, p.stdout, p.stderr


def imported(*words):
    """YAML and notes; the YAML passes the check."""
    code, text, notes = run("import", *words)
    checked, said, _ = run("check", "-", stdin=text)
    check(f"import {words[0]} {words[-1]} passes the check", code == 0 and checked == 0, notes + said + text)
    return text, notes.splitlines()


def crontabs():
    text, notes = imported("crontab", FIXTURES / "user.crontab")
    check("a crontab's environment, shell and mail come along", all(w in text for w in (
        'mail:dw@example.org', "        PATH=/usr/local/bin:/usr/bin:/bin", "#!/bin/bash", "timezone: Europe/Berlin")), text)
    check("an escaped % is a %, an open one begins the input", "+%s" in text and
          "<<'SIRDAR_INPUT'\\nDear all,\\nthe report is ready.\\n" in text, text)
    check("what the shell replaces is left to it", "$${REPORT_HOME}/out" in text, text)
    check("@reboot and bad lines are refused with their line and why", any(
        n.startswith(f"{FIXTURES}/user.crontab:11: @reboot") and "due by time" in n for n in notes) and any(
        ":15: the line is left out" in n and "61 is out of range" in n for n in notes), notes)
    check("another MAILTO begins another workflow", text.count("\nworkflow: crontab_2\n") == 1 and
          "alerts" not in text.split("crontab_2")[1], text)
    text, notes = imported("crontab", "--system", "--name", "system", FIXTURES / "system.crontab")
    check("a system crontab names users", text.count("run_as: root") == 2 and "run_as: www-data" in text and
          "run-parts_4:" in text and not notes, text)
    code, out, err = run("import", "crontab", "/nowhere")
    check("a file that is not there ends with 4", code == 4 and not out, err)


def runs(text, task, at):
    """The links of one instance, as `sirdar edges` shows them."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=ROOT / BUILD) as f:
        f.write(text)
        f.flush()
        code, out, err = run("edges", f.name, "--date", at, "--json")
    return {(p["parent"], p["run_date"]) for e in json.loads(out) if e["child"] == task for p in e["parents"]}


def dolphins():
    text, notes = imported("dolphinscheduler", "--project", "dw", FIXTURES / "dolphinscheduler.json")
    check("scripts keep dates and parameters, and leave the shell its own", all(w in text for w in (
        "$${FILES}", "${dt}", "$[yyyy-MM-dd-1]", "dt: $[yyyyMMdd-1]", "sirdar:output rows=12", "outputs: [rows]",
        "values (${rows})")), text)
    check("retries, priority, group and timeout come along", all(w in text for w in (
        "retry: {attempts: 3, delay: 3m}", "priority: 8", "group: etl", "alive_wait: 30m")), text)
    check("how runs follow each other comes along", [w for w in re.findall(r"^overlap: (\w+)$", text, re.M)] ==
          ["queue", "skip", "replace"], text)
    check("conditions are links on success and on failure", "{task: extract, depend: 1, on: failure}" in text and
          "{task: extract, depend: 1, on: success}" in text, text)
    check("a sub process stands between a beginning and an end", all(w in text for w in (
        "sub.a:", "sub.end:", "{task: sub.end, depend: 1}")), text)
    check("what cannot be carried over is listed with its place", all(any(w in n for n in notes) for w in (
        "definitions[0].tasks[5]: a task of type SPARK", "definition 5555 is left out", "failureStrategy END",
        "datasource 5 (MYSQL)", "forbidden there")), notes)
    check("a switch is a task that names its branch, its conditions in the shell", all(w in text for w in (
        "value_1: ${rows}", "value_2: ${region}", "{task: route, depend: 1}")), text)
    script = json.loads(re.search(r'script: (".*branch=many.*")', text).group(1))
    for values, want in (("12 eu us", "many"), ("10 eu us", "few"), ("12 us xx", "rest"), ("9 eu eu", "rest")):
        given = {f"value_{i + 1}": v for i, v in enumerate(values.split())}
        said = subprocess.run(["sh", "-c", script], env=given, capture_output=True, text=True, check=True).stdout
        check(f"a switch on {values} goes to {want}", said == f"sirdar:output branch={want}\n", said)
    check("a switch that says more stands frozen", any("tasks[5]: the conditions of a switch" in n for n in notes) and
          any("tasks[5]: a task of type SWITCH" in n for n in notes), notes)
    got = runs(text, "dw/report/wait", "2026-03-02T06:00:00+08:00")
    want = {("dw/ods_orders/load_rows", "2026-03-01T18:30:00Z"), ("dw/dims/a", "2026-02-28T17:00:00Z"),
            ("dw/dims/b", "2026-02-28T17:00:00Z"), ("dw/report/wait.group_2", "2026-03-01T22:00:00Z")}
    check("a dependent task waits for the ranges it names", got == want, got ^ want)
    got = runs(text, "dw/report/wait.group_2", "2026-03-02T06:00:00+08:00")
    want = {("dw/report/wait.2.all_1", "2026-03-01T22:00:00Z"), ("dw/ods_orders/extract", "2026-02-22T18:30:00Z")}
    check("groups of AND and OR keep their meaning", got == want, got ^ want)


def ects():
    text, notes = imported("ects", "--node", "1d9988aa-4630-4230-a646-4a2f377d4530=edge-1", FIXTURES / "ects.json")
    check("steps come in their order with all they have", text.index("resolve_1") < text.index("publish_2") and all(
        w in text for w in ("timeout: 30s", "interval: 5s", "retries: 2", "directory: /srv/dns", "user: dns",
                            "ZONE: example.org", "dependence: weak", "overlap: false", "nodes: [edge-1, edge-2]",
                            "finished:", "failed:", "method: post")), text)
    check("what people called it is the title", "title: 刷新 DNS" in text and "description: refresh of the zone" in text, text)
    check("weekdays count from Sunday 0 there", "cron: 0 */10 * * * MON-FRI *" in text, text)
    check("what is not understood is said", any("'oops' of environment" in n for n in notes) and
          any("it has no steps" in n for n in notes), notes)
    code, out, err = run("import", "ects", FIXTURES / "user.crontab")
    check("a file of another kind is refused", code == 1 and not out and "no JSON" in err, err)


def any_bytes():
    """Cut, doubled and changed files: one of two ends, and what comes out is what the check takes. N= files, SEED=."""
    luck = random.Random(int(os.environ.get("SEED", "1")))
    sources = [("crontab", "user.crontab"), ("crontab", "system.crontab"), ("dolphinscheduler", "dolphinscheduler.json"),
               ("ects", "ects.json")]
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any"
        for i in range(int(os.environ.get("N", "60"))):
            kind, name = sources[i % 4]
            data = bytearray((ROOT / FIXTURES / name).read_bytes())
            for _ in range(luck.randrange(1, 6)):
                at, to = sorted((luck.randrange(len(data) + 1), luck.randrange(len(data) + 1)))
                to = min(to, at + luck.choice((1, 4, 40, 400)))
                way = luck.randrange(4)
                if way == 0:
                    del data[at:to]
                elif way == 1:
                    data[at:at] = data[at:to]
                elif way == 2:
                    data[at:to] = bytes(luck.randrange(256) for _ in range(to - at))
                else:
                    data[at:to] = luck.choice((b"-1", b"null", b"[]", b'"', b"{}", b"9" * 30, b"\\u0000", b"%", b"\n"))
            path.write_bytes(data)
            p = subprocess.run([SIRDAR, "import", kind, str(path)], capture_output=True, timeout=60, cwd=ROOT)
            said = p.stderr.decode("utf-8", "replace")
            if p.returncode not in (0, 1) or "Sanitizer" in said or (p.returncode and not said):
                bad.append(f"{i} {kind}: {p.returncode} {said[-600:]}")
    check("files of any bytes are imported or refused", not bad, "\n".join(bad[:3]))


crontabs()
dolphins()
ects()
any_bytes()
print(f"1..{number}")
sys.exit(failed > 0)
