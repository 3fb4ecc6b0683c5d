#!/usr/bin/env python3
"""What the server keeps of commands: little of each, whatever was in it, and enough to answer for it."""
import sys

from harness import Site, anonymous_kb, main, test, until

DAY = "project: m\nworkflow: w\ntasks:\n  a: {type: noop, cycle: day}\n  b: {type: noop, cycle: day, needs: [a]}\n"
BIG = DAY + "".join(f"  t{i}: {{type: noop, cycle: day, needs: [a]}}\n" for i in range(300))
BYTES_MAX = 4096  # a kept command, with room for an allocator's ways


def toggle(s, i):
    """Applied: it changes a task, and has a record."""
    s.command("unfreeze" if i % 2 else "freeze", selection={"tasks": ["m/w/a"]})


def refused(s, i):
    s.command("redo", selection={"tasks": [f"m/w/none{i}"]}, expect=(404,))


def dry(s, i):
    s.command("redo", dry_run=True, selection={"tasks": ["m/w/a"], "from": "2026-01-01", "to": "2026-01-05"})


def big_dry(s, i):
    s.apply(BIG + f"  z{i}: {{type: noop, cycle: day}}\n", dry_run=True)


def big_refused(s, i):
    s.apply(BIG + f"  z{i}: {{type: noop, needs: [nobody]}}\n", expect=(400, 404, 422))


@test
def five_thousand_commands_leave_four_kilobytes_each_at_most(s):
    s.apply(DAY)
    kinds = ((toggle, 3500), (refused, 700), (dry, 500), (big_dry, 150), (big_refused, 150))
    for kind, _ in kinds:  # what the first ones of a kind take stays theirs
        for i in range(60):
            kind(s, i)
    before = anonymous_kb(s.base.pid)
    for kind, times in kinds:
        for i in range(times):
            kind(s, i)
    grown = (anonymous_kb(s.base.pid) - before) * 1024
    commands = sum(times for _, times in kinds)
    assert grown < commands * BYTES_MAX, f"{commands} commands left {grown} bytes, {grown // commands} each"


@test
def a_command_that_is_over_still_answers_for_itself(s):
    s.apply(DAY)
    sel = {"tasks": ["m/w/b"]}
    first = s.command("freeze", request_id="kept-and-known", selection=sel, message="why it was done")
    for i in range(10):
        toggle(s, i)
    shown = s.get(f"/api/v1/commands/{first['command']}")
    assert (shown["state"], shown["actor"]) == ("done", first["actor"]), shown
    again = s.command("freeze", request_id="kept-and-known", selection=sel, message="why it was done")
    assert again["command"] == first["command"] and again["state"] == "done", again
    s.command("freeze", request_id="kept-and-known", selection={"tasks": ["m/w/a"]}, expect=(409,))
    s.command("unfreeze", request_id="kept-and-known", selection=sel, expect=(409,))
    late = s.command("command-cancel", command=first["command"], expect=(200, 202, 409))
    assert "is done" in str(late), late
    s.base.restart()
    until("the server answers again", s.up)
    again = s.command("freeze", request_id="kept-and-known", selection=sel, message="why it was done")
    assert again["command"] == first["command"] and again["message"] == "why it was done", again


@test
def an_apply_asked_again_gives_its_changes_once_more(s):
    first = s.apply(DAY.replace("workflow: w", "workflow: again"), request_id="apply-once")
    again = s.apply(DAY.replace("workflow: w", "workflow: again"), request_id="apply-once")
    assert first["changes"] and again["changes"] == first["changes"], (first, again)


if __name__ == "__main__":
    sys.exit(main(lambda: Site("memory").start(("noop:8",))))
