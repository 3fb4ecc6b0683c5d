#!/usr/bin/env python3
"""What people and machines wrote (names, notes, messages, parameters, output of jobs) is shown by
`sirdar` and the other programs without steering the terminal of who looks; what programs read stays
byte by byte. TAP."""
import json
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, main, test, until  # noqa: E402
from terminal import on_terminal  # noqa: E402

# A title is set, the screen cleared, the line overwritten, C1 as UTF-8, the text turned around.
EVIL = "\x1b]0;pwned\x07\x1b[2J\x1b[31m\rforged \x7f\x9b2J \x85\u202eabc\u202c\u2066d\u2069 失败"
SHOWN = "\\u001b]0;pwned\\u0007"
DATE = "2026-03-01T00:00:00Z"


def env(s, **more):
    return dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token"), TERM="xterm", NO_COLOR="1", **more)  # colours of states are test_output.py's


def seen(s, *words, colours=False, expect=None, **more):
    """The command on a terminal; nothing in it may steer that."""
    done = on_terminal([BIN / "sirdar", *words], env(s), s.dir, **more)
    assert not done.obeyed(colours), f"sirdar {words}: {done.obeyed(colours)}"
    assert expect is None or done.code == expect, (words, done.code, done.text)
    return done


def document(s, text, name="d.yaml"):
    path = s.dir / name
    path.write_text(text)
    return str(path)


def quoted(text):
    return json.dumps(text)  # YAML reads JSON's strings


# --- files

@test
def check_says_what_is_wrong_with_a_file_in_text_and_in_one_line_each(s):
    name = "\x1b]0;pwned\x07\x1b[2J\u202e\n1 file, no errors"
    file = document(s, f"project: p\nworkflow: w\ntasks:\n  a: {{type: noop, cycle: day, {quoted(name)}: 1}}\n")
    done = seen(s, "check", file, expect=1)
    assert SHOWN in done.text, done.text
    assert not re.search(r"^1 file, no errors", done.text, re.M), done.text
    for line in (f"project: {quoted(EVIL)}", f"workflow: {quoted(EVIL)}",
                 f"project: p\nworkflow: w\nowner: {quoted(EVIL)}\ntasks: {{{quoted(EVIL)}: {{type: noop}}}}",
                 f"project: p\nworkflow: w\ntasks: {{a: {{type: {quoted(EVIL)}, cycle: {quoted(EVIL)}}}}}"):
        seen(s, "check", document(s, line))
        seen(s, "apply", "--yes", document(s, line))
        seen(s, "diff", document(s, line))


@test
def the_words_of_the_command_line_and_names_of_files_are_shown_as_text(s):
    evil = EVIL.replace("\x1b]0;pwned\x07", "\x1b]0;pwned\x07/")
    for words in ((EVIL,), ("check", evil), ("apply", evil), ("task", EVIL), ("task", "show", EVIL),
                  ("why", EVIL, EVIL), ("run", "list", "--state", EVIL), ("check", "--" + EVIL),
                  ("cron", "next", EVIL), ("redo", EVIL, EVIL), ("--server", EVIL, "status"),
                  ("status", "--server", EVIL), ("status", "--token-file", EVIL), ("db", EVIL),
                  ("db", "check", "sqlite:" + EVIL), ("import", "crontab", evil)):
        done = seen(s, *words)
        assert done.code != 0, words


@test
def the_other_programs_show_words_of_others_as_text(s):
    for argv in (["sirdar-db", EVIL], ["sirdar-db", "check", "sqlite:" + EVIL],
                 ["sirdar-notifier", "--" + EVIL], ["sirdar-notifier", "--set", EVIL],
                 ["baseserver", "--config", EVIL], ["baseserver", "--set", "listen=" + EVIL],
                 ["sirdar-cgi", "--set", EVIL], ["taskbroker", "--set", EVIL],
                 ["taskrunner-loader", "--set", EVIL], ["jobkeeper", "--" + EVIL],
                 ["sirdar-runner-run", EVIL], ["sirdar-runner-conformance", EVIL]):
        done = on_terminal([BIN / argv[0], *argv[1:]], env(s), s.dir)
        output = argv[0] == "sirdar-runner-run"  # a job's colours are let through
        assert done.code != 0 and not done.obeyed(output), (argv, done.obeyed(output))


# --- a real server, and what people and jobs gave it

@test
def notes_parameters_and_output_are_shown_as_text(s):
    script = f"printf '%s\\n' {quoted(EVIL)[1:-1]!r}; printf '%b' '\\033[31mred\\033[0m \\033]0;x\\007 a\\rb\\r\\n'"
    s.sirdar("apply", document(s, "project: p\nworkflow: ev\ndescription: " + quoted(EVIL) + "\ntasks:\n"
             "  a: {type: shell, cycle: none, params: {script: " + quoted(script + "; exit 3") + "}}\n"), "-m", EVIL)
    s.sirdar("run-now", "p/ev/a", "--message", EVIL, "--wait", "--param", "x=" + EVIL, expect=None)
    i = until("it has ended", lambda: next((i for i in s.instances("p/ev/a") if i["state"] in ("Error", "Failed", "Fail", "Retry")
                                           or i.get("ended")), None))
    s.sirdar("param", "set", "note=" + EVIL, expect=None)
    s.sirdar("silence", "add", "--for", "2h", "--reason", EVIL, expect=None)
    for words in (("run", "show", i["id"]), ("run", "history", i["id"]), ("why", i["id"]), ("task", "show", "p/ev/a"),
                  ("workflow", "list"), ("command", "list"), ("command", "show", "2"), ("audit", "list"),
                  ("param", "list"), ("silence", "list"), ("export", "p/ev"), ("run", "list", "--json"),
                  ("audit", "list", "--json"), ("command", "list", "--json"), ("param", "list", "--json")):
        seen(s, *words)
    changed = document(s, "project: p\nworkflow: ev\ntasks:\n  a: {type: shell, cycle: none, params: {script: "
                       + quoted("true # " + EVIL + "\n+ workflow p/forged") + "}}\n")
    done = seen(s, "diff", changed, colours=True)
    assert not re.search(r"^\+ workflow p/forged", done.text, re.M), done.text


@test
def a_title_that_is_taken_is_shown_whole_and_one_that_steers_is_not_taken(s):
    title = "</script><img src=x onerror=alert(1)> \\x1b[2J \\r\\n =cmd|'/c calc'!A0 %s%n \u202f失败\ufe0f"
    text = ("project: p\nworkflow: ti\ntitle: {0}\ntasks:\n  été.零售_-b: {{type: shell, cycle: none, title: {0}, params: {{script: exit 3}}}}\n"
            "  __proto__: {{type: shell, cycle: none, title: {0}, params: {{script: exit 0}}}}\n"
            "---\nproject: p\ntitle: {0}\n")
    for bad in (EVIL, "a\x1b[2J", "a\x9b2J", "a\u2028b", "a\x85b", "a\x07", "\u202eabc", "a\r\nBcc: x@y"):
        done = seen(s, "apply", document(s, text.format(quoted(bad))))
        assert done.code and "has no place in one line" in done.text, (bad, done.text)
    s.sirdar("apply", document(s, text.format(quoted(title))))
    s.sirdar("run-now", "p/ti/été.零售_-b", "--wait", expect=None)
    i = until("it has ended", lambda: next((i for i in s.instances("p/ti/été.零售_-b") if i.get("ended")), None))
    for words in (("task", "list", "p/ti"), ("workflow", "list"), ("task", "show", "p/ti/__proto__"), ("export", "p")):
        done = seen(s, *words)
        assert "onerror=alert(1)" in done.text and "%s%n" in done.text and "calc'!A0" in done.text, (words, done.text)
    for words in (("why", i["id"]), ("logs", i["id"]), ("run", "list"), ("run", "show", i["id"]), ("task", "list", "--json"), ("diff", document(s, text.format(quoted("x"))))):
        seen(s, *words, colours=words[0] == "diff")


@test
def a_log_on_a_terminal_keeps_its_colours_and_nothing_else(s):
    s.apply("project: p\nworkflow: log\ntasks:\n  a: {type: shell, cycle: none, params: {script: "
            + quoted("printf '%b' '\\033[1;31mred\\033[0m \\033]0;x\\007\\033[2J a\\rb \\0302\\0233 \\0233 end\\r\\n\\033[32mgreen'")
            + "}}\n")
    s.sirdar("run-now", "p/log/a")
    i = until("it has ended", lambda: next((i for i in s.instances("p/log/a") if i["state"] == "Succ"), None))
    exact = subprocess.run([BIN / "sirdar", "logs", i["id"]], env=env(s), capture_output=True, timeout=60).stdout
    assert b"\x1b[1;31mred\x1b[0m \x1b]0;x\x07\x1b[2J a\rb " in exact and exact.endswith(b"\x1b[32mgreen"), exact
    for words in (("logs", i["id"]), ("logs", "-f", i["id"]), ("logs", "-n", "5", i["id"])):
        done = on_terminal([BIN / "sirdar", *words], env(s), s.dir)
        assert "\x1b[1;31mred\x1b[0m \\u001b]0;x\\u0007\\u001b[2J a\\u000db \\u009b " in done.text, done.raw
        assert done.text.endswith("\x1b[32mgreen\x1b[0m"), done.raw
        assert not done.obeyed(colours=True), done.obeyed(colours=True)


@test
def what_programs_read_stays_as_it_was_written(s):
    text = quoted("echo '\x1b[1m \x7f \u202e'")
    s.apply("project: p\nworkflow: exact\ntasks:\n  a: {type: shell, cycle: none, params: {script: " + text + "}}\n")
    got = s.sirdar("export", "p/exact").stdout
    shown = seen(s, "export", "p/exact").text
    assert "\u202e" in got or "\\u202e" in got.lower(), got
    s.sirdar("apply", document(s, got), "--yes")
    assert shown.count("\n") == got.count("\n"), shown
    a = json.loads(s.sirdar("audit", "list", "--json").stdout)
    b = json.loads(seen(s, "audit", "list", "--json").text)
    assert a and [x for x in b if x in a] == a, "a terminal's JSON means the same"


# --- a server that lies

class Liar(BaseHTTPRequestHandler):
    """Hands on to the real one; every text of the answer gets EVIL at its end."""
    protocol_version = "HTTP/1.0"

    def lie(self, value, key=""):
        if isinstance(value, dict):
            return {k if k.isalnum() or "_" in k else k + EVIL: self.lie(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.lie(v, key) for v in value]
        if isinstance(value, str) and key not in ("cursor", "next"):
            return value + EVIL
        return value

    def serve(self):
        site = self.server.site
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
        ask = urllib.request.Request(f"http://127.0.0.1:{site.http}{self.path}", data=body, method=self.command,
                                     headers={"Authorization": f"Bearer {site.token}",
                                              "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(ask, timeout=30) as a:
                status, text, kind = a.status, a.read(), a.headers["Content-Type"] or ""
        except urllib.error.HTTPError as e:
            status, text, kind = e.code, e.read(), "json"
        if self.server.refuses:
            place = {"file": "f" + EVIL, "line": EVIL, "column": 1, "path": EVIL, "message": EVIL, "hint": EVIL}
            status, kind = self.server.refuses, "json"
            text = json.dumps({"error": {"code": EVIL, "place": EVIL, "message": EVIL, "hint": EVIL,
                                         "details": {"errors": [place]}}}).encode()
        if "json" in kind:
            text = json.dumps(self.lie(json.loads(text or b"{}"))).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = serve

    def log_message(self, *_):
        pass


READS = """status|stats|forecast p/ev|baselines|retention --dry-run|workflow list|task list|task show p/ev/a|
run list|alert list|silence list|channel list|rule list p/ev|server status|broker list|type list|
type show shell|node list|pool list|command list|command show 1|plugin list|plugin show shell|target list|
user list|group list|app list|token list|session list|audit list|calendar list|param list|export p/ev|
audit verify"""


@test
def a_server_that_lies_steers_no_terminal(s):
    liar = ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    liar.site, liar.refuses = s, 0
    threading.Thread(target=liar.serve_forever, daemon=True).start()
    try:
        token = s.dir / "bare-token"
        token.touch(0o600)
        token.write_text(s.token + "\n")
        to = ["--server", f"http://127.0.0.1:{liar.server_address[1]}", "--token-file", str(token)]
        i = s.instances("p/ev/a")[0]["id"]
        file = document(s, "project: p\nworkflow: lie\ntasks:\n  a: {type: noop, cycle: day}\n")
        commands = [w.split() for w in READS.replace("\n", "").split("|")]
        commands += [["run", "show", i], ["run", "history", i], ["why", i], ["logs", i], ["diff", file],
                     ["apply", "--dry-run", file], ["apply", "--yes", file], ["redo", "--dry-run", i],
                     ["backfill", "p/ev/a", DATE, "--dry-run"], ["freeze", "p/ev/a"], ["run-now", "p/ev/a"],
                     ["app", "add", "x"]]
        said = 0
        for refuses in (0, 400, 401, 404, 409):
            liar.refuses = refuses
            for words in commands if refuses == 0 else commands[:6] + commands[-8:]:
                for more in ([], ["--json"]) if refuses == 0 else ([],):
                    said += SHOWN in seen(s, *words, *more, *to, colours=words[0] in ("diff", "apply", "logs")).text
        assert said > len(commands), said
    finally:
        liar.shutdown()
        liar.server_close()


@test
def what_speaks_no_http_at_all_steers_no_terminal(s):
    with socket.create_server(("127.0.0.1", 0)) as door:
        def answer():
            for _ in range(8):
                try:
                    c, _ = door.accept()
                except OSError:
                    return
                with c:
                    c.recv(65536)
                    c.sendall(b"HTTP/1.0 418 " + EVIL.encode() + b"\r\nContent-Length: 4\r\n\r\n\x1b[2J")
        threading.Thread(target=answer, daemon=True).start()
        done = seen(s, "status", "--server", f"http://127.0.0.1:{door.getsockname()[1]}")
        assert done.code == 1, done.text


# --- logs of the daemons

@test
def no_log_line_of_a_daemon_is_forged_or_steers_a_terminal(s):
    for path in ("/api/v1/tasks/" + "%0a1.0%20baseserver%20error%20forged%1b%5b2J",
                 "/%c2%9b2J%e2%80%ae"):
        s.ask("GET", path)
    s.ask("POST", "/api/v1/commands", {"kind": "kill\n\x1b[2J", "args": {}, "request_id": "a\n\x1b"})
    with socket.create_connection(("127.0.0.1", s.port)) as c:
        c.sendall(b"\x1b[2J\n1.0 baseserver error forged\n" * 20)
    until("the server has said something of it", lambda: s.base.has(r"."))
    for daemon in (s.base, s.cgi, *s.brokers.values()):
        for line in daemon.text().splitlines():
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", line), (daemon.name, line)
            assert "error forged" not in line[:40], line


if __name__ == "__main__":
    sys.exit(main(lambda: Site("screen").start()))
