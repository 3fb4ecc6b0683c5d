#!/usr/bin/env python3
"""Two servers on MariaDB, each behind a proxy of its own. The one that leads is stopped in the middle
of a transaction and for longer than its lease: what it sends afterwards is refused by the epoch, and
it ends with one line. And cut off from the database altogether, while the other one is not. TAP.

PAUSES=n (default 1, HEAVY=1: 20) rounds of each."""
import os
import re
import signal
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import test_chaos as chaos  # noqa: E402
import test_ha  # noqa: E402
import test_ha_mysql  # noqa: E402
from harness import TESTS, Skip, main, stand_still, test, until  # noqa: E402
from proxy import Proxy  # noqa: E402

TESTS.clear()

PAUSES = int(os.environ.get("PAUSES") or (20 if os.environ.get("HEAVY") else 1))


class ProxyPair(test_ha_mysql.MysqlPair):
    def __init__(self):
        super().__init__()
        self.ways = {}
        for d in (self.base, self.base2):
            way = self.ways[d] = Proxy(self.database.port)
            d.argv += ["--set", f"store=mysql://root@127.0.0.1:{way.port}/sirdar?timeout=3"]

    def close(self):
        for way in getattr(self, "ways", {}).values():
            way.close()
        super().close()


def ended_with_one_line(d, mark):
    until("it ends", lambda: d.proc.poll() is not None, 60)
    said = [x for x in d.text(mark).splitlines() if x.startswith("baseserver: ")]
    assert d.proc.returncode != 0 and len(said) == 1, (d.proc.returncode, said)
    # The store's word, or its own clock's before it has asked.
    assert re.search(r"epoch \d+ (leads now|is over)|lease of epoch \d+ could not be renewed", said[0]), said


def pause_at(s, statement, after=None):
    """The leader's next such statement stays in the proxy, the leader stands still, the other
    one takes over; then both go on."""
    load = s.load
    if (chaos.alive(s) or 0) < 20:
        load.more()
    d = s.leader()
    way, mark = s.ways[d], len(d.text())
    way.wait_struck(way.strike(statement, "hold", after=after))
    stand_still(d.proc.pid)
    try:
        s.follows(f"SIGSTOP before {statement}", d, time.monotonic())
        # What it had sent arrives only now, and its transaction is not there any more.
        way.release()
    finally:
        d.proc.send_signal(signal.SIGCONT)
    ended_with_one_line(d, mark)
    way.calm()
    chaos.goes_on(s, load)
    s.both()


@test
def a_leader_stopped_before_its_commit_is_refused_and_ends_with_one_line(s):
    for _ in range(PAUSES):
        pause_at(s, "COMMIT", after="INSERT INTO lb_task_event")
    chaos.judge(s, s.load)


@test
def a_leader_stopped_before_it_proves_its_epoch_is_refused_and_ends_with_one_line(s):
    for n in range(PAUSES):
        pause_at(s, ("SELECT epoch", "START TRANSACTION")[n % 2])
    chaos.judge(s, s.load)


@test
def a_leader_cut_off_from_the_database_ends_while_another_takes_over(s):
    if PAUSES < 2:
        raise Skip("test_netns.py cuts servers off; PAUSES=2 does it here too")
    for _ in range(PAUSES):
        load = s.load
        if (chaos.alive(s) or 0) < 20:
            load.more()
        d = s.leader()
        way, mark, began = s.ways[d], len(d.text()), time.monotonic()
        way.strike(".", "swallow_statement", times=1000000)
        s.follows("cut from the database", d, began)
        way.calm()
        ended_with_one_line(d, mark)
        chaos.goes_on(s, load)
        s.both()
    chaos.judge(s, s.load)
    s.tell()


if __name__ == "__main__":
    sys.exit(main(lambda: test_ha.make(ProxyPair)))
