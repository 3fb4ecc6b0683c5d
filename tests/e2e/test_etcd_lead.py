#!/usr/bin/env python3
"""Two servers on one MariaDB whose leader is elected in etcd: kills and pauses of the leader and of
etcd under load. The witness is what the jobs themselves wrote (test_chaos.py). TAP.

KILLS=n (default 1, HEAVY=1: 50) take-overs by kill -9; HEAVY=1: the whole of test_ha.py too.
"""
import os
import re
import signal
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "etcd")]
import etcd  # noqa: E402
import test_chaos as chaos  # noqa: E402
import test_ha  # noqa: E402
import test_ha_mysql  # noqa: E402
from harness import SLOW, TESTS, Skip, main, stand_still, test, until  # noqa: E402

KILLS = int(os.environ.get("KILLS") or (50 if os.environ.get("HEAVY") else 1))
WAYS = (("pause", "resume"), ("kill", "start"))[:2 if os.environ.get("HEAVY") else 1]
WANTED = () if os.environ.get("HEAVY") else (
    test_ha.kills_of_the_leader_under_load_lose_nothing_and_run_nothing_twice,)
TESTS[:] = [t for t in TESTS if (not WANTED or t in WANTED) and
            t is not test_ha.a_leader_paused_beyond_its_lease_can_do_nothing_any_more]
test_ha.KILLS = KILLS
if "LEAD_MS" not in os.environ:
    test_ha.EPOCH_MS, test_ha.LEAD_MS = 3000 * SLOW, 4000 * SLOW


class EtcdPair(test_ha_mysql.MysqlPair):
    lock_is_lease = False
    elects = "etcd"

    def __init__(self):
        if not etcd.program("etcd") or not etcd.program("etcdctl"):
            raise Skip("no etcd: packaging/deps.sh test")
        self.etcd = etcd.Etcd()
        try:
            super().__init__()
        except BaseException:
            self.etcd.close()
            raise
        for d in (self.base, self.base2):
            d.wire = etcd.Wire(self.etcd.port)
            d.argv += ["--set", f"etcd={d.wire.url}", "--set", "etcd_lead=true",
                       "--set", f"etcd_timeout_ms={1000 * SLOW}"]

    def close(self):
        try:
            super().close()
        finally:
            self.etcd.close()


def waits_or_ended(d, mark):
    """After it lost its place: a standby, or an end with one line that says why."""
    if d.proc.poll() is None:
        return d.has(r"standby\.waits", mark)
    said = [x for x in d.text(mark).splitlines() if x.startswith("baseserver: ")]
    assert d.proc.returncode != 0 and len(said) == 1, (d.proc.returncode, said)
    return True


def epochs(s):
    return [int(e) for d in (s.base, s.base2)
            for e in re.findall(r"lead\.taken epoch=(\d+)", d.text())]


@test
def a_leader_paused_beyond_its_lease_is_followed_and_does_nothing_any_more(s):
    load = s.load
    load.more()
    until("jobs run", lambda: chaos.alive(s))
    d = s.leader()
    mark = len(d.text())
    stand_still(d.proc.pid)
    try:
        until("the other leads", lambda: s.leader() is s.other(d), 60)
    finally:
        d.proc.send_signal(signal.SIGCONT)
    until("it waits, or has ended", lambda: waits_or_ended(d, mark), 60)
    chaos.goes_on(s, load)
    s.both()
    chaos.judge(s, load)


@test
def a_leader_cut_off_from_etcd_alone_waits_before_the_other_leads(s):
    load = s.load
    load.more()
    until("jobs run", lambda: chaos.alive(s))
    d = s.leader()
    marks = {x: len(x.text()) for x in (s.base, s.base2)}
    d.wire.cut()
    try:
        until("it gives up", lambda: d.has(r"lead\.unelected", marks[d]), 60)
        until("the other leads", lambda: s.leader() is s.other(d), 60)
        stamps = [float(x.has(rf"(\d+\.\d+) baseserver \w+ {what}", marks[x]).group(1))
                  for x, what in ((d, r"lead\.unelected"), (s.other(d), r"lead\.taken"))]
        assert stamps[0] < stamps[1], stamps
        chaos.goes_on(s, load)
    finally:
        d.wire.mend()
    until("it waits, or has ended", lambda: waits_or_ended(d, marks[d]), 60)
    s.both()
    chaos.judge(s, load)


@test
def without_etcd_nobody_leads_when_the_lease_is_over_and_all_goes_on_afterwards(s):
    load = s.load
    for lose, back in WAYS:
        lose, back = getattr(s.etcd, lose), getattr(s.etcd, back)
        load.more()
        until("jobs run", lambda: chaos.alive(s))
        d = s.leader()
        mark, other_mark = len(d.text()), len(s.other(d).text())
        lose()
        try:
            until("it is said", lambda d=d, mark=mark: d.has(r"election\.away", mark), 60)
            until("it gives up", lambda d=d, mark=mark: d.has(r"lead\.unelected", mark), 60)
            until("nobody leads", lambda: s.leader() is None, 60)
            assert not s.other(d).has(r"lead\.taken", other_mark), s.other(d).tail()
        finally:
            back()
        until("one leads", lambda: s.leader() is not None, 60)
        chaos.goes_on(s, load)
        s.both()
    chaos.judge(s, load)


@test
def a_key_deleted_by_hand_makes_one_of_them_lead_with_the_next_epoch(s):
    s.load.more()
    until("jobs run", lambda: chaos.alive(s))
    d = s.leader()
    marks = {x: len(x.text()) for x in (s.base, s.base2)}
    s.etcd.delete("/sirdar/leader")
    until("it is noticed", lambda: d.has(r"election\.lost|E_EPOCH|baseserver: ", marks[d]), 60)
    until("one takes the lead", lambda: any(x.has(r"lead\.taken", m) for x, m in marks.items()), 60)
    if not d.has(r"lead\.taken", marks[d]):
        until("the other waits, or has ended", lambda: waits_or_ended(d, marks[d]), 60)
    until("it leads", lambda: s.leader() is not None, 60)
    chaos.goes_on(s, s.load)
    s.both()
    chaos.judge(s, s.load)


@test
def each_epoch_was_taken_once(s):
    until("it is said who elects", lambda: s.status().get("elects") == "etcd")
    assert "who leads is decided by a key in etcd" in s.sirdar("server", "status").stdout
    got = epochs(s)
    assert len(got) == len(set(got)) and len(got) >= KILLS + 3, got
    s.tell()


if __name__ == "__main__":
    sys.exit(main(lambda: test_ha.make(EtcdPair)))
