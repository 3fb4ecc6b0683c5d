#!/usr/bin/env python3
"""What one document may cost: it is refused before it is taken, with the task, the need, the figure, the limit and what to
do; and where the limits are wide, or it was stored before, nobody else waits for it. TAP."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TESTS, Site, main, rfc3339, test, until  # noqa: E402
from test_large_apply import Others  # noqa: E402
from test_settings import anew  # noqa: E402

TESTS.clear()
WIDE = {"window_dates_max": 1000000, "project_dates_max": 10**12, "document_year_max": 10**15}
TASKS, DATES = 2500, 432000  # windows of 300 days of minutes


def wide(name="w", n=TASKS, window="[@day, @day+300d)", project="big"):
    """Each minute, n - 1 tasks that wait for any of so many dates."""
    needs = f"{{needs: [{{task: t0, window: \"{window}\", strategy: any}}]}}"
    return (f"project: {project}\nworkflow: {name}\n"
            "defaults: {type: noop, cycle: minute, start_date: 2025-01-01, catchup: {mode: latest}}\ntasks:\n  t0: {}\n"
            + "".join(f"  t{i}: {needs}\n" for i in range(1, n)))


def refused(s, text, *words):
    """By an apply and by its dry run, in the same words."""
    said = [s.apply(text, expect=(400,), dry_run=dry)["error"]["message"] for dry in (False, True)]
    assert said[0] == said[1], said
    assert all(w in said[0] for w in words), said[0]


def runs(s, name):
    """Somebody else's work, from the command to its end."""
    s.apply(f"project: other\nworkflow: {name}\ntasks:\n  one: {{type: noop, cycle: day, start_date: 2025-01-01}}\n")
    s.command("backfill", selection={"tasks": [f"other/{name}/one"], "dates": ["2025-02-01"]})
    s.wait_all_over(f"other/{name}/one", 1, 120)


def counted(s, name):
    """Are there instances of the workflow whose dates are being counted still?"""
    rows = [i for n in range(1, TASKS, TASKS // 40) for i in s.instances(f"big/{name}/t{n}", states="Ready")]
    return any("being counted" in str(s.get(f"/api/v1/instances/{i['id']}/why")) for i in rows)


@test
def the_document_that_stalled_everybody_is_refused_and_says_why(s):
    refused(s, wide(), "big/w/t1 needs big/w/t0, window [@day, @day+300d)", f"about {DATES} dates",
            "window_dates_max allows 50000", "make the window smaller")
    refused(s, wide(n=100, window="[@day, @day+30d)"), "the needs of project big look at", "project_dates_max allows 2000000")
    refused(s, wide(n=2).replace("window: \"[@day, @day+300d)\", strategy: any", "depend: -60000"), "depend -60000",
            "about 60000 dates")
    # A plan that begins on the last day of a year to come has nothing to look back on then.
    refused(s, wide(n=2, window="[@day-300d, @day)").replace("2025-01-01", "2098-12-31"), f"about {DATES} dates")
    assert s.ask("GET", "/api/v1/workflows/big/w")[0] == 404
    runs(s, "meanwhile")


@test
def a_dry_run_and_check_tell_what_a_document_costs(s):
    text = wide(n=11, window="[@day, @day+1d)")
    cost = s.apply(text, dry_run=True)["cost"]
    assert cost == {"tasks": 11, "parts": 11, "links": 10, "dates": 14400, "widest": 1440, "year": cost["year"]}, cost
    assert 14400 * 365 * 1440 < cost["year"] < 14500 * 367 * 1440, cost
    (s.dir / "cost.yaml").write_text(text)
    assert "cost: tasks: 11 (parts: 11); needs: 10, dates they look at: 14400 (at most 1440 by one)" in \
        s.sirdar("check", "cost.yaml").stdout
    (s.dir / "wide.yaml").write_text(wide(n=3))
    done = s.sirdar("check", "wide.yaml")
    assert "big/w/t1 needs big/w/t0" in done.stdout and "window_dates_max allows 50000" in done.stdout, done.stdout


@test
def each_budget_is_a_setting(s):
    anew(s, window_dates_max=60)
    refused(s, wide("a", 2, "[@day, @day+1d)"), "about 1440 dates", "window_dates_max allows 60")
    anew(s, project_dates_max=3000)
    s.apply(wide("first", 3, "[@day, @day+1d)"))
    refused(s, wide("second", 3, "[@day, @day+1d)"), "look at 5760 dates in all", "project_dates_max allows 3000")
    s.apply(wide("second", 3, "[@day, @day+1d)", "elsewhere"))
    s.apply(wide("first", 2, "[@day, @day+1d)"), retire=True)
    s.apply(wide("second", 2, "[@day, @day+1d)"))
    anew(s, document_year_max=1000000)
    refused(s, wide("year", 2, "[@day, @day+1d)"), "the needs of big/year look at about", "document_year_max allows 1000000")
    anew(s, document_parts_max=3)
    on = "project: p\nworkflow: parts\ntasks:\n  a: {{type: noop, cycle: day, machines: [{}], dispatch: broadcast}}\n"
    refused(s, on.format("m1, m2, m3, m4"), "have 4 parts, document_parts_max allows 3")
    s.apply(on.format("m1, m2, m3"))
    anew(s)


@test
def others_commands_and_starts_go_on_while_it_is_counted_and_after_a_restart(s):
    anew(s, **WIDE)
    s.wait_broker("b1", ["noop"])
    s.apply(wide("due"), **{"from": rfc3339(time.time() - 60)})
    until("its instances wait", lambda: counted(s, "due"), 120)
    pid = s.base.pid
    runs(s, "beside")
    assert counted(s, "due") and s.base.pid == pid
    s.base.restart(hard=True)
    until("the server answers", s.up, 60)
    s.wait_broker("b1", ["noop"])
    runs(s, "again")
    assert counted(s, "due")
    assert s.base.stop() == 0  # in the middle of it
    s.base.start()
    until("the server answers again", s.up, 60)


@test
def others_are_answered_while_a_dry_run_counts_the_dates_that_came_due(s):
    tasks = "".join(f"  t{i}: {{}}\n" for i in range(1000))
    text = f"project: past\nworkflow: w\ndefaults: {{type: noop, cycle: minute, start_date: 2020-01-01}}\ntasks:\n{tasks}"
    with Others(s) as others:
        until("the other client is served", lambda: len(others.took) > 5)
        before = len(others.took)
        answer = s.apply(text, dry_run=True, **{"from": "2020-01-01"})
        meanwhile = len(others.took) - before
    assert answer["changes"][1]["run_dates"] > 6 * 365 * 1440, answer["changes"][1]
    assert meanwhile > 5, meanwhile  # of a server that counts them one by one none


@test
def others_are_answered_while_circles_are_looked_for(s):
    need = "{{needs: [{{task: t{}, window: \"[@day-{}d, @day)\", strategy: any}}]}}"
    tasks = "".join(f"  t{i}: {need.format((i + 1) % 300, i % 7 + 1)}\n" for i in range(300))
    head = "project: ring\nworkflow: w\ndefaults: {type: noop, cycle: minute, start_date: 2020-01-01}\ntasks:\n"
    with Others(s) as others:
        until("the other client is served", lambda: len(others.took) > 5)
        before = len(others.took)
        s.apply(head + tasks, dry_run=True)
        meanwhile = len(others.took) - before
    assert meanwhile > 10, meanwhile  # of a server that looks for them in one go two or three
    back = "  a: {needs: [{task: b, depend: -40000}]}\n  b: {needs: [{task: a, depend: -40000}]}\n"
    s.apply(head + back, dry_run=True)  # each of thousands of dates was walked back from


@test
def what_was_stored_before_goes_on_with_a_notice_and_stops_no_save_of_something_else(s):
    anew(s, **WIDE)
    stored = wide("before", 3).replace("cycle: minute", "cron: \"* * * * *\", state: frozen")
    s.apply(stored)
    mark = s.base.log.stat().st_size
    anew(s)
    assert s.base.has(r"document\.over_budget task=big/before/t1 .*dates=4\d+", mark), s.base.text(mark)
    s.apply(stored)  # as it is
    s.apply(wide("small", 3, "[@day, @day+1d)", "elsewhere"))
    refused(s, stored.replace("+300d", "+299d"), "window_dates_max allows 50000")


def make():
    return Site("cost").start(types=("noop:32",))


if __name__ == "__main__":
    sys.exit(main(make))
