#!/usr/bin/env python3
"""The web console in a browser when much is at stake or something breaks: ten thousand instances, a leader that
dies, a line that is slow or cut (admin-console/web/tests/journeys/trouble). TAP; how: console.py."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import console  # noqa: E402
from console import act, day_of  # noqa: E402
from harness import BIN, until  # noqa: E402
from proxy import Wire  # noqa: E402
from test_ha import Pair  # noqa: E402

SHARDS, CROWD_DAYS = 20, 21
CROWD = SHARDS * CROWD_DAYS * 24  # 10,080


def crowd(now):
    """Many that wait for a broker that nobody starts, and two that run."""
    text = (f"workflow: crowd\nproject: lab\ntimezone: UTC\nstart_date: {day_of(now, CROWD_DAYS)}\nend_date: {day_of(now, 1)}\n"
            "defaults: {type: http, cycle: hour, catchup: {mode: all, max: 1000}}\ntasks:\n"
            "  busy: {type: shell, cycle: day, start_date: %s, params: {script: 'sleep 600'}}\n" % day_of(now, 2))
    return text + "".join(f"  shard_{n:02}: {{params: {{url: 'http://127.0.0.1:1/'}}}}\n" for n in range(SHARDS))


def line(now, folder):
    """One that ends when a file is there, and what waits for it."""
    script = f"echo waiting; while [ ! -e {folder}/$lap ]; do sleep 0.2; done"
    return (f"workflow: line\nproject: lab\ntimezone: UTC\nstart_date: {day_of(now, 6)}\nend_date: {day_of(now, 1)}\n"
            f"defaults: {{type: noop, cycle: day, catchup: {{mode: all, max: 100}}}}\ntasks:\n"
            f"  first: {{type: shell, params: {{lap: '$[yyyy-MM-dd]', script: '{script}'}}}}\n  second: {{needs: [first]}}\n")


WIDE, LINES = 1000, 1000000


def wide(now):
    """A run of a thousand cards that wait; a job that says a million lines."""
    text = (f"workflow: wide\nproject: lab\ntimezone: UTC\nstart_date: {day_of(now, 1)}\nend_date: {day_of(now, 1)}\n"
            "defaults: {type: noop, cycle: day, catchup: {mode: all, max: 10}}\ntasks:\n"
            "  t0: {type: http, params: {url: 'http://127.0.0.1:1/'}}\n")
    for n in range(1, WIDE):
        text += f"  t{n}: {{needs: [t{n * 7 // 10}{f', t{n * 4 // 10}' if n % 2 and n > 3 else ''}]}}\n"
    return text, (f"workflow: long\nproject: lab\ntimezone: UTC\nstart_date: {day_of(now, 1)}\nend_date: {day_of(now, 1)}\n"
                  f"tasks:\n  said: {{type: shell, cycle: day, catchup: {{mode: all, max: 10}}, params: {{script: 'seq {LINES}'}}}}\n")


def make():
    site = Pair("console-trouble")
    site.cgi.argv += ["--set", f"web_dir={console.BUILT}"]
    site.base_sets["types_dir"] = BIN.parent / "types"
    for base in (site.base, site.base2):
        base.argv += ["--set", f"types_dir={BIN.parent / 'types'}"]
    site.begin()
    site.add_broker("b2", types=("noop:64",))
    now = int(time.time())
    site.apply(line(now, site.dir / "data"), "line.yaml", **{"from": day_of(now, 6)})
    site.apply(crowd(now), "crowd.yaml", **{"from": day_of(now, CROWD_DAYS)})
    for name, text in zip(("wide", "long"), wide(now)):
        site.apply(text, name + ".yaml", **{"from": day_of(now, 1)})
    until("the crowd waits", lambda: site.get("/api/v1/server")["instances"].get("DependenceFinish", 0) >= CROWD, 60)
    until("the laps run", lambda: len(site.instances("lab/line/first", "Running")) == 6 and len(site.instances("lab/crowd/busy", "Running")) == 2, 60)
    site.wire = Wire(site.http)
    told = console.facts(site, now, site.wire.port)
    told.update(crowd=CROWD, wide=WIDE, lines=LINES)
    return site, told


@act
def lap(site, day):
    """The first of that day ends."""
    (site.dir / "data" / day).touch()


@act
def leader_killed(site):
    was, began = site.leader(), time.monotonic()
    was.kill()
    site.follows("kill -9", was, began)
    site.both()


@act
def face_killed(site):
    """The web server dies and comes back."""
    site.cgi.kill()
    until("its log says it is over", lambda: site.cgi.proc.poll() is not None)


@act
def face_started(site):
    site.cgi.start()
    until("the cgi is up", site.up)


@act
def wire(site, slow=0.0, shut=False, cut=False):
    """The line between browser and server."""
    site.wire.slow, site.wire.shut = slow, shut
    if cut:
        site.wire.cut_all()


def streams(site, number):
    """Those of pages that were left end when the server next writes to them."""
    def look():
        text = site.ask("GET", "/metrics")[1]
        text = text if isinstance(text, str) else text.decode()
        return re.search(rf"^sirdar_cgi_streams {number}$", text, re.M)
    until(f"{number} streams are open", look, 60)


@act
def one_stream(site):
    """Of all tabs."""
    streams(site, 1)


@act
def no_stream(site):
    """Nobody looks any more."""
    streams(site, 0)


if __name__ == "__main__":
    sys.exit(console.main("trouble", make))
