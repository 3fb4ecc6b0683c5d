#!/usr/bin/env python3
"""What a schedule means, through the real programs: calendars, versions of plans, zones. TAP."""
import os
import sqlite3
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, seconds_of, test, until  # noqa: E402

CN = """calendar: cn
weekends: [saturday, sunday]
holidays: [2026-10-01..2026-10-07]
workdays: [2026-10-10]
"""
WEEK = """workflow: %s
project: time
timezone: Asia/Shanghai
start_date: 2026-09-30
end_date: 2026-10-11
calendar: %s
tasks:
  day: {type: noop, cycle: day, catchup: {mode: all}}
"""
ICS = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:1
DTSTART;VALUE=DATE:20261001
DTEND;VALUE=DATE:20261004
SUMMARY:Golden week
END:VEVENT
BEGIN:VEVENT
UID:2
DTSTART;VALUE=DATE:20261010
SUMMARY:Make-up (work)
END:VEVENT
END:VCALENDAR
"""


FEW = """calendar: few
dates: [%s, 2090-01-01]
"""
PICKED = """workflow: picked
project: time
timezone: Asia/Shanghai
start_date: 2025-10-01
calendar: few
tasks:
  day: {type: noop, cycle: day, catchup: {mode: all}}
"""


def days(rows):
    """Run dates at midnight in Shanghai, as days of October there."""
    assert all(r["run_date"][10:] == "T16:00:00Z" for r in rows), rows
    return sorted(int(r["run_date"][8:10]) % 30 + 1 for r in rows)


def changes(answer, kind):
    return {c["name"]: c for c in answer["changes"] if c["kind"] == kind}


@test
def an_unknown_calendar_is_refused_with_the_nearest(s):
    (s.dir / "cn.yaml").write_text(CN)
    s.sirdar("calendar", "apply", "cn.yaml")
    status, answer = s.ask("POST", "/api/v1/commands", {
        "kind": "apply", "request_id": os.urandom(16).hex(),
        "args": {"documents": [{"name": "w.yaml", "text": WEEK % ("x", "cm")}]}})
    assert status == 400, (status, answer)
    assert "there is no calendar 'cm'" in str(answer) and "cn" in str(answer), answer
    assert s.ask("GET", "/api/v1/workflows/time/x")[0] == 404


@test
def a_calendar_leaves_its_holidays_out_and_its_made_up_days_in(s):
    s.apply(WEEK % ("week", "cn"), **{"from": "2026-09-30"})
    rows = s.wait_all_over("time/week/*", 4)
    assert sorted(r["run_date"] for r in rows) == [
        f"2026-{d}T16:00:00Z" for d in ("09-29", "10-07", "10-08", "10-09")], rows
    assert {r["state"] for r in rows} == {"Succ"}, rows


@test
def an_edit_of_a_calendar_never_rewrites_the_past(s):
    def doc(dates):
        return [{"name": "few.yaml", "text": FEW % dates}]
    s.command_over(s.command("apply", documents=doc("2025-10-01, 2025-10-08")))
    s.apply(PICKED, **{"from": "2025-10-01"})
    assert days(s.wait_all_over("time/picked/*", 2)) == [1, 8]
    edited = doc("2025-10-02, 2025-10-09")
    dry = s.command("apply", dry_run=True, documents=edited)
    change = changes(dry, "calendar")["few"]
    assert (change["change"], change["tasks"], change["version"]) == ("update", 1, 2), dry
    assert s.get("/api/v1/calendars/few")["version"] == 1
    s.command_over(s.command("apply", documents=edited))
    got = s.get("/api/v1/calendars/few")
    assert got["version"] == 2 and [v["version"] for v in got["versions"]] == [2, 1], got
    # The 2nd lies behind what has come due; the 9th is still to come.
    assert days(s.wait_all_over("time/picked/*", 3)) == [1, 8, 9]


@test
def what_a_backfill_ran_stays_what_it_was_under_another_zone(s):
    """Nothing has come due by the plan itself yet: then there is no version of it, and the ranges of what had ended were read by the new one."""
    text = """workflow: zones
project: time
timezone: UTC
start_date: 2026-03-01
tasks:
  t: {type: noop, cycle: day}
"""
    def ran(expect):
        answer = s.command_over(s.command("backfill", selection={"tasks": ["time/zones/t"], "from": "2026-03-01", "to": "2026-03-05"}))
        assert (answer["total"], answer["failed"]) == (expect, 0), s.get(f"/api/v1/commands/{answer['command']}")
        until("all of it has ended", lambda: all(i["state"] == "Succ" for i in s.instances("time/zones/t")), 60)
        return sorted(i["run_date"] for i in s.instances("time/zones/t"))
    s.apply(text)
    assert ran(5) == [f"2026-03-0{d}T00:00:00Z" for d in range(1, 6)]
    s.apply(text.replace("UTC", "Asia/Shanghai"))
    shown = s.command("backfill", dry_run=True, selection={"tasks": ["time/zones/t"], "from": "2026-03-01", "to": "2026-03-05"})
    assert shown["tasks"][0]["count"] == 10 and shown["tasks"][0]["new"] == 5, shown
    assert ran(10) == sorted([f"2026-03-0{d}T00:00:00Z" for d in range(1, 6)] + ["2026-02-28T16:00:00Z"] + [f"2026-03-0{d}T16:00:00Z" for d in range(1, 5)])
    for restart in (s.base.restart, lambda: s.base.restart(hard=True)):
        restart()
        until("the server answers", s.up)
        assert [i["state"] for i in s.instances("time/zones/t")] == ["Succ"] * 10
    s.apply(text)
    assert len(ran(9)) == 10  # the first of the ten lies before the range, in UTC


@test
def an_earlier_version_must_be_asked_for_and_shows_its_count(s):
    more = [{"name": "few.yaml", "text": FEW % "2025-10-02, 2025-10-03, 2025-10-09"}]
    dry = s.command("apply", dry_run=True, documents=more, **{"from": "2025-10-01"})
    assert changes(dry, "task")["time/picked/day"]["run_dates"] == 2, dry
    s.command_over(s.command("apply", documents=more, **{"from": "2025-10-01"}))
    assert days(s.wait_all_over("time/picked/*", 5)) == [1, 2, 3, 8, 9]


@test
def links_see_the_plan_as_it_was_also_after_a_restart(s):
    """The child's window lies before the edit: the dates of then are what it waits for."""
    s.command_over(s.command("apply", documents=[
        {"name": "few.yaml", "text": FEW % "2025-10-04, 2025-10-20"}]))
    assert days(s.wait_all_over("time/picked/*", 6)) == [1, 2, 3, 8, 9, 20]
    s.base.restart(hard=True)
    until("the server answers", s.up)
    s.wait_broker("b1", ["noop"])
    s.command_over(s.apply("""workflow: child
project: time
timezone: Asia/Shanghai
start_date: 2025-10-10
end_date: 2025-10-10
tasks:
  sum: {type: noop, cycle: day, needs: [{task: time/picked/day, window: "[@day-9d, @day)"}]}
""", **{"from": "2025-10-10"}))
    # By the plan of today the 4th would be open for good.
    s.wait_state("time/child/sum", "2025-10-09T16:00:00Z", "Succ")
    assert days(s.instances("time/picked/*")) == [1, 2, 3, 8, 9, 20]


@test
def a_calendar_in_use_is_not_retired(s):
    refused = s.sirdar("calendar", "retire", "cn", expect=1)
    assert "cn" in refused.stderr and "time/week/day" in refused.stderr, refused.stderr
    s.sirdar("calendar", "retire", "nc", expect=4)
    (s.dir / "spare.ics").write_text(ICS)
    s.sirdar("calendar", "import", "spare.ics", "--workday-mark", "(work)")
    text = s.sirdar("calendar", "show", "spare").stdout
    assert "2026-10-01..2026-10-03" in text and "workdays" in text, text
    s.sirdar("calendar", "retire", "spare")
    listed = s.sirdar("calendar", "list", "--json").stdout
    assert '"spare"' not in listed, listed
    listed = s.sirdar("calendar", "list", "--all", "--json").stdout
    assert '"spare"' in listed and '"retired":true' in "".join(listed.split()), listed


@test
def from_is_read_in_the_zone_of_the_task(s):
    # Midnight of the 5th in New York is 05:00 UTC; read as UTC, the 4th would be due as well.
    s.apply("""workflow: ny
project: time
timezone: America/New_York
start_date: 2026-01-01
end_date: 2026-01-07
tasks:
  day: {type: noop, cycle: day, catchup: {mode: all}}
""", **{"from": "2026-01-05"})
    rows = s.wait_all_over("time/ny/*", 3)
    assert sorted(r["run_date"] for r in rows) == [
        f"2026-01-0{d}T05:00:00Z" for d in (5, 6, 7)], rows


@test
def what_is_not_started_in_time_is_expired(s):
    # No broker runs such a type: it waits for one until its time is over. In this zone it is noon.
    behind = time.gmtime().tm_hour - 12
    s.apply("""workflow: late
project: time
timezone: Etc/GMT%s
start_date: 2026-01-05
end_date: 2026-01-05
tasks:
  gone: {type: nobody, cycle: day, catchup: {mode: all}, expire_after: 1s}
  soon: {type: nobody, cycle: day, catchup: {mode: all}, expire_after: end of local day}
""" % (f"{behind:+d}" if behind else ""), **{"from": "2026-01-05"})
    rows = s.wait_all_over("time/late/gone", 1)
    assert (rows[0]["state"], rows[0]["reason"]) == ("StopSchedule", "expired"), rows
    # Its effective due is now, and the day of now is not over.
    assert [i["state"] for i in s.instances("time/late/soon")] == ["DependenceFinish"]


def put_back(s, down, waited):
    """The server, which is down, was so already `down` seconds, and its rows had waited `waited` before.
    -> its last sign of life."""
    folder = s.base_sets["state_dir"]
    alive = folder / "alive"
    with sqlite3.connect(folder / "sirdar.db") as db:
        (row,) = db.execute("SELECT renewed_us FROM lb_leader").fetchone()
        last = max(alive.stat().st_mtime_ns // 1000, row) - down * 10**6
        db.execute("UPDATE lb_leader SET renewed_us = ?", (last,))
        db.execute("UPDATE lb_task_run SET eff_due_us = ?", (last - waited * 10**6,))
    db.close()
    os.utime(alive, ns=(last * 1000, last * 1000))
    return last / 1e6


@test
def time_without_a_leader_does_not_count_for_what_waits(s):
    s.apply("""workflow: down
project: time
timezone: UTC
start_date: 2026-01-05
end_date: 2026-01-05
tasks:
  short: {type: nobody, cycle: day, catchup: {mode: all}, expire_after: 1h}
  long: {type: nobody, cycle: day, catchup: {mode: all}, expire_after: 3h}
""", **{"from": "2026-01-05"})
    date = "2026-01-05T00:00:00Z"
    for task in ("short", "long"):
        s.wait_state(f"time/down/{task}", date, "DependenceFinish")
    s.base.kill()
    # They waited for all but four seconds of an hour, then nobody led for ten hours.
    last = put_back(s, 36000, 3596)
    before = seconds_of(s.instance("time/down/long", date)["effective_due"])
    began = time.time()
    s.base.start()
    until("the server answers", s.up)
    first = seconds_of(s.instance("time/down/long", date)["effective_due"])
    assert first - before >= began - last - 1, (first - before, began - last)
    # What was left of its hour, it still had.
    s.wait_state("time/down/short", date, "StopSchedule", 60)
    over = s.instance("time/down/short", date)
    assert over["reason"] == "expired", over
    ended = [e for e in s.history(over["id"]) if e["to"] == "StopSchedule"][0]
    assert seconds_of(ended["at"]) >= began + 3, (ended, began)
    # The next server knows of that time too, though nothing of the row was written.
    s.base.restart(hard=True)
    until("the server answers", s.up)
    again = seconds_of(s.instance("time/down/long", date)["effective_due"])
    assert again >= first, (again, first)
    assert s.instance("time/down/long", date)["state"] == "DependenceFinish"


@test
def a_task_whose_plan_is_over_goes_offline_by_itself(s):
    text = """workflow: over
project: time
timezone: UTC
start_date: 2026-01-05
end_date: 2026-01-06
tasks:
  ends: {type: noop, cycle: day, catchup: {mode: all}}
  once: {type: noop, cycle: once, catchup: {mode: all}}
  waits: {type: nobody, cycle: day, catchup: {mode: all}}
"""
    s.apply(text, **{"from": "2026-01-05"})

    def states():
        return {t["task"].split("/")[2]: t["state"] for t in s.get("/api/v1/tasks?prefix=time/over/&limit=50")["items"]}
    until("two of them are offline", lambda: states() == {"ends": "offline", "once": "offline", "waits": "online"}, 60)
    s.command("skip", selection={"tasks": ["time/over/waits"], "from": "2026-01-05", "to": "2026-01-06"})
    until("the third is, once nothing of it is unfinished", lambda: states()["waits"] == "offline", 60)
    assert all(i["state"] == "Succ" for i in s.instances("time/over/ends") + s.instances("time/over/once"))


if __name__ == "__main__":
    sys.exit(main(lambda: Site("time").start(types=("noop:8",))))
