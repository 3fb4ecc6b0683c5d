#!/usr/bin/env python3
"""The whole on a three-node Galera cluster of the test's own, under load: docs/galera.md. TAP.

ROUNDS=n (default 1, HEAVY=1: 20) blows of each kind at the node the server writes to."""
import os
import random
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import galera  # noqa: E402
import test_chaos as chaos  # noqa: E402
from harness import BIN, TESTS, Late, Site, Skip, main, test, until  # noqa: E402

TESTS.clear()  # those of chaos: only its load and its judge are wanted here

ROUNDS = int(os.environ.get("ROUNDS") or (20 if os.environ.get("HEAVY") else 1))
SLOTS = 12
TIMEOUT_S = 3  # of a statement
cluster = None


class GaleraSite(Site):
    """The cluster goes with the site."""

    def __init__(self):
        global cluster
        if not galera.provider():
            raise Skip("no galera-4: packaging/deps.sh test")
        cluster = galera.Cluster()
        cluster.nodes[0].sql("CREATE DATABASE sirdar")
        super().__init__("galera", store=cluster.url("sirdar", timeout=TIMEOUT_S))

    def close(self):
        try:
            super().close()
        finally:
            cluster.close()


def written():
    return [int(n.status("wsrep_replicated") or 0) for n in cluster.nodes]


def writer(load):
    """The node that the server writes to, seen by what it sends to the others."""
    before, ends = written(), load.ends()
    until("something is written", lambda: load.ends() > ends, 60)
    more = [b - a for a, b in zip(before, written())]
    return cluster.nodes[more.index(max(more))]


def busy(s, load):
    """Enough to do for what comes now."""
    load.more()
    ends = load.ends()
    until("jobs run", lambda: load.ends() > ends, 60)


def goes_on(s, load):
    """More ends than was running (a job that runs needs no server), and what is asked is answered."""
    ends, began = load.ends(), time.monotonic()
    try:
        until("work goes on", lambda: load.ends() > ends + SLOTS or chaos.alive(s) == 0, 60)
        until("lists are answered", lambda: s.ask("GET", "/api/v1/instances?limit=1")[0] == 200, 60)
    except Late as e:
        raise Late(f"{e} (seed {chaos.SEED})\n{s.story()}") from None
    return time.monotonic() - began


def judge(s):
    s.instances("e2e/chaos*")  # the first list after new tasks may lack their names
    chaos.judge(s, s.load)


def same_everywhere():
    """All nodes have the same rows, once they have what any of them has."""
    def same():
        tables = "lb_task_run, lb_task_run_history, lb_task_event, lb_outcome, lb_command"
        try:
            return len({n.sql(f"SET wsrep_sync_wait = 1; CHECKSUM TABLE {tables}", "sirdar")
                        for n in cluster.nodes}) == 1
        except subprocess.CalledProcessError:
            return False  # one that was let go on may have to find out first
    until("every node has the same rows", same, 60)


@test
def a_node_killed_under_load_is_left_for_another_and_comes_back(s):
    random.seed(chaos.SEED)
    for _ in range(ROUNDS):
        busy(s, s.load)
        node = writer(s.load)
        node.kill()
        try:
            print(f"# work went on {goes_on(s, s.load):.1f} s after the kill")
        finally:
            node.start()
    judge(s)
    same_everywhere()


@test
def a_node_that_stands_still_is_left_for_another_and_comes_back(s):
    for _ in range(ROUNDS):
        busy(s, s.load)
        node = writer(s.load)
        node.stop()
        try:
            print(f"# work went on {goes_on(s, s.load):.1f} s after the stop")
        finally:
            node.go_on()
        node.wait_synced()
    judge(s)
    same_everywhere()


@test
def commits_that_lose_against_another_node_are_done_again(s):
    load, over, wrong = s.load, threading.Event(), []
    busy(s, load)
    node = writer(load)
    other = next(n for n in cluster.nodes if n is not node)

    def lost():
        return sum(int(node.status(f"wsrep_local_{k}") or 0) for k in ("cert_failures", "bf_aborts"))

    def disturb():
        text = "UPDATE lb_leader SET renewed_us = renewed_us + 1 WHERE id = 1; DO SLEEP(0.005);\n" * 50
        while not over.is_set():
            try:
                other.sql(text, "sirdar")
            except subprocess.CalledProcessError as e:
                if "1213" not in e.stderr:  # who disturbs may lose as well
                    wrong.append(e.stderr)
    before = lost()
    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        def enough():
            if (chaos.alive(s) or 99) < SLOTS:
                load.more()
            return wrong or lost() - before >= 3 * ROUNDS
        until("commits were lost", enough, 120, every=0.2)
    finally:
        over.set()
        thread.join()
    assert not wrong, wrong
    print(f"# {lost() - before} commits were refused or broken off, and done again")
    judge(s)
    assert s.ask("GET", "/api/v1/health")[1]["status"] == "ok"


@test
def a_node_outside_its_cluster_is_refused_by_name_and_left(s):
    busy(s, s.load)
    node = writer(s.load)
    node.sql("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
    try:
        until("the node is outside", lambda: node.status("wsrep_cluster_status") == "non-Primary", 60)
        done = s.run(s.argv("baseserver", {**s.base_sets, "store": node.url("sirdar", timeout=TIMEOUT_S),
                                           "state_dir": s.dir / "other", "listen": "127.0.0.1:0"}))
        said = done.stderr + done.stdout
        assert done.returncode != 0 and "not in step with its cluster" in said and str(node.port) in said, said
        assert len(said.splitlines()) == 1, said
        goes_on(s, s.load)
    finally:
        node.sql("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
    node.wait_synced()
    judge(s)
    same_everywhere()


@test
def who_was_deposed_by_way_of_another_node_commits_nothing(s):
    cluster.nodes[0].sql("CREATE DATABASE two")
    env = {**os.environ, "SIRDAR_TEST_NODES": " ".join(n.url("two") for n in cluster.nodes[:2])}
    done = subprocess.run([str(BIN.parent / "test" / "mysql_cluster")], env=env, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@test
def without_a_majority_nothing_is_lost_and_work_goes_on_with_it(s):
    busy(s, s.load)
    node = writer(s.load)
    others = [n for n in cluster.nodes if n is not node]
    for n in others:
        n.stop()
    try:
        until("the server says so", lambda: s.ask("GET", "/api/v1/health")[1]["status"] == "failing", 60)
    finally:
        for n in others:
            n.go_on()
    goes_on(s, s.load)
    for n in cluster.nodes:
        n.wait_synced()
    judge(s)
    same_everywhere()


def make():
    s = GaleraSite()
    try:
        s.start((f"shell:{SLOTS}",), retry_max_ms=100)
        s.load = chaos.Load(s, s.dir / "data/load", minutes=10)
    except BaseException:
        s.close()
        raise
    return s


if __name__ == "__main__":
    sys.exit(main(make))
