#!/usr/bin/env python3
"""Settings that no other suite shows: a real program with two values, and a difference seen from outside."""
import http.client
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path

from harness import Site, main, test, until

ROW = "project: s\nworkflow: {0}\ntasks:\n{1}"


def tasks(name, n):
    return ROW.format(name, "".join(f"  t{i}: {{type: noop, cycle: year, start_date: 2020-01-01}}\n" for i in range(n)))


def anew(s, **sets):
    """The server once more, with these settings besides its own."""
    assert s.base.stop() == 0, s.base.tail()
    s.base.argv = s.argv("baseserver", {**s.base_sets, **sets})
    s.base.start()
    until("the server answers", s.up)


def cgi_anew(s, **sets):
    assert s.cgi.stop() == 0, s.cgi.tail()
    if not hasattr(s, "cgi_argv"):
        s.cgi_argv = s.cgi.argv
    s.cgi.argv = s.cgi_argv + [w for k, v in sets.items() for w in ("--set", f"{k}={v}")]
    s.link = None
    s.start_cgi()


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


@test
def a_workflow_may_have_graph_tasks_max_tasks(s):
    anew(s, graph_tasks_max=2)
    s.apply(tasks("two", 2))
    answer = s.apply(tasks("three", 3), expect=(400,))
    assert "s/three has 3 tasks, graph_tasks_max allows 2" in str(answer), answer
    anew(s, graph_tasks_max=3)
    s.apply(tasks("three", 3))


@test
def below_disk_free_min_bytes_nothing_starts_and_why_says_so(s):
    anew(s, disk_free_min_bytes="1000G")
    s.apply(tasks("disk", 1))
    s.command("backfill", selection={"tasks": ["s/disk/t0"], "dates": ["2022-01-01"]})
    until("the log says so", lambda: s.base.has(r"disk\.low free=\d+", s.base.mark))

    def waits():
        found = s.instances(task="s/disk/t0")
        return found[0] if found and found[0]["state"] == "DependenceFinish" else None
    one = until("an instance is ready", waits)
    why = s.get(f"/api/v1/instances/{one['id']}/why")
    assert why["code"] == "server_disk", why
    anew(s, disk_free_min_bytes=1 << 20)
    s.wait_broker("b1", ["noop"])
    until("it starts now", lambda: s.instances(task="s/disk/t0", states="Succ"), 60)


@test
def settings_that_were_removed_are_named_with_what_to_do(s):
    for name, hint in (("mailbox_letters", "take it out"), ("reader_credits", "command_batch"),
                       ("catchup_max", "catchup: {max: N}"), ("reject_delay_ms", "take it out"),
                       ("recovery_wait_ms", "waits for nobody"), ("log_chunk_bytes_max", "output_chunk_bytes")):
        done = s.run([*s.argv("baseserver", {**s.base_sets, name: 5000}), "--check-config"])
        said = done.stderr + done.stdout
        assert done.returncode != 0 and f"'{name}' was removed in 0.1" in said and hint in said, (name, said)
    file = s.dir / "old.yaml"
    file.write_text("recovery_wait_ms: 2000\n")
    done = s.run([s.base.argv[0], "-c", file, "--check-config"])
    assert done.returncode != 0 and "was removed in 0.1" in done.stderr + done.stdout, done


@test
def a_log_level_read_again_is_in_force_at_once(s):
    file = s.dir / "base.yaml"
    file.write_text("log_level: info\n")
    assert s.base.stop() == 0, s.base.tail()
    s.base.argv = s.argv("baseserver", s.base_sets) + ["-c", str(file)]
    s.base.start()
    assert not s.base.has(r" debug ", s.base.mark)
    file.write_text("log_level: debug\nworkers: 2\n")
    s.base.proc.send_signal(signal.SIGHUP)
    until("it says what it read", lambda: s.base.has(r'settings\.reloaded changed=1 need_restart="workers"', s.base.mark))
    until("the server answers", s.up)
    s.command("freeze", selection={"tasks": ["s/two/t0"]}, dry_run=True, expect=(200, 404))
    until("it says what it decides", lambda: s.base.has(r" debug commander\.judge ", s.base.mark))
    anew(s)


@test
def placement_and_workers_say_how_many_threads_there_are(s):
    anew(s, placement="few", workers=1)
    few = threads_of(s.base.pid)
    anew(s, placement="few", workers=4)
    assert threads_of(s.base.pid) == few + 3, (few, threads_of(s.base.pid))
    anew(s, placement="each", workers=1)
    assert threads_of(s.base.pid) > few, (few, threads_of(s.base.pid))
    anew(s)


@test
def who_says_nothing_is_cut_off_after_handshake_ms(s):
    anew(s, handshake_ms=300)
    with socket.create_connection(("127.0.0.1", s.port), timeout=60) as link:
        began = time.monotonic()
        while link.recv(100):
            pass
        assert time.monotonic() - began >= 0.25
    anew(s, handshake_ms="5m")
    with socket.create_connection(("127.0.0.1", s.port), timeout=2) as link:
        try:
            while True:
                assert link.recv(100), "it was cut off"
        except TimeoutError:
            pass


@test
def one_address_may_have_sessions_per_address_max(s):
    def turned_away(at_least):
        """How many of 12 were: waits for so many, or for a second."""
        links = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(12)]
        try:
            closed, end = set(), time.monotonic() + (30 if at_least else 1)
            while len(closed) < max(at_least, 1) and time.monotonic() < end:
                closed.update(select.select(links, [], [], 0.1)[0])
            return len(closed)
        finally:
            for link in links:
                link.close()
    anew(s, sessions_per_address_max=8, handshake_ms="5m")
    assert turned_away(4) >= 4
    anew(s, sessions_per_address_max=64, handshake_ms="5m")
    assert turned_away(0) == 0


@test
def a_body_may_have_request_bytes_max_bytes(s):
    text = tasks("large", 60)
    cgi_anew(s, request_bytes_max=2048)
    status, answer = s.ask("POST", "/api/v1/commands", {"kind": "apply", "dry_run": True, "args": {
        "documents": [{"name": "a.yaml", "text": text}]}})
    assert status == 413, (status, answer)
    cgi_anew(s, request_bytes_max="1M")
    s.apply(text, dry_run=True)


@test
def the_cgi_steps_back_as_nice_says_and_answers_with_threads(s):
    def nice():
        return int(Path(f"/proc/{s.cgi.pid}/stat").read_text().rsplit(")", 1)[1].split()[16])
    cgi_anew(s, nice=0, threads=2)
    own, two = nice(), threads_of(s.cgi.pid)
    assert own == os.nice(0), own  # whoever runs the test may have stepped back himself
    cgi_anew(s, nice=7, threads=6)
    assert nice() > own, nice()
    assert threads_of(s.cgi.pid) == two + 4, (two, threads_of(s.cgi.pid))


@test
def of_all_clients_connections_max_may_be_connected(s):
    def served(patience):
        links, good = [], 0
        while good == len(links) and good < 20:
            link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=patience)
            links.append(link)
            try:
                link.request("GET", "/healthz")
                good += link.getresponse().status == 200
            except (OSError, http.client.HTTPException):
                pass
        for link in links:
            link.close()
        return good
    cgi_anew(s, connections_max=1024)
    assert served(60) == 20
    cgi_anew(s, connections_max=8)
    s.link.close()
    s.link = None
    assert served(2) < 20


if __name__ == "__main__":
    sys.exit(main(lambda: Site("settings").start(("noop:8",))))
