#!/usr/bin/env python3
"""What runs once more, and with what: parts, parameters, branches, versions. TAP."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

START = "2026-03-01"
DAY1 = "2026-03-01T00:00:00Z"


def workflow(site, name, tasks, state="online", **more):
    """Tasks of a day each, whose plan goes on: nothing of it is due by itself."""
    head = {"workflow": name, "project": "again", "timezone": "UTC", "start_date": START,
            "end_date": "2099-01-01", "state": state}
    text = "".join(f"{k}: {v}\n" for k, v in head.items())
    text += "defaults: {type: shell, cycle: day, catchup: {mode: none}}\ntasks:\n"
    for task, body in tasks.items():
        text += f"  {task}:\n" + "".join(f"    {line}\n" for line in body.strip().splitlines())
    site.apply(text, name + ".yaml", **more)


def script(text, params="", **more):
    return (f"params:\n{params}  script: |\n" +
            "".join(f"    {line}\n" for line in text.splitlines()) +
            "".join(f"{k}: {v}\n" for k, v in more.items()))


def first(task, **more):
    return {"tasks": [f"again/{task}"], "dates": [START], **more}


@test
def a_redo_that_kills_first_runs_with_its_parameters(s):
    file, gate = s.dir / "data" / "kills", s.dir / "data" / "kills-gate"
    workflow(s, "kills", {"a": script(f"echo ${{day}} >> {file}\n"
                                      f"while [ ! -e {gate} ]; do sleep 0.05; done",
                                      params="  day: one\n")})
    s.command("backfill", selection=first("kills/a"))
    until("the first runs", lambda: file.exists() and file.read_text() == "one\n")
    s.command_over(s.command("redo", selection=first("kills/a"), running="kill", priority=9,
                             params={"day": "two"}))
    until("the second has its own", lambda: file.read_text().split() == ["one", "two"], seconds=60)
    gate.write_text("")
    s.wait_state("again/kills/a", DAY1, "Succ", seconds=60)
    assert s.instance("again/kills/a", DAY1)["priority"] == 9
    s.command_over(s.command("redo", selection=first("kills/a")))
    until("the next has the task's again",
          lambda: file.read_text().split() == ["one", "two", "one"], seconds=60)


@test
def why_of_a_whole_says_how_its_parts_stand_and_what_one_that_waits_waits_for(s):
    workflow(s, "wait", {"a": script("sleep 600", dispatch="broadcast", machines="[b1, b0]")})
    s.command("backfill", selection=first("wait/a"))
    whole = s.wait_state("again/wait/a", DAY1, "Running", seconds=60)["id"]

    def told():
        why = s.get(f"/api/v1/instances/{whole}/why")
        return why if "1 running, 1 " in why["line"].replace("1 queued, 1 running", "1 running, 1 ") else None
    why = until("one runs and one waits", told)
    assert why["code"] == "parts" and "b0" not in why["line"].split(":")[0], why
    waiting = [x["id"] for x in why["waits_for"]]
    assert len(waiting) == 1 and waiting[0].startswith(whole + "."), why
    own = s.get(f"/api/v1/instances/{waiting[0]}/why")
    assert f"{waiting[0]}: {own['line']}" in why["line"], (own, why)
    listed = [i["id"] for i in json.loads(s.sirdar("run", "list", "again/wait/a", "--parts", "--json").stdout)]
    assert set(waiting) < set(listed) and whole in listed, listed
    said = s.sirdar("logs", "again/wait/a", START, expect=4).stderr
    assert f"its parts print, each on its own: {whole}.1, {whole}.2\n" in said, said
    s.sirdar("kill", "again/wait/a", START, "--yes")


@test
def only_the_failed_parts_of_a_broadcast_run_again(s):
    s.add_broker("b2")
    until("its loader takes jobs", lambda: any(t["type"] == "shell" and t["accepts"] for b in s.get("/api/v1/brokers")["brokers"]
                                               if b["name"] == "b2" for t in b["types"]))
    file, good = s.dir / "data" / "parts", s.dir / "data" / "parts-good"
    workflow(s, "parts", {"a": script(f'echo $SIRDAR_PART >> {file}\n'
                                      f'[ $SIRDAR_PART = 1 -o -e {good} ]',
                                      dispatch="broadcast", retry="{attempts: 1}"),
                          "b": script("exit 0")})
    s.command("backfill", selection=first("parts/a"))
    s.command("backfill", selection=first("parts/b"))
    s.wait_state("again/parts/a", DAY1, "StopSchedule", seconds=60)
    assert sorted(file.read_text().split()) == ["1", "2"]
    good.write_text("")
    dry = s.command("redo", dry_run=True, selection=first("parts/a"), failed_parts=True)
    assert dry["total"] == 1, dry
    s.sirdar("redo", "again/parts/a", START, "--failed-parts", "--yes", "--wait")
    s.wait_state("again/parts/a", DAY1, "Succ", seconds=60)
    assert sorted(file.read_text().split()) == ["1", "2", "2"]
    dry = s.command("redo", dry_run=True, selection=first("parts/a"), failed_parts=True)
    assert dry["total"] == 0 and dry["unchanged"] == 1, dry
    s.command("redo", selection=first("parts/a"), failed_parts=True, running="kill", expect=(400,))
    s.wait_state("again/parts/b", DAY1, "Succ", seconds=60)
    done = s.command_over(s.command("redo", selection=first("parts/b"), failed_parts=True))
    assert done["failed"] == 1, done


@test
def why_of_a_part_that_is_over_says_how_it_ended(s):
    if len(s.get("/api/v1/brokers")["brokers"]) < 2:
        s.add_broker("b2")
    workflow(s, "ends", {"good": script("true", dispatch="broadcast"),
                         "long": script("sleep 600", dispatch="broadcast")})
    s.command("backfill", selection=first("ends/good"))
    s.command("backfill", selection=first("ends/long"))
    whole = s.wait_state("again/ends/good", DAY1, "Succ", seconds=60)["id"]
    told = s.get(f"/api/v1/instances/{whole}.1/why")
    assert (told["code"], told["state"]) == ("over", "Succ") and told["line"].startswith("succeeded"), told
    long = s.wait_state("again/ends/long", DAY1, "Running", seconds=60)["id"]
    until("both parts run", lambda: len([i for i in s.instances("again/ends/long", "Running", parts="true") if i["part"]]) == 2)
    s.sirdar("kill", "--yes", "--wait", long)
    s.wait_state("again/ends/long", DAY1, "Killed", seconds=60)
    for part in (1, 2):
        told = s.get(f"/api/v1/instances/{long}.{part}/why")
        assert (told["code"], told["state"]) == ("over", "Killed"), told
    assert s.sirdar("why", f"{long}.1").stdout.startswith("killed")
    assert s.get(f"/api/v1/instances/{long}.7/why")["code"] == "unplanned"


@test
def logs_of_a_generation_that_is_none_are_refused(s):
    workflow(s, "gens", {"a": script("echo one")})
    s.command("backfill", selection=first("gens/a"))
    one = s.wait_state("again/gens/a", DAY1, "Succ", seconds=60)["id"]
    assert "one" in s.sirdar("logs", one, "-g", "1").stdout
    for follow in ((), ("-f",)):
        done = s.sirdar("logs", one, "-g", "99", *follow, expect=4)
        assert f"{one} has no generation 99, its last is 1" in done.stderr, done.stderr


@test
def a_retry_runs_what_its_instance_began_with_and_a_redo_what_is_asked(s):
    file, gate = s.dir / "data" / "body", s.dir / "data" / "body-gate"

    def put(word):
        workflow(s, "body", {"a": script(
            f"echo {word}-${{n}} >> {file}\n"
            f"while [ ! -e {gate} ]; do sleep 0.05; done\n[ $SIRDAR_ATTEMPT != 1 ]",
            params=f"  n: {word}\n", retry="{attempts: 3, delay: 100ms}")})

    def said():
        return file.read_text().split() if file.exists() else []

    put("one")
    s.command("backfill", selection=first("body/a"))
    until("it runs", lambda: said() == ["one-one"])
    put("two")
    s.base.restart(hard=True)
    until("it is there again", s.up)
    gate.write_text("")
    s.wait_state("again/body/a", DAY1, "Succ", seconds=60)
    assert said() == ["one-one"] * 2, said()
    put("three")
    s.command_over(s.command("redo", selection=first("body/a"), body="old", params={"n": "x"}))
    until("the old one ran", lambda: said()[2:] == ["one-x"] * 2, seconds=60)
    s.wait_state("again/body/a", DAY1, "Succ", seconds=60)
    assert s.instance("again/body/a", DAY1)["version"] == 1
    s.command_over(s.command("redo", selection=first("body/a")))
    until("the current ran", lambda: said()[4:] == ["three-three"] * 2, seconds=60)
    s.wait_state("again/body/a", DAY1, "Succ", seconds=60)
    assert s.instance("again/body/a", DAY1)["version"] == 3
    s.command_over(s.command("redo", selection=first("body/a"), body="old"))
    until("old is now three", lambda: said()[6:] == ["three-three"] * 2, seconds=60)


@test
def a_body_that_cannot_be_had_is_refused_by_name(s):
    workflow(s, "lost", {"a": script("exit 0")})
    s.command_over(s.command("backfill", selection=first("lost/a")))
    s.wait_state("again/lost/a", DAY1, "Succ", seconds=60)
    workflow(s, "lost", {"a": "type: noop"})
    c = s.command_over(s.command("redo", selection=first("lost/a"), body="old"))
    items = s.get(f"/api/v1/commands/{c['command']}/items")["items"]
    assert c["failed"] == 1 and "another task type" in str(items), (c, items)


@test
def a_branch_reopens_what_it_had_left_out_also_after_a_restart(s):
    way = s.dir / "data" / "way"
    way.write_text('["b"]')
    workflow(s, "fork", {
        "a": script(f'if [ -e {way} ]; then echo "sirdar:output branch=$(cat {way})"; fi'),
        "b": script("exit 0", needs="[a]"), "c": script("exit 0", needs="[a]")})
    s.command("backfill", selection={"workflow": "again/fork", "dates": [START]})
    s.wait_state("again/fork/b", DAY1, "Succ", seconds=60)
    s.wait_state("again/fork/c", DAY1, "Skipped", seconds=60)
    s.base.restart(hard=True)
    until("it is there again", s.up)
    way.unlink()
    s.command_over(s.command("redo", selection=first("fork/a")))
    s.wait_state("again/fork/c", DAY1, "Succ", seconds=60)


@test
def of_two_who_change_the_same_document_the_later_is_refused(s):
    s.sirdar("param", "set", "lake=east")
    d = next(d for d in s.get("/api/v1/parameters")["items"] if d["name"] == "parameters")

    def put(value, version, expect):
        text = f"global:\n  lake: {value}\n"
        return s.command("apply", expect=expect, documents=[
            {"name": "p.yaml", "text": text, "version": version}])

    put("north", d["version"], (202,))
    until("it is so", lambda: "north" in s.sirdar("param", "list").stdout)
    answer = put("south", d["version"], (409,))
    assert "changed meanwhile" in str(answer), answer
    assert "north" in s.sirdar("param", "list").stdout
    put("south", 0, (409,))
    s.sirdar("param", "set", "lake=west")
    assert "west" in s.sirdar("param", "list").stdout


@test
def a_workflow_goes_out_of_the_lists_with_the_last_of_its_tasks(s):
    workflow(s, "gone", {"a": script("exit 0"), "b": script("exit 0")})
    names = lambda *more: s.sirdar("workflow", "list", *more).stdout  # noqa: E731
    assert "again/gone" in names()
    s.sirdar("retire", "again/gone/a", "--yes", "--wait")
    assert "again/gone" in names()
    s.sirdar("retire", "again/gone/b", "--yes", "--wait")
    until("it is hidden", lambda: "again/gone" not in names())
    assert "again/gone" in names("--all")
    s.base.restart()
    until("it is there again", s.up)
    assert "again/gone" not in names()
    workflow(s, "gone", {"a": script("exit 0")})
    assert "again/gone" in names()


if __name__ == "__main__":
    sys.exit(main(lambda: Site("again").start()))
