#!/usr/bin/env python3
"""A program that tells secrets and does not answer: it holds up what asks for that secret, and nothing else. It is a script that
waits until the test lets it go; no time limit of the server is near. TAP."""
import os
import secrets
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import RUNNERS, Site, main, test, until  # noqa: E402

HEAD = "workflow: {}\nproject: dw\nstart_date: 2026-03-01\ndefaults: {{cycle: day, catchup: {{mode: none}}}}\ntasks:\n"
AT = "2026-03-01T00:00:00Z"
# Each call leaves a file of its name; one below held/ waits for the fifo of its name.
PROGRAM = """#!/bin/sh
dir={dir}
: > "$dir/calls/$(echo "$1" | tr / .)-$$"
case "$1" in held/*) read -r word < "$dir/${{1#held/}}" ;; esac
echo the-secret-of-"$1"
"""


def make():
    s = Site("slow-secret")
    try:
        (s.dir / "calls").mkdir()
        program = s.dir / "program"
        program.write_text(PROGRAM.format(dir=s.dir))
        program.chmod(0o700)
        files = s.dir / "outside"
        files.mkdir(0o700)
        (files / "word").touch(0o600)
        (files / "word").write_text("a word of a file\n")
        s.base_sets.update(secret_exec=program, secret_files_dir=files, secret_timeout_ms=60000, secret_keep_ms=600000)
        s.base.argv = s.argv("baseserver", s.base_sets)
        s.start(types=("shell:64",), runners_dir=RUNNERS)
    except BaseException:
        s.close()
        raise
    return s


def place(s, name, source, path):
    s.command_over(s.command("server-set", server=name, host="h", password={"from": source, "path": path}, expect=(200, 201, 202)))


def begin(s, name, count=1):
    """-> tasks that want the password of that target server, begun."""
    flow = f"w{secrets.token_hex(4)}"
    s.apply(HEAD.format(flow) + "".join(f"  t{i}: {{type: shell, params: {{script: 'test -s $SIRDAR_FILES/{name}', secrets: {name}}}}}\n" for i in range(count)))
    tasks = [f"dw/{flow}/t{i}" for i in range(count)]
    s.command_over(s.command("run-now", selection={"tasks": tasks, "dates": ["2026-03-01"]}))
    return tasks


def over(s, task):
    i = s.wait_state(task, AT, ("Succ", "StopSchedule"))
    assert i["state"] == "Succ", s.history(i["id"])


def calls(s, of):
    return [f for f in os.listdir(s.dir / "calls") if f.startswith(of.replace("/", ".") + "-")]


def held(s, name):
    """A target whose program waits. -> lets it go."""
    os.mkfifo(s.dir / name)
    place(s, name, "exec", f"held/{name}")
    return lambda: (s.dir / name).write_text("go\n")


@test
def who_waits_for_a_program_holds_up_no_other_path_and_no_other_source(s):
    go = held(s, "a")
    task, = begin(s, "a")
    until("the program is called", lambda: calls(s, "held/a"))
    place(s, "quick", "exec", "quick")
    place(s, "filed", "file", "word")
    for name in ("quick", "filed"):
        over(s, *begin(s, name))
    # It has not ended meanwhile: those were answered beside it.
    assert s.instance(task, AT)["state"] not in ("Succ", "StopSchedule", "Failed"), s.instance(task, AT)
    assert len(calls(s, "held/a")) == 1
    go()
    over(s, task)


@test
def who_asks_for_the_same_meanwhile_waits_for_the_one_answer(s):
    go = held(s, "b")
    first, = begin(s, "b")
    until("the program is called", lambda: calls(s, "held/b"))
    tasks = begin(s, "b", 12)
    place(s, "quick2", "exec", "quick2")
    over(s, *begin(s, "quick2"))
    go()
    for task in (first, *tasks):
        over(s, task)
    assert len(calls(s, "held/b")) == 1, calls(s, "held/b")


@test
def many_that_wait_have_eight_threads_and_leave_other_sources_theirs(s):
    gone = [held(s, f"m{i}") for i in range(12)]
    tasks = [begin(s, f"m{i}")[0] for i in range(12)]
    until("eight are called", lambda: sum(len(calls(s, f"held/m{i}")) for i in range(12)) == 8)
    place(s, "filed2", "file", "word")
    over(s, *begin(s, "filed2"))
    assert sum(len(calls(s, f"held/m{i}")) for i in range(12)) == 8
    for i, go in enumerate(gone):
        until(f"m{i} is called", lambda i=i: calls(s, f"held/m{i}"))
        go()
    for task in tasks:
        over(s, task)


@test
def a_source_that_no_setting_allows_is_refused_with_the_setting(s):
    for source, path, setting in (("vault", "kv/data/x#k", "vault_url"), ("env", "SOME_WORD", "secret_env_prefix")):
        said = s.sirdar("target", "set", "nowhere", "--password-from", f"{source}:{path}", expect=None)
        assert said.returncode != 0 and f"setting {setting} is empty" in said.stderr, (said.returncode, said.stderr)
        said = s.sirdar("target", "set", "nowhere", "--secret-from", f"api={source}:{path}", expect=None)
        assert said.returncode != 0 and f"setting {setting} is empty" in said.stderr, (said.returncode, said.stderr)
    assert s.ask("GET", "/api/v1/servers/nowhere")[0] == 404


@test
def a_stop_meanwhile_is_a_stop(s):
    go = held(s, "z")
    begin(s, "z")
    until("the program is called", lambda: calls(s, "held/z"))
    s.base.proc.terminate()
    go()
    assert s.base.proc.wait(600) == 0


if __name__ == "__main__":
    sys.exit(main(make))
