#!/usr/bin/env python3
"""When it will be done: forecasts from plans, links and measured durations; promises. TAP."""
import datetime
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import openapi  # noqa: E402
from harness import ROOT, Daemon, Site, main, seconds_of, test, until  # noqa: E402

API = openapi.load(ROOT / "schema/openapi.yaml")

NOW = datetime.datetime.now(datetime.timezone.utc)
TODAY = NOW.strftime("%Y-%m-%d")
AHEAD = (NOW + datetime.timedelta(days=3)).strftime("%Y-%m-%d")


def workflow(site, name, tasks, baselines=""):
    text = (f"workflow: {name}\nproject: ahead\ntimezone: UTC\nstart_date: 2026-03-01\n"
            "state: online\ndefaults: {type: shell, cycle: day, catchup: {mode: none}}\ntasks:\n")
    for task, body in tasks.items():
        text += f"  {task}:\n" + "".join(f"    {line}\n" for line in body.strip().splitlines())
    site.apply(text + baselines, name + ".yaml")


def script(text, **more):
    return (f"params: {{script: \"{text}\"}}\n" + "".join(f"{k}: {v}\n" for k, v in more.items()))


@test
def a_forecast_follows_links_and_names_the_critical_path(s):
    workflow(s, "path", {"a": script("sleep 0.3"), "b": script("exit 0"),
                         "c": script("exit 0", needs="[a, b]")})
    s.command("backfill", selection={"workflow": "ahead/path", "from": "2026-03-01",
                                     "to": "2026-03-06"})
    s.wait_all_over("ahead/path/*", 18)
    f = s.get(f"/api/v1/forecast?name=ahead/path&date={AHEAD}")
    rows = {r["task"].split("/")[2]: r for r in f["instances"]}
    assert set(rows) == {"a", "b", "c"} and len(f["instances"]) == 3, f
    assert all(r["state"] == "planned" and r["runs"] == 6 for r in rows.values()), rows
    assert rows["a"]["start"] == AHEAD + "T00:00:00Z", rows
    assert rows["c"]["confidence"] == "fair" and rows["c"]["cause"]["task"] == "ahead/path/a"
    assert [r["task"] for r in f["critical_path"]] == ["ahead/path/c", "ahead/path/a"], f
    one = s.get(f"/api/v1/forecast?name=ahead/path/c&date={AHEAD}")
    assert [r["task"] for r in one["instances"]] == ["ahead/path/c"], one
    out = s.sirdar("forecast", "ahead/path", "--date", AHEAD).stdout
    assert "Critical path" in out and "ahead/path/c" in out, out


@test
def what_runs_and_what_is_held_is_seen_as_it_is(s):
    gate = s.dir / "data" / "held"
    workflow(s, "held", {"a": script(f"while [ ! -e {gate} ]; do sleep 0.05; done"),
                         "b": script("exit 0", needs="[a]")})
    s.command("backfill", selection={"workflow": "ahead/held", "dates": [TODAY]})
    row = until("it runs", lambda: [i for i in s.instances("ahead/held/a", states="Running")])[0]
    f = s.get("/api/v1/forecast?name=ahead/held")
    rows = {r["task"].split("/")[2]: r for r in f["instances"]}
    assert rows["a"]["state"] == "Running" and rows["b"]["end"], rows
    assert rows["b"]["cause"]["id"] == row["id"], rows
    s.command("freeze", selection={"tasks": ["ahead/held/b"], "dates": [TODAY]})
    f = s.get("/api/v1/forecast?name=ahead/held/b")
    assert f["instances"][0]["end"] is None, f
    gate.write_text("")


@test
def what_ends_while_a_forecast_is_made_began_in_no_other_year(s):
    """Rows that run for a moment: they end between what the forecast is made of."""
    since = (NOW - datetime.timedelta(hours=48)).strftime("%Y-%m-%dT%H:%M:%SZ")
    workflow(s, "brief", {"a": "type: noop\ncycle: minute", "b": "needs: [a]\ntype: noop"})
    made = s.command("backfill", selection={"workflow": "ahead/brief", "from": since,
                                                   "to": NOW.strftime("%Y-%m-%dT%H:%M:%SZ")}, parallel=0)
    while s.get(f"/api/v1/commands/{made['command']}")["state"] != "done" or \
            s.instances("ahead/brief/a", states="Ready,DependenceFinish,Running", limit=1):
        for r in s.get("/api/v1/forecast?name=ahead/brief")["instances"]:
            for key in ("start", "end", "start_slow", "end_slow"):
                assert r[key] is None or abs(seconds_of(r[key]) - NOW.timestamp()) < 7 * 86400, r
            if r["state"] == "Running":
                assert r["end_slow"] >= r["end"], r


@test
def a_promise_is_at_risk_by_name_and_its_history_says_so(s):
    gate = s.dir / "data" / "late"
    workflow(s, "word", {"a": script(f"while [ ! -e {gate} ]; do sleep 0.05; done"),
                         "b": script("exit 0", needs="[a]"), "c": script("exit 0")},
             f"baselines:\n  - {{task: b, committed: \"00:00\"}}\n"
             f"  - {{task: c, committed: \"00:30\"}}\n")
    s.command("backfill", selection={"tasks": ["ahead/word/a", "ahead/word/b"], "dates": [TODAY]},
              dependencies="all")

    def told():
        found = [b for b in s.get("/api/v1/baselines")["baselines"]
                 if b["task"] == "ahead/word/b"]
        return found and found[0]["state"] != "safe" and found[0]
    b = until("its promise is broken", told, seconds=60)
    assert b["state"] == "breached" and b["cause"]["task"] == "ahead/word/a", b
    assert b["cause"]["state"] == "Running", b
    until("its history says so", lambda: [
        e for e in s.history(b["id"]) if e["event"] == "baseline" and e["reason"] == "breached" and
        "ahead/word/a" in (e["note"] or "")], seconds=60)
    assert "breached" in s.sirdar("baselines").stdout
    gate.write_text("")
    s.wait_state("ahead/word/b", b["run_date"], "Succ", seconds=60)
    b = [x for x in s.get("/api/v1/baselines")["baselines"] if x["task"] == "ahead/word/b"][0]
    assert b["over"] and b["state"] == "breached" and b["expected"] > b["committed"], b  # kept, but too late
    line, = [x for x in s.sirdar("baselines").stdout.splitlines() if "ahead/word/b" in x]
    assert "breached" in line, line


def rows_of(s, name, **args):
    more = "".join(f"&{k}={v}" for k, v in args.items())
    f = s.get(f"/api/v1/forecast?name={name}{more}")
    bad = openapi.wrong(API, {"$ref": "#/components/schemas/Forecast"}, f)
    assert not bad, bad
    return {r["task"].split("/")[2]: r for r in f["instances"]}


def shut_by(s, name, code):
    """Its row, once its answer is that it cannot start because of that gate."""
    def look():
        row = rows_of(s, "/".join(name.split("/")[:2]), date=AHEAD)[name.split("/")[2]]
        return row["cannot_start"] and row["cannot_start"]["code"] == code and row
    row = until(f"{name} cannot start: {code}", look, seconds=60)
    assert row["start"] is None and row["end"] is None and row["end_slow"] is None, row
    return row


def opens(s, name):
    def look():
        row = rows_of(s, "/".join(name.split("/")[:2]), date=AHEAD)[name.split("/")[2]]
        return row["cannot_start"] is None and row["end"] and row
    return until(f"{name} can start", look, seconds=60)


@test
def a_group_without_a_broker_breaks_promises_at_once_until_one_comes(s):
    workflow(s, "nobody", {"a": script("exit 0"), "b": script("exit 0", needs="[a]", group="far"),
                           "c": script("exit 0", needs="[b]")},
             "baselines:\n  - {task: c, committed: \"23:59\"}\n")
    b = shut_by(s, "ahead/nobody/b", "no_broker")
    assert b["cannot_start"]["gate"] == 10, b
    assert b["cannot_start"]["line"] == "no broker of group far has task type shell online", b
    rows = rows_of(s, "ahead/nobody", date=AHEAD)
    assert rows["a"]["end"] and rows["a"]["cannot_start"] is None, rows["a"]
    c = rows["c"]
    assert c["end"] is None and c["cannot_start"]["code"] == "link_shut", c
    assert c["cannot_start"]["line"].startswith("waits for ahead/nobody/b "), c
    assert c["cannot_start"]["line"].endswith(", which cannot start"), c
    promise, = s.get(f"/api/v1/forecast?name=ahead/nobody&date={AHEAD}")["baselines"]
    assert promise["state"] == "at_risk" and promise["cause"]["task"] == "ahead/nobody/b", promise
    assert promise["expected"] is None and promise["cannot_start"]["code"] == "no_broker", promise
    out = s.sirdar("forecast", "ahead/nobody", "--date", AHEAD).stdout
    assert "no broker of group far has task type shell online" in out, out
    assert "which cannot start" in out, out
    s.add_broker("far1", types=("shell:2",), groups="far")
    opens(s, "ahead/nobody/c")
    promise, = s.get(f"/api/v1/forecast?name=ahead/nobody&date={AHEAD}")["baselines"]
    assert promise["state"] == "safe" and promise["cannot_start"] is None, promise


@test
def what_shares_a_pool_starts_one_after_the_other_by_priority(s):
    s.sirdar("pool", "set", "narrow", "3")
    workflow(s, "pooled", {t: script("sleep 2", pools="{narrow: 1}", priority=p)
                           for t, p in (("a", 3), ("b", 9), ("c", 6))})
    s.command("backfill", selection={"workflow": "ahead/pooled", "from": "2026-03-01",
                                     "to": "2026-03-01"})
    s.wait_all_over("ahead/pooled/*", 3)
    together = until("three at once", lambda: rows_of(s, "ahead/pooled", date=AHEAD))
    assert len({r["start"] for r in together.values()}) == 1, together
    s.sirdar("pool", "set", "narrow", "1")

    def staggered():
        rows = rows_of(s, "ahead/pooled", date=AHEAD)
        at = [seconds_of(rows[t]["start"]) for t in "bca"]
        return at[0] < at[1] < at[2] and (at, rows)
    at, rows = until("they are played one by one", staggered)
    assert rows["a"]["cause"]["task"] == "ahead/pooled/c", rows["a"]


@test
def a_task_that_takes_more_than_its_pool_has_cannot_start(s):
    s.sirdar("pool", "set", "small", "2")
    workflow(s, "much", {"a": script("exit 0", pools="{small: 2}")})
    opens(s, "ahead/much/a")
    s.sirdar("pool", "set", "small", "1")
    w = shut_by(s, "ahead/much/a", "pool_small")["cannot_start"]
    assert w["args"] == {"pool": "small", "size": 1, "slots": 2}, w
    s.sirdar("pool", "set", "small", "2")
    opens(s, "ahead/much/a")


@test
def what_others_hold_is_free_again_when_they_are_expected_to_end(s):
    gate = s.dir / "data" / "holds"
    s.sirdar("pool", "set", "lent", "1")
    workflow(s, "holder", {"h": script(f"while [ ! -e {gate} ]; do sleep 0.05; done",
                                       pools="{lent: 1}")})
    workflow(s, "waiter", {"w": script("exit 0", pools="{lent: 1}")})
    s.command("backfill", selection={"workflow": "ahead/holder", "dates": [TODAY]})
    until("it runs", lambda: s.instances("ahead/holder/h", states="Running"))
    s.command("backfill", selection={"workflow": "ahead/waiter", "dates": [TODAY]})

    def waits():
        f = s.get("/api/v1/forecast?name=ahead/waiter")
        row = [r for r in f["instances"] if r["state"] == "DependenceFinish"]
        return row and row[0]["start"] and (f, row[0])
    f, row = until("its start is after now", waits)
    assert row["cannot_start"] is None, row
    assert seconds_of(row["start"]) > seconds_of(f["now"]), (row, f["now"])
    gate.write_text("")
    s.wait_state("ahead/waiter/w", row["run_date"], "Succ", seconds=60)


@test
def where_all_brokers_are_drained_nothing_is_expected(s):
    s.add_broker("dry1", types=("shell:2",), groups="dry")
    workflow(s, "dry", {"a": script("exit 0", group="dry")})
    opens(s, "ahead/dry/a")
    s.sirdar("broker", "drain", "dry1")
    w = shut_by(s, "ahead/dry/a", "broker_not")["cannot_start"]
    assert w["gate"] == 10 and w["args"]["broker"] == "dry1" and w["args"]["why"] == "drained", w
    s.sirdar("broker", "undrain", "dry1")
    opens(s, "ahead/dry/a")


@test
def a_type_in_quarantine_is_not_counted_on_until_it_is_released(s):
    s.add_broker("sick1", types=("shell:2",), groups="sick", loader_crash_max=3)
    workflow(s, "sick", {"a": script("exit 0", group="sick")})
    opens(s, "ahead/sick/a")

    def shell():
        b, = [b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "sick1"]
        return next(t for t in b["types"] if t["type"] == "shell")

    def loader():
        found = s.pids("taskrunner-loader", "/sick1")
        return found[0] if found else None
    dead = None
    for _ in range(3):
        dead = until("a loader is ready", lambda: (p := loader()) and p != dead and
                     shell()["state"] == "ready" and p)
        os.kill(dead, signal.SIGKILL)
    until("it is quarantined", lambda: shell()["state"] == "quarantined")
    w = shut_by(s, "ahead/sick/a", "runner_sick")["cannot_start"]
    assert w["gate"] == 9 and w["args"]["broker"] == "sick1", w
    assert w["args"]["state"] == "quarantined", w
    s.sirdar("plugin", "release", "shell", "--broker", "sick1")
    opens(s, "ahead/sick/a")


@test
def a_broker_that_is_away_or_takes_nothing_for_its_load_is_not_counted_on(s):
    s.add_key("full1")
    settings = s.dir / "full1.yaml"
    settings.write_text("memory_free_min_bytes: 1T\n")
    sets = s.broker_sets("full1", ("shell:2",), groups="full")
    full = s.brokers["full1"] = Daemon(s, "full1", [*s.argv("taskbroker", sets), "--config", settings],
                                       r"broker\.keeper_up")
    full.start()
    s.wait_broker("full1", ["shell"])
    workflow(s, "full", {"a": script("exit 0", group="full")})
    w = shut_by(s, "ahead/full/a", "broker_not")["cannot_start"]
    assert w["args"]["broker"] == "full1" and "memory" in w["args"]["why"], w
    full.stop()
    w = shut_by(s, "ahead/full/a", "broker_gone")["cannot_start"]
    assert w["gate"] == 10 and w["args"]["broker"] == "full1", w
    settings.write_text("memory_free_min_bytes: 0\n")
    full.start()
    opens(s, "ahead/full/a")


@test
def where_every_start_fails_nothing_is_expected_until_one_goes_well(s):
    s.add_broker("lame1", types=("shell:2",), groups="lame", work_dir=s.dir / "lame-work")
    workflow(s, "lame", {"a": script("exit 0", group="lame")})
    opens(s, "ahead/lame/a")
    work = s.dir / "lame-work"
    work.rename(s.dir / "lame-away")
    s.command("backfill", selection={"workflow": "ahead/lame", "from": "2026-03-01",
                                     "to": "2026-03-06"})
    w = shut_by(s, "ahead/lame/a", "starts_fail")["cannot_start"]
    assert w["gate"] == 10 and w["args"]["broker"] == "lame1", w
    (s.dir / "lame-away").rename(work)
    opens(s, "ahead/lame/a")


@test
def slots_of_a_broker_are_shared_by_what_starts_there(s):
    s.add_broker("one1", types=("shell:1",), groups="one")
    workflow(s, "one", {t: script("sleep 2", group="one") for t in "ab"})
    s.command("backfill", selection={"workflow": "ahead/one", "from": "2026-03-01",
                                     "to": "2026-03-01"})
    s.wait_all_over("ahead/one/*", 2)

    def apart():
        rows = rows_of(s, "ahead/one", date=AHEAD)
        at = sorted(seconds_of(r["start"]) for r in rows.values() if r["start"])
        return len(at) == 2 and at[1] > at[0]
    until("one after the other", apart)


@test
def nothing_is_promised_for_dates_from_before_a_task_went_online(s):
    workflow(s, "new", {"a": script("exit 0")}, "baselines:\n  - {task: a, committed: \"00:00\"}\n")
    assert not [b for b in s.get("/api/v1/baselines")["baselines"] if b["task"] == "ahead/new/a"]
    assert not [i for i in s.get("/api/v1/forecast?name=ahead/new")["instances"]]


@test
def wrong_questions_are_refused_with_their_place(s):
    for query, word in (("name=ahead/none", "ahead/none"), ("", "name"),
                        ("name=ahead/path&date=soon", "date"),
                        ("name=ahead/path&date=2036-01-01", "days ahead")):
        status, body = s.ask("GET", f"/api/v1/forecast?{query}")
        assert status in (400, 404) and word in str(body), (query, status, body)
    assert seconds_of(s.get("/api/v1/forecast?name=ahead/path/a")["now"]) > 0


if __name__ == "__main__":
    sys.exit(main(lambda: Site("forecast", baseline_every_ms=200).start()))
