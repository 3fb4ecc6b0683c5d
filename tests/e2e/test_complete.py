#!/usr/bin/env python3
"""Completion of `sirdar` as the shells do it: bash, zsh and fish run the scripts that it prints. The
server here says the names that a test gives it, or nothing at all. TAP."""
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from pathlib import Path

from terminal import on_terminal

ROOT = Path(__file__).resolve().parents[2]
SIRDAR = os.environ.get("SIRDAR_BIN") or str(ROOT / os.environ.get("B", "build/gcc") / "bin" / "sirdar")
NASTY = ["shop/day/$(touch INJECTED)", "shop/day/`touch INJECTED`", "shop/day/a b", "shop/day/it's", 'shop/day/say "hi"',
         "shop/day/x;touch INJECTED", "shop/day/销售汇总", "shop/day/$HOME", "shop/day/back\\slash", "shop/day/a:b=c@d",
         "shop/day/!x", "shop/day/*", "shop/day/<(touch INJECTED)", "shop/day/~", "shop/day/{a,b}", "shop/day/#"]
UNSEEN = ["shop/day/two\nlines", "shop/day/tab\tX", "shop/day/\x1b[31mred", "shop/day/turned\u202eround", "-rf"]
TASKS = []
LABELS = ["2026-03-02", "2026-03-01"]
asked = []


class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        asked.append((url.path, query))
        code, said = 200, {
            "/api/v1/tasks": {"items": [{"task": t} for t in TASKS if t.startswith(query.get("prefix", ""))]},
            "/api/v1/workflows": {"items": [{"name": "shop/day"}, {"name": "shop/month"}]},
            "/api/v1/instances": {"items": [{"label": d} for d in LABELS]},
            "/api/v1/brokers": {"brokers": [{"name": "etl-1"}, {"name": "etl-2"}]},
            "/api/v1/users": {"users": [{"user": "ann"}, {"user": "王芳"}]},
            "/api/v1/projects": {"projects": [{"project": "shop"}]},
            "/api/v1/servers": {"servers": [{"server": "warehouse"}]},
            "/api/v1/peers": {"peers": [{"peer": "broker a"}]},
            "/api/v1/commands": {"items": [{"command": 42}, {"command": 41}]},
        }.get(url.path, None)
        if said is None or self.headers.get("Authorization") != "Bearer t":
            code, said = 401, {"error": {"code": "DENIED", "message": "who are you?"}}
        text = json.dumps(said).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def completed(*words, shell="zsh", env=None):
    """-> what `sirdar __complete` prints, without the help of options. It says nothing else and ends with 0."""
    asked.clear()
    r = subprocess.run([SIRDAR, "__complete", shell, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=60, env=env or ENV, check=False)
    assert (r.returncode, r.stderr) == (0, ""), (words, r)
    return [line.split("\t")[0] or line for line in r.stdout.splitlines()]


def in_bash(line, env=None):
    """-> COMPREPLY of the script for a line whose words bash has split at its word breaks."""
    words = [w for w in re.findall(r"""'[^']*'?|"(?:\\.|[^"\\])*"?|[=:@]+|(?:\\.|[^\s=:@'"\\])+""", line)]
    if line.endswith(" "):
        words.append("")
    r = subprocess.run(["bash", "--norc", "-c", 'source <(sirdar completion bash); COMP_LINE=$1; COMP_POINT=${#1}; shift; '
                        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sirdar; printf "%s\\n" "${COMPREPLY[@]}"', "bash", line, *words],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=env or ENV, cwd=CWD, check=False)
    assert (r.returncode, r.stderr) == (0, ""), (line, r)
    return r.stdout.splitlines() if r.stdout != "\n" else []


def read_by_bash(text):
    """-> the words that bash makes of a text in a command line."""
    r = subprocess.run(["bash", "--norc", "-c", f"printf '%s\\0' {text}"], capture_output=True, text=True, timeout=60, cwd=CWD, check=False)
    assert r.returncode == 0 and not r.stderr, (text, r)
    return r.stdout.split("\0")[:-1]


def wanted(shell):
    """What is not there is told, and its test is left out."""
    if shutil.which(shell):
        return True
    print(f"# SKIP {shell} is not installed: its script is not run here")
    return False


# --- what is offered

def commands_and_groups_come_from_the_table():
    first = completed("")
    assert {"check", "peer", "redo", "run", "completion"} <= set(first) and len(first) == len(set(first)), first
    assert completed("bro") == ["broker"] and completed("broker", "") == ["list", "drain", "undrain"]
    assert completed("run", "st") == ["start"] and completed("nosuch", "") == [] and not asked


def options_of_a_command_come_from_its_rows():
    options = completed("redo", "--")
    assert {"--task", "--workflow", "--message", "--json", "--server", "--help"} <= set(options), options
    assert completed("task", "list", "--st") == ["--state"] and not asked
    shown = subprocess.run([SIRDAR, "redo", "--help"], capture_output=True, text=True, timeout=60, check=False).stdout
    assert set(options) - {"--help"} == set(re.findall(r"^ {2,}(?:-\w, )?(--[a-z-]+)", shown, re.M)) - {"--help", "--usage", "--version"}, shown


def words_and_values_of_options_are_names_that_the_server_knows():
    TASKS[:] = ["shop/day/sell", "shop/day/sum"]
    for words, names in (
            (("task", "show", ""), TASKS), (("task", "show", "shop/day/se"), ["shop/day/sell"]),
            (("redo", "--task", ""), TASKS), (("redo", "--task=shop/day/su"), ["--task=shop/day/sum"]),
            (("why", "shop/day/sell", ""), LABELS), (("redo", "shop/day/sell", "2026-03-02", "2026-03-01"), ["2026-03-01"]),
            (("redo", "-m", "why not", "shop/day/sell", "2026-03-02"), ["2026-03-02"]),
            (("broker", "drain", "etl-1", ""), ["etl-1", "etl-2"]), (("user", "set", ""), ["ann", "王芳"]),
            (("session", "list", "--user", "王"), ["王芳"]), (("command", "show", "4"), ["42", "41"]),
            (("quota", "set", "s"), ["shop"]), (("target", "test", ""), ["warehouse"]), (("peer", "show", ""), ["broker a"]),
            (("workflow", "quarantine", "shop/m"), ["shop/month"]), (("export", "shop/day", "shop/m"), ["shop/month"]),
            (("run", "start", "shop/day"), ["shop/day", *TASKS]), (("db", "co"), ["copy", "compare"]),
            (("completion", ""), ["bash", "zsh", "fish"]), (("check", ""), ["\tfiles"]), (("redo", "--", "shop/day/se"), ["shop/day/sell"])):
        assert completed(*words) == names, (words, completed(*words))
    completed("task", "show", "shop/day/se")
    assert asked == [("/api/v1/tasks", {"limit": "200", "prefix": "shop/day/se"})], asked
    completed("why", "shop/day/sell", "")
    assert asked[0][1]["task"] == "shop/day/sell", asked


def no_more_than_two_hundred_are_offered():
    TASKS[:] = [f"shop/day/t{i:04}" for i in range(1000)]
    assert completed("task", "show", "") == TASKS[:200]


def names_that_would_steer_a_terminal_or_be_options_are_not_offered():
    TASKS[:] = [*UNSEEN, "shop/day/good"]
    assert completed("task", "show", "") == ["shop/day/good"]
    assert in_bash("sirdar task show ") == ["shop/day/good"]


# --- bash

def in_bash_any_name_is_one_word_and_runs_nothing():
    TASKS[:] = NASTY
    for begin, close in (("", ""), ("'", "'"), ('"', '"')):
        offered = in_bash(f"sirdar task show {begin}")
        assert len(offered) == len(NASTY), (begin, offered)
        for name, text in zip(NASTY, offered):
            assert read_by_bash(f"{begin}{text}{close}") == [name], (begin, text)
    assert not (CWD / "INJECTED").exists()


def in_bash_what_is_typed_is_expanded_by_nobody():
    TASKS[:] = NASTY
    for typed in ("$(touch INJECTED)", "`touch INJECTED`", "shop/day/$(touch INJECTED", "\"$(touch INJECTED)", "a'b'$(touch INJECTED)",
                  "shop/day/x;touch INJECTED"):
        in_bash(f"sirdar task show {typed}")
        assert not (CWD / "INJECTED").exists(), typed
    assert in_bash("sirdar task show shop/day/\\$\\(") == ["shop/day/\\$\\(touch\\ INJECTED\\)"]
    assert in_bash("sirdar task show 'shop/day/a") == ["shop/day/a b", "shop/day/a:b=c@d"]


def in_bash_only_what_follows_a_sign_that_splits_words_is_replaced():
    TASKS[:] = ["shop/day/a:b=c", "shop/day/a:d"]
    LABELS[:] = ["2026-03-01 14:00", "2026-03-01 15:00"]
    for line, offered in (("sirdar redo --task=shop/day/a:b", ["b=c"]), ("sirdar redo --task=", ["shop/day/a:b=c", "shop/day/a:d"]),
                          ("sirdar task show shop/day/a:", ["b=c", "d"]), ("sirdar why shop/day/a:d ", ["2026-03-01\\ 14:00", "2026-03-01\\ 15:00"]),
                          ("sirdar why shop/day/a:d 2026-03-01\\ 14:", ["00"]), ("sirdar why shop/day/a:d '2026-03-01 15", ["2026-03-01 15:00"]),
                          ("sirdar redo --task='shop/day/a:d", ["shop/day/a:d"])):
        assert in_bash(line) == offered, (line, in_bash(line))
    LABELS[:] = ["2026-03-02", "2026-03-01"]


def a_person_at_a_bash_gets_the_name_with_a_tab():
    TASKS[:] = ["shop/day/it's a:b $HOME"]
    for typed, word in (("shop/", ""), ("'shop/", ""), ('"shop/', ""), ("shop/day/it\\'s\\ a:", ""), ("--task=", "--task="), ("--task='sh", "--task=")):
        done = on_terminal(["bash", "--norc", "--noprofile", "-i"], {**ENV, "TERM": "dumb", "INPUTRC": "/dev/null"}, CWD,
                           "source <(sirdar completion bash)\n" "sirdar() { printf '<%s>' \"$@\"; }\n" f"sirdar redo {typed}\t\n" "exit\n")
        assert f"<{word}{TASKS[0]}>" in done.text, (typed, done.text)


# --- zsh, fish

def in_zsh_any_name_is_added_as_it_is():
    if not wanted("zsh"):
        return
    TASKS[:] = NASTY
    script = ("compdef() { : }; source <(sirdar completion zsh); compadd() { local n; eval n=\"(\\\"\\${(@)${@[-1]}}\\\")\"; print -rl -- $n }\n"
              "words=(sirdar task show 'shop/day/'); CURRENT=4; PREFIX=shop/day/; _sirdar\n"
              "words=(sirdar task show '$(touch\\ INJECTED)'); PREFIX='$(touch\\ INJECTED)'; _sirdar\n")
    r = subprocess.run(["zsh", "-f", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=ENV, cwd=CWD, check=False)
    assert r.stderr == "" and r.stdout.splitlines() == NASTY, r
    assert not (CWD / "INJECTED").exists()


def in_fish_any_name_is_offered_as_it_is():
    if not wanted("fish"):
        return
    TASKS[:] = NASTY

    def offered(line):
        r = subprocess.run(["fish", "--no-config", "-c", "source (sirdar completion fish | psub); complete -C $argv[1]", line],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=ENV, cwd=CWD, check=False)
        assert r.stderr == "", r
        return [row.split("\t")[0] for row in r.stdout.splitlines()]
    assert sorted(offered("sirdar task show shop/")) == sorted(NASTY), offered("sirdar task show shop/")
    assert offered("sirdar broker und") == ["undrain"] and offered("sirdar redo --mess") == ["--message"]
    offered("sirdar task show '$(touch INJECTED)'")
    assert not (CWD / "INJECTED").exists()


# --- silence

def nobody_who_is_not_signed_in_is_asked_anything_or_told_anything():
    TASKS[:] = ["shop/day/sell"]
    nobody = {k: v for k, v in ENV.items() if k != "SIRDAR_TOKEN_FILE"}
    assert completed("task", "show", "", env=nobody) == [] and not asked
    assert completed("task", "show", "", env={**ENV, "SIRDAR_TOKEN_FILE": "/nonexistent"}) == [] and not asked
    wrong = CWD / "wrong"
    wrong.write_text("other\n")
    wrong.chmod(0o600)
    assert completed("task", "show", "", env={**ENV, "SIRDAR_TOKEN_FILE": str(wrong)}) == []
    assert completed("task", "show", "", env={**ENV, "SIRDAR_URL": "http://example.invalid"}) == []
    assert in_bash("sirdar task show ", env=nobody) == []
    assert completed("task", "--", env=nobody) == [] and completed("task", "show", "--js", env=nobody) == ["--json"]


def a_server_that_is_away_or_never_answers_holds_nobody():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert completed("task", "show", "", env={**ENV, "SIRDAR_URL": away}) == []
        silent.listen()  # takes connections, and says nothing for ever
        assert completed("task", "show", "", env={**ENV, "SIRDAR_URL": away}) == []
        assert in_bash("sirdar run start ", env={**ENV, "SIRDAR_URL": away}) == []
        assert completed("redo", "--mess", "--server", away) == [] and completed("redo", "--server", away, "--mess") == ["--message"]


def a_shell_that_it_does_not_know_is_refused():
    r = subprocess.run([SIRDAR, "completion", "csh"], capture_output=True, text=True, timeout=60, check=False)
    assert r.returncode == 2 and "bash, zsh or fish" in r.stderr and r.stdout == "", r


TESTS = [commands_and_groups_come_from_the_table,
         options_of_a_command_come_from_its_rows,
         words_and_values_of_options_are_names_that_the_server_knows,
         no_more_than_two_hundred_are_offered,
         names_that_would_steer_a_terminal_or_be_options_are_not_offered,
         in_bash_any_name_is_one_word_and_runs_nothing,
         in_bash_what_is_typed_is_expanded_by_nobody,
         in_bash_only_what_follows_a_sign_that_splits_words_is_replaced,
         a_person_at_a_bash_gets_the_name_with_a_tab,
         in_zsh_any_name_is_added_as_it_is,
         in_fish_any_name_is_offered_as_it_is,
         nobody_who_is_not_signed_in_is_asked_anything_or_told_anything,
         a_server_that_is_away_or_never_answers_holds_nobody,
         a_shell_that_it_does_not_know_is_refused]


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [t for t in TESTS if only in t.__name__]
    failed = 0
    print(f"1..{len(chosen)}")
    for i, test in enumerate(chosen, 1):
        why = None
        try:
            test()
        except (AssertionError, ValueError, LookupError, subprocess.TimeoutExpired) as e:
            why = e
        failed += why is not None
        print(f"{'not ok' if why is not None else 'ok'} {i} - {test.__name__.replace('_', ' ')}")
        if why is not None:
            print("# " + repr(why).replace("\n", " "))
    return 1 if failed else 0


with tempfile.TemporaryDirectory() as scratch:
    CWD = Path(scratch)
    TOKEN = CWD / "token"
    TOKEN.write_text("t\n")
    TOKEN.chmod(0o600)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ENV = {**os.environ, "LC_ALL": "C.UTF-8", "SIRDAR_URL": f"http://127.0.0.1:{server.server_port}", "SIRDAR_TOKEN_FILE": str(TOKEN),
           "HOME": scratch, "XDG_CONFIG_HOME": scratch, "PATH": f"{Path(SIRDAR).resolve().parent}:{os.environ['PATH']}"}
    RESULT = main()
    server.shutdown()
sys.exit(RESULT)
