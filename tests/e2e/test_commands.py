#!/usr/bin/env python3
"""What people may ask for, through the command line and the API, on real programs. TAP."""
import http.client
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, rfc3339, test, until  # noqa: E402

START = "2026-03-01"


def day(n):
    return f"2026-03-{n:02d}T00:00:00Z"


def workflow(site, name, tasks, state="online", **more):
    """Tasks of a day each, whose plan goes on: nothing of it is due by itself."""
    head = {"workflow": name, "project": "cmd", "timezone": "UTC", "start_date": START,
            "end_date": "2099-01-01", "state": state, **more}
    text = "".join(f"{k}: {v}\n" for k, v in head.items())
    text += "defaults: {type: shell, cycle: day, catchup: {mode: none}}\ntasks:\n"
    for task, body in tasks.items():
        text += f"  {task}:\n" + "".join(f"    {line}\n" for line in body.strip().splitlines())
    site.apply(text, name + ".yaml")


NOBODY = "type: nobody\ncatchup: {mode: all}"  # no broker has the type: it stays unfinished


def has_begun(s, task):
    """Its plan begins with START: who looks at its dates waits for them."""
    over(s, s.command("online", selection={"tasks": [task]}, **{"from": START}))


def script(text, **more):
    return ("params:\n  script: |\n" + "".join(f"    {line}\n" for line in text.splitlines())
            + "".join(f"{k}: {v}\n" for k, v in more.items()))


def stamp(n):
    """What $SIRDAR_RUN_DATE says of that day."""
    return str(1772323200 + (n - 1) * 86400)


def over(s, answer):
    return s.command_over(answer)


def states(s, task):
    return {i["run_date"]: i["state"] for i in s.instances(task) if i["part"] == 0}


@test
def a_command_that_was_refused_says_why_and_exits_with_1(s):
    workflow(s, "no", {"a": NOBODY})
    has_begun(s, "cmd/no/a")
    for more in ((), ("--wait",)):
        done = s.sirdar("redo", "cmd/no/a", "2098-03-01", "-y", *more, expect=1)
        assert "0 done, 1 refused" in done.stdout, done
        line = done.stdout.splitlines()[1]
        assert "cmd/no/a" in line and "2098-03-01" in line and len(line.split()) > 4, line
    done = s.sirdar("redo", "cmd/no/a", "2098-03-01", "-y", "--json", expect=1)
    assert json.loads(done.stdout)["failed"] == 1, done


@test
def a_backfill_runs_missing_dates_and_leaves_what_is_done(s):
    file = s.dir / "data" / "fill"
    workflow(s, "fill", {"a": script(f'echo "$SIRDAR_RUN_DATE" >> {file}')})
    some = {"tasks": ["cmd/fill/a"], "from": "2026-03-01", "to": "2026-03-03"}
    over(s, s.command("backfill", selection=some))
    s.wait_all_over("cmd/fill/a", 3)
    all_of_it = {"tasks": ["cmd/fill/a"], "from": "2026-03-01", "to": "2026-03-05"}
    dry = s.command("backfill", dry_run=True, selection=all_of_it, finished="leave")
    assert dry["total"] == 2 and dry["states"] == {"planned": 2}, dry
    assert dry["unchanged"] == 3, dry
    over(s, s.command("backfill", selection=all_of_it, finished="leave"))
    s.wait_all_over("cmd/fill/a", 5)
    assert len(file.read_text().split()) == 5


@test
def a_preview_on_the_command_line_names_owners_and_states(s):
    workflow(s, "look", {"a": script("exit 0"), "b": script("exit 0", needs="[a]")}, owner="mei")
    s.sirdar("backfill", "--workflow", "cmd/look", "--date", START, "--yes", "--wait")
    s.wait_all_over("cmd/look/*", 2)
    out = s.sirdar("redo", "cmd/look/a", START, "--dry-run").stdout
    assert "1 succeeded" in out and "mei" in out and "cmd/look/b" in out, out


@test
def what_changes_tasks_says_how_many_before_and_after(s):
    workflow(s, "count", {"a": script("exit 0"), "b": script("exit 0")})
    both, one = ("--workflow", "cmd/count"), ("cmd/count/a",)
    for verb, more, n in (("freeze", one, 1), ("freeze", both, 1), ("unfreeze", both, 2), ("offline", one, 1),
                          ("offline", both, 1), ("online", both, 2), ("online", both, 0)):
        said = f"{n} task" + ("" if n == 1 else "s")
        out = s.sirdar(verb, *more, "--dry-run", expect=0 if n else 1).stdout
        assert out.startswith(f"{verb}: {said}, "), (verb, out)
        dry = json.loads(s.sirdar(verb, *more, "--dry-run", "--json", expect=0 if n else 1).stdout)
        assert dry["tasks_changed"] == n, dry
        out = s.sirdar(verb, *more, "--yes", "--wait").stdout
        assert f"done, {said}" in out and "0 of 0" not in out, out


@test
def a_workflow_with_nothing_unfinished_is_frozen_and_unfrozen_and_its_tasks_are_named(s):
    workflow(s, "still", {"a": script("exit 0"), "b": script("exit 0")})
    for verb, frozen in (("freeze", True), ("unfreeze", False)):
        out = s.sirdar(verb, "--workflow", "cmd/still").stdout
        assert "2 tasks: cmd/still/a, cmd/still/b" in out, out
        assert {s.get(f"/api/v1/tasks/cmd/still/{t}")["frozen"] for t in "ab"} == {frozen}


@test
def an_unfreeze_of_a_workflow_ends_what_was_frozen_one_by_one(s):
    """The console froze an instance, and the command line unfroze tasks: each went on as the other had left it."""
    gate = s.dir / "data" / "thaw.gate"
    workflow(s, "thaw", {"a": script(f"while [ ! -e {gate} ]; do sleep 0.02; done"), "b": script("exit 0", needs="[a]")})
    s.sirdar("backfill", "--workflow", "cmd/thaw", "--date", "2026-03-08", "--yes")
    b = s.wait_state("cmd/thaw/b", day(8), "Ready")
    for freezes in ([{"instances": [{"id": b["id"]}]}], [{"instances": [{"id": b["id"]}]}, {"workflow": "cmd/thaw"}]):
        for selection in freezes:
            over(s, s.command("freeze", selection=selection))
        assert "frozen" in s.instance("cmd/thaw/b", day(8))["flags"]
        s.sirdar("unfreeze", "--workflow", "cmd/thaw")
        assert "frozen" not in s.instance("cmd/thaw/b", day(8))["flags"]
    gate.touch()
    s.wait_state("cmd/thaw/b", day(8), "Succ")


@test
def what_counts_nothing_says_to_what_it_was_done(s):
    for words in (("pool", "set", "counted", "3"), ("quota", "set", "cmd", "0"), ("broker", "drain", "b1", "--yes"),
                  ("broker", "undrain", "b1", "--yes"), ("log-level", "info"), ("pool", "remove", "counted")):
        out = s.sirdar(*words).stdout
        of = [w for w in words if w != "--yes"]
        assert out.endswith("done, " + " ".join(of[1 if words[0] == "log-level" else 2:]) + "\n"), out


@test
def the_same_request_twice_is_one_command(s):
    workflow(s, "twice", {"a": script("exit 0")})
    sel = {"tasks": ["cmd/twice/a"], "dates": [START]}
    first = s.command("backfill", request_id="twice-and-once", selection=sel)
    again = s.command("backfill", request_id="twice-and-once", selection=sel)
    assert first["command"] == again["command"], (first, again)
    s.base.restart(hard=True)
    until("it is there again", s.up)
    again = s.command("backfill", request_id="twice-and-once", selection=sel)
    assert first["command"] == again["command"], (first, again)
    s.command("backfill", request_id="twice-and-once", selection=sel, priority=9, expect=(409,))


@test
def a_redo_waits_for_what_runs(s):
    gate, file = s.dir / "data" / "wait-gate", s.dir / "data" / "wait"
    workflow(s, "wait", {"a": script(f"echo x >> {file}\n"
                                     f"while [ ! -e {gate} ]; do sleep 0.05; done")})
    sel = {"tasks": ["cmd/wait/a"], "dates": [START]}
    s.command("backfill", selection=sel)
    until("it runs", lambda: file.exists() and file.read_text() == "x\n")
    answer = s.command("redo", selection=sel, running="wait")
    assert answer["state"] == "running", answer
    assert s.instance("cmd/wait/a", day(1))["state"] == "Running"
    gate.touch()
    over(s, answer)
    until("it ran twice", lambda: file.read_text() == "x\nx\n")
    i = s.wait_state("cmd/wait/a", day(1), "Succ")
    assert i["generation"] == 2, i


@test
def cancel_takes_back_what_has_not_started(s):
    workflow(s, "back", {"a": NOBODY, "b": script("exit 0", needs="[a]")})
    has_begun(s, "cmd/back/a")
    sel = {"tasks": ["cmd/back/b"], "from": "2026-03-01", "to": "2026-03-04"}
    s.command("force-success", selection={"tasks": ["cmd/back/b"], "dates": ["2026-03-01"]})
    answer = s.command("backfill", selection=sel, dependencies="all", stop_on_failure=True)
    until("they wait", lambda: list(states(s, "cmd/back/b").values()) == ["Ready"] * 4)
    over(s, s.command("command-cancel", command=answer["command"]))
    until("they wait no more", lambda: "Ready" not in states(s, "cmd/back/b").values())
    assert states(s, "cmd/back/b") == {day(1): "Succ", day(2): "Skipped", day(3): "Skipped",
                                       day(4): "Skipped"}
    told = s.get(f"/api/v1/commands/{answer['command']}")
    assert told["state"] == "cancelled" and told["error"].startswith("cancelled by token:"), told


@test
def a_request_that_was_cancelled_says_so_when_it_comes_again(s):
    workflow(s, "spent", {"a": NOBODY, "b": script("exit 0", needs="[a]")})
    has_begun(s, "cmd/spent/a")
    args = {"request_id": os.urandom(16).hex(), "dependencies": "all", "stop_on_failure": True,
            "selection": {"tasks": ["cmd/spent/b"], "from": "2026-03-01", "to": "2026-03-04"}}
    first = s.command("backfill", **args)
    over(s, s.command("command-cancel", command=first["command"]))
    again = s.command("backfill", **args)
    assert again["command"] == first["command"] and again["state"] == "cancelled", again
    assert again["error"].startswith("cancelled by token:"), again


@test
def dependencies_inside_all_and_ignored(s):
    workflow(s, "deps", {"far": NOBODY, "a": script("exit 0", needs="[far]"),
                         "b": script("exit 0", needs="[a]")})
    has_begun(s, "cmd/deps/far")
    both = {"tasks": ["cmd/deps/a", "cmd/deps/b"]}
    s.command("backfill", selection={**both, "dates": ["2026-03-01"]}, dependencies="inside")
    s.wait_state("cmd/deps/b", day(1), "Succ")
    s.command("backfill", selection={**both, "dates": ["2026-03-02"]}, dependencies="all")
    s.wait_state("cmd/deps/a", day(2), "Ready")
    s.command("backfill", selection={"tasks": ["cmd/deps/b"], "dates": ["2026-03-03"]},
              dependencies="ignore")
    s.wait_state("cmd/deps/b", day(3), "Succ")
    assert s.instance("cmd/deps/b", day(2))["state"] == "Ready"


@test
def one_failed_date_stops_the_others_only_when_asked(s):
    workflow(s, "bad", {"a": script(f'test "$SIRDAR_RUN_DATE" != {stamp(1)}')})
    sel = {"tasks": ["cmd/bad/a"], "from": "2026-03-01", "to": "2026-03-04"}
    answer = over(s, s.command("backfill", selection=sel, parallel=1, stop_on_failure=True))
    assert answer["state"] == "failed" and "ended as StopSchedule" in answer["error"], answer
    assert set(states(s, "cmd/bad/a")) == {day(1)}
    over(s, s.command("backfill", selection=sel, parallel=1))
    s.wait_all_over("cmd/bad/a", 4)
    assert states(s, "cmd/bad/a") == {day(1): "StopSchedule", day(2): "Succ", day(3): "Succ",
                                      day(4): "Succ"}


@test
def the_last_date_comes_first_when_asked(s):
    file = s.dir / "data" / "desc"
    workflow(s, "desc", {"a": script(f'echo "$SIRDAR_RUN_DATE" >> {file}')})
    s.sirdar("backfill", "cmd/desc/a", "--from", "2026-03-01", "--to", "2026-03-04",
             "--order", "desc", "--parallel", "1", "--yes", "--wait")
    s.wait_all_over("cmd/desc/a", 4)
    assert file.read_text().split() == [stamp(n) for n in (4, 3, 2, 1)]


@test
def only_some_days_of_a_range(s):
    workflow(s, "every", {"a": script("exit 0")})
    s.sirdar("backfill", "cmd/every/a", "--from", "2026-03-01", "--to", "2026-03-31",
             "--every", "monday", "--yes", "--wait")
    s.wait_all_over("cmd/every/a", 5)
    assert set(states(s, "cmd/every/a")) == {day(n) for n in (2, 9, 16, 23, 30)}


@test
def a_draft_is_tried_beside_the_plan(s):
    workflow(s, "draft", {"a": script('echo "tried $SIRDAR_RUN_DATE"')}, state="draft")
    s.sirdar("test-run", "cmd/draft/a", "2026-03-05")
    s.sirdar("test-run", "cmd/draft/a", "2026-03-05")
    until("both ran", lambda: sorted(
        (i["part"], i["state"]) for i in s.instances("cmd/draft/a", parts="true")) ==
        [(-2, "Succ"), (-1, "Succ")])
    one = [i for i in s.instances("cmd/draft/a", parts="true") if i["part"] == -1][0]
    until("its log is there", lambda: f"tried {stamp(5)}" in str(s.log_of(one["id"])))


def drawn(name, body, more=""):
    """The text of a workflow as `workflow()` saves it, with another script."""
    return f"""workflow: {name}
project: cmd
start_date: {START}
timezone: UTC
tasks:
  a:
    type: shell
    cycle: day
    retry: {{attempts: 3, delay: 0s}}
    params:
      script: {json.dumps(body)}
{more}"""


@test
def what_is_not_saved_runs_and_nothing_comes_into_force(s):
    here = s.dir / "data"
    workflow(s, "drawn", {"a": script("echo saved; exit 0")}, state="draft")
    was = s.get("/api/v1/workflows/cmd/drawn")["version"]
    file = here / "drawn.yaml"
    file.write_text(drawn("drawn", f"echo drawn $SIRDAR_RUN_DATE\nuntil test -e {here}/go; "
                                   "do sleep 0.05; done\n"
                                   f"test -e {here}/twice && exit 0; touch {here}/twice; exit 1",
                          "  b: {type: noop, cycle: day, needs: [a]}\n"))
    s.sirdar("test-run", "cmd/drawn/a", "2026-03-05", "--file", file)

    def one():
        rows = s.instances("cmd/drawn/a", parts="true")
        return rows[0] if rows else {"state": "none"}

    until("it runs", lambda: one()["state"] == "Running")
    assert one()["draft"] is True and one()["version"] == 0 and one()["part"] == -1, one()
    s.base.restart(hard=True)
    (here / "go").write_text("")
    until("it failed once and ran again as it was drawn", lambda: one()["state"] == "Succ")
    assert (here / "twice").exists() and one()["attempt"] == 2, one()
    until("its log is there", lambda: f"drawn {stamp(5)}" in
          str(s.ask("GET", f"/api/v1/instances/{one()['id']}/log?attempt=2")[1]))
    assert s.get("/api/v1/workflows/cmd/drawn")["version"] == was
    assert s.ask("GET", "/api/v1/tasks/cmd/drawn/b")[0] == 404
    s.sirdar("test-run", "cmd/drawn/a", "2026-03-06")
    until("what is saved is as it was", lambda: any(
        i["state"] == "Succ" and not i["draft"] and i["version"] == was
        for i in s.instances("cmd/drawn/a", parts="true")))


@test
def a_document_that_is_wrong_is_not_tried(s):
    workflow(s, "wrong", {"a": script("exit 0")}, state="draft")
    sel = {"tasks": ["cmd/wrong/a"], "dates": [START]}
    text = drawn("wrong", "exit 0").replace("cycle: day", "cycle: dya")
    tried = s.command("test-run", selection=sel, document=text, expect=(400,))
    saved = s.command("apply", documents=[{"name": "document", "text": text}], expect=(400,))
    said = [[{**e, "file": ""} for e in a["error"]["details"]["errors"]] for a in (tried, saved)]
    assert said[0] == said[1] and said[0][0]["line"], (tried, saved)
    s.command("test-run", selection=sel, document=drawn("other", "exit 0"), expect=(400,))
    typed = drawn("wrong", "exit 0").replace("type: shell", "type: noop").split("    params")[0]
    assert "saved as shell" in str(s.command("test-run", selection=sel, document=typed,
                                             expect=(409,)))
    new = s.command("test-run", selection={"tasks": ["cmd/wrong/b"]}, expect=(404,),
                    document=drawn("wrong", "exit 0", "  b: {type: noop, cycle: day}\n"))
    assert "never saved" in str(new), new
    status, viewer = s.ask("POST", "/api/v1/tokens", {"name": "sees", "role": "viewer", "rights": []})
    assert status == 201, viewer
    admin, s.token = s.token, viewer["token"]
    try:
        s.command("test-run", selection=sel, document=drawn("wrong", "exit 0"), expect=(403,))
    finally:
        s.token = admin
    assert not s.instances("cmd/wrong/a", parts="true")


@test
def offline_detaches_the_children_that_were_named(s):
    workflow(s, "loose", {"a": NOBODY, "b": script("exit 0", needs="[a]")})
    has_begun(s, "cmd/loose/a")
    s.command("enqueue", selection={"tasks": ["cmd/loose/b"], "dates": [START]})
    s.wait_state("cmd/loose/b", day(1), "Ready")
    sel = {"tasks": ["cmd/loose/a"]}
    s.command("offline", selection=sel, expect=(409,))
    dry = s.command("offline", dry_run=True, selection=sel, detach=True)
    assert dry["detached"] == [{"task": "cmd/loose/b", "parent": "cmd/loose/a"}], dry
    assert s.instance("cmd/loose/b", day(1))["state"] == "Ready"
    over(s, s.command("offline", selection=sel, detach=True))
    s.wait_state("cmd/loose/b", day(1), "Succ")


@test
def what_is_due_later_and_is_enqueued_comes_due_now(s):
    s.apply("workflow: early\nproject: cmd\ntimezone: UTC\ntasks:\n  a: {type: noop, cycle: day}\n"
            "  b: {type: noop, cycle: day, needs: [a]}\n")
    soon = rfc3339((int(time.time()) // 86400 + 2) * 86400)
    both = {"tasks": ["cmd/early/a", "cmd/early/b"], "dates": [soon[:10]]}
    s.command("backfill", selection=both)
    row = s.wait_state("cmd/early/a", soon, "Ready")
    assert s.get(f"/api/v1/instances/{row['id']}/why")["code"] == "due"
    dry = s.command("enqueue", dry_run=True, selection=both)
    assert dry["total"] == 2, dry
    of_b = {"selection": {"tasks": ["cmd/early/b"], "dates": [soon[:10]]}}
    assert s.command_over(s.command("enqueue", **of_b))["done"] == 1
    row = s.instance("cmd/early/b", soon)
    assert row["state"] == "Ready" and s.get(f"/api/v1/instances/{row['id']}/why")["code"] == "link", row
    said = s.sirdar("enqueue", "cmd/early/a", soon[:10]).stdout
    assert "1 of 1" in said, said
    for task in ("a", "b"):
        s.wait_state(f"cmd/early/{task}", soon, "Succ")
    assert "due-now" in {e["event"] for e in s.history(row["id"])}
    again = s.command_over(s.command("enqueue", **of_b))
    assert again["failed"] == 1, again


@test
def a_kill_can_bring_a_shorter_grace(s):
    file = s.dir / "data" / "grace"
    workflow(s, "grace", {"a": script(f"trap '' TERM\necho x >> {file}\n"
                                      "while :; do sleep 0.05; done")})
    s.command("backfill", selection={"tasks": ["cmd/grace/a"], "dates": [START]})
    until("it runs", file.exists)
    s.command("kill", selection={"tasks": ["cmd/grace/a"], "dates": [START]}, grace_ms=100)
    s.wait_state("cmd/grace/a", day(1), "Killed", seconds=60)


@test
def the_log_level_of_brokers_changes_while_they_run(s):
    broker = s.brokers["b1"]
    mark = len(broker.text())
    s.sirdar("log-level", "debug", "b1")
    until("the broker has the order", lambda: "kind=loglevel" in broker.text()[mark:])
    s.sirdar("log-level", "info", "b1")
    answer = s.command("log-level", level="info", brokers=["nobody"], expect=(202, 404))
    assert "nobody" in json.dumps(answer), answer


class Stream:
    """What /api/v1/events says, read as it comes."""

    def __init__(self, site, query=""):
        self.link = http.client.HTTPConnection("127.0.0.1", site.http, timeout=60)
        self.link.request("GET", "/api/v1/events" + query, headers={"Authorization": f"Bearer {site.token}"})
        self.lines, self.kinds = self.link.getresponse(), set()

    def next(self, kind, fits):
        """The next event of this kind that fits."""
        event = ""
        while line := self.lines.readline().decode():
            if line.startswith("event: "):
                event = line[7:].strip()
                self.kinds.add(event)
            elif line.startswith("data: ") and event == kind:
                said = json.loads(line[6:])
                if fits(said):
                    return said
        raise AssertionError("the stream ended")

    def close(self):
        self.link.close()


@test
def the_stream_tells(s):
    workflow(s, "told", {"a": script("exit 0")})
    sel = {"tasks": ["cmd/told/a"], "from": "2026-03-01", "to": "2026-03-04"}
    stream, narrow = Stream(s), Stream(s, "?states=Succ")
    c = s.command("backfill", selection=sel, parallel=1)
    began = stream.next("command", lambda n: n["id"] == c["command"])
    assert set(began) == {"id", "state", "done", "failed", "total"}, began
    ended = stream.next("command", lambda n: n["id"] == c["command"] and n["state"] != "running")
    assert ended == {"id": c["command"], "state": "done", "done": 4, "failed": 0, "total": 4}, ended
    assert s.get(f"/api/v1/commands/{c['command']}")["state"] == "done"
    late = Stream(s)  # who begins to listen hears how the last ones are
    assert late.next("command", lambda n: n["id"] == c["command"]) == ended
    narrow.next("instance", lambda n: n["to"] == "Succ")
    assert "command" not in narrow.kinds, narrow.kinds
    s.base.restart(hard=True)
    stream.next("up", lambda _: True)
    until("the server answers again", lambda: s.ask("GET", "/api/v1/commands?limit=1")[0] == 200)
    c = s.command("skip", selection={"tasks": ["cmd/told/a"], "dates": ["2026-03-09"]})
    stream.next("command", lambda n: n["id"] == c["command"] and n["state"] == "done")
    for one in (stream, narrow, late):
        one.close()


@test
def a_stream_from_a_number_that_nothing_has_yet_is_told_also_beside_others(s):
    workflow(s, "past", {"a": script("exit 0")})
    others = Stream(s)
    s.command("skip", selection={"tasks": ["cmd/past/a"], "dates": ["2026-03-08"]})
    others.next("instance", lambda n: n["to"] == "Skipped")
    ahead = Stream(s, f"?from={10**15}")
    ahead.next("gap", lambda _: True)
    s.command("skip", selection={"tasks": ["cmd/past/a"], "dates": ["2026-03-09"]})
    for one in (ahead, others):  # and it misses nothing from there on
        assert one.next("instance", lambda n: n["to"] == "Skipped")["run_date"] == day(9)
    assert "gap" not in others.kinds, others.kinds
    here = Stream(s, f"?from={s.get('/api/v1/server')['number']}")
    s.command("skip", selection={"tasks": ["cmd/past/a"], "dates": ["2026-03-10"]})
    here.next("instance", lambda n: n["run_date"] == day(10))
    assert "gap" not in here.kinds, here.kinds
    for one in (ahead, others, here):
        one.close()


@test
def the_id_that_lists_print_serves_where_a_task_and_its_date_do(s):
    workflow(s, "ids", {"a": script("echo hello; exec sleep 600"), "b": script("echo hello", state="frozen")})
    s.sirdar("backfill", "cmd/ids/a", START, "--yes")
    s.sirdar("backfill", "cmd/ids/b", START, "2026-03-02", "--yes")
    s.wait_state("cmd/ids/a", day(1), "Running")
    listed = {(i["task"], i["run_date"]): i["id"] for i in json.loads(s.sirdar("run", "list", "cmd/ids/*", "--json").stdout)}
    a, b, b2 = (listed["cmd/ids/a", day(1)], listed["cmd/ids/b", day(1)], listed["cmd/ids/b", day(2)])
    assert a in s.sirdar("run", "list", "cmd/ids/a").stdout
    until("it has printed", lambda: s.sirdar("logs", a, expect=None).stdout == "hello\n")
    for words in (("run", "show"), ("run", "history"), ("why",), ("logs",)):
        assert s.sirdar(*words, a).stdout == s.sirdar(*words, "cmd/ids/a", START).stdout, words
    s.sirdar("kill", a, "--yes", "--wait")
    s.wait_state("cmd/ids/a", day(1), "Killed")
    s.sirdar("priority", b, b2, "-p", "7", "--wait")
    assert {s.instance("cmd/ids/b", day(n))["priority"] for n in (1, 2)} == {7}
    s.sirdar("freeze", b, "--wait")
    s.sirdar("unfreeze", b, "--wait")
    s.sirdar("skip", b, "--yes", "--wait")
    s.sirdar("force-success", b2, "--yes", "--wait")
    s.wait_state("cmd/ids/b", day(1), "Skipped")
    s.wait_state("cmd/ids/b", day(2), "Succ")
    s.sirdar("redo", b2, "--yes")
    said = s.sirdar("run-now", b2, "--yes", expect=None)
    assert "which" not in said.stderr and "not a run date" not in said.stderr, said.stderr
    refused = s.sirdar("offline", b, "--yes", expect=None)
    assert refused.returncode != 0 and "acts on tasks" in refused.stderr, refused.stderr


if __name__ == "__main__":
    sys.exit(main(lambda: Site("commands").start()))
