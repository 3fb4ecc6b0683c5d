#!/usr/bin/env python3
"""A loader greets by a key of its own, which its machine's key lets in for one type and lane. What a hostile one gets who has all
that a loader has: another type, lane, machine, role; what is over, forged, altered or another's. And that a real one never has the
machine's key, goes on when its taskbroker is away or follows another, and ends with its peer. TAP."""
import contextlib
import os
import random
import re
import signal
import socket
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import LEASES, Daemon, Site, Skip, main, stand_still, test, until  # noqa: E402
from keeper_client import field, fixed  # noqa: E402
from peer import BROKER, CLIENT, KINDS, LOADER, Gone, Pair, Peer, text  # noqa: E402

DATE = "2026-01-01T00:00:00Z"


def key_file(s, name):
    return s.dir / f"{name}.key"


def own_key(s, name, *more):
    """A machine with a key of its own, which was approved of -> its pair."""
    if key_file(s, name).exists() and Pair.of(key_file(s, name)):
        return Pair.of(key_file(s, name))
    code = s.sirdar("peer", "invite", name, "--kind", "broker", *more).stdout.strip()
    done = s.run([*s.argv("taskbroker", s.broker_sets(name, ("shell:2",))), "enrol", code])
    assert done.returncode == 0, done.stderr
    s.sirdar("peer", "approve", name, "--fingerprint", done.stdout.strip())
    return Pair.of(key_file(s, name))


def start(s, name, *types, **sets):
    types = types or ("shell:2",)
    argv = s.argv("taskbroker", s.broker_sets(name, types, groups=name, **sets))
    s.brokers[name] = Daemon(s, name, argv, r"broker\.keeper_up").start()
    s.wait_broker(name, [t.split(":")[0] for t in types])
    return s.brokers[name]


def loaders(s, name):
    return s.pids("taskrunner-loader", s.dir / name)


def hold(s, name, group):
    """A job that ends when it may -> its task, the file that lets it."""
    go = s.dir / f"{name}.go"
    s.apply(f"workflow: {name}\nproject: etl\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\ndefaults: {{cycle: once}}\n"
            f"tasks:\n  t: {{type: shell, group: {group}, params: {{script: 'while [ ! -e {go} ]; do sleep 0.05; done'}}}}\n",
            name + ".yaml", **{"from": "2026-01-01"})
    s.wait_state(f"etl/{name}/t", DATE, ("Running",), 60)
    return f"etl/{name}/t", go


def ends_well(s, name, go):
    go.touch()
    i = s.wait_state(name, DATE, ("Succ", "Fail", "StopSchedule"), 60)
    assert i["state"] == "Succ" and i["attempt"] == 1, i


def answer(p, role=LOADER, **hello):
    """-> None where it is welcome, else why not."""
    try:
        kind, m = p.hello(role, **{"type": "shell", **hello})
    except Gone:
        kind, m = next(((k, m) for k, m in p.news if k == "refuse"), ("gone", {}))
    return text(m, 2) if kind == "refuse" else "gone" if kind == "gone" else None


def as_loader(s, by, hello=None, name="held", role=LOADER, **said):
    with Peer(s, name, pair=Pair()) as p:
        p.delegated(by, **said)
        return answer(p, role, **(hello or {}))


@test
def no_process_but_the_taskbroker_has_the_machines_key(s):
    if os.geteuid() != 0:
        raise Skip("needs root: nobody else may look into them")
    pair = own_key(s, "etl-1")
    broker = start(s, "etl-1", "shell:2", "noop:4")
    name, go = hold(s, "looked", "etl-1")

    def has(pid):
        found = b""
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                begin, end = (int(x, 16) for x in line.split()[0].split("-"))
                with contextlib.suppress(OSError, ValueError, OverflowError):
                    memory.seek(begin)
                    found = memory.read(end - begin)
                if pair.secret in found or pair.secret.hex().encode() in found:
                    return line
        return None
    assert has(broker.pid), "the search finds it where it is"
    mine = loaders(s, "etl-1")
    assert len(mine) == 2 and s.pids("jobkeeper", s.dir / "etl-1"), mine
    for pid in [*mine, *s.pids("jobkeeper", s.dir / "etl-1")]:
        assert not has(pid), (pid, has(pid))
        for fd in os.listdir(f"/proc/{pid}/fd"):
            assert os.readlink(f"/proc/{pid}/fd/{fd}") != str(key_file(s, "etl-1")), fd
        for part in ("environ", "cmdline"):
            assert pair.secret.hex().encode() not in Path(f"/proc/{pid}/{part}").read_bytes()
    ends_well(s, name, go)
    log = broker.log.stat().st_size
    s.sirdar("peer", "revoke", "etl-1")
    until("all are refused", lambda: len(re.findall(r"taskrunner-loader warn link\.refused code=PEER", broker.text(log))) >= 2)
    for pid in mine:
        assert not has(pid), "one that was refused has looked for another key"
    broker.stop()


@test
def who_is_let_in_may_be_that_loader_and_nothing_else(s):
    by = own_key(s, "held")
    assert as_loader(s, by) is None
    assert as_loader(s, by, type="noop", lane=3, hello={"type": "noop", "lane": 3}) is None
    assert "of type 'shell'" in as_loader(s, by, hello={"type": "noop"})
    assert "lane 0 of its own machine" in as_loader(s, by, hello={"lane": 1})
    assert "lane 0 of its own machine" in as_loader(s, by, hello={"machine": "f" * 32})
    for role in (BROKER, CLIENT):
        assert "as nothing else" in as_loader(s, by, role=role, hello={"type": "shell" if role == BROKER else ""}), role
    other = own_key(s, "other")
    with Peer(s, "other", pair=Pair()) as p:
        assert "not the key's name" in answer(p.delegated(by, name="held")), "another machine's name"
    for wrong in ({"name": "other"}, {"name": "nobody-here"}):
        assert "signed by no key that peer" in as_loader(s, by, **wrong), wrong
    assert "signed by no key that peer" in as_loader(s, other)
    by = own_key(s, "narrow", "--type", "noop")
    assert "may not be of type 'shell'" in as_loader(s, by, name="narrow"), "nor what its machine itself may not be"


@test
def what_is_over_early_too_long_forged_or_anothers_is_refused_with_a_word(s):
    by = own_key(s, "held")
    assert "is over" in as_loader(s, by, begins=-3600, seconds=3599)
    assert "begins later" in as_loader(s, by, begins=600)
    assert "longer than 24 hours" in as_loader(s, by, seconds=25 * 3600)
    assert "longer than 24 hours" in as_loader(s, by, seconds=-1)
    assert "another key" in as_loader(s, by, key=Pair().key)
    assert "no key that peer" in as_loader(s, Pair())
    assert "no key that peer" in as_loader(s, by, sign=bytes(64))
    assert "no key that peer" in as_loader(s, by, sign=by.sign(b"sirdar enrol"))
    me = Pair()
    with Peer(s, "held", pair=me) as p:
        assert "no key that peer" in answer(p.delegated(me)), "its own word"


@test
def it_is_shown_before_any_other_frame_and_by_nobody_who_has_a_key(s):
    by = own_key(s, "held")
    for kind in KINDS:
        if kind == "delegation":
            continue
        with Peer(s, "held", pair=Pair()) as p:
            p.send(kind)
            p.wait_gone()
            assert not p.news, (kind, p.news)
    with Peer(s, "held", pair=Pair()) as p:
        p.delegated(by)
        former = Pair()
        p.send("enrol", field(1, "held") + field(2, former.key) + field(3, former.sign(b"")) + field(4, p.pair.sign(b"")))
        p.wait_gone()
        assert not p.news, "a loader changes its machine's key"
    with Peer(s, "held", pair=by) as p:
        p.delegated(by)
        p.wait_gone()
    mark = s.base.log.stat().st_size
    s.add_key("shared", "broker")
    until("the key is known", lambda: "settings.reloaded" in s.base.text(mark))
    with Peer(s, "shared") as p:
        p.pair = by
        p.delegated(by, name="held")
        p.pair = None
        p.wait_gone()
    with Peer(s, "held", pair=Pair()) as p:
        assert answer(p.delegated(by)) is None
        p.delegated(by, seconds=60).send("ping", fixed(1, 7))
        p.wait("pong")
        p.delegated(by, type="noop")
        p.wait_gone()
        assert "another loader's" in text(p.news[-1][1], 2), p.news
    with Peer(s, "held", pair=Pair()) as p:
        assert answer(p.delegated(by)) is None
        p.send("runner_state", field(1, "noop") + field(3, 4) + field(4, "crashed"))
        p.wait_gone()


@test
def a_broken_one_ends_that_session_and_nothing_else(s):
    by, dice, pid = own_key(s, "held"), random.Random(16), s.base.pid
    for i in range(300):
        with Peer(s, "held", pair=Pair()) as p:
            body = bytearray(field(1, "held") + field(2, p.machine) + field(3, "shell") + field(5, p.pair.key) + field(6, 1) +
                             field(7, 2) + field(8, by.sign(b"x")))
            for _ in range(dice.randrange(1, 8)):
                body[dice.randrange(len(body))] = dice.randrange(256)
            with contextlib.suppress(Gone):
                p.send("delegation", bytes(body[:dice.randrange(len(body) + 1)] if i % 2 else body))
                p.send("hello", b"")
            p.wait_gone()
            assert all(kind == "refuse" for kind, _ in p.news), p.news
    assert s.base.pid == pid and s.base.proc.poll() is None


@test
def who_is_revoked_takes_its_loaders_along_and_a_key_that_was_followed_lets_nobody_in(s):
    by = own_key(s, "held")
    with Peer(s, "held", pair=Pair()) as p:
        assert answer(p.delegated(by)) is None
        done = s.run([*s.argv("taskbroker", s.broker_sets("held", ("shell:2",))), "rotate-key"])
        assert done.returncode == 0, done.stderr
        following = Pair.of(key_file(s, "held"))
        assert as_loader(s, by) is None and as_loader(s, following) is None, "both count until the next one greets"
        with Peer(s, "held", pair=following) as q:
            assert q.hello(BROKER)[0] == "welcome"
            p.wait_gone()
        assert "any more" in text(p.news[-1][1], 2) and not p.news[-1][1].get(3), p.news
    assert "no key that peer" in as_loader(s, by)
    with Peer(s, "held", pair=Pair()) as p:
        assert answer(p.delegated(following)) is None
        s.sirdar("peer", "revoke", "held")
        p.wait_gone()
        assert "is revoked" in text(p.news[-1][1], 2), p.news
    assert "is revoked" in as_loader(s, following)
    key = s.get("/api/v1/peers/held")["fingerprint"]
    s.sirdar("peer", "set", "held", "--state", "active", "--fingerprint", key)
    assert as_loader(s, following) is None


@test
def a_session_ends_when_that_is_over_and_goes_on_when_it_is_shown_anew(s):
    by = own_key(s, "held")
    with Peer(s, "held", pair=Pair()) as p, Peer(s, "held", pair=Pair()) as q:
        assert answer(p.delegated(by, seconds=2)) is None
        assert answer(q.delegated(by, type="noop", seconds=2), type="noop") is None
        q.delegated(by, type="noop", seconds=600)
        p.wait_gone()
        assert "is over" in text(p.news[-1][1], 2), p.news
        q.send("ping", fixed(1, 7))
        q.wait("pong")


@test
def a_real_one_is_signed_for_anew_and_comes_back_after_a_taskbroker_that_stood_still(s):
    own_key(s, "short")
    broker = start(s, "short", delegation_ms=2000, loader_silent_ms=60000)
    name, go = hold(s, "short-job", "short")
    pid, mark = loaders(s, "short"), s.base.log.stat().st_size
    stand_still(broker.pid)
    until("it is told", lambda: s.base.has(r"session\.refused .*name=short code=DELEGATION .*is over", mark), 60)
    mark = s.base.log.stat().st_size
    broker.proc.send_signal(signal.SIGCONT)
    until("it greets again", lambda: s.base.has(r"session\.greeted .*name=short role=2", mark))
    assert loaders(s, "short") == pid, "the same loader"
    ends_well(s, name, go)
    broker.stop()


@test
def a_process_that_is_no_loader_is_signed_for_nothing(s):
    own_key(s, "door")
    broker = start(s, "door")
    path = s.dir / "door" / "loader.sock"
    assert path.stat().st_mode & 0o7777 == 0o600, oct(path.stat().st_mode)
    mark = broker.log.stat().st_size
    with socket.socket(socket.AF_UNIX) as c:
        c.connect(str(path))
        with contextlib.suppress(OSError):
            c.sendall(b"\0\0\0\x22\0\x6c\0\0\x0a\x20" + bytes(32))
        with contextlib.suppress(ConnectionResetError):
            assert c.recv(100) == b""
    until("it is told", lambda: broker.has(rf"broker\.delegation pid={os.getpid()} .*no loader of this broker", mark))
    broker.stop()


@test
def a_machine_that_gets_a_key_of_its_own_has_loaders_without_it_from_then_on(s):
    s.add_key("turns")
    s.sirdar("peer", "set", "turns", "--kind", "broker")
    broker = start(s, "turns")
    name, go = hold(s, "turns-job", "turns")
    pid, mark = loaders(s, "turns"), s.base.log.stat().st_size
    own_key(s, "turns")
    until("both greet by it", lambda: len(re.findall(r"session\.greeted .*name=turns ", s.base.text(mark))) >= 2, 60)
    assert loaders(s, "turns") == pid
    ends_well(s, name, go)
    broker.stop()


@test
def the_next_taskbroker_signs_for_a_loader_of_the_one_before_it(s):
    own_key(s, "next")
    broker = start(s, "next", delegation_ms=2000)
    name, go = hold(s, "next-job", "next")
    former = loaders(s, "next")
    s.sirdar("plugin", "drain", "shell")
    until("it takes no more", lambda: s.get("/api/v1/brokers") and broker.has(r"broker\.type .*text=\"drained\""))
    broker.kill()
    mark = s.base.log.stat().st_size
    until("what the former one signed is over", lambda: s.base.has(r"session\.refused .*name=next code=DELEGATION", mark), 60)
    mark = broker.log.stat().st_size
    broker.start()
    until("it meets the loader", lambda: broker.has(rf"broker\.loader_met .*pid={former[0]}", mark))
    mark = s.base.log.stat().st_size
    until("that greets", lambda: s.base.has(r"session\.greeted .*name=next role=2", mark), 60)
    ends_well(s, name, go)
    broker.stop()


def site():
    return Site("delegation", **LEASES).start()


if __name__ == "__main__":
    sys.exit(main(site))
