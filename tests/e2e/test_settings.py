#!/usr/bin/env python3
"""Settings that no other suite shows: a real program with two values, and a difference seen from outside."""
import contextlib
import http.client
import json
import os
import re
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from harness import Daemon, Site, Skip, gone, main, stand_still, test, until

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
                       ("recovery_wait_ms", "waits for nobody"), ("log_chunk_bytes_max", "output_chunk_bytes"),
                       ("frame_bytes_max", "a bound of its own"), ("frame_memory_max", "a bound of its own")):
        done = s.run([*s.argv("baseserver", {**s.base_sets, name: 5000}), "--check-config"])
        said = done.stderr + done.stdout
        assert done.returncode != 0 and f"'{name}' was removed in 0.1" in said and hint in said, (name, said)
    done = s.run([*s.cgi.argv, "--set", "log_dir=/var/lib/sirdar/joblogs", "--check-config"])
    assert done.returncode != 0 and "the server gives the jobs' logs" in done.stderr + done.stdout, done
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


# --- the machine ------------------------------------------------------------------------------

FREE = {"load_max_percent": 100000, "report_ms": 100, "retry_min_ms": 20, "retry_max_ms": 300, "loader_restart_ms": 20,
        "loader_crash_max": 1000, "disk_free_min_bytes": 1 << 20, "jobs_max": 4096, "stop_ms": 3000, "output_flush_ms": 50}


def machine(s):
    """A broker m of the group m, whose settings are in a file."""
    if "m" not in s.brokers:
        s.add_key("m")
        s.file = s.dir / "m.yaml"
        write(s)
        sets = s.broker_sets("m", ("shell:4",), groups="m", work_dir=s.dir / "m-work")
        argv = s.argv("taskbroker", {k: v for k, v in sets.items() if k not in FREE})
        (s.dir / "m-work").mkdir()
        s.brokers["m"] = Daemon(s, "m", [argv[0], "-c", s.file, *argv[1:]], r"broker\.keeper_up")
        s.brokers["m"].start()
        s.wait_broker("m", ["shell"])
    return s.brokers["m"]


def write(s, **sets):
    s.file.write_text("".join(f"{k}: {v}\n" for k, v in {**FREE, **sets}.items()))


def reload(s, **sets):
    """Other settings for the broker m, while it runs."""
    b = machine(s)
    mark = b.log.stat().st_size
    write(s, **sets)
    b.proc.send_signal(signal.SIGHUP)
    until("all have taken it over", lambda: all(
        w in b.text(mark) for w in ("broker.reload", "loader.reload", "keeper.settings")))
    return mark


def begin(s, name, script, n=1, **keys):
    """n dates of a shell task on the broker m, all due."""
    head = f"workflow: {name}\nproject: s\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-{n:02}\n"
    body = {"type": "shell", "cycle": "day", "group": "m", "catchup": "{mode: all}", "retry": "{attempts: 1}", **keys}
    s.apply(head + "tasks:\n  t:\n" + "".join(f"    {k}: {v}\n" for k, v in body.items()) +
            "    params:\n      script: |\n" + "".join(f"        {line}\n" for line in script.splitlines()), **{"from": "2026-03-01"})
    return f"s/{name}/t"


def ended(s, name, script, **keys):
    """What a job said, once it succeeded and all of it is with the server."""
    i = s.wait_state(begin(s, name, script, **keys), "2026-03-01T00:00:00Z", "Succ", 60)
    until("its output is shipped", lambda: not os.listdir(s.dir / "m/logs"))
    return said(s, i)


def said(s, i):
    try:
        text = s.log_of(i["id"])
    except AssertionError as why:
        assert "404" in str(why), why
        return ""
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def of_m(s):
    return next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "m")


def refuses(s, word):
    """The broker m says at the server that it takes nothing, and why; "": it takes work."""
    return until(f"m refuses with {word!r}", lambda: [b for b in [of_m(s)] if b["accepts"] == (not word) and word in str(b)])[0]


@test
def jobs_run_in_work_dir_and_a_core_file_may_have_job_core_max_bytes(s):
    reload(s)
    where, size = ended(s, "where", "pwd\nulimit -c").split()
    assert Path(where).is_relative_to(s.dir / "m-work") and size == "0", (where, size)
    reload(s, job_core_max_bytes="1M")
    assert int(ended(s, "core", "ulimit -c")) in (1024, 2048)
    assert (s.dir / "m/logs").is_dir(), "state_dir is not used"


@test
def a_machine_runs_jobs_max_jobs(s):
    reload(s, jobs_max=1)
    go = s.dir / "go-most"
    task = begin(s, "most", f"while [ ! -e {go} ]; do sleep 0.05; done", n=3)

    def run():
        return [i for i in s.instances(task) if i["state"] == "Running"]
    until("one runs", lambda: len(run()) == 1)
    refuses(s, "jobs_max is 1")
    assert len(run()) == 1, s.instances(task)
    reload(s, jobs_max=3)
    until("all three run", lambda: len(run()) == 3)
    go.touch()
    s.wait_all_over(task, 3)


@test
def a_loader_takes_pull_ahead_jobs_more_than_it_has_slots(s):
    go = s.dir / "go-ahead"

    def six(name, left):
        """Of six, four run, and so many are still with the server."""
        task = begin(s, name, f"while [ ! -e {go} ]; do sleep 0.05; done", n=6)
        until("all slots are taken", lambda: len([i for i in s.instances(task) if i["started"]]) >= 4)
        until(f"{left} are left", lambda: len([i for i in s.instances(task) if i["state"] == "DependenceFinish"]) == left)
        go.touch()
        s.wait_all_over(task, 6)
        go.unlink()
    reload(s)
    six("ahead0", 2)
    reload(s, pull_ahead=2)
    six("ahead2", 0)
    reload(s)


@test
def a_machine_over_a_threshold_says_which_and_comes_back_below_its_slack(s):
    reload(s, disk_free_min_bytes="1000G")
    refuses(s, "disk_free_min_bytes is")
    free = os.statvfs(s.dir).f_bavail * os.statvfs(s.dir).f_frsize
    reload(s, disk_free_min_bytes=free * 7 // 10, load_slack_percent=90)  # wants 1.33 times what is free
    refuses(s, "disk_free_min_bytes is")
    reload(s, disk_free_min_bytes=free * 7 // 10, load_slack_percent=5)  # 0.74 times
    refuses(s, "")
    reload(s, memory_max_percent=1)
    refuses(s, "memory_max_percent is 1")
    while os.getloadavg()[0] < 0.03 * os.cpu_count():
        sum(range(1000000))
    reload(s, load_max_percent=1)
    refuses(s, "load_max_percent is 1")
    reload(s)
    refuses(s, "")


@test
def load_is_told_every_report_ms(s):
    mark = reload(s, report_ms=20, log_level="debug")
    until("it measures again and again", lambda: len(re.findall(r" debug broker\.load ", machine(s).text(mark))) > 20)
    mark = reload(s, report_ms=600000, log_level="debug")
    ended(s, "reports", "sleep 1")
    assert len(re.findall(r" debug broker\.load ", machine(s).text(mark))) < 20, machine(s).text(mark)
    reload(s)


@test
def a_machines_log_level_read_again_is_in_force_at_once(s):
    mark = reload(s)
    ended(s, "quiet", "true")
    assert not machine(s).has(r" debug ", mark), machine(s).text(mark)
    mark = reload(s, log_level="debug")
    until("it says what it sees", lambda: machine(s).has(r" debug broker\.load ", mark))
    reload(s)


@test
def a_loader_that_dies_comes_back_after_loader_restart_ms(s):
    def die():
        old = [p for p in s.pids("taskrunner-loader", s.dir / "m") if not gone(p)]
        mark = machine(s).log.stat().st_size
        os.kill(old[0], signal.SIGKILL)
        until("it is noticed", lambda: machine(s).has(r"broker\.loader_ended", mark))
        return old[0]
    reload(s, loader_restart_ms=20)
    old = die()
    until("another is there", lambda: [p for p in s.pids("taskrunner-loader", s.dir / "m") if p != old and not gone(p)])
    s.wait_broker("m", ["shell"])
    reload(s, loader_restart_ms=600000, retry_max_ms=600000)
    machine(s).restart()
    s.wait_broker("m", ["shell"])
    old = die()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert not [p for p in s.pids("taskrunner-loader", s.dir / "m") if p != old and not gone(p)], "it did not wait"
    write(s)
    machine(s).restart()
    s.wait_broker("m", ["shell"])


@test
def output_of_an_attempt_is_kept_up_to_output_bytes_max(s):
    reload(s, output_bytes_max=4096)
    text = ended(s, "cut", "head -c 100000 /dev/zero | tr '\\0' x")
    assert "output past 4096 bytes is dropped" in text and 4096 <= text.count("x") < 100000, (len(text), text[-200:])
    reload(s, output_bytes_max="1M")
    assert ended(s, "whole", "head -c 100000 /dev/zero | tr '\\0' x").count("x") == 100000


@test
def output_is_shipped_after_output_flush_ms(s):
    reload(s, output_flush_ms=60000)
    go, up = s.dir / "go-flush", s.dir / "up-flush"
    task = begin(s, "flush", f"echo early\ntouch {up}\nwhile [ ! -e {go} ]; do sleep 0.05; done")
    until("it said it", up.exists)
    i = s.wait_state(task, "2026-03-01T00:00:00Z", "Running")
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert said(s, i) == "", said(s, i)
    reload(s, output_flush_ms=10)
    until("it is with the server while it runs", lambda: said(s, i) == "early\n")
    go.touch()
    s.wait_all_over(task, 1)


@test
def jobs_have_groups_of_their_own_but_with_cgroup_off(s):
    reload(s)
    auto = machine(s).has(r"keeper\.ready.* cgroup=(\S+)")[1]
    b = s.add_broker("g", ("shell:1",), groups="g", cgroup="off")
    assert b.has(r"keeper\.ready.* cgroup=off "), b.tail()
    b.stop()
    if auto == "off":
        raise Skip("this host gives us no cgroup")


def listener():
    link = socket.socket()
    link.bind(("127.0.0.1", 0))
    link.listen(100)
    link.setblocking(False)
    return link


def tries(s, seconds, enough, answers, **sets):
    """How many connections a broker makes to a server that closes them at once (answers), or says nothing."""
    door, kept = listener(), []
    if not (s.dir / "lone.key").exists():
        s.add_key("lone")
    argv = s.argv("taskbroker", s.broker_sets("lone", ("noop:1",), server=f"127.0.0.1:{door.getsockname()[1]}", **sets))
    b = Daemon(s, "lone", argv, r"broker\.keeper_up").start()
    end = time.monotonic() + seconds
    while len(kept) < enough and time.monotonic() < end:
        if select.select([door], [], [], 0.05)[0]:
            kept.append(door.accept()[0])
            if answers:
                kept[-1].close()
    b.kill()
    for pid in s.pids("taskrunner-loader", s.dir / "lone") + s.pids("jobkeeper", s.dir / "lone"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    door.close()
    return len(kept)


@test
def a_try_to_reach_a_server_takes_connect_ms(s):
    assert tries(s, 60, 8, False, connect_ms=20, retry_min_ms=10, retry_max_ms=20) == 8
    assert tries(s, 1.5, 8, False, connect_ms=300000, retry_min_ms=10, retry_max_ms=20) < 8


@test
def pauses_between_tries_are_from_retry_min_ms_to_retry_max_ms(s):
    assert tries(s, 60, 40, True, retry_min_ms=10, retry_max_ms=20) == 40
    assert tries(s, 1.5, 40, True, retry_min_ms=10, retry_max_ms=600000) < 40  # doubles each time
    assert tries(s, 1.5, 8, True, retry_min_ms=60000, retry_max_ms=600000) < 8


# --- the server -------------------------------------------------------------------------------

@test
def a_workflow_that_names_no_zone_has_the_servers_timezone(s):
    for name, zone, date in (("utc", "UTC", "2022-01-01T00:00:00Z"), ("east", "Asia/Shanghai", "2021-12-31T16:00:00Z")):
        anew(s, timezone=zone)
        s.apply(tasks(name, 1))
        s.command("backfill", selection={"tasks": [f"s/{name}/t0"], "dates": ["2022-01-01"]})
        until("its instance is there", lambda name=name: s.instances(f"s/{name}/t0"))
        assert s.instances(f"s/{name}/t0")[0]["run_date"] == date, s.instances(f"s/{name}/t0")
    anew(s)


@test
def the_server_says_its_address_as_it_is_told(s):
    assert s.get("/api/v1/server")["address"] == f"127.0.0.1:{s.port}"
    anew(s, address="server.example:7420")
    assert s.get("/api/v1/server")["address"] == "server.example:7420"
    anew(s)


@test
def all_peers_together_may_have_sessions_max(s):
    def closed(patience):
        links = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(20)]
        try:
            return len(select.select(links, [], [], patience)[0])
        finally:
            for link in links:
                link.close()
    anew(s, sessions_max=16, handshake_ms="5m")
    assert closed(30) > 0
    anew(s, sessions_max=4096, handshake_ms="5m")
    assert closed(1) == 0
    anew(s)


@test
def the_server_keeps_log_job_bytes_max_of_an_attempt(s):
    anew(s, log_job_bytes_max=4096)
    reload(s)
    cut = ended(s, "kept", "head -c 100000 /dev/zero | tr '\\0' x; echo; echo last words")
    assert 1000 < cut.count("x") <= 4096, (len(cut), cut[-200:])
    anew(s, log_job_bytes_max="1M")
    assert any(f.is_file() for f in (s.dir / "joblogs").rglob("*")), "log_dir is not used"
    whole = ended(s, "kept2", "head -c 100000 /dev/zero | tr '\\0' x; echo; echo last words")
    assert whole.count("x") == 100000, len(whole)


@test
def an_attempt_that_nobody_answers_for_is_lost_after_lose_ms(s):
    machine(s)
    anew(s, lose_ms=3600000)
    b = s.add_broker("d", ("shell:1",), groups="d")
    up = s.dir / "up-lost"
    task = begin(s, "lost", f"touch {up}\nexec sleep 600", group="d")
    until("it runs", up.exists)
    s.wait_state(task, "2026-03-01T00:00:00Z", "Running")
    b.kill()
    for pid in [*s.pids("taskrunner-loader", s.dir / "d"), *s.pids("jobkeeper", s.dir / "d"), *s.pids("sleep", "600")]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert s.instance(task, "2026-03-01T00:00:00Z")["state"] == "Running"
    anew(s, beat_ms=100, fence_ms=1000, kill_ms=100, epoch_ms=500, lose_ms=2000)
    i = until("it is lost", lambda: [i for i in s.instances(task) if i["state"] != "Running"], 60)[0]
    assert "lost" in str(s.history(i["id"])), s.history(i["id"])
    anew(s)


@test
def an_apply_may_change_as_many_pools_as_ring_slots_leaves_room_for(s):
    pools = "---\n".join(f"pool: ring{i}\nslots: 1\n" for i in range(900))
    anew(s, ring_slots=1024)
    answer = s.apply(pools, expect=(429, 400, 413))
    assert "ring_slots" in str(answer), answer
    anew(s, ring_slots=2048)
    s.apply(pools)
    anew(s)


@test
def a_command_of_more_than_command_batch_instances_answers_before_it_is_done(s):
    s.apply(tasks("batch", 1))

    def state(year):
        dates = [f"{year}-01-01", f"{year + 1}-01-01", f"{year + 2}-01-01"]
        return s.command("backfill", selection={"tasks": ["s/batch/t0"], "dates": dates})["state"]
    anew(s, command_batch=2)
    early = state(2021)
    anew(s, command_batch=3)
    assert (early, state(2024)) == ("running", "done"), early
    anew(s)


@test
def the_forecast_looks_after_baselines_every_baseline_every_ms(s):
    def looks():
        return s.base.text(s.base.mark).count(" debug forecaster.play ")
    anew(s, baseline_every_ms=20, log_level="debug")
    until("it looks again and again", lambda: looks() > 20)
    anew(s, baseline_every_ms=0, log_level="debug")
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert looks() == 0
    anew(s)


@test
def who_lost_its_lease_is_killed_kill_ms_after_it_was_asked(s):
    machine(s)

    def fenced(name, kill_ms):
        """A job that ignores TERM, at the end of its lease: its pid."""
        anew(s, beat_ms=100, fence_ms=1000, epoch_ms=500, kill_ms=kill_ms, lose_ms=7200000)
        s.wait_broker("m", ["shell"])
        pid, asked = s.dir / f"pid-{name}", s.dir / f"asked-{name}"
        begin(s, name, f"trap 'touch {asked}' TERM\necho $$$$ > {pid}.new\nmv {pid}.new {pid}\nwhile :; do sleep 0.05; done")
        until("it runs", pid.exists)
        stand_still(s.base.proc.pid)
        until("it is asked to end", asked.exists)
        return int(pid.read_text())
    try:
        quick = fenced("kill0", 100)
        until("it is killed", lambda: gone(quick), 10)  # the default is 15 s
    finally:
        s.base.proc.send_signal(signal.SIGCONT)
    try:
        slow, end = fenced("kill1", 3600000), time.monotonic() + 1
        while time.monotonic() < end:
            assert not gone(slow), "it was killed"
        os.kill(slow, signal.SIGKILL)
    finally:
        s.base.proc.send_signal(signal.SIGCONT)
    anew(s)


@test
def a_broker_that_ends_waits_stop_ms_for_jobs_in_its_loaders(s):
    def ends(name, stop_ms, sleep_ms):
        """What became of a job in a loader that sleeps for so long when its broker is told to end."""
        b = s.add_broker(name, ("noop:1",), groups=name, stop_ms=stop_ms)
        s.apply(f"workflow: {name}\nproject: s\ntasks:\n  t: {{type: noop, group: {name}, cycle: year, start_date: 2020-01-01, "
                f"params: {{sleep_ms: '{sleep_ms}'}}}}\n")
        s.command("backfill", selection={"tasks": [f"s/{name}/t"], "dates": ["2022-01-01"]})
        s.wait_state(f"s/{name}/t", "2022-01-01T00:00:00Z", "Running")
        assert b.stop(120) == 0, b.tail()
        return s.instance(f"s/{name}/t", "2022-01-01T00:00:00Z")["state"]
    assert ends("hasty", 100, 600000) != "Succ"
    assert ends("calm", 60000, 13000) == "Succ"  # longer than the default


# --- the cgi ----------------------------------------------------------------------------------

def status_of(s, method, path, **headers):
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    link.request(method, path, headers=headers)
    try:
        return link.getresponse().status
    finally:
        link.close()


@test
def a_cgi_gets_in_by_its_name_and_key_file_and_has_a_state_dir_of_its_own(s):
    cgi_anew(s)
    s.add_key("face", "face")
    base = s.cgi_argv

    def other(**sets):
        assert s.cgi.stop() == 0, s.cgi.tail()
        s.cgi.argv = base + [w for k, v in sets.items() for w in ("--set", f"{k}={v}")]
        s.cgi.start()
    other(name="face", key_file=s.dir / "face.key")
    until("it is let in", s.up)
    assert s.cgi.stop() == 0, s.cgi.tail()
    for wrong in ({"name": "face"}, {"key_file": s.dir / "face.key"}):  # the one does not fit the other
        done = s.run([*base, *(w for k, v in wrong.items() for w in ("--set", f"{k}={v}"))])
        assert done.returncode == 69, done
    other(state_dir=s.dir / "cgi-other")
    until("it has files of its own", lambda: (s.dir / "cgi-other").is_dir())
    until("it has the server", s.up)
    cgi_anew(s)


@test
def a_workflow_that_names_no_zone_is_shown_in_the_cgis_timezone(s):
    s.apply(tasks("zoneless", 1))
    for zone in ("Asia/Shanghai", "America/Lima"):
        cgi_anew(s, timezone=zone)
        shown = s.get("/api/v1/graph/s/zoneless")["zone"]
        assert shown == zone, (shown, zone)
    cgi_anew(s)


@test
def a_request_waits_request_ms_for_the_server(s):
    cgi_anew(s, request_ms=200)
    stand_still(s.base.proc.pid)
    try:
        got = s.ask("GET", "/api/v1/queues")
        assert got[0] in (503, 504), got
    finally:
        s.base.proc.send_signal(signal.SIGCONT)
    cgi_anew(s, request_ms=600000)
    got = []
    stand_still(s.base.proc.pid)
    try:
        t = threading.Thread(target=lambda: got.append(s.ask("GET", "/api/v1/queues")[0]))
        t.start()
        t.join(1.5)
        assert t.is_alive(), got
    finally:
        s.base.proc.send_signal(signal.SIGCONT)
    t.join()
    assert got == [200], got


@test
def events_max_streams_may_be_open(s):
    def opened(n):
        links = []
        for _ in range(n):
            link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
            link.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {s.token}"})
            links.append((link, link.getresponse().status))
        for link, _ in links:
            link.sock and link.sock.close()
        return [status for _, status in links]
    cgi_anew(s, events_max=2)
    assert opened(3)[:2] == [200, 200] and opened(4)[-1] != 200
    cgi_anew(s, events_max=4)
    assert opened(4) == [200] * 4


@test
def a_login_ends_when_it_is_unused_for_session_idle_ms_and_after_session_life_ms(s):
    def login():
        link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
        link.request("POST", "/api/v1/login", json.dumps({"user": "ann", "password": "her own word here"}), {"Content-Type": "application/json"})
        r = link.getresponse()
        assert r.status == 200, r.read()
        r.read()
        return r.getheader("Set-Cookie").split(";")[0]

    def alive(cookie):
        return status_of(s, "GET", "/api/v1/session", Cookie=cookie) == 200
    cgi_anew(s, session_idle_ms=1500, session_life_ms=3600000)
    assert s.ask("POST", "/api/v1/users", {"user": "ann", "role": "viewer", "projects": ["s"], "password": "her own word here"})[0] == 200
    cookie = login()
    until("it is over as nobody uses it", lambda: not alive(cookie), every=2)

    def ends_in_use():
        """It ended, and no time without use was long enough to end it; else one tries again."""
        cookie = login()
        began = used = time.monotonic()
        while time.monotonic() < began + 60:
            asked = time.monotonic()
            if not alive(cookie):
                return time.monotonic() - used < 1.5
            used = asked
        raise AssertionError("it is not over")
    cgi_anew(s, session_idle_ms=1500, session_life_ms=1500)  # an idle_ms above it is refused
    until("it is over though it is used", ends_in_use, 120)
    cgi_anew(s, session_idle_ms=3600000, session_life_ms=3600000)
    cookie, began = login(), time.monotonic()
    until("both have passed that others ended by", lambda: time.monotonic() > began + 3)
    assert alive(cookie)


@test
def the_cgis_log_level_read_again_is_in_force_at_once(s):
    file = s.dir / "cgi.yaml"
    file.write_text("log_level: info\n")
    cgi_anew(s)
    assert s.cgi.stop() == 0
    s.cgi.argv = [s.cgi_argv[0], "-c", str(file), *s.cgi_argv[1:]]
    s.start_cgi()
    s.get("/api/v1/server")
    assert not s.cgi.has(r" debug ", s.cgi.mark)
    file.write_text("log_level: debug\n")
    s.cgi.proc.send_signal(signal.SIGHUP)
    until("it says what it answers", lambda: s.get("/api/v1/server") and s.cgi.has(r" debug http\.dispatch ", s.cgi.mark))
    cgi_anew(s)


if __name__ == "__main__":
    sys.exit(main(lambda: Site("settings").start(("noop:8",))))
