#!/usr/bin/env python3
"""A task of minutes that was silent for ten years: its dates are one record, and each of them is
what a Skipped row would be to why, redo, backfill, force-success, links and figures. TAP."""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

FIRST, LAST = "2016-01-01T00:00:00Z", "2025-12-31T23:59:00Z"
DATES = 3653 * 1440  # planned from the first to the last


def silent(s, name, mode, more=""):
    text = (f"workflow: {name}\nproject: quiet\ntimezone: UTC\nstart_date: 2016-01-01\n"
            "end_date: 2025-12-31\n"
            f"defaults: {{type: shell, cycle: minute, catchup: {{mode: {mode}}}}}\ntasks:\n"
            "  t:\n    params: {script: 'echo done'}\n" + more)
    s.apply(text, name + ".yaml", **{"from": "2016-01-01"})


def ranges(s, task):
    return [i for i in s.instances(task) if "dates" in i]


def rows(s, task):
    return [i for i in s.instances(task) if "dates" not in i]


def count(s, table, task=None):
    """Rows in the store, as it is on disk."""
    db = sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True)
    where = f" WHERE task_id = {task}" if task else ""
    n = db.execute(f"SELECT count(*) FROM {table}{where}").fetchone()[0]
    db.close()
    return n


def look(s, task, when):
    """One instance, which need not be in a list."""
    return s.get("/api/v1/instances/" + s.get(
        f"/api/v1/resolve?task={task}&run_date={when}")["id"])


def left(s, task):
    """Dates of its ranges that have no row."""
    return sum(r["dates"] for r in ranges(s, task))


@test
def ten_years_of_minutes_cost_one_record(s):
    for mode, ran in (("latest", 1), ("none", 0)):
        silent(s, "ten-" + mode, mode)
        task = f"quiet/ten-{mode}/t"
        until("its dates are left out", lambda: ranges(s, task))
        if ran:
            assert s.wait_state(task, LAST, "Succ")["state"] == "Succ"
        r, = ranges(s, task)
        assert r["dates"] == DATES - ran and r["run_date"] == FIRST, r
        assert r["state"] == "Skipped" and r["reason"] == "catchup", r
        assert r["last_date"] == (LAST if not ran else "2025-12-31T23:58:00Z"), r
        assert len(rows(s, task)) == ran
        assert count(s, "lb_task_range", r["task_id"]) == 1
        assert count(s, "lb_task_run_history", r["task_id"]) == ran
        assert count(s, "lb_task_run", r["task_id"]) == 0
        assert count(s, "lb_outcome", r["task_id"]) <= 2
        out = s.sirdar("run", "list", task).stdout
        assert f"catchup, {DATES - ran} dates up to" in out, out


@test
def each_of_its_dates_can_be_looked_at(s):
    silent(s, "look", "none")
    task = "quiet/look/t"
    until("its dates are left out", lambda: ranges(s, task))
    i = look(s, task, "2020-02-29T12:34:00Z")
    assert (i["state"], i["reason"], i["generation"]) == ("Skipped", "catchup", 1), i
    events = s.history(i["id"])
    assert [(e["event"], e["reason"]) for e in events] == [("create-skipped", "catchup")], events
    out = s.sirdar("why", task, "2020-02-29T12:34:00Z").stdout
    assert "left out by the catch-up policy" in out or "catchup" in out, out
    page = s.get(f"/api/v1/instances?task={task}&from=2020-02-29&to=2020-02-29")
    assert [("dates" in i, i["state"]) for i in page["items"]] == [(True, "Skipped")], page
    assert s.get(f"/api/v1/instances?task={task}&states=Succ")["items"] == []
    between = s.get(f"/api/v1/resolve?task={task}&run_date=2020-02-29T12:34:30Z")["id"]
    status, text = s.ask("GET", f"/api/v1/instances/{between}")
    assert status == 404 and "between two" in str(text), (status, text)
    assert look(s, task, FIRST)["state"] == look(s, task, LAST)["state"] == "Skipped"


@test
def what_is_redone_backfilled_or_forced_has_a_row_then(s):
    silent(s, "back", "none")
    task = "quiet/back/t"
    until("its dates are left out", lambda: ranges(s, task))
    sel = {"tasks": [task], "dates": ["2019-05-01T10:00:00Z"]}
    dry = s.command("redo", dry_run=True, selection=sel)
    assert dry["total"] == 1 and dry["states"] == {"Skipped": 1}, dry
    s.command_over(s.command("redo", selection=sel))
    i = s.wait_state(task, "2019-05-01T10:00:00Z", "Succ")
    assert i["generation"] == 2, i
    assert [e["event"] for e in s.history(i["id"])][-2:] == ["redo", "create-skipped"]
    assert left(s, task) == DATES - 1

    some = {"tasks": [task], "from": "2021-01-01T00:00:00Z", "to": "2021-01-01T00:09:00Z"}
    dry = s.command("backfill", dry_run=True, selection=some, finished="leave")
    assert dry["total"] == 0 and dry["unchanged"] == 10, dry
    s.command_over(s.command("backfill", selection=some))
    until("they ran", lambda: [i["state"] for i in rows(s, task)] == ["Succ"] * 11)
    assert left(s, task) == DATES - 11

    forced = {"tasks": [task], "dates": [FIRST, LAST]}
    s.command_over(s.command("force-success", selection=forced))
    assert look(s, task, FIRST)["state"] == "Succ"
    assert look(s, task, LAST)["reason"] == "forced"
    assert left(s, task) == DATES - 13
    r, = ranges(s, task)
    assert (r["run_date"], r["last_date"]) == (FIRST, LAST), r

    s.base.restart(hard=True)
    until("it is there again", s.up)
    assert left(s, task) == DATES - 13
    assert len(rows(s, task)) == 13 and all(i["state"] == "Succ" for i in rows(s, task))
    s.command_over(s.command("redo", selection={"tasks": [task],
                                                "dates": ["2019-05-01T10:00:00Z",
                                                          "2024-02-29T23:59:00Z"]}))
    until("they ran again", lambda: look(s, task, "2024-02-29T23:59:00Z")["state"] == "Succ"
          and look(s, task, "2019-05-01T10:00:00Z")["generation"] == 3)
    assert left(s, task) == DATES - 14
    # Between two of its dates there is nothing.
    off = s.command("redo", selection={"instances": [{"task": task,
                                                      "run_date": "2020-01-01T00:00:30Z"}]})
    assert s.command_over(off)["failed"] == 1
    s.command_over(s.command("backfill", off_plan=True, selection={
        "tasks": [task], "dates": ["2020-01-01T00:00:30Z"]}))
    assert s.wait_state(task, "2020-01-01T00:00:30Z", "Succ")["generation"] == 1
    assert left(s, task) == DATES - 14
    assert look(s, task, "2020-01-01T00:01:00Z")["state"] == "Skipped"


@test
def links_take_its_dates_as_skipped_ones(s):
    silent(s, "link", "none", "  day:\n    cycle: day\n    needs: [t]\n"
           "    params: {script: 'echo day'}\n")
    until("its dates are left out", lambda: ranges(s, "quiet/link/t"))
    until("the child's too", lambda: ranges(s, "quiet/link/day"))
    assert left(s, "quiet/link/day") == 3653
    day = {"tasks": ["quiet/link/day"], "dates": ["2022-07-01"]}
    s.command_over(s.command("redo", selection=day))  # waits for its 1,440 minutes: all skipped
    s.wait_state("quiet/link/day", "2022-07-01T00:00:00Z", "Succ")
    s.sirdar("freeze", "quiet/link/t")
    s.command("redo", selection={"tasks": ["quiet/link/t"], "dates": ["2022-07-02T08:00:00Z"]})
    until("it is held", lambda: look(s, "quiet/link/t", "2022-07-02T08:00:00Z")["state"]
          == "DependenceFinish")
    s.command("redo", selection={"tasks": ["quiet/link/day"], "dates": ["2022-07-02"]})
    out = until("the child waits", lambda: look(s, 
        "quiet/link/day", "2022-07-02T00:00:00Z")["state"] == "Ready" and s.sirdar(
        "why", "quiet/link/day", "2022-07-02").stdout)
    assert "1439 of 1440" in out or "quiet/link/t" in out, out
    s.sirdar("unfreeze", "quiet/link/t")
    s.wait_state("quiet/link/day", "2022-07-02T00:00:00Z", "Succ")


@test
def figures_count_each_date(s):
    silent(s, "sum", "none")
    task = "quiet/sum/t"
    until("its dates are left out", lambda: ranges(s, task))
    said = s.get(f"/api/v1/statistics/{task}")
    assert str(DATES) in str(said), said
    one = ranges(s, task)[0]
    stats = s.get(f"/api/v1/stats?workflow_id={workflow_of(s, task)}")
    assert stats["instances"]["Skipped"] == DATES, (stats, one)
    part = s.get(f"/api/v1/stats?workflow_id={workflow_of(s, task)}"
                 "&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z")
    assert abs(part["instances"]["Skipped"] - 1440) <= 1, part


def workflow_of(s, task):
    return s.get("/api/v1/tasks/" + task)["workflow_id"]


@test
def the_store_fits_together_and_goes_elsewhere_whole(s):
    store, other = f"sqlite:{s.dir}/base", f"sqlite:{s.dir}/other"
    silent(s, "move", "latest")
    task = "quiet/move/t"
    until("its dates are left out", lambda: ranges(s, task))
    s.command_over(s.command("redo", selection={"tasks": [task], "dates": ["2020-01-01 00:00"]}))
    s.wait_state(task, "2020-01-01T00:00:00Z", "Succ")
    until("its plan ran out", lambda: s.get("/api/v1/tasks/" + task)["plan_over"])
    silent(s, "left", "latest")
    s.command_over(s.command("offline", selection={"tasks": ["quiet/left/t"]}, detach=True))
    s.base.stop()
    try:
        s.sirdar("db", "check", store)
        s.sirdar("db", "copy", store, other)
        s.sirdar("db", "check", other)
        rows = [sqlite3.connect(f"{s.dir}/{d}/sirdar.db").execute(
            "SELECT task_id, lo, hi, dates, taken FROM lb_task_range ORDER BY number").fetchall()
            for d in ("base", "other")]
        assert rows[0] == rows[1] and (DATES - 1, 1) in [r[3:] for r in rows[0]], rows
    finally:
        s.base.start()


if __name__ == "__main__":
    sys.exit(main(lambda: Site("silence").start()))
