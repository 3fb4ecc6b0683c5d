#!/usr/bin/env python3
"""What one person asks for is large; everybody else's jobs and lists go on beside it. TAP."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

MINUTES = ("workflow: flood\nproject: one\nstart_date: 2020-01-01\ndefaults: {type: noop, cycle: minute, catchup: {mode: none}}\n"
           "tasks:\n  a: {}\n  b: {needs: [a]}\n")
OTHERS = ("workflow: small\nproject: other\nstart_date: 2026-03-01\ndefaults: {type: shell, cycle: day, catchup: {mode: none}}\n"
          "tasks:\n  says: {params: {word: none, script: 'echo $word'}}\n")
AT = "2026-03-01T00:00:00Z"


@test
def a_job_with_values_of_its_own_does_not_wait_until_a_large_backfill_is_over(s):
    s.apply(MINUTES, "flood.yaml")
    s.apply(OTHERS, "small.yaml")
    # Dates of years to come: nothing of it runs, all of it has to be written.
    large = s.command("backfill", selection={"workflow": "one/flood", "from": "2030-01-01T00:00:00Z", "to": "2030-04-30T00:00:00Z"})
    until("it is being done", lambda: s.get(f"/api/v1/commands/{large['command']}")["done"] > 0, 120)
    s.command_over(s.command("run-now", selection={"tasks": ["other/small/says"], "dates": ["2026-03-01"]}, params={"word": "mine"}))
    s.wait_state("other/small/says", AT, "Succ", 120)
    assert s.get(f"/api/v1/commands/{large['command']}")["state"] == "running", "the backfill was over first: make it larger"


if __name__ == "__main__":
    sys.exit(main(lambda: Site("neighbours").start(types=("shell:1", "noop:8"))))
