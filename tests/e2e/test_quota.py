#!/usr/bin/env python3
"""What one person, and one project, may have in the server at a time: commands that are not over, unfinished instances, large
bodies under way. A refusal names the limit, what holds it and what to do, and nothing was made. TAP."""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TESTS, Site, main, test, until  # noqa: E402
from test_budget import ask, token  # noqa: E402
from test_large_apply import head_only  # noqa: E402
from test_settings import anew, cgi_anew  # noqa: E402

TESTS.clear()


def tasks(project, name="w"):
    return (f"project: {project}\nworkflow: {name}\ndefaults: {{type: noop, cycle: minute, start_date: 2025-01-01, "
            "end_date: 2026-07-01, catchup: {mode: none}, state: frozen}\ntasks:\n  one: {}\n")


def backfill(s, project, to, expect=(200, 202), dry_run=False, day="2025-02-01", **more):
    return s.command("backfill", selection={"workflow": f"{project}/w", "from": f"{day}T00:00", "to": to}, expect=expect,
                     dry_run=dry_run, **more)


def rows(s, project):
    return len(s.instances(f"{project}/w/one"))


@test
def a_backfill_beyond_the_bound_of_its_project_is_refused_before_anything_is_made(s):
    anew(s, project_unfinished_max=100)
    for project in ("full", "other"):
        s.apply(tasks(project))
    s.command_over(backfill(s, "full", "2025-02-01T00:59"))
    until("sixty wait", lambda: rows(s, "full") == 60)
    for dry in (True, False):
        said = backfill(s, "full", "2025-02-02T23:59", expect=(429,), dry_run=dry, day="2025-02-02")["error"]
        assert said["code"] == "LIMIT" and said["retry"] and "project full has 60 unfinished instances" in said["message"], said
        assert "would make 1440: project_unfinished_max allows 100" in said["message"] and "--parallel" in said["hint"], said
    assert rows(s, "full") == 60
    s.command_over(backfill(s, "other", "2025-02-01T00:59"))  # another project's are its own
    s.command_over(backfill(s, "full", "2025-02-02T00:39", day="2025-02-02"))  # what fits is taken
    assert rows(s, "full") == 100
    assert backfill(s, "full", "2025-02-03T00:00", expect=(429,), day="2025-02-03")
    s.command_over(backfill(s, "full", "2025-02-01T00:59"))  # they are there already


@test
def a_million_dates_are_refused_and_a_few_at_a_time_are_not(s):
    anew(s, project_unfinished_max=1000)
    s.apply(tasks("many"))
    said = backfill(s, "many", "2026-05-31T23:59", expect=(429,), day="2025-01-01")["error"]
    assert "project_unfinished_max allows 1000" in said["message"], said
    assert rows(s, "many") == 0
    taken = backfill(s, "many", "2026-05-31T23:59", day="2025-01-01", parallel=5)
    until("some are made", lambda: rows(s, "many") >= 5)
    s.command("command-cancel", command=taken["command"])
    until("it is over", lambda: s.get(f"/api/v1/commands/{taken['command']}")["state"] == "cancelled", 60)


@test
def a_command_that_was_taken_goes_on_after_a_restart_though_the_bound_is_smaller(s):
    anew(s)
    s.apply(tasks("later"))
    taken = backfill(s, "later", "2025-02-01T01:39", parallel=50)
    until("some are made", lambda: rows(s, "later") >= 50)
    anew(s, project_unfinished_max=10)
    assert s.get(f"/api/v1/commands/{taken['command']}")["state"] == "running"
    assert rows(s, "later") >= 50
    s.command("command-cancel", command=taken["command"])
    until("it is over", lambda: s.get(f"/api/v1/commands/{taken['command']}")["state"] == "cancelled", 60)


@test
def to_enqueue_dates_makes_them_too_and_counts(s):
    anew(s, project_unfinished_max=10)
    s.apply(tasks("early"))
    minutes = [f"2025-02-01T00:{n:02d}" for n in range(11)]

    def enqueue(dates, **more):
        return s.command("enqueue", selection={"tasks": ["early/w/one"], "dates": dates}, **more)
    for dry in (True, False):
        said = enqueue(minutes, expect=(429,), dry_run=dry)["error"]
        assert "would make 11: project_unfinished_max allows 10" in said["message"], said
    assert rows(s, "early") == 0
    s.command_over(enqueue(minutes[:10]))
    assert rows(s, "early") == 10
    s.command_over(enqueue(minutes[:10]))  # they are there already


@test
def a_backfill_of_n_at_a_time_counts_as_n_while_n_are_under_way(s):
    anew(s, project_unfinished_max=10)
    s.apply(tasks("some"))
    taken = backfill(s, "some", "2025-02-01T01:39", parallel=5)
    until("five are under way", lambda: rows(s, "some") == 5)
    said = backfill(s, "some", "2025-02-02T00:05", expect=(429,), day="2025-02-02")["error"]
    assert "has 5 unfinished instances, commands at work make 0 more, and this one would make 6" in said["message"], said
    s.command_over(backfill(s, "some", "2025-02-02T00:04", day="2025-02-02"))
    assert rows(s, "some") == 10
    s.command("command-cancel", command=taken["command"])
    until("it is over", lambda: s.get(f"/api/v1/commands/{taken['command']}")["state"] == "cancelled", 60)


@test
def what_a_plan_piles_up_beyond_the_bound_is_told_until_it_is_gone(s):
    anew(s, project_unfinished_max=5)
    assert s.get("/api/v1/health")["crowded"].count("piled") == 0
    s.apply("project: piled\nworkflow: w\ndefaults: {type: noop, cycle: day, start_date: 2026-06-01, end_date: 2026-06-08, catchup: {mode: all}, "
            "group: nobodys}\ntasks:\n  one: {}\n", **{"from": "2026-06-01T00:00:00Z"})
    until("the plan has made them", lambda: rows(s, "piled") > 5)
    until("it is told", lambda: "piled" in s.get("/api/v1/health")["crowded"].split(", "))
    row = next(r for r in json.loads(s.sirdar("quota", "show", "--json").stdout)["projects"] if r["project"] == "piled")
    assert row["unfinished"] > 5, row
    s.command_over(s.command("force-success", selection={"workflow": "piled/w", "from": "2026-06-01T00:00", "to": "2026-06-10T00:00"}))
    until("it is over", lambda: "piled" not in s.get("/api/v1/health")["crowded"].split(", "))


@test
def who_has_too_many_commands_may_still_end_hold_back_and_shut_out(s):
    anew(s, person_commands_max=3)
    s.apply(tasks("brake"))
    held = [backfill(s, "brake", f"{day}T00:01", day=day, parallel=1) for day in ("2025-04-01", "2025-04-02", "2025-04-03")]
    until("three are made", lambda: rows(s, "brake") == 3)
    work = {"backfill": {"selection": {"tasks": ["brake/w/one"], "dates": ["2025-04-04T00:00"]}},
            "redo": {"selection": {"tasks": ["brake/w/one"], "dates": ["2025-04-01T00:00"]}},
            "unfreeze": {"selection": {"tasks": ["brake/w/one"]}}}
    for kind, args in work.items():
        assert "person_commands_max allows 3" in s.command(kind, expect=(429,), **args)["error"]["message"], kind
    one = {"selection": {"tasks": ["brake/w/one"], "dates": ["2025-04-01T00:00"]}}
    assert s.ask("POST", "/api/v1/peers", {"peer": "elsewhere", "kind": "broker"})[0] in (200, 201, 202)
    brakes = [("peer-revoke", {"peer": "elsewhere"}),
              ("project-untrust", {"project": "elsewhere"}), ("broker-drain", {"brokers": ["b1"]}),
              ("broker-undrain", {"brokers": ["b1"]}), ("freeze", {"selection": {"tasks": ["brake/w/one"]}}),
              ("workflow-quarantine", {"selection": {"workflow": "brake/w"}}),
              ("workflow-release", {"selection": {"workflow": "brake/w"}}), ("kill", one), ("skip", one),
              ("offline", {"selection": {"tasks": ["brake/w/one"]}})]
    for kind, args in brakes:
        s.command_over(s.command(kind, **args))
    for taken in held:
        s.command("command-cancel", command=taken["command"], expect=(200, 202, 400, 409))
    until("they are over", lambda: not s.get("/api/v1/commands?open=true")["items"], 60)


@test
def one_persons_commands_under_way_hold_up_nobody_else(s):
    anew(s, person_commands_max=3)
    s.apply(tasks("p"))
    ann, ben = token(s, "ann"), token(s, "ben")
    for name in ("ann", "ben"):
        s.command("user-set", user=name, role="operator", projects=["p"], rights=["backfill"])
    ann, ben = token(s, "ann"), token(s, "ben")

    def give(who, n, kind="backfill", **more):
        args = more or {"selection": {"workflow": "p/w", "dates": [f"2025-03-01T00:{n:02d}", f"2025-03-01T01:{n:02d}"]}, "parallel": 1}
        return ask(s, "POST", "/api/v1/commands", {"kind": kind, "args": args, "request_id": os.urandom(8).hex()}, **who)
    held = [give(ann, n) for n in range(3)]
    assert all(status in (200, 202) for status, _ in held), held
    status, said = give(ann, 3)
    assert status == 429 and said["error"]["code"] == "LIMIT" and int(s.head["Retry-After"]) >= 1, (status, said, s.head)
    assert "ann has 3 commands that are not over, person_commands_max allows 3" in said["error"]["message"], said
    assert give(ben, 4)[0] in (200, 202)
    status, said = give(ann, 0, "command-cancel", command=held[0][1]["command"])
    assert status in (200, 202), said
    until("one is over", lambda: s.get(f"/api/v1/commands/{held[0][1]['command']}")["state"] == "cancelled", 60)
    assert give(ann, 5)[0] in (200, 202)


@test
def one_person_holds_not_all_large_bodies(s):
    anew(s)
    cgi_anew(s, request_bytes_max=1024, applies_max=4)
    for name in ("ann", "ben"):
        token(s, name)
        s.command("user-set", user=name, role="developer", projects=["p"])
    ann, ben = token(s, "ann"), token(s, "ben")
    held = []

    def begun():
        """The head of another large body has been taken."""
        link, answer = head_only(s, 100000, who=ann["Authorization"].split()[1])
        if " 100 " not in answer:
            link.close()
            return False
        held.append(link)
        return len(held) == 2
    until("two are under way", begun)
    body = {"documents": [{"name": "x", "text": "#" * 4000}]}

    def refused():
        status, said = ask(s, "POST", "/api/v1/workflows", body, **ann)
        return (status, said) if status == 429 else None
    status, said = until("the third of one person is refused", refused)
    assert "applies_max" in json.dumps(said) and int(s.head["Retry-After"]) == 1, (said, s.head)
    status, said = ask(s, "POST", "/api/v1/workflows", body, **ben)
    assert status != 429 and "applies_max" not in json.dumps(said), (status, said)
    for link in held:
        link.close()
    until("and is taken when they are over", lambda: ask(s, "POST", "/api/v1/workflows", body, **ann)[0] != 429)


def make():
    return Site("quota").start(types=("noop:32",))


if __name__ == "__main__":
    sys.exit(main(make))
