#!/usr/bin/env python3
"""Jobs of real brokers where nobody is believed without a proof of his lease (lease_proof: always): whatever dies beside
them, server, broker, loader or jobkeeper, they go on or are begun anew, and each ends once. What shows that is in no
place where a job could read it. TAP."""
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exposition  # noqa: E402
import test_ha  # noqa: E402
from harness import TESTS, Site, main, test, until  # noqa: E402
from keeper_client import Link  # noqa: E402
from peer import LOADER, Peer  # noqa: E402

TESTS.clear()  # those of test_ha are its own
SHORT = {"beat_ms": 200, "fence_ms": 8000, "kill_ms": 500, "lose_ms": 12000}
FORGED = -39


def once(s, name, tasks):
    s.apply(f"workflow: {name}\nproject: proofs\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\n"
            f"defaults: {{cycle: once}}\ntasks:\n" + "".join(f"  {t}: {body}\n" for t, body in tasks.items()),
            name + ".yaml", **{"from": "2026-01-01"})


def only(s, task):
    return next(iter(s.instances(task)), None)


def wait(s, task, state):
    return until(f"{task} is {state}; it is {only(s, task)}", lambda: (i := only(s, task)) and i["state"] == state and i, 90)


def waiting(s, name):
    """A script that notes its start and lasts until the file is there."""
    return (f"{{type: shell, params: {{script: 'echo start >> {s.dir}/data/{name}.starts; "
            f"while [ ! -e {s.dir}/data/{name}.go ]; do sleep 0.05; done; echo done'}}}}")


def go(s, name):
    (s.dir / "data" / f"{name}.go").touch()


def starts(s, name):
    path = s.dir / "data" / f"{name}.starts"
    return len(path.read_text().split()) if path.exists() else 0


def begun(s, name, **more):
    (s.dir / "data").mkdir(exist_ok=True)
    once(s, name, {"t": waiting(s, name), **more})
    wait(s, f"proofs/{name}/t", "Running")
    until("it has begun", lambda: starts(s, name) == 1)
    until("its start is told", lambda: only(s, f"proofs/{name}/t")["started"])


def ends_once(s, name, *tasks, granted=1):
    go(s, name)
    for t in ("t", *tasks):
        i = wait(s, f"proofs/{name}/{t}", "Succ")
        events = [(e["event"], e["reason"]) for e in s.history(i["id"])]
        assert [e for e, _ in events].count("grant") == granted, events
        assert [e for e, _ in events].count("exit-ok") == 1, events
        assert (granted > 1) == any(r == "lost" for _, r in events), events
    assert starts(s, name) == granted
    status, text = s.ask("GET", f"/api/v1/instances/{only(s, f'proofs/{name}/t')['id']}/log")
    assert status == 200 and text.decode().endswith("done\n"), (status, text)


def unproven(s):
    status, text = s.ask("GET", "/metrics")
    assert status == 200, status
    return exposition.parse(text.decode())["sirdar_leases_unproven"].of()


def kill(s, *programs):
    for program in programs:
        for pid in s.pids(program):
            os.kill(pid, signal.SIGKILL)


def adopted(s, mark):
    """Another loader has greeted with the job."""
    until("its loader greets with it", lambda: s.base.has(r"session\.greeted .*role=2 type=shell .*held=1", mark), 60)


@test
def what_runs_goes_on_over_a_killed_server_and_ends_once(s):
    begun(s, "server", p="{type: noop, params: {sleep_ms: '3000'}}")
    wait(s, "proofs/server/p", "Running")
    for _ in range(2):
        s.base.kill()
        s.base.start()
        until("it leads again", s.up)
        s.wait_broker("b1", ["shell", "noop"])
    assert unproven(s) == 0
    ends_once(s, "server", "p")


@test
def processes_go_on_over_a_killed_loader_and_a_killed_broker_and_end_once(s):
    begun(s, "loader")
    mark = s.base.log.stat().st_size
    kill(s, "taskrunner-loader")
    adopted(s, mark)
    mark = s.base.log.stat().st_size
    s.brokers["b1"].kill()
    kill(s, "taskrunner-loader", "taskbroker")
    s.brokers["b1"].start()
    adopted(s, mark)
    ends_once(s, "loader")


@test
def server_and_broker_may_die_together(s):
    begun(s, "both")
    s.base.kill()
    s.brokers["b1"].kill()
    kill(s, "taskrunner-loader", "taskbroker")
    s.base.start()
    s.brokers["b1"].start()
    until("it leads again", s.up)
    adopted(s, s.base.mark)
    assert unproven(s) == 0
    ends_once(s, "both")


@test
def what_a_dead_jobkeeper_held_is_lost_and_begun_anew_once(s):
    begun(s, "keeper")
    kill(s, "jobkeeper")
    until("it has begun anew", lambda: starts(s, "keeper") == 2, 60)
    ends_once(s, "keeper", granted=2)


@test
def the_proof_is_nowhere_where_a_job_could_read_it(s):
    begun(s, "hidden")
    held = Link(str(s.dir / "b1" / "keeper.sock")).held
    (job,) = (j for j in held.values() if j["state"] == 2)
    proof = job["proof"]
    assert len(proof) == 16, held
    texts = {f"/proc/{job['pid']}/{x}": open(f"/proc/{job['pid']}/{x}", "rb").read() for x in ("environ", "cmdline")}
    texts |= {str(p): p.read_bytes() for p in s.dir.glob("**/*") if p.is_file() and not p.is_symlink()}
    found = {where for where, text in texts.items() if proof in text or proof.hex().encode() in text.lower()}
    (journal,) = s.dir.glob("b1/*journal")
    assert found == {str(journal)} and journal.stat().st_mode & 0o77 == 0, found
    ends_once(s, "hidden")


@test
def what_runs_goes_on_over_a_take_over_and_nobody_elses_proof_counts_there(_):
    with test_ha.Pair("proofs") as s:
        for d in (s.base, s.base2):
            d.argv += ["--set", "lease_proof=always"]
        s.begin()
        s.wait_broker("b1", ["shell"])
        s.add_key("thief")
        begun(s, "over")
        (job,) = Link(str(s.dir / "b1" / "keeper.sock")).held.values()
        s.base.kill()
        until("the other leads", lambda: s.leader() is s.base2, 60)
        until("the face follows", s.up, 60)
        s.wait_broker("b1", ["shell"])
        s.port = s.port2  # where a peer in Python goes
        with Peer(s, "thief") as p:
            assert p.hello(LOADER, type="shell", held=[job["token"]], proves=True)[0] == "welcome"
            p.prove({job["token"]: job["proof"]})
            assert p.beat([job["token"]]) == [job["token"]]
            assert p.report(job["token"], "ended") == FORGED
        assert unproven(s) == 0
        ends_once(s, "over")


def make_site():
    return Site("proof", lease_proof="always", **SHORT).start(types=("shell:16", "noop:16"))


if __name__ == "__main__":
    sys.exit(main(make_site))
