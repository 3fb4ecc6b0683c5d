#!/usr/bin/env python3
"""What projects and people have of what is bounded, against the limit: /api/v1/quotas and `sirdar quota show`. TAP."""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

TASKS = 5


def document(s, project):
    return (f"workflow: wait\nproject: {project}\nstart_date: 2026-03-01\n"
            "defaults: {type: shell, cycle: day, catchup: {mode: none}}\ntasks:\n" +
            "".join(f"  t{i}: {{params: {{script: 'while [ ! -e {s.dir}/go ]; do sleep 0.2; done'}}}}\n" for i in range(TASKS)))


def rows(s):
    return {r["project"]: r for r in s.get("/api/v1/quotas")["projects"]}


@test
def each_project_has_its_use_beside_its_limit(s):
    s.sirdar("quota", "set", "bound", "2")
    s.apply(document(s, "bound"), "bound.yaml")
    s.apply(document(s, "free"), "free.yaml")
    for project in ("bound", "free"):
        s.command_over(s.command("run-now", selection={"tasks": [f"{project}/wait/*"], "dates": ["2026-03-01"]}))
    bound = {"project": "bound", "tasks": TASKS, "unfinished": TASKS, "running": 2, "running_max": 2, "waiting": TASKS - 2}
    until("the quota is full", lambda: rows(s).get("bound") == bound)
    free = {"project": "free", "tasks": TASKS, "unfinished": TASKS, "running": TASKS, "running_max": None, "waiting": 0}
    until("all of the other run", lambda: rows(s).get("free") == free)
    limits = s.get("/api/v1/quotas")
    assert limits["unfinished_max"] == 1000 and limits["commands_max"] == 7 and limits["people"] == [], limits


@test
def commands_at_work_are_counted_by_person(s):
    for task in ("free/wait/t0", "free/wait/t1"):
        s.command("redo", selection={"tasks": [task], "dates": ["2026-03-01"]}, running="wait")
    people = until("they wait", lambda: s.get("/api/v1/quotas")["people"])
    assert len(people) == 1 and people[0]["person"].startswith("token:") and people[0]["commands"] == 2, people


@test
def the_command_line_shows_them(s):
    lines = [line.split() for line in s.sirdar("quota", "show").stdout.splitlines() if line.strip()]
    assert ["bound", "5", "1000", "2", "2", "3", "5"] in lines and ["free", "5", "1000", "5", "any", "0", "5"] in lines, lines
    assert any(words[0].startswith("token:") and words[1:] == ["2", "7"] for words in lines), lines
    one = s.sirdar("quota", "show", "free").stdout
    assert "free" in one and "bound" not in one and "token:" not in one, one
    assert "no project none" in s.sirdar("quota", "show", "none", expect=4).stderr
    assert json.loads(s.sirdar("quota", "show", "--json").stdout)["commands_max"] == 7
    (s.dir / "go").touch()
    until("all is over", lambda: all(r["unfinished"] == r["running"] == 0 for r in rows(s).values()))


def site():
    return Site("quotas", person_commands_max=7, project_unfinished_max=1000).start(types=("shell:20",))


if __name__ == "__main__":
    sys.exit(main(site))
