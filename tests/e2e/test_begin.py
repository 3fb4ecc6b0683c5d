#!/usr/bin/env python3
"""Where plans begin: links pass over what is before, plans that ran out go on, `from`. TAP."""
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, Site, main, rfc3339, seconds_of, test, until  # noqa: E402

# Every kind of link; the periods of the parents have begun before the test does.
LINKS = {
    "own_past": "needs: [{task: own_past, depend: -1}]",
    "own_far_past": "needs: [{task: own_far_past, depend: -30}]",
    "same": "needs: [hour]",
    "small_on_large": "needs: [{task: day, depend: 3}]",
    "past_of_other": "needs: [{task: hour, depend: -1}]",
    "far_past_of_other": "needs: [{task: day, depend: -7}]",
    "range": 'needs: [{task: hour, window: "[t-24h, t)"}]',
    "yesterday": 'needs: [{task: hour, window: "[@day-1d, @day)"}]',
    "list": 'needs: [{task: day, window: "{@week-3d, @month-1d}"}]',
    "latest": 'needs: [{task: day, window: "{latest}"}]',
    "other_zone": "needs: [{task: far_day, depend: 3}]",
    "other_zone_past": "needs: [{task: far_day, depend: -1}]",
    "month": 'needs: [{task: day, window: "[@month-1M, @month)"}]',
    "ordered": "serial: ordered",
}


def second():
    return int(time.time())


def document(name, tasks, **keys):
    lines = [f"workflow: {name}", "project: begin", "timezone: UTC",
             *(f"{k}: {v}" for k, v in keys.items()), "tasks:"]
    return "\n".join(lines + [f"  {t}: {{{body}}}" for t, body in tasks.items()]) + "\n"


def minute_tasks():
    """Children that run every two seconds, and parents whose period has begun before."""
    tasks = {name: f'type: noop, cron: "*/2 * * * * *", cycle: hour, {needs}'
             for name, needs in LINKS.items()}
    tasks["hour"] = "type: noop, cycle: hour"
    tasks["day"] = "type: noop, cycle: day"
    tasks["far_day"] = "type: noop, cycle: day, timezone: Pacific/Kiritimati"
    return tasks


def changes(answer):
    return {c["name"]: c for c in answer["changes"] if c["kind"] == "task"}


def task(s, name):
    return next(t for t in s.get(f"/api/v1/tasks?prefix={name}&limit=50")["items"] if t["task"] == name)


def succ(s, name, least=1):
    return len(s.instances(name, states="Succ")) >= least


@test
def every_kind_of_link_applied_in_mid_period_starts(s):
    s.apply(document("mid", minute_tasks(), start_date="2026-01-01"))
    for name in LINKS:
        until(f"{name} ran", lambda name=name: succ(s, f"begin/mid/{name}"), 60)


@test
def a_day_that_waits_for_its_hours_waits_for_those_from_its_begin_on(s):
    # The hours of the last whole day: only the one the plan begins with, and those after.
    now = second()
    midnight = now - now % 86400
    tasks = {"hour": "type: noop, cycle: hour",
             "day": "type: noop, cycle: day, needs: [{task: hour, depend: 2}]"}
    s.apply(document("roll", {"hour": tasks["hour"]}, start_date="2026-01-01"),
            **{"from": rfc3339(midnight - 3 * 3600)})
    s.apply(document("roll", tasks, start_date="2026-01-01"))
    s.command("backfill", selection={"tasks": ["begin/roll/day"],
                                     "dates": [rfc3339(midnight - 86400)]}, dependencies="all")
    until("the day ran", lambda: succ(s, "begin/roll/day"), 60)


@test
def what_began_in_mid_period_goes_on_after_a_restart(s):
    s.apply(document("again", minute_tasks(), start_date="2026-01-01"))
    until("it ran", lambda: succ(s, "begin/again/own_past"), 60)
    s.base.restart(hard=True)
    until("up", s.up)
    before = len(s.instances("begin/again/own_past", states="Succ"))
    until("it runs on", lambda: succ(s, "begin/again/own_past", before + 2), 90)
    for name in LINKS:
        until(f"{name} ran", lambda name=name: succ(s, f"begin/again/{name}"), 60)


@test
def why_says_that_a_date_is_before_the_begin(s):
    s.apply(document("why", {"day": "type: noop, cycle: day"}, start_date="2026-01-01"))
    number = task(s, "begin/why/day")["task_id"]
    why = s.get(f"/api/v1/instances/{number}.1767312000/why")
    assert why["code"] == "before_online" and "before its begin" in why["line"], why


@test
def a_backfill_runs_dates_before_the_begin_in_order_and_does_not_move_it(s):
    s.apply(document("back", {"day": "type: noop, cycle: day, needs: [{task: day, depend: -1}]"},
                     start_date="2026-01-01"))
    begins = task(s, "begin/back/day")["begins"]
    for depend in ("all", "inside"):
        s.command("backfill", selection={"tasks": ["begin/back/day"], "from": "2026-02-01",
                                         "to": "2026-02-05"}, dependencies=depend)
        until("they ran", lambda: succ(s, "begin/back/day", 5), 60)
        rows = sorted(s.instances("begin/back/day", states="Succ"), key=lambda r: r["run_date"])
        assert [r["run_date"][:10] for r in rows] == [f"2026-02-0{d}" for d in range(1, 6)], rows
        for a, b in zip(rows, rows[1:]):
            assert a["ended"] <= b["started"], (depend, a, b)
    assert task(s, "begin/back/day")["begins"] == begins


@test
def an_earlier_from_is_previewed_and_makes_its_dates_for_new_and_for_known_tasks(s):
    text = document("from", {"day": "type: noop, cycle: day"}, start_date="2026-01-01")
    now = second()
    day = now - now % 86400
    dry = s.apply(text, dry_run=True, **{"from": rfc3339(day - 7 * 86400)})
    got = changes(dry)["begin/from/day"]
    assert got["run_dates"] == 8, got
    assert (got["first"], got["last"]) == (rfc3339(day - 7 * 86400), rfc3339(day)), got
    s.apply(text)  # begins tomorrow: nothing is due
    assert s.instances("begin/from/day") == []
    dry = s.apply(text, dry_run=True, **{"from": rfc3339(day - 2 * 86400)})
    got = changes(dry)["begin/from/day"]
    assert got["run_dates"] == 3 and got["change"] == "update", got
    assert got["first"] == rfc3339(day - 2 * 86400), got
    s.apply(text, **{"from": rfc3339(day - 2 * 86400)})
    until("three ran", lambda: succ(s, "begin/from/day", 3), 60)
    s.apply(text, **{"from": rfc3339(day - 4 * 86400)})  # now something had been due
    until("two more ran", lambda: succ(s, "begin/from/day", 5), 60)
    assert len(s.instances("begin/from/day")) == 5
    s.base.restart(hard=True)
    until("up", s.up)
    assert task(s, "begin/from/day")["begins"] == rfc3339(day - 4 * 86400)


@test
def a_preview_counts_all_dates_of_a_task_that_has_run_however_many(s):
    text = document("seconds", {"tick": "type: noop, cron: '* * * * * *'"}, start_date="2020-01-01")
    s.apply(text)
    until("it has a row", lambda: s.instances("begin/seconds/tick"))
    got = changes(s.apply(text, dry_run=True, **{"from": "2020-01-01T00:00:00Z"}))["begin/seconds/tick"]
    assert got["run_dates"] > second() - 120 - seconds_of("2020-01-01T00:00:00Z"), got
    assert seconds_of(got["last"]) > second() - 120 and got["run_dates"] - got["left_out"] < 120, got
    s.command("offline", selection={"tasks": ["begin/seconds/tick"]})


@test
def online_from_is_previewed_and_makes_its_dates(s):
    s.apply(document("on", {"day": "type: noop, cycle: day, state: offline"},
                     start_date="2026-01-01"))
    now = second()
    day = now - now % 86400
    said = s.sirdar("online", "begin/on/day", "--from", rfc3339(day - 2 * 86400), "--dry-run").stdout
    assert "3 run dates of the past come due" in said and "catchup" not in said, said
    assert rfc3339(day - 2 * 86400)[:10] in said, said
    s.sirdar("online", "begin/on/day", "--from", rfc3339(day - 2 * 86400), "--yes")
    until("three ran", lambda: succ(s, "begin/on/day", 3), 60)


@test
def a_preview_says_how_many_dates_catchup_leaves_out(s):
    tasks = {"latest": 'type: noop, cron: "30 * * * *", start_date: 2026-01-01',
             "none": "type: noop, cycle: hour, start_date: 2026-01-01, catchup: {mode: none}",
             "three": "type: noop, cycle: hour, start_date: 2026-01-01, catchup: {mode: all, max: 3}"}
    text, since = document("skips", tasks), rfc3339(second() - second() % 86400 - 9 * 86400)
    file = s.dir / "skips.yaml"
    file.write_text(text)
    got = changes(s.apply(text, dry_run=True, **{"from": since}))
    for name, runs in (("latest", 1), ("none", 0), ("three", 3)):
        c = got["begin/skips/" + name]
        assert c["run_dates"] > 200 and c["run_dates"] - c["left_out"] == runs, c
    said = s.sirdar("apply", "--dry-run", "--from", since, str(file)).stdout
    assert "; 1 of them runs, catchup skips 2" in said and "; 3 of them run, catchup" in said, said
    s.sirdar("apply", "-y", "--from", since, str(file))
    until("what was said to run ran", lambda: succ(s, "begin/skips/three", 3) and succ(s, "begin/skips/latest"), 60)
    n = s.instances("begin/skips/three", states="Succ")
    assert len(n) == 3, n
    inside = rfc3339(seconds_of(since) + 5 * 86400)  # of a record of many: only the plan knows its due time
    row = json.loads(s.sirdar("run", "show", "begin/skips/none", inside, "--json").stdout)
    assert row["state"] == "Skipped" and row["due"] is None, row
    assert "1970" not in s.sirdar("run", "show", "begin/skips/none", inside).stdout
    assert "1970" not in s.sirdar("run", "list", "begin/skips/none").stdout


@test
def files_that_no_longer_name_a_task_are_refused_with_the_option_that_retires_it(s):
    text = document("fewer", {"a": "type: noop, cycle: day", "b": "type: noop, cycle: day"})
    file = s.dir / "fewer.yaml"
    file.write_text(text)
    s.sirdar("apply", "-y", str(file))
    file.write_text(text.replace("  b:", "#  b:"))
    said = s.sirdar("apply", "-y", str(file), expect=1).stderr
    assert "--retire" in said and "begin/fewer/b" in said, said
    s.sirdar("apply", "-y", "--retire", str(file))


@test
def dates_that_pass_while_a_task_is_offline_are_left_out_and_hold_nobody(s):
    s.apply(document("gap", {"beat": 'type: noop, cron: "* * * * * *", cycle: minute, '
                                     "needs: [{task: beat, depend: -1}]"}))
    until("it ran", lambda: succ(s, "begin/gap/beat", 2), 60)
    s.command("offline", selection={"tasks": ["begin/gap/beat"]})
    off = second()
    until("time passes", lambda: second() > off + 3)
    s.command("online", selection={"tasks": ["begin/gap/beat"]})
    ran = len(s.instances("begin/gap/beat", states="Succ"))
    until("it runs on", lambda: succ(s, "begin/gap/beat", ran + 2), 60)
    left = s.instances("begin/gap/beat", states="Skipped")
    assert left and all(r["reason"] == "offline" for r in left), left


@test
def a_plan_that_ran_out_goes_on_with_new_dates(s):
    now = second()
    day = now - now % 86400
    body = "type: noop, cycle: day"
    text = document("ends", {"day": body}, start_date="2026-01-01",
                    end_date=rfc3339(day - 2 * 86400)[:10])
    s.apply(text, **{"from": rfc3339(day - 3 * 86400)})
    over = until("it is over", lambda: (t := task(s, "begin/ends/day"))["plan_over"] and t, 60)
    assert over["state"] == "offline", over
    open_end = document("ends", {"day": body}, start_date="2026-01-01")
    got = changes(s.apply(open_end, dry_run=True))["begin/ends/day"]
    assert got["online_again"] and got["run_dates"] == 2, got
    s.apply(open_end)
    until("it goes on", lambda: succ(s, "begin/ends/day", 4), 60)
    assert task(s, "begin/ends/day")["state"] == "online"


@test
def a_once_job_saved_with_a_new_date_runs_again(s):
    for n in (1, 2):
        start = second() + 1
        text = document("once", {"job": "type: noop, cycle: once"}, start_date=rfc3339(start))
        s.apply(text)
        until(f"run {n}", lambda n=n: succ(s, "begin/once/job", n), 60)
        until("it is over", lambda: task(s, "begin/once/job")["plan_over"], 60)
        until("time passes", lambda start=start: second() > start)
    past = document("once", {"job": "type: noop, cycle: once"}, start_date=rfc3339(start - 60))
    assert changes(s.apply(past, dry_run=True))["begin/once/job"]["no_dates"]


def over_by_its_plan(s, name, tasks):
    """Four days of the past, of which it began at the last one."""
    s.apply(document(name, tasks, start_date="2026-01-01", end_date="2026-01-04"), **{"from": "2026-01-04"})
    for one in tasks:
        until(f"{one} is over", lambda one=one: task(s, f"begin/{name}/{one}")["plan_over"], 60)


@test
def a_plan_that_begins_with_no_date_left_is_over_at_once(s):
    past = document("bare", {"once": "type: noop, cycle: once", "day": "type: noop, cycle: day"},
                    start_date="2026-01-01", end_date="2026-01-03")
    for got in changes(s.apply(past, dry_run=True, **{"from": "2026-02-01"})).values():
        assert got["no_dates"] and "begins" not in got, got
    s.apply(past, **{"from": "2026-02-01"})
    for one in ("begin/bare/once", "begin/bare/day"):
        got = task(s, one)
        assert (got["state"], got["plan_over"], got["begins"]) == ("offline", True, None), got
    s.apply(past)
    assert task(s, "begin/bare/day")["plan_over"]
    # Nor does `online` make a begin up, but with dates it begins there.
    sel = {"tasks": ["begin/bare/day"]}
    s.command("offline", selection=sel)
    dry = s.command("online", dry_run=True, selection=sel, **{"from": "2026-01-04"})["online"][0]
    assert dry["no_dates"] and "begins" not in dry, dry
    s.command_over(s.command("online", selection=sel, **{"from": "2026-01-04"}))
    got = task(s, "begin/bare/day")
    assert (got["plan_over"], got["begins"]) == (True, None), got
    s.command_over(s.command("online", selection=sel))
    assert task(s, "begin/bare/day")["plan_over"]
    s.command_over(s.command("online", selection=sel, **{"from": "2026-01-03"}))
    until("its last date ran", lambda: succ(s, "begin/bare/day"), 60)
    assert task(s, "begin/bare/day")["begins"] == "2026-01-03T00:00:00Z"
    # So with a save that gives it dates.
    later = document("bare", {"once": "type: noop, cycle: once", "day": "type: noop, cycle: day"},
                     start_date=rfc3339(second() + 2))
    assert changes(s.apply(later, dry_run=True))["begin/bare/once"]["online_again"]
    s.apply(later)
    until("it runs then", lambda: succ(s, "begin/bare/once"), 60)


@test
def what_a_person_asks_of_a_plan_that_ran_out_runs(s):
    over_by_its_plan(s, "asked", {"day": "type: noop, cycle: day",
                                  "next": "type: noop, cycle: day, needs: [day]",
                                  "wide": "type: noop, cycle: day, dispatch: broadcast"})
    sel = {"tasks": ["begin/asked/day"]}

    def ran(one, date, generation=1):
        got = s.instance(f"begin/asked/{one}", date + "T00:00:00Z")
        return got and got["state"] == "Succ" and got["generation"] >= generation
    for kind, date in (("backfill", "2026-01-01"), ("run-now", "2026-01-02"), ("enqueue", "2026-01-03")):
        done = s.command_over(s.command(kind, selection={**sel, "dates": [date]}))
        assert (done["done"], done["failed"]) == (1, 0), (kind, done)
        until(f"{kind} ran", lambda date=date: ran("day", date), 60)
    s.command("backfill", selection={"tasks": ["begin/asked/wide"], "dates": ["2026-01-01"]})
    until("all parts ran", lambda: ran("wide", "2026-01-01"), 60)
    done = s.command_over(s.command("redo", mode="with_downstream", selection={**sel, "dates": ["2026-01-04"]}))
    assert done["failed"] == 0, done
    until("redo ran", lambda: ran("day", "2026-01-04", 2), 60)
    until("its reopened child too", lambda: ran("next", "2026-01-04", 2), 60)
    assert task(s, "begin/asked/day")["plan_over"]


@test
def an_operators_offline_refuses_what_would_wait_for_ever(s):
    over_by_its_plan(s, "shut", {"day": "type: noop, cycle: day"})
    sel = {"tasks": ["begin/shut/day"]}
    s.command("offline", selection=sel)
    for kind, date in (("redo", "2026-01-04"), ("backfill", "2026-01-01"), ("run-now", "2026-01-01"),
                       ("enqueue", "2026-01-01")):
        want = {**sel, "dates": [date]}
        dry = s.command(kind, dry_run=True, selection=want)
        assert [r["code"] for r in dry["reasons"]] == ["CONFLICT"], (kind, dry)
        done = s.command_over(s.command(kind, selection=want))
        assert (done["done"], done["failed"]) == (1, 1), (kind, done)
        item = s.get(f"/api/v1/commands/{done['command']}/items?failed=1")["items"][0]
        assert "its task is offline" in item["message"] and "`sirdar online`" in item["message"], item
    assert [(i["run_date"][:10], i["state"]) for i in s.instances("begin/shut/day")] == [("2026-01-04", "Succ")]


@test
def what_an_operator_took_offline_stays_so_and_the_preview_says_it(s):
    s.apply(document("put", {"day": "type: noop, cycle: day"}, start_date="2026-01-01"))
    s.command("offline", selection={"tasks": ["begin/put/day"]})
    later = document("put", {"day": "type: noop, cycle: hour"}, start_date="2026-01-01")
    got = changes(s.apply(later, dry_run=True))["begin/put/day"]
    assert got["stays_offline"], got
    (s.dir / "put.yaml").write_text(later)
    assert "stays offline" in s.sirdar("apply", "--dry-run", "put.yaml").stdout
    s.apply(later)
    assert task(s, "begin/put/day")["state"] == "offline"


@test
def why_names_the_frozen_parent_and_who_froze_it(s):
    s.apply(document("ice", {"day": "type: noop, cycle: day", "next": "type: noop, cycle: day, needs: [day]"},
                     start_date="2026-01-01"), **{"from": rfc3339(second() - second() % 86400)})
    date = rfc3339(second() - second() % 86400)
    until("both ran", lambda: succ(s, "begin/ice/next"), 60)
    s.command("freeze", selection={"tasks": ["begin/ice/day"]})
    s.command("redo", selection={"tasks": ["begin/ice/day", "begin/ice/next"], "dates": [date]})

    def why():
        one = s.instance("begin/ice/next", date)
        got = s.get(f"/api/v1/instances/{one['id']}/why")
        return got if got["code"] == "link_frozen" else None
    got = until("it waits for what is frozen", why, 60)
    assert "begin/ice/day" in got["line"] and "the task is frozen since 20" in got["line"], got
    assert " by token:" in got["line"], got


@test
def a_redo_says_how_many_depend_on_it_beyond_its_scope(s):
    s.apply(document("near", {"day": "type: noop, cycle: day", "own": "type: noop, cycle: day, needs: [day]"},
                     start_date="2026-01-01"), **{"from": rfc3339(second() - 2 * 86400)})
    s.apply(document("far", {"day": "type: noop, cycle: day, needs: [begin/near/day]"}, start_date="2026-01-01"),
            **{"from": rfc3339(second() - 2 * 86400)})
    until("all ran", lambda: succ(s, "begin/far/day", 2), 60)
    until("all ran", lambda: succ(s, "begin/near/own", 2), 60)
    dates = sorted(i["run_date"] for i in s.instances("begin/far/day"))
    dry = s.command("redo", dry_run=True, mode="with_downstream",
                    selection={"tasks": ["begin/near/day"], "dates": dates})
    assert dry["outside_scope"] == len(dates), dry
    said = s.sirdar("redo", "begin/near/day", dates[0], "--dry-run").stdout
    assert "1 more depend on these beyond the scope" in said, said
    dry = s.command("redo", dry_run=True, scope="all", selection={"tasks": ["begin/near/day"], "dates": dates})
    assert dry["outside_scope"] == 0, dry


@test
def a_task_is_enqueued_and_run_in_its_first_period(s):
    ahead = rfc3339(second() + 86400)[:10]
    for cycle in ("week", "month", "day"):
        s.apply(document(f"first_{cycle}", {"job": f"type: noop, cycle: {cycle}"}, start_date=ahead))
        for n, kind in enumerate(("enqueue", "run-now"), 1):
            mark = second()
            s.command(kind, selection={"tasks": [f"begin/first_{cycle}/job"]})
            until(f"{cycle}: {kind}", lambda n=n, cycle=cycle: succ(s, f"begin/first_{cycle}/job", n), 60)
            until("another second", lambda mark=mark: second() > mark + 1)


WRONG = """workflow: %s
project: begin
tasks:
  a: {type: shell, cycle: day, params: {script: "echo $[YYYYMMDD]", scirpt: x}}
  b: {type: shell, cycle: dya, params: {script: "true"}}
  c: {type: shell, cycle: day, priority: 99, params: {script: "true"}}
"""


@test
def check_tells_everything_that_is_wrong_at_once_under_any_prefix(s):
    prefix = s.dir / "prefix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "share/sirdar").mkdir(parents=True)
    shutil.copy(BIN / "sirdar", prefix / "bin/sirdar")
    shutil.copytree(BIN.parent / "types", prefix / "share/sirdar/types")
    good = document("fine", {"a": 'type: shell, cycle: day, params: {script: "true"}'})
    params = document("typo", {"a": 'type: sql, cycle: day, params: {sql: "select 1", hots: x}',
                               "b": 'type: shell, cycle: day, params: {script: "echo $[YYYYMMDD]"}'})
    for name, text in (("one", WRONG % "one"), ("two", WRONG % "two"), ("typo", params), ("fine", good)):
        (s.dir / f"{name}.yaml").write_text(text)

    def check(*files):
        return s.run([prefix / "bin/sirdar", "check", *files])
    done = check("one.yaml", "two.yaml", "typo.yaml")
    assert done.returncode == 1, done
    for line in ("one.yaml:5:", "one.yaml:6:", "two.yaml:5:", "two.yaml:6:", "typo.yaml:5:", "typo.yaml:6:"):
        assert line in done.stdout, (line, done.stdout)
    assert "did you mean yyyyMMdd?" in done.stdout and "hots" in done.stdout, done.stdout
    said = check("fine.yaml").stdout
    assert f"of {prefix}/share/sirdar/types" in said, said
    shutil.rmtree(prefix / "share")
    said = check("fine.yaml").stdout
    assert "parameters not judged" in said, said


@test
def check_says_what_is_before_the_begin(s):
    (s.dir / "begins.yaml").write_text(document("begins", {
        "day": "type: noop, cycle: day, needs: [{task: day, depend: -1}]"}))
    assert "the first dates of 1 need lie before the begin" in s.sirdar("check", "begins.yaml").stdout


@test
def every_example_of_the_documentation_is_good(s):
    folders = {f.parent for f in (ROOT / "docs").rglob("*.yaml")}
    assert len(folders) >= 2, folders
    for folder in folders:  # what waits for another is beside it
        copies = s.dir / f"examples-{folder.name}"
        copies.mkdir()
        for f in folder.glob("*.yaml"):  # ${drop} is a parameter of the demo's project
            (copies / f.name).write_text(f.read_text().replace("${drop}", "/tmp"))
        said = s.sirdar("check", *(str(f) for f in sorted(copies.glob("*.yaml")))).stdout
        assert "good: " in said and "parameters judged by" in said, said


@test
def a_restart_leaves_to_catch_up_what_came_due_meanwhile(s):
    """Every second, while nobody led for three."""
    modes = ("all", "latest", "none")
    s.apply(document("missed", {m: f'type: noop, cron: "* * * * * *", cycle: minute, catchup: {{mode: {m}}}'
                                for m in modes}))
    for m in modes:
        until(f"{m} ran", lambda m=m: succ(s, f"begin/missed/{m}", 2), 60)
    s.base.kill()
    down = second()
    until("time passes", lambda: second() >= down + 4)
    s.base.start()
    until("up", s.up)
    up = second()

    def of(m):
        """States of what came due while nobody led for sure: seconds down+1 to down+3."""
        rows = {i["run_date"]: i for i in s.instances(f"begin/missed/{m}")}
        return [rows[rfc3339(down + n)]["state"] for n in (1, 2, 3) if rfc3339(down + n) in rows]
    for m in modes:
        until(f"{m} goes on", lambda m=m: any(i["state"] == "Succ" and i["run_date"] > rfc3339(up)
                                              for i in s.instances(f"begin/missed/{m}")), 60)
    until("all ran", lambda: of("all") == ["Succ"] * 3, 60)
    assert of("none") == ["Skipped"] * 3, of("none")
    assert of("latest").count("Skipped") >= 2, of("latest")  # the last may be the third
    skipped = [i for m in modes for i in s.instances(f"begin/missed/{m}", states="Skipped")]
    assert all(i["reason"] == "catchup" for i in skipped), skipped


@test
def a_backfill_before_the_begin_keeps_the_order_of_an_ordered_task_s_dates(s):
    s.apply(document("inorder", {"one": "type: noop, cycle: day, serial: ordered, params: {sleep_ms: 200}"},
                     start_date="2026-01-01", end_date="2026-01-31"), "inorder.yaml")
    dates = [f"2026-01-{d:02}T00:00:00Z" for d in range(10, 17)]
    s.command_over(s.command("backfill", selection={"tasks": ["begin/inorder/one"], "dates": dates}))
    done = until("all ran", lambda: len(r := s.instances("begin/inorder/one", states="Succ")) == len(dates) and r, 120)
    by_date = sorted(done, key=lambda i: i["run_date"])
    assert [i["run_date"] for i in by_date] == dates, by_date
    for before, after in zip(by_date, by_date[1:]):
        assert before["ended"] <= after["started"], (before, after)


@test
def a_backfill_before_the_begin_waits_for_no_date_of_another_and_a_redo_does(s):
    """docs/LIMITS.md says so."""
    s.apply(document("beside", {"a": "type: noop, cycle: day", "b": "type: noop, cycle: day, needs: [a]"}, start_date="2026-01-01"), "beside.yaml")
    date = "2026-02-01T00:00:00Z"
    s.sirdar("freeze", "begin/beside/a")
    s.command("backfill", selection={"tasks": ["begin/beside/a"], "dates": [date]}, dependencies="all")
    until("the parent's row is there", lambda: s.instances("begin/beside/a"))
    s.command("backfill", selection={"tasks": ["begin/beside/b"], "dates": [date]}, dependencies="all")
    until("the child ran", lambda: succ(s, "begin/beside/b"))
    assert not succ(s, "begin/beside/a")
    s.command("redo", selection={"tasks": ["begin/beside/b"], "dates": [date]})
    until("it waits", lambda: (i := s.instances("begin/beside/b")[0])["generation"] == 2 and i["state"] == "Ready")
    s.sirdar("unfreeze", "begin/beside/a")
    until("both ran", lambda: succ(s, "begin/beside/a") and succ(s, "begin/beside/b"))


if __name__ == "__main__":
    sys.exit(main(lambda: Site("begin").start(types=("noop:64",))))
