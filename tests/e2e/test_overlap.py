#!/usr/bin/env python3
"""Overlap: a date that comes due while an earlier one of its task, or of its workflow, is unfinished is
left out, waits for its turn, or replaces the earlier one; through a restart, too. The jobs say themselves
whether two were at work at once (a lock that nobody of the product knows). TAP."""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, rfc3339, seconds_of, stand_still, test, until  # noqa: E402

# Each job holds the lock of its name while it is at work, until the file NAME.go is there.
JOB = r"""
cd "%(dir)s/data"
exec 9>> %(name)s.lock
flock -n 9 || echo "two of %(name)s" >> violations
echo "${run_date}" >> %(name)s.begun
while [ ! -e %(name)s.go ]; do sleep 0.02; done
echo "${run_date}" >> %(name)s.over
"""


def doc(s, name, overlap, tasks=None, head=""):
    lines = [f"workflow: {name}", head, "defaults:", "  type: shell", "  catchup: {mode: all}", "  kill_grace: 1s", "tasks:"]
    for task, more in (tasks or {name: f"    overlap: {overlap}\n    cron: '* * * * * *'"}).items():
        script = (JOB % {"dir": s.dir, "name": task}).replace("\n", "\n        ")
        lines += [f"  {task}:", more, "    params:", f"      script: |{script}"]
    return "\n".join(x for x in lines if x.strip()) + "\n"


def begun(s, name):
    path = s.dir / "data" / f"{name}.begun"
    return path.read_text().splitlines() if path.exists() else []


def go(s, name, on=True):
    path = s.dir / "data" / f"{name}.go"
    if on:
        path.touch()
    else:
        path.unlink(missing_ok=True)


def rows(s, task):
    return sorted(s.instances(f"default/{task}"), key=lambda i: i["run_date"])


def states(s, task, state):
    return [i for i in rows(s, task) if i["state"] == state]


def over(s, workflow, *names):
    """Nothing more comes due, and what there is ends."""
    s.command_over(s.command("offline", selection={"workflow": f"default/{workflow}"}))
    for name in names or [workflow]:
        go(s, name)
    until("all are over", lambda: not s.instances(f"default/{workflow}/*", "Ready,Running,DependenceFinish,WaitKill,Killing,Failed"), 60)
    path = s.dir / "data" / "violations"
    assert not path.exists(), path.read_text()


def why(s, i):
    return s.get(f"/api/v1/instances/{i['id']}/why")


@test
def skip_leaves_out_what_comes_due_while_an_earlier_date_runs(s):
    s.apply(doc(s, "skips", "skip"))
    until("one is at work", lambda: begun(s, "skips"))
    left = until("dates are left out", lambda: len(x := states(s, "skips/skips", "Skipped")) >= 3 and x)
    assert {i["reason"] for i in left} == {"overlap"} and len(begun(s, "skips")) == 1, left
    ran = states(s, "skips/skips", "Running")[0]["label"]
    assert f"unfinished: {ran} was running" in why(s, left[0])["line"], why(s, left[0])
    go(s, "skips")
    until("a date after it ran", lambda: len(states(s, "skips/skips", "Succ")) >= 2)
    over(s, "skips")


@test
def a_retry_that_is_due_is_unfinished(s):
    s.apply("workflow: again\ntasks:\n  again:\n    type: shell\n    overlap: skip\n    catchup: {mode: all}\n"
            "    cron: '* * * * * *'\n    retry: {attempts: 2, delay: 1h}\n    params: {script: exit 3}\n")
    first = until("it failed", lambda: states(s, "again/again", "Failed"))[0]
    left = until("dates are left out", lambda: len(x := states(s, "again/again", "Skipped")) >= 2 and x)
    assert {i["reason"] for i in left} == {"overlap"} and left[0]["run_date"] > first["run_date"], left
    over(s, "again")


@test
def what_failed_for_good_says_how(s):
    s.apply("workflow: fails\ntasks:\n  fails: {type: shell, cycle: none, params: {script: exit 3}}\n")
    s.command("run-now", selection={"tasks": ["default/fails/fails"]})
    stopped = until("it has failed", lambda: states(s, "fails/fails", "StopSchedule"))[0]
    assert "exit" in why(s, stopped)["line"] and "3" in why(s, stopped)["line"].split("failed")[1], why(s, stopped)


@test
def queue_runs_one_date_after_the_other_and_says_why_the_others_wait(s):
    s.apply(doc(s, "queues", "queue"))
    waits = until("two wait", lambda: len(x := states(s, "queues/queues", "Ready")) >= 2 and x)
    first = until("the first runs", lambda: states(s, "queues/queues", "Running"))
    assert len(first) == 1 and first[0]["run_date"] < waits[0]["run_date"], (first, waits)
    said = why(s, waits[-1])
    assert said["code"] == "overlap" and said["gate"] == 5, said
    assert said["args"]["date"] == first[0]["label"] and said["args"]["state"] == "Running", said
    # Ended is enough, however: a kill gives the next its turn.
    kill = s.command_over(s.command("kill", selection={"instances": [{"id": first[0]["id"]}]}, message="it hangs"))
    until("the next runs", lambda: len(begun(s, "queues")) == 2)
    said = why(s, first[0])["line"]
    assert f"command {kill['command']} (kill) by {kill['actor']}: it hangs" in said, said
    # Nobody knows of it after a restart but the rows themselves.
    s.base.restart(hard=True)
    until("the cgi is back", s.up)
    go(s, "queues")
    until("all that waited ran", lambda: len(states(s, "queues/queues", "Succ")) >= len(waits))
    over(s, "queues")
    ran = begun(s, "queues")
    assert ran == sorted(ran), ran


@test
def replace_kills_the_earlier_date_first_and_says_that_it_was_replaced(s):
    s.apply(doc(s, "replaces", "replace"))
    killed = until("two were replaced", lambda: len(x := states(s, "replaces/replaces", "Killed")) >= 2 and x)
    assert {i["reason"] for i in killed} == {"replaced"}, killed
    until("the latest is at work", lambda: len(begun(s, "replaces")) >= 2)
    dates = [i["label"] for i in rows(s, "replaces/replaces")]
    said = why(s, killed[0])["line"]
    assert f"replaced it: {dates[dates.index(killed[0]['label']) + 1]}" in said, said
    s.base.restart(hard=True)
    until("the cgi is back", s.up)
    assert why(s, killed[0])["line"] == said
    go(s, "replaces")
    until("one ends by itself", lambda: states(s, "replaces/replaces", "Succ"))
    over(s, "replaces")
    assert {i["state"] for i in rows(s, "replaces/replaces")} <= {"Succ", "Killed", "Skipped"}


@test
def a_workflow_is_judged_as_a_whole(s):
    tasks = {"one": "    cron: '*/2 * * * * *'", "two": "    cron: '*/2 * * * * *'\n    needs: [{task: one, depend: 1}]"}
    s.apply(doc(s, "whole", None, tasks, head="overlap: skip"))
    until("the first step is at work", lambda: begun(s, "one"))
    left = until("runs are left out whole", lambda: len(x := states(s, "whole/two", "Skipped")) >= 2 and x)
    said = [why(s, states(s, f"whole/{t}", "Skipped")[0])["line"] for t in ("one", "two")]
    assert any(begun(s, 'one')[0] in x for x in said), said
    dates = {i["run_date"] for i in states(s, "whole/one", "Skipped")}
    assert {i["reason"] for i in left} == {"overlap"} and {i["run_date"] for i in left[:2]} <= dates, (left, dates)
    go(s, "one")
    until("the second step is at work", lambda: begun(s, "two"))
    go(s, "one", False)
    n, ran = len(states(s, "whole/one", "Skipped")), len(begun(s, "one"))
    until("the next runs are left out while it is", lambda: len(states(s, "whole/one", "Skipped")) >= n + 2)
    assert len(begun(s, "one")) == ran, begun(s, "one")
    over(s, "whole", "one", "two")


def down_until(s, what, condition):
    """The server is away until that is so; the brokers are not."""
    s.base.kill()
    try:
        return until(what, condition)
    finally:
        s.base.start()
        until("the cgi is back", s.up)


def due_after(at, n):
    """n dates of a cron of every second have come due after `at`."""
    until("more dates come due", lambda: time.time() > at + n + 1)


@test
def what_ended_while_the_server_was_away_leaves_out_only_what_came_due_before_its_end(s):
    s.apply(doc(s, "away", "skip"))
    until("one is at work", lambda: begun(s, "away"))
    first = until("it is known to run", lambda: states(s, "away/away", "Running"))[0]

    def ended():
        due_after(time.time(), 2)  # these come due while it runs
        go(s, "away")
        until("the job is over", lambda: (s.dir / "data" / "away.over").exists())
        due_after(time.time(), 3)  # and these after it
        go(s, "away", False)
        return True
    down_until(s, "it ends, and later dates come due", ended)
    until("one after it is at work", lambda: len(begun(s, "away")) == 2)
    former = s.instance("default/away/away", first["run_date"])
    assert former["state"] == "Succ", former
    end = seconds_of(former["ended"])
    over(s, "away")
    later = [i for i in rows(s, "away/away") if i["run_date"] > first["run_date"]]
    before = [i for i in later if seconds_of(i["run_date"]) < end]
    assert len(before) >= 2 and {(i["state"], i["reason"]) for i in before} == {("Skipped", "overlap")}, before
    ran = later[len(before)]
    assert ran["state"] == "Succ" and begun(s, "away")[1] == ran["run_date"].replace("T", " ").rstrip("Z"), (ran, begun(s, "away"))


@test
def what_a_silent_holder_has_is_not_judged_by_before_it_speaks(_):
    with Site("unheard", fence_ms=200000, lose_ms=300000).start() as s:
        s.apply(doc(s, "mute", "skip"))
        until("one is at work", lambda: begun(s, "mute"))
        first = until("it is known to run", lambda: states(s, "mute/mute", "Running"))[0]
        s.base.kill()
        mute = s.pids("taskrunner-loader") + s.pids("taskbroker")
        for pid in mute:
            stand_still(pid)
        down = int(time.time())
        due_after(down, 3)
        s.base.start()
        until("the cgi is back", s.up)
        up = int(time.time())
        due_after(up, 1)
        for at in (down + 1, up + 1):
            said = s.get(f"/api/v1/instances/{first['task_id']}.{at}/why")
            assert said["code"] == "unheard" and said["args"]["date"] == first["label"], said
        known = rows(s, "mute/mute")
        assert known[-1]["run_date"] <= rfc3339(down) and not states(s, "mute/mute", "Ready"), known
        for pid in mute:
            os.kill(pid, signal.SIGCONT)
        left = until("they are judged in one go",
                     lambda: [x for x in rows(s, "mute/mute") if x["run_date"] == rfc3339(up + 1)] and states(s, "mute/mute", "Skipped"))
        assert {i["reason"] for i in left} == {"overlap"} and len(begun(s, "mute")) == 1, left
        due = [seconds_of(i["run_date"]) for i in rows(s, "mute/mute")]
        assert due == [due[0] + k for k in range(len(due))], due
        over(s, "mute")


@test
def a_workflow_of_before_the_start_is_over_when_all_of_its_run_is(s):
    tasks = {"early": "    cron: '*/2 * * * * *'", "late": "    cron: '*/2 * * * * *'\n    needs: [{task: early, depend: 1}]"}
    s.apply(doc(s, "runs", None, tasks, head="overlap: skip"))
    go(s, "early")
    until("the last step is at work", lambda: begun(s, "late"))
    first = until("it is known to run", lambda: states(s, "runs/late", "Running"))[0]
    away = []

    def ended():
        go(s, "late")
        until("the job is over", lambda: (s.dir / "data" / "late.over").exists())
        due_after(time.time(), 4)
        away.append(rfc3339(time.time()))
        return True
    down_until(s, "it ends, and later runs come due", ended)
    until("a run that came due meanwhile runs, all of it",
          lambda: [i for i in states(s, "runs/late", "Succ") if first["run_date"] < i["run_date"] <= away[0]])
    over(s, "runs", "early", "late")


@test
def check_names_what_contradicts(s):
    def refused(text, words):
        path = s.dir / "odd.yaml"
        path.write_text(text)
        done = s.sirdar("check", str(path), expect=None)
        assert done.returncode != 0 and words in done.stdout + done.stderr, (done.stdout, done.stderr)

    task = "    type: shell\n    cycle: hour\n    params: {script: 'true'}\n"
    refused(f"workflow: odd\noverlap: queue\ntasks:\n  t:\n{task}    overlap: skip\n", "judges its run as a whole")
    refused(f"workflow: odd\ntasks:\n  t:\n{task}    overlap: skip\n    serial: ordered\n", "`serial` and `overlap` both")
    refused(f"workflow: odd\ntasks:\n  t:\n{task}    overlap: sometimes\n", "allow | skip | queue | replace")


if __name__ == "__main__":
    sys.exit(main(lambda: Site("overlap").start()))
