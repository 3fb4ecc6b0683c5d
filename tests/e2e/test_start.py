#!/usr/bin/env python3
"""A workflow that is started by hand: `run start`, `run-now --off-plan` of a whole workflow, and what
waits for them. TAP."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, OVER, Site, main, test, until  # noqa: E402

OK, REFUSED, USAGE, NOT_FOUND, FAILED = 0, 1, 2, 4, 7
DATE = "2026-03-01"


def applied(s, name, tasks, defaults="cycle: none", head=""):
    path = s.dir / f"{name}.yaml"
    path.write_text(f"project: go\nworkflow: {name}\n{head}defaults: {{type: shell, {defaults}, retry: {{attempts: 1}}}}\n"
                    "tasks:\n" + "".join(f"  {t}: {{{body}}}\n" for t, body in tasks.items()))
    s.sirdar("apply", "--yes", str(path))
    return f"go/{name}"


def chain(s, name, **more):
    """b prints what a gave it, c follows b; d stands alone."""
    out = s.dir / "data" / name
    return out, applied(s, name, {
        "a": "outputs: [n], params: {script: 'sleep 0.2; echo sirdar:output n=$SIRDAR_RUN_DATE'}",
        "b": f"needs: [{{task: a, depend: 1}}], params: {{word: none, script: \"echo ${{word}} ${{a.n}} $SIRDAR_RUN_DATE >> {out}\"}}",
        "c": "needs: [{task: b, depend: 1}], params: {script: 'true'}",
        "d": "params: {script: 'true'}"}, **more)


DAILY = {"defaults": "cycle: day, catchup: {mode: none}", "head": "start_date: 2026-01-01\n"}


def rows(s, flow):
    return {(i["task"].rsplit("/", 1)[1], i["run_date"][:10]): i for i in s.instances(f"{flow}/*")}


@test
def a_workflow_without_a_plan_is_started_whole_and_its_links_hold(s):
    """Its child began beside its parent, and ended as StopSchedule(params)."""
    for n, words in enumerate((("run", "start"), ("run-now", "--workflow"), ("run-now", "--off-plan", "--workflow"))):
        out, flow = chain(s, f"hand{n}")
        done = s.sirdar(*words, flow, "--wait")
        assert "4: 4 succeeded" in done.stdout, done
        word, gave, had = out.read_text().split()
        assert gave == had, out.read_text()


@test
def three_starts_in_one_second_are_three_runs(s):
    out, flow = chain(s, "thrice")
    begun = [s.sirdar("run", "start", flow).stdout for _ in range(3)]
    assert all("4 of 4 done" in text for text in begun), begun
    until("all have run", lambda: len(found := s.instances(f"{flow}/*")) == 12 and all(i["state"] in OVER for i in found))
    lines = [line.split() for line in out.read_text().splitlines()]
    assert len({had for _, _, had in lines}) == 3 and all(gave == had for _, gave, had in lines), lines


@test
def a_start_that_finds_no_free_second_is_refused_and_not_called_silence(s):
    """It was E_BUSY, of which the command line says that the server does not answer: exit code 3."""
    flow = applied(s, "full", {"a": "type: noop"})
    body = {"kind": "run-start", "args": {"selection": {"workflow": flow}}}
    status, answer = next(a for a in (s.ask("POST", "/api/v1/commands", body) for _ in range(2000)) if a[0] not in (200, 201, 202))
    assert status == 409 and "each of the next 60 seconds" in str(answer), (status, answer)


@test
def a_timeout_is_of_those_that_wait_and_all_that_wait_have_it(s):
    _, flow = chain(s, "late")
    for words in (("run", "start", flow), ("redo", flow, DATE), ("kill", flow, DATE)):
        assert "--timeout goes with --wait" in s.sirdar(*words, "--timeout", "1s", expect=USAGE).stderr, words
    assert s.instances(f"{flow}/*") == []
    s.sirdar("run", "start", flow, "--wait")
    s.sirdar("kill", "-y", "--workflow", flow, "--wait", "--timeout", "1m", expect=None)
    assert "--timeout" in s.sirdar("kill", "--help").stdout


@test
def runs_that_were_started_keep_their_links_over_a_restart(s):
    gate, out = s.dir / "data" / "gate", s.dir / "data" / "over"
    flow = applied(s, "over", {"a": f"params: {{script: 'while [ ! -e {gate} ]; do sleep 0.02; done; echo a >> {out}'}}",
                               "b": f"needs: [{{task: a, depend: 1}}], params: {{script: 'echo b >> {out}'}}"})
    for _ in range(2):
        s.sirdar("run", "start", flow)
    until("both run", lambda: len(s.instances(f"{flow}/a", states="Running")) == 2)
    s.base.kill()
    s.base.start()
    until("it is there again", s.up)
    assert {i["state"] for i in s.instances(f"{flow}/b")} == {"Ready"}
    gate.touch()
    s.sirdar("run", "wait", flow)
    assert sorted(out.read_text().split()) == ["a", "a", "b", "b"]
    assert len({i["run_date"] for i in s.instances(f"{flow}/*")}) == 2


@test
def parameters_and_a_date_are_of_that_run(s):
    out, flow = chain(s, "with", **DAILY)
    s.sirdar("run", "start", flow, "--date", DATE, "--param", "word=first", "--wait")
    s.sirdar("run", "start", flow, "--date", DATE, "--param", "word=again", "--wait")
    assert [line.split()[0] for line in out.read_text().splitlines()] == ["first", "again"]
    assert {i["generation"] for i in s.instances(f"{flow}/*")} == {2}


@test
def a_priority_is_of_that_run_and_of_what_is_unfinished_it_is_refused(s):
    _, flow = chain(s, "first", **DAILY)
    s.sirdar("run", "start", flow, "--date", DATE, "--priority", "9", "--wait")
    assert {i["priority"] for i in s.instances(f"{flow}/*")} == {9}, s.instances(f"{flow}/*")
    s.sirdar("run", "start", flow, "--date", DATE, "--wait")
    assert {i["priority"] for i in s.instances(f"{flow}/*")} == {9}, "what runs again keeps its priority"
    gate = s.dir / "data" / "first.gate"
    held = applied(s, "held", {"a": f"params: {{script: 'while [ ! -e {gate} ]; do sleep 0.1; done'}}", "b": "needs: [{task: a, depend: 1}], params: {script: 'true'}"}, **DAILY)
    s.sirdar("run", "start", held, "--date", DATE)
    done = s.sirdar("run", "start", held, "--date", DATE, "--task", "b", "--priority", "9", expect=REFUSED)
    assert "unfinished already" in done.stderr + done.stdout, done
    gate.touch()


@test
def without_a_date_it_is_the_last_period_that_came_due(s):
    _, flow = chain(s, "last", **DAILY)
    today = lambda: s.get("/api/v1/resolve?task=go/last/a&run_date=today")["run_date"]  # noqa: E731
    before = today()
    s.sirdar("run", "start", flow, "--wait")
    assert len(found := {i["run_date"] for i in s.instances(f"{flow}/*")}) == 1 and found <= {before, today()}
    tasks = {"hourly": "cycle: hour, params: {script: 'true'}", "daily": "fire: end, needs: [hourly], params: {script: 'true'}"}
    mixed = applied(s, "mixed", tasks, **DAILY)
    s.sirdar("run", "start", mixed, "--wait")
    got = [i["task"] for i in s.instances(f"{mixed}/*")]
    assert got.count("go/mixed/daily") == 1 and got.count("go/mixed/hourly") == 24, got


@test
def a_part_of_a_workflow_is_started_alone(s):
    for part, tasks in ((("--up-to", "b"), "ab"), (("--from", "b"), "bc"), (("--task", "a", "--task", "d"), "ad"),
                        (("--from", "b", "--up-to", "b"), "b")):
        _, flow = chain(s, "part" + tasks, **DAILY)
        s.sirdar("run", "start", flow, "--date", DATE, "--task", "a", "--wait")
        s.sirdar("run", "start", flow, "--date", DATE, *part, "--wait")
        assert {t for t, _ in rows(s, flow)} == set(tasks) | {"a"}, (part, rows(s, flow))
    _, flow = chain(s, "partone", **DAILY)
    s.sirdar("run", "start", f"{flow}/d", "--date", DATE, "--wait")
    assert {t for t, _ in rows(s, flow)} == {"d"}
    s.sirdar("run", "start", f"{flow}/d", "--up-to", "a", expect=USAGE)
    assert "is no task of what is started" in s.sirdar("run", "start", flow, "--up-to", "x", expect=NOT_FOUND).stderr


@test
def a_parameter_that_nothing_uses_is_refused_and_told_what_there_is(s):
    """A slip in a name ran with the old value, and nobody was told."""
    _, flow = chain(s, "named")
    s.sirdar("run", "start", flow, "--wait")
    day = rows(s, flow)
    date = next(iter(day))[1]
    for words in (("run", "start", flow), ("run", "start", f"{flow}/b"), ("redo", "--yes", "--task", f"{flow}/b", "--from", date, "--to", date),
                  ("redo", "-m", "with_downstream", "--yes", "--task", f"{flow}/a", "--from", date, "--to", date)):
        for dry in ((), ("--dry-run",)):
            err = s.sirdar(*words, *dry, "--param", "wrod=x", expect=REFUSED).stderr
            assert "--param wrod" in err and "did you mean 'word'" in err and "there are: word" in err, (words, err)
    err = s.sirdar("run", "start", f"{flow}/d", "--param", "word=x", expect=REFUSED).stderr
    assert "declare it" in err, err
    assert len(s.instances(f"{flow}/*")) == 4
    flow = applied(s, "asked", {"env": "params: {script: 'echo $SIRDAR_PARAM_one_two'}", "macro": "params: {script: 'true ${three:-4}'}",
                                "other": "params: {command: /bin/true}"}, head="parameters: {three: ''}\n")
    for task, name in (("env", "one.two"), ("macro", "three"), ("other", "any")):
        s.sirdar("run", "start", f"{flow}/{task}", "--param", f"{name}=1", "--wait")
    s.sirdar("run", "start", flow, "--task", "env", "--task", "other", "--param", "any=1", "--wait")


@test
def a_start_says_for_which_date_it_runs(s):
    flow = applied(s, "dated", {"h": "type: noop, cycle: hour", "d": "type: noop"}, **DAILY)
    dates = json.loads(s.sirdar("run", "start", flow, "--json").stdout)["dates"]
    assert dates["chosen"] is True and len(dates["first_label"]) == 10 and dates["first_label"] == dates["last_label"], dates
    s.sirdar("run", "wait", f"{flow}/*")
    out = s.sirdar("run", "start", flow).stdout
    assert f"for {dates['first_label']} (no --date was said)" in out, out
    out = s.sirdar("run", "start", flow, "--date", "2026-03-02").stdout
    assert "for 2026-03-02" in out and "no --date" not in out, out
    out = s.sirdar("run", "start", flow, "--date", "2026-03-02", "--dry-run").stdout
    assert "instances for 2026-03-02" in out, out


@test
def a_redo_that_strands_a_chain_says_so_and_can_be_told_what_to_wait_for(s):
    """Its first date had ended badly: the redo of the second waited for good, and the preview had not said so."""
    gate = s.dir / "data" / "chain"
    path = s.dir / "strand.yaml"
    path.write_text("project: go\nworkflow: strand\nstart_date: 2026-03-01\nend_date: 2026-03-03\ntasks:\n  t: {type: shell, cycle: day, retry: {attempts: 1}, "
                    f"needs: [{{task: t, depend: -1}}], params: {{script: 'test -e {gate}'}}}}\n")
    s.sirdar("apply", "--yes", "--from", "2026-03-01", str(path))
    task, day = "go/strand/t", ("--date", "2026-03-02")
    s.wait_state(task, "2026-03-01T00:00:00Z", "StopSchedule")
    s.sirdar("force-success", "--yes", task, "2026-03-02")
    s.wait_state(task, "2026-03-03T00:00:00Z", "StopSchedule")
    gate.write_text("")
    out = s.sirdar("redo", task, *day, "--dry-run").stdout
    assert "1 of these would wait for what does not come" in out and f"{task} 2026-03-02 waits for" in out and "2026-03-01, which failed" in out, out
    assert "warning" not in s.sirdar("redo", task, "--from", "2026-03-01", "--to", "2026-03-03", "--dry-run").stdout
    for how in ("inside", "ignore"):
        assert "warning" not in s.sirdar("redo", task, *day, "--dependencies", how, "--dry-run").stdout, how
        s.sirdar("redo", "--yes", task, *day, "--dependencies", how, "--wait")
    assert "dependencies" in s.sirdar("redo", task, *day, "--dependencies", "inside", "-m", "with_downstream", "--yes", expect=REFUSED).stderr
    s.sirdar("redo", "--yes", task, "--from", "2026-03-01", "--to", "2026-03-03", "--dependencies", "inside", "--wait")


@test
def what_cannot_be_started_is_refused_and_says_why(s):
    gate = s.dir / "data" / "busy"
    flow = applied(s, "busy", {"a": f"params: {{script: 'while [ ! -e {gate} ]; do sleep 0.02; done'}}"}, **DAILY)
    s.sirdar("run", "start", flow, "--date", DATE)
    until("it runs", lambda: s.instances(f"{flow}/a", states="Running"))
    assert "an attempt runs" in s.sirdar("run", "start", flow, "--date", DATE, expect=REFUSED).stdout
    assert "no task of what is started has a planned date" in s.sirdar("run", "start", flow, "--date", "2025-01-01", expect=REFUSED).stderr
    gate.touch()
    s.sirdar("run", "wait", flow, DATE)
    s.sirdar("offline", f"{flow}/a", "--yes")
    assert "is not online" in s.sirdar("run", "start", flow, "--date", DATE, expect=REFUSED).stderr
    s.sirdar("run", "start", "go/none", expect=NOT_FOUND)


def dry(i):
    return (i["state"], i["reason"], "dry_run" in i["flags"], i["attempt"]) == ("Succ", "dryrun", True, 0)


@test
def a_run_without_jobs_succeeds_in_order_and_runs_nothing(s):
    out, flow = chain(s, "noop", **DAILY)
    s.sirdar("run", "start", flow, "--date", DATE, "--no-op", "--wait")
    found = s.instances(f"{flow}/*")
    assert len(found) == 4 and all(dry(i) for i in found) and not out.exists(), found
    numbers = {i["task"].rsplit("/", 1)[1]: int(i["last_number"]) for i in found}
    assert numbers["a"] < numbers["b"] < numbers["c"], numbers
    s.sirdar("redo", f"{flow}/d", DATE, "--yes", "--wait")
    assert not dry(s.instances(f"{flow}/d")[0]), "a redo runs it"
    s.sirdar("redo", f"{flow}/d", DATE, "--yes", "--no-op", "--wait")
    assert dry(s.instances(f"{flow}/d")[0])
    s.sirdar("backfill", f"{flow}/d", "2026-03-02", "--yes", "--no-op", "--wait")
    assert all(dry(i) for i in s.instances(f"{flow}/d"))
    assert "running: leave" in s.sirdar("redo", f"{flow}/d", DATE, "--yes", "--no-op", "--running", "kill", expect=REFUSED).stderr


@test
def a_task_that_says_dry_run_never_runs_and_its_children_do(s):
    out = s.dir / "data" / "dry"
    flow = applied(s, "dry", {"a": f"dry_run: true, params: {{script: 'echo a >> {out}'}}", "b": f"needs: [a], params: {{script: 'echo b >> {out}'}}"}, **DAILY)
    s.sirdar("freeze", f"{flow}/a")
    s.sirdar("backfill", "--workflow", flow, "--date", DATE, "--yes")
    until("its links are met", lambda: [i for i in s.instances(f"{flow}/a") if i["state"] == "DependenceFinish"])
    assert s.get(f"/api/v1/instances/{s.instances(f'{flow}/a')[0]['id']}/why")["gate"] == 2
    s.sirdar("unfreeze", f"{flow}/a")
    s.sirdar("run", "wait", flow, DATE)
    assert dry(s.instances(f"{flow}/a")[0]) and out.read_text() == "b\n"
    s.sirdar("run-now", f"{flow}/a", DATE, "--wait")
    s.sirdar("run-now", f"{flow}/a", "--off-plan", "--wait")
    assert all(dry(i) for i in s.instances(f"{flow}/a")) and out.read_text() == "b\n"
    assert "dry_run: true" in s.sirdar("export", flow).stdout


@test
def run_wait_waits_for_what_it_names(s):
    gate = s.dir / "data" / "wait"
    flow = applied(s, "wait", {"a": f"params: {{script: 'while [ ! -e {gate} ]; do sleep 0.02; done'}}", "b": "params: {script: 'exit 4'}"}, **DAILY)
    assert "no instance of that is there" in s.sirdar("run", "wait", flow, DATE, expect=NOT_FOUND).stderr
    s.sirdar("run", "start", flow, "--date", DATE)
    until("it runs", lambda: s.instances(f"{flow}/a", states="Running"))
    [a] = s.instances(f"{flow}/a")
    whats = ((flow, DATE), ("--workflow", flow), (f"{flow}/a", DATE), (a["id"],), (f"{flow}/a", "--from", DATE, "--to", DATE))
    waits = [subprocess.Popen([BIN / "sirdar", "run", "wait", *what], env=dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token")),
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for what in whats]
    for what, p in zip(whats, waits):
        assert any("1 running" in line for line in p.stderr), what
    gate.touch()
    codes = [p.wait(120) for p in waits]
    for p in waits:
        p.communicate()
    assert codes == [FAILED, FAILED, OK, OK, OK], codes
    s.sirdar("run", "wait", f"{flow}/b", DATE, expect=FAILED)


@test
def a_part_of_a_long_chain_is_found_at_once(s):
    """Nobody else is served while it is looked for: it is one walk over links, not one for each task (that took 30 s)."""
    n = 5000
    s.apply("workflow: chain\nproject: p\ntimezone: UTC\nstart_date: 2026-01-01\ndefaults: {type: noop, cycle: day, catchup: {mode: none}}\ntasks:\n"
            + "".join(f"  t{i}: {{needs: [{f't{i - 1}' if i else ''}]}}\n" for i in range(n)), "chain.yaml")
    for part, at, kept in (("up_to", n - 1, n), ("up_to", 1200, 1201), ("from_task", 0, n), ("from_task", n - 3, 3)):
        status, plan = s.ask("POST", "/api/v1/commands", {"kind": "run-start", "dry_run": True, "request_id": f"chain-{part}-{at}",
                                                          "args": {"selection": {"workflow": "p/chain"}, part: f"p/chain/t{at}"}})
        assert status == 200 and plan["total"] == kept, (part, at, status, plan.get("total"), plan.get("error"))


if __name__ == "__main__":
    sys.exit(main(lambda: Site("start", types_dir=BIN.parent / "types").start(types=("shell:32", "noop:8"))))
