#!/usr/bin/env python3
"""A program that has no descriptor left lets nobody new in, does not turn in circles, and answers
again when there is room. TAP."""
import os
import resource
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

FILES, SECONDS, BUSY_MAX = 120, 3, 0.4  # it spun at 0.85


def few(daemon):
    """Start it with so few that both its limits are reached."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, before[1]))
    try:
        daemon.start(wait=False)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    daemon.wait_ready()


def busy(pid):
    """Share of a processor over some seconds."""
    def used():
        fields = open(f"/proc/{pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    began, had = time.monotonic(), used()
    while time.monotonic() < began + SECONDS:
        time.sleep(0.1)
    return (used() - had) / (time.monotonic() - began)


def crowd(port, n):
    found = []
    for _ in range(n):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", port))
        found.append(s)
    return found


@test
def a_cgi_out_of_descriptors_rests_and_answers_again(s):
    s.base.start()
    few(s.cgi)
    s.cgi.stop()
    few(s.cgi)
    s.token = s.make_token("few")
    until("the cgi is up", s.up)
    status, _ = s.ask("GET", "/api/v1/server")
    assert status == 200
    for _ in range(2):
        people = crowd(s.http, 2 * FILES)
        share, left = busy(s.cgi.pid), FILES - len(os.listdir(f"/proc/{s.cgi.pid}/fd"))
        for p in people:
            p.close()
        assert share < BUSY_MAX, share
        assert left > 8, left  # for what it opens itself: its limit is below the system's
        until("it answers again", s.up)
    assert "http.few-files" in s.cgi.text(), s.cgi.tail()


@test
def a_baseserver_out_of_descriptors_rests_says_so_and_goes_on(s):
    s.base.stop()
    few(s.base)
    until("the cgi has it again", s.up)
    people = crowd(s.port, 2 * FILES)
    share, mark = busy(s.base.pid), s.base.log.stat().st_size
    s.add_key("b1", "broker")  # its SIGHUP finds no descriptor to read the keys with
    until("it says so", lambda: "keys.refused" in s.base.text(mark))
    for p in people:
        p.close()
    assert share < BUSY_MAX, share
    assert 1 <= s.base.text().count("listen.paused") < 6, s.base.tail()  # not one each try
    until("it answers", s.up)
    s.add_broker_of("b1", types=("noop:4",))  # and the key is known without another
    s.wait_broker("b1", ["noop"])


if __name__ == "__main__":
    sys.exit(main(lambda: Site("few", sessions_per_address_max=4096)))
