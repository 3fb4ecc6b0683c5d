#!/usr/bin/env python3
"""log-level debug: one instance's life can be read from the server's log; off it says nothing; a flood is bounded."""
import re
import sys

from harness import OVER, Site, main, test, until

TASK = "project: d\nworkflow: {0}\ntasks:\n  a: {{type: noop, cycle: {1}, start_date: 2026-01-01}}\n"


def level(s, name):
    s.command("log-level", level=name)


def run_one(s, workflow, date):
    s.apply(TASK.format(workflow, "day"))
    s.command("backfill", selection={"tasks": [f"d/{workflow}/a"], "dates": [date]})
    def over():
        return next((i for i in s.instances(task=f"d/{workflow}/a") if i["run_date"].startswith(date) and
                     i["state"] in OVER), None)
    return until("it is over", over)


@test
def by_default_no_decision_is_said(s):
    run_one(s, "silent", "2026-02-01")
    assert not s.base.has(r" debug "), s.base.tail()


@test
def the_life_of_an_instance_is_told_in_order(s):
    level(s, "debug")
    one = run_one(s, "told", "2026-02-02")
    text = s.base.text()
    name = re.escape(one["id"])
    steps = (r"commander\.judge kind=backfill .*code=ok",
             rf"ledger\.apply instance={name} event=create ",
             rf"resolver\.judge instance={name} verdict=satisfy",
             rf"ledger\.apply instance={name} event=satisfy ",
             rf"sorter\.grant instance={name} broker=b1 .*open=\d+ .*why=",
             rf"ledger\.apply instance={name} event=grant ",
             rf"ledger\.apply instance={name} event=exit-ok .*to=Succ")
    at = 0
    for step in steps:
        found = re.compile(step).search(text, at)
        assert found, f"{step!r} is not said in its turn:\n" + "\n".join(
            line for line in text.splitlines() if one["id"] in line)
        at = found.end()
    level(s, "info")
    mark = s.base.log.stat().st_size
    run_one(s, "told", "2026-02-03")
    assert not s.base.has(r" debug ", mark), s.base.text(mark)


@test
def a_flood_of_decisions_is_bounded_and_counted(s):
    level(s, "debug")
    mark = s.base.log.stat().st_size
    s.apply(TASK.format("flood", "hour"))
    for days in (("2026-02-01", "2026-04-30"), ("2026-05-01", "2026-08-01")):
        c = s.command("backfill", selection={"tasks": ["d/flood/a"], "from": days[0], "to": days[1]})
        s.command_over(c)
    until("all are over", lambda: all(i["state"] in OVER for i in s.instances(task="d/flood/a")), 120)
    days = iter(range(1, 28))

    def counted():
        run_one(s, "after", f"2026-02-{next(days):02}")
        return s.base.has(r"debug ledger\.apply suppressed=\d+", mark)
    until("what was kept back is counted, with the next line", counted, every=0.3)
    level(s, "info")
    text = s.base.text(mark)
    said = {}
    for second in re.findall(r"(?m)^(\d+)\.\d+ baseserver debug ledger\.apply instance", text):
        said[second] = said.get(second, 0) + 1
    kept_back = sum(int(n) for n in re.findall(r"ledger\.apply suppressed=(\d+)", text))
    assert kept_back > 1000, (kept_back, said)
    assert max(said.values()) <= 2 * 101, said  # a second of its clock may lie in two of ours


if __name__ == "__main__":
    sys.exit(main(lambda: Site("debug").start(("noop:64",))))
