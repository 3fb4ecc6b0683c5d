#!/usr/bin/env python3
"""What becomes of work whose server, loader or lease went away: nobody's fault burns no attempt,
nobody is held by the beat of somebody who cannot report, a stale execution writes into no other's
log. TAP."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, gone, main, stand_still, test, until  # noqa: E402

SHORT = {"beat_ms": 200, "fence_ms": 3000, "kill_ms": 500, "lose_ms": 6000, "epoch_ms": 2000}


def once(s, name, tasks, **more):
    """A workflow of tasks that run once, now."""
    s.apply(f"workflow: {name}\nproject: lease\ntimezone: UTC\nstart_date: 2026-01-01\n"
            f"end_date: 2026-01-01\ndefaults: {{type: shell, cycle: once}}\ntasks:\n" + tasks,
            name + ".yaml", **{"from": "2026-01-01"}, **more)


def only(s, task):
    found = s.instances(task)
    return found[0] if found else None


def wait(s, task, states, seconds=60):
    states = {states} if isinstance(states, str) else set(states)
    return until(f"{task} is {states}; it is {only(s, task)}",
                 lambda: (i := only(s, task)) and i["state"] in states and i, seconds)


def started(s, mark):
    """The pids that a script noted, one a start."""
    path = s.dir / "data" / mark
    return [int(x) for x in path.read_text().split()] if path.exists() else []


def noting(s, mark, then):
    """A task's script that notes its pid, and does `then` from its second start on."""
    path = s.dir / "data" / mark
    return (f"    params:\n      script: |\n        echo $$$$ >> {path}\n"
            f"        [ $(wc -l < {path}) -gt 1 ] && {then}\n        exec sleep 600\n")


def reasons(s, i):
    return [(e["event"], e["reason"]) for e in s.history(i["id"])]


def without_a_server(s, what, condition):
    s.base.kill()
    until(what, condition)
    s.base.start()
    until("it leads again", s.up)


def log_of(s, i, **args):
    """What it printed; "": nothing yet."""
    query = "&".join(f"{k}={v}" for k, v in args.items())
    status, text = s.ask("GET", f"/api/v1/instances/{i['id']}/log?{query}")
    return text.decode() if status == 200 else ""


# --- the fence

@test
def a_fenced_process_burns_no_attempt_and_runs_again(s):
    once(s, "fence", "  t:\n" + noting(s, "fence", "exit 0"))
    pid, = until("it runs", lambda: started(s, "fence"))
    without_a_server(s, "its lease ran out", lambda: gone(pid))
    i = wait(s, "lease/fence/t", {"Succ", "StopSchedule"})
    assert (i["state"], i["attempt"]) == ("Succ", 1), (i, reasons(s, i))
    assert ("fail-retry", "fenced") in reasons(s, i), reasons(s, i)


@test
def a_fenced_job_in_a_loader_burns_no_attempt_and_runs_again(s):
    once(s, "fencein", "  t: {type: noop, params: {sleep_ms: '6000', exit: '0'}}\n")
    wait(s, "lease/fencein/t", "Running")
    mark = len(s.brokers["b1"].text())
    without_a_server(s, "its lease ran out", lambda: s.brokers["b1"].has(r"loader\.fence", mark))
    i = wait(s, "lease/fencein/t", {"Succ", "StopSchedule"})
    assert (i["state"], i["attempt"]) == ("Succ", 1), (i, reasons(s, i))
    assert ("fail-retry", "fenced") in reasons(s, i), reasons(s, i)


@test
def a_person_who_killed_what_the_fence_ends_finds_it_killed(s):
    once(s, "fencekill", "  t:\n    params: {script: 'trap \"\" TERM; echo $$$$ > "
         f"{s.dir}/data/deaf; while :; do sleep 1; done'}}\n    kill_grace: 60s\n")
    pid, = until("it runs", lambda: started(s, "deaf"))
    s.command("kill", selection={"tasks": ["lease/fencekill/t"], "states": ["Running"]})
    wait(s, "lease/fencekill/t", "Killing")
    without_a_server(s, "its lease ran out", lambda: gone(pid))
    assert wait(s, "lease/fencekill/t", {"Succ", "StopSchedule", "Killed"})["state"] == "Killed"


@test
def what_ended_well_before_its_lease_ran_out_has_succeeded(s):
    once(s, "fenceok", f"  t:\n    params: {{script: 'echo $$$$ > {s.dir}/data/ok; until [ -e "
         f"{s.dir}/data/ok.go ]; do sleep 0.05; done'}}\n")
    pid, = until("it runs", lambda: started(s, "ok"))
    without_a_server(s, "it has ended", lambda: (s.dir / "data" / "ok.go").touch() or gone(pid))
    i = wait(s, "lease/fenceok/t", {"Succ", "StopSchedule", "Failed"})
    assert (i["state"], i["attempt"]) == ("Succ", 1), i
    assert len(started(s, "ok")) == 1


@test
def what_is_stopped_with_its_machine_burns_no_attempt(s):
    once(s, "halt", "  t:\n" + noting(s, "halt", "exit 0"))
    pid, = until("it runs", lambda: started(s, "halt"))
    keeper, = s.pids("jobkeeper")
    os.kill(keeper, signal.SIGTERM)
    until("it has ended", lambda: gone(pid))
    i = wait(s, "lease/halt/t", {"Succ", "StopSchedule"})
    assert (i["state"], i["attempt"]) == ("Succ", 1), (i, reasons(s, i))
    assert ("fail-retry", "halted") in reasons(s, i), reasons(s, i)


@test
def each_end_of_its_own_burns_an_attempt_and_says_what_it_was(s):
    ends = {"exit": "exit 3", "signal": "kill -9 $$$$", "fatal": "exec /no/such/program",
            "exit2": "exit 137"}
    once(s, "ends", "".join(f"  {n}: {{params: {{script: '{x}'}}}}\n" for n, x in ends.items()))
    for name in ends:
        i = wait(s, f"lease/ends/{name}", "StopSchedule")
        assert i["attempt"] == 1 and reasons(s, i)[0][0] == "fail-final", (i, reasons(s, i))
    for name, reason, code in (("exit", "exit", 3), ("signal", "signal", -9), ("exit2", "exit", 137)):
        i = only(s, f"lease/ends/{name}")
        assert (i["reason"], i["exit_code"]) == (reason, code), i


# --- loaders that are gone for good, or frozen

def runner(s, kind, broker="b1"):
    b = next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == broker)
    return next(t for t in b["types"] if t["type"] == kind)


def loader(s, kind):
    found = [p for p in s.pids("taskrunner-loader", f"--type\0{kind}\0")]
    return found[0] if found else None


def quarantine(s, kind):
    dead = None
    for _ in range(3):
        dead = until("a loader is ready", lambda: (p := loader(s, kind)) and p != dead and
                     runner(s, kind)["state"] == "ready" and p)
        os.kill(dead, signal.SIGKILL)
    until("it is quarantined", lambda: runner(s, kind)["state"] == "quarantined")


def waiting(s, name, then="exit 0"):
    """A script that runs until it is told to go on."""
    data = s.dir / "data"
    return (f"  {name}:\n    params:\n      script: |\n        echo $$$$ >> {data}/{name}\n"
            f"        until [ -e {data}/{name}.go ]; do sleep 0.05; done\n        echo done\n"
            f"        {then}\n")


@test
def the_jobs_of_a_quarantined_type_are_reported_killed_and_kept(s):
    once(s, "quar", waiting(s, "qa") + waiting(s, "qb") + waiting(s, "qc"))
    pids = {n: until("it runs", lambda n=n: started(s, n))[0] for n in ("qa", "qb", "qc")}
    for n in pids:
        wait(s, "lease/quar/" + n, "Running")
    quarantine(s, "shell")
    said = runner(s, "shell")
    assert not said["accepts"] and "crashes in ten minutes" in said["text"], said
    why = s.get(f"/api/v1/instances/{only(s, 'lease/quar/qc')['id']}/why")
    assert "quarantined" in why["line"], why
    (s.dir / "data" / "qa.go").touch()
    i = wait(s, "lease/quar/qa", {"Succ", "Failed", "StopSchedule"})
    assert (i["state"], i["attempt"], i["exit_code"]) == ("Succ", 1, 0), (i, reasons(s, i))
    until("its log is there", lambda: "done" in log_of(s, i))
    s.command("kill", selection={"tasks": ["lease/quar/qb"], "states": ["Running"]})
    wait(s, "lease/quar/qb", "Killed")
    assert gone(pids["qb"]) and not gone(pids["qc"])
    assert only(s, "lease/quar/qc")["state"] == "Running"
    assert runner(s, "shell")["state"] == "quarantined"
    once(s, "after", waiting(s, "qd"))
    s.sirdar("plugin", "release", "shell", "--broker", "b1")
    until("it is ready again", lambda: runner(s, "shell")["accepts"])
    until("the next one runs", lambda: started(s, "qd"))
    for n in ("qc", "qd"):
        (s.dir / "data" / (n + ".go")).touch()
    for task in ("quar/qc", "after/qd"):
        i = wait(s, "lease/" + task, "Succ")
        assert i["attempt"] == 1, (i, reasons(s, i))
    assert all(len(started(s, n)) == 1 for n in ("qa", "qb", "qc", "qd"))


@test
def the_jobs_of_a_type_that_left_the_settings_are_reported(s):
    path = s.dir / "b9.yaml"
    path.write_text("types: [shell:4, noop:1]\n")
    b = s.add_broker("b9", types=("shell:4",), wait=False)
    b.kill()
    b.argv = [w for w in b.argv]
    at = next(k for k, w in enumerate(b.argv) if w.startswith("types="))
    del b.argv[at - 1:at + 1]
    b.argv[1:1] = ["-c", str(path)]
    b.start()
    s.wait_broker("b9", ["shell"])
    once(s, "left", waiting(s, "la").replace("    params", "    machines: [b9]\n    params"))
    until("it runs", lambda: started(s, "la"))
    wait(s, "lease/left/la", "Running")
    path.write_text("types: [noop:1]\n")
    b.proc.send_signal(signal.SIGHUP)
    until("it is stopped", lambda: runner(s, "shell", "b9")["state"] == "stopped")
    (s.dir / "data" / "la.go").touch()
    assert wait(s, "lease/left/la", {"Succ", "StopSchedule"})["state"] == "Succ"
    path.write_text("types: [shell:4, noop:1]\n")
    b.proc.send_signal(signal.SIGHUP)
    s.wait_broker("b9", ["shell", "noop"])
    b.stop()


@test
def a_frozen_loader_is_ended_and_begun_anew_and_its_processes_go_on(s):
    once(s, "froz", waiting(s, "fa") + "  fb: {type: noop, params: {sleep_ms: '600000'}}\n")
    pid, = until("it runs", lambda: started(s, "fa"))
    for n in ("fa", "fb"):
        wait(s, "lease/froz/" + n, "Running")
    frozen = {kind: loader(s, kind) for kind in ("shell", "noop")}
    first = only(s, "lease/froz/fb")["infra"]
    for p in frozen.values():
        stand_still(p)
    for kind, p in frozen.items():
        until("it is ended", lambda p=p: gone(p))
        assert s.brokers["b1"].has(rf"loader_silent type={kind} .*pid={p}")
        until("another is ready", lambda kind=kind: runner(s, kind)["state"] == "ready" and
              loader(s, kind))
    until("what ran in it runs again", lambda: only(s, "lease/froz/fb")["infra"] > first and
          only(s, "lease/froz/fb")["state"] == "Running")
    assert not gone(pid) and only(s, "lease/froz/fa")["state"] == "Running"
    (s.dir / "data" / "fa.go").touch()
    i = wait(s, "lease/froz/fa", {"Succ", "StopSchedule"})
    assert (i["state"], i["attempt"]) == ("Succ", 1), (i, reasons(s, i))
    assert len(started(s, "fa")) == 1
    s.command("kill", selection={"tasks": ["lease/froz/fb"], "states": ["Running"]})
    wait(s, "lease/froz/fb", "Killed")


def programs(s, name):
    """Copies of a machine's programs, which a test may take away."""
    place = s.dir / name
    place.mkdir()
    for program in ("taskbroker", "taskrunner-loader", "jobkeeper"):
        shutil.copy2(BIN / program, place / program)
    return place


@test
def a_machine_that_cannot_start_a_loader_keeps_no_lease(s):
    place = programs(s, "bin")
    b = s.add_broker("b8", types=("shell:4",), wait=False, loader_silent_ms=500)
    b.stop()
    os.kill(s.pids("jobkeeper", "/b8")[0], signal.SIGTERM)
    b.argv[0] = str(place / "taskbroker")
    b.start()
    s.wait_broker("b8", ["shell"])
    once(s, "noload", ("  t:\n    retry: {attempts: 1}\n" + noting(s, "noload", "exit 0"))
         .replace("    params", "    machines: [b8]\n    params"))
    pid, = until("it runs", lambda: started(s, "noload"))
    wait(s, "lease/noload/t", "Running")
    (place / "taskrunner-loader").unlink()
    os.kill(s.pids("taskrunner-loader", "name=b8")[0], signal.SIGKILL)
    i = wait(s, "lease/noload/t", {"Failed", "DependenceFinish"})
    assert reasons(s, i)[0] == ("retry", "") or ("fail-retry", "lost") in reasons(s, i), reasons(s, i)
    assert b.has(r"broker\.unserved") and gone(pid)
    shutil.copy2(BIN / "taskrunner-loader", place / "taskrunner-loader")
    assert wait(s, "lease/noload/t", {"Succ", "StopSchedule"})["state"] == "Succ"
    b.stop()


def runs_on(s, broker, name):
    """The pid of a job that runs there, and exits with 0 where it is run again."""
    once(s, name, ("  t:\n    retry: {attempts: 1}\n" + noting(s, name, "exit 0"))
         .replace("    params", f"    machines: [{broker}]\n    params"))
    pid, = until("it runs", lambda: started(s, name))
    wait(s, f"lease/{name}/t", "Running")
    return pid


def is_lost_and_runs_again(s, task, back):
    i = wait(s, task, {"Failed", "DependenceFinish"})
    assert ("fail-retry", "lost") in reasons(s, i), reasons(s, i)
    back()
    i = wait(s, task, {"Succ", "StopSchedule"})
    assert i["state"] == "Succ", (i, reasons(s, i))


@test
def a_loader_without_broker_and_jobkeeper_keeps_no_lease(s):
    b = s.add_broker("b4", types=("shell:4",), loader_alone_ms=86400000)
    pid = runs_on(s, "b4", "alone")
    left, = s.pids("taskrunner-loader", "name=b4")
    keeper, = s.pids("jobkeeper", "/b4")
    b.kill()
    os.kill(keeper, signal.SIGKILL)
    until("its job has ended with it", lambda: gone(pid))

    def back():
        assert not gone(left) and b.has(r"loader\.keeper_gone"), b.tail()
        b.start()
    is_lost_and_runs_again(s, "lease/alone/t", back)
    assert len(started(s, "alone")) == 2
    b.stop()


@test
def a_machine_that_cannot_start_a_jobkeeper_keeps_no_lease(s):
    place = programs(s, "bin5")
    b = s.add_broker("b5", types=("shell:4",), wait=False)
    b.stop()
    for p in s.pids("jobkeeper", "/b5"):
        os.kill(p, signal.SIGTERM)
    b.argv[0] = str(place / "taskbroker")
    b.start()
    s.wait_broker("b5", ["shell"])
    pid = runs_on(s, "b5", "nokeep")
    keeper, = s.pids("jobkeeper", "/b5")
    (place / "jobkeeper").unlink()
    os.kill(keeper, signal.SIGKILL)
    until("its job has ended with it", lambda: gone(pid))
    is_lost_and_runs_again(s, "lease/nokeep/t",
                           lambda: shutil.copy2(BIN / "jobkeeper", place / "jobkeeper"))
    assert len(started(s, "nokeep")) == 2
    b.stop()


def machine(s, name):
    return next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == name)


@test
def a_jobkeeper_that_stands_still_is_away_and_is_ended_with_what_it_ran(s):
    b = s.add_broker("k0", types=("shell:4",), loader_silent_ms=500)
    pid = runs_on(s, "k0", "still")
    keeper, = s.pids("jobkeeper", "/k0")
    stand_still(keeper)
    until("its machine takes no work", lambda: not machine(s, "k0")["accepts"])
    told = machine(s, "k0")["why_not"]
    assert told.startswith("no jobkeeper: nothing heard for"), told
    until("why says so", lambda: "no jobkeeper: nothing heard" in s.get(
        f"/api/v1/instances/{only(s, 'lease/still/t')['id']}/why")["line"])
    until("it is ended", lambda: gone(keeper) and gone(pid), 120)
    i = wait(s, "lease/still/t", {"Succ", "StopSchedule"})
    assert (i["state"], i["attempt"]) == ("Succ", 1), (i, reasons(s, i))
    assert ("fail-retry", "lost") in reasons(s, i) and len(started(s, "still")) == 2
    assert b.has(r"broker\.keeper_silent") or b.has(r"loader\.keeper_silent"), b.tail()
    until("it takes work again", lambda: machine(s, "k0")["accepts"])
    b.stop()


@test
def a_jobkeeper_that_stood_still_for_less_than_the_fence_loses_nothing(s):
    b = s.add_broker("k1", types=("shell:4",), loader_silent_ms=500)
    once(s, "pause", waiting(s, "pa").replace("    params", "    machines: [k1]\n    params"))
    until("it runs", lambda: started(s, "pa"))
    wait(s, "lease/pause/pa", "Running")
    keeper, = s.pids("jobkeeper", "/k1")
    mark = len(b.text())
    stand_still(keeper)
    until("it is away", lambda: b.has(r"broker\.keeper_down", mark))
    os.kill(keeper, signal.SIGCONT)
    until("it is back", lambda: b.has(r"broker\.keeper_up", mark))
    (s.dir / "data" / "pa.go").touch()
    i = wait(s, "lease/pause/pa", {"Succ", "StopSchedule"})
    assert (i["state"], i["attempt"]) == ("Succ", 1), (i, reasons(s, i))
    assert len(started(s, "pa")) == 1 and not gone(keeper)
    until("it takes work again", lambda: machine(s, "k1")["accepts"])
    b.stop()


@test
def a_jobkeeper_that_stands_still_is_ended_by_a_loader_that_is_alone(s):
    b = s.add_broker("k2", types=("shell:4",), loader_silent_ms=500, loader_alone_ms=86400000)
    pid = runs_on(s, "k2", "stillalone")
    keeper, = s.pids("jobkeeper", "/k2")
    b.kill()
    stand_still(keeper)
    until("it is ended", lambda: gone(keeper) and gone(pid), 120)
    is_lost_and_runs_again(s, "lease/stillalone/t", b.start)
    assert len(started(s, "stillalone")) == 2
    b.stop()


@test
def a_jobkeeper_that_stands_still_before_its_taskbroker_begins_is_ended(s):
    b = s.add_broker("k3", types=("shell:4",), loader_silent_ms=500)
    b.stop()
    keeper, = s.pids("jobkeeper", "/k3")
    stand_still(keeper)
    b.start(wait=False)
    until("it is ended", lambda: gone(keeper), 120)
    s.wait_broker("k3", ["shell"])
    b.stop()


@test
def a_retired_loader_whose_taskbroker_and_jobkeeper_are_gone_ends(s):
    b = s.add_broker("k4", types=("shell:4",), loader_alone_ms=500)
    pid = runs_on(s, "k4", "retired")
    left, = s.pids("taskrunner-loader", "name=k4")
    keeper, = s.pids("jobkeeper", "/k4")
    os.kill(left, signal.SIGUSR1)
    until("it takes no more", lambda: b.has(r"loader\.retiring"))
    b.kill()
    os.kill(keeper, signal.SIGKILL)
    until("its job has ended with it", lambda: gone(pid))
    until("it ends too", lambda: gone(left))
    is_lost_and_runs_again(s, "lease/retired/t", b.start)
    b.stop()


# --- whose log

def metric(s, name):
    status, text = s.ask("GET", "/metrics")
    text = text if isinstance(text, str) else text.decode()
    assert status == 200, (status, text)
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if line.startswith(name) and not line.startswith("#"))


@test
def what_a_given_up_execution_prints_is_in_no_others_log(s):
    """Both are attempt 1. The first machine stands still, all but its job, until the second one's
    run has succeeded; then it goes on and ships what its job printed."""
    data = s.dir / "data"
    s.add_broker("b7", types=("shell:1",))
    first = [p for name in ("taskbroker", "taskrunner-loader") for p in s.pids(name, "name=b7")]
    keeper, = s.pids("jobkeeper", "/b7")
    once(s, "whose", "  t:\n    machines: [b7, b1]\n    retry: {attempts: 1}\n    params:\n      script: |\n"
         f"        echo $$$$ >> {data}/whose\n"
         f"        if [ $(wc -l < {data}/whose) -gt 1 ]; then echo second; exit 0; fi\n"
         f"        echo first; until [ -e {data}/whose.go ]; do sleep 0.05; done; echo first again\n"
         "        sleep 600\n")
    # Which machine got it is not ours to say: the one that did is stopped.
    until("it runs", lambda: started(s, "whose"))
    i = wait(s, "lease/whose/t", "Running")
    until("its first word is there", lambda: "first" in log_of(s, i))
    where = s.get(f"/api/v1/instances/{i['id']}")["broker"]
    if where != "b7":
        first = [p for name in ("taskbroker", "taskrunner-loader")
                 for p in s.pids(name, f"name={where}")]
        keeper, = s.pids("jobkeeper", f"/{where}")
    for p in [*first, keeper]:
        stand_still(p)
    (data / "whose.go").touch()
    refused = metric(s, "sirdar_log_chunks_refused_total")
    try:
        i = wait(s, "lease/whose/t", {"Succ", "StopSchedule"})
        assert (i["state"], i["attempt"]) == ("Succ", 1), (i, reasons(s, i))
        until("its log is there", lambda: "second" in log_of(s, i))
        assert log_of(s, i) == "second\n", log_of(s, i)
    finally:
        for p in [keeper, *first]:
            os.kill(p, signal.SIGCONT)
    old = started(s, "whose")[0]
    until("the first one is ended", lambda: gone(old))
    until("what it printed came", lambda: metric(s, "sirdar_log_chunks_refused_total") > refused)
    s.wait_broker(where, ["shell"])
    logs = s.dir / where / "logs"
    until("it is let go", lambda: not [f for f in logs.glob("*") if f.is_file()])
    assert log_of(s, i) == "second\n", log_of(s, i)
    # What it had printed until it was lost is its own log still.
    names = [w[1] for line in s.run([BIN / "sirdar-db", "logs", s.dir / "joblogs"]).stdout.splitlines()
             if (w := line.split())[-1:] and len(w) > 1 and w[1].endswith("/3")]
    texts = [s.run([BIN / "sirdar-db", "log", s.dir / "joblogs", name]).stdout for name in names]
    texts = ["".join(line for line in t.splitlines(True) if not line.startswith("[sirdar] ")) for t in texts]
    assert "second\n" in texts and any(t.startswith("first\n") for t in texts), (names, texts)
    s.brokers["b7"].stop()


# --- what a machine says of itself

@test
def jobs_in_a_loader_count_and_close_the_door(s):
    path = s.dir / "b6.yaml"
    path.write_text("types: [shell:2, noop:8]\njobs_max: 3\n")
    b = s.add_broker("b6", types=("noop:8",), wait=False)
    b.kill()
    for name in ("types=", "jobs_max="):
        at = next(k for k, w in enumerate(b.argv) if w.startswith(name))
        del b.argv[at - 1:at + 1]
    b.argv[1:1] = ["-c", str(path)]
    b.start()
    s.wait_broker("b6", ["noop", "shell"])
    assert machine(s, "b6")["slots"] == 3
    job = "type: noop, machines: [b6], params: {sleep_ms: '600000'}"
    once(s, "count", "".join(f"  t{n}: {{{job}}}\n" for n in range(3)))
    until("all are counted", lambda: machine(s, "b6")["running"] == 3)
    until("it takes no more", lambda: not machine(s, "b6")["accepts"])
    assert machine(s, "b6")["why_not"] == "3 jobs run, jobs_max is 3", machine(s, "b6")
    once(s, "count4", f"  t: {{{job}}}\n")
    until("why says so", lambda: "jobs_max is 3" in s.get(
        f"/api/v1/instances/{only(s, 'lease/count4/t')['id']}/why")["line"])
    path.write_text("types: [shell:2, noop:8]\njobs_max: 9\n")
    b.proc.send_signal(signal.SIGHUP)
    wait(s, "lease/count4/t", "Running")
    until("its slots are the new ones", lambda: machine(s, "b6")["slots"] == 9)
    for task in ("count/t0", "count/t1", "count/t2", "count4/t"):
        s.command("kill", selection={"tasks": ["lease/" + task], "states": ["Running"]})
    until("none is counted", lambda: machine(s, "b6")["running"] == 0)
    b.stop()


@test
def processor_use_is_a_share_and_the_load_average_is_apart(s):
    cpus = os.cpu_count()
    spin = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(cpus)]
    try:
        until("all processors are busy", lambda: machine(s, "b1")["cpu_permille"] >= 900)
        assert machine(s, "b1")["cpu_permille"] <= 1000
        until("the load average is the machine's", lambda: abs(
            machine(s, "b1")["load_permille"] - os.getloadavg()[0] * 1000 / cpus) < 50)
    finally:
        for p in spin:
            p.kill()
            p.wait()


if __name__ == "__main__":
    sys.exit(main(lambda: Site("lease", **SHORT).start(loader_crash_max=3, loader_silent_ms=3000)))
