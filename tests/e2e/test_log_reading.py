#!/usr/bin/env python3
"""How logs are read: executions by number, ranges, searches that end with who asked, whole runs, and what is said where there is nothing. TAP."""
import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, main, test, until  # noqa: E402
from harness import TESTS  # noqa: E402
from test_life import AT, DAY, script, workflow  # noqa: E402
from test_records import becomes, ended, former_build, get, job  # noqa: E402

TESTS[:] = [t for t in TESTS if t.__module__ == __name__]


def said(s, i, name, text, expect=200, **args):
    query = "&".join(f"{k}={v}" for k, v in args.items())
    status, answer = s.ask("GET", f"/api/v1/instances/{i}/log{name}?{query}")
    assert status == expect, (status, answer)
    assert text in str(answer), answer
    return answer


def search(s, most=None, token=None, **args):
    """-> events [(name, data)]; `most`: the connection is closed after so many."""
    c = http.client.HTTPConnection("127.0.0.1", s.http, timeout=120)
    c.request("GET", "/api/v1/logs/search?" + urlencode(args), headers={"Authorization": f"Bearer {token or s.token}"})
    answer = c.getresponse()
    if answer.status != 200:
        return answer.status, json.loads(answer.read())
    events, text = [], b""
    while True:
        more = answer.read1(65536)
        text += more
        while b"\n\n" in text:
            one, text = text.split(b"\n\n", 1)
            name, data = one.split(b"\n", 1)
            events.append((name[7:].decode(), json.loads(data[6:])))
        if not more or (most and len(events) >= most):
            c.close()
            return events


def hits(events):
    return [e for name, e in events if name == "match"] if isinstance(events, list) else []


@test
def what_never_was_is_said_so_and_nobody_waits_for_it(s):
    task = job(s, "there", 'w(1, b"here\\n")\n')["id"].split(".")[0]
    never = f"{task}.1577836800"
    for follow in ((), ("-f",), ("-f", "-n", "3"), ("-n", "3")):
        for who in ((never,), ("4711.1772323200",)):
            done = s.sirdar("logs", *follow, *who, expect=4)
            assert "printed" not in done.stderr, (follow, who, done)
    assert "has no instance" in s.sirdar("logs", "-f", never, expect=4).stderr
    said(s, never, "", "has no instance", 404, follow=1)
    said(s, never, "", "has no instance", 404)
    said(s, never, "", "has no instance", 404, download="true")
    said(s, never, "/executions", "has no instance", 404)


@test
def following_the_last_lines_of_what_has_just_begun_waits(s):
    gate = s.dir / "data" / "just.gate"
    i = job(s, "just", f"""
while not os.path.exists({str(gate)!r}): time.sleep(0.01)
for n in range(5): w(1, b"line %d\\n" % n)
""", wait=False)
    with subprocess.Popen([str(BIN / "sirdar"), "logs", "-o", "-f", "-n", "2", i["id"]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token"))) as p:
        until("it has asked", lambda: s.ask("GET", f"/api/v1/instances/{i['id']}")[1]["state"] == "Running")
        gate.touch()
        out, err = p.communicate(timeout=120)
    assert p.returncode == 0 and out.splitlines()[-1] == "line 4", (p.returncode, out, err)


@test
def the_last_lines_of_what_is_followed_come_once_and_a_search_looks_at_them_too(s):
    i = job(s, "tail", 'for n in range(50): w(n % 2 + 1, b"line %d\\n" % n)\n')["id"]
    for words, lines in ((("-m", "-n", "2"), 2), (("-o", "-n", "3"), 3), (("-m", "-n", "4", "-g", "1"), 4)):
        out = s.sirdar("logs", "-f", *words, i).stdout
        told = [line for line in out.splitlines() if line.startswith("line ")]
        assert 0 < len(told) <= lines and told[-1] in ("line 49", "line 48"), (words, out)
    out = s.sirdar("logs", "-f", "-o", "-n", "9", "--grep", "line 46", i).stdout
    assert out == "line 46\n", out


@test
def who_follows_what_runs_again_is_shown_that_and_not_the_run_before(s):
    gate = s.dir / "data" / "anew.gate"
    gate.touch()
    i = job(s, "anew", f"""
while not os.path.exists({str(gate)!r}): time.sleep(0.01)
w(1, b"of %s\\n" % os.environ["SIRDAR_GENERATION"].encode())
""")["id"]
    gate.unlink()
    s.sirdar("redo", i, "-y")
    until("it is made anew", lambda: s.ask("GET", f"/api/v1/instances/{i}")[1]["generation"] == 2)
    with subprocess.Popen([str(BIN / "sirdar"), "logs", "-o", "-f", i], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token"))) as p:
        until("it runs", lambda: s.ask("GET", f"/api/v1/instances/{i}")[1]["state"] == "Running")
        gate.touch()
        out, err = p.communicate(timeout=120)
    assert p.returncode == 0 and out == "of 2\n", (p.returncode, out, err)


@test
def times_that_are_none_are_refused_with_words(s):
    i = job(s, "clock", 'w(1, b"one\\n")\n')
    for wrong in ("5x", "-", "soon", "15mm", "m", "1h2m", "99999999d"):
        for name in ("since", "until"):
            said(s, i["id"], "", "how long ago: 90s, 15m, 6h, 2d", 400, **{name: wrong})
        assert "how long ago" in s.sirdar("logs", i["id"], f"--since={wrong}", expect=1).stderr
    said(s, i["id"], "", "since is after until", 400, since="1m", until="5m")
    assert s.sirdar("logs", "-o", i["id"], "--since=-5m").stdout == s.sirdar("logs", "-o", i["id"], "--since=5m").stdout == "one\n"
    said(s, i["id"], "", "since wants", 400, since="")


@test
def a_job_that_speaks_as_sirdar_does_is_told_apart(s):
    i = job(s, "forged", r"""
w(1, b"[sirdar] ended by signal 9\n"); taken(1)
w(1, b">[sirdar] twice\n"); taken(1)
w(1, b"\x1b[0m[sirdar] coloured\n"); taken(1)
w(1, b"begun\r[sirdar] over it\n"); taken(1)
w(1, b"[sir"); taken(1)
w(1, b"dar] in two\n"); taken(1)
w(1, b"open "); taken(1)
w(2, b"[sirdar] from the other\n"); taken(2)
w(1, b"its end [sirdar] in the middle\n")
""")
    text = ended(s, i, stream="merged").decode()
    ours = [line for line in re.split("[\r\n]", text) if re.sub("\x1b\\[[0-9;]*m", "", line).startswith("[sirdar]")]
    assert len(ours) == 1 and ours[0].startswith("[sirdar] attempt 1, started on"), text
    assert ">[sirdar] ended by signal 9\n>>[sirdar] twice\n" in text and "its end [sirdar] in the middle\n" in text, text
    timed = get(s, i, stream="merged", times="utc")[0].decode().splitlines()
    assert [line.split(" ", 1)[1][:9] for line in timed].count("[sirdar] ") == 1, timed
    assert get(s, i)[0].startswith(b"[sirdar] ended by signal 9\n>[sirdar] twice\n"), "a stream alone is what the job wrote"
    rows = s.ask("GET", f"/api/v1/instances/{i['id']}/log?stream=merged&format=json")[1]["records"]
    assert [r[1] for r in rows].count(3) == 1 and rows[1][2] == "[sirdar] ended by signal 9\n", rows[:3]


@test
def pieces_with_times_are_together_what_the_whole_is(s):
    """A piece that ended in an open line of one stream was glued to the other's first line."""
    i = job(s, "glued", """
for n in range(400):
    w(1, b"out %d " % n + b"x" * 700); taken(1)
    w(2, b"err %d\\n" % n); taken(2)
    w(1, b"end %d\\n" % n); taken(1)
""")
    until("its log is whole", lambda: get(s, i, may_lack=True, stream="merged", lines=1)[1]["X-Log-End"] == "true", 120)
    for size in (262144, 5000, 900, 100):
        at, out = 0, []
        while True:
            body, head = get(s, i, stream="merged", times="utc", offset=at, bytes=size)
            out.append(body)
            if int(head["X-Log-Next"]) == at:
                break
            at = int(head["X-Log-Next"])
        got = b"".join(out)
        assert got == get(s, i, stream="merged", times="utc", download="true")[0], size
        bad = [line for line in got.decode().splitlines() if not re.match(r"\d{4}-\d\d-\d\dT[0-9:.]{12}Z ", line)]
        assert not bad, (size, bad[:3])


@test
def a_range_is_asked_for_by_lines_and_by_times(s):
    i = job(s, "range", """
for n in range(1, 50001):
    w(1, b"line %d\\n" % n)
    if n % 1000 == 0: w(2, b"odd %d\\n" % n); taken(1); taken(2)
""")
    until("all came", lambda: get(s, i, may_lack=True, lines=1)[0] == b"line 50000\n", 120)
    for line in (1, 2, 4711, 49999, 50000):
        body, head = get(s, i, line=line, lines=3)
        assert body.decode().splitlines() == [f"line {n}" for n in range(line, min(line + 3, 50001))], (line, body)
        assert head["X-Log-Line"] == str(line) and head["X-Log-Lines"] == "50000", dict(head)
    body, head = get(s, i, line=50001)
    assert body == b"", body
    assert get(s, i, line=7, lines=1, stream="stderr")[0] == b"odd 7000\n"
    rows = s.ask("GET", f"/api/v1/instances/{i['id']}/log?format=json&stream=stdout&line=30000&lines=2")[1]
    assert "".join(r[2] for r in rows["records"]) == "line 30000\nline 30001\n" and rows["line"] == "30000" and rows["lines"] == "50000", rows
    said(s, i["id"], "", "line goes without offset", 400, line=3, offset=7)
    ms = [r[0] for r in s.ask("GET", f"/api/v1/instances/{i['id']}/log?format=json&stream=stderr")[1]["records"]]
    assert len(ms) > 10
    assert get(s, i, stream="stderr", until="2000-01-01T00:00:00Z")[0] == b""
    assert get(s, i, stream="stderr", since="2000-01-01T00:00:00Z", until="2100-01-01T00:00:00Z")[0].count(b"odd") == 50


@test
def two_executions_of_one_attempt_are_read_each(s):
    """The first one's machine loses its keeper: the attempt runs again under its number."""
    gate = s.dir / "data" / "twice.gate"
    i = job(s, "twice", f"""
first = not os.path.exists({str(gate)!r})
w(1, b"execution of %s\\n" % (b"one" if first else b"two"))
while not os.path.exists({str(gate)!r}): time.sleep(0.01)
""", wait=False)
    until("the first has printed", lambda: b"one" in get(s, i, may_lack=True)[0], 120)
    for pid in s.pids("jobkeeper", "/b1"):
        os.kill(pid, signal.SIGKILL)
    gate.touch()
    s.wait_state("e2e/twice/t", AT, "Succ", 120)
    until("the second is whole", lambda: b"two" in get(s, i, may_lack=True)[0], 120)
    rows = said(s, i["id"], "/executions", "items")["items"]
    assert [(r["attempt"], r["execution"], r["counts"]) for r in rows] == [(1, 1, False), (1, 2, True)], rows
    assert all(r["broker"] == "b1" and "token" not in r for r in rows), rows
    assert get(s, i)[0] == b"execution of two\n"
    assert get(s, i, execution=1)[0] == b"execution of one\n" and get(s, i, execution=2)[0] == b"execution of two\n"
    said(s, i["id"], "", "no execution 3", 404, execution=3)
    assert s.sirdar("logs", "-o", "--execution", "1", i["id"]).stdout == "execution of one\n"
    for number, word in (("1", "one"), ("2", "two")):
        assert (done := s.sirdar("logs", "-o", "-f", "--execution", number, i["id"])).stdout == f"execution of {word}\n", done
    gone = s.sirdar("logs", "-m", "--execution", "1", i["id"])
    assert "execution of one" in gone.stdout and "execution of two" not in gone.stdout, gone
    told = s.sirdar("logs", "-o", i["id"])
    assert told.stdout == "execution of two\n" and "--execution 1" in told.stderr, told
    found = hits(search(s, match="execution of", instance=i["id"]))
    assert sorted((h["execution"], h["text"], h["counts"]) for h in found) == [(1, "execution of one", False), (2, "execution of two", True)], found


def runs(s, name, tasks, days=2, **more):
    s.apply(f"workflow: {name}\nproject: e2e\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-0{days}\n"
            "defaults: {type: shell, cycle: day}\ntasks:\n"
            + "".join(f"  {t}: {{params: {{script: {json.dumps(text)}}}}}\n" for t, text in tasks.items()), f"{name}.yaml", **{"from": "2026-01-01"}, **more)
    for t in tasks:
        for d in range(1, days + 1):
            until("it is over", lambda t=t, d=d: s.instance(f"e2e/{name}/{t}", f"2026-01-0{d}T00:00:00Z")["state"] in ("Succ", "StopSchedule"), 120)
    return [r for t in tasks for r in s.instances(f"e2e/{name}/{t}")]


@test
def a_search_goes_over_a_log_a_run_a_tasks_attempts_and_a_project(s):
    tasks = {"load": "echo ORA-00942 table missing >&2; echo fine", "sum": "for n in 1 2 3; do echo sum $n; done", "quiet": "true"}
    rows = runs(s, "sea", tasks)
    one = next(r for r in rows if r["task"] == "e2e/sea/load" and r["label"].startswith("2026-01-01"))
    until("its log is whole", lambda: hits(search(s, match="fine", instance=one["id"])))
    got = search(s, match=r"ORA-\d{5}", instance=one["id"])
    assert [(h["stream"], h["line"], h["text"], h["task"]) for h in hits(got)] == [("stderr", "1", "ORA-00942 table missing", "e2e/sea/load")], got
    assert got[-1][0] == "end" and got[-1][1]["complete"] and got[-1][1]["matches"] == 1, got
    until("all have come", lambda: len(hits(search(s, match="^sum 3$", task="e2e/sea/sum"))) == 2)
    run = {"workflow": "e2e/sea", "from": "2026-01-02", "to": "2026-01-02"}
    assert {(h["task"], h["label"][:10]) for h in hits(search(s, match="ORA|sum 2", **run))} == {("e2e/sea/load", "2026-01-02"), ("e2e/sea/sum", "2026-01-02")}
    last = hits(search(s, match="sum 1", task="e2e/sea/sum", attempts=1))
    assert [h["label"][:10] for h in last] == ["2026-01-02"], last
    assert len(hits(search(s, match="ora-", ignore_case="true", project="e2e", since="1d"))) == 2
    assert not hits(search(s, match="ora-", project="e2e", since="1d"))
    assert not hits(search(s, match="ORA-", project="e2e", until="2d"))
    assert not hits(search(s, match="ORA-", project="e2"))
    assert not hits(search(s, match="ORA-", stream="stdout", **run))
    assert {h["stream"] for h in hits(search(s, match="^attempt 1, started", **run))} == {"sirdar"}
    got = search(s, match="sum", task="e2e/sea/sum", limit=2)
    assert len(hits(got)) == 2 and got[-1][1] == dict(got[-1][1], complete=False, why="limit"), got[-1]


@test
def a_search_that_is_no_search_is_refused_with_words(s):
    for args, says in (({"match": "a"}, "name one of"), ({"match": "(", "project": "e2e"}, ") is missing"), ({"project": "e2e"}, "regular expression"),
                       ({"match": "a", "instance": "x"}, "instance's id"), ({"match": "a", "workflow": "e2e/none", "from": DAY}, "no such workflow"),
                       ({"match": "a", "workflow": "e2e/sea"}, "which run"), ({"match": "a", "task": "e2e/no/t"}, "no such task"),
                       ({"match": "a", "project": "e2e", "since": "5x"}, "how long ago"), ({"match": "a", "project": "e2e", "task": "x"}, "name one of")):
        status, answer = search(s, **args)
        assert status in (400, 404) and says in str(answer), (args, status, answer)


@test
def a_search_ends_with_its_client_and_within_its_budget(s):
    i = job(s, "large", """
line = b"x" * 199 + b"\\n"
for n in range(300): w(1, line * 500)
w(1, b"needle\\n")
""")
    until("all came", lambda: get(s, i, may_lack=True, lines=1)[0] == b"needle\n", 120)
    got = search(s, match="needle|(x+x+)+y", instance=i["id"])
    assert [(h["text"], h["line"]) for h in hits(got)] == [("needle", "150001")], got
    assert int(got[-1][1]["bytes"]) > 30000000 and got[-1][1]["complete"]
    assert search(s, most=1, match="nothing like it", instance=i["id"])[0][0] == "progress"
    until("nobody searches", lambda: b"sirdar_cgi_streams 0" in s.ask("GET", "/metrics")[1], 60)
    s.cgi.stop()
    s.cgi.argv += ["--set", "person_search_bytes=1000000"]
    s.cgi.start()
    until("the face has the server", s.up, 60)
    got = search(s, match="needle", instance=i["id"])
    assert not hits(got) and got[-1][1] == dict(got[-1][1], complete=False, why="budget"), got[-1]
    status, answer = search(s, match="needle", instance=i["id"])
    assert status == 429 and answer["error"]["place"] == "person_search_bytes", (status, answer)
    s.cgi.stop()
    s.cgi.argv[-1] = "person_search_ms=1"
    s.cgi.start()
    until("the face has the server", s.up, 60)
    got = search(s, match="needle", instance=i["id"])
    assert got[-1][1] == dict(got[-1][1], complete=False, why="budget") and "person_search_ms" in got[-1][1]["message"], got[-1]
    s.cgi.stop()
    del s.cgi.argv[-2:]
    s.cgi.start()
    until("the face has the server", s.up, 60)


@test
def the_command_line_searches(s):
    runs(s, "cli", {"a": "echo needle in a; echo hay", "b": "echo hay; echo needle in b >&2"})
    until("all have come", lambda: len(hits(search(s, match="needle", project="e2e", since="1d"))) >= 4)
    done = s.sirdar("logs", "e2e/cli/a", "2026-01-01", "--grep", "^needle")
    assert done.stdout == "needle in a\n", done
    done = s.sirdar("logs", "--run", "e2e/cli", "2026-01-02", "--grep", "needle")
    assert sorted(done.stdout.splitlines()) == ["a | needle in a", "b | needle in b"], done
    done = s.sirdar("logs", "e2e/cli/b", "--last", "5", "--grep", "needle")
    assert [line.rsplit(" | ", 1)[1] for line in done.stdout.splitlines()] == ["needle in b"] * 2, done
    done = s.sirdar("logs", "--project", "e2e", "--since", "1d", "--grep", "NEEDLE", "-i")
    assert done.stdout.count("needle in") >= 4, done
    assert "no line" in s.sirdar("logs", "e2e/cli/a", "2026-01-01", "--grep", "needless", expect=4).stderr
    assert ") is missing" in s.sirdar("logs", "e2e/cli/a", "2026-01-01", "--grep", "(", expect=1).stderr
    done = s.sirdar("logs", "--run", "e2e/cli", "2026-01-02", "--grep", "needle", "-n", "1", expect=7)
    assert len(done.stdout.splitlines()) == 1 and "more" in done.stderr, done


@test
def a_whole_run_is_shown_with_whose_line_it_is(s):
    runs(s, "both", {"first": "echo one; echo two >&2", "the_second": "echo three"}, days=1)
    until("all have come", lambda: len(hits(search(s, match="one|two|three", workflow="e2e/both", **{"from": "2026-01-01"}))) == 3)
    done = s.sirdar("logs", "--run", "e2e/both", "2026-01-01")
    lines = done.stdout.splitlines()
    assert {"first      | one", "first      | two", "the_second | three"} <= set(lines), done
    assert [line for line in lines if "[sirdar]" in line] and all(line.split(" | ")[0].strip() in ("first", "the_second") for line in lines), lines
    assert s.sirdar("logs", "--run", "e2e/both", "2026-01-01", "-e").stdout == "first      | two\n", s.sirdar("logs", "--run", "e2e/both", "2026-01-01", "-e")
    assert s.sirdar("logs", "--run", "e2e/both", "2026-01-01", "-o", "-n", "1").stdout.count("\n") == 1
    assert re.match(r"\d{4}-\d\d-\d\dT[0-9:.]+Z first +\| ", s.sirdar("logs", "--run", "e2e/both", "2026-01-01", "--times", "utc").stdout)
    assert "no run" in s.sirdar("logs", "--run", "e2e/both", "2026-03-01", expect=4).stderr
    assert "no task matches" in s.sirdar("logs", "--run", "e2e/nothing", "2026-03-01", expect=4).stderr


@test
def a_whole_run_is_followed_to_its_end(s):
    """One task begins when the other is over, one is tried again, one prints nothing at all."""
    gate = s.dir / "data" / "run.gate"
    s.apply("workflow: live\nproject: e2e\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\ndefaults: {type: shell, cycle: day}\ntasks:\n"
            f"  one: {{params: {{script: 'echo one begins; while [ ! -e {gate} ]; do sleep 0.01; done; echo one ends'}}}}\n"
            "  two: {params: {script: 'echo two; test -e again || { touch again; exit 1; }'}, needs: [one], retry: {attempts: 3, delay: 1s}}\n"
            "  none: {type: noop}\n".replace("again", str(s.dir / "data" / "run.again")), "live.yaml", **{"from": "2026-01-01"})
    argv = [str(BIN / "sirdar"), "logs", "-f", "--run", "e2e/live", "2026-01-01"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token"))) as p:
        seen = []
        for line in p.stdout:
            seen.append(line.rstrip())
            if "one begins" in line:
                gate.touch()
        err = p.stderr.read()
    lines = [line for line in seen if "[sirdar]" not in line]
    assert p.returncode == 0, (p.returncode, seen, err)
    assert lines == ["one  | one begins", "one  | one ends", "two  | two", "two  | two"], (lines, err)
    done = s.sirdar("logs", "-f", "--run", "e2e/live", "2026-01-01")
    assert sorted(line for line in done.stdout.splitlines() if "[sirdar]" not in line)[:2] == ["one  | one begins", "one  | one ends"], done


@test
def what_is_over_and_printed_nothing_is_not_followed_for_ever(s):
    s.apply("workflow: mute\nproject: e2e\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\ndefaults: {type: noop, cycle: once}\n"
            "tasks:\n  t: {}\n", "mute.yaml", **{"from": "2026-01-01"})
    i = until("it is over", lambda: next((r for r in s.instances("e2e/mute/t") if r["state"] == "Succ"), None), 120)
    assert s.sirdar("logs", "-f", i["id"]).stdout == ""


@test
def a_followed_log_is_searched_as_it_comes(s):
    i = job(s, "sieve", 'for n in range(100): w(1, b"line %d\\n" % n)\n')
    assert s.sirdar("logs", "-o", "-f", "--grep", "7$", i["id"]).stdout.splitlines() == [f"line {n}" for n in range(7, 100, 10)]
    timed = s.sirdar("logs", "-o", "-f", "--times", "utc", "--grep", "^line 4$", i["id"]).stdout.splitlines()
    assert len(timed) == 1 and timed[0].endswith("Z line 4"), timed
    assert ") is missing" in s.sirdar("logs", "-f", "--grep", "(", i["id"], expect=1).stderr


@test
def logs_of_a_broker_of_the_release_before_are_searched_too(s):
    former_build()
    becomes(s.brokers["b1"], True)
    s.wait_broker("b1", ["shell"])
    i = job(s, "former", 'w(1, b"needle of before\\n"); w(2, b"another needle\\n")\n')
    until("both streams came", lambda: len(hits(search(s, match="needle", instance=i["id"]))) == 2, 120)
    got = sorted((h["stream"], h["line"], h["text"]) for h in hits(search(s, match="needle", instance=i["id"])))
    assert got == [("stderr", "1", "another needle"), ("stdout", "1", "needle of before")], got
    assert [h["stream"] for h in hits(search(s, match="needle", instance=i["id"], stream="stderr"))] == ["stderr"]
    assert "no numbers of lines" in str(s.ask("GET", f"/api/v1/instances/{i['id']}/log?line=1")), s.ask("GET", f"/api/v1/instances/{i['id']}/log?line=1")
    becomes(s.brokers["b1"], False)
    s.wait_broker("b1", ["shell"])


@test
def many_searches_at_once_cost_nobody_else_his_face(s):
    i = job(s, "much", 'for n in range(200): w(1, b"nothing of it\\n" * 5000)\n')["id"]
    until("all of it has come", lambda: int(s.ask("GET", f"/api/v1/instances/{i}/log/executions")[1]["items"][0]["bytes"]) > 13_000_000, 120)
    with ThreadPoolExecutor(48) as pool:
        ended = list(pool.map(lambda _: search(s, match="(a|b|c)+[0-9]+z", instance=i), range(96)))
    assert any(e[-1][0] == "end" for e in ended if isinstance(e, list)), ended
    assert not s.base.has("logs are not read") and s.up()


@test
def who_reads_some_projects_searches_those(s):
    s.apply("workflow: w\nproject: hidden\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\ndefaults: {type: shell, cycle: once}\n"
            "tasks:\n  t: {params: {script: echo needle of others}}\n", "hidden.yaml", **{"from": "2026-01-01"})
    i = until("it is over", lambda: next((r for r in s.instances("hidden/w/t") if r["state"] == "Succ"), None), 120)
    until("it has come", lambda: hits(search(s, match="needle", instance=i["id"])))
    token = "sirdar_" + os.urandom(32).hex()[:43]
    s.command_over(s.command("token-set", token="t-reader", role="viewer", projects=["e2e"], hash=hashlib.sha256(token.encode()).hexdigest(), created=1))
    s.command_over(s.command("reading-set", reading="project"))
    until("the face knows", lambda: (hits(search(s, token=token, match="needle", project="e2e", since="1d")) and
                                     search(s, token=token, match="needle", instance=i["id"])[0] == 404))
    assert not [h for h in hits(search(s, token=token, match="needle", project="e2e", since="1d")) if h["task"].startswith("hidden/")]
    assert hits(search(s, token=token, match="needle in a", project="e2e", since="1d"))
    for args in ({"project": "hidden"}, {"task": "hidden/w/t"}, {"instance": i["id"]}, {"workflow": "hidden/w", "from": "2026-01-01"}):
        got = search(s, token=token, match="needle", **args)
        assert (isinstance(got, tuple) and got[0] == 404) or not hits(got), (args, got)
    for one in (i["id"], i["id"].split(".")[0] + ".1"):  # a number that is guessed tells no name
        assert "hidden" not in str(search(s, token=token, match="needle", instance=one)), one
    c = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    c.request("GET", f"/api/v1/instances/{i['id']}/log/executions", headers={"Authorization": f"Bearer {token}"})
    assert c.getresponse().status == 404
    c.close()


def make():
    return Site("logreading", lose_ms=12000, fence_ms=9000).start(("shell:8", "noop:8"))


if __name__ == "__main__":
    assert DAY and script and workflow
    sys.exit(main(make))
