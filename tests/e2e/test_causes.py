#!/usr/bin/env python3
"""Failures by cause: what failed for the same reason is one line, with how many, of what, and what became of them. As the API and the
command line show it. TAP."""
import json
import os
import re
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

OVER = ("StopSchedule", "Killed", "Succ")


def flow(s, project, name, tasks, days=1, **more):
    """A workflow of one to some days in March; tasks: name to script."""
    head = {"workflow": name, "project": project, "timezone": "UTC", "start_date": "2026-03-01", "end_date": f"2026-03-{days:02d}", **more}
    text = "".join(f"{k}: {json.dumps(v)}\n" for k, v in head.items())
    text += ("defaults: {type: shell, cycle: day, retry: {attempts: 1}, catchup: {mode: all, max: 1000}}\n"
             "tasks: " + json.dumps({k: v if isinstance(v, dict) else {"params": {"script": v}} for k, v in tasks.items()}) + "\n")
    s.apply(text, f"{project}-{name}.yaml", **{"from": "2026-03-01"})
    s.wait_all_over(f"{project}/{name}/*", len(tasks) * days, 120)


def causes(s, **args):
    return s.get("/api/v1/failures" + "".join(f"{'&' if i else '?'}{k}={v}" for i, (k, v) in enumerate(args.items())))


def cause(s, line, **args):
    found = [g for g in causes(s, **args)["items"] if g["line"] == line]
    assert len(found) == 1, causes(s, **args)
    return found[0]


def members(s, id_, **args):
    return s.get(f"/api/v1/failures/{id_}" + "".join(f"{'&' if i else '?'}{k}={v}" for i, (k, v) in enumerate(args.items())))


REFUSED = "echo \"psql: connect warehouse:$(date +%N) for /tmp/j$(date +%N)/load.sql: Connection refused\" >&2; exit 2"


@test
def what_failed_for_one_cause_is_one_line_with_its_number(s):
    flow(s, "one", "w", {"a": REFUSED, "b": REFUSED, "c": "echo ValueError: no such shop >&2; exit 1"}, days=3)
    g = cause(s, "psql: connect warehouse:# for .../load.sql: Connection refused", project="one")
    assert (g["class"], g["instances"], g["failed"], g["failures"], g["task_count"]) == ("target", 6, 6, 6, 2), g
    assert sorted(g["tasks"]) == ["one/w/a", "one/w/b"] and sum(g["parts"]) == 6 and g["first"] <= g["last"], g
    assert re.search(r"warehouse:\d+ for /tmp/j\d+/load.sql", g["sample"]), g
    told = causes(s, project="one")
    assert told["whole"] and told["instances"] == 9 and told["causes"] == 2 and told["items"][0]["cause"] == g["cause"], told
    of = members(s, g["cause"], project="one")["items"]
    assert sorted((i["task"], i["label"]) for i in of) == [(f"one/w/{t}", f"2026-03-0{d}") for t in "ab" for d in (1, 2, 3)], of
    assert all(i["now"] == "failed" and i["state"] == "StopSchedule" and i["class"] == "target" for i in of), of


@test
def the_instances_of_a_cause_come_page_by_page_each_once(s):
    g = cause(s, "psql: connect warehouse:# for .../load.sql: Connection refused", project="one")
    got, cursor = [], None
    while cursor != "":
        page = members(s, g["cause"], project="one", limit=4, **({"cursor": cursor} if cursor else {}))
        assert len(page["items"]) <= 4
        got += [i["id"] for i in page["items"]]
        cursor = page["cursor"] or ""
    assert len(got) == len(set(got)) == 6, got


@test
def what_ran_well_since_is_told_apart(s):
    flag = s.dir / "data" / "mended"
    flow(s, "well", "w", {"t": f"test -e {flag} || {{ echo disk 17: No space left on device >&2; exit 5; }}"}, days=4)
    g = cause(s, "disk #: No space left on device", project="well")
    assert (g["failed"], g["well"], g["under_way"]) == (4, 0, 0), g
    flag.touch()
    one = s.instance("well/w/t", "2026-03-02T00:00:00Z")
    s.sirdar("redo", one["id"], "--yes", "--wait")
    g = cause(s, "disk #: No space left on device", project="well")
    assert (g["failed"], g["well"], g["instances"], g["failures"]) == (3, 1, 4, 4), g
    assert [i["id"] for i in members(s, g["cause"], now="well")["items"]] == [one["id"]]
    left = members(s, g["cause"], now="failed")["items"]
    s.sirdar("redo", *[i["id"] for i in left], "--yes", "--wait")
    g = cause(s, "disk #: No space left on device", project="well")
    assert (g["failed"], g["well"]) == (0, 4), g


@test
def attempts_that_were_tried_again_count_and_their_instance_is_well(s):
    count = s.dir / "data" / "tries"
    flow(s, "again", "w", {"t": {"params": {"script": f"echo x >> {count}; n=$(wc -l < {count}); test $n -gt 2 || {{ echo try $n is bad >&2; exit 3; }}"},
                                 "retry": {"attempts": 3, "delay": "0s"}}})
    g = cause(s, "try # is bad", project="again")
    assert (g["failures"], g["instances"], g["well"], g["failed"]) == (2, 1, 1, 0), g


@test
def a_project_a_workflow_and_a_time_narrow_it(s):
    flow(s, "one", "other", {"t": "echo only here >&2; exit 1"})
    assert {g["line"] for g in causes(s, workflow="one/other")["items"]} == {"only here"}
    assert "only here" in {g["line"] for g in causes(s, project="one")["items"]}
    assert "only here" not in {g["line"] for g in causes(s, project="well")["items"]}
    assert causes(s, since="today")["causes"] >= 1 and causes(s, since="7d")["causes"] >= 4
    for path in ("?since=tomorrow", "?since=whenever", "?project=", "?project=a/b", "?workflow=a", "?project=nobody", "?limit=0", "?x=1",
                 "/88aea5c16dabab51?now=never", "/88aea5c16dabab51?cursor=x"):
        status, answer = s.ask("GET", "/api/v1/failures" + path)[:2]
        assert status in (400, 404), (path, status, answer)
    assert members(s, "0123456789abcdef")["items"] == []


@test
def a_line_is_data_whatever_is_in_it(s):
    flow(s, "odd", "w", {"html": "echo '<img src=x onerror=alert(1)> & \"q\" failed' >&2; exit 1",
                         "bytes": "printf '\\033]0;x\\007\\377 \\001bad\\n' >&2; exit 1", "silent": "exit 9"})
    lines = {g["line"]: g for g in causes(s, project="odd")["items"]}
    assert set(lines) == {'<img src=x onerror=alert(#)> & "q" failed', "]#;x? bad", "exit code #"}, lines
    assert lines["exit code #"]["sample"] is None and lines["exit code #"]["exit"] == "exit code 9"
    said = s.sirdar("failures", "-p", "odd").stdout
    assert said.isascii() and "\x1b" not in said and "<img src=x" in said, said


@test
def the_command_line_shows_causes_and_what_it_prints_works(s):
    said = s.sirdar("failures", "--project", "one").stdout
    row = next(line for line in said.splitlines() if "Connection refused" in line)
    id_ = re.search(r"\b[0-9a-f]{16}\b", row).group()
    assert re.match(r"\s*6\s+6\s+0\s", row) and "target" in row and "one/w/" in row, said
    listed = s.sirdar("failures", id_).stdout
    assert listed.count("one/w/a") == 3 and "2026-03-02" in listed and "Connection refused" in listed, listed
    ids = s.sirdar("failures", id_, "--ids").stdout.split()
    s.sirdar("redo", *ids, "--dry-run")
    assert len(ids) == 6 and f"failures {id_} --ids" in listed, listed
    assert json.loads(s.sirdar("failures", "--project", "one", "--json").stdout)[0]["cause"] == id_
    s.sirdar("failures", "--since", "whenever", expect=1)


def plant(s, n, line):
    """n failures more in the store of a stopped server, as it would have written them; line(i)."""
    with sqlite3.connect(s.dir / "base" / "sirdar.db") as db:
        cols = [r[1] for r in db.execute("PRAGMA table_info(lb_task_event)")]
        row = dict(zip(cols, db.execute("SELECT * FROM lb_task_event WHERE to_status = 5 ORDER BY number DESC LIMIT 1").fetchone()))
        last = db.execute("SELECT max(number) FROM lb_task_event").fetchone()[0]
        marks = ",".join("?" * len(cols))
        db.executemany(f"INSERT INTO lb_task_event VALUES ({marks})",
                       ([{**row, "number": last + 1 + i, "prev": 0, "curr_run_date": 86400 * i}[c] for c in cols] for i in range(n)))
        db.executemany("INSERT INTO lb_task_data VALUES (?, 5, ?)",
                       ((last + 1 + i, json.dumps({"class": "user", "exit": "exit code 1", "line": line(i), "tail": "t " * 400})) for i in range(n)))
        db.execute("UPDATE lb_leader SET number = ?", (last + n,))


@test
def a_hundred_thousand_of_one_cause_and_ten_thousand_causes_are_bounded(s):
    s.base.kill()
    plant(s, 100000, lambda i: f"row {i} of {i * 7} is bad" if i % 10 else "cause " + "".join(chr(97 + int(d)) for d in str(i)))
    told = causes(s, since="24h", limit=5)
    big = told["items"][0]
    assert big["line"] == "row # of # is bad" and big["failures"] > 10000 and len(told["items"]) == 5, told
    assert told["causes"] <= 2000 and len(json.dumps(told)) < 20000, told
    if told["whole"]:
        assert big["failures"] == 90000 and told["others"] > 7000 and told["failures"] >= 100000, told
    else:
        assert told["looked_from"] > told["since"], told
    page = members(s, big["cause"], limit=500)
    assert len(page["items"]) == 500 and page["cursor"], page["cursor"]


if __name__ == "__main__":
    main(lambda: Site("causes").start())
