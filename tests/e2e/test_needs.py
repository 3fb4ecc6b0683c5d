#!/usr/bin/env python3
"""A task that waits for very many others: applied, kept over kill -9, started when the last of them is over and
not before. More than 65,535, so that no counter of 16 bits hides; HEAVY=1: as many as a task may have. TAP."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

NEEDS = 100000 if os.environ.get("HEAVY") else 66000
FLOWS = -(-NEEDS // 20000)
DATE = "2026-03-01"
AT = DATE + "T00:00:00Z"
HEAD = f"project: p\nstart_date: {DATE}\nend_date: {DATE}\ndefaults: {{type: noop, cycle: day, catchup: {{mode: all}}}}\n"
SINK = "p/sink/all"


def names():
    return [f"w{i % FLOWS}/t{i // FLOWS}" for i in range(NEEDS)]


@test
def a_task_with_very_many_needs_waits_for_each_of_them(s):
    every = names()
    for f in range(FLOWS):
        mine = [n.split("/")[1] for n in every if n.startswith(f"w{f}/")]
        s.apply(f"workflow: w{f}\n{HEAD}tasks:\n" + "".join(f"  {n}: {{}}\n" for n in mine), **{"from": DATE})
    held = f"workflow: held\n{HEAD}tasks:\n  last: {{}}\n"
    s.apply(held, **{"from": DATE})
    s.command_over(s.command("freeze", selection={"tasks": ["p/held/last"]}))
    s.apply(f"workflow: sink\n{HEAD}tasks:\n  all: {{needs: [{', '.join(every[:-1])}, held/last]}}\n", **{"from": DATE})
    until("it is made", lambda: s.instance(SINK, AT), 120)
    s.base.restart(hard=True)
    until("it leads again", s.up, 120)
    s.add_broker("b1", types=("noop:64",))
    until("all but one are over", lambda: s.get("/api/v1/stats")["instances"].get("Succ", 0) >= NEEDS, 300, every=0.2)
    assert s.instance(SINK, AT)["state"] == "Ready", s.instance(SINK, AT)
    s.command_over(s.command("unfreeze", selection={"tasks": ["p/held/last"]}))
    assert s.wait_state(SINK, AT, "Succ", 120)


@test
def more_than_a_task_may_have_are_refused_with_the_number(s):
    text = f"workflow: over\n{HEAD}tasks:\n  a: {{}}\n  all: {{needs: [" + ", ".join(["a"] * 100001) + "]}\n"
    status, answer = s.ask("POST", "/api/v1/commands", {"kind": "apply", "request_id": os.urandom(8).hex(),
                                                        "args": {"documents": [{"name": "f", "text": text}]}})
    assert status == 400 and "100000" in str(answer), (status, str(answer)[:500])


def site():
    s = Site("needs")
    s.cgi.argv += ["--set", "request_bytes_max=4194304", "--set", "request_ms=60000"]
    s.base.start()
    s.start_cgi()
    return s


if __name__ == "__main__":
    sys.exit(main(site))
