#!/usr/bin/env python3
"""A server that stood still while brokers beat and jobs ended: nothing is declared lost by a silence that it
did not listen through. TAP."""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TESTS, Site, main, stand_still, test, until  # noqa: E402
from test_life import AT, ledger, script, workflow  # noqa: E402

TESTS.clear()
LOSE_S = 3.0


def stalls(s, seconds):
    """SIGSTOP for so long: the length of the fault."""
    end = time.monotonic() + seconds
    stand_still(s.base.proc.pid)
    try:
        until("the stall is over", lambda: time.monotonic() > end, seconds + 30)
    finally:
        s.base.proc.send_signal(signal.SIGCONT)


def of(s, name, n):
    return s.wait_all_over(f"e2e/{name}/*", n, 90)


@test
def what_ended_and_what_beat_while_the_server_stood_still_is_not_lost(s):
    gate, began = s.dir / "data" / "gate", s.dir / "data" / "began"
    wait = f"echo $SIRDAR_TASK >> {began}\nwhile [ ! -e {gate} ]; do sleep 0.05; done"
    tasks = {f"ends{n}": script(wait) for n in range(12)}
    tasks |= {f"lasts{n}": script(f"echo $SIRDAR_TASK >> {began}\nsleep 6", on_lost="hold", on_server_lost="keep")
              for n in range(4)}
    workflow(s, "stood", tasks)
    until("all run", lambda: len(ledger(s, "began")) == 16, 60)
    until("all are known to", lambda: all(i["started"] for i in s.instances("e2e/stood/*")), 30)
    mark = s.base.log.stat().st_size
    gate.touch()  # they end while nobody listens
    stalls(s, LOSE_S * 1.5)
    rows = of(s, "stood", 16)
    assert all((i["state"], i["attempt"]) == ("Succ", 1) for i in rows), rows
    assert not s.base.has(r"attempt\.lost", mark), s.base.text(mark)
    # What waited in its sockets was read, not thrown away for the silence.
    assert not s.base.has(r"session\.end .*code=TIMEOUT", mark), s.base.text(mark)
    assert sorted(ledger(s, "began")) == sorted({f"e2e/stood/{t}" for t in tasks}), ledger(s, "began")


@test
def a_silence_counts_again_after_the_stall(s):
    workflow(s, "silent", {"one": script("sleep 600", on_lost="hold", on_server_lost="keep")})
    s.wait_state("e2e/silent/one", AT, "Running")
    stalls(s, LOSE_S * 1.2)
    mark = s.base.log.stat().st_size
    held = [*s.pids("taskbroker"), *s.pids("taskrunner-loader"), *s.pids("jobkeeper")]
    for pid in held:
        stand_still(pid)
    try:
        until("it is lost", lambda: s.base.has(r"attempt\.lost", mark), 60)
    finally:
        for pid in held:
            os.kill(pid, signal.SIGCONT)
    s.wait_state("e2e/silent/one", AT, "Hanged")


def make():
    s = Site("stall", beat_ms=200, fence_ms=2200, kill_ms=300, lose_ms=int(LOSE_S * 1000), epoch_ms=400)
    return s.start(types=("shell:32",))


if __name__ == "__main__":
    sys.exit(main(make))
