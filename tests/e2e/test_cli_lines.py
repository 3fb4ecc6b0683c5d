#!/usr/bin/env python3
"""Command lines of `sirdar`: what its one parser refuses, and what goes to the server. The server
here answers what a test says and keeps what it was asked. TAP."""
import http.server
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIRDAR = os.environ.get("SIRDAR_BIN") or str(ROOT / os.environ.get("B", "build/gcc") / "bin" / "sirdar")
TASKS = [{"task": "shop/day/sell", "state": "Online"}]
REFUSED = {"error": {"code": "invalid", "message": "refused", "details": {"errors": [
    {"file": "p.yaml", "line": 1, "column": 1, "path": "", "message": "no document"},
    {"file": "p.yaml", "line": 2, "column": 3, "path": "tasks.a", "message": "odd"}]}}}
asked = []
LISTED = []  # not empty: the server knows a task type


class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self):
        path = self.path.split("?")[0]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked.append((self.path, json.loads(body) if body else None))
        code, said = 200, {"items": [], "types": [], "baselines": [], "token": "t"}
        if path == "/api/v1/tasks":
            said = {"items": TASKS if self.path.startswith("/api/v1/tasks?prefix=shop%2F&") else []}
        elif path == "/api/v1/types":
            said = {"types": [{"type": "known", "brokers": []}] if LISTED else []}
        elif path == "/api/v1/instances" and "absent" in self.path:
            code, said = 404, {"error": {"code": "NOT_FOUND", "message": "no such task"}}
        elif path == "/api/v1/workflows" and body:
            code, said = 422, REFUSED
        text = json.dumps(said).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = answer


def sirdar(*words):
    asked.clear()
    r = subprocess.run([SIRDAR, *words], input="", capture_output=True, text=True, timeout=60, env=ENV, check=False)
    return r.returncode, r.stdout, r.stderr


def a_line_that_no_verb_takes_is_wrong_use_and_asks_nobody():
    for words, why in (
            (("type", "list", "--nosuch"), "unrecognized option"),
            (("cron", "next", "* * * * *", "-Q"), "invalid option"),
            (("forecast", "a/b", "--date"), "requires an argument"),
            (("run", "list", "--date", ""), "--date is empty"),
            (("logs", "1.2", "--date", "x"), "unrecognized option"),
            (("task", "list", "--sort", "start"), "unrecognized option"),
            (("diff", "x.yaml", "--yes"), "unrecognized option"),
            (("baselines", "word"), "usage: sirdar baselines"),
            (("forecast", "a", "b"), "usage: sirdar forecast"),
            (("logs", "a", "b", "c"), "want TASK RUN_DATE"),
            (("cron", "next", "a", "b"), "one expression"),
            (("import", "ects", "a", "b"), "one file"),
            (("param", "list", "a"), "one word too many"),
            (("login", "word"), "Too many arguments"),
            (("login", "--days", ""), "want 0 to 3650"),
            (("check",), "which files?"),
            (("export",), "which workflow")):
        code, out, err = sirdar(*words)
        assert (code, out, asked) == (2, "", []) and why in err, (words, code, out, err, asked)


def with_json_each_kind_of_verb_prints_one_value():
    for words in (("cron", "next", "0 1 * * *"), ("check", FILE), ("diff", OTHER), ("baselines",), ("type", "list"),
                  ("forecast", "a/b"), ("task", "list"), ("param", "list"), ("export", "--all"),
                  ("simulate", FILE, "--from", "2026-01-01", "--to", "2026-01-02")):
        code, out, err = sirdar(*words, "--json")
        if words[0] == "diff":
            assert code == 1 and out == "", (words, code, out, err)
        else:
            assert code == 0, (words, code, out, err)
            json.loads(out)


def of_what_is_said_twice_the_last_counts_and_lists_grow():
    sirdar("forecast", "a/b", "--date", "2026-01-01", "--date", "2026-01-02")
    assert [p for p, _ in asked] == ["/api/v1/forecast?name=a%2Fb&date=2026-01-02"], asked
    sirdar("enqueue", "--task", "p/w/a", "--task", "p/w/b", "--message", "one", "--message", "two", "--yes")
    args = asked[-1][1]["args"]
    assert args["selection"]["tasks"] == ["p/w/a", "p/w/b"] and args["message"] == "two", asked
    sirdar("apply", OTHER, "--yes", "--prune", "p", "--prune", "q")
    body = asked[-1][1]
    assert body["prune"] == ["p", "q"] and body["retire"] is True, body


def a_star_at_the_end_of_a_prefix_is_the_prefix_before_it():
    code, out, err = sirdar("task", "list", "shop/*")
    assert code == 0 and "shop/day/sell" in out and err == "", (code, out, err, asked)


def a_list_that_a_prefix_leaves_empty_says_so():
    code, out, err = sirdar("task", "list", "shelf/*", "--json")
    assert (code, out.strip()) == (0, "[]") and "nothing matches 'shelf/*'" in err, (code, out, err)
    assert "nothing" not in sirdar("task", "list")[2]


def an_empty_list_says_so_beside_its_header():
    for words, says in ((("run", "list"), "no run"), (("task", "list"), "no task"), (("alert", "list"), "no alert"),
                        (("pool", "list"), "no pool"), (("baselines",), "no baselines"), (("param", "list"), "no param"),
                        (("workflow", "list"), "no workflow"), (("type", "list"), "no type"), (("plugin", "list"), "no plugin"),
                        (("broker", "list"), "no broker"), (("silence", "list"), "no silence"), (("token", "list"), "no token")):
        code, out, err = sirdar(*words)
        assert code == 0 and len(out.splitlines()) == 1 and err == f"sirdar: {says}\n", (words, code, out, err)
        assert sirdar(*words, "--json")[2] == "", words


def what_prints_text_as_it_is_takes_no_json():
    for words in (("logs", "a/b/c", "2026-01-01"), ("import", "crontab", FILE), ("import", "ects", FILE)):
        code, out, err = sirdar(*words, "--json")
        assert (code, out, asked) == (2, "", []) and "there is no --json" in err, (words, code, out, err)


def a_name_that_nothing_has_is_refused_or_told():
    LISTED.append(True)
    for words in (("plugin", "drain", "nosuch"), ("plugin", "release", "nosuch"), ("plugin", "release", "nosuch", "--broker", "b1")):
        code, _, err = sirdar(*words)
        assert code == 4 and "no type nosuch" in err and not [b for _, b in asked if b], (words, code, err, asked)
    assert "no type" not in sirdar("plugin", "drain", "known")[2] and asked[-1][1]["kind"] == "plugin-drain", asked
    for words in (("quota", "set", "nosuch", "4"), ("param", "set", "--project", "nosuch", "a=1")):
        code, _, err = sirdar(*words)
        assert code == 0 and "project nosuch has no task" in err and asked[-2][1], (words, code, err, asked)
    for words in (("quota", "set", "nosuch", "0"), ("quota", "set", "shop", "4"), ("param", "set", "a=1"),
                  ("param", "set", "--project", "shop", "a=1")):
        assert "has no task" not in sirdar(*words)[2], words
    LISTED.clear()


def a_key_of_tasks_in_the_head_of_a_workflow_is_told_where_it_belongs():
    head = Path(FILE).with_name("head.yaml")
    head.write_text("workflow: w\nproject: p\ncatchup: {mode: none}\ntasks:\n  a: {type: noop, cycle: day}\n")
    code, out, err = sirdar("check", str(head))
    assert code == 1 and "a task has it; in `defaults` it holds for all tasks" in out + err, (code, out, err)
    head.write_text("workflow: w\nproject: p\ntsaks: {}\ntasks:\n  a: {type: noop, cycle: day}\n")
    assert "did you mean 'tasks'" in "".join(sirdar("check", str(head))[1:])


def a_parameter_beside_the_type_is_told_where_it_belongs():
    file = Path(FILE).with_name("beside.yaml")
    for text in ("workflow: w\nproject: p\ntasks:\n  a: {type: shell, cycle: day, script: id}\n",
                 "pipeline: w\nproject: p\ncron: '0 0 * * *'\nsteps:\n  - {name: a, type: sql, sql: SELECT 1}\n"):
        file.write_text(text)
        code, out, err = sirdar("check", str(file))
        assert code == 1 and "put it under `params`" in out + err and "did you mean" not in out + err, (code, out, err)


def each_need_that_looks_before_a_begin_is_named():
    file = Path(FILE).with_name("begins.yaml")
    file.write_text("workflow: w\nproject: p\ntasks:\n  a: {type: noop, cycle: day}\n  b: {type: noop, cycle: day, needs: [{task: a, depend: -1}]}\n")
    code, out, err = sirdar("check", str(file), FILE.replace("w.yaml", "other.yaml"))
    assert code == 0 and "p/w/b needs p/w/a" in out, (code, out, err)


def a_group_alone_lists_its_commands():
    for group, has in (("peer", "peer revoke PEER"), ("broker", "broker undrain"), ("quota", "quota set PROJECT N"), ("cron", "cron next")):
        code, out, err = sirdar(group)
        assert (code, out, asked) == (2, "", []) and has in err and "audit" not in err, (group, code, out, err)
        code, out, err = sirdar(group, "--help")
        assert code == 0 and has in out and err == "", (group, code, out, err)
    code, _, err = sirdar("peer", "lst")
    assert code == 2 and "no command 'peer lst'" in err and "peer list" in err, (code, err)


def nothing_at_all_is_said_and_its_exit_code_says_so_too():
    code, out, err = sirdar("cron", "next", "0 0 31 2 *")
    assert (code, out) == (1, "") and "never comes" in err, (code, out, err)
    assert sirdar("cron", "next", "0 0 * * *", "-n", "0") == (0, "", "")
    code, out, err = sirdar("simulate", FILE, "--date", "2026-01-02 05:00")
    assert code == 0 and "no run date" in err, (code, out, err)
    for words in (("backfill", "p/w/a", "--from", "2026-01-01", "--to", "2026-01-01", "--dry-run"),
                  ("backfill", "p/w/a", "--from", "2026-01-01", "--to", "2026-01-01", "--dry-run", "--json")):
        code, out, err = sirdar(*words)
        assert code == 1 and "nothing to do: no instance" in err, (words, code, out, err)


def who_lists_the_runs_of_a_workflow_is_told_how():
    code, _, err = sirdar("run", "list", "absent/etl")
    assert code == 4 and "all of a workflow: sirdar run list --workflow absent/etl" in err, (code, err)
    code, _, err = sirdar("run", "list", "absent/etl/load")
    assert code == 4 and "workflow" not in err, (code, err)


def an_error_of_a_file_has_a_path_only_where_there_is_one():
    code, _, err = sirdar("apply", OTHER, "--yes")
    assert code == 1 and "p.yaml:1:1: no document" in err and "p.yaml:2:3: odd (tasks.a)" in err, err


def the_help_of_task_list_offers_only_what_it_takes():
    code, out, _ = sirdar("task", "list", "--help")
    assert code == 0 and "--state" in out and "--sort" not in out and "runs:" not in out, out


def a_verb_offers_only_what_it_reads():
    dates = ("--from", "--to", "--date", "--every", "--state", "--id")
    for verb, without in (
            ("broker list", dates), ("task show", dates), ("run show", dates), ("run history", dates), ("why", dates),
            ("offline", dates), ("retire", dates), ("online", dates[1:]), ("command show", ("--open", "--limit", "--yes")),
            ("command wait", ("--open", "--limit", "--yes")), ("command cancel", ("--open", "--limit")),
            ("command list", ("--yes",)), ("status", ("--days", "--dry-run")), ("stats", ("--dry-run",)),
            ("silence list", ("--reason", "--until", "--for", "--task")), ("silence add", ("--all",)), ("edges", ("--durations",)),
            ("calendar show", ("--dry-run",)), ("calendar retire", ("--version",)), ("import ects", ("--system",)),
            ("import crontab", ("--node",)), ("import dolphinscheduler", ("--node", "--system")),
            ("plugin drain", ("--sha256", "--abi", "--broker", "--everywhere", "--own")), ("plugin remove", ("--sha256", "--broker")),
            ("plugin rollback", ("--broker", "--sha256")), ("plugin register", ("--own", "--everywhere"))):
        code, out, _ = sirdar(*verb.split(), "--help")
        assert code == 0 and not [o for o in without if o in out.split() or o + "=" in out], (verb, out)
    for verb in ("online", "offline", "retire", "freeze", "kill"):
        assert "--workflow=W" in sirdar(verb, "--help")[1], verb
    for verb in ("freeze", "kill", "redo"):
        assert "--every=DAY" in sirdar(verb, "--help")[1], verb


def a_command_that_is_said_in_part_is_told_whole():
    code, _, err = sirdar("prio", "a/b/c")
    assert code == 2 and "is this meant: priority" in err, err
    code, _, err = sirdar("nosuch")
    assert code == 2 and "lists them" in err, err


def a_slip_in_a_command_is_answered_by_the_nearest():
    for words, near in ((("aply", "x.yaml"), "apply"), (("rnu", "list"), "run list"), (("brokr",), "broker"), (("stauts",), "status")):
        code, out, err = sirdar(*words)
        assert (code, out) == (2, "") and f"is this meant: {near}\n" in err, (words, err)
    for far in ("frobnicate", "xyz", "zz"):
        assert "is this meant" not in sirdar(far)[2], far


def what_is_said_twice_and_differs_is_refused():
    code, _, err = sirdar("kill", "-y", "--workflow", "a/b", "--workflow", "c/d")
    assert (code, asked) == (2, []) and "--workflow is said twice: a/b and c/d" in err, (code, err)
    assert sirdar("kill", "-y", "--workflow", "a/b", "--workflow", "a/b")[0] != 2


def an_empty_project_is_no_word_for_all():
    code, _, err = sirdar("param", "set", "--project=", "a=1")
    assert (code, asked) == (2, []) and "--project is empty" in err, (code, err)


def dates_that_begin_with_a_minus_are_no_options():
    for words in (("run", "list", "a/b/c", "--date", "-3d.."), ("run", "list", "a/b/c", "--from", "-3d", "--to", "now"), ("run", "list", "a/b/c", "--since", "-3d")):
        code, _, err = sirdar(*words)
        assert code == 0 and "from=-3d&to=now" in asked[0][0].replace("%20", ""), (words, err, asked)
    sirdar("backfill", "a/b/c", "-3d..", "--yes")
    assert asked[-1][1]["args"]["selection"]["dates"] == [" -3d.."], asked


def states_are_said_as_they_are_printed():
    sirdar("run", "list", "--state", "failed,Failed,queued,killing")
    assert "states=StopSchedule%2CFailed%2CDependenceFinish%2CWaitKill%2CKilling&" in asked[0][0], asked
    sirdar("kill", "a/b/c", "--state", "retrying", "--yes")
    assert asked[-1][1]["args"]["selection"]["states"] == ["Failed"], asked


def the_runs_of_a_workflow_are_listed_by_its_name():
    sirdar("run", "list", "--workflow", "a/b", "--all")
    assert "task=a%2Fb%2F%2A" in asked[0][0] and "order=desc" in asked[0][0], asked
    for words in (("--workflow", "a"), ("--workflow", "a/b/c"), ("a/b/c", "--workflow", "a/b"), ("--since", "-1d", "--to", "now")):
        assert sirdar("run", "list", *words)[0] == 2 and not asked, words


def help_is_by_subject_and_its_examples_are_command_lines():
    out = sirdar("--help")[1]
    subjects = re.findall(r'^SUBJECT\("([^"]+)", "([^"]+)", "([^"]+)"\)', (ROOT / "admin-console/cli/subjects.def").read_text(), re.M)
    assert len(subjects) > 8
    for first, title, example in subjects:
        assert f"\n{title}\n  {first}" in out and f"e.g. {example}\n" in out, (title, out)
        for line in example.split(" && "):
            words = shlex.split(line.split(" > ")[0])[1:]
            offered = sirdar(*[w for w in words if not w.startswith("-")][:2], "--help")[1] or sirdar(words[0], "--help")[1]
            assert offered and not [w for w in words if w.startswith("--") and w not in re.findall(r"--[a-z-]+", offered)], (line, offered)


def yaml_is_refused_in_words_that_help():
    file = Path(FILE).with_name("tab.yaml")
    for text, says in (("tasks:\n\ta: 1\n", "never with tabs"), ("workflow: 'w\n", "close the quotes"), ("workflow: a: b\n", "into quotes")):
        file.write_text(text)
        code, out, _ = sirdar("check", str(file))
        assert code == 1 and says in out, (text, out)
    kinds = str(ROOT / os.environ.get("B", "build/gcc") / "types")
    for task, says in (("type: shel, params: {script: x}", "no task type 'shel' (tasks.a.type); did you mean 'shell'?"),
                       ("type: shell, params: {scirpt: x}", "is 'scirpt' meant to be 'script'?"),
                       ("type: sensor, params: {watch: file, path: /x, every: 0s}", "at least 1s"),
                       ("type: shell, params: {script: x, secrets: '${x}'}", "without macros"),
                       ("type: shell, params: {script: x, secrets: '%s'}" % ",".join(f"s{i}" for i in range(33)), "more than 32 secrets")):
        file.write_text("workflow: w\nproject: p\nparameters: {x: a}\ntasks:\n  a: {cycle: day, %s}\n" % task)
        code, out, _ = sirdar("check", "--types", kinds, str(file))
        assert code == 1 and says in out, (task, out)
    file.write_text("workflow: w\nstate: draft\ntasks:\n  a: {cycle: day, type: tocome}\n")
    assert sirdar("check", "--types", kinds, str(file))[0] == 0


TESTS = [a_line_that_no_verb_takes_is_wrong_use_and_asks_nobody, with_json_each_kind_of_verb_prints_one_value,
         of_what_is_said_twice_the_last_counts_and_lists_grow, a_star_at_the_end_of_a_prefix_is_the_prefix_before_it,
         a_list_that_a_prefix_leaves_empty_says_so, an_empty_list_says_so_beside_its_header, what_prints_text_as_it_is_takes_no_json,
         a_name_that_nothing_has_is_refused_or_told, who_lists_the_runs_of_a_workflow_is_told_how,
         a_key_of_tasks_in_the_head_of_a_workflow_is_told_where_it_belongs, an_error_of_a_file_has_a_path_only_where_there_is_one,
         the_help_of_task_list_offers_only_what_it_takes, a_verb_offers_only_what_it_reads,
         a_command_that_is_said_in_part_is_told_whole, a_parameter_beside_the_type_is_told_where_it_belongs,
         each_need_that_looks_before_a_begin_is_named, a_group_alone_lists_its_commands,
         nothing_at_all_is_said_and_its_exit_code_says_so_too, a_slip_in_a_command_is_answered_by_the_nearest,
         what_is_said_twice_and_differs_is_refused, an_empty_project_is_no_word_for_all, dates_that_begin_with_a_minus_are_no_options,
         states_are_said_as_they_are_printed, the_runs_of_a_workflow_are_listed_by_its_name,
         help_is_by_subject_and_its_examples_are_command_lines, yaml_is_refused_in_words_that_help]


def main():
    failed = 0
    print(f"1..{len(TESTS)}")
    for i, test in enumerate(TESTS, 1):
        why = None
        try:
            test()
        except (AssertionError, ValueError, LookupError) as e:
            why = e
        failed += why is not None
        print(f"{'not ok' if why is not None else 'ok'} {i} - {test.__name__.replace('_', ' ')}")
        if why is not None:
            print("# " + repr(why).replace("\n", " "))
    return 1 if failed else 0


with tempfile.TemporaryDirectory() as scratch:
    FILE, OTHER = scratch + "/w.yaml", scratch + "/p.yaml"
    Path(FILE).write_text("workflow: w\nproject: p\ntasks:\n  a: {type: noop, cycle: day}\n")
    Path(scratch + "/other.yaml").write_text("workflow: o\nproject: p\ntasks:\n  a: {type: noop, cycle: day}\n")
    Path(scratch + "/token").write_text("t\n")
    os.chmod(scratch + "/token", 0o600)
    Path(OTHER).write_text("- p\n")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ENV = {**os.environ, "HOME": scratch, "SIRDAR_TOKEN_FILE": scratch + "/token", "SIRDAR_URL": f"http://127.0.0.1:{server.server_port}"}
    RESULT = main()
    server.shutdown()
sys.exit(RESULT)
