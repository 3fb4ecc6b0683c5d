#!/usr/bin/env python3
"""Two servers whose leader is elected in an etcd of three members, each in a network namespace of its
own: one member dies, stands still, or is cut off, also the one that leads; the other two go on, and
nobody takes the lead from the server that has it. Two lost: nobody leads, until one is back. TAP.

Skipped where namespaces are not permitted. ROUNDS=n (default 1, HEAVY=1: 10) of each; HEAVY=1: all of them."""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "etcd")]
import etcd  # noqa: E402
import netns  # noqa: E402
import test_chaos as chaos  # noqa: E402
import test_ha  # noqa: E402
import test_ha_mysql  # noqa: E402
from harness import SLOW, TESTS, Skip, main, test, until  # noqa: E402

TESTS.clear()

HEAVY = bool(os.environ.get("HEAVY"))
ROUNDS = int(os.environ.get("ROUNDS") or (10 if HEAVY else 1))
LACKS = netns.enter()
NAMES = ("e1", "e2", "e3")
test_ha.EPOCH_MS, test_ha.LEAD_MS = 5000 * SLOW, 8000 * SLOW  # an election of etcd's own fits in


class ThreePair(test_ha_mysql.MysqlPair):
    elects = "etcd"

    def __init__(self):
        if LACKS:
            raise Skip(LACKS)
        if not etcd.program("etcd") or not etcd.program("etcdctl"):
            raise Skip("no etcd: packaging/deps.sh test")
        self.net = netns.Net()
        self.three = etcd.Cluster([etcd.Member(n, self.net.machine(n), self.net.inside(n)) for n in NAMES])
        super().__init__()
        for d in (self.base, self.base2):
            d.argv += ["--set", f"etcd={self.three.url()}", "--set", "etcd_lead=true",
                       "--set", f"etcd_timeout_ms={700 * SLOW}"]

    def close(self):
        try:
            super().close()
        finally:
            self.three.close()
            self.net.close()


def busy(s):
    if (chaos.alive(s) or 0) < 20:
        s.load.more()
    until("jobs run", s.load.ends)


def goes_on_without(s, m, lose, back):
    """The leader stays, and renews: a lease that nobody renews is over meanwhile."""
    busy(s)
    d, epoch = s.leader(), s.status().get("epoch")
    mark, lease = len(d.text()), test_ha.LEAD_MS / 1000
    lose(m)
    lost = time.monotonic()
    try:
        others = [x for x in s.three.members if x is not m]
        until("the two have a leader", lambda: any(x.leads() for x in others), 60)
        chaos.goes_on(s, s.load)
        until("the lease is renewed", lambda: time.monotonic() - lost > lease * 0.5 and
              remaining(others[0]) > lease * 0.7, 60, every=0.2)
    finally:
        back(m)
    assert s.leader() is d and s.status().get("epoch") == epoch, (epoch, s.status().get("epoch"))
    assert not d.has(r"lead\.unelected", mark), d.tail()
    m.wait()


def remaining(member):
    """Seconds that the leader's lease has left."""
    got = json.loads(member.ctl("get", "/sirdar/leader", "-w", "json").stdout)
    lease = got["kvs"][0]["lease"]
    return json.loads(member.ctl("lease", "timetolive", f"{lease:x}", "-w", "json").stdout)["ttl"]


def cut_off(s):
    def cut(m):
        for other in NAMES:
            if other != m.name:
                s.net.cut(m.name, other)
    return cut


def cut_off_from_all(s):
    def cut(m):
        cut_off(s)(m)
        s.net.cut("hub", m.name)
    return cut


@test
def a_member_that_dies_is_done_without(s):
    for _ in range(ROUNDS):
        for m in ([s.three.leader()] if not HEAVY else list(s.three.members)):
            goes_on_without(s, m, etcd.Etcd.kill, etcd.Etcd.launch)
    chaos.judge(s, s.load)


@test
def a_member_that_stands_still_is_done_without(s):
    if not HEAVY:
        raise Skip("HEAVY=1: like one that is cut off")
    for _ in range(ROUNDS):
        for m in s.three.members:
            goes_on_without(s, m, etcd.Etcd.pause, etcd.Etcd.resume)
    chaos.judge(s, s.load)


@test
def a_member_that_is_cut_off_is_done_without(s):
    """From the other two only it answers, and can promise nothing; from all it does not answer."""
    for _ in range(ROUNDS):
        for cut in (cut_off(s), cut_off_from_all(s))[:2 if HEAVY else 1]:
            goes_on_without(s, s.three.leader(), cut, lambda m: s.net.heal())
    chaos.judge(s, s.load)


@test
def without_two_of_three_nobody_leads_until_one_is_back(s):
    if not HEAVY:
        raise Skip("HEAVY=1: test_etcd_lead.py has it with one member")
    for _ in range(ROUNDS):
        busy(s)
        d = s.leader()
        mark = len(d.text())
        lost = s.three.members[:2]
        for m in lost:
            m.kill()
        try:
            until("it gives up", lambda d=d, mark=mark: d.has(r"lead\.unelected", mark), 60)
            until("nobody leads", lambda: s.leader() is None, 60)
        finally:
            lost[0].launch()
        until("one leads", lambda: s.leader() is not None, 60)
        lost[1].start()
        chaos.goes_on(s, s.load)
        s.both()
    chaos.judge(s, s.load)


if __name__ == "__main__":
    sys.exit(main(lambda: test_ha.make(ThreePair)))
