#!/usr/bin/env python3
"""A drawn workflow is tried as one, saved or not: its links hold between its members, nothing of it is
planned, listed or told, and the server takes it away again, whatever happens meanwhile. TAP."""
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

DAY, AT = "2026-03-01", "2026-03-01T00:00:00Z"
HEAD = """workflow: {name}
project: retail
timezone: UTC
start_date: 2026-01-01
alerts: [{{when: [failed], to: ["mail:ann@example.org"]}}]
defaults: {{type: shell, cycle: day}}
tasks:
"""


def drawn(name, tasks, head=HEAD):
    return head.format(name=name) + "".join(f"  {k}: {json.dumps(v)}\n" for k, v in tasks.items())


def sh(script, needs=(), **more):
    return {"params": {"script": script}, **({"needs": list(needs)} if needs else {}), **more}


def start(s, text, expect=(200, 201, 202), **args):
    return s.command("test-start", document=text, **({"date": DAY} | args), expect=expect)


def members(s, answer):
    """Its instances by the short names of their tasks."""
    seen = s.get(f"/api/v1/commands/{answer['command']}/instances?since=1")["instances"]
    return {i["task"].split("/")[-1]: i for i in seen["unfinished"] + seen["ended"]}


def states(s, answer):
    return {k: i["state"] for k, i in members(s, answer).items()}


def until_states(s, answer, seconds=120, **wanted):
    def look():
        now = states(s, answer)
        return now if all(now.get(k) == v for k, v in wanted.items()) else None
    return until(f"{wanted} of command {answer['command']}: {states(s, answer)}", look, seconds)


def over(s, answer, seconds=240):
    return s.command_over(answer, seconds)


def log_of(s, answer, task):
    path = f"/api/v1/instances/{members(s, answer)[task]['id']}/log?"
    return until(f"{task} has a log", lambda: s.ask("GET", path)[1] or None, 60)


def nothing_is_left(s):
    """No list, no count, no document, no file of a draft; what is stored of it goes by age."""
    assert not [i for i in s.instances() if "~" in i["task"]], s.instances()
    for path in ("tasks?limit=500", "workflows?limit=500&all=true", "failures", "projects", "causes?workflow=retail/shop"):
        status, answer = s.ask("GET", f"/api/v1/{path}")
        assert status in (200, 404) and "~" not in json.dumps(answer), (path, status, answer)
    with sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True, timeout=30) as db:
        assert db.execute("SELECT count(*) FROM lb_task WHERE instr(task_name, '~') AND task_status <> 3").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM lb_task_run r JOIN lb_task t USING (task_id) WHERE instr(task_name, '~')").fetchone() == (0,)
        kept = db.execute("SELECT id, count(*), min(retired) FROM lb_workflow WHERE instr(name, '~') GROUP BY id").fetchall()
        assert all(n == 1 and retired == 1 for _, n, retired in kept), kept


SHOP = {
    "load": sh('echo "sirdar:output rows=42"; echo loading', outputs=["rows"]),
    "rollup": sh("echo got ${load.rows} for ${biz_date}", ["load"]),
    "ship": sh("echo shipped", ["rollup"]),
}


@test
def a_workflow_that_was_never_saved_runs_as_one_and_leaves_nothing_behind(s):
    answer = start(s, drawn("shop", SHOP))
    assert answer["test"]["workflow"] == "retail/shop" and answer["test"]["tasks"] == ["load", "rollup", "ship"], answer
    assert answer["test"]["dates"]["first_label"] == DAY, answer
    done = over(s, answer)
    assert done["state"] == "done" and done["error"] == "", done
    assert states(s, answer) == {"load": "Succ", "rollup": "Succ", "ship": "Succ"}, states(s, answer)
    rows = members(s, answer)
    assert rows["load"]["ended"] <= rows["rollup"]["started"] <= rows["rollup"]["ended"] <= rows["ship"]["started"], rows
    assert rows["load"]["origin"] == "test", rows
    assert "got 42 for" in str(until("its log", lambda: "got 42" in str(log_of(s, answer, "rollup")) and log_of(s, answer, "rollup"), 60))
    nothing_is_left(s)
    assert s.ask("GET", "/api/v1/workflows/retail/shop")[0] == 404


@test
def up_to_a_task_runs_what_that_waits_for_and_no_more(s):
    answer = start(s, drawn("shop", SHOP), up_to="rollup")
    over(s, answer)
    assert states(s, answer) == {"load": "Succ", "rollup": "Succ"}, states(s, answer)
    answer = start(s, drawn("shop", SHOP), up_to="nobody", expect=(404,))
    assert "'nobody' is no task of the document" in json.dumps(answer), answer
    nothing_is_left(s)


@test
def what_fails_skips_what_waits_for_it_and_the_test_ends_by_itself(s):
    answer = start(s, drawn("bad", {"a": sh("exit 3"), "b": sh("echo b", ["a"]), "c": sh("echo c"),
                                    "d": sh("echo d", [{"task": "a", "on": "failure"}])}))
    done = over(s, answer)
    assert done["state"] == "done" and "waited for what ended otherwise" in done["error"], done
    assert states(s, answer) == {"a": "StopSchedule", "b": "Skipped", "c": "Succ", "d": "Succ"}, states(s, answer)
    nothing_is_left(s)
    assert s.get("/api/v1/failures")["failures"] == 0, s.get("/api/v1/failures")


@test
def a_server_that_is_killed_at_any_moment_goes_on_with_it_and_takes_it_away(s):
    stop = s.dir / "go"
    slow = {"a": sh(f"until [ -e {stop} ]; do sleep 0.2; done; echo one"), "b": sh("echo two", ["a"])}
    answer = start(s, drawn("slow", slow))
    s.base.restart(hard=True)
    s.wait_broker("b1", ["shell"])
    until_states(s, answer, a="Running")
    s.base.restart(hard=True)
    stop.touch()
    s.wait_broker("b1", ["shell"])
    done = over(s, answer)
    assert done["state"] == "done" and states(s, answer) == {"a": "Succ", "b": "Succ"}, (done, states(s, answer))
    nothing_is_left(s)


@test
def a_server_killed_in_the_instant_after_it_was_asked_has_all_of_it_or_nothing(s):
    for _ in range(6):
        body = {"kind": "test-start", "args": {"document": drawn("instant", SHOP), "date": DAY}, "request_id": os.urandom(16).hex()}
        link = s.link or None
        try:
            s.ask("POST", "/api/v1/commands", body, seconds=0.15)
        except OSError:
            pass
        s.link = None if link is s.link else s.link
        s.base.restart(hard=True)
        s.wait_broker("b1", ["shell"])
        until("no test run is open", lambda: not [c for c in s.get("/api/v1/commands?open=true&limit=100")["items"] if c["kind"] == "test-start"], 240)
        nothing_is_left(s)


@test
def a_kill_ends_its_members_and_a_cancel_all_of_it(s):
    long = {"a": sh("sleep 600"), "b": sh("echo b", ["a"])}
    answer = start(s, drawn("long", long))
    until_states(s, answer, a="Running")
    s.command("kill", selection={"workflow": answer["test"]["name"], "states": ["Ready", "Running"]})
    assert over(s, answer)["state"] == "done"
    assert states(s, answer) == {"a": "Killed", "b": "Killed"}, states(s, answer)
    answer = start(s, drawn("long", long))
    until_states(s, answer, a="Running")
    s.command("command-cancel", command=answer["command"])
    s.base.restart(hard=True)
    s.wait_broker("b1", ["shell"])
    done = over(s, answer)
    assert done["state"] == "cancelled" and "cancelled by" in done["error"], done
    assert states(s, answer) == {"a": "Killed", "b": "Skipped"}, states(s, answer)
    nothing_is_left(s)


@test
def it_stands_beside_the_saved_one_and_touches_nothing_of_it(s):
    saved = drawn("both", {"a": sh("echo saved"), "z": sh("echo z", ["a"])}).replace("start_date: 2026-01-01", "start_date: 2026-01-01\nend_date: 2026-01-02")
    s.command_over(s.apply(saved))
    before = s.get("/api/v1/workflows/retail/both")
    answer = start(s, drawn("both", {"a": sh("echo drawn"), "n": {"type": "noop", "needs": ["retail/both/a"]}}))
    assert over(s, answer)["state"] == "done"
    assert states(s, answer) == {"a": "Succ", "n": "Succ"}, states(s, answer)
    assert "drawn" in str(log_of(s, answer, "a"))
    after = s.get("/api/v1/workflows/retail/both")
    assert before == after, (before, after)
    assert s.instance("retail/both/a", AT) is None
    nothing_is_left(s)


@test
def a_pipeline_a_sensor_a_branch_and_a_dry_run_are_tried_like_any(s):
    pipe = ("pipeline: pipe\nproject: retail\ncycle: day\nstart_date: 2026-01-01\ntimezone: UTC\nsteps:\n"
            "  - {name: one, type: shell, params: {script: echo 1}}\n  - {name: two, type: shell, params: {script: echo 2}}\n"
            "finished: {type: shell, params: {script: echo all well}}\n")
    answer = start(s, pipe)
    assert over(s, answer)["state"] == "done" and set(states(s, answer).values()) == {"Succ"}, states(s, answer)
    assert set(states(s, answer)) == {"one", "two", "finished"}, states(s, answer)
    file = s.dir / "arrives"
    look = drawn("look", {"wait": {"type": "sensor", "params": {"watch": "file", "path": str(file), "every": "1s"}}, "then": sh("echo seen", ["wait"])})
    answer = start(s, look)
    until("it looked once", lambda: members(s, answer)["wait"].get("looks"), 120)
    file.write_text("x")
    assert over(s, answer)["state"] == "done" and states(s, answer) == {"wait": "Succ", "then": "Succ"}, states(s, answer)
    branch = drawn("ways", {"a": sh('echo "sirdar:output branch=left"'), "left": sh("echo l", ["a"]), "right": sh("echo r", ["a"])})
    answer = start(s, branch)
    over(s, answer)
    assert states(s, answer) == {"a": "Succ", "left": "Succ", "right": "Skipped"}, states(s, answer)
    answer = start(s, drawn("shop", {"a": sh("exit 9"), "b": sh("exit 9", ["a"])}), no_op=True)
    over(s, answer)
    assert states(s, answer) == {"a": "Succ", "b": "Succ"}, states(s, answer)
    nothing_is_left(s)


if __name__ == "__main__":
    sys.exit(main(lambda: Site("drawn").start(types=("shell:8", "noop:64", "sensor:4"))))
