#!/usr/bin/env python3
"""The life of instances through all real programs: as the command line orders it, as jobs see it,
and as it is found again after every program was started anew. TAP."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, gone, main, seconds_of, test, until  # noqa: E402

DAY = "2026-03-01"
AT = "2026-03-01T00:00:00Z"


def workflow(site, name, tasks, start=DAY, end=DAY, since=DAY, cli=False, **more):
    """Apply a workflow whose plan is in the past: all of it is due at once."""
    head = {"workflow": name, "project": "e2e", "timezone": "UTC", "start_date": start,
            "end_date": end, **more}
    text = "".join(f"{k}: {v}\n" for k, v in head.items())
    text += "defaults: {type: shell, cycle: day, catchup: {mode: all, max: 10000}}\ntasks:\n"
    for task, body in tasks.items():
        text += f"  {task}:\n" + "".join(f"    {line}\n" for line in body.strip().splitlines())
    path = site.dir / (name + ".yaml")
    path.write_text(text)
    if cli:
        return site.sirdar("apply", "--from", start, "--yes", str(path))
    return site.apply(text, name + ".yaml", **({"from": since} if since else {}))


def lasting(site, name, tasks):
    """A workflow whose plan goes on, with DAY run by a backfill: it stays online, for redos."""
    workflow(site, name, {t: body + "\ncatchup: {mode: none}" for t, body in tasks.items()},
             end="2099-01-01", since=None)
    site.sirdar("backfill", "--workflow", f"e2e/{name}", "--date", DAY, "--yes", "--wait")


def script(text, **more):
    """The lines of a shell task; `more` are further keys of the task."""
    body = "params:\n  script: |\n" + "".join(f"    {line}\n" for line in text.splitlines())
    return body + "".join(f"{k}: {v}\n" for k, v in more.items())


def ledger(site, name):
    path = site.dir / "data" / name
    return path.read_text().split("\n")[:-1] if path.exists() else []


@test
def what_the_command_line_applies_runs_in_the_order_of_its_links(s):
    file = s.dir / "data" / "order"
    say = f'echo "$SIRDAR_TASK $SIRDAR_RUN_DATE" >> {file}'
    workflow(s, "order", {
        "hourly": script(say, cycle="hour"),
        "daily": script(say, needs="[hourly]"),
        "report": script(say, needs="[daily, {task: report, depend: -1}]")},
        start="2026-03-01", end="2026-03-02", cli=True)
    rows = s.wait_all_over("e2e/order/*", 52)
    assert len(rows) == 52 and all(i["state"] == "Succ" for i in rows), rows
    lines = [line.split() for line in ledger(s, "order")]
    assert len(lines) == 52 and len({tuple(line) for line in lines}) == 52
    place = {(task.rsplit("/", 1)[1], int(at)): n for n, (task, at) in enumerate(lines)}
    day = 1772323200
    for d in (day, day + 86400):
        assert all(place["hourly", d + 3600 * h] < place["daily", d] for h in range(24))
        assert place["daily", d] < place["report", d]
    assert place["report", day] < place["report", day + 86400]


@test
def a_job_sees_its_parameters_and_the_macros_of_its_run_date(s):
    text = ('echo "$greeting|$SIRDAR_PARAM_who|$when|$SIRDAR_ATTEMPT|$stamp|$from_workflow"\n'
            'echo to-stderr >&2')
    body = script(text).replace("params:\n", "params:\n  greeting: hello world\n  who: \"a'b\\\"c\"\n"
                                "  when: ${biz_date}\n  stamp: $[yyyyMMdd-1]\n")
    workflow(s, "params", {"one": body}, parameters="{from_workflow: w, greeting: overruled}")
    i = s.wait_state("e2e/params/one", AT, "Succ")
    got = s.sirdar("logs", "e2e/params/one", DAY).stdout
    assert "hello world|a'b\"c|2026-02-28|1|20260228|w" in got, got
    assert "to-stderr" in str(s.log_of(i["id"], stream="stderr")) + got


@test
def a_log_is_read_by_ranges_and_followed_while_the_job_runs(s):
    gate = s.dir / "data" / "gate"
    workflow(s, "logs", {"slow": script(
        f"echo line-one\nwhile [ ! -e {gate} ]; do sleep 0.05; done\necho line-two")})
    i = s.wait_state("e2e/logs/slow", AT, "Running")
    with subprocess.Popen([str(BIN / "sirdar"), "logs", "-f", i["id"]], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True,
                          env=dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token"))) as follow:
        assert follow.stdout.readline() == "line-one\n"
        assert s.instance("e2e/logs/slow", AT)["state"] == "Running"
        gate.touch()
        rest = follow.stdout.read()
        assert rest == "line-two\n", rest
        assert follow.wait(30) == 0, follow.stderr.read()
    s.wait_state("e2e/logs/slow", AT, "Succ")
    text = s.log_of(i["id"], offset=5, bytes=3)
    assert (text if isinstance(text, str) else text.decode()) == "one", text


@test
def a_failed_attempt_is_tried_again_until_its_attempts_are_used_up(s):
    workflow(s, "retry", {
        "third": script("test $SIRDAR_ATTEMPT -ge 3", retry="{attempts: 3, delay: 0s}"),
        "never": script("exit 7", retry="{attempts: 2, delay: 0s}")})
    i = s.wait_state("e2e/retry/third", AT, ("Succ", "StopSchedule"))
    assert (i["state"], i["attempt"]) == ("Succ", 3), i
    i = s.wait_state("e2e/retry/never", AT, ("Succ", "StopSchedule"))
    assert (i["state"], i["attempt"], i["exit_code"]) == ("StopSchedule", 2, 7), i
    events = [e["event"] for e in reversed(s.history(i["id"]))]
    assert sorted(e for e in events if e.startswith("fail")) == ["fail-final", "fail-retry"], events


@test
def a_redo_runs_again_as_the_next_generation_with_downstream_when_asked(s):
    file = s.dir / "data" / "redo"
    say = f'echo "$SIRDAR_TASK $SIRDAR_GENERATION" >> {file}'
    lasting(s, "redo", {"up": script(say), "down": script(say, needs="[up]")})
    s.wait_all_over("e2e/redo/*", 2)
    s.sirdar("redo", "e2e/redo/up", DAY, "--yes", "--wait")
    until("up ran again", lambda: "e2e/redo/up 2" in ledger(s, "redo"))
    s.wait_all_over("e2e/redo/*", 2)
    assert "e2e/redo/down 2" not in ledger(s, "redo")
    s.sirdar("redo", "e2e/redo/up", DAY, "--mode", "with_downstream", "--yes", "--wait")
    until("both ran again", lambda: {"e2e/redo/up 3", "e2e/redo/down 2"} <= set(ledger(s, "redo")))
    rows = s.wait_all_over("e2e/redo/*", 2)
    assert {(i["task"].rsplit("/", 1)[1], i["generation"]) for i in rows} == \
        {("up", 3), ("down", 2)}, rows
    lines = ledger(s, "redo")
    assert lines.index("e2e/redo/up 3") < lines.index("e2e/redo/down 2")


def a_chain_held_at_its_head(s, name, off_plan):
    """Of a date that the plan does not have: `up` of its redo waits for a file, `down` follows it."""
    gate, more = s.dir / "data" / (name + ".gate"), ["--off-plan"] if off_plan else []
    date = "2026-03-01 10:30" if off_plan else DAY
    out = s.dir / "data" / name
    workflow(s, name, {
        "up": script(f'[ "$SIRDAR_GENERATION" = 1 ] || while [ ! -e {gate} ]; do sleep 0.05; done\n'
                     f'echo "up $SIRDAR_GENERATION" >> {out}', catchup="{mode: none}"),
        "down": script(f'echo "down $SIRDAR_GENERATION" >> {out}', needs="[up]",
                       catchup="{mode: none}")}, end="2099-01-01", since=None)
    s.sirdar("backfill", "--workflow", f"e2e/{name}", "--date", date, *more, "--yes", "--wait")
    s.wait_all_over(f"e2e/{name}/*", 2)
    return gate, date


def waits_for_its_head(s, name, other):
    """Whatever begins beside the parent has begun before another task, asked for later, is over."""
    lasting(s, other, {"other": script("true")})
    [down] = s.instances(f"e2e/{name}/down")
    assert down["state"] == "Ready", down
    assert "down 2" not in ledger(s, name), ledger(s, name)


def the_order_holds(s, name, off_plan=False, meanwhile=None):
    gate, date = a_chain_held_at_its_head(s, name, off_plan)
    s.sirdar("redo", f"e2e/{name}/up", date, "--mode", "with_downstream", "--yes")
    until("up runs again", lambda: {"up": "Running"}.items() <= {
        i["task"].rsplit("/", 1)[1]: i["state"] for i in s.instances(f"e2e/{name}/*")}.items())
    waits_for_its_head(s, name, name + "later")
    if meanwhile:
        meanwhile()
        waits_for_its_head(s, name, name + "later2")
    gate.write_text("")
    until("both ran again", lambda: "down 2" in ledger(s, name))
    assert ledger(s, name) == ["up 1", "down 1", "up 2", "down 2"], ledger(s, name)


@test
def a_redo_with_downstream_of_a_date_before_the_begin_keeps_the_order(s):
    the_order_holds(s, "early")


@test
def a_redo_with_downstream_of_a_date_before_the_begin_keeps_the_order_over_a_restart(s):
    def server_dies():
        s.base.kill()
        s.base.start()
        until("it serves again", s.up)
    the_order_holds(s, "earlydeath", meanwhile=server_dies)


@test
def a_redo_with_downstream_of_a_date_off_the_plan_keeps_the_order(s):
    the_order_holds(s, "offplan", off_plan=True)


@test
def a_date_before_the_plan_is_redone_after_its_neighbour_was_redone_alone(s):
    early, first, out = "2025-06-01", "2026-03-01", s.dir / "data" / "beside"
    say = f'echo "$SIRDAR_TASK $SIRDAR_RUN_DATE $SIRDAR_GENERATION" >> {out}'
    workflow(s, "beside", {"up": script(say, catchup="{mode: none}"),
                           "down": script(say, needs="[up]", catchup="{mode: none}")},
             start=first, end="2099-01-01", since=None)
    for date, more in ((early, ["--off-plan"]), (first, [])):
        s.sirdar("backfill", "--workflow", "e2e/beside", "--date", date, *more, "--yes", "--wait")
    s.wait_all_over("e2e/beside/*", 4)
    redo = ("redo", "e2e/beside/up", "--mode", "with_downstream", "--yes")
    for n, dates in enumerate(([first], [early], [early, first])):
        s.sirdar(*redo, *dates)
        until("what was named and follows ran again",
              lambda n=n, d=dates: len(ledger(s, "beside")) == (6, 8, 12)[n])
        s.wait_all_over("e2e/beside/*", 4)  # what has printed may still run, and is no redo's then
    rows = s.wait_all_over("e2e/beside/*", 4)
    assert {(i["run_date"][:10], i["generation"]) for i in rows} == \
        {(early, 3), (first, 3)}, rows


@test
def a_backfill_runs_past_dates_once_each_and_shows_them_beforehand(s):
    file = s.dir / "data" / "backfill"
    text = ("workflow: backfill\nproject: e2e\ntimezone: UTC\nstart_date: 2026-01-01\n"
            "tasks:\n  t:\n    type: shell\n    cycle: day\n    catchup: {mode: none}\n"
            f"    params: {{script: \"echo $SIRDAR_RUN_DATE >> {file}\"}}\n")
    s.apply(text, **{"from": "2026-01-01"})
    args = ("backfill", "e2e/backfill/t", "--from", "2026-02-01", "--to", "2026-02-28")
    dry = s.sirdar(*args, "--dry-run").stdout
    assert "28" in dry, dry
    assert ledger(s, "backfill") == []
    s.sirdar(*args, "--yes", "--wait", "--parallel", "4")
    until("28 days ran", lambda: len(ledger(s, "backfill")) >= 28)
    rows = s.instances("e2e/backfill/t", states="Succ")
    until("28 rows", lambda: len(s.instances("e2e/backfill/t", states="Succ")) == 28)
    assert sorted(map(int, ledger(s, "backfill"))) == \
        [1769904000 + 86400 * d for d in range(28)], rows


@test
def a_killed_job_is_dead_with_its_children_and_its_instance_says_so(s):
    pids = s.dir / "data" / "pids"
    workflow(s, "kill", {"long": script(f"sleep 600 & echo $! > {pids}; echo started\nwait")})
    s.wait_state("e2e/kill/long", AT, "Running")
    until("the job is there", lambda: pids.exists() and pids.read_text().strip())
    s.sirdar("kill", "e2e/kill/long", DAY, "--yes")
    i = s.wait_state("e2e/kill/long", AT, ("Killed", "StopSchedule", "Succ", "Hanged"))
    assert i["state"] == "Killed", i
    assert not os.path.exists(f"/proc/{pids.read_text().strip()}"), "the child lives on"


@test
def a_job_that_lives_too_long_is_killed_first_and_then_has_failed(s):
    workflow(s, "alive", {"long": script("exec sleep 600", alive_wait="1s")})
    i = s.wait_state("e2e/alive/long", AT, ("StopSchedule", "Killed", "Succ"))
    assert i["state"] == "StopSchedule", i
    states = [e["to"] for e in s.history(i["id"])]
    assert "Killing" in states or "WaitKill" in states, states


@test
def force_success_releases_the_children_and_is_marked(s):
    workflow(s, "force", {"bad": script("exit 3"), "child": script("true", needs="[bad]")})
    s.wait_state("e2e/force/bad", AT, "StopSchedule")
    s.sirdar("force-success", "e2e/force/bad", DAY, "--yes")
    i = s.wait_state("e2e/force/bad", AT, "Succ")
    s.wait_state("e2e/force/child", AT, "Succ")
    i = s.get(f"/api/v1/instances/{i['id']}")
    assert "forced" in i["flags"] or i["reason"] == "forced", i


@test
def a_frozen_task_starts_nothing_until_it_is_unfrozen_and_why_says_it(s):
    gate = s.dir / "data" / "freeze-gate"
    workflow(s, "freeze", {
        "first": script(f"while [ ! -e {gate} ]; do sleep 0.05; done"),
        "second": script("true", needs="[first]")})
    s.wait_state("e2e/freeze/first", AT, "Running")
    why = s.sirdar("why", "e2e/freeze/second", DAY).stdout
    assert "first" in why, why
    row = s.instance("e2e/freeze/second", AT)
    assert s.get(f"/api/v1/instances/{row['id']}/why")["gate"] == 4
    s.sirdar("freeze", "e2e/freeze/second")
    gate.touch()
    s.wait_state("e2e/freeze/first", AT, "Succ")
    until("why tells of the freeze",
          lambda: s.get(f"/api/v1/instances/{row['id']}/why")["gate"] == 2)
    assert s.instance("e2e/freeze/second", AT)["state"] in ("Ready", "DependenceFinish")
    s.sirdar("unfreeze", "e2e/freeze/second")
    s.wait_state("e2e/freeze/second", AT, "Succ")


@test
def a_command_repeated_under_its_request_id_has_no_second_effect(s):
    file = s.dir / "data" / "once"
    lasting(s, "once", {"t": script(f"echo x >> {file}")})
    s.wait_state("e2e/once/t", AT, "Succ")
    selection = {"tasks": ["e2e/once/t"], "dates": [DAY]}
    first = s.command("redo", request_id="a" * 32, selection=selection)
    for _ in range(5):
        again = s.command("redo", request_id="a" * 32, selection=selection)
        assert again["command"] == first["command"]
    s.command_over(first)
    until("it ran again", lambda: len(ledger(s, "once")) == 2)
    i = s.wait_state("e2e/once/t", AT, "Succ")
    assert i["generation"] == 2 and len(ledger(s, "once")) == 2, i


@test
def an_edit_is_a_new_version_and_what_did_not_change_is_told(s):
    first = workflow(s, "edit", {"t": script("echo one")}, end="2099-01-01")
    assert [c["change"] for c in first["changes"]] == ["create", "create"], first
    s.wait_state("e2e/edit/t", AT, "Succ")
    same = workflow(s, "edit", {"t": script("echo one")}, end="2099-01-01")
    assert {c["change"] for c in same["changes"]} == {"same"}, same
    workflow(s, "edit", {"t": script("echo two")}, end="2099-01-01")
    s.command("redo", selection={"tasks": ["e2e/edit/t"], "dates": [DAY]})
    i = until("generation 2 is over", lambda: next(
        (i for i in s.instances("e2e/edit/t") if i["generation"] == 2 and i["state"] == "Succ"), 0))
    assert "two" in str(s.log_of(i["id"]))


@test
def a_loader_about_to_end_takes_nothing_more_and_nothing_is_used_up_by_that(s):
    """What it still gets comes back, once, and waits for the next loader: it used to go to and fro
    until the instance's failures of machines were used up."""
    workflow(s, "leave", {"long": "type: noop\nparams: {sleep_ms: \"1500\"}"})
    s.wait_state("e2e/leave/long", AT, "Running")
    for pid in s.pids("taskrunner-loader", "noop"):
        os.kill(pid, signal.SIGTERM)
    until("it stops", lambda: s.brokers["b1"].has(r"loader\.stopping"))
    workflow(s, "next", {f"t{n}": "type: noop\nparams: {text: \"x\"}" for n in range(20)})
    rows = s.wait_all_over("e2e/next/*", 20)
    for i in rows:
        back = [e for e in s.history(i["id"]) if e["event"] == "return"]
        assert i["state"] == "Succ" and i["infra"] == 0 and i["attempt"] == 1, i
        assert len(back) <= 2 and all(e["reason"] == "stopping" for e in back), back


@test
def a_job_that_is_over_before_its_start_was_told_has_both_times(s):
    workflow(s, "quick", {"t": "type: noop"})
    i = s.wait_state("e2e/quick/t", AT, ("Succ",))
    assert i["started"] and i["due"] < i["started"] <= i["ended"], i
    day = s.get("/api/v1/statistics/e2e/quick/t")["days"][-1]
    assert day["runs"] == 1 and day["duration_us"], day


@test
def how_far_a_job_says_it_is_shows_while_it_runs_and_not_after(s):
    gate = s.dir / "data" / "far-gate"
    workflow(s, "far", {
        "told": script(f"echo sirdar:progress 41.5 loading\nwhile [ ! -e {gate} ]; do sleep 0.05; done"),
        "mute": script(f"while [ ! -e {gate} ]; do sleep 0.05; done")})
    told, mute = (s.wait_state(f"e2e/far/{t}", AT, "Running")["id"] for t in ("told", "mute"))
    until("the job's word is there", lambda: s.get(f"/api/v1/instances/{told}").get("progress_permille") == 415)
    assert s.get(f"/api/v1/progress?ids={told},{mute}")["items"] == [{"id": told, "permille": 415}]
    assert s.get(f"/api/v1/instances/{mute}").get("progress_permille") is None
    rows = {line.split()[0]: line for line in s.sirdar("run", "list", "e2e/far/*").stdout.splitlines()}
    assert "41 %" in rows["e2e/far/told"], rows
    assert "%" not in rows["e2e/far/mute"], rows
    status, said = s.ask("GET", "/api/v1/progress?ids=x")
    assert status == 400 and said["error"]["place"] == "args.ids", said
    gate.touch()
    for task in ("told", "mute"):
        s.wait_state(f"e2e/far/{task}", AT, "Succ")
    until("it is forgotten", lambda: s.get(f"/api/v1/progress?ids={told}")["items"] == [])


@test
def the_first_list_after_a_new_workflow_names_its_tasks(s):
    known = {t["task_id"] for t in s.get("/api/v1/tasks?limit=500")["items"]}
    workflow(s, "fresh", {"one": script("true"), "two": script("true")})

    def listed():
        rows = s.get("/api/v1/instances?limit=500&sort=change&order=desc")["items"]
        assert all(r["task"] for r in rows), [r for r in rows if not r["task"]]
        return len({r["task_id"] for r in rows} - known) == 2
    until("both are in the list", listed)


@test
def words_that_are_no_run_dates_and_yes_where_nothing_is_asked(s):
    said = s.sirdar("backfill", "e2e/a/a", "e2e/a/b", DAY, expect=None)
    assert said.returncode == 2 and "'e2e/a/b' is not a run date" in said.stderr, said.stderr
    assert "--task e2e/a/b" in said.stderr, said.stderr
    s.sirdar("broker", "drain", "-y", "b1")
    s.sirdar("broker", "undrain", "--yes", "b1")


@test
def every_program_is_started_again_and_nothing_is_forgotten(s):
    gate, file = s.dir / "data" / "restart-gate", s.dir / "data" / "restart"
    workflow(s, "restart", {
        "done": script("echo kept"),
        "runs": script(f"echo start >> {file}\nwhile [ ! -e {gate} ]; do sleep 0.05; done\n"
                       f"echo end >> {file}; echo log-of-it; exit 0", needs="[done]"),
        "waits": script(f"echo waits >> {file}", needs="[runs]")})
    i = s.wait_state("e2e/restart/runs", AT, "Running")
    until("it has begun", lambda: ledger(s, "restart") == ["start"])
    before = {r["id"]: r["state"] for r in s.instances("e2e/restart/*")}
    tasks = len(s.get("/api/v1/tasks?limit=500")["items"])
    for d in (s.base, s.cgi, s.brokers["b1"]):
        d.restart()
        d.restart(hard=True)
    until("all are there again", s.up)
    s.wait_broker("b1", ["shell"])
    after = {r["id"]: r["state"] for r in s.instances("e2e/restart/*")}
    assert before == after, set(before.items()) ^ set(after.items())
    assert len(s.get("/api/v1/tasks?limit=500")["items"]) == tasks
    gate.touch()
    assert s.wait_state("e2e/restart/waits", AT, "Succ")
    assert ledger(s, "restart") == ["start", "end", "waits"]
    done = s.instance("e2e/restart/done", AT)
    for row, text in ((i, "log-of-it"), (done, "kept")):  # output may come after the end
        path = f"/api/v1/instances/{row['id']}/log"
        until(f"{text} is in the log", lambda p=path, t=text: t in str(s.ask("GET", p)[1]))
    assert seconds_of(done["ended"]) > seconds_of(done["started"]) - 1


@test
def the_preview_of_retention_counts_the_logs_of_jobs(s):
    logs = s.get("/api/v1/retention/logs")
    assert logs["complete"] and logs["instances"] == 0 == logs["bytes"], logs
    assert logs["instances_all"] > 0 and logs["bytes_all"] > 0, logs
    # as a release before segments left it
    folder = s.dir / "joblogs/4000000/60.0"
    folder.mkdir(parents=True)
    (folder / "1.1.out").write_text("long ago\n")
    os.utime(folder, (1, 1))
    more = s.get("/api/v1/retention/logs")
    assert (more["instances"], more["bytes"]) == (1, 9), more
    assert more["instances_all"] == logs["instances_all"] + 1, (logs, more)
    shutil.rmtree(folder.parent)


@test
def a_loader_whose_broker_died_and_was_not_followed_ends(s):
    b2 = s.add_broker("b2", types=("noop:4",), loader_alone_ms=500)
    loader, = s.pids("taskrunner-loader", "name=b2")
    b2.kill()
    until("its loader has ended", lambda: gone(loader))
    assert b2.has(r"loader\.alone"), b2.tail()
    b2.start()
    s.wait_broker("b2", ["noop"])
    assert s.pids("taskrunner-loader", "name=b2"), "a new broker starts a new one"
    b2.stop()


@test
def a_stop_with_jobs_ends_also_a_jobkeeper_that_another_broker_began(s):
    b3 = s.add_broker("b3", types=("shell:4",), groups="b3")
    b3.argv.append("--with-jobs")
    workflow(s, "withjobs", {"long": script("exec sleep 3000", group="b3")})
    s.wait_state("e2e/withjobs/long", AT, "Running")
    keeper, = s.pids("jobkeeper", f"{s.dir}/b3\0")
    job = until("its job runs", lambda: s.pids("sleep", "3000"))[0]
    b3.restart(hard=True)
    s.wait_broker("b3", ["shell"])
    assert s.pids("jobkeeper", f"{s.dir}/b3\0") == [keeper] and not gone(job)
    assert b3.stop() == 0
    assert gone(keeper) and gone(job), b3.tail()
    b3.start()
    b3.proc.send_signal(signal.SIGTERM)  # before it knows its jobkeeper, or just after
    assert b3.proc.wait(60) == 0 and not s.pids("jobkeeper", f"{s.dir}/b3\0"), b3.tail()
    s.sirdar("kill", "e2e/withjobs/long", DAY, "--yes")


if __name__ == "__main__":
    sys.exit(main(lambda: Site("life").start()))
