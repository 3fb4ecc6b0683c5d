#!/usr/bin/env python3
"""Why it failed, in one glance: the digest of an attempt that ended badly, as people read it. From jobs of several types that fail
in several ways, to API, command line and alert. TAP."""
import json
import os
import re
import secrets
import shutil
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import AlertSite, came, workflow  # noqa: E402
from harness import BIN, RUNNERS, Skip, free_port, main, test, until  # noqa: E402
from keeper_client import field, fixed  # noqa: E402
from peer import BROKER, LOADER, Peer, read  # noqa: E402

DAY = "2026-03-01T00:00:00Z"
OVER = ("StopSchedule", "Killed", "Succ")
WORD = "hunter2-of-the-warehouse"
ODD = """type: odd
others: true
runner: foreign
guest: {command: [python3, odd.py]}
errors:
  - "quota of the moon"
  - {match: "^tide table * is empty", class: data}
"""
GUEST = """
import json, os
to = os.fdopen(4, "w")
def say(**m): print(json.dumps(m), file=to, flush=True)
for line in os.fdopen(3):
    m = json.loads(line)
    if m["op"] == "hello":
        say(op="hello", protocol=1, concurrency=1)
    elif m["op"] == "ping":
        say(op="pong", n=m["n"])
    elif m["op"] == "run":
        say(op="log", job=m["job"], stream="err", text="Connection refused\\ntide table of March is empty\\nbye\\n")
        say(op="done", job=m["job"], exit_code=4, text="it did not go well")
"""


def ended(s, name, task, **more):
    """The instance of a workflow of one task once it is over, with its digest."""
    workflow(s, name, task, ["webhook:hook"], **more)
    i = s.wait_state(f"al/{name}/t", DAY, OVER, 120)
    return s.get(f"/api/v1/instances/{i['id']}")


def script(text, **more):
    return {"params": {"script": text}, **more}


def shown(i, **want):
    f = i["failure"]
    for key, value in want.items():
        assert f.get(key) == value, f"{key}: {f.get(key)!r}, want {value!r}; {f}"
    return f


@test
def a_shell_job_says_its_exit_code_and_its_last_words_of_stderr(s):
    i = ended(s, "shell", script("echo all is well\nfor n in 1 2 3 4 5 6 7; do echo line $n >&2; done\nexit 3"))
    f = shown(i, **{"class": "user", "exit": "exit code 3", "stream": "stderr", "line": "line 7",
                    "tail": "\n".join(f"line {n}" for n in (3, 4, 5, 6, 7))})
    assert f["memory_bytes"] > 0 and "token" not in f, f
    listed = next(r for r in s.instances("al/shell/t"))["failure"]
    assert listed["exit"] == "exit code 3" and "tail" not in listed, listed


@test
def a_good_end_has_no_digest(s):
    i = ended(s, "good", script("echo Connection refused >&2"))
    assert i["state"] == "Succ" and "failure" not in i, i


@test
def a_command_that_is_not_there_is_named(s):
    i = ended(s, "missing", script("set -e\nno-such-tool --now"))
    f = shown(i, **{"class": "user", "exit": "exit code 127: command not found", "stream": "stderr"})
    assert "no-such-tool" in f["line"] and "not found" in f["line"], f


@test
def of_a_long_line_the_words_before_what_was_found_show(s):
    i = ended(s, "longline", script("printf '%0300d no-such-tool: not found\\n' 0 >&2; exit 127"))
    assert shown(i, stream="stderr")["line"] == "no-such-tool: not found"


@test
def of_a_traceback_the_exception_shows(s):
    i = ended(s, "python", {"type": "python", "params": {"script": "import sys\ndef f():\n    raise ValueError('no such shop: 17')\nf()"}})
    shown(i, **{"class": "user", "exit": "exit code 1", "stream": "stderr", "line": "ValueError: no such shop: 17"})


@test
def of_java_the_exception_shows(s):
    text = 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\\n\\tat shop.Main.main(Main.java:7)\\n'
    i = ended(s, "java", script(f"printf '{text}' >&2; exit 1"))
    f = shown(i, **{"class": "resource", "stream": "stderr"})
    assert f["line"] == 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space', f
    assert f["tail"].splitlines()[1] == "at shop.Main.main(Main.java:7)", f


@test
def where_stderr_is_silent_stdout_is_looked_at(s):
    i = ended(s, "stdout", script("echo begin; echo 'curl: (7) Failed to connect to warehouse port 5432'; echo end; exit 7"))
    shown(i, **{"class": "target", "stream": "stdout", "line": "curl: (7) Failed to connect to warehouse port 5432"})


@test
def a_sql_error_is_the_line(s):
    lite = s.dir / "lite.db"
    with sqlite3.connect(lite) as db:
        db.execute("CREATE TABLE IF NOT EXISTS t (a INTEGER PRIMARY KEY)")
    base = {"type": "sql", "params": {"kind": "sqlite", "database": str(lite)}}
    i = ended(s, "sql", {**base, "params": {**base["params"], "sql": "SELECT * FROM shops"}})
    assert "no such table" in shown(i, **{"class": "user"})["line"], i["failure"]
    i = ended(s, "sql2", {**base, "params": {**base["params"], "sql": "INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)"}})
    assert "constraint failed" in shown(i, **{"class": "data"})["line"], i["failure"]


@test
def an_http_target_that_is_away_is_a_target(s):
    i = ended(s, "http", {"type": "http", "params": {"url": f"http://127.0.0.1:{free_port()}/"}})
    f = shown(i, **{"class": "target"})
    assert f["line"], f


@test
def a_job_that_runs_too_long_is_a_timeout(s):
    i = ended(s, "slow", {**script("echo on my way >&2; exec sleep 600"), "alive_wait": "1s"})
    f = shown(i, **{"class": "timeout"})
    assert f["exit"].startswith("ran longer than 1 s, killed by signal 15 (TERM)"), f


@test
def of_a_killed_one_it_is_said_by_whom(s):
    workflow(s, "killed", script("echo started >&2; exec sleep 600"), ["webhook:hook"])
    i = s.wait_state("al/killed/t", DAY, "Running", 60)
    until("it runs", lambda: s.get(f"/api/v1/instances/{i['id']}")["started"])
    s.sirdar("kill", i["id"], "--yes")
    i = s.wait_state("al/killed/t", DAY, "Killed", 60)
    f = shown(s.get(f"/api/v1/instances/{i['id']}"), **{"class": "killed"})
    assert f["exit"].startswith("told to stop, ") and "test-" in f["by"], f
    assert f"by: {f['by']}" in s.sirdar("why", i["id"]).stdout


@test
def a_job_past_its_memory_names_the_limit(s):
    s.add_broker("small", types=("shell:2",), groups="small", job_memory_max_bytes="64M")
    log = s.brokers["small"]
    i = ended(s, "memory", {**script("exec python3 -c 'b = bytearray(300 << 20); print(len(b))'"), "group": "small"})
    if i["state"] == "Succ" or "limits.not_held" in log.text():
        raise Skip("no cgroup of memory that we may use")
    f = shown(i, **{"class": "resource"})
    assert f["exit"].startswith("memory limit of 64 MB reached, killed by signal 9 (KILL)"), f


@test
def what_is_taken_out_of_a_line_does_not_put_a_secret_together(s):
    """A colour, a NUL or a carriage return in the middle of it hides nothing: the digest leaves those out."""
    half = 'a=$(printf %.4s "$V"); b=$(echo "$V" | cut -c5-)\n'
    text = f"V=$(cat $SIRDAR_FILES/warehouse)\n{half}" + \
        "".join(f"printf 'fatal: %s{apart}%s\\n' \"$a\" \"$b\" >&2\n" for apart in (r"\033[31m", r"\000", r"\r")) + "exit 3"
    i = ended(s, "pieces", {"params": {"secrets": "warehouse", "script": text}})
    f = shown(i, line="fatal: ******")
    assert WORD not in json.dumps(f) and f["tail"].splitlines() == ["fatal: ******"] * 3, f
    assert WORD not in json.dumps(came(s, "/hook", "al/pieces/t"))


@test
def a_secret_shows_neither_in_the_line_nor_in_the_tail(s):
    text = "V=$(cat $SIRDAR_FILES/warehouse)\necho \"fatal: no way in with $V\" >&2\necho \"$V\" >&2\nexit 3"
    i = ended(s, "secret", {"params": {"secrets": "warehouse", "script": text}})
    f = shown(i, line="fatal: no way in with ******", tail="fatal: no way in with ******\n******")
    assert WORD not in json.dumps(f)
    told = came(s, "/hook", "al/secret/t")
    assert WORD not in json.dumps(told) and told[0]["failure"]["line"] == f["line"], told


@test
def a_million_bytes_without_a_line_end_are_one_short_line(s):
    i = ended(s, "long", script("head -c 1000000 /dev/zero | tr '\\0' x >&2; printf 'x Connection refused by it' >&2; exit 3"))
    f = shown(i, **{"class": "target"})
    assert f["line"].startswith("Connection refused by it") and len(f["tail"]) <= 1024, f


@test
def what_is_no_text_and_what_steers_a_terminal_is_not_shown(s):
    i = ended(s, "bytes", script("printf 'a\\033[31mred\\033[0m\\tb\\007\\001 \\377\\376 \\303\\244 end\\r\\n' >&2; exit 3"))
    shown(i, line="ared b ?? \u00e4 end", tail="ared b ?? \u00e4 end")


@test
def a_type_says_in_its_manifest_what_its_errors_are(s):
    i = ended(s, "odd", {"type": "odd", "params": {}})
    shown(i, **{"class": "data", "line": "tide table of March is empty", "stream": "stderr"})


@test
def a_later_attempt_has_its_own(s):
    count = s.dir / "data" / "count"
    i = ended(s, "twice", {**script(f"echo x >> {count}; n=$(wc -l < {count}); echo attempt $n >&2; exit $n"),
                           "retry": {"attempts": 2, "delay": "0s"}})
    shown(i, exit="exit code 2", line="attempt 2")


@test
def the_command_line_shows_it(s):
    i = s.instance("al/python/t", DAY)
    for verb in ("why", "run show"):
        said = s.sirdar(*verb.split(), i["id"]).stdout
        assert "cause: ValueError: no such shop: 17\n" in said and re.search(r"(exit status: exit|ended: exit code) 1$", said, re.M), said
        assert "last lines of stderr:\n" in said and "  ValueError: no such shop: 17\n" in said, said
    assert "user: ValueError: no such shop: 17" in s.sirdar("run", "list", "al/python/t").stdout


@test
def the_alert_says_it(s):
    told = came(s, "/hook", "al/python/t")[0]
    assert told["failure"]["class"] == "user" and told["failure"]["line"] == "ValueError: no such shop: 17", told
    assert "ValueError: no such shop: 17" in json.dumps(told) and "exit code 1" in json.dumps(told), told


# --- a broker that lies

class Liar:
    """Takes the job of one workflow and reports its end with this digest."""

    def __init__(self, s, name, failure):
        s.add_key(name)
        self.broker, self.loader = Peer(s, name), Peer(s, name)
        self.broker.hello(BROKER, groups=[name])
        self.loader.hello(LOADER, type="shell", groups=[name])
        self.broker.send("runner_state", field(1, "shell") + field(2, "1") + field(3, 1))
        self.broker.send("load", field(4, 0) + field(5, 1) + field(7, 8) + field(9, 8))
        self.loader.send("credit", field(1, 8))
        workflow(s, name, {**script("x"), "group": name}, ["webhook:hook"])
        token = read(self.loader.wait("jobs", seconds=60)[1][0])[1][0]
        body = fixed(1, token) + field(2, 1) + field(3, 3) + field(4, 3) + field(16, failure)
        self.loader.send("reports", field(1, body))

    def close(self):
        self.loader.close()
        self.broker.close()


@test
def a_broker_that_lies_gets_no_more_shown_than_an_honest_one(s):
    failure = field(1, 4711) + field(2, "\x1b[31m" + "e" * 500000) + field(3, "l\n\x07" * 300000) + field(4, 9) + \
        field(5, "t" * 900000 + "\n\x1b]0;x\x07" + "u\n" * 400000)
    h = Liar(s, "liar", failure)
    i = s.wait_state("al/liar/t", DAY, "StopSchedule", 60)
    f = s.get(f"/api/v1/instances/{i['id']}")["failure"]
    assert len(json.dumps(f)) < 2200 and f["class"] == "user" and "stream" in f and f["stream"] is None, f
    text = f["exit"] + f["line"] + f["tail"].replace("\n", "")
    assert text.isprintable() and len(f["tail"].splitlines()) <= 5, f
    h.close()


@test
def ten_million_bytes_of_it_end_the_session_and_nothing_else(s):
    try:
        h = Liar(s, "heavy", field(3, "x" * 10_000_000))
        h.loader.wait_gone()
    except OSError:
        h = None  # it was cut while it spoke
    assert s.get("/api/v1/server")["leads"]
    if h:
        h.close()


class Failures(AlertSite):
    def __init__(self):
        super().__init__("failures")
        shutil.copytree(BIN.parent / "types", self.dir / "types")
        (self.dir / "types/odd.yaml").write_text(ODD)
        keys = self.dir / "secrets.keys"
        keys.touch(0o600)
        keys.write_text(f"one:{secrets.token_hex(32)}\n")
        self.base_sets.update(types_dir=self.dir / "types", secrets_key_file=keys)
        self.base.argv = self.argv("baseserver", self.base_sets)

    def start(self):
        (self.dir / "egress.conf").write_text("allow 127.0.0.1\n")
        self.env["SIRDAR_EGRESS"] = str(self.dir / "egress.conf")
        super().start()
        plugins = self.dir / "plugins"
        shutil.copytree(RUNNERS, plugins)
        (plugins / "odd.yaml").write_text(ODD)
        (plugins / "odd.py").write_text(GUEST)
        self.add_broker("b-more", types=("odd:2", "python:2", "sql:2", "http:2"), runners_dir=plugins)
        word = self.dir / "word"
        word.touch(0o600)
        word.write_text(WORD + "\n")
        self.sirdar("target", "set", "warehouse", "--host", "h", "--password-file", str(word))
        until("it is listed", lambda: self.get("/api/v1/servers")["servers"])
        return self


if __name__ == "__main__":
    main(lambda: Failures().start())
