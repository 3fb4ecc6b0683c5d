#!/usr/bin/env python3
"""What `sirdar` answers to scripts and to a person at a terminal: exit codes, as the manual lists them,
and the question before a change. TAP."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, Site, free_port, main, test, until  # noqa: E402
from terminal import on_terminal  # noqa: E402

OK, REFUSED, USAGE, UNREACHABLE, NOT_FOUND, DENIED, TIMEOUT, FAILED = 0, 1, 2, 3, 4, 5, 6, 7
DATE, NEXT, FAR = "2026-03-01", "2026-03-02", "2098-01-01"


def document(s, name, body="{type: noop, cycle: day, start_date: 2026-01-01, catchup: {mode: none}}", tasks=("a",)):
    path = s.dir / f"{name}.yaml"
    path.write_text(f"project: ex\nworkflow: {name}\ntasks:\n" + "".join(f"  {t}: {body}\n" for t in tasks))
    return str(path)


def made(s, name, **more):
    s.sirdar("apply", "--yes", document(s, name, **more))
    return f"ex/{name}/a"


def person(s, typed, *words):
    return on_terminal([BIN / "sirdar", *words], dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token")), s.dir, typed=typed)


def version(s, name):
    return next((w["version"] for w in s.get("/api/v1/workflows")["items"] if w["name"] == f"ex/{name}"), 0)


# --- exit codes

@test
def a_server_that_is_away_is_3_for_every_verb(s):
    task, file = made(s, "away"), document(s, "away")
    verbs = (("apply", "--yes", file), ("diff", file), ("backfill", task, DATE, "--yes", "--wait"), ("redo", task, DATE, "--yes"),
             ("why", task, DATE), ("run-now", task), ("status",), ("run", "list"), ("command", "wait", "1"), ("export", "ex/away"))
    for words in verbs:
        done = s.sirdar(*words, "--server", f"http://127.0.0.1:{free_port()}", expect=UNREACHABLE)
        assert done.stderr.startswith("sirdar: http://127.0.0.1:") and not done.stdout, (words, done)
    s.base.stop()
    try:
        for words in verbs[:6]:  # the cgi is there and says what is away
            done = s.sirdar(*words, expect=UNREACHABLE)
            assert "baseserver" in done.stderr, (words, done)
    finally:
        s.base.start()
        until("it is there again", s.up)


@test
def a_wait_that_loses_the_server_waits_for_it_and_may_be_taken_up_again(s):
    gate = s.dir / "data" / "gate"
    task = made(s, "lost", body='{type: shell, cycle: day, start_date: 2026-01-01, catchup: {mode: none}, params: {script: "'
                f'while [ ! -e {gate} ]; do sleep 0.02; done"}}}}')
    with subprocess.Popen([BIN / "sirdar", "backfill", task, DATE, NEXT, "--yes", "--wait", "--parallel", "1",
                           "--timeout", "5s"], env=dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token")), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as waits:
        until("the first one runs", lambda: [i for i in s.instances(task) if i["state"] == "Running"])
        number = s.get("/api/v1/commands?limit=1")["items"][0]["command"]
        s.cgi.kill()
        assert waits.wait(120) == TIMEOUT
        assert b"does not answer; it is tried again" in waits.stderr.read()
    s.start_cgi()
    gate.touch()
    s.sirdar("command", "wait", number, expect=OK)


@test
def a_file_that_is_wrong_or_refused_is_1_and_one_that_is_not_there_4(s):
    bad = s.dir / "bad.yaml"
    bad.write_text("project: ex\nworkflow: bad\ntasks: {a: {type: nothing_has_it, cycle: fortnight}}\n")
    for words in (("check", str(bad)), ("apply", "--yes", str(bad)), ("diff", str(bad))):
        done = s.sirdar(*words, expect=REFUSED)
        assert "fortnight" in done.stdout + done.stderr, done
    for words in (("apply", "--yes", "absent.yaml"), ("diff", "absent.yaml"), ("import", "crontab", "absent.yaml")):
        done = s.sirdar(*words, expect=NOT_FOUND)
        assert "absent.yaml" in done.stderr, done
    s.sirdar("apply", expect=USAGE)


@test
def a_cron_beside_a_cycle_that_is_no_unit_is_refused_by_check_and_apply(s):
    for cycle, code in (("none", REFUSED), ("once", REFUSED), ("2 hour", REFUSED), ("day", OK)):
        file = document(s, "both", f'{{type: noop, cron: "0 6 * * *", cycle: {cycle}, catchup: {{mode: none}}}}')
        checked = s.sirdar("check", file, expect=code)
        applied = s.sirdar("apply", "--yes", file, expect=code)
        said = [checked.stdout + checked.stderr, applied.stdout + applied.stderr]
        assert all(("the cron says when it runs" in text) == (code == REFUSED) for text in said), (cycle, said)


@test
def a_range_that_ends_before_it_begins_is_refused(s):
    task = made(s, "turned")
    for words in (("run", "list"), ("backfill", task, "--yes"), ("redo", task, "--yes"), ("kill", task, "--yes")):
        done = s.sirdar(*words, "--from", NEXT, "--to", DATE, expect=REFUSED)
        assert "is after to" in done.stderr, done
    s.sirdar("run", "list", "--from", DATE, "--to", DATE)


@test
def a_backfill_without_a_date_of_the_plan_says_so(s):
    done = s.sirdar("backfill", made(s, "planless"), "--from", "2025-01-01", "--to", "2025-01-03", "--yes", expect=NOT_FOUND)
    assert "no date of the plan of what is selected is among them" in done.stderr, done


@test
def the_name_of_a_workflow_where_a_task_is_meant_is_told_as_one(s):
    made(s, "flow", tasks=("a", "b"))
    for words, says in ((("backfill", "ex/flow", DATE, "--yes"), "all its tasks: ex/flow/*"), (("freeze", "ex/flow", "--yes"), "all its tasks: ex/flow/*"),
                        (("run", "show", "ex/flow", DATE), "a task of it: ex/flow/")):
        done = s.sirdar(*words, expect=NOT_FOUND)
        assert f"'ex/flow' is a workflow, not a task; {says}" in done.stderr and "is this meant" not in done.stderr, done
    assert "2 tasks" in s.sirdar("freeze", "ex/flow/*", "--yes").stdout


@test
def logs_of_one_stream_say_that_the_other_has_more(s):
    """Who asked what a failed script printed was told "nothing": it had printed to standard error."""
    scripts = {"err": "nosuchcommand", "both": "echo begun; echo broken >&2", "out": "echo fine", "none": "exit 4"}
    path = s.dir / "streams.yaml"
    path.write_text("project: ex\nworkflow: streams\nstart_date: 2026-01-01\ndefaults: {type: shell, cycle: day, catchup: {mode: none}, retry: {attempts: 1}}\ntasks:\n"
                    + "".join(f"  {t}: {{params: {{script: '{text}'}}}}\n" for t, text in scripts.items()))
    s.sirdar("apply", "--yes", str(path))
    s.sirdar("run-now", "ex/streams/*", DATE, "--yes", "--wait", expect=FAILED)
    for t in scripts:
        s.wait_state(f"ex/streams/{t}", DATE + "T00:00:00Z", ("Succ", "StopSchedule"))
    until("their output is there", lambda: s.sirdar("logs", "ex/streams/out", DATE, expect=None).returncode == 0)
    until("that of errors too", lambda: s.sirdar("logs", "-e", "ex/streams/both", DATE, expect=None).returncode == 0)
    until("of both", lambda: s.sirdar("logs", "-e", "ex/streams/err", DATE, expect=None).returncode == 0)
    says = {("err",): "nothing to its standard output, but to its standard error", ("both",): "it printed to its standard error too",
            ("out", "-e"): "nothing to its standard error, but to its standard output", ("none",): "no attempt of it has printed anything"}
    for (t, *more), words in says.items():
        done = s.sirdar("logs", f"ex/streams/{t}", DATE, *more, expect=OK if t == "both" else NOT_FOUND)
        assert words in done.stderr, done
    for words in (("out",), ("both", "-e"), ("both", "-n", "1")):
        assert (done := s.sirdar("logs", f"ex/streams/{words[0]}", DATE, *words[1:])).stderr.count("\n") == 1 and ", attempt 1, standard " in done.stderr, done


@test
def what_nobody_knows_is_4_and_what_nobody_may_is_5(s):
    for words in (("redo", "ex/none/a", DATE, "--yes"), ("backfill", "ex/none/a", DATE, "--yes", "--wait"),
                  ("why", "ex/none/a", DATE), ("why", "99.1"), ("command", "show", "999999"), ("broker", "drain", "none")):
        done = s.sirdar(*words, expect=NOT_FOUND)
        assert done.stderr.startswith("sirdar: "), done
    for words in (("task", "show", "ex/none/a"), ("run", "list", "ex/none/a"), ("stats", "ex/none/a"), ("export", "ex/none"),
                  ("calendar", "show", "none")):
        assert f"'{words[-1]}'" in (done := s.sirdar(*words, expect=NOT_FOUND)).stderr, done
    wrong = s.dir / "wrong-token"
    wrong.touch(0o600)
    wrong.write_text("no such token\n")
    for words in (("why", "ex/away/a", DATE), ("apply", "--yes", document(s, "denied")), ("redo", "ex/away/a", DATE, "--yes")):
        s.sirdar(*words, "--token-file", str(wrong), "--server", f"http://127.0.0.1:{s.http}", expect=DENIED)


@test
def a_command_is_0_when_all_of_it_was_done_1_when_nothing_and_7_when_a_part(s):
    task = made(s, "part")
    s.sirdar("backfill", task, DATE, "--yes", "--wait", expect=OK)
    s.wait_all_over(task, 1)
    for more in ((), ("--wait",), ("--json",), ("--json", "--wait")):
        s.sirdar("redo", task, DATE, "--yes", *more, expect=OK)
        s.wait_all_over(task, 1)
        s.sirdar("redo", task, FAR, "--yes", *more, expect=REFUSED)
        done = s.sirdar("redo", task, DATE, FAR, "--yes", *more, expect=FAILED)
        assert "1 done, 1 refused" in done.stdout or json.loads(done.stdout)["failed"] == 1, done
        s.wait_all_over(task, 1)
    s.sirdar("backfill", task, DATE, NEXT, expect=REFUSED)  # nobody is there who could be asked


@test
def a_wait_is_for_the_ends_of_the_instances(s):
    body = '{type: shell, cycle: day, start_date: 2026-01-01, catchup: {mode: none}, params: {script: "%s"}}'
    gate = s.dir / "data" / "ends"
    slow = made(s, "slow", body=body % f"while [ ! -e {gate} ]; do sleep 0.02; done")
    s.sirdar("backfill", slow, DATE, "--yes", "--wait", "--timeout", "1s", expect=TIMEOUT)
    assert [i["state"] for i in s.instances(slow)] != ["Succ"], "it ended before its gate was opened"
    gate.touch()
    s.sirdar("backfill", slow, NEXT, "--yes", "--wait", "--parallel", "1", expect=OK)
    assert s.instance(slow, NEXT + "T00:00:00Z")["state"] == "Succ", s.instances(slow)
    bad = made(s, "bad", body=body % "exit 3")
    s.sirdar("backfill", bad, DATE, "--yes", "--wait", "--parallel", "1", expect=FAILED)
    done = s.sirdar("backfill", bad, NEXT, "2026-03-03", "--yes", "--wait", "--parallel", "1", "--stop-on-failure", expect=FAILED)
    assert "stopped" in done.stdout, done
    help_ = " ".join(s.sirdar("backfill", "--help").stdout.split())
    assert "until every instance has ended" in help_ and "7: something failed" in help_, help_


@test
def target_servers_that_are_saved_before_a_refused_workflow_are_a_part_7(s):
    target = s.dir / "target.yaml"
    target.write_text("target: exits_db\nkind: mysql\nhost: db.example\nuser: u\n")
    bad = document(s, "nopool", "{type: noop, cycle: day, pools: {no_such_pool: 1}}")
    done = s.sirdar("apply", "--yes", str(target), bad, expect=FAILED)
    assert "no_such_pool" in done.stderr and "1 of the target servers" in done.stderr, done
    s.sirdar("apply", "--yes", str(target), bad, expect=REFUSED)  # nothing is left to be saved


@test
def the_manual_the_man_page_and_the_help_name_the_same_codes(s):
    def codes(text):
        return sorted({int(n) for n in re.findall(r"(?:^|[ (])([0-7])(?=:? (?:done|refused|wrong|no answer|no such|not |gave|a part|done in part|in part))", text)})
    manual = Path(ROOT, "docs/book/en/operations.md").read_text("utf-8")
    page = Path(ROOT, "docs/man/sirdar.1").read_text("utf-8")
    texts = {"manual": " ".join(manual.split("**Exit codes of `sirdar`**")[1].split("Of the daemons")[0].split()),
             "man page": " ".join(page.split(".SH EXIT STATUS")[1].split(".SH SEE ALSO")[0].split()),
             "help": " ".join(s.sirdar("--help").stdout.split("Exit:")[1].split())}
    for name, text in texts.items():
        assert codes(text) == list(range(8)), (name, codes(text), text)
        assert "part" in text, (name, text)


# --- output that arrives nowhere

def shell(s, script, *words):
    """The command within a script of a shell: "$@" stands for it."""
    return subprocess.run(["bash", "-c", script, "-", BIN / "sirdar", *words], capture_output=True, text=True, cwd=s.dir,
                          timeout=120, env=dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token")))


READS = """task list --all|workflow list|run list|command list|broker list|type list|status|audit list|param list|
task show ex/lost/a|export --all|why ex/lost/a 2026-03-01|run show ex/lost/a 2026-03-01""".replace("\n", "")


def verbs(s):
    reads = [words.split() for words in READS.split("|")]
    return [["--version"], ["--help"], ["redo", "--help"], ["check", document(s, "lost")], ["cron", "next", "0 6 * * *"],
            ["apply", "--yes", document(s, "lost")], ["redo", "ex/lost/a", DATE, "--yes"],
            *reads, *(words + ["--json"] for words in reads if words[0] != "export")]


@test
def output_that_cannot_be_written_is_1_and_one_line_for_every_verb(s):
    task = made(s, "lost")
    s.sirdar("backfill", task, DATE, "--yes", "--wait")
    s.wait_all_over(task, 1)
    for to, why in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
        for words in verbs(s):
            done = shell(s, f'"$@" {to}', *words)
            assert done.returncode == REFUSED, (to, words, done)
            said = [line for line in done.stderr.splitlines() if "cannot write" in line]
            assert said == [f"sirdar: cannot write the answer: {why}"], (to, words, done)
            s.wait_all_over(task, 1)
    absent = shell(s, '"$@" >&-', "redo", "ex/none/a", DATE, "--yes")
    assert absent.returncode == NOT_FOUND and "cannot write" not in absent.stderr, "nothing was printed there"


@test
def a_log_that_cannot_be_written_is_1_and_following_it_ends(s):
    task = made(s, "told", body='{type: shell, cycle: day, start_date: 2026-01-01, catchup: {mode: none}, params: {script: '
                '"seq 1 20000"}}')
    s.sirdar("backfill", task, DATE, "--yes", "--wait")
    s.wait_all_over(task, 1)
    for words in (("logs", task, DATE), ("logs", "-f", task, DATE)):
        for to in (">/dev/full", ">&-"):
            done = shell(s, f'"$@" {to}', *words)
            assert done.returncode == REFUSED and done.stderr.count("cannot write") == 1, (words, to, done)


@test
def a_reader_that_has_seen_enough_ends_the_command_without_a_word(s):
    made(s, "enough")
    done = shell(s, 'exec 3> >(true); wait $!; "$@" >&3', "task", "list")
    assert done.returncode == 141 and not done.stderr, done


@test
def a_closed_stdout_is_nobody_elses_descriptor(s):
    made(s, "nobody")
    for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
        for words in (("export", "--all"), ("task", "list", "--json"), ("db", "--version")):
            done = shell(s, f'"$@" {closed}', *words)
            assert done.returncode == (REFUSED if " >&-" in " " + closed else OK), (closed, words, done)


@test
def a_server_started_with_closed_descriptors_keeps_0_to_2_from_its_files(s):
    argv = [str(word) for word in s.base.argv]
    s.base.stop()
    with subprocess.Popen(["bash", "-c", 'exec "$@" <&- >&- 2>&-', "-", *argv], cwd=s.dir, env=s.env) as server:
        try:
            until("it is there", s.up)
            held = [os.readlink(f"/proc/{server.pid}/fd/{fd}") for fd in range(3)]
        finally:
            server.terminate()
            assert server.wait(60) == OK
            s.base.start()
            until("it is there again", s.up)
    assert held == ["/dev/null"] * 3, held


# --- the question before a change

@test
def apply_at_a_terminal_shows_what_changes_and_asks(s):
    file = document(s, "asked")
    done = person(s, "n\n", "apply", file)
    assert done.code == REFUSED and "+ task ex/asked/a" in done.text and "Go on?" in done.text, done.text
    assert version(s, "asked") == 0, "it was saved all the same"
    done = person(s, "y\n", "apply", file)
    assert done.code == OK and version(s, "asked") == 1, done.text
    done = person(s, None, "apply", file)
    assert done.code == OK and "Go on?" not in done.text, "nothing changes: nothing is asked"
    file = document(s, "asked", tasks=("a", "b"))
    for words in (("--yes",), ("--dry-run",)):
        done = person(s, None, "apply", file, *words)
        assert done.code == OK and "Go on?" not in done.text, done.text


@test
def apply_without_a_terminal_saves_and_says_that_nobody_was_asked(s):
    file = document(s, "script")
    done = s.sirdar("apply", file)
    assert version(s, "script") == 1 and "saved without a question" in done.stderr, done
    assert "without a question" not in s.sirdar("apply", file).stderr, "nothing changed"
    file = document(s, "script", tasks=("a", "b"))
    for words in (("--dry-run",), ("--yes",)):
        assert "without a question" not in s.sirdar("apply", *words, file).stderr, words
    file = document(s, "script")
    done = s.sirdar("apply", "--retire", "--json", file, expect=REFUSED)
    assert not done.stdout and "- task ex/script/b" in done.stderr and "say --yes" in done.stderr, done
    s.sirdar("apply", "--retire", "--yes", file)


@test
def apply_asks_also_where_a_workflow_needs_a_target_server_of_the_same_files(s):
    target = s.dir / "t2.yaml"
    target.write_text("target: asked_db\nkind: mysql\nhost: db.example\nuser: u\n")
    needs = document(s, "uses", '{type: shell, cycle: day, params: {script: "echo ${server.asked_db.host}"}}')
    done = person(s, "n\n", "apply", str(target), needs)
    assert done.code == REFUSED and version(s, "uses") == 0, done.text
    done = person(s, "y\n", "apply", str(target), needs)
    assert done.code == OK and version(s, "uses") == 1, done.text


@test
def what_never_asks_does_not_say_that_it_can_be_told_not_to(s):
    for words in (("broker", "drain"), ("broker", "undrain"), ("command", "cancel"), ("command", "pause"), ("server", "step-down")):
        done = s.sirdar(*words, "--help", expect=None)
        assert "--yes" not in done.stdout and "Usage" in done.stdout, (words, done.stdout)
    assert "--yes" in s.sirdar("redo", "--help", expect=None).stdout
    for word in ("drain", "undrain"):
        s.sirdar("broker", word, "b1", "--yes")  # scripts say it


if __name__ == "__main__":
    sys.exit(main(lambda: Site("exits").start()))
