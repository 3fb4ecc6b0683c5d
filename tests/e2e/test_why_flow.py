#!/usr/bin/env python3
"""Why a workflow or a run is not done: the first causes, not all that wait for them. As the API and the command line answer. TAP."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, http_quote, main, test, until  # noqa: E402

HEAD = """workflow: {name}
project: {project}
timezone: Asia/Shanghai
start_date: 2026-03-01
end_date: 2026-03-0{days}
defaults: {{type: shell, cycle: day, retry: {{attempts: 1}}, catchup: {{mode: all, max: 100}}}}
tasks:
"""


def flow(s, name, tasks, project="wf", days=1):
    s.apply(HEAD.format(name=name, project=project, days=days) + "".join(f"  {k}: {v}\n" for k, v in tasks.items()),
            name + ".yaml", **{"from": "2026-03-01"})


def run(script, *needs):
    return f"{{params: {{script: \"{script}\"}}, needs: [{', '.join(needs)}]}}"


def why(s, name, **args):
    return s.get(f"/api/v1/why/{name}" + "".join(f"?{k}={http_quote(v)}" for k, v in args.items()))


def brief(w):
    return [(r["kind"], r["task"], r["label"], r["waits"]) for r in w["roots"]]


def settled(s, name, want, **args):
    seen = {}

    def look():
        seen["w"] = why(s, name, **args)
        return seen["w"] if brief(seen["w"]) == want else None
    try:
        return until("the causes are these", look, 60)
    except Exception as e:
        raise AssertionError(f"{seen.get('w')}") from e


@test
def of_a_run_the_first_that_failed_and_how_many_wait_for_it(s):
    flow(s, "one", {"first": run("exit 0"), "load": run("echo connection refused to warehouse >&2; exit 1", "first"),
                    **{t: run("exit 0", "load") for t in ("a", "b", "c")}, "d": run("exit 0", "a", "b"), "e": run("exit 0", "d")})
    want = [("failed", "wf/one/load", "2026-03-01", 5)], {"Succ": 1, "StopSchedule": 1, "Ready": 5}
    w = until("the store has the states too", lambda: (w := settled(s, "wf/one", want[0], date="2026-03-01"))["states"] == want[1] and w)
    assert w["members"] == 6, w
    r = w["roots"][0]
    assert r["failure"]["line"] == "connection refused to warehouse" and {x["task"] for x in r["waiting"]} == {f"wf/one/{t}" for t in "abcde"}, r
    assert w["line"].startswith("1 of 7 done; load failed at 20") and "(exit code 1: connection refused to warehouse), 5 wait for it: " in w["line"], w
    said = s.sirdar("why", "wf/one", "2026-03-01").stdout.splitlines()
    assert said[0] == w["line"] and said[1] == "  failed: sirdar why wf/one/load '2026-03-01'", said
    assert "cause: connection refused to warehouse" in s.sirdar("why", "wf/one/load", "2026-03-01").stdout


@test
def of_a_workflow_the_same_over_all_its_dates(s):
    flow(s, "days", {"t": run("exit 3", "{task: t, depend: -1}")}, days=5)
    w = settled(s, "wf/days", [("failed", "wf/days/t", "2026-03-01", 4)])
    assert "t 2026-03-01 failed" in w["line"] and "states" not in w, w
    w = settled(s, "wf/days", [("failed", "wf/days/t", "2026-03-01", 1)], date="2026-03-03..2026-03-03")
    assert w["roots"][0]["member"] is False, w


@test
def several_causes_come_by_how_much_waits_for_each(s):
    flow(s, "two", {"x": run("exit 1"), "y": run("exit 2"), "x1": run("exit 0", "x"), "y1": run("exit 0", "y"), "y2": run("exit 0", "y"),
                    "both": run("exit 0", "x1", "y1")})
    settled(s, "wf/two", [("failed", "wf/two/y", "2026-03-01", 3), ("failed", "wf/two/x", "2026-03-01", 2)], date="2026-03-01")


@test
def the_cause_may_be_of_another_workflow(s):
    flow(s, "far", {"root": run("exit 7"), "mid": run("exit 0", "root")}, project="other")
    flow(s, "near", {"t": run("exit 0", "other/far/mid"), "u": run("exit 0", "t")})
    w = settled(s, "wf/near", [("failed", "other/far/root", "2026-03-01", 2)], date="2026-03-01")
    assert w["roots"][0]["foreign"] and "other/far/root 2026-03-01 failed" in w["line"], w


@test
def what_only_waits_says_what_holds_its_front_back(s):
    flow(s, "cold", {"t": run("exit 0"), "u": run("exit 0", "t")}, days=1)
    s.wait_all_over("wf/cold/*", 2, 60)
    assert why(s, "wf/cold", date="2026-03-01")["line"] == "2 of 2 done"
    assert why(s, "wf/cold")["line"] == "nothing is unfinished, and nothing failed last"
    s.sirdar("freeze", "wf/cold/t", "--yes")
    s.sirdar("redo", "wf/cold/t", "2026-03-01", "--mode", "with_downstream", "--yes")
    w = settled(s, "wf/cold", [("frozen", "wf/cold/t", "2026-03-01", 1)], date="2026-03-01")
    assert w["roots"][0]["gate"] == 2 and "its task is frozen" in w["line"], w
    s.sirdar("unfreeze", "wf/cold/t", "--yes")


@test
def what_runs_is_the_cause_of_those_behind_it(s):
    flag = s.dir / "data" / "go"
    flow(s, "runs", {"t": run(f"while ! test -e {flag}; do sleep 0.1; done"), "u": run("exit 0", "t")})
    settled(s, "wf/runs", [("runs", "wf/runs/t", "2026-03-01", 1)], date="2026-03-01")
    flag.touch()
    s.wait_all_over("wf/runs/*", 2, 60)


@test
def what_failed_beside_the_plan_is_a_cause_too(s):
    """Of a workflow that runs when somebody asks nothing had failed, whatever had."""
    s.apply("workflow: asked\nproject: wf\ntasks:\n  a: {type: shell, cycle: none, retry: {attempts: 1}, params: {script: 'exit 1'}}\n")
    s.sirdar("run", "start", "wf/asked", "--wait", expect=7)
    until("the server has it", lambda: " failed at " in s.sirdar("why", "wf/asked").stdout)
    assert why(s, "wf/asked")["roots"][0]["kind"] == "failed"


@test
def what_waits_for_the_failed_one_of_its_own_run_says_so(s):
    """Of a workflow without a plan, whose dates are whenever somebody asked."""
    s.apply("workflow: hand\nproject: wf\ndefaults: {type: shell, cycle: none, retry: {attempts: 1}}\ntasks:\n"
            "  a: {params: {script: 'exit 1'}}\n  b: {params: {script: 'exit 0'}, needs: [{task: a, depend: 1}]}\n"
            "  c: {params: {script: 'exit 0'}, needs: [{task: b, window: '[@day, @day+1d)'}]}\n")
    assert s.sirdar("run", "start", "wf/hand", "--wait", expect=7)
    rows = {i["task"]: i for i in s.instances() if i["task"].startswith("wf/hand/")}
    assert {t[-1]: i["state"] for t, i in rows.items()} == {"a": "StopSchedule", "b": "Ready", "c": "Ready"}, rows
    date = rows["wf/hand/a"]["label"]
    for args in ({}, {"date": date}):
        w = settled(s, "wf/hand", [("failed", "wf/hand/a", date, 2)], **args)
        assert "2 wait for it" in w["line"], w
    one = s.get(f"/api/v1/instances/{rows['wf/hand/b']['id']}/why")
    assert one["code"] == "link" and "wf/hand/a" in one["line"] and "(failed)" in one["line"], one
    assert [x["task"] for x in one["waits_for"]] == ["wf/hand/a"], one
    assert "wf/hand/b" in s.get(f"/api/v1/instances/{rows['wf/hand/c']['id']}/why")["line"]
    # A second run beside it is another one: each waits for its own.
    s.sirdar("run", "start", "wf/hand", "--date", "2026-05-06 07:08", "--wait", expect=7)
    w = settled(s, "wf/hand", [("failed", "wf/hand/a", "2026-05-06 07:08", 2)], date="2026-05-06 07:08")
    said = s.sirdar("why", "wf/hand/b", "2026-05-06 07:08").stdout
    assert "2026-05-06 07:08" in said and date not in said, said


@test
def a_chain_of_thousands_has_one_cause_and_stays_bounded(s):
    tasks = {"t0": run("exit 1")}
    tasks.update({f"t{i}": run("exit 0", f"t{i - 1}") for i in range(1, 3000)})
    flow(s, "long", tasks)
    w = settled(s, "wf/long", [("failed", "wf/long/t0", "2026-03-01", 2999)], date="2026-03-01")
    assert len(w["roots"][0]["waiting"]) == 10 and not w["cut"], w


@test
def wrong_questions_are_refused(s):
    for path, want in (("/wf/nothing", 404), ("/wf/one?date=never", 400), ("/wf/one?x=1", 400), ("/wf", 404)):
        status, answer = s.ask("GET", "/api/v1/why" + path)
        assert status == want, (path, status, answer)


if __name__ == "__main__":
    main(lambda: Site("whyflow").start())
