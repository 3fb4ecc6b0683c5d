#!/usr/bin/env python3
"""When it will be done: forecasts from plans, links and measured durations; promises. TAP."""
import datetime
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, seconds_of, test, until  # noqa: E402

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
