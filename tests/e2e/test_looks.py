#!/usr/bin/env python3
"""A sensor that looks again: a look that finds nothing is no failure, in any list, figure or alert,
and its history is as long after a thousand looks as after two. TAP."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import AlertSite, alerts, came  # noqa: E402
from harness import Site, main, test, until  # noqa: E402

DAY = "2026-03-01T00:00:00Z"
WAITING = {"Ready", "DependenceFinish", "Running"}
ROWS_MAX = 8  # create, satisfy, grant, started, the first look, freezes aside; the end


def sensor(s, name, every="50ms", more="", **params):
    """A workflow of one date with one sensor of a file; the file's path."""
    path = s.dir / "data" / f"{name}.csv"
    keys = "".join(f", {k}: {v}" for k, v in params.items())
    s.apply(f"workflow: {name}\nproject: looks\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\n"
            f"defaults: {{type: sensor, cycle: day, catchup: {{mode: all}}}}\n{more}tasks:\n"
            f"  t: {{params: {{watch: file, path: {path}, every: {every}{keys}}}}}\n",
            name + ".yaml", **{"from": "2026-03-01"})
    return path


def looked(s, name, n, seconds=60):
    """It has looked n times at least, and looks on."""
    def look():
        i = s.instance(f"looks/{name}/t", DAY)
        return i if i and i.get("looks", 0) >= n else None
    return until(f"{name} has looked {n} times", look, seconds)


def events(s, name):
    return [e["event"] for e in reversed(s.history(s.instance(f"looks/{name}/t", DAY)["id"]))]


def why(s, name):
    return s.get(f"/api/v1/instances/{s.instance(f'looks/{name}/t', DAY)['id']}/why")


def only(name):
    return {"tasks": [f"looks/{name}/t"], "dates": ["2026-03-01"]}


def stats_of(s, name):
    """Counts by state over all days, and what the command line says of them."""
    return s.get(f"/api/v1/statistics/looks/{name}/t?days=3")["total"], s.sirdar("stats", f"looks/{name}/t").stdout


@test
def a_sensor_between_two_looks_is_ready_and_says_when_it_looks_again(s):
    sensor(s, "waits", every="1h")
    i = until("it waits for its next look", lambda: (s.instance("looks/waits/t", DAY) or {}).get("retry_at")
              and s.instance("looks/waits/t", DAY))
    assert (i["state"], i["reason"], i["looks"], i["attempt"]) == ("Ready", "not_yet", 1, 0), i
    told = why(s, "waits")
    assert (told["code"], told["gate"]) == ("looks_again", 3), told
    assert told["line"].startswith("looks again at 20") and told["expected"] == i["retry_at"], told
    words = s.sirdar("why", "looks/waits/t", "2026-03-01").stdout
    assert "looks again at 20" in words, words
    gates = {g["gate"]: g["waiting"] for g in s.get("/api/v1/queues")["gates"]}
    assert gates.get(3) == 1 and not gates.get(4), gates
    assert not re.search("failed|retrying", s.sirdar("run", "list").stdout + s.sirdar("status").stdout)
    assert events(s, "waits")[-1] == "not-yet", events(s, "waits")


@test
def after_many_looks_it_has_one_record_no_failure_and_no_alert(s):
    path = sensor(s, "many", every="20ms", more="alerts:\n"
                  "  - {when: [retried, failed, late, long], to: [\"webhook:hook\"]}\n"
                  "  - {when: [succeeded], to: [\"webhook:slow\"]}\n")
    seen, last = set(), time.monotonic() + 600
    i = {"looks": 0}
    while i["looks"] < 120 and time.monotonic() < last:
        i = s.instance("looks/many/t", DAY) or i
        seen.add(i.get("state", "Ready"))
        assert seen <= WAITING, seen
    assert len(events(s, "many")) <= ROWS_MAX - 1, events(s, "many")
    path.write_text("here")
    end = s.wait_state("looks/many/t", DAY, "Succ", 60)
    history = s.history(end["id"])
    assert end["looks"] >= 120 and end["attempt"] == 1 and end["infra"] == 0, end
    assert len(history) <= ROWS_MAX, history
    assert [e["event"] for e in reversed(history)][-2:] == ["not-yet", "exit-ok"], history
    assert f"looked {end['looks'] + 1} times" in history[0]["note"], history[0]
    total, table = stats_of(s, "many")
    assert total["states"] == {"Succ": 1} and total["runs"] == 1, (total, table)
    came(s, "/slow", "looks/many/t")
    assert [a["kind"] for a in alerts(s, workflow="looks/many")] == ["succeeded"], alerts(s)
    assert "looks/many/t" not in json.dumps(s.web.taken("/hook")), s.web.taken("/hook")


@test
def one_that_gives_up_says_how_often_and_until_when_it_looked(s):
    sensor(s, "ends", every="50ms", give_up="3650d")  # due last March
    looked(s, "ends", 3)
    s.command("kill", selection=only("ends"))
    end = s.wait_state("looks/ends/t", DAY, "Killed", 60)
    assert f"looked {end['looks']} times" in s.history(end["id"])[0]["note"], s.history(end["id"])
    sensor(s, "ends", every="50ms", give_up="1s")
    s.command("redo", selection=only("ends"))
    end = s.wait_state("looks/ends/t", DAY, "StopSchedule", 60)
    note = s.history(end["id"])[0]["note"]
    assert end["looks"] == 0 and "given up: 0 of 1 files" in note, (end, note)


@test
def what_expires_between_two_looks_says_so_too(s):
    sensor(s, "expires", every="20ms", more="")
    looked(s, "expires", 2)
    path = s.dir / "expires.yaml"
    path.write_text(f"workflow: expires\nproject: looks\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\n"
                    "defaults: {type: sensor, cycle: day, expire_after: 1s, catchup: {mode: all}}\ntasks:\n"
                    f"  t: {{params: {{watch: file, path: {s.dir}/none, every: 20ms}}}}\n")
    s.sirdar("apply", str(path), "--yes")
    end = s.wait_state("looks/expires/t", DAY, "StopSchedule", 60)
    last = s.history(end["id"])[0]
    assert end["reason"] == "expired" and f"looked {end['looks']} times until 20" in last["note"], (end, last)
    assert last["note"].endswith("never yet"), last


@test
def the_count_and_the_rhythm_survive_a_killed_server(s):
    path = sensor(s, "crash", every="50ms")
    before = looked(s, "crash", 5)["looks"]
    s.base.restart(hard=True)
    until("the cgi is let in", s.up)
    assert looked(s, "crash", before + 5)["looks"] >= before + 5
    assert events(s, "crash").count("not-yet") == 1 and len(events(s, "crash")) <= ROWS_MAX, events(s, "crash")
    path.write_text("here")
    assert s.wait_state("looks/crash/t", DAY, "Succ", 60)["attempt"] == 1


@test
def between_two_looks_it_can_be_frozen_killed_forced_skipped_begun_anew_and_asked_at_once(s):
    one = {"selection": only("hand")}
    path = sensor(s, "hand", every="1h")
    looked(s, "hand", 1)

    def again(n=1):
        s.command_over(s.command("redo", **one))
        return until("it looks anew", lambda: (lambda i: i if i["looks"] == 1 and i["generation"] > n else None)(
            s.instance("looks/hand/t", DAY)))
    s.command_over(s.command("run-now", **one))
    looked(s, "hand", 2)
    s.command_over(s.command("enqueue", **one))
    looked(s, "hand", 3)
    assert again(1)["generation"] == 2  # of one that waits: begun anew, its looks too
    s.command_over(s.command("kill", **one))
    assert s.wait_state("looks/hand/t", DAY, "Killed", 60)["looks"] == 1
    again(2)
    s.command_over(s.command("freeze", **one))
    path.write_text("here")
    s.command_over(s.command("enqueue", **one))
    assert why(s, "hand")["code"] == "frozen", why(s, "hand")
    path.unlink()
    s.command_over(s.command("unfreeze", **one))
    looked(s, "hand", 2)
    s.command_over(s.command("force-success", **one))
    assert s.wait_state("looks/hand/t", DAY, "Succ", 60)["reason"] == "forced"
    again(3)
    s.command_over(s.command("skip", **one))
    assert s.wait_state("looks/hand/t", DAY, "Skipped", 60)["reason"] == "asked"
    again(4)
    path.write_text("here")
    s.command_over(s.command("enqueue", **one))
    assert s.wait_state("looks/hand/t", DAY, "Succ", 60)["looks"] == 1


def make():
    s = AlertSite("looks")
    s.start()
    s.add_broker("looker", types=("sensor:4",))
    (s.dir / "data").mkdir(exist_ok=True)
    return s


if __name__ == "__main__":
    sys.exit(main(make))
