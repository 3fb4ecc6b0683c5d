#!/usr/bin/env python3
"""What the daemons trust on their machine, and what they leave there for others: a kernel that has
no clone3, files and directories of strangers, modes of what they write, words in a process list.
TAP."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Daemon, Site, Skip, main, test, until  # noqa: E402
from without_call import CLONE3  # noqa: E402

AT = "2026-03-01T00:00:00Z"
WITHOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_call.py")


def job(s, name, script, **keys):
    text = f"workflow: {name}\nproject: trust\ntimezone: UTC\nstart_date: 2026-03-01\n" \
           "end_date: 2026-03-01\ntasks:\n  t:\n    type: shell\n    cycle: day\n" \
           "    catchup: {mode: all}\n"
    text += "".join(f"    {k}: {v}\n" for k, v in keys.items())
    text += "    params:\n      script: |\n" + "".join(f"        {line}\n" for line in script.splitlines())
    s.apply(text, **{"from": "2026-03-01"})
    return f"trust/{name}/t"


def said(s, name, script, **keys):
    """What it prints, once it is over and has succeeded."""
    i = s.wait_state(job(s, name, script, **keys), AT, ("Succ", "StopSchedule", "Killed", "Hanged"), 60)
    assert i["state"] == "Succ", (i, s.history(i["id"]))
    text = s.log_of(i["id"])
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def add_broker(s, name, before=(), types=("shell:4",), **sets):
    """A broker of a group of its own; `before`: words before its program."""
    s.add_key(name)
    sets = s.broker_sets(name, types, groups=name, **sets)
    argv = s.argv("taskbroker", sets)
    d = s.brokers[name] = Daemon(s, name, [*before, *argv], r"broker\.keeper_up")
    return d.start()


# --- a kernel without clone3

SHAPE = """umask; ulimit -c; ls /proc/self/fd | wc -l; id -u
grep -E '^(Sig(Blk|Ign|Cgt)|NoNewPrivs|Groups)' /proc/self/status
read -r pid name state parent group session rest </proc/self/stat
[ "$pid" = "$session" ] && echo its own session
sed 's/[0-9a-f]\\{16\\}/TOKEN/' /proc/self/cgroup
"""


def brokers_with_and_without(s):
    if "b-without" in s.brokers:
        return
    sets = {"users": "nobody"} if os.geteuid() == 0 else {}
    add_broker(s, "b-with", **sets)
    add_broker(s, "b-without", [sys.executable, WITHOUT, CLONE3], **sets)
    for name in ("b-with", "b-without"):
        s.wait_broker(name, ["shell"])


def where_clone3_is_unknown_a_job_runs_in_the_same_shape(s, name, **keys):
    brokers_with_and_without(s)
    kinds = {n: s.brokers[n].has(r"keeper\.ready.* cgroup=(\S+)")[1] for n in ("b-with", "b-without")}
    assert [bool(re.match("off", k)) for k in kinds.values()] in ([True] * 2, [False] * 2), kinds
    shapes = [said(s, f"{name}-{w}", SHAPE, group=f"b-{w}", **keys).replace(f"b-{w}", "BROKER")
              for w in ("with", "without")]
    # The two keepers have a group each, and jobs in it.
    shapes = [re.sub(r"keeper-[^/\n]*|sirdar-[^/\n]*", "KEEPER", t) for t in shapes]
    assert shapes[0] == shapes[1] and "its own session" in shapes[0], shapes


@test
def where_the_kernel_knows_no_clone3_a_job_starts_in_the_same_shape(s):
    where_clone3_is_unknown_a_job_runs_in_the_same_shape(s, "own")


@test
def where_the_kernel_knows_no_clone3_a_job_of_another_user_starts_in_the_same_shape(s):
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")
    where_clone3_is_unknown_a_job_runs_in_the_same_shape(s, "other", run_as="nobody")


@test
def where_the_kernel_knows_no_clone3_a_program_that_is_not_there_is_told_as_such(s):
    brokers_with_and_without(s)
    s.apply("workflow: none\nproject: trust\ntimezone: UTC\nstart_date: 2026-03-01\n"
            "end_date: 2026-03-01\ntasks:\n  t:\n    type: shell\n    cycle: day\n"
            "    catchup: {mode: all}\n    group: b-without\n    retry: {attempts: 1}\n"
            "    params: {argv: [/nonexistent/program]}\n", **{"from": "2026-03-01"})
    i = s.wait_state("trust/none/t", AT, ("Succ", "StopSchedule", "Hanged"), 60)
    assert "/nonexistent/program" in str(s.history(i["id"])), s.history(i["id"])


def site():
    s = Site("trust")
    s.base.start()
    s.start_cgi()
    return s


if __name__ == "__main__":
    sys.exit(main(site))
