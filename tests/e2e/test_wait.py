#!/usr/bin/env python3
"""What `--wait` waits for: the instances, however they end; and what it says meanwhile and answers
to scripts. TAP."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, main, test, until  # noqa: E402
from terminal import on_terminal  # noqa: E402

OK, REFUSED, TIMEOUT, FAILED, LET_GO = 0, 1, 6, 7, 130
DATE, NEXT = "2026-03-01", "2026-03-02"


def made(s, name, retry="{attempts: 1}", **scripts):
    """A workflow of daily tasks; NAME__PARENT waits for PARENT."""
    path = s.dir / f"{name}.yaml"
    lines = []
    for task, text in scripts.items():
        own, _, parent = task.partition("__")
        lines.append(f"  {own}: {{params: {{script: '{text}'}}{f', needs: [{parent}]' if parent else ''}}}\n")
    path.write_text(f"project: wait\nworkflow: {name}\nstart_date: 2026-01-01\ndefaults: {{type: shell, cycle: day, "
                    f"catchup: {{mode: none}}, retry: {retry}}}\ntasks:\n" + "".join(lines))
    s.sirdar("apply", "--yes", str(path))


def gated(s, name):
    gate = s.dir / "data" / f"{name}.gate"
    made(s, name, a=f"while [ ! -e {gate} ]; do sleep 0.02; done")
    return gate


@contextlib.contextmanager
def begun(s, *words):
    with subprocess.Popen([BIN / "sirdar", *words], env=dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token")), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        try:
            yield p
        finally:
            if p.poll() is None:
                p.kill()


def states(s, task):
    return sorted(i["state"] for i in s.instances(task))


def says(p, words):
    """A line of its standard error with these words."""
    for line in p.stderr:
        if words in line:
            return line
    raise AssertionError(f"{words!r} was never said, exit {p.wait()}: {p.stdout.read()}")


@test
def a_backfill_is_waited_for_until_its_instances_have_ended(s):
    """It came back at once with `2 of 2 done` while they ran."""
    gate = gated(s, "ends")
    with begun(s, "backfill", "wait/ends/a", DATE, NEXT, "--yes", "--wait") as p:
        says(p, "2 running")
        assert p.poll() is None, "it did not wait"
        gate.touch()
        assert p.wait(120) == OK, p.stderr.read()
        out = p.stdout.read()
    assert "2: 2 succeeded" in out and states(s, "wait/ends/*") == ["Succ", "Succ"], out


@test
def work_that_fails_is_7_and_named(s):
    made(s, "fails", good="exit 0", bad="exit 3")
    done = s.sirdar("backfill", "--workflow", "wait/fails", "--date", DATE, "--yes", "--wait", expect=FAILED)
    assert "1 succeeded" in done.stdout and "1 failed" in done.stdout, done
    assert re.search(r"wait/fails/bad 2026-03-01 failed.* exit 3", done.stdout), done
    for words in (("redo", "wait/fails/bad", DATE, "--yes"), ("run-now", "wait/fails/bad", DATE)):
        s.sirdar(*words, "--wait", expect=FAILED)
        s.sirdar(*words, "--follow", expect=FAILED)
    answer = json.loads(s.sirdar("redo", "wait/fails/bad", DATE, "--yes", "--wait", "--json", expect=FAILED).stdout)
    assert answer["state"] == "done" and answer["instances"]["states"] == {"StopSchedule": 1}, answer


@test
def work_that_is_killed_meanwhile_is_7(s):
    gated(s, "killed")
    with begun(s, "backfill", "wait/killed/a", DATE, "--yes", "--wait") as p:
        says(p, "1 running")
        s.sirdar("kill", "wait/killed/a", DATE, "--yes")
        assert p.wait(120) == FAILED, p.stderr.read()
        assert "1 killed" in p.stdout.read()


@test
def what_is_tried_again_is_waited_for(s):
    made(s, "again", retry="{attempts: 3, delay: 0s}", a="test $SIRDAR_ATTEMPT -ge 3")
    out = s.sirdar("backfill", "wait/again/a", DATE, "--yes", "--wait").stdout
    assert "1 succeeded" in out, out


@test
def who_has_waited_long_enough_is_told_that_the_work_goes_on(s):
    gate = gated(s, "late")
    done = s.sirdar("backfill", "wait/late/a", DATE, "--yes", "--wait", "--timeout", "1s", expect=TIMEOUT)
    again = re.search(r"the work goes on, `sirdar (command wait \d+)` looks again", done.stderr)
    assert again and "0 of 1 done" in done.stderr, done
    gate.touch()
    assert "1 succeeded" in s.sirdar(*again[1].split()).stdout


@test
def ctrl_c_lets_go_of_the_waiting_and_of_nothing_else(s):
    gate = gated(s, "ctrl")
    with begun(s, "backfill", "wait/ctrl/a", DATE, "--yes", "--wait") as p:
        says(p, "1 running")
        p.send_signal(signal.SIGINT)
        assert p.wait(120) == LET_GO, p.stderr.read()
        again = re.search(r"let go: .*the work goes on, `sirdar (command wait \d+)`", p.stderr.read())
    assert again and states(s, "wait/ctrl/a") == ["Running"]
    gate.touch()
    s.sirdar(*again[1].split())
    assert states(s, "wait/ctrl/a") == ["Succ"]


@test
def what_waits_for_a_failure_is_not_waited_for(s):
    """The child of what failed would keep everybody waiting until somebody redoes that."""
    made(s, "vain", a="exit 1", b__a="exit 0", c__b="exit 0", d="exit 0")
    done = s.sirdar("backfill", "--workflow", "wait/vain", "--date", DATE, "--yes", "--wait", expect=FAILED)
    assert "2 wait for what failed" in done.stdout, done
    assert states(s, "wait/vain/*") == ["Ready", "Ready", "StopSchedule", "Succ"]


@test
def what_is_on_its_way_already_is_waited_for_too(s):
    gate = gated(s, "twice")
    s.sirdar("backfill", "wait/twice/a", DATE, "--yes")
    until("it runs", lambda: states(s, "wait/twice/a") == ["Running"])
    done = s.sirdar("backfill", "wait/twice/a", DATE, "--yes", expect=REFUSED)
    assert "1 is unfinished already and was left" in done.stderr, done
    with begun(s, "backfill", "wait/twice/a", DATE, "--yes", "--wait") as p:
        says(p, "1 running")
        gate.touch()
        assert p.wait(120) == OK, p.stderr.read()
        assert "1 succeeded" in p.stdout.read()


@test
def a_wait_outlives_the_servers(s):
    gate = gated(s, "outlives")
    with begun(s, "backfill", "wait/outlives/a", DATE, NEXT, "--yes", "--wait") as p:
        says(p, "2 running")
        s.base.restart()
        s.cgi.kill()
        says(p, "does not answer; it is tried again")
        s.start_cgi()
        gate.touch()
        assert p.wait(120) == OK, p.stderr.read()
        assert "2 succeeded" in p.stdout.read()


@test
def a_terminal_shows_how_far_it_is_and_what_fails(s):
    made(s, "shown", a="exit 0", b="exit 5")
    done = on_terminal([BIN / "sirdar", "backfill", "--workflow", "wait/shown", "--date", DATE, "--yes", "--wait"],
                       dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token")), s.dir)
    assert done.code == FAILED and "2 of 2 done, 1 failed" in done.text, done.text
    assert re.search(r"wait/shown/b 2026-03-01 failed.* exit 5", done.text), done.text


@test
def lines_are_printed_when_something_changed_and_each_end_when_it_is_followed(s):
    gate = gated(s, "lines")
    with begun(s, "backfill", "wait/lines/a", DATE, NEXT, "--yes", "--follow") as p:
        says(p, "2 running")
        gate.touch()
        assert p.wait(120) == OK
        said = p.stderr.read().splitlines()
    assert sum("wait/lines/a" in line and "succeeded" in line for line in said) == 2, said
    counts = [line for line in said if " of 2 done" in line]
    assert len(counts) == len(set(counts)), said


@test
def a_verb_that_makes_nothing_run_waits_for_its_command(s):
    gated(s, "plain")
    s.sirdar("backfill", "wait/plain/a", DATE, "--yes")
    until("it runs", lambda: states(s, "wait/plain/a") == ["Running"])
    s.sirdar("kill", "wait/plain/a", DATE, "--yes", "--wait")
    number = s.get("/api/v1/commands?limit=1")["items"][0]["command"]
    out = s.sirdar("command", "wait", number).stdout
    assert "kill" in out and "instances:" not in out, out


if __name__ == "__main__":
    sys.exit(main(lambda: Site("wait").start()))
