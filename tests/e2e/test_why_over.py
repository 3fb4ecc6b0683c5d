#!/usr/bin/env python3
"""Why it ended so: `why` of what is over, as the API and the command line answer it. TAP."""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

DAY = "2026-03-01T00:00:00Z"
OVER = ("StopSchedule", "Killed", "Succ", "Skipped")


def workflow(s, name, task, start="2026-03-01", end="2026-03-01"):
    s.apply(f"""workflow: {name}
project: al
timezone: UTC
start_date: {start}
end_date: {end}
defaults: {{type: shell, cycle: day, retry: {{attempts: 1}}, catchup: {{mode: all, max: 10000}}}}
tasks: {{t: {json.dumps(task)}}}
""", name + ".yaml", **{"from": start})


def script(text, **more):
    return {"params": {"script": text}, **more}


def why(s, task, states=OVER):
    i = s.wait_state(task, DAY, states, 120)
    return i, s.get(f"/api/v1/instances/{i['id']}/why")


def end(s, name, task, states=OVER):
    workflow(s, name, task)
    i, w = why(s, f"al/{name}/t", states)
    assert w["code"] == "over" and w["waits_for"] == [] and w["ended"]["reason"] == i["reason"], w
    return i, w


@test
def of_a_failure_it_says_what_each_attempt_ended_with(s):
    count = s.dir / "data" / "count"
    i, w = end(s, "fails", script(f"echo x >> {count}; n=$(wc -l < {count}); echo no luck with try $n >&2; exit $n",
                                  retry={"attempts": 3, "delay": "0s"}))
    e = w["ended"]
    assert (e["how"], e["attempt"], e["by"], e["more"]) == ("failed", 3, None, False), e
    assert [(a["attempt"], a["state"], a["failure"]["exit"], a["failure"]["line"], a["broker"]) for a in e["attempts"]] == [
        (n, "Failed" if n < 3 else "StopSchedule", f"exit code {n}", f"no luck with try {n}", "b1") for n in (1, 2, 3)], e
    assert all(a["started"] <= a["ended"] for a in e["attempts"]) and w["failure"]["tail"] == "no luck with try 3", w
    said = s.sirdar("why", i["id"]).stdout
    assert "\nattempt 3, it took " in said and said.startswith("failed, attempts used up") and "how: " not in said and "Schedule" not in said and "no luck with try 1" in said and "cause: no luck with try 3\n" in said, said


@test
def of_a_success_how_long_it_took_and_at_which_attempt(s):
    flag = s.dir / "data" / "flag"
    i, w = end(s, "good", script(f"test -e {flag} || {{ touch {flag}; exit 1; }}", retry={"attempts": 2, "delay": "0s"}))
    e = w["ended"]
    assert i["state"] == "Succ" and (e["how"], e["attempt"]) == ("succeeded", 2) and e["took_us"] >= 0 and "failure" not in w, w
    assert [a["state"] for a in e["attempts"]] == ["Failed", "Succ"] and "failure" not in e["attempts"][1], e
    assert "\nattempt 2, it took" in s.sirdar("why", i["id"]).stdout


@test
def of_a_kill_by_whom_and_with_what_words(s):
    workflow(s, "killed", script("exec sleep 600"))
    i = s.wait_state("al/killed/t", DAY, "Running", 60)
    until("it runs", lambda: s.get(f"/api/v1/instances/{i['id']}")["started"])
    s.sirdar("kill", i["id"], "--yes", "--message", "the file is <late>")
    _, w = why(s, "al/killed/t", "Killed")
    e = w["ended"]
    assert e["how"] == "killed" and e["by"]["kind"] == "kill" and "test-" in e["by"]["actor"] and e["by"]["message"] == "the file is <late>", e
    assert len(e["attempts"]) == 1 and e["attempts"][0]["failure"]["class"] == "killed", e


@test
def of_what_was_forced_or_skipped_by_hand_by_whom(s):
    workflow(s, "hand", script("exit 0"), start="2030-03-01", end="2030-03-02")
    for day, verb, how in (("2030-03-01", "skip", "skipped"), ("2030-03-02", "force-success", "forced")):
        s.sirdar(verb, "al/hand/t", day, "--yes", "--message", "by hand")
        i = s.wait_state("al/hand/t", f"{day}T00:00:00Z", ("Skipped", "Succ"), 60)
        e = s.get(f"/api/v1/instances/{i['id']}/why")["ended"]
        assert (e["how"], e["by"]["kind"], e["by"]["message"], e["attempts"]) == (how, verb, "by hand", []), e
        said = s.sirdar("why", "al/hand/t", day).stdout
        assert ("how: forced\n" in said) if how == "forced" else ("how" not in said and said.startswith("skipped")), said


@test
def of_what_a_parents_end_skipped_which_parent(s):
    s.apply("""workflow: chain
project: al
timezone: UTC
start_date: 2026-03-01
end_date: 2026-03-01
defaults: {type: shell, cycle: day, retry: {attempts: 1}, catchup: {mode: all, max: 10}}
tasks:
  load: {params: {script: "exit 4"}}
  other: {params: {script: "exit 0"}}
  mended: {params: {script: "exit 0"}, needs: [{task: load, on: failure}]}
  never: {params: {script: "exit 0"}, needs: [{task: other, on: failure}]}
""", "chain.yaml", **{"from": "2026-03-01"})
    i, w = why(s, "al/chain/never", "Skipped")
    assert (w["ended"]["how"], w["ended"]["reason"]) == ("skipped", "link"), w
    assert [(x["task"], x["label"], x["state"]) for x in w["skipped_by"]] == [("al/chain/other", "2026-03-01", "Succ")], w
    assert "skipped by: al/chain/other 2026-03-01 (succeeded)\n" in s.sirdar("why", i["id"]).stdout
    _, w = why(s, "al/chain/mended", "Succ")
    assert w["skipped_by"] == [], w


@test
def of_what_ran_too_long_that_it_timed_out(s):
    _, w = end(s, "slow", script("exec sleep 600", alive_wait="1s"))
    assert w["ended"]["how"] == "timed_out" and "ran longer than 1 s" in w["failure"]["exit"], w


@test
def of_what_ran_dry_that_nothing_ran(s):
    _, w = end(s, "dry", script("exit 9", dry_run=True))
    assert (w["ended"]["how"], w["ended"]["attempts"]) == ("dry_run", []), w


@test
def of_a_redo_only_its_own_attempts(s):
    workflow(s, "redone", script("exit 6"))
    i, w = why(s, "al/redone/t")
    s.sirdar("redo", i["id"], "--yes", "--wait", expect=7)
    e = until("it is over again", lambda: (lambda w: w.get("ended"))(s.get(f"/api/v1/instances/{i['id']}/why")))
    assert len(e["attempts"]) == 1 and e["attempts"][0]["started"] > w["ended"]["attempts"][0]["ended"], (e, w)


if __name__ == "__main__":
    main(lambda: Site("whyover").start())
