#!/usr/bin/env python3
"""What decides that an instance starts, through all real programs: pools, quotas, groups, machines,
drains, thresholds of load; and the line that `why` gives at each closed gate. TAP."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Daemon, Site, main, test, until  # noqa: E402

DAY = "2026-03-01"
AT = "2026-03-01T00:00:00Z"


def workflow(site, name, tasks, project="gates", end=DAY, **more):
    """All dates from DAY to `end` are due at once."""
    head = {"workflow": name, "project": project, "timezone": "UTC", "start_date": DAY,
            "end_date": end, **more}
    text = "".join(f"{k}: {v}\n" for k, v in head.items())
    text += "defaults: {type: shell, cycle: day, catchup: {mode: all, max: 1000}}\ntasks:\n"
    for task, body in tasks.items():
        text += f"  {task}:\n" + "".join(f"    {line}\n" for line in body.strip().splitlines())
    return site.apply(text, name + ".yaml", **{"from": DAY})


def script(text, **more):
    """The lines of a shell task; `more` are further keys of the task."""
    body = "params:\n  script: |\n" + "".join(f"    {line}\n" for line in text.splitlines())
    return body + "".join(f"{k}: {v}\n" for k, v in more.items())


def held(folder):
    """A job that says when it starts and ends, and stays until there is `go` or its own gate."""
    return (f'echo "start $SIRDAR_TASK $SIRDAR_RUN_DATE" >> {folder}/ledger\n'
            f'while [ ! -e {folder}/go ] && [ ! -e {folder}/go-$SIRDAR_RUN_DATE ]; do sleep 0.05; done\n'
            f'echo "end $SIRDAR_TASK $SIRDAR_RUN_DATE" >> {folder}/ledger')


def folder_of(site, name):
    folder = site.dir / "data" / name
    folder.mkdir()
    return folder


def lines(folder, word="start"):
    path = folder / "ledger"
    text = path.read_text() if path.exists() else ""
    return [line.split()[1:] for line in text.splitlines() if line.startswith(word)]


def at_once(folder):
    """The most jobs that ever ran at one time, by their own account."""
    now = most = 0
    for line in (folder / "ledger").read_text().splitlines():
        now += 1 if line.startswith("start") else -1
        most = max(most, now)
    return most


def why(site, task, date=AT):
    i = site.instance(task, date)
    assert i, f"no row of {task} at {date}"
    return site.get(f"/api/v1/instances/{i['id']}/why")


def says(site, code, task, date=AT, seconds=60):
    seen = {}

    def look():
        seen["last"] = why(site, task, date)
        return seen["last"] if seen["last"]["code"] == code else None
    try:
        return until(f"why of {task} says {code}", look, seconds)
    except Exception as e:
        raise AssertionError(f"{e}: {seen.get('last')}") from None


def broker(site, name):
    return [b for b in site.get("/api/v1/brokers")["brokers"] if b["name"] == name][0]


def dates(n):
    return [f"2026-03-{d:02}T00:00:00Z" for d in range(1, n + 1)]


def running(site, task):
    return [i for i in site.instances(task) if i["state"] == "Running"]


@test
def of_a_pool_of_two_never_more_than_two_run_and_its_size_is_changed_while_they_do(s):
    folder = folder_of(s, "pool")
    s.sirdar("pool", "set", "dw", "2")
    workflow(s, "pool", {"t": script(held(folder), pools="{dw: 1}")}, end="2026-03-10")
    until("two run", lambda: len(lines(folder)) == 2, 60)
    waiting = [i for i in s.instances("gates/pool/t") if i["state"] == "DependenceFinish"]
    assert len(waiting) == 8, waiting
    w = says(s, "pool_full", "gates/pool/t", waiting[0]["run_date"])
    assert w["gate"] == 8 and w["args"] == {"pool": "dw", "size": 2, "taken": 2, "slots": 1}, w
    assert w["line"] == "pool dw: 2 of 2 slots are taken, it takes 1", w
    assert "pool dw: 2 of 2" in s.sirdar("why", "gates/pool/t", waiting[0]["run_date"]).stdout
    pool = [p for p in s.get("/api/v1/pools")["pools"] if p["name"] == "dw"][0]
    assert (pool["kind"], pool["size"], pool["taken"], pool["waiting"]) == ("pool", 2, 2, 8), pool
    assert {"gate": 8, "gate_name": "pools", "waiting": 8} in s.get("/api/v1/queues")["gates"]
    assert "dw" in s.sirdar("pool", "list").stdout
    assert at_once(folder) == 2 and len(lines(folder)) == 2
    s.sirdar("pool", "set", "dw", "3")
    until("a third one runs", lambda: len(lines(folder)) == 3, 60)
    s.sirdar("pool", "set", "dw", "1")
    done = lines(folder)[0][1]
    (folder / f"go-{done}").touch()
    until("one has ended", lambda: lines(folder, "end"), 60)
    w = says(s, "pool_full", "gates/pool/t", waiting[-1]["run_date"])
    assert w["args"]["size"] == 1 and w["args"]["taken"] >= 2 and len(lines(folder)) == 3, w
    (folder / "go").touch()
    rows = s.wait_all_over("gates/pool/t", 10)
    assert all(i["state"] == "Succ" for i in rows) and len(lines(folder)) == 10
    assert at_once(folder) == 3
    s.base.restart()
    until("the server is up again", s.up)
    s.wait_broker("b1", ["shell"])
    pool = [p for p in s.get("/api/v1/pools")["pools"] if p["name"] == "dw"][0]
    assert (pool["size"], pool["taken"]) == (1, 0), f"after a restart: {pool}"


@test
def a_pool_that_is_not_there_is_refused_with_the_nearest_and_one_in_use_is_not_removed(s):
    s.sirdar("pool", "set", "warehouse", "2")
    text = ("workflow: nopool\nproject: gates\nstart_date: 2026-03-01\ntasks:\n"
            "  t: {type: shell, cycle: day, params: {script: 'true'}, pools: {%s: %d}}\n")
    args = {"documents": [{"name": "x.yaml", "text": text % ("warehose", 1)}]}
    status, body = s.ask("POST", "/api/v1/commands", {"kind": "apply", "args": args})
    assert status == 400 and "warehose" in str(body) and "warehouse" in str(body), (status, body)
    args["documents"][0]["text"] = text % ("warehouse", 3)
    status, body = s.ask("POST", "/api/v1/commands", {"kind": "apply", "args": args})
    assert status == 400 and "takes 3 slots of pool warehouse, which has 2" in str(body), body
    s.apply(text % ("warehouse", 1))
    done = s.sirdar("pool", "remove", "warehouse", expect=None)
    assert done.returncode == 1 and "gates/nopool/t takes slots of pool warehouse" in done.stderr
    done = s.sirdar("pool", "remove", "nothing", expect=None)
    assert done.returncode == 4 and "there is no pool 'nothing'" in done.stderr, done
    done = s.sirdar("pool", "set", "x", "0", expect=None)
    assert done.returncode == 1 and "size" in done.stderr, done
    s.sirdar("pool", "set", "unused", "7")
    s.sirdar("pool", "remove", "unused")
    assert "unused" not in s.sirdar("pool", "list").stdout


@test
def quotas_of_project_and_workflow_and_a_tasks_own_cap_each_hold_and_say_so(s):
    folder = folder_of(s, "quota")
    s.sirdar("quota", "set", "thrifty", "2")
    workflow(s, "a", {"t": script(held(folder))}, project="thrifty", end="2026-03-02")
    until("two run", lambda: len(lines(folder)) == 2, 60)
    workflow(s, "b", {"t": script(held(folder))}, project="thrifty")
    w = says(s, "project_full", "thrifty/b/t")
    assert w["gate"] == 7 and w["line"] == "quota of project thrifty: 2 of 2 run", w
    s.sirdar("quota", "set", "thrifty", "0")
    until("all run", lambda: len(lines(folder)) == 3, 60)
    (folder / "go").touch()
    s.wait_all_over("thrifty/*", 3)

    folder = folder_of(s, "caps")
    workflow(s, "caps", {"t": script(held(folder), concurrency=1),
                         "u": script(held(folder), concurrency=1)},
             end="2026-03-02", quota="{running: 2}")
    until("two run", lambda: len(lines(folder)) == 2, 60)
    codes = sorted({why(s, f"gates/caps/{t}", d)["code"] for t in "tu" for d in dates(2)})
    assert codes in (["runs", "task_full"], ["runs", "workflow_full"],
                     ["runs", "task_full", "workflow_full"]), codes
    (folder / "go").touch()
    s.wait_all_over("gates/caps/*", 4)
    assert at_once(folder) == 2


@test
def one_date_at_a_time_in_any_order(s):
    folder = folder_of(s, "unordered")
    workflow(s, "unordered", {"t": script(held(folder), serial="unordered")}, end="2026-03-03")
    until("one runs", lambda: lines(folder), 60)
    other = [d for d in dates(3) if s.instance("gates/unordered/t", d)["state"] != "Running"]
    assert len(other) == 2
    assert says(s, "unordered", "gates/unordered/t", other[0])["gate"] == 5
    (folder / "go").touch()
    s.wait_all_over("gates/unordered/t", 3)
    assert at_once(folder) == 1


@test
def work_goes_to_the_brokers_of_its_group_or_to_its_machines_and_waits_for_them(s):
    folder = folder_of(s, "group")
    where = f'echo "start $SIRDAR_TASK $SIRDAR_BROKER" >> {folder}/ledger'
    workflow(s, "group", {"etl": script(where, group="etl"),
                          "here": script(where, machines="[b1]"),
                          "there": script(where, machines="[b2]")})
    s.wait_state("gates/group/here", AT, "Succ", 60)
    w = says(s, "no_broker", "gates/group/etl")
    assert w["gate"] == 10 and "group etl" in w["line"], w
    assert "its machines" in says(s, "no_broker", "gates/group/there")["line"]
    s.add_broker("b2", types=("shell:1",), groups="etl,spare")
    s.wait_state("gates/group/etl", AT, "Succ", 60)
    i = s.wait_state("gates/group/there", AT, "Succ", 60)
    assert i["broker"] == "b2", i
    workflow(s, "type", {"t": "type: noop\nmachines: [b2]", "x": "type: spark"})
    w = says(s, "type_unknown", "gates/type/x")
    assert w["gate"] == 9 and w["args"] == {"type": "spark"}, w
    assert says(s, "type_unknown", "gates/type/t")["args"]["type"] == "noop"


@test
def a_drained_broker_takes_nothing_until_it_is_undrained(s):
    folder = folder_of(s, "drain")
    s.add_broker("b3", types=("shell:2",), groups="drained")
    s.sirdar("broker", "drain", "b3")
    workflow(s, "drain", {"t": script(held(folder), group="drained")})
    w = says(s, "broker_not", "gates/drain/t")
    assert w["gate"] == 10 and w["args"]["broker"] == "b3" and w["args"]["why"] == "drained", w
    assert not lines(folder)
    s.sirdar("broker", "undrain", "b3")
    until("it runs", lambda: lines(folder), 60)
    (folder / "go").touch()
    s.wait_state("gates/drain/t", AT, "Succ", 60)
    s.brokers["b3"].stop()
    workflow(s, "gone", {"t": script(held(folder), group="drained")})
    w = says(s, "broker_gone", "gates/gone/t")
    assert w["args"]["broker"] == "b3" and w["args"]["at"].startswith("2"), w


@test
def a_broker_over_a_threshold_takes_nothing_until_it_is_below(s):
    folder = folder_of(s, "load")
    s.add_key("b4")
    settings = s.dir / "b4.yaml"
    settings.write_text("memory_free_min_bytes: 1T\n")
    sets = s.broker_sets("b4", ("shell:2",), groups="busy")
    b4 = s.brokers["b4"] = Daemon(s, "b4", [*s.argv("taskbroker", sets), "--config", settings],
                                  r"broker\.keeper_up")
    b4.start()
    s.wait_broker("b4", ["shell"])
    until("it has said that it takes nothing", lambda: not broker(s, "b4")["accepts"], 60)
    workflow(s, "load", {"t": script(held(folder), group="busy")})
    w = says(s, "broker_not", "gates/load/t")
    assert w["gate"] == 10 and "memory_free_min_bytes is 1099511627776" in w["line"], w
    assert not lines(folder)
    settings.write_text("memory_free_min_bytes: 1M\n")
    b4.proc.send_signal(signal.SIGHUP)
    until("it runs", lambda: lines(folder), 60)
    (folder / "go").touch()
    assert s.wait_state("gates/load/t", AT, "Succ", 60)["broker"] == "b4"


@test
def taken_slots_are_the_last_gate_and_dates_that_are_due_at_once_go_in_order(s):
    folder = folder_of(s, "slots")
    s.add_broker("b5", types=("shell:1",), groups="one")
    (folder / "go-1772323200").touch()
    workflow(s, "slots", {"t": script(held(folder), group="one")}, end="2026-03-03")
    until("the second runs", lambda: len(lines(folder)) == 2, 60)
    w = says(s, "slots", "gates/slots/t", dates(3)[2])
    assert w["gate"] == 11 and w["opens"] == "the end of a job", w
    (folder / "go").touch()
    s.wait_all_over("gates/slots/t", 3)
    assert [int(at) for _, at in lines(folder)] == [1772323200 + 86400 * d for d in range(3)]


@test
def the_first_gates_have_their_lines_too(s):
    folder = folder_of(s, "early")
    workflow(s, "early", {
        "parent": script(held(folder)), "child": script("true", needs="[parent]"),
        "bad": script("exit 1", retry="{attempts: 2, delay: 1h}"),
        "cold": script(held(folder), needs="[parent]"),
        "turn": script("exit 1", serial="ordered")}, end="2026-03-02")
    s.apply("workflow: later\nproject: gates\nstart_date: 2098-12-31\ntasks:\n"
            "  t: {type: shell, cycle: day, params: {script: 'true'}}\n")
    until("the parents run", lambda: len(lines(folder)) == 2, 60)
    w = says(s, "link", "gates/early/child")
    assert w["gate"] == 4 and w["args"]["task"] == "gates/early/parent" and \
        w["args"]["state"] == "Running" and len(w["waits_for"]) == 1, w
    w = says(s, "retry", "gates/early/bad")
    assert w["gate"] == 3 and w["expected"], w
    w = says(s, "ordered", "gates/early/turn", dates(2)[1])
    assert w["gate"] == 5 and w["args"]["state"] == "StopSchedule", w
    s.sirdar("freeze", "gates/early/cold", DAY)
    assert says(s, "frozen", "gates/early/cold")["gate"] == 2
    s.sirdar("freeze", "gates/early/cold")
    assert says(s, "task_frozen", "gates/early/cold")["gate"] == 2
    s.sirdar("unfreeze", "gates/early/cold")  # and the instance with it
    id_ = s.instance("gates/early/parent", AT)["id"]
    assert s.get(f"/api/v1/instances/{id_}/why")["code"] == "runs"
    later = s.get("/api/v1/tasks/gates/later/t")["task_id"]
    w = s.get(f"/api/v1/instances/{later}.4070908800/why")
    assert (w["gate"], w["code"], w["expected"][:10]) == (3, "due", "2099-01-01"), w
    s.sirdar("freeze", "gates/later/t")
    w = s.get(f"/api/v1/instances/{later}.4070908800/why")
    assert (w["gate"], w["code"]) == (2, "task_frozen"), w
    assert s.get(f"/api/v1/instances/{later}.17/why")["code"] == "unplanned"
    (folder / "go").touch()
    s.wait_state("gates/early/cold", dates(2)[1], "Succ", 60)
    says(s, "over", "gates/early/parent")


@test
def an_expression_on_the_task_decides_which_broker_gets_the_job(s):
    folder = folder_of(s, "least")
    s.add_broker("small", types=("shell:2",), groups="least")
    s.add_broker("large", types=("shell:8",), groups="least,roomy")
    workflow(s, "there", {"a": script("true", machines="[small]"), "b": script("true", machines="[large]")})
    s.wait_all_over("gates/there/*", 2)  # both take jobs
    workflow(s, "least", {"share": script(held(folder), group="least", dispatch='{least: "running / slots"}')}, end="2026-03-05")
    until("all run", lambda: len(lines(folder)) == 5, 60)
    where = sorted(i["broker"] for i in s.instances("gates/least/share"))
    assert where == ["large"] * 4 + ["small"], f"shares of 2 and of 8 slots, five jobs: {where}"
    (folder / "go").touch()
    s.wait_all_over("gates/least/share", 5)
    workflow(s, "words", {
        "name": script("true", group="least", dispatch="""{least: 'name == "small" ? 0 : 1'}"""),
        "roomy": script("true", group="least", needs="[name]", dispatch="""{least: '"roomy" in groups ? -1 : running'}"""),
        "unknown": script("true", group="least", needs="[roomy]", dispatch="{least: 1 / 0}")})
    assert s.wait_state("gates/words/name", AT, "Succ", 60)["broker"] == "small"
    assert s.wait_state("gates/words/roomy", AT, "Succ", 60)["broker"] == "large"
    s.wait_state("gates/words/unknown", AT, "Succ", 60)  # no broker has a value: it runs all the same
    text = s.sirdar("export", "gates/words").stdout
    assert '? 0 : 1' in text and 'in groups ? -1 : running' in text and 'least: 1 / 0' in text, text
    s.base.restart()
    until("the server is up again", s.up)
    assert s.sirdar("export", "gates/words").stdout == text


@test
def a_bad_expression_is_refused_with_its_place_and_what_would_be_right(s):
    path = s.dir / "bad.yaml"
    text = ("workflow: bad\nproject: gates\nstart_date: 2026-03-01\ntasks:\n"
            "  t:\n    type: shell\n    cycle: day\n    params: {script: 'true'}\n    dispatch: {least: %s}\n")
    for least, says_ in (("runing / slots", "least is 'runing / slots', character 1: there is no name 'runing' (tasks.t.dispatch.least); did you mean 'running'?"),
                         ("cpu <", "character 6: it ends where a value is missing"),
                         ("cpu < 1", "the whole wants a number, this is true or false")):
        path.write_text(text % f"'{least}'")
        done = s.sirdar("check", path, expect=None)
        assert done.returncode and "bad.yaml:9:23: " in done.stdout + done.stderr and says_ in done.stdout + done.stderr, done
        status, body = s.ask("POST", "/api/v1/commands", {"kind": "apply", "args": {"documents": [{"name": "x.yaml", "text": path.read_text()}]}})
        assert status == 400 and "tasks.t.dispatch.least" in str(body), (status, body)
    assert s.ask("GET", "/api/v1/workflows/gates/bad")[0] == 404


if __name__ == "__main__":
    sys.exit(main(lambda: Site("gates").start(("shell:16",))))
