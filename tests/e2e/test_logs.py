#!/usr/bin/env python3
"""How the server keeps what jobs print: in few files, on the disk before it says so, each execution's apart; what is
damaged is told. TAP."""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, main, stand_still, test, until  # noqa: E402


def once(s, name, script, **more):
    task = "".join(f"    {k}: {v}\n" for k, v in more.items())
    s.apply(f"workflow: {name}\nproject: logs\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\n"
            f"defaults: {{type: shell, cycle: once}}\ntasks:\n  t:\n{task}    params:\n      script: |\n"
            + "".join(f"        {line}\n" for line in script.splitlines()), name + ".yaml", **{"from": "2026-01-01"})
    return f"logs/{name}/t"


def only(s, task):
    found = s.instances(task)
    return found[0] if found else None


def ended(s, task, seconds=60):
    return until(f"{task} is over", lambda: (i := only(s, task)) and i["state"] in ("Succ", "StopSchedule") and i, seconds)


def text_of(s, i, **args):
    """What it printed; "": nothing yet."""
    query = "&".join(f"{k}={v}" for k, v in args.items())
    status, text = s.ask("GET", f"/api/v1/instances/{i['id']}/log?{query}")
    return text.decode() if status == 200 else ""


def kept(s):
    """sirdar-db logs: -> (segment, name, the rest) of each."""
    done = s.run([BIN / "sirdar-db", "logs", s.dir / "joblogs"])
    assert done.returncode == 0, done.stderr
    rows = [re.match(r"([0-9a-f]{8}) (\S+) +(broker .*)$", line) for line in done.stdout.splitlines()]
    return [row.groups() for row in rows if row]


def printed(s, name, *more):
    done = s.run([BIN / "sirdar-db", "log", *more, s.dir / "joblogs", name])
    assert done.returncode == 0, done.stderr
    return "".join(line for line in done.stdout.splitlines(True) if not line.startswith("[sirdar] "))


def files(s):
    return [f for f in (s.dir / "joblogs").rglob("*") if f.is_file()]


@test
def logs_of_many_small_jobs_share_a_file(s):
    s.apply("workflow: small\nproject: logs\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\n"
            "defaults: {type: shell, cycle: once}\ntasks:\n"
            + "".join(f"  t{n}: {{params: {{script: 'echo of {n}; echo bad >&2'}}}}\n" for n in range(60)),
            "small.yaml", **{"from": "2026-01-01"})
    rows = [ended(s, f"logs/small/t{n}", 120) for n in range(60)]
    until("all logs are there", lambda: len([1 for _, name, rest in kept(s) if name.endswith("/3") and "ended" in rest]) >= 60)
    assert len(files(s)) < 6, files(s)
    for n, i in enumerate(rows):
        until("its log is whole", lambda i=i, n=n: text_of(s, i) == f"of {n}\n")
        assert text_of(s, i, stream="stderr") == "bad\n"


@test
def what_was_read_is_there_after_a_kill_and_nothing_is_missing_or_twice(s):
    """The server dies by kill -9 while a job prints; what it shows anew, before the machine can send anything again, begins
    with all that was read before."""
    lines = 3000
    task = once(s, "count", f"i=0\nwhile [ $i -lt {lines} ]; do\n  echo line $i of the witness; i=$((i + 1))\n"
                            "  [ $((i % 20)) = 0 ] && sleep 0.1\ndone\necho end")
    i = until("it runs", lambda: (i := only(s, task)) and i["state"] == "Running" and i)
    at = 0
    for _ in range(3):
        seen = until("it printed more", lambda: len(t := text_of(s, i)) > at and t)
        at = len(seen)
        machine = [p for name in ("taskbroker", "taskrunner-loader") for p in s.pids(name, "name=b1")]
        for p in machine:
            stand_still(p)
        try:
            s.base.kill()
            s.base.start()
            until("it leads again", s.up)
            again = until("it can be read", lambda: text_of(s, i))
            assert again.startswith(seen), (seen[-80:], again[-80:])
        finally:
            for p in machine:
                os.kill(p, signal.SIGCONT)
    assert ended(s, task, 120)["state"] == "Succ"
    want = "".join(f"line {n} of the witness\n" for n in range(lines)) + "end\n"
    until("all of it is there", lambda: text_of(s, i).endswith("end\n"))
    assert text_of(s, i) == want, "another text than the job printed"
    name, = [name for _, name, rest in kept(s) if "ended" in rest and printed(s, name) == want][-1:]
    assert printed(s, name, "--line", "2991").startswith("line 2989 "), "lines are counted from 1, with the one that Sirdar began it with"


@test
def the_log_of_a_lost_execution_stays_its_own(s):
    """Both are attempt 1 on different machines; the first stands still with all that could end it."""
    data = s.dir / "data"
    s.add_broker("b2", types=("shell:1",))
    task = once(s, "lost", f"echo $$ >> {data}/lost\n"
                           f"if [ $(wc -l < {data}/lost) -gt 1 ]; then echo second; exit 0; fi\n"
                           "echo first\nexec sleep 600", machines="[b2, b1]", retry="{attempts: 1}")
    i = until("it runs", lambda: (i := only(s, task)) and i["state"] == "Running" and i)
    until("its first word is there", lambda: text_of(s, i) == "first\n")
    where = s.get(f"/api/v1/instances/{i['id']}")["broker"]
    gone = [*(p for name in ("taskbroker", "taskrunner-loader") for p in s.pids(name, f"name={where}")),
            *s.pids("jobkeeper", f"/{where}")]
    for p in gone:
        stand_still(p)
    try:
        done = ended(s, task, 120)
        assert (done["state"], done["attempt"]) == ("Succ", 1), done
        until("its log is there", lambda: text_of(s, i) == "second\n")
    finally:
        for p in gone:
            os.kill(p, signal.SIGCONT)
    mine = [name for _, name, rest in kept(s) if name.endswith("/3") and printed(s, name) in ("first\n", "second\n")]
    assert sorted(printed(s, name) for name in mine) == ["first\n", "second\n"], mine
    a, b = (name.rsplit("/", 2)[0] for name in mine)
    assert a == b and mine[0] != mine[1], "of one attempt, by execution"
    s.base.restart()
    until("it leads again", s.up)
    assert text_of(s, i) == "second\n"
    s.brokers["b2"].stop()


@test
def what_is_damaged_on_the_disk_is_told_and_harms_no_other_log(s):
    one, two = once(s, "sound", "echo all is well"), once(s, "struck", "seq 1 30000")
    for task in (one, two):
        assert ended(s, task)["state"] == "Succ"
    until("both logs are there", lambda: text_of(s, only(s, one)) and text_of(s, only(s, two)).endswith("30000\n"))
    name, = [name for _, name, _ in kept(s) if name.endswith("/3") and printed(s, name).endswith("\n30000\n")]
    segment = [seg for seg, n, _ in kept(s) if n == name][-1]
    assert s.base.stop() == 0
    check = s.run([BIN / "sirdar-db", "check-logs", s.dir / "joblogs"])
    assert check.returncode == 0 and "all of it reads back" in check.stdout, check.stdout + check.stderr
    path = s.dir / f"joblogs/segments/{segment}.seg"
    whole = path.read_bytes()
    middle = len(whole) - 300  # of the large log, which is the last
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:])
    check = s.run([BIN / "sirdar-db", "check-logs", s.dir / "joblogs"])
    assert check.returncode == 1 and segment in check.stderr, check.stdout + check.stderr
    s.base.start()
    until("it leads again", s.up)
    assert text_of(s, only(s, one)) == "all is well\n"
    # Whole to the damage or, where its segment has an index, refused where it stands: never other bytes.
    want = "".join(f"{n}\n" for n in range(1, 30001))
    got = text_of(s, only(s, two))
    assert want.startswith(got) and got != want, (len(got), got[-40:])
    assert s.base.has(r"log\.(damaged|mended)"), s.base.tail()
    assert ended(s, once(s, "after", "echo goes on"))["state"] == "Succ"


if __name__ == "__main__":
    sys.exit(main(lambda: Site("logs", lose_ms=12000, fence_ms=9000).start()))
