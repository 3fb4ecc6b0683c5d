#!/usr/bin/env python3
"""A peer with a valid key of its own that lies: about leases of others, with every frame that names one. It learns
nothing, changes nothing, and is told of; who only repeats what was once right is no liar. TAP.

HEAVY=1: 100,000 mutated frames, and the whole pause of who was cut."""
import contextlib
import os
import random
import re
import signal
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exposition  # noqa: E402
from harness import BIN, Site, main, test, until  # noqa: E402
from keeper_client import field, fixed, packed  # noqa: E402
from peer import BROKER, KINDS, LOADER, REPORTS, Gone, Peer, read  # noqa: E402

HEAVY = bool(os.environ.get("HEAVY"))
STALE, FORGED = -7, -39
STRIKES = 3
SHORT = {"beat_ms": 300, "fence_ms": 8000, "kill_ms": 500, "lose_ms": 12000}
SLEEPS = "{type: shell, params: {script: 'echo mine; exec sleep 600', note: 'p4ssword'}}"


def once(s, name, tasks):
    s.apply(f"workflow: {name}\nproject: lies\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\n"
            f"defaults: {{cycle: once}}\ntasks:\n" + "".join(f"  {t}: {body}\n" for t, body in tasks.items()),
            name + ".yaml", **{"from": "2026-01-01"})


def only(s, task):
    return next(iter(s.instances(task)), None)


def wait(s, task, *states):
    return until(f"{task} is {states}; it is {only(s, task)}", lambda: (i := only(s, task)) and i["state"] in states and i, 60)


def victim(s, name):
    """A job that b1 runs."""
    once(s, name, {"t": SLEEPS})
    i = wait(s, f"lies/{name}/t", "Running")
    until("its output is there", lambda: log_of(s, i))
    until("its start is told", lambda: only(s, i["task"])["started"])
    return only(s, f"lies/{name}/t")


def token_of(s, i):
    """A fence token is no secret: every job knows its own, and they rise."""
    with sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True) as db:
        rows = [db.execute(f"SELECT token FROM {table} WHERE task_id = ? AND curr_run_date = ?", place(i)).fetchone()
                for table in ("lb_task_run", "lb_task_run_history")]
    return next(r[0] for r in rows if r)


def place(i):
    """Its task's number, and its date in seconds."""
    return [int(x) for x in i["id"].split(".")[:2]]


def log_of(s, i):
    status, text = s.ask("GET", f"/api/v1/instances/{i['id']}/log")
    return text.decode() if status == 200 else ""


def still_runs(s, i):
    now = only(s, i["task"])
    assert (now["state"], now["last_number"]) == ("Running", i["last_number"]), (i, now)


def kill(s, i):
    s.sirdar("kill", i["task"], i["run_date"], "--yes")


def new_key(s, name):
    if not (s.dir / (name + ".key")).exists():
        mark = s.base.log.stat().st_size
        s.add_key(name)
        until("the key is known", lambda: "settings.reloaded" in s.base.text(mark))
    return name


def loader(s, name, type="shell", **more):
    p = Peer(s, new_key(s, name))
    answer = p.hello(LOADER, type=type, **more)
    assert answer[0] == "welcome", answer
    return p


def forged(s, name):
    """How often it was counted that this broker lied."""
    status, text = s.ask("GET", "/metrics")
    assert status == 200, status
    return exposition.parse(text.decode())["sirdar_broker_forged_total"].of(broker=name)


def figure(s, name):
    status, text = s.ask("GET", "/metrics")
    assert status == 200, status
    return exposition.parse(text.decode())[name].of()


class Honest:
    """A broker in Python that does what it should: takes jobs of the type in its own group. proofs: {token: proof} of what
    it holds; None: it is of the release before there were any."""

    def __init__(self, s, name, type="shell", slots=100, held=(), proofs=None):
        self.broker, self.loader = Peer(s, new_key(s, name)), Peer(s, name)
        assert self.broker.hello(BROKER, groups=[name], slots=slots)[0] == "welcome"
        assert self.loader.hello(LOADER, type=type, groups=[name], slots=slots, held=held, proves=proofs is not None)[0] == "welcome"
        if proofs is not None:
            self.loader.prove(proofs)
        self.broker.send("runner_state", field(1, type) + field(2, "1") + field(3, 1))
        self.broker.send("load", field(4, 0) + field(5, 1) + field(7, slots) + field(9, slots))
        self.loader.send("credit", field(1, slots))

    def jobs(self, n=1):
        found = []
        while len(found) < n:
            found += [read(j) for j in self.loader.wait("jobs", seconds=60)[1]]
        return found

    def job(self):
        return self.jobs()[0]

    def close(self):
        self.loader.close()
        self.broker.close()


def proof_of(job):
    assert len(job[18][0]) == 16, job
    return job[18][0]


def log_args(job):
    return {"task": job[2][0], "run_date": job[3][0], "part": job.get(4, [0])[0], "generation": job[5][0], "attempt": job[6][0]}


# --- what it says of others' leases

@test
def tokens_of_another_broker_in_a_greeting_give_nothing_of_its_jobs(s):
    i = victim(s, "greet")
    token = token_of(s, i)
    with loader(s, "greeter", held=[token]) as p:
        assert p.beat([token]) == [token]  # not known as its own
        code, values = p.ask_params(token)
        assert (code, values) == (FORGED, {}), (code, values)
        code, values = p.ask_params(token, ["note", "script"])
        assert (code, values) == (FORGED, {}), (code, values)
    still_runs(s, i)


@test
def the_number_that_another_machine_drew_opens_none_of_its_leases_and_is_counted(s):
    i = victim(s, "drawn")
    token, drawn = token_of(s, i), re.search(r"[0-9a-f]{32}", (s.dir / "b1" / "machine").read_text())[0]
    for k in range(2):
        # Of what a former server granted nobody knows who can prove it, until somebody does: none is a liar by that.
        refused = STALE if k else FORGED
        with loader(s, f"drawer{k}a", held=[token], machine=drawn) as p:
            assert p.beat([token]) == [token]
            assert p.ask_params(token) == (refused, {})
        with loader(s, f"drawer{k}b", machine=drawn) as p:
            assert p.report(token, "ended") == refused
            assert p.log(token, *place(i), b"lies\n") == refused
        if k == 0:
            until("each is counted", lambda: [forged(s, f"drawer{k}{x}") for x in "ab"] == [2, 2])
        still_runs(s, i)
        if k == 0:  # before b1 has spoken of what it holds
            s.brokers["b1"].kill()
            for pid in (x for program in ("taskbroker", "taskrunner-loader") for x in s.pids(program)):
                os.kill(pid, signal.SIGKILL)
            s.base.restart()
            until("it leads again", s.up)
    s.brokers["b1"].start()
    s.wait_broker("b1", ["shell", "noop"])
    still_runs(s, i)


@test
def no_forged_report_changes_another_brokers_job(s):
    i = victim(s, "report")
    token = token_of(s, i)
    for k, kind in enumerate(("started", "ended", "rejected", "not_started", "kill_ack", "hanged", "not_yet", "lost", "progress")):
        with loader(s, f"reporter{k}") as p:
            assert p.report(token, kind, outputs=[("x", "1")]) == FORGED, kind
    still_runs(s, i)
    kill(s, i)
    with loader(s, "killer") as p:
        assert p.report(token, "kill_ack") == FORGED
        assert p.report(token, "ended", seq=2, exit_code=-15) == FORGED
    wait(s, i["task"], "Killed", "StopSchedule")


WHOLE_64, SIGNED_64, NEGATIVE = (1 << 64) - 1, (1 << 63) - 1, 1 << 63


def says(s, name, kind, *numbers):
    """What an honest broker says of its job, with these numbers in it."""
    with contextlib.closing(Honest(s, name)) as h:
        once(s, name, {"t": f"{{type: shell, group: {name}, params: {{script: x}}}}"})
        h.loader.send("reports", field(1, fixed(1, h.job()[1][0]) + field(2, 1) + field(3, REPORTS[kind]) + b"".join(numbers)))
        h.loader.wait("report_acks")


@test
def no_number_that_a_broker_says_of_time_is_stored_as_it_is(s):
    """Each of these made a row that the server itself refused to read: in lists, and at its next start, which failed."""
    lies = {"far": ("not_yet", field(14, SIGNED_64)), "farther": ("not_yet", field(14, WHOLE_64)),
            "begun": ("started", field(8, NEGATIVE)), "over": ("ended", field(8, NEGATIVE), field(9, NEGATIVE)),
            "ahead": ("ended", field(8, SIGNED_64), field(9, SIGNED_64))}
    for name, lie in lies.items():
        says(s, name, *lie)
    # and no broker has to lie for that
    once(s, "honest", {"t": "{type: noop, params: {verdict: not_yet, retry_after_ms: '9223372036854775'}}"})
    wait(s, "lies/honest/t", "Ready")
    until("it has looked", lambda: only(s, "lies/honest/t")["looks"])
    for again in (False, True):
        if again:
            s.base.restart()
            until("it leads again", s.up)
        listed = {i["task"]: i for i in s.get("/api/v1/instances?task=lies/*&limit=500")["items"]}
        year = int(listed["lies/over/t"]["created"][:4])
        for name in (*lies, "honest"):
            said = [int(t[:4]) for t in map(listed[f"lies/{name}/t"].get, ("started", "ended", "retry_at")) if t]
            assert said and all(year <= y <= year + 2 for y in said), listed[f"lies/{name}/t"]


@test
def a_beat_with_tokens_of_another_broker_renews_nothing(s):
    i = victim(s, "renew")
    token = token_of(s, i)
    with loader(s, "renewer", held=[token]) as p:
        for pid in (x for program in ("taskbroker", "taskrunner-loader", "jobkeeper") for x in s.pids(program)):
            os.kill(pid, signal.SIGKILL)
        s.brokers["b1"].kill()
        seq = 0

        def lost():
            nonlocal seq
            seq += 1
            assert p.beat([token], seq) == [token]
            return any(e["reason"] == "lost" for e in s.history(i["id"]))
        until("its lease runs out all the same", lost, 60, every=0.3)
    s.brokers["b1"].start()
    s.wait_broker("b1", ["shell", "noop"])


@test
def output_for_jobs_of_others_is_refused_whatever_the_chunk_says(s):
    i = victim(s, "log")
    token, (task, date) = token_of(s, i), place(i)
    once(s, "quiet", {"t": "{type: noop}"})
    quiet = wait(s, "lies/quiet/t", "Succ")
    before = log_of(s, i)
    with loader(s, "logger") as p:
        assert p.log(token, task, date, b"lies\n", offset=len(before)) == FORGED
    for k, restarted in enumerate((False, True)):
        if restarted:  # and what is over is in nobody's memory
            s.base.restart()
            until("it leads again", s.up)
        with loader(s, f"logger{k}a") as p:
            assert p.log(token_of(s, quiet), *place(quiet), b"lies\n") == FORGED  # of one that printed nothing
        with loader(s, f"logger{k}b") as p:
            assert p.log(token_of(s, quiet) + 77777, *place(quiet), b"lies\n") == STALE  # nobody was ever given that
            assert p.log(1, 4000000, 0, b"lies\n") == STALE  # there is no such task
    assert log_of(s, quiet) == "" and log_of(s, i) == before
    kept = s.run([BIN / "sirdar-db", "logs", s.dir / "joblogs"])
    assert kept.returncode == 0 and " 4000000/" not in kept.stdout, kept.stdout + kept.stderr


@test
def the_end_of_the_output_of_ones_own_job_is_taken_after_a_restart_of_the_server(s):
    h = Honest(s, "honest")
    once(s, "tail", {"t": "{type: shell, group: honest, params: {script: x}}", "u": "{type: shell, group: honest, params: {script: x}}"})
    jobs = h.jobs(2)
    for k, job in enumerate(jobs):
        if k == 0:  # of the other one not a word is there before
            assert h.loader.log(job[1][0], data=b"one ", end=False, **log_args(job)) == 0
        assert h.loader.report(job[1][0], "ended") == 0
    for t in "tu":
        wait(s, f"lies/tail/{t}", "Succ")
    h.close()
    s.base.restart()
    until("it leads again", s.up)
    with loader(s, "thief") as p:
        assert p.log(jobs[0][1][0], data=b"lies", offset=4, **log_args(jobs[0])) == FORGED
    with loader(s, "honest") as p:
        assert p.log(jobs[0][1][0], data=b"two", offset=4, **log_args(jobs[0])) == 0
        assert p.log(jobs[1][1][0], data=b"three", **log_args(jobs[1])) == 0
        assert p.log(jobs[1][1][0], data=b" four", offset=5, **log_args(jobs[1])) == 0
    logs = {log_of(s, i) for i in s.instances("lies/tail/*")}
    assert logs == {"one two", "three four"}, logs
    assert forged(s, "honest") == 0


@test
def what_was_right_once_is_stale_and_no_lie(s):
    h = Honest(s, "late")
    once(s, "late", {"t": "{type: shell, group: late, params: {script: x}}"})
    job = h.job()
    token = job[1][0]
    assert h.loader.report(token, "ended") == 0
    wait(s, "lies/late/t", "Succ")
    for seq in range(2, 9):
        assert h.loader.report(token, "ended", seq=seq, exit_code=seq) == STALE
    assert h.loader.beat([token]) == [token]
    assert h.loader.ask_params(token) == (STALE, {})
    assert h.loader.report(token + 999999, "ended", seq=9) == STALE  # nobody's: it may be of another time
    assert wait(s, "lies/late/t", "Succ")["exit_code"] == 0
    h.close()
    assert forged(s, "late") == 0


@test
def a_loader_speaks_for_jobs_of_its_own_type_only(s):
    h = Honest(s, "types")
    once(s, "types", {"t": "{type: shell, group: types, params: {script: x, note: 'p4ssword'}}"})
    token = h.job()[1][0]
    with loader(s, "types", type="noop", held=[token]) as p:
        assert p.ask_params(token, ["note"]) == (STALE, {})
        assert p.report(token, "ended") == STALE
        assert p.beat([token]) == [token]
    assert only(s, "lies/types/t")["state"] == "Running"
    assert h.loader.beat([token]) == []
    assert h.loader.report(token, "ended", seq=2) == 0
    wait(s, "lies/types/t", "Succ")
    h.close()


@test
def a_job_goes_on_whose_task_got_another_type_also_where_its_own_version_is_gone(s):
    h = Honest(s, "retyped", type="noop")
    once(s, "retyped", {"t": "{type: noop, group: retyped}"})
    token = h.job()[1][0]
    once(s, "retyped", {"t": "{type: shell, group: retyped, params: {script: x}}"})
    for k in range(3):
        assert h.loader.beat([token], seq=k + 1) == []
    h.close()
    assert s.base.stop() == 0
    with sqlite3.connect(s.dir / "base/sirdar.db") as db:
        assert db.execute("DELETE FROM lb_workflow WHERE name = 'lies/retyped' AND version = 1").rowcount == 1
    s.base.start()
    until("it leads again", s.up)
    h = Honest(s, "retyped", type="noop", held=[token])
    for k in range(3):
        assert h.loader.beat([token], seq=k + 1) == []
    assert h.loader.report(token, "ended") == 0
    wait(s, "lies/retyped/t", "Succ")
    h.close()


# --- who has a broker's key, and its machine's number, and not what its jobs came with

def is_refused(p, job, code=STALE, **more):
    token = job[1][0]
    assert p.beat([token]) == [token]
    assert p.ask_params(token) == (code, {})
    assert p.report(token, "ended") == code
    assert p.log(token, data=b"lies", **log_args(job), **more) == code


@test
def a_brokers_key_and_machine_without_a_proof_open_none_of_its_leases(s):
    h = Honest(s, "robbed", proofs={})
    once(s, "robbed", {"t": "{type: shell, group: robbed, params: {script: x, note: 'p4ssword'}}"})
    job = h.job()
    token = job[1][0]
    assert h.loader.beat([token]) == [] and h.loader.ask_params(token, ["note"])[0] == 0
    i = wait(s, "lies/robbed/t", "Running")
    for proves in (True, False):  # whatever it says of itself
        with loader(s, "robbed", lane=5, held=[token], proves=proves) as p:
            if proves:
                p.prove({})
            is_refused(p, job)
    with Peer(s, "robbed") as p:  # nor does the broker's own role
        assert p.hello(BROKER, groups=["robbed"])[0] == "welcome"
        assert p.beat([token]) == [token]
    still_runs(s, i)
    assert forged(s, "robbed") == 0  # to have nothing to show is no lie
    assert h.loader.beat([token], seq=2) == [] and h.loader.report(token, "ended") == 0
    wait(s, i["task"], "Succ")
    h.close()


@test
def a_guessed_proof_or_that_of_another_lease_is_a_lie_and_the_third_cuts(s):
    h = Honest(s, "guess", proofs={})
    once(s, "guess", {t: "{type: shell, group: guess, params: {script: x}}" for t in "tu"})
    jobs = h.jobs(2)
    token = jobs[0][1][0]
    assert h.loader.report(token, "started") == 0
    wrong = [bytes(16), proof_of(jobs[1])]
    for k, proof in enumerate(wrong):
        with loader(s, "guess", lane=5, held=[token], proves=True) as p:
            p.prove({token: proof})
            is_refused(p, jobs[0])
        until("it is counted", lambda: forged(s, "guess") == k + 1)  # noqa: B023
    told = next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "guess")
    assert told["misbehaves"] == "it showed a false proof of a lease of guess (PROVE)", told
    with contextlib.suppress(Gone), loader(s, "guess", lane=5) as p:
        assert p.log(token, data=b"lies", **log_args(jobs[0]), proof=os.urandom(16)) == FORGED
    h.loader.wait_gone()
    h.broker.wait_gone()
    h.close()
    with Peer(s, "guess") as p:
        assert p.hello(LOADER, type="shell")[0] == "refuse"


@test
def a_stolen_proof_opens_nothing_for_another_broker(s):
    h = Honest(s, "stolen", proofs={})
    once(s, "stolen", {"t": "{type: shell, group: stolen, params: {script: x, note: 'p4ssword'}}"})
    job = h.job()
    token = job[1][0]
    i = wait(s, "lies/stolen/t", "Running")
    with loader(s, "receiver", held=[token], proves=True) as p:
        p.prove({token: proof_of(job)})
        assert p.beat([token]) == [token]
        assert p.ask_params(token) == (FORGED, {})
    with loader(s, "receiver2") as p:
        assert p.report(token, "ended") == FORGED
        assert p.log(token, data=b"lies", **log_args(job), proof=proof_of(job)) == FORGED
    still_runs(s, i)
    assert h.loader.report(token, "ended") == 0
    wait(s, i["task"], "Succ")
    h.close()


@test
def a_proof_is_replayed_over_the_end_and_a_restart_without_effect_and_without_blame(s):
    h = Honest(s, "replay", proofs={})
    once(s, "replay", {t: "{type: shell, group: replay, params: {script: x}}" for t in "tu"})
    jobs = sorted(h.jobs(2), key=lambda job: job[2][0])
    old, other = jobs
    token, proof = old[1][0], proof_of(old)
    assert h.loader.report(token, "ended", exit_code=3) == 0
    i = wait(s, "lies/replay/t", "StopSchedule")
    s.sirdar("redo", i["task"], i["run_date"], "--yes")
    new = h.job()
    assert new[1][0] > token and proof_of(new) != proof, (old, new)
    held = [other[1][0], new[1][0]]
    assert h.loader.beat(held) == []
    for restarted in (False, True):
        if restarted:
            h.close()
            s.base.kill()
            s.base.start()
            until("it leads again", s.up)
            h = Honest(s, "replay", held=held, proofs={x[1][0]: proof_of(x) for x in (other, new)})
            assert h.loader.beat(held) == []
        with loader(s, "replay", lane=5, held=[token, new[1][0]], proves=True) as p:
            p.prove({token: proof})
            assert sorted(p.beat([token, new[1][0]])) == [token, new[1][0]]
            assert p.report(token, "ended") == STALE and p.report(new[1][0], "ended") == STALE
    assert forged(s, "replay") == 0
    with loader(s, "replay", lane=5, proves=True) as p:  # the first attempt's for the second, and for another task
        p.prove({})
        assert p.log(token, data=b"one", **log_args(old), proof=proof) == 0  # its own, however late
        assert p.log(token, data=b"lies", **log_args(new), proof=proof) == STALE
        assert p.log(token, data=b"lies", **log_args(other), proof=proof) == STALE
        p.prove({new[1][0]: proof})
    until("that is counted", lambda: forged(s, "replay") == 1)
    for x in (other, new):
        assert h.loader.report(x[1][0], "ended") == 0
    for t in "tu":
        assert wait(s, f"lies/replay/{t}", "Succ")["exit_code"] == 0
    h.close()


@test
def a_broker_of_the_release_before_works_on_and_its_leases_are_counted(s):
    h = Honest(s, "elder")
    once(s, "elder", {t: "{type: shell, group: elder, params: {script: x}}" for t in "tu"})
    held = [job[1][0] for job in h.jobs(2)]
    for restarted in (False, True):
        if restarted:
            h.close()
            s.base.restart()
            until("it leads again", s.up)
            h = Honest(s, "elder", held=held)
        assert h.loader.beat(held) == []
        assert figure(s, "sirdar_leases_unproven") == (0 if not restarted else 2)
    for token in held:
        assert h.loader.report(token, "ended") == 0
    for t in "tu":
        wait(s, f"lies/elder/{t}", "Succ")
    h.close()
    until("nothing is unproven", lambda: figure(s, "sirdar_leases_unproven") == 0)


# --- what follows

@test
def a_third_lie_cuts_all_sessions_of_the_peer_and_it_is_counted_told_and_kept_out(s):
    i = victim(s, "strikes")
    token = token_of(s, i)
    h = Honest(s, "liar")
    assert h.loader.report(token, "ended") == FORGED
    until("it is counted", lambda: forged(s, "liar") == 1)
    told = next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "liar")
    assert "lease" in told["misbehaves"], told
    assert next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "b1")["misbehaves"] == ""
    assert "liar: it spoke of a lease of broker b1" in s.sirdar("broker", "list").stdout
    with contextlib.suppress(Gone):  # it may be cut before the last answer leaves
        for seq in range(2, STRIKES + 1):
            h.loader.report(token, "ended", seq=seq)
    h.loader.wait_gone()
    h.broker.wait_gone()
    h.close()
    assert forged(s, "liar") == STRIKES
    with Peer(s, "liar") as p:
        kind, m = p.hello(LOADER, type="shell")
        assert kind == "refuse" and b"of others" in m[2][0], (kind, m)
    still_runs(s, i)
    if HEAVY:
        def let_in():
            with Peer(s, "liar") as p:
                return p.hello(LOADER, type="shell")[0] == "welcome"
        until("its pause is over", let_in, 120, every=1)


# --- many leases

@test
def a_peer_that_holds_five_thousand_jobs_can_greet(s):
    n = 5000
    h = Honest(s, "large", type="noop", slots=n)
    s.apply(f"workflow: many\nproject: lies\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-12-31\n"
            f"defaults: {{type: noop, cycle: hour, group: large, catchup: {{mode: all, max: {n}}}}}\n"
            "tasks:\n  t: {}\n", "many.yaml", **{"from": "2026-01-01"})
    held = [job[1][0] for job in h.jobs(n)]
    h.close()
    h = Honest(s, "large", type="noop", slots=n, held=held)
    assert h.loader.beat(held) == []
    h.loader.send("reports", b"".join(field(1, fixed(1, t) + field(2, 1) + field(3, 3)) for t in held))
    s.wait_all_over("lies/many/t", n, 120)
    h.close()


# --- noise

def frames(token):
    """One good frame of each kind that a peer may send."""
    report = fixed(1, token) + field(2, 1) + field(3, 3) + field(6, 1) + field(7, "text") + field(11, field(1, "a") + field(2, "b"))
    return [("credit", field(1, 5)), ("beat", field(1, 9) + packed(2, [token, token + 1]) + field(3, 2)),
            ("load", field(1, 10) + field(4, 1) + field(5, 1) + field(6, "why") + field(7, 9)),
            ("reports", field(1, report) * 3), ("param_ask", field(1, 3) + fixed(2, token) + field(3, "note")),
            ("log_chunk", fixed(1, token) + field(2, 1) + field(3, 99) + field(5, 1) + field(6, 1) + field(7, 1) + field(9, b"x" * 50)),
            ("runner_state", field(1, "shell") + field(2, "1") + field(3, 1) + field(4, "t")), ("ping", fixed(1, 5)),
            ("pong", fixed(1, 5)), ("hello", field(1, 1) + field(2, 1) + field(3, 2) + field(4, "noise") + field(10, "shell")),
            ("query", field(1, 1) + field(2, "brokers")), ("command", field(1, 1) + field(2, "r") + field(4, "kill")),
            ("prove", packed(1, [token, token + 1]) + field(2, bytes(32)) + field(3, 1)), ("told", field(1, 1)),
            ("piece", field(1, 1) + field(2, 5)), ("subscribe", field(1, 1)), ("log_read", field(1, 1))]


@test
def a_frame_that_a_role_may_not_send_ends_its_session(s):
    """Every kind there is, before a greeting and after it, as broker and as loader."""
    may = {0: set(), BROKER: {"beat", "prove", "runner_state", "load", "ping", "pong"},
           LOADER: {"beat", "prove", "runner_state", "credit", "reports", "param_ask", "log_chunk", "ping", "pong"}}
    good = dict(frames(12345))
    for role, allowed in may.items():
        for k, (kind, number) in enumerate(KINDS.items()):
            if kind == "hello" and not role:
                continue  # the one that begins it
            with Peer(s, new_key(s, "roles")) as p:
                if role:
                    assert p.hello(role, type="noop" if role == LOADER else "")[0] == "welcome"
                body = good.get(kind, b"").replace(b"noise", b"roles")
                with contextlib.suppress(Gone):  # the end may come before all is sent
                    p.send(number, body)
                    p.send("ping", fixed(1, 4711 + k))
                try:
                    p.wait("pong", lambda m: m.get(1) == [4711 + k])  # noqa: B023
                    goes_on = True
                except Gone:
                    goes_on = False
                assert goes_on == (kind in allowed), (role, kind, p.news)


def mutate(dice, kind, body):
    body = bytearray(body)
    for _ in range(dice.choice((0, 1, 1, 2, 5))):
        how, at = dice.randrange(5), dice.randrange(len(body) + 1)
        if how == 0 and at < len(body):
            body[at] ^= 1 << dice.randrange(8)
        elif how == 1:
            body[at:at] = dice.randbytes(dice.randrange(1, 9))
        elif how == 2:
            del body[at:at + dice.randrange(1, 9)]
        elif how == 3:
            body[at:at] = body[dice.randrange(len(body) + 1):][:40]
        elif at < len(body):
            body[at] = dice.choice((0, 127, 128, 255))
    if dice.random() < 0.1:
        kind = dice.choice(list(KINDS.values()))
    return kind, bytes(body)


@test
def mutated_frames_of_a_known_peer_harm_nobody_else(s):
    n = 100000 if HEAVY else 3000
    seed = int(os.environ.get("SEED") or random.randrange(1 << 30))
    print(f"# SEED={seed}", flush=True)
    dice, i, sent, session = random.Random(seed), victim(s, "noise"), 0, 0
    token, peer, name = token_of(s, i), None, 0
    pid = s.base.pid
    while sent < n:
        if peer is None:
            peer = Peer(s, new_key(s, f"noise{name}"))
            role = dice.choice((0, BROKER, LOADER, LOADER))
            if role and peer.hello(role, type="shell" if role == LOADER else "")[0] == "refuse":
                peer.close()  # cut for what it said: the next one
                peer, name = None, name + 1
                continue
            session += 1
        try:
            for _ in range(3):
                kind, body = mutate(dice, *dice.choice(frames(dice.choice((token, dice.randrange(1 << 64), 0)))))
                peer.send(kind, body, told := dice.choice((None,) * 60 + (0, 1, 1 << 20, 0xffffffff)))
                sent += 1
                if told:  # the server waits for the rest, or says no
                    raise Gone("its end is not awaited")
            peer.send("ping", fixed(1, sent))  # nothing is sent into the void
            peer.wait("pong", lambda m: m.get(1) == [sent])  # noqa: B023
        except (Gone, OSError):
            peer.close()
            peer = None
    if peer:
        peer.close()
    print(f"# {sent} frames, {session} sessions, {name + 1} names", flush=True)
    assert s.base.pid == pid and s.base.proc.poll() is None
    still_runs(s, i)
    kill(s, i)
    wait(s, i["task"], "Killed", "StopSchedule")


def make_site():
    return Site("hostile", **SHORT).start(types=("shell:16", "noop:16"))


if __name__ == "__main__":
    sys.exit(main(make_site))
