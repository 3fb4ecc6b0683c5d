#!/usr/bin/env python3
"""Logs as one stream of records: order, times, bytes by hash, ranges, what is said of a job; programs killed in the middle, and
servers and brokers of the release before. HEAVY: a line of 1 GB. TAP."""
import datetime
import hashlib
import http.client
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, Site, Skip, main, test, until  # noqa: E402
from test_life import AT, DAY, script, workflow  # noqa: E402
from harness import TESTS  # noqa: E402

TESTS[:] = [t for t in TESTS if t.__module__ == __name__]
HEAVY = os.environ.get("HEAVY") == "1"
# What a job prints with, in Python: w(1, b"...") writes; read(fd) waits until the keeper has taken it all.
HEAD = """import fcntl, os, struct, sys, termios, time
def w(fd, b):
    while b:
        b = b[os.write(fd, b):]
def taken(fd):
    while struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"0000"))[0]:
        time.sleep(0.0005)
"""


def job(s, name, text, state="Succ", wait=True, **more):
    """A shell task that runs this Python. -> its instance."""
    path = s.dir / "data" / f"{name}.py"
    path.write_text(HEAD + text)
    workflow(s, name, {"t": script(f"exec python3 {path}", **more)})
    return s.wait_state(f"e2e/{name}/t", AT, state) if wait else s.wait_state(f"e2e/{name}/t", AT, "Running")


def get(s, i, may_lack=False, **args):
    """-> body, head of the answer. `may_lack`: nothing may have been printed yet."""
    c = http.client.HTTPConnection("127.0.0.1", s.http, timeout=120)
    query = "&".join(f"{k}={v}" for k, v in args.items())
    c.request("GET", f"/api/v1/instances/{i['id']}/log?{query}", headers={"Authorization": f"Bearer {s.token}"})
    answer = c.getresponse()
    body = answer.read()
    c.close()
    if answer.status == 404 and may_lack:
        return b"", {"X-Log-End": "false", "X-Log-Next": "0"}
    assert answer.status == 200, (answer.status, body)
    return body, answer.headers


def ended(s, i, **args):
    """The first piece, once all has come."""
    def look():
        body, head = get(s, i, may_lack=True, **args)
        return body if head["X-Log-End"] == "true" else None
    return until("its log is whole", look, 120)


def pieces(s, i, stream, size):
    """All of it, by offset."""
    at, out = 0, []
    while True:
        body, head = get(s, i, stream=stream, offset=at, bytes=size)
        assert stream == "merged" or int(head["X-Log-Next"]) == at + len(body), (at, len(body), head["X-Log-Next"])
        out.append(body)
        if int(head["X-Log-Next"]) == at:
            return b"".join(out)
        at = int(head["X-Log-Next"])


def records(s, i):
    """-> [ms, stream, text]"""
    at, out = 0, []
    while True:
        status, a = s.ask("GET", f"/api/v1/instances/{i['id']}/log?stream=merged&format=json&offset={at}")
        assert status == 200, (status, a)
        out += a["records"]
        if int(a["next"]) == at:
            return out
        at = int(a["next"])


def whole(s, i, size, stream="stdout"):
    """Once the server has so many bytes of it."""
    def look():
        body = get(s, i, may_lack=True, stream=stream, download="true")[0]
        return body if len(body) >= size else None
    return until(f"{size} bytes of {stream}", look, 300)


@test
def lines_that_alternate_between_both_streams_stay_in_their_order(s):
    """Each is written once the keeper has taken the one before."""
    i = job(s, "order", """
for n in range(1000):
    w(1, b"%d out\\n" % n); taken(1)
    w(2, b"%d err\\n" % n); taken(2)
""")
    ended(s, i, stream="merged")
    got = [r for r in records(s, i) if r[1] < 3]
    lines = [(r[1], line) for r in got for line in r[2].splitlines()]
    assert lines == [x for n in range(1000) for x in ((1, f"{n} out"), (2, f"{n} err"))], lines[:10]
    text = get(s, i, stream="merged", notes="false")[0]
    assert text == b"".join(b"%d out\n%d err\n" % (n, n) for n in range(1000)), text[:200]


@test
def lines_written_faster_than_they_are_read_lose_none(s):
    """Two pipes have no common order: what stands in both when the keeper comes is read one after the other. Counted, not judged."""
    n = 1000000 if HEAVY else 100000
    i = job(s, "flat", f"""
for n in range({n}):
    w(1, b"%d out\\n" % n)
    w(2, b"%d err\\n" % n)
""")
    want = {f: "".join(f"{k} {f}\n" for k in range(n)).encode() for f in ("out", "err")}
    assert whole(s, i, len(want["out"])) == want["out"] and whole(s, i, len(want["err"]), "stderr") == want["err"]
    numbers = [2 * int(line.split()[0]) + (line.endswith("err")) for r in records_by_lines(records(s, i)) for line in r]
    most, wrong = -1, 0
    for x in numbers:
        wrong += x < most
        most = max(most, x)
    print(f"# {wrong} of {2 * n} lines stand after one that was written later")


def records_by_lines(rows):
    """Lines in the order of their ends."""
    part = {1: "", 2: ""}
    for _, stream, text in rows:
        if stream == 3:
            continue
        lines = (part[stream] + text).split("\n")
        part[stream] = lines.pop()
        yield lines


@test
def times_are_those_at_which_the_keeper_took_it(s):
    i = job(s, "times", """
for n in range(300):
    w(1 + n % 2, b"%d\\n" % (time.time_ns() // 1000000)); taken(1 + n % 2)
w(1, b"%d\\n" % (time.time_ns() // 1000000))
""")
    ended(s, i, stream="merged")
    rows = records(s, i)
    assert all(a[0] <= b[0] for a, b in zip(rows, rows[1:])), "they run back"
    mine = [r for r in rows if r[1] < 3]
    assert len(mine) == 301 and all(r[0] >= int(r[2]) for r in mine), mine[:3]
    assert all(a[0] <= int(b[2]) + 1 for a, b in zip(mine, mine[1:])), "stamped later than the job had gone on"
    utc = get(s, i, stream="stdout", times="utc")[0].decode().splitlines()
    assert len(utc) == 151
    for line, r in zip(utc, [r for r in mine if r[1] == 1]):
        at, said = line.split(" ")
        ms = datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp() * 1000
        assert round(ms) == r[0] and said == r[2].strip(), (line, r)
    since = get(s, i, stream="merged", times="since")[0].decode().splitlines()
    assert re.match(r"\+0:00:00\.000 \[sirdar\] attempt 1, started on b1, process \d+$", since[0]), since[0]
    assert all(re.match(r"\+0:\d\d:\d\d\.\d{3} \d+$", line) for line in since[1:]), since[:3]
    middle = mine[150][0]
    word = datetime.datetime.fromtimestamp(middle // 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    got = get(s, i, stream="merged", notes="false", since=word)[0].decode().split()
    assert got == [r[2].strip() for r in mine if r[0] >= middle // 1000 * 1000], (word, got[:2])


BYTES = r"""
import random
r = random.Random(7)
def odd():
    for n in range(400):
        k = r.randrange(7)
        yield [b"\r%d %%" % n, b"\x1b[31mred\x1b[0m\n", r.randbytes(r.randrange(5000)), b"\xff\xfe\xc3(", "\u6d77\u6e2f".encode() * 50,
               b"x" * r.randrange(200000), b"\n\n"][k]
"""


@test
def whatever_bytes_a_job_writes_are_kept_exactly(s):
    i = job(s, "bytes", BYTES + """
for n, b in enumerate(odd()):
    w(1 + n % 2, b)
""")
    space = {}
    exec(BYTES, space)  # noqa: S102 - the same bytes
    want = {1: b"", 2: b""}
    for n, b in enumerate(space["odd"]()):
        want[1 + n % 2] += b
    for fd, stream in ((1, "stdout"), (2, "stderr")):
        assert hashlib.sha256(whole(s, i, len(want[fd]), stream)).digest() == hashlib.sha256(want[fd]).digest(), stream
        for size in (262144, 77777, 3001):
            assert pieces(s, i, stream, size) == want[fd], (stream, size)
        at = len(want[fd]) // 3
        assert get(s, i, stream=stream, offset=at, bytes=1000)[0] == want[fd][at:at + 1000]
        assert get(s, i, stream=stream, offset=len(want[fd]))[0] == b""
    both = pieces(s, i, "merged", 50000)
    assert len(get(s, i, stream="merged", notes="false", download="true")[0]) == len(want[1]) + len(want[2]) <= len(both)


@test
def a_log_is_read_from_its_end(s):
    i = job(s, "tail", """
for n in range(30000):
    w(1, b"line %d of many, which is as long as lines are\\n" % n)
    if n % 10000 == 5: w(2, b"odd %d\\n" % n)
""")
    want = [b"line %d of many, which is as long as lines are\n" % n for n in range(30000)]
    whole(s, i, sum(map(len, want)))
    assert get(s, i, lines=1)[0] == want[-1]
    assert get(s, i, lines=1000)[0] == b"".join(want[-1000:])
    assert get(s, i, lines=10, stream="stderr")[0] == b"odd 5\nodd 10005\nodd 20005\n"
    assert get(s, i, lines=2, stream="merged", notes="false")[0] == b"".join(want[-2:])
    body, head = get(s, i, lines=3)
    assert int(head["X-Log-Offset"]) + len(body) == int(head["X-Log-Next"]) == sum(map(len, want))


@test
def a_stream_that_is_silent_for_long_is_found(s):
    i = job(s, "gap", """
w(2, b"first\\n"); taken(2)
for n in range(400): w(1, b"y" * 9999 + b"\\n")
taken(1)
w(2, b"last\\n")
""")
    whole(s, i, 4000000)
    assert whole(s, i, 11, "stderr") == b"first\nlast\n"
    assert pieces(s, i, "stderr", 6) == b"first\nlast\n"
    assert get(s, i, stream="stderr", offset=6)[0] == b"last\n"


@test
def what_became_of_a_job_is_said_in_its_log(s):
    i = job(s, "killed", 'w(1, b"begun\\n")\ntime.sleep(3600)\n', wait=False)
    whole(s, i, 6)
    s.sirdar("kill", i["id"], "--yes")
    s.wait_state("e2e/killed/t", AT, "Killed")
    text = ended(s, i, stream="merged").decode().splitlines()
    assert re.match(r"\[sirdar\] attempt 1, started on b1, process \d+$", text[0]) and text[1] == "begun", text
    assert text[2].startswith("[sirdar] somebody had it killed, it is told to stop (TERM"), text
    assert text[3] == "[sirdar] ended by signal 15", text
    assert get(s, i)[0] == b"begun\n"
    assert s.sirdar("logs", "-m", i["id"]).stdout.splitlines() == text
    assert s.sirdar("logs", "-m", "-f", i["id"]).stdout.splitlines() == text
    shown = s.sirdar("logs", "-m", "--times", "utc", "--since", "1d", i["id"]).stdout.splitlines()
    assert [line.split(" ", 1)[1] for line in shown] == text, shown
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", line) for line in shown), shown
    assert "leave -e out" in s.sirdar("logs", "-m", "-e", i["id"], expect=2).stderr
    status, answer = s.ask("GET", f"/api/v1/instances/{i['id']}/log?stream=stderr")
    assert status == 404 and "but to its standard output" in str(answer), (status, answer)


LINES = 20000
GATED = """
gate = {gate!r}
for n in range(%d):
    w(1 + n %% 2, b"%%d of {name}\\n" %% n)
    while n == %d and not os.path.exists(gate): time.sleep(0.01)
""" % (LINES, LINES // 2)


def gated(s, name):
    gate = s.dir / "data" / f"{name}.gate"
    i = job(s, name, GATED.format(gate=str(gate), name=name), wait=False)
    whole(s, i, sum(len(f"{n} of {name}\n") for n in range(0, LINES // 2, 2)))
    return i, gate


def judge(s, i, name):
    """All of both streams, each line once, by what the job is known to have written."""
    s.wait_state(f"e2e/{name}/t", AT, "Succ")
    for stream, odd in (("stdout", 0), ("stderr", 1)):
        want = "".join(f"{n} of {name}\n" for n in range(odd, LINES, 2)).encode()
        got = whole(s, i, len(want), stream)
        assert got == want, (stream, len(got), len(want))


def killed(s, under, program):
    pids = s.pids(program, under)
    assert pids, program
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return pids


@test
def a_loader_killed_in_the_middle_loses_no_byte(s):
    i, gate = gated(s, "loader")
    killed(s, "/b1", "taskrunner-loader")
    gate.touch()
    judge(s, i, "loader")


@test
def a_server_killed_in_the_middle_loses_no_byte(s):
    i, gate = gated(s, "server")
    s.base.proc.kill()
    s.base.proc.wait()
    gate.touch()
    s.base.start()
    until("the face has the server", s.up, 60)
    judge(s, i, "server")


@test
def what_a_keeper_wrote_before_it_was_killed_is_kept(s):
    """Its jobs die with it, and are lost; what they had printed stands before what is said of that."""
    i, gate = gated(s, "keeper")
    path = f"/api/v1/instances/{i['id']}/log?stream=merged&notes=true"
    before = s.ask("GET", path)[1]
    killed(s, "/b1", "jobkeeper")
    gate.touch()
    judge(s, i, "keeper")
    assert before[:8] == b"[sirdar]" or str(before).startswith("[sirdar]"), before[:50]


def former(program):
    return str(BIN.parent / "former" / "bin" / program)


def becomes(daemon, is_former):
    name = os.path.basename(daemon.argv[0])
    daemon.stop()
    daemon.argv[0] = former(name) if is_former else str(BIN / name)
    daemon.start()


def former_build():
    flavour = BIN.parent.name
    if "-" in flavour:
        raise Skip("programs of the release before are built without sanitizers only")
    made = os.path.relpath(BIN.parent / "former" / "made", ROOT)
    done = subprocess.run(["make", "-s", f"CC={flavour}", made], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@test
def a_server_of_the_release_before_gets_the_streams_and_then_the_records(s):
    former_build()
    becomes(s.base, True)
    until("the face has the server", s.up, 60)
    s.wait_broker("b1", ["shell"])
    i, gate = gated(s, "older")
    assert get(s, i, stream="merged")[1]["X-Log-Stream"] == "stdout", "it has records"
    becomes(s.base, False)
    until("the face has the server", s.up, 60)
    gate.touch()
    judge(s, i, "older")
    assert get(s, i, stream="merged")[0].startswith(b"[sirdar] attempt 1")
    becomes(s.base, True)
    until("the face has the server", s.up, 60)
    s.wait_broker("b1", ["shell"])
    i, gate = gated(s, "older2")
    gate.touch()
    judge(s, i, "older2")
    becomes(s.base, False)
    until("the face has the server", s.up, 60)
    judge(s, i, "older2")


@test
def a_broker_of_the_release_before_ships_streams_that_are_read(s):
    former_build()
    becomes(s.brokers["b1"], True)
    s.wait_broker("b1", ["shell"])
    i, gate = gated(s, "younger")
    becomes(s.brokers["b1"], False)
    s.wait_broker("b1", ["shell"])
    gate.touch()
    judge(s, i, "younger")


@test
def a_line_of_a_gigabyte_is_kept(s):
    if not HEAVY:
        raise Skip("HEAVY=1 asks for it")
    size = 1 << 30
    i = job(s, "giga", f"""
b = bytes(range(32, 127)) * 1000
n = {size}
while n > 0:
    w(1, b[:n]); n -= len(b)
""")
    until("all of it came", lambda: int(get(s, i, may_lack=True, lines=1)[1]["X-Log-Next"]) >= size, 600)
    body = get(s, i, download="true")[0]
    line = bytes(range(32, 127)) * 1000
    assert len(body) == size and all(body[at:at + len(line)] == line[:size - at] for at in range(0, size, len(line)))


def make():
    return Site("records", log_job_bytes_max=4 << 30).start(("shell:8", "noop:8"), output_bytes_max=4 << 30)


if __name__ == "__main__":
    assert DAY
    sys.exit(main(make))
