#!/usr/bin/env python3
"""Projects take turns: whoever has thousands of jobs ready holds up nobody else. All is read from the order of
the grants in the history, never from how long something took. TAP."""
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

GRANT = 8
DOC = "project: {0}\nworkflow: w\ndefaults: {{type: noop, cycle: minute, start_date: 2025-01-01, catchup: {{mode: none}}}}\ntasks: {1}\n"


def rows(s, sql, *args):
    with sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True, timeout=30) as db:
        return db.execute(sql, args).fetchall()


def ready(s, project, tasks, last):
    """Dates of 2025-01-01 and after up to `last` of each task; they wait, for nothing runs them yet."""
    s.apply(DOC.format(project, "{" + ", ".join(f"{t}: {{}}" for t in tasks) + "}"))
    s.command("backfill", selection={"tasks": [f"{project}/w/{t}" for t in tasks], "from": "2025-01-01T00:00", "to": last})

    def made():
        return rows(s, "select count(*) from lb_task_run r join lb_task t using (task_id) where t.task_name like ? and "
                       "r.job_status = 1", f"{project}/%")[0][0]
    return made


def granted(s, n):
    """Projects in the order of the first n grants."""
    def look():
        got = rows(s, "select substr(t.task_name, 1, instr(t.task_name, '/') - 1) from lb_task_event e join lb_task t using (task_id) "
                      "where e.event = ? order by e.number", GRANT)
        return [g[0] for g in got] if len(got) >= n else None
    return until(f"{n} grants", look, 300, every=0.2)


@test
def ten_jobs_of_a_project_start_before_the_hundredth_of_five_thousand_that_were_ready_first(s):
    many = ready(s, "many", ["a", "b"], "2025-01-02T17:39")
    until("5,000 jobs are ready", lambda: many() == 5000, 120)
    few = ready(s, "few", ["a"], "2025-01-01T00:09")
    until("ten more are ready", lambda: few() == 10, 60)
    s.add_broker("b1", types=("noop:1",))
    order = granted(s, 5010)
    tenth = [i for i, p in enumerate(order) if p == "few"][9]
    before = order[:tenth].count("many")
    assert before < 100, f"{before} of the many before the tenth of the few"


def site():
    s = Site("turns")
    s.base.start()
    s.start_cgi()
    return s


if __name__ == "__main__":
    sys.exit(main(site))
