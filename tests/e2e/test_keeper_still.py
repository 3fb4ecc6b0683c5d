#!/usr/bin/env python3
"""A machine says of a job that it is gone only when nothing of it runs any more: also where the
jobkeeper stands still, is gone, or cannot be started, and where a job's child left its session.
TAP."""
import os
import re
import shutil
import signal
import socket
import subprocess
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, SLOW, Site, gone, main, stand_still, test, until  # noqa: E402

SHORT = {"beat_ms": 200, "fence_ms": 3000, "kill_ms": 500, "lose_ms": 6000, "epoch_ms": 2000}
SILENT = {"loader_silent_ms": 500, "loader_alone_ms": 86400000}


def once(s, name, tasks):
    s.apply(f"workflow: {name}\nproject: still\ntimezone: UTC\nstart_date: 2026-01-01\n"
            f"end_date: 2026-01-01\ndefaults: {{type: shell, cycle: once}}\ntasks:\n" + tasks,
            name + ".yaml", **{"from": "2026-01-01"})


def only(s, task):
    found = s.instances(task)
    return found[0] if found else None


def wait(s, task, *states):
    return until(f"{task} is {states}; it is {only(s, task)}",
                 lambda: (i := only(s, task)) and i["state"] in states and i, 120)


def machine(s, name):
    return next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == name)


def why_of(s, instance):
    return s.get(f"/api/v1/instances/{instance['id']}/why")


def words(s, mark):
    path = s.dir / "data" / mark
    return path.read_text().split() if path.exists() else []


def leaves_a_child(s, name, machines):
    """A job whose child has a session of its own. Its next attempt notes whether the first one, or
    that child, still runs. -> the two pids, and the machine that it runs on."""
    path = s.dir / "data" / name
    once(s, name, f"  t:\n    machines: [{', '.join(machines)}]\n    retry: {{attempts: 1}}\n"
         "    params:\n      script: |\n"
         f"        if [ -e {path} ]; then\n"
         f"          for p in $(cat {path}); do\n"
         f"            case $(cut -d ' ' -f 3 /proc/$p/stat 2>/dev/null) in\n"
         f"              ''|Z|X) echo dead ;;\n              *) echo alive ;;\n"
         f"            esac >> {path}.seen\n          done\n          exit 0\n        fi\n"
         f"        setsid sh -c 'exec sleep 600' &\n"
         f"        echo $$$$ $! > {path}.new; mv {path}.new {path}; wait\n")
    main_pid, child = until("it runs", lambda: words(s, name))
    i = wait(s, f"still/{name}/t", "Running")
    return int(main_pid), int(child), s.get(f"/api/v1/instances/{i['id']}")["broker"]


def was_alone(s, name):
    i = wait(s, f"still/{name}/t", "Succ", "StopSchedule")
    reasons = [(e["event"], e["reason"]) for e in s.history(i["id"])]
    assert (i["state"], i["attempt"]) == ("Succ", 1), (i, reasons)
    assert ("fail-retry", "lost") in reasons, reasons
    assert words(s, name + ".seen") == ["dead", "dead"], words(s, name + ".seen")


def keeper_of(s, broker):
    found, = s.pids("jobkeeper", f"/{broker}")
    return found


def pair(s, *names, **sets):
    for n in names:
        s.add_broker(n, types=("shell:4",), **SILENT, **sets)


def end(s, *names):
    for n in names:
        s.brokers[n].stop()


# --- one execution at a time

@test
def a_keeper_that_stands_still_and_whose_socket_is_full_is_ended(s):
    pair(s, "s0", "s9")
    _, child, where = leaves_a_child(s, "full", ("s0", "s9"))
    keeper, waiting = keeper_of(s, where), []
    stand_still(keeper)
    try:
        while True:
            waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
            waiting[-1].connect(str(s.dir / where / "keeper.sock"))
    except BlockingIOError:
        pass
    was_alone(s, "full")
    assert gone(keeper) and gone(child)
    for one in waiting:
        one.close()
    end(s, "s0", "s9")


@test
def a_keeper_that_stands_still_is_ended_with_all_of_its_jobs_before_they_run_again(s):
    pair(s, "s1", "s2")
    _, child, where = leaves_a_child(s, "still", ("s1", "s2"))
    stand_still(keeper_of(s, where))
    was_alone(s, "still")
    assert gone(child)
    end(s, "s1", "s2")


@test
def so_it_is_without_groups_of_processes(s):
    pair(s, "s3", "s4", cgroup="off")
    _, child, where = leaves_a_child(s, "stilloff", ("s3", "s4"))
    stand_still(keeper_of(s, where))
    was_alone(s, "stilloff")
    assert gone(child)
    end(s, "s3", "s4")


@test
def a_loader_whose_taskbroker_stands_still_too_ends_the_keeper_before_it_names_its_jobs_no_more(s):
    pair(s, "s5", "s6")
    _, child, where = leaves_a_child(s, "stilltwo", ("s5", "s6"))
    b, keeper = s.brokers[where], keeper_of(s, where)
    mark = len(b.text())
    stand_still(b.proc.pid)
    stand_still(keeper)
    try:
        was_alone(s, "stilltwo")
        assert gone(keeper) and gone(child)
        said = b.text()[mark:]
        assert 0 <= said.find("loader.keeper_silent") < said.find("loader.keeper_gone"), b.tail()
    finally:
        os.kill(b.proc.pid, signal.SIGCONT)
    end(s, "s5", "s6")


@test
def what_a_keeper_left_that_cannot_be_started_again_is_ended_before_it_runs_again(s):
    place = s.dir / "bin7"
    place.mkdir()
    for program in ("taskbroker", "taskrunner-loader", "jobkeeper"):
        shutil.copy2(BIN / program, place / program)
    for n in ("s7", "s8"):
        b = s.add_broker(n, types=("shell:4",), wait=False, **SILENT)
        b.stop()
        for p in s.pids("jobkeeper", "/" + n):
            os.kill(p, signal.SIGTERM)
            until("it has ended", lambda p=p: gone(p))
        b.argv[0] = str(place / "taskbroker")
        b.start()
        s.wait_broker(n, ["shell"])
    _, child, where = leaves_a_child(s, "left", ("s7", "s8"))
    (place / "jobkeeper").unlink()
    os.kill(keeper_of(s, where), signal.SIGKILL)
    was_alone(s, "left")
    assert gone(child)
    shutil.copy2(BIN / "jobkeeper", place / "jobkeeper")
    end(s, "s7", "s8")


# --- what people are told

@test
def a_machine_whose_jobkeeper_stands_still_shows_what_was_granted_to_it(s):
    s.add_broker("m1", types=("shell:4",), loader_silent_ms=60000)
    keeper = keeper_of(s, "m1")
    stand_still(keeper)
    try:
        once(s, "granted", "  t: {machines: [m1], params: {script: 'true'}}\n")
        wait(s, "still/granted/t", "Running")
        until("its machine shows it", lambda: machine(s, "m1")["running"] == 1)
    finally:
        os.kill(keeper, signal.SIGCONT)
    wait(s, "still/granted/t", "Succ")
    until("it shows none", lambda: machine(s, "m1")["running"] == 0)
    end(s, "m1")


@test
def the_time_for_which_nothing_was_heard_of_a_jobkeeper_goes_on(_):
    def seconds(text):
        found = re.search(r"no jobkeeper: nothing heard for ([0-9]+) s", text)
        return int(found.group(1)) if found else 0
    with Site("heard", **{**SHORT, "fence_ms": 300000, "lose_ms": 400000}) as s:
        s.start(**SILENT)
        once(s, "heard", "  t: {params: {script: 'sleep 600'}}\n")
        wait(s, "still/heard/t", "Running")
        heard = set()  # the taskbroker has asked the jobkeeper what it holds meanwhile
        until("it is listed", lambda: heard.add(machine(s, "b1")["last_heard"]) or len(heard) > 10)
        stand_still(keeper_of(s, "b1"))
        for says in (lambda: machine(s, "b1")["why_not"],
                     lambda: next(t for t in machine(s, "b1")["types"]
                                  if t["type"] == "shell")["text"]):
            first = until("it is said", lambda says=says: seconds(says()))
            until("it goes on", lambda says=says, first=first: seconds(says()) > first)
        why = why_of(s, wait(s, "still/heard/t", "Running"))
        assert why["code"] == "runs_unheard" and seconds(why["line"]) and "b1" in why["line"], why


@test
def why_of_a_running_instance_names_its_machine_that_is_away(_):
    with Site("away", **{**SHORT, "fence_ms": 300000, "lose_ms": 400000}) as s:
        s.start(**SILENT)
        once(s, "away", "  t: {params: {script: 'sleep 600'}}\n")
        i = wait(s, "still/away/t", "Running")
        until("it has started", lambda: s.get(f"/api/v1/instances/{i['id']}")["started"])
        assert why_of(s, i)["code"] == "runs", why_of(s, i)
        s.brokers["b1"].kill()
        for p in s.pids("taskrunner-loader", "/b1"):
            os.kill(p, signal.SIGKILL)
        why = until("its machine is named", lambda: (w := why_of(s, i))["code"] != "runs" and w)
        assert why["code"] == "runs_unheard" and "b1" in why["line"], why
        assert "is not connected, last heard at 20" in why["line"], why


@test
def health_names_that_no_machine_has_a_jobkeeper(s):
    def health():
        return s.get("/api/v1/health")
    until("it is well", lambda: health()["problems"] == [] and health()["status"] == "ok")
    stand_still(keeper_of(s, "b1"))  # it is ended by force, and another is started
    told = until("it is named", lambda: (h := health())["problems"] and h)
    assert told["status"] == "degraded", told
    assert "no broker that is online has a jobkeeper (b1)" in told["problems"][0], told
    until("it is well again", lambda: health()["problems"] == [])


# --- who started it

OUTPUT_S = 60 * SLOW


def read_by_us(s, name, *more):
    """A taskbroker whose output somebody reads to its end."""
    argv = s.argv("taskbroker", s.broker_sets(name, ("noop:1",)))
    return subprocess.Popen([*argv, *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, cwd=s.dir, env=s.env, text=True)


@test
def a_taskbroker_with_jobs_that_cannot_begin_leaves_no_jobkeeper_and_nobody_at_its_output(s):
    for name, key in (("w1", ""), ("w2", (s.dir / "b1.key").read_text()), ("w3", None)):
        if key is not None:
            (s.dir / f"{name}.key").touch(0o600)
            (s.dir / f"{name}.key").write_text(key)
        ran = read_by_us(s, name, "--with-jobs")
        text, _ = ran.communicate(timeout=OUTPUT_S)
        assert "broker.link" in text and ran.returncode == 78, (ran.returncode, text)
        until("no jobkeeper is there", lambda name=name: not s.pids("jobkeeper", "/" + name))


@test
def a_jobkeeper_lets_go_of_the_output_of_who_started_it(s):
    s.add_key("w5")
    ran = read_by_us(s, "w5")
    s.wait_broker("w5", ["noop"])
    keeper = keeper_of(s, "w5")
    ran.terminate()
    text, _ = ran.communicate(timeout=OUTPUT_S)
    assert "broker.keeper_up" in text and ran.returncode == 0, (ran.returncode, text)
    assert not gone(keeper)
    said = s.dir / "w5" / "keeper.log"
    os.kill(keeper, signal.SIGTERM)
    until("it has ended", lambda: gone(keeper))
    assert "keeper.stopped" in said.read_text(), said.read_text()


if __name__ == "__main__":
    sys.exit(main(lambda: Site("still", **SHORT).start(**SILENT)))
