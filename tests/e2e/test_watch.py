#!/usr/bin/env python3
"""`--watch`: lists, runs and `why` shown again whenever something of them changes: redrawn in place on a terminal, as lines of what
is new elsewhere, until Ctrl-C. TAP."""
import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, main, test, until  # noqa: E402

LET_GO, USAGE, NOT_FOUND = 130, 2, 4
DATE = "2026-03-01"


def made(s, name, **scripts):
    lines = []
    for task, text in scripts.items():
        own, _, parent = task.partition("__")
        lines.append(f"  {own}: {{params: {{script: '{text}'}}{f', needs: [{parent}]' if parent else ''}}}\n")
    s.apply(f"project: eye\nworkflow: {name}\nstart_date: 2026-01-01\ndefaults: {{type: shell, cycle: day, catchup: {{mode: none}}, "
            f"retry: {{attempts: 1}}}}\ntasks:\n" + "".join(lines))


def gated(s, name):
    gate = s.dir / "data" / f"{name}.gate"
    made(s, name, a=f"while [ ! -e {gate} ]; do sleep 0.02; done", b__a="exit 3")
    return gate


def start(s, name, *tasks):
    more = [word for task in tasks[1:] for word in ("--task", f"eye/{name}/{task}")]
    s.sirdar("backfill", f"eye/{name}/{tasks[0]}", DATE, *more, "--yes")


def runs(s, task):
    until("it runs", lambda: [i["state"] for i in s.instances(task)] == ["Running"])


@contextlib.contextmanager
def watching(s, *words, terminal=False, **env):
    """The program, and what it says: read as it comes."""
    mine, theirs = pty.openpty() if terminal else (None, None)
    all_env = {**s.env, "SIRDAR_TOKEN_FILE": str(s.dir / "token"), "TERM": "xterm", **env}
    with subprocess.Popen([BIN / "sirdar", *words, "--watch"], env=all_env, stdin=subprocess.DEVNULL,
                          stdout=theirs if terminal else subprocess.PIPE, stderr=theirs if terminal else subprocess.PIPE) as p:
        if terminal:
            os.close(theirs)
        w = Watch(p, mine if terminal else p.stdout.fileno())
        try:
            yield w
        finally:
            if p.poll() is None:
                p.kill()
            if terminal:
                os.close(mine)


class Watch:
    def __init__(self, p, fd):
        self.p, self.fd, self.got = p, fd, b""

    @property
    def text(self):
        return self.got.decode()

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            some = os.read(self.fd, 65536)
        except OSError:
            some = b""
        self.got += some
        return bool(some)

    def says(self, pattern, after=0, seconds=120):
        """Where it stands in what was said."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.text[after:])
            if found:
                return after + found.end()
            assert self.read(1), f"{pattern!r} was never said: {self.text!r}, exit {self.p.wait()}"
        raise AssertionError(f"{pattern!r} is not said: {self.text!r}")

    def interrupted(self):
        self.p.send_signal(signal.SIGINT)
        while self.read(60):
            if self.p.poll() is not None and not select.select([self.fd], [], [], 0)[0]:
                break
        return self.p.wait(60)


@test
def a_list_that_is_piped_has_lines_of_what_is_new_alone(s):
    gate = gated(s, "list")
    start(s, "list", "a", "b")
    runs(s, "eye/list/a")
    with watching(s, "run", "list", "--workflow", "eye/list") as w:
        w.says(r"eye/list/a +2026-03-01 +running")
        w.says(r"eye/list/b +2026-03-01 +waiting")
        gate.touch()
        w.says(r"eye/list/a +2026-03-01 +succeeded")
        w.says(r"eye/list/b +2026-03-01 +failed")
        assert w.interrupted() == LET_GO
        lines = [re.sub(r" +", " ", line) for line in w.text.splitlines()]
    assert "\x1b" not in w.text and len(lines) == len(set(lines)), lines
    assert sum(line.startswith("Task Run date") for line in lines) == 1, lines


@test
def on_a_terminal_the_list_is_drawn_again_in_its_place(s):
    gate = gated(s, "drawn")
    start(s, "drawn", "a")
    runs(s, "eye/drawn/a")
    with watching(s, "run", "list", "eye/drawn/a", terminal=True) as w:
        at = w.says("\x1b\\[34mrunning\x1b\\[0m")
        w.says("Ctrl-C", at)
        gate.touch()
        w.says("(?s)\x1b\\[\\d+A.*\x1b\\[32msucceeded\x1b\\[0m", at)
        assert w.interrupted() == LET_GO


@test
def a_run_and_why_it_waits_are_followed(s):
    gate = gated(s, "why")
    start(s, "why", "a", "b")
    with watching(s, "run", "show", "eye/why/b", DATE) as shown, watching(s, "why", "eye/why/b", DATE) as why:
        shown.says(r"state +waiting")
        why.says(r"waiting: .*eye/why/a")
        gate.touch()
        shown.says(r"state +failed")
        why.says(r"exit 3|exited with 3|exit code 3")
        assert why.interrupted() == shown.interrupted() == LET_GO
    with watching(s, "why", "eye/why") as flow:
        at = flow.says(r"eye/why/b")
        s.sirdar("force-success", "eye/why/b", DATE, "--yes")
        flow.says(r"\n.*\n", at)
        assert flow.interrupted() == LET_GO


@test
def commands_and_what_failed_are_followed(s):
    made(s, "fails", a="echo Error: the disk is full >&2; exit 4")
    with watching(s, "command", "list") as commands, watching(s, "failures", "--workflow", "eye/fails") as causes:
        commands.says("backfill")
        causes.says("")
        start(s, "fails", "a")
        number = s.get("/api/v1/commands?limit=1")["items"][0]["command"]
        commands.says(rf"{number} +backfill .* done")
        causes.says("the disk is full")
        assert commands.interrupted() == causes.interrupted() == LET_GO


@test
def it_outlives_the_servers(s):
    gate = gated(s, "outlives")
    start(s, "outlives", "a")
    runs(s, "eye/outlives/a")
    with watching(s, "run", "list", "eye/outlives/a") as w:
        w.says("running")
        s.base.restart()
        s.cgi.kill()
        s.start_cgi()
        gate.touch()
        w.says("succeeded")
        assert w.interrupted() == LET_GO


def lists_asked(s):
    """How often the face was asked for lists of instances."""
    return sum(int(n) for n in re.findall(r'_count\{route="/api/v1/instances",method="GET"[^}]*\} (\d+)', s.ask("GET", "/metrics")[1].decode()))


@test
def events_of_others_make_no_look(s):
    made(s, "quiet", a="exit 0")
    made(s, "busy", c="exit 0")
    start(s, "quiet", "a")
    s.wait_all_over("eye/quiet/a", n=1)
    with watching(s, "run", "list", "eye/quiet/a") as w:
        w.says("succeeded")
        before = lists_asked(s)
        assert before > 0
        s.sirdar("backfill", "eye/busy/c", "--from", "2026-01-01", "--to", "2026-03-01", "--yes", "--wait")
        # What is of its own comes after the others' in one stream.
        s.sirdar("redo", "eye/quiet/a", DATE, "--yes", "--no-op")
        w.says(r"succeeded[^\n]*\n[^\n]*succeeded")
        # Each look asks for the store's number and for the list: of the redo's own few events alone, not of the 60 others.
        assert lists_asked(s) - before < 40, (before, lists_asked(s))
        assert w.interrupted() == LET_GO


@test
def what_cannot_be_watched_says_so(s):
    made(s, "wrong", a="exit 0")
    start(s, "wrong", "a")
    for words, code, why in ((("run", "list", "--json"), USAGE, "--watch"), (("run", "list", "--output", "name"), USAGE, "--watch"),
                             (("run", "show", "eye/wrong/a", "2020-01-01"), NOT_FOUND, "2020-01-01")):
        done = s.sirdar(*words, "--watch", expect=code)
        assert why in done.stderr, done


if __name__ == "__main__":
    sys.exit(main(lambda: Site("watch").start()))
