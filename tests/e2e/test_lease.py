#!/usr/bin/env python3
"""What becomes of work whose server, loader or lease went away: nobody's fault burns no attempt,
nobody is held by the beat of somebody who cannot report, a stale execution writes into no other's
log. TAP."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, gone, main, test, until  # noqa: E402

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


if __name__ == "__main__":
    sys.exit(main(lambda: Site("lease", **SHORT).start(loader_crash_max=3)))
