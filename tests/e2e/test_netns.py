#!/usr/bin/env python3
"""Machines that do not reach each other: two servers, brokers and a database, each in a network
namespace of its own, and packets lost between them, one way or both. Running jobs are not touched,
one server leads at most, all heals by itself. TAP.

Skipped where namespaces are not permitted. CUTS=n (default 0, HEAVY=1: 50) random partitions more."""
import os
import random
import re
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import netns  # noqa: E402
import test_chaos as chaos  # noqa: E402
import test_ha  # noqa: E402
import mariadb  # noqa: E402
from harness import TESTS, Site, Skip, main, test, until  # noqa: E402

TESTS.clear()

CUTS = int(os.environ.get("CUTS") or (50 if os.environ.get("HEAVY") else 0))
LACKS = netns.enter()


class NetPair(test_ha.Pair):
    """The database and the cgi are on the hub, with the test."""
    lock_is_lease = False

    def __init__(self):
        if LACKS:
            raise Skip(LACKS)
        if not mariadb.program("mariadbd"):
            raise Skip("no mariadbd: packaging/deps.sh test")
        self.net = netns.Net()
        for name in ("one", "two", "b"):
            self.net.machine(name)
        self.database = mariadb.MariaDB("--bind-address=0.0.0.0", flush=0)
        self.database.sql("CREATE DATABASE sirdar; CREATE USER sirdar@'10.99.%';"
                          "GRANT ALL ON sirdar.* TO sirdar@'10.99.%'")
        url = f"mysql://sirdar@{netns.HUB}:{self.database.port}/sirdar?timeout=3&tls=off"
        super().__init__("netns", store=url)
        self.places = {self.base: "one", self.base2: "two"}
        for d, port in ((self.base, self.port), (self.base2, self.port2)):
            place = self.places[d]
            d.argv = [*self.net.inside(place), *d.argv, "--set",
                      f"listen={self.net.addresses[place]}:{port}"]

    def argv(self, program, sets):
        words = Site.argv(program, sets)
        return [*self.net.inside("b"), *words] if program == "taskbroker" else words

    def servers(self):
        a = self.net.addresses
        return f"{a['two']}:{self.port2},{a['one']}:{self.port}"

    def close(self):
        self.net.heal()
        super().close()
        self.database.close()
        self.net.close()


def port_of(s, d):
    return s.port if d is s.base else s.port2


def busy(s):
    if (chaos.alive(s) or 0) < 20:
        s.load.more()
    until("jobs run", s.load.ends)


def heals(s):
    s.net.heal()
    until("brokers are back", lambda: brokers_online(s), 60)
    s.both()
    chaos.goes_on(s, s.load)


def brokers_online(s):
    try:
        return all(b["online"] for b in s.get("/api/v1/brokers")["brokers"])
    except (OSError, AssertionError):
        return False


def epoch(s):
    return int(s.database.sql("SELECT epoch FROM lb_leader", "sirdar"))


def deposed(s, cut):
    """The other one leads; the one that was cut off ends with one line; the epoch says who may
    write."""
    busy(s)
    d, began = s.leader(), time.monotonic()
    was, mark = epoch(s), len(d.text())
    cut(s.places[d], port_of(s, d))
    s.follows("partition", d, began)
    until("it ends", lambda: d.proc.poll() is not None, 60)
    said = [x for x in d.text(mark).splitlines() if x.startswith("baseserver: ")]
    assert len(said) == 1 and re.search(r"epoch \d+", said[0]), said
    assert epoch(s) == was + 1
    heals(s)


def unmoved(s, cut, meanwhile):
    """Nobody takes anything over."""
    busy(s)
    d = s.leader()
    was = epoch(s)
    cut(s.places[d], s.places[s.other(d)], port_of(s, d))
    meanwhile(d)
    heals(s)
    assert s.leader() is d and epoch(s) == was, (was, epoch(s))


def broker_asks_around(s):
    """The broker has noticed, asked the other server and been sent back: for less than its jobs'
    leases, so that they run on."""
    b = s.brokers["b1"]
    mark = len(b.text())

    def look(_):
        until("the broker asks the other one", lambda: b.has(r"link\.standby", mark), 60)
    return look


# --- what is cut: (machine of the leader, its port) or (leader's, standby's, port)

def store_both_ways(s):
    return lambda at, _: s.net.cut(at, "hub", s.database.port)


def answers_of_the_store(s):
    return lambda at, _: s.net.lose("hub", at, f"tcp sport {s.database.port}")


def questions_to_the_store(s):
    return lambda at, _: s.net.lose(at, "hub", f"tcp dport {s.database.port}")


def everything(s):
    def cut(at, _):
        s.net.cut(at, "hub")
        s.net.cut(at, "b")
    return cut


def brokers(s):
    return lambda at, _, port: s.net.cut("b", at)


def words_to_the_brokers(s):
    return lambda at, _, port: s.net.lose(at, "b")


def the_standby_from_the_store(s):
    return lambda _, other, port: s.net.cut(other, "hub", s.database.port)


def the_servers_from_each_other(s):
    return lambda at, other, port: s.net.cut(at, other)


@test
def a_broker_tells_the_hardware_address_that_leads_to_its_server(s):
    shown = re.search(r"link/ether (\S+)", netns.run(*s.net.inside("b"), "ip", "-o", "link", "show", "up0"))[1]
    assert {b["mac"] for b in s.get("/api/v1/brokers")["brokers"]} == {shown}, s.get("/api/v1/brokers")


@test
def an_active_server_whose_answers_from_the_store_are_lost_is_followed_and_ends(s):
    deposed(s, answers_of_the_store(s))
    chaos.judge(s, s.load)


@test
def an_active_server_cut_off_from_everything_is_followed_and_brokers_find_the_other(s):
    deposed(s, everything(s))
    chaos.judge(s, s.load)


@test
def an_active_server_cut_off_from_its_brokers_leads_on_and_jobs_run_on(s):
    unmoved(s, brokers(s), broker_asks_around(s))
    chaos.judge(s, s.load)


@test
def a_standby_cut_off_from_the_leader_or_from_the_store_changes_nothing(s):
    if CUTS:  # it takes a while to be missed; test_ha.py has that too
        unmoved(s, the_standby_from_the_store(s),
                lambda _: until("it is missed", lambda: s.status().get("standbys") == [], 60))
    unmoved(s, the_servers_from_each_other(s), lambda _: chaos.goes_on(s, s.load))
    chaos.judge(s, s.load)


@test
def partitions_one_after_the_other_lose_nothing_and_double_nothing(s):
    random.seed(chaos.SEED)
    kinds = [(deposed, k) for k in (store_both_ways, answers_of_the_store, questions_to_the_store, everything)]
    kinds += [(unmoved, k) for k in (brokers, words_to_the_brokers)]
    done = {}
    for _ in range(CUTS):
        how, what = random.choice(kinds)
        done[what.__name__] = done.get(what.__name__, 0) + 1
        how(s, what(s), *([broker_asks_around(s)] if how is unmoved else []))
    chaos.judge(s, s.load)
    print(f"# seed {chaos.SEED}: {done}")
    s.tell()


if __name__ == "__main__":
    sys.exit(main(lambda: test_ha.make(NetPair)))
