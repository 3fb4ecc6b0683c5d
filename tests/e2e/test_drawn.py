#!/usr/bin/env python3
"""A drawn workflow is tried as one, saved or not: its links hold between its members, nothing of it is
planned, listed or told, and the server takes it away again, whatever happens meanwhile. TAP."""
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import AlertSite  # noqa: E402
from harness import BIN, main, test, until  # noqa: E402

DAY, AT = "2026-03-01", "2026-03-01T00:00:00Z"
HEAD = """workflow: {name}
project: retail
timezone: UTC
start_date: 2026-01-01
alerts: [{{when: [failed], to: ["webhook:hook"]}}]
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
    assert answer["trial"]["workflow"] == "retail/shop" and answer["trial"]["tasks"] == ["load", "rollup", "ship"], answer
    assert answer["dates"]["first_label"] == DAY, answer
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
    s.command("kill", selection={"workflow": answer["trial"]["name"], "states": ["Ready", "Running"]})
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


def person(s, name, **more):
    word = f"{name}s own long word"
    status, said = s.ask("POST", "/api/v1/users", {"user": name, "role": "developer", "password": word, **more})
    assert status in (200, 409), said
    return lambda kind, **args: s.as_person(name, word, "POST", "/api/v1/commands",
                                            {"kind": kind, "args": args, "request_id": os.urandom(16).hex()})


@test
def who_tries_is_a_developer_of_the_project_and_what_is_unsafe_is_judged_as_at_a_save(s):
    ann = person(s, "ann", projects=["retail"])
    status, said = ann("test-start", document=drawn("hers", {"a": sh("echo a")}), date=DAY)
    assert status in (200, 202), said
    over(s, said)
    status, said = ann("test-start", document=drawn("hers", {"a": sh("echo a")}).replace("project: retail", "project: other"), date=DAY)
    assert status == 403 and "other" in json.dumps(said), (status, said)
    raw = drawn("hers", {"a": sh("echo ${biz_date}", raw=True)})
    tried, saved = ann("test-start", document=raw, date=DAY), ann("apply", documents=[{"name": "d", "text": raw}])
    assert tried[0] == saved[0] == 403 and "unsafe" in json.dumps(tried[1]), (tried, saved)
    viewer = person(s, "vera", role="viewer")
    assert viewer("test-start", document=drawn("hers", {"a": sh("echo a")}))[0] == 403
    nothing_is_left(s)


@test
def who_gave_a_command_ends_it_and_others_want_an_operator(s):
    olaf, dora = person(s, "olaf", role="operator", projects=["*"]), person(s, "dora", projects=["*"])
    ann, eve = person(s, "ann", projects=["retail"]), person(s, "eve", projects=["retail"])
    kept, vera = person(s, "kept", role="operator", projects=["retail"]), person(s, "vera", role="viewer")
    long = drawn("hers", {"a": sh("sleep 600"), "b": sh("echo b", ["a"])})
    for who in (ann, dora):  # of one project, of all
        status, mine = who("test-start", document=long, date=DAY)
        assert status in (200, 202), mine
        until_states(s, mine, a="Running")
        for other in (eve, kept, vera, dora if who is ann else ann):
            for kind in ("command-cancel", "command-pause", "command-resume"):
                status, said = other(kind, command=mine["command"])
                assert status == 403, (kind, status, said)
        status, said = eve("command-cancel", command=mine["command"])
        assert "operator" in said["error"]["hint"], said
        assert states(s, mine)["a"] == "Running"
        status, said = who("command-pause", command=mine["command"])  # hers, and no test run is paused
        assert status == 409 and "not paused" in said["error"]["message"], (status, said)
        status, said = who("command-cancel", command=mine["command"])
        assert status in (200, 202), (status, said)
        done = over(s, mine)
        assert done["state"] == "cancelled" and states(s, mine) == {"a": "Killed", "b": "Skipped"}, (done, states(s, mine))
        assert who("command-cancel", command=mine["command"])[0] == 409  # over, but hers
    status, mine = ann("test-start", document=long, date=DAY)
    until_states(s, mine, a="Running")
    assert olaf("command-cancel", command=mine["command"])[0] in (200, 202)
    assert over(s, mine)["state"] == "cancelled"
    # What she gave as an operator she ends as one: not with a developer's rights.
    was = person(s, "was", role="operator", projects=["retail"])
    go = s.dir / "paused"
    s.command_over(s.apply(drawn("many", {"a": sh(f"until [ -e {go} ]; do sleep 0.2; done")}).replace(
        "start_date: 2026-01-01", "start_date: 2026-01-01\nend_date: 2026-01-02")))
    status, mine = was("skip", selection={"workflow": "retail/many", "dates": ["2026-01-01"]})
    assert status == 202, mine
    assert s.ask("POST", "/api/v1/users", {"user": "was", "role": "developer"})[0] == 200
    status, said = was("command-cancel", command=mine["command"])
    assert status in (403, 409), said
    go.touch()
    nothing_is_left(s)


@test
def what_is_wrong_is_refused_before_anything_is_saved(s):
    for text, status, words in (
            (drawn("w", {"a": {"type": "nosuch"}}), 400, "nosuch"),
            (drawn("w", {"a": sh("x", ["b"])}), 400, "there is no task"),
            (drawn("w", {"a": sh("x", pools={"none": 1})}), None, "none"),
            (drawn("w", {"a": sh("x")}) + "---\n" + drawn("v", {"a": sh("x")}), 400, "one workflow is expected"),
            (drawn("w", {"a": sh("x")}) + "test: 3\n", 400, "test"),
            ("library: l\nproject: retail\ntasks:\n  a: {type: noop}\n", 400, "one workflow is expected")):
        said = start(s, text, expect=(400, 404, 409) if status is None else (status,))
        assert words in json.dumps(said), (words, said)
    said = s.apply(drawn("w", {"a": sh("x")}) + "test: 3\n", expect=(400,))
    assert "only tried" in json.dumps(said), said
    said = start(s, drawn("w", {"a": sh("x")}), date="2025-01-01", expect=(400,))
    assert "no task of what is started has a planned date" in json.dumps(said), said
    said = start(s, drawn("w", {"a": sh("x")}), params={"nobody_asks": "1"}, expect=(400,))
    assert "nothing that runs uses a parameter of that name" in json.dumps(said), said
    dry = s.command("test-start", dry_run=True, document=drawn("w", {"a": sh("x"), "b": sh("y", ["a"])}), date=DAY)
    assert dry["total"] == 2 and dry["trial"]["tasks"] == ["a", "b"], dry
    nothing_is_left(s)


@test
def parameters_secrets_and_targets_are_those_of_the_saved_one(s):
    made = {"kind": "server-set", "args": {"server": "store", "kind": "http", "host": "127.0.0.1", "port": 1, "projects": ["retail"]},
            "request_id": os.urandom(16).hex()}
    status, said = s.ask("POST", "/api/v1/commands", made)
    assert status in (200, 202), said
    text = drawn("uses", {"a": sh("echo keep ${keep} host ${server.store.host}")}).replace("tasks:\n", "parameters: {keep: '3'}\ntasks:\n")
    answer = start(s, text, params={"keep": "7"})
    assert over(s, answer)["state"] == "done" and states(s, answer) == {"a": "Succ"}, states(s, answer)
    assert "keep 7 host 127.0.0.1" in str(log_of(s, answer, "a")), log_of(s, answer, "a")
    other = text.replace("project: retail", "project: foreign")
    tried, saved = start(s, other, expect=(400, 403, 404)), s.apply(other, expect=(400, 403, 404))
    assert "store" in json.dumps(tried) and tried["error"]["code"] == saved["error"]["code"], (tried, saved)


@test
def nobody_begins_redoes_or_saves_anything_of_it_while_it_lasts(s):
    answer = start(s, drawn("kept", {"a": sh("sleep 600")}))
    until_states(s, answer, a="Running")
    name = answer["trial"]["name"]
    for kind, args in (("run-start", {}), ("retire", {}), ("freeze", {}), ("offline", {}), ("online", {}), ("test-run", {})):
        said = s.command(kind, selection={"workflow": name}, expect=(409,), **args)
        assert "is of a test run" in json.dumps(said), said
    said = s.command("command-pause", command=answer["command"], expect=(202, 409))
    assert "not paused" in json.dumps(s.command_over(said) if "command" in said else said), said
    assert "~" not in s.sirdar("export", "retail", expect=None).stdout
    assert "~" not in s.sirdar("status").stdout + s.sirdar("run", "list").stdout
    s.command("apply", documents=[{"name": "x", "text": drawn("kept2", {"a": sh("echo")}).replace("start_date: 2026-01-01", "start_date: 2026-01-01\nend_date: 2026-01-02")}], prune=["retail"], retire=True)
    assert states(s, answer) == {"a": "Running"}, states(s, answer)
    s.command("command-cancel", command=answer["command"])
    assert over(s, answer)["state"] == "cancelled"
    nothing_is_left(s)


@test
def nobody_is_told_and_nothing_is_counted_but_room_is(s):
    text = drawn("counted", {"a": sh("exit 3"), "b": sh("exit 3")})
    s.command_over(s.apply(text.replace("start_date: 2026-01-01", "start_date: 2026-01-01\nend_date: 2026-01-02")))
    stats = [s.get(f"/api/v1/statistics{x}?days=3") for x in ("", "/retail/counted/a")]
    over(s, start(s, text))
    assert stats == [s.get(f"/api/v1/statistics{x}?days=3") for x in ("", "/retail/counted/a")], stats
    # A saved one that fails after it is told: then the news of the test run were read before.
    s.command_over(s.command("run-now", selection={"tasks": ["retail/counted/a"], "dates": ["2026-01-02"]}))
    told = until("it is told", lambda: s.web.taken("/hook") or None, 120)
    assert "~" not in str(told) and "retail/counted/a" in str(told), told
    assert "~" not in json.dumps(s.get("/api/v1/alerts")), s.get("/api/v1/alerts")
    s.command_over(s.command("quota-set", project="retail", running=1))
    go = s.dir / "go3"
    answer = start(s, drawn("room", {"a": sh(f"until [ -e {go} ]; do sleep 0.2; done"), "b": sh(f"until [ -e {go} ]; do sleep 0.2; done")}))
    def one_runs():
        now = sorted(states(s, answer).values())
        return now if now == ["DependenceFinish", "Running"] else None
    until("one runs, the other waits for room", one_runs, 60)
    waits = [i for i in members(s, answer).values() if i["state"] == "DependenceFinish"][0]
    assert "quota" in json.dumps(until("why is known", lambda: s.get(f"/api/v1/instances/{waits['id']}/why"), 30)).lower()
    go.touch()
    assert over(s, answer)["state"] == "done"
    s.command_over(s.command("quota-set", project="retail", running=0))
    nothing_is_left(s)


@test
def the_command_line_tries_a_file_waits_and_says_how_it_ended(s):
    (s.dir / "shop.yaml").write_text(drawn("shop", SHOP))
    (s.dir / "bad.yaml").write_text(drawn("bad", {"a": sh("exit 3"), "b": sh("echo b", ["a"])}))
    said = s.sirdar("test-run", "--workflow", "shop.yaml", "--date", DAY, "--wait")
    assert "3 succeeded" in said.stdout, said
    said = s.sirdar("test-run", "--workflow", "shop.yaml", "--up-to", "rollup", "--date", DAY, "--no-op", "--wait")
    assert "2 succeeded" in said.stdout, said
    said = s.sirdar("test-run", "--workflow", "bad.yaml", "--date", DAY, "--wait", expect=7)
    assert "failed" in said.stdout + said.stderr, said
    at = re.search(r"bad~\d+/a .*failed.*; sirdar logs (\S+)$", said.stdout + said.stderr, re.M)
    assert at and "exit 3" in at[0] and at[1] in s.sirdar("run", "show", at[1], "--json").stdout, said
    said = s.sirdar("test-run", "--workflow", "shop.yaml", "--date", DAY, "--dry-run")
    assert "3 instances" in said.stdout and DAY in said.stdout, said
    said = s.sirdar("test-run", "--workflow", "none.yaml", expect=None)
    assert said.returncode != 0 and "none.yaml" in said.stderr, said
    said = s.sirdar("test-run", "--workflow", "shop.yaml", "retail/shop/load", expect=None)
    assert said.returncode != 0 and "--up-to TASK" in said.stderr, said
    said = s.sirdar("test-run", "--up-to", "x", "retail/shop/load", expect=None)
    assert said.returncode != 0 and "go with --workflow" in said.stderr, said
    nothing_is_left(s)


def command_of(said):
    return re.search(r"command (\d+)", said.stdout + said.stderr)[1]


@test
def the_command_line_tries_a_saved_one_with_its_links_and_what_standard_input_says(s):
    end = "start_date: 2026-01-01\nend_date: 2026-01-02"
    text = drawn("linked", {"a": sh("exit 3"), "b": sh("echo b", ["a"])}).replace("start_date: 2026-01-01", end)
    s.command_over(s.apply(text))
    said = s.sirdar("test-run", "--workflow", "retail/linked", "--date", "2026-01-01", "--wait", expect=7)
    shown = s.get(f"/api/v1/commands/{command_of(said)}/instances?since=1")
    assert shown["kind"] == "test-start" and shown["instances"]["states"] == {"StopSchedule": 1, "Skipped": 1}, (said, shown)
    assert s.instance("retail/linked/a", "2026-01-01T00:00:00Z") is None or "~" not in said.stdout
    said = s.sirdar("test-run", "--workflow", "-", "--date", "2026-01-01", "--wait", stdin=text.replace("exit 3", "echo hi"))
    assert "2 succeeded" in said.stdout, said
    assert "nosuch" in s.sirdar("test-run", "--workflow", "retail/nosuch", expect=4).stderr
    said = s.sirdar("test-run", "--workflow", "retail/linked", "retail/linked/a", expect=None)
    assert said.returncode != 0 and "--up-to TASK" in said.stderr, said
    # One task by itself: which instance that is, is said.
    for how in ((), ("--wait",)):
        said = s.sirdar("test-run", "retail/linked/b", "2026-01-01", *how)
        at = re.search(r"retail/linked/b 2026-01-01.*id (\S+); sirdar logs", said.stdout)
        assert at, said
        until("it has a log", lambda: s.sirdar("logs", at[1], expect=None).stdout == "b\n" or None, 60)
        assert "succeeded" in s.sirdar("why", at[1]).stdout
    nothing_is_left(s)


@test
def members_that_are_over_are_asked_for_by_their_names(s):
    end = "start_date: 2026-01-01\nend_date: 2026-03-02"
    text = drawn("asked", {"a": sh("echo saved a"), "n": sh("echo saved n", ["a"])}).replace("start_date: 2026-01-01", end)
    s.command_over(s.apply(text))
    answer = start(s, text.replace("saved a", "tried a").replace("echo saved n", "echo tried n; exit 3"))
    over(s, answer)
    name, member = answer["trial"]["name"], members(s, answer)["n"]
    for _ in range(2):
        for words in ((f"{name}/n", DAY), (f"{name}/n",), (member["id"],)):
            said = s.sirdar("why", *words).stdout
            assert "failed" in said and "exit 3" in said and "tried n" in said, (words, said)
            said = s.sirdar("run", "show", *words).stdout
            assert f"{name}/n" in said and "failed" in said, (words, said)
            said = s.sirdar("logs", *words).stdout
            assert "tried n" in said and "saved" not in said, (words, said)
        assert member["id"] in s.sirdar("run", "list", f"{name}/n").stdout
        assert f"run list --workflow {name}" in s.sirdar("why", name).stdout
        said = s.sirdar("task", "list", name).stdout
        assert "ended" in said and "retired" not in said, said
        assert s.sirdar("why", f"{name}/n", "2026-03-02", expect=4).stderr
        assert s.sirdar("why", "99999.1772323200", expect=4).stderr
        s.base.restart(hard=True)  # what the server forgets with it, the store has
        s.wait_broker("b1", ["shell"])
    # A task that was retired answers in the same way.
    s.command_over(s.command("run-now", selection={"tasks": ["retail/asked/a"], "dates": [DAY]}))
    until("it has run", lambda: (s.instance("retail/asked/a", AT) or {}).get("state") == "Succ" or None, 120)
    s.command_over(s.command("retire", selection={"workflow": "retail/asked"}))
    said = s.sirdar("why", "retail/asked/a", DAY).stdout
    assert "succeeded" in said, said
    nothing_is_left(s)


@test
def an_apply_says_when_it_first_runs_and_saves_a_draft_when_it_is_asked_to(s):
    (s.dir / "fires.yaml").write_text("workflow: fires\nproject: plans\ntimezone: Asia/Shanghai\nstart_date: 2026-01-01\n"
                                      "defaults: {type: noop, cycle: day, offset: 02:30, catchup: {mode: none}}\ntasks: {a: {}, b: {needs: [a], state: online}}\n")
    said = s.sirdar("apply", "fires.yaml", "--draft").stdout
    assert "first run" not in said, said
    assert {t["task_status"] if "task_status" in t else t["state"] for t in s.get("/api/v1/tasks?limit=500")["items"] if "plans/fires" in json.dumps(t)} == {"draft"}
    assert "state: draft" in s.get("/api/v1/workflows/plans/fires")["document"]
    said = s.sirdar("apply", "fires.yaml").stdout
    lines = [x for x in said.splitlines() if "first run" in x]
    assert len(lines) == 2 and all("02:30 Asia/Shanghai)" in x for x in lines), said
    (s.dir / "fires.yaml").write_text((s.dir / "fires.yaml").read_text() + "owner: li\n")
    assert "first run" not in s.sirdar("apply", "fires.yaml").stdout
    plan = s.apply((s.dir / "fires.yaml").read_text().replace("02:30", "03:30"), dry_run=True)
    due = [c for c in plan["changes"] if c["kind"] == "task"]
    assert all(c["fires_local"].endswith("03:30") and c["fires_due"].endswith("19:30:00Z") for c in due), due


@test
def numbers_of_tasks_are_given_back_and_two_at_a_time_stand_beside_each_other(s):
    def used():
        with sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True, timeout=30) as db:
            return db.execute("SELECT max(task_id), count(*) FROM lb_task").fetchone()
    over(s, start(s, drawn("shop", SHOP)))
    before = used()
    for _ in range(20):
        over(s, start(s, drawn("shop", SHOP)))
    assert used() == before, (before, used())
    go = s.dir / "go2"
    two = [start(s, drawn("shop", {"load": sh(f"until [ -e {go} ]; do sleep 0.2; done")})) for _ in range(2)]
    assert [x["trial"]["name"] for x in two] == ["retail/shop~1", "retail/shop~2"], two
    go.touch()
    assert [over(s, x)["state"] for x in two] == ["done", "done"]
    nothing_is_left(s)


def of_command(s, answer, **more):
    """What the API says of a command's instances, without the number of the snapshot."""
    said = s.get(f"/api/v1/commands/{answer['command']}/instances?since={more.get('since', 1)}")
    said["instances"].pop("number")
    return said


@test
def the_next_test_run_changes_nothing_of_what_is_shown_of_the_former(s):
    first = start(s, drawn("same", {"a": sh("echo first; exit 3"), "b": sh("echo b", ["a"]), "c": sh("echo c1")}))
    over(s, first)
    shown = [of_command(s, first), of_command(s, first, since=0)]
    assert states(s, first) == {"a": "StopSchedule", "b": "Skipped", "c": "Succ"}, shown
    go = s.dir / "go4"
    wait = f"until [ -e {go} ]; do sleep 0.2; done; echo second"
    second = start(s, drawn("same", {"a": sh(wait), "b": sh("echo b", ["a"]), "c": sh("exit 4")}))
    assert first["trial"]["name"] == second["trial"]["name"], second
    until_states(s, second, a="Running", c="StopSchedule")
    assert {k: i["generation"] for k, i in members(s, second).items()} == {"a": 2, "b": 2, "c": 2}
    for said, before in zip([of_command(s, first), of_command(s, first, since=0)], shown):
        assert counted(said) == counted(before), (said, before)
    go.touch()
    over(s, second)
    assert states(s, second) == {"a": "Succ", "b": "Succ", "c": "StopSchedule"}, states(s, second)
    third = start(s, drawn("same", {"a": sh("exit 9"), "b": sh("exit 9"), "c": sh("exit 9")}))
    over(s, third)
    for said, before in zip([of_command(s, first), of_command(s, first, since=0)], shown):
        assert counted(said) == counted(before), (said, before)
    assert states(s, second) == {"a": "Succ", "b": "Succ", "c": "StopSchedule"}, states(s, second)
    a = members(s, first)["a"]
    status, said = s.ask("GET", f"/api/v1/instances/{a['id']}/log?generation={a['generation']}&attempt={a['attempt']}")
    assert status == 200 and "first" in str(said), said
    waited = s.sirdar("command", "wait", first["command"], expect=7)
    assert "1 succeeded" in waited.stdout and "1 failed" in waited.stdout, waited
    nothing_is_left(s)


def counted(said):
    rows = said["instances"]
    keys = ("task", "state", "reason", "generation", "attempt", "exit_code")
    return rows["states"], rows["unfinished"], sorted([i[k] for k in keys] + [bool(i["started"]), bool(i["ended"])] for i in rows["ended"])


@test
def a_redo_changes_nothing_of_what_is_shown_of_the_command_before_it(s):
    text = drawn("twice", {"a": sh("exit 3")}).replace("start_date: 2026-01-01", "start_date: 2026-01-01\nend_date: 2026-01-02")
    s.command_over(s.apply(text))
    run = s.command("run-start", selection={"workflow": "retail/twice"}, date="2026-01-02")
    waited = s.sirdar("command", "wait", run["command"], expect=7)
    before = counted(of_command(s, run))
    s.command_over(s.apply(text.replace("exit 3", "sleep 600")))
    redo = s.command("redo", selection={"tasks": ["retail/twice/a"], "dates": ["2026-01-02"]})
    until("it runs again", lambda: s.instance("retail/twice/a", "2026-01-02T00:00:00Z")["state"] == "Running", 120)
    assert counted(of_command(s, run)) == before, (of_command(s, run), before)
    again = s.command("redo", selection={"tasks": ["retail/twice/a"], "dates": ["2026-01-02"]}, running="kill")
    until("the redo's own was killed", lambda: list(of_command(s, redo)["instances"]["states"]) == ["Killed"] or None, 120)
    until("the next one runs", lambda: list(of_command(s, again)["instances"]["states"]) == ["Running"] or None, 120)
    assert counted(of_command(s, run)) == before, (of_command(s, run), before)
    assert s.sirdar("command", "wait", run["command"], expect=7).stdout == waited.stdout
    s.command("kill", selection={"tasks": ["retail/twice/a"], "dates": ["2026-01-02"]})


@test
def a_parameter_of_a_run_is_of_that_run_and_its_redos_alone(s):
    text = ("workflow: hand\nproject: retail\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-03\nparameters: {size: small, kind: none}\n"
            "defaults: {type: shell, cycle: day}\ntasks:\n  a: {params: {script: 'echo size=${size} kind=${kind}'}}\n")
    s.command_over(s.apply(text))
    task, at = "retail/hand/a", "2026-01-02T00:00:00Z"

    def runs(*words):
        yes = () if words[0] == "run" else ("--yes",)
        assert s.sirdar(*words, "--wait", *yes)
        one = s.instance(task, at)
        path = f"/api/v1/instances/{one['id']}/log?generation={one['generation']}"
        said = until("it has a log", lambda: s.ask("GET", path)[1] or None, 60)
        return (said.decode() if isinstance(said, bytes) else str(said)).strip()

    start_it = ("run", "start", "retail/hand", "--date", "2026-01-02")
    assert runs(*start_it, "--param", "size=large") == "size=large kind=none"
    assert runs("redo", task, "2026-01-02") == "size=large kind=none"  # the same run once more
    assert runs("redo", task, "2026-01-02", "--param", "size=huge") == "size=huge kind=none"
    assert runs("redo", task, "2026-01-02") == "size=large kind=none"
    assert runs(*start_it) == "size=small kind=none"
    assert runs(*start_it, "--param", "kind=b") == "size=small kind=b"
    assert runs("redo", task, "2026-01-02") == "size=small kind=b"
    assert runs("backfill", task, "2026-01-02") == "size=small kind=none"
    assert runs("backfill", task, "2026-01-02", "--param", "size=x") == "size=x kind=none"
    assert runs("run-now", task, "2026-01-02") == "size=small kind=none"
    # Of a test run of the same name and date as well.
    tried = text.replace("hand", "handy")
    for params, size in (({"size": "large"}, "large"), ({}, "small")):
        answer = start(s, tried, date="2026-01-02", params=params)
        over(s, answer)
        assert f"size={size}" in str(log_of(s, answer, "a")), (params, log_of(s, answer, "a"))


@test
def limits_are_named_and_what_lasts_too_long_is_ended(s):
    s.base.argv[:] = s.argv("baseserver", dict(s.base_sets, person_tests_max=2, project_tests_max=3, test_run_max_ms=4000))
    s.base.restart()
    s.wait_broker("b1", ["shell"])
    long = drawn("long", {"a": sh("sleep 600"), "b": sh("echo", ["a"])})
    first = [start(s, long), start(s, long)]
    said = start(s, long, expect=(429,))
    assert "person_tests_max allows 2" in json.dumps(said), said
    ann = person(s, "ann", projects=["retail"])
    status, third = ann("test-start", document=long, date=DAY)
    assert status in (200, 202), third
    status, said = ann("test-start", document=long, date=DAY)
    assert status == 429 and "project_tests_max allows 3" in json.dumps(said), (status, said)
    for answer in (*first, third):
        done = over(s, answer)
        assert done["state"] == "failed" and "test_run_max_ms" in done["error"], done
        assert states(s, answer) == {"a": "Killed", "b": "Skipped"}, states(s, answer)
    s.base.argv[:] = s.argv("baseserver", s.base_sets)
    s.base.restart()
    s.wait_broker("b1", ["shell"])
    nothing_is_left(s)


if __name__ == "__main__":
    sys.exit(main(lambda: AlertSite("drawn", types_dir=BIN.parent / "types").start(types=("shell:8", "noop:64", "sensor:4"))))
