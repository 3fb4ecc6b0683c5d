#!/usr/bin/env python3
"""A workflow that holds up the server is put aside: by what its planning takes while others wait, and by what the server had
in hand when it ended. Its plan stands still, others' goes on, an administrator ends it. TAP."""
import os
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TESTS, Site, main, rfc3339, test, until  # noqa: E402
from test_cost import WIDE, runs, wide  # noqa: E402
from test_settings import anew  # noqa: E402

TESTS.clear()
CRUMB = struct.Struct("=8sIIqqqIIqq")  # baseserver/plan/crumb.c: struct crumb_page
LONG, SHORT = 40_000_000, 20_000  # us


def tasks_of(s, name):
    rows, cursor = [], ""
    while cursor is not None:
        page = s.get(f"/api/v1/tasks?prefix={name}/&limit=500" + (f"&cursor={cursor}" if cursor else ""))
        rows, cursor = rows + page["items"], page.get("cursor") or None
    return rows


def put_aside(s, name):
    return [k for k in tasks_of(s, name) if k["quarantined"]]


def given(s):
    return [s.get(f"/api/v1/commands/{c['command']}") for c in s.get("/api/v1/commands?limit=100")["items"]
            if c["kind"] == "workflow-quarantine"]


def plant(s, name, for_us, ago_s=5):
    """What a server leaves that ended with the workflow in hand, and had had it for so long."""
    crumb = s.dir / "base" / "crumb"
    number = tasks_of(s, name)[0]["workflow_id"]
    s.base.kill()
    page = bytearray(crumb.read_bytes())
    assert len(page) == 4096 and page[:8] == b"SIRDCRB1", page[:16]
    page[:CRUMB.size] = CRUMB.pack(b"SIRDCRB1", number, 2, 1_000_000, 1_000_000 + for_us, int((time.time() - ago_s) * 1e6),
                                   0, 0, 0, 0)
    crumb.write_bytes(page)
    s.base.start()
    until("the server answers", s.up, 60)


def small(name, project="q"):
    return (f"project: {project}\nworkflow: {name}\ntasks:\n"
            "  one: {type: noop, cycle: day, start_date: 2025-01-01}\n")


def waits(s, task, date):
    s.command("backfill", selection={"tasks": [task], "dates": [date]}, dependencies="all")
    until("it has a row", lambda: s.instances(task, states="Ready"))
    return s.get(f"/api/v1/instances/{s.instances(task, states='Ready')[0]['id']}/why")


@test
def who_takes_the_planner_from_others_is_put_aside_and_others_go_on(s):
    anew(s, **WIDE, quarantine_ms=2000, quarantine_percent=10)
    s.wait_broker("b1", ["noop"])
    s.apply(wide("hog"), **{"from": rfc3339(time.time() - 60)})
    n = iter(range(1, 10**6))
    until("the hog is put aside", lambda: runs(s, f"beside{next(n)}") or put_aside(s, "big/hog"), 300)
    assert len(put_aside(s, "big/hog")) == len(tasks_of(s, "big/hog")), "all of it, or nothing"
    assert not put_aside(s, "other"), put_aside(s, "other")
    said = s.base.has(r"workflow\.quarantined workflow=big/hog why=\"its planning took (\d+) % of a core")
    assert said and int(said[1]) >= 10, s.base.tail()
    rows = given(s)
    assert rows[0]["actor"] == "server" and "quarantine_percent allows 10" in str(rows[0]), rows
    health = s.get("/api/v1/health")
    assert "big/hog: in quarantine" in str(health), health
    s.base.restart(hard=True)
    until("the server answers", s.up, 60)
    s.wait_broker("b1", ["noop"])
    assert put_aside(s, "big/hog") and not s.base.has("the server ended when")
    runs(s, "after")


@test
def its_plan_stands_still_until_an_administrator_releases_it(s):
    s.apply(small("still"))
    s.sirdar("workflow", "quarantine", "q/still", "--yes")
    said = waits(s, "q/still/one", "2025-02-01")
    assert said["code"] == "quarantine" and "sirdar workflow release" in said["opens"], said
    assert "Quarantined" in s.sirdar("task", "list", "q/still").stdout
    runs(s, "while")
    grown = small("still") + "  two: {type: noop, cycle: day, start_date: 2025-01-01}\n"
    s.apply(grown)
    assert len(put_aside(s, "q/still")) == 2, "a task that is added to it is in it, too"
    s.base.restart(hard=True)
    until("the server answers", s.up, 60)
    s.wait_broker("b1", ["noop"])
    assert s.instances("q/still/one", states="Ready"), "a restart frees nothing"
    s.sirdar("workflow", "release", "q/still")
    until("it runs", lambda: s.instances("q/still/one", states="Succ"), 60)
    assert not put_aside(s, "q/still")
    assert "q/still" not in str(s.get("/api/v1/health")["problems"])


@test
def a_date_that_came_due_meanwhile_is_left_to_the_catch_up_mode(s):
    soon = rfc3339(time.time() - 7200)
    s.apply("project: q\nworkflow: due\ndefaults: {type: noop, cycle: minute, start_date: 2025-01-01, "
            "catchup: {mode: latest}}\ntasks:\n  one: {}\n")
    s.sirdar("workflow", "quarantine", "q/due", "--yes")
    until("nothing of it is under way", lambda: not s.instances("q/due/one", states="Running"))
    s.command("online", selection={"workflow": "q/due"}, **{"from": soon})
    before = len(s.instances("q/due/one"))
    runs(s, "meantime")
    assert len(s.instances("q/due/one")) == before, "its plan stands still"
    s.sirdar("workflow", "release", "q/due")
    until("the latest ran", lambda: len(s.instances("q/due/one", states="Succ")) > before, 120)


@test
def what_runs_when_it_is_put_aside_ends_normally(s):
    wait = f"while [ ! -e {s.dir}/go ]; do sleep 0.1; done"
    s.apply("project: q\nworkflow: under_way\ntasks:\n  one: {type: shell, cycle: day, start_date: 2025-01-01, "
            f"params: {{command: \"{wait}\"}}}}\n")
    s.command("backfill", selection={"tasks": ["q/under_way/one"], "dates": ["2025-02-01"]})
    until("it runs", lambda: s.instances("q/under_way/one", states="Running"))
    s.sirdar("workflow", "quarantine", "q/under_way", "--yes")
    (s.dir / "go").touch()
    until("it ends", lambda: s.instances("q/under_way/one", states="Succ"))


@test
def a_server_that_ended_over_a_long_piece_of_work_begins_with_its_workflow_aside(s):
    for name in ("guilty", "innocent"):
        s.apply(small(name))
    plant(s, "q/guilty", LONG)
    assert len(put_aside(s, "q/guilty")) == 1 and not put_aside(s, "q/innocent")
    assert s.base.has(r"workflow\.quarantined workflow=q/guilty why=\"the server ended when it had been at counting the dates "
                      r"of its windows for 40 s"), s.base.tail()
    until("it is a command", lambda: [c for c in given(s)
                                      if "for 40 s" in str(c) and c["state"] == "done"])
    s.wait_broker("b1", ["noop"])
    assert waits(s, "q/guilty/one", "2025-02-01")["code"] == "quarantine"
    s.base.restart(hard=True)
    until("the server answers", s.up, 60)
    assert len(put_aside(s, "q/guilty")) == 1, "it is durable"
    s.sirdar("workflow", "release", "q/guilty")
    mark = s.base.log.stat().st_size
    s.base.restart(hard=True)
    until("the server answers", s.up, 60)
    assert not put_aside(s, "q/guilty") and not s.base.has("workflow.quarantined", mark), "the crumb is eaten once"


@test
def a_server_that_was_killed_over_a_short_one_blames_nobody(s):
    s.apply(small("short"))
    mark = s.base.log.stat().st_size
    plant(s, "q/short", SHORT)
    plant(s, "q/short", LONG, ago_s=7200)  # a crumb of yesterday says nothing of today
    assert not put_aside(s, "q/short") and not s.base.has("workflow.quarantined", mark)


@test
def quarantine_percent_0_puts_nothing_aside(s):
    s.apply(small("never"))
    anew(s, quarantine_percent=0)
    mark = s.base.log.stat().st_size
    plant(s, "q/never", LONG)
    assert not put_aside(s, "q/never") and not s.base.has("workflow.quarantined", mark)
    anew(s)


def make():
    return Site("quarantine").start(types=("noop:32", "shell:4"))


if __name__ == "__main__":
    sys.exit(main(make))
