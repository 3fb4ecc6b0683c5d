#!/usr/bin/env python3
"""A peer's own key: it is invited, makes the key known under a code, is approved of, and changes it. Codes that were used, are
old, wrong or another peer's; and what who is not approved of gets. The peers are our programs, and one that lies. TAP."""
import fcntl
import os
import random
import re
import signal
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Daemon, Site, Skip, free_port, main, test, until  # noqa: E402
from keeper_client import field  # noqa: E402
from terminal import on_terminal  # noqa: E402
from peer import BROKER, CLIENT, KINDS, LOADER, Gone, Pair, Peer, text  # noqa: E402

BUSY, AUTH, FORBIDDEN, EXISTS, PEER = -2, -14, -15, -21, -37
SECRET = "0123456789abcdef" * 2


def key_file(s, name):
    return s.dir / f"{name}.key"


def program(s, name, *words):
    """taskbroker's words, for a machine of that name."""
    return s.run([*s.argv("taskbroker", s.broker_sets(name, ("shell:2",))), *words])


def invite(s, name, *more):
    return s.sirdar("peer", "invite", name, *more).stdout.strip()


def enrolled(s, name, *more):
    """It has a key of its own, which waits -> the public key."""
    done = program(s, name, "enrol", invite(s, name, *(more or ("--kind", "broker"))))
    assert done.returncode == 0, done.stderr
    assert f"sirdar peer approve {name} --fingerprint {done.stdout.strip()}" in done.stderr, done.stderr
    assert f"admin approve {name} --fingerprint {done.stdout.strip()}" in done.stderr, done.stderr
    return done.stdout.strip()


def peer(s, name):
    return s.get(f"/api/v1/peers/{name}")


def approve(s, name):
    return s.sirdar("peer", "approve", name, "--fingerprint", peer(s, name)["waits"])


def start_broker(s, name, wait=True):
    s.brokers[name] = Daemon(s, name, s.argv("taskbroker", s.broker_sets(name, ("shell:2",))), r"broker\.keeper_up")
    s.brokers[name].start()
    if wait:
        s.wait_broker(name, ["shell"])
    return s.brokers[name]


def under(s, code, **more):
    number, secret = code.split("-")
    return Peer(s, "invite:" + number, psk=secret.encode(), **more)


def refused(s, name, pair, role=BROKER, **more):
    with Peer(s, name, pair=pair) as p:
        kind, m = p.hello(role, **more)
        return text(m, 2) if kind == "refuse" else None


def gone_or_none_of(s, name, pair):
    """That key opens nothing any more."""
    try:
        return "none of peer" in refused(s, name, pair, CLIENT)
    except Gone:
        return True


def task(s, name, group, body="echo here"):
    s.apply(f"workflow: {name}\nproject: etl\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\ndefaults: {{cycle: once}}\n"
            f"tasks:\n  t: {{type: shell, group: {group}, params: {{script: '{body}'}}}}\n", name + ".yaml", **{"from": "2026-01-01"})
    return f"etl/{name}/t"


@test
def an_invited_broker_that_is_invited_as_a_face_is_told_how_its_groups_go(s):
    s.sirdar("peer", "invite", "turned", "--kind", "broker", "--group", "etl")
    said = s.sirdar("peer", "invite", "turned", "--kind", "face", expect=1).stderr
    assert "a face has none" in said and "--group ''" in said and "[]" not in said, said
    s.sirdar("peer", "invite", "turned", "--kind", "face", "--group", "")


@test
def a_revoked_key_is_let_in_again_by_its_name_alone(s):
    """It was by a word that showed nothing, and the server's log said that word to the machine."""
    enrolled(s, "lost", "--kind", "broker")
    s.sirdar("peer", "approve", "lost", "--yes")
    key = peer(s, "lost")["fingerprint"]
    s.sirdar("peer", "revoke", "lost")
    said = s.sirdar("peer", "set", "lost", "--state", "active", expect=1).stderr
    assert key in said and "nothing was changed" in said and "peer invite lost" in said, said
    for more in ({}, {"fingerprint": "0" * 64}):
        status, answer = s.ask("POST", "/api/v1/peers", {"peer": "lost", "state": "active", **more})
        assert status == 409 and key in str(answer), (status, answer)
    broker = start_broker(s, "lost", wait=False)
    until("it is told what helps", lambda: broker.has(r"is revoked: `sirdar peer invite lost`"))
    assert peer(s, "lost")["state"] == "revoked"
    s.sirdar("peer", "set", "lost", "--state", "active", "--fingerprint", key)
    s.wait_broker("lost", ["shell"])


@test
def a_machine_that_was_invited_and_approved_runs_jobs_of_its_groups_and_has_no_key_that_the_server_knows(s):
    key = enrolled(s, "etl-1", "--kind", "broker", "--group", "etl", "--group", "default")
    own = key_file(s, "etl-1")
    assert own.stat().st_mode & 0o7777 == 0o600, oct(own.stat().st_mode)
    server = s.run([*s.argv("baseserver", s.base_sets), "server-key"]).stdout.strip()
    assert re.fullmatch(rf"peer etl-1\nkey [0-9a-f]{{64}}\nserver {server}\n", own.read_text()), "the file"
    assert (s.dir / "base/server.key").stat().st_mode & 0o7777 == 0o600
    row = peer(s, "etl-1")
    assert (row["state"], row["waits"], row["kind"], row["groups"]) == ("pending", key, "broker", ["etl", "default"]), row
    assert key in s.sirdar("peer", "list").stdout
    broker = start_broker(s, "etl-1", wait=False)
    until("it is told to wait", lambda: broker.has(r"waits for somebody who approves"))
    s.sirdar("peer", "approve", "etl-1", "--fingerprint", key)
    s.wait_broker("etl-1", ["shell"])
    row = peer(s, "etl-1")
    assert (row["state"], row["waits"], row["fingerprint"], row["key"]) == ("active", None, key, False), row
    secret = re.search(r"^key (.*)$", own.read_text(), re.M)[1]
    for kept in (s.dir / "base").rglob("*"):
        assert not kept.is_file() or secret.encode() not in kept.read_bytes(), kept
    s.sirdar("peer", "set", "etl-1", "--group", "etl")
    broker.stop()
    s.brokers["etl-1"] = Daemon(s, "etl-1", s.argv("taskbroker", s.broker_sets("etl-1", ("shell:2",), groups="etl")), r"broker\.keeper_up")
    s.brokers["etl-1"].start()
    s.wait_broker("etl-1", ["shell"])
    name = task(s, "here", "etl")
    s.wait_state(name, "2026-01-01T00:00:00Z", ("Succ",), 60)


@test
def who_cannot_be_asked_is_named(s):
    code, nobody = invite(s, "far", "--kind", "broker"), f"127.0.0.1:{free_port()}"
    done = program(s, "far", "enrol", code, "--server", nobody)
    assert done.returncode != 0 and nobody in done.stderr, done.stderr
    assert program(s, "far", "enrol", code).returncode == 0, "and the code is not spent"


@test
def a_code_is_good_for_one_key(s):
    code = invite(s, "once", "--kind", "broker")
    first, second = Pair(), Pair()
    with under(s, code) as p:
        assert p.enrol("once", first) == 0
        p.wait_gone()
    try:
        with under(s, code) as p:
            assert p.enrol("once", second) != 0
    except Gone:
        pass
    assert peer(s, "once")["waits"] == first.key.hex()
    done = program(s, "once", "enrol", code)
    assert done.returncode != 0 and "it was used" in done.stderr, done.stderr
    assert not key_file(s, "once").exists() and not key_file(s, "once").with_suffix(".key.new").exists()


@test
def two_who_come_at_once_with_one_code_do_not_both_get_in(s):
    code = invite(s, "race", "--kind", "broker")
    pairs = [Pair() for _ in range(8)]
    peers = [under(s, code) for _ in pairs]
    for p, pair in zip(peers, pairs):
        what = b"sirdar enrol\0" + p.proof() + pair.key + b"race"
        p.send("enrol", field(1, "race") + field(2, pair.key) + field(3, pair.sign(what)))
    codes = [p.wait("enrolled").get(1, [0])[0] for p in peers]
    assert codes.count(0) == 1, codes
    assert peer(s, "race")["waits"] == pairs[codes.index(0)].key.hex()
    for p in peers:
        p.close()


@test
def a_wrong_code_spends_nothing_and_only_some_are_looked_at(s):
    code = invite(s, "guess", "--kind", "broker")
    number = code.split("-")[0]
    mark = s.base.log.stat().st_size
    for i in range(25):
        try:
            under(s, f"{number}-{i:032x}", source="127.0.0.2").close()
            raise AssertionError("a wrong code was taken")
        except Gone:
            pass
    until("it is told", lambda: s.base.has(r"invite\.guessed peer=127\.0\.0\.2", mark))
    assert len(re.findall(r"invite\.guessed", s.base.text(mark))) == 1
    try:
        under(s, code, source="127.0.0.2").close()
        raise AssertionError("the right code was looked at from there")
    except Gone:
        pass
    with under(s, code) as p:
        assert p.enrol("guess", Pair()) == 0


@test
def a_code_that_is_old_or_was_replaced_or_belongs_to_another_peer_or_a_former_server_is_refused(s):
    first = invite(s, "late", "--kind", "broker")
    second = invite(s, "late", "--kind", "broker")
    for dead in (first, "0" * 12 + "-" + SECRET):
        try:
            with under(s, dead) as p:
                assert p.enrol("late", Pair()) != 0
            raise AssertionError("it was taken")
        except Gone:
            pass
    invite(s, "other", "--kind", "broker")
    with under(s, second) as p:
        assert p.enrol("other", Pair()) == FORBIDDEN
    done = program(s, "other", "enrol", second)
    assert done.returncode != 0 and "other" in done.stderr, done.stderr
    assert peer(s, "other")["waits"] is None
    with under(s, second) as p:
        assert p.enrol("late", Pair()) == 0
    third = invite(s, "gone", "--kind", "broker")
    s.sirdar("peer", "revoke", "gone")
    assert program(s, "gone", "enrol", third).returncode != 0
    for word in ("", "x", second[:-1], second.upper(), second + "0"):
        assert program(s, "late", "enrol", word).returncode in (64, 78), word
    assert program(s, "late", "enrol").returncode == 64 and program(s, "late", "enroll", second).returncode == 64


@test
def what_is_signed_is_the_key_in_this_session_for_this_peer(s):
    code, pair, other = invite(s, "sign", "--kind", "broker"), Pair(), Pair()
    with under(s, code) as p:
        assert p.enrol("sign", pair, proof=b"\0" * 32) == AUTH
    with under(s, code) as p:
        assert p.enrol("sign", pair, sign=other.sign(b"")) == AUTH
    with under(s, code) as old, under(s, code) as p:
        assert p.enrol("sign", pair, proof=old.proof()) == AUTH
    assert peer(s, "sign")["waits"] is None
    with under(s, code) as p:
        assert p.enrol("sign", pair) == 0
    code = invite(s, "thief", "--kind", "broker")
    with under(s, code) as p:
        assert p.enrol("thief", pair) == EXISTS, "one key for two peers"


@test
def under_a_code_no_frame_but_that_one_is_taken_and_before_the_approval_none_at_all(s):
    code, pair = invite(s, "wait", "--kind", "broker"), Pair()
    for kind in KINDS:
        if kind == "enrol":
            continue
        with under(s, code) as p:
            if kind == "hello":
                p.send("hello", b"\x08\x01\x10\x01\x18\x01")
            else:
                p.send(kind)
            p.wait_gone()
            assert not p.news, (kind, p.news)
    with under(s, code) as p:
        assert p.enrol("wait", pair) == 0
    for kind in KINDS:
        if kind in ("hello", "enrol"):
            continue
        with Peer(s, "wait", pair=pair) as p:
            p.send(kind)
            p.wait_gone()
            assert not p.news, (kind, p.news)
    for role, more in ((BROKER, {}), (LOADER, {"type": "shell"}), (CLIENT, {})):
        why = refused(s, "wait", pair, role, **more)
        assert why and "approve wait" in why, (role, why)
    with Peer(s, "wait", pair=pair) as p:
        assert p.enrol("wait", Pair(), former=pair) == PEER, "a key that waits is followed by none"
    assert s.sirdar("peer", "set", "wait", "--state", "active", expect=None).returncode != 0
    assert peer(s, "wait")["state"] == "pending"


@test
def a_broken_enrolment_ends_that_session_and_nothing_else(s):
    code, pair, dice = invite(s, "mutant", "--kind", "broker"), Pair(), random.Random(16)
    pid = s.base.pid
    for i in range(200):
        with under(s, code) as p:
            body = bytearray(field(1, "mutant") + field(2, pair.key) + field(3, pair.sign(b"x")) + field(4, pair.sign(b"y")))
            for _ in range(dice.randrange(1, 8)):
                body[dice.randrange(len(body))] = dice.randrange(256)
            p.send("enrol", bytes(body[:dice.randrange(len(body) + 1)] if i % 2 else body))
            p.wait_gone()
            assert all(kind == "enrolled" and m.get(1, [0])[0] for kind, m in p.news), p.news
    assert s.base.pid == pid and s.base.proc.poll() is None and peer(s, "mutant")["waits"] is None
    with under(s, code) as p:
        assert p.enrol("mutant", pair) == 0, "and the code is not spent"


@test
def an_invite_fixes_the_kind_and_the_groups(s):
    pair = Pair()
    with under(s, invite(s, "narrow", "--kind", "broker", "--group", "etl", "--type", "noop")) as p:
        assert p.enrol("narrow", pair) == 0
    approve(s, "narrow")
    assert "kind broker" in refused(s, "narrow", pair, CLIENT)
    assert "secure" in refused(s, "narrow", pair, groups=["secure"])
    assert "shell" in refused(s, "narrow", pair, LOADER, type="shell", groups=["etl"])
    assert refused(s, "narrow", pair, LOADER, type="noop", groups=["etl"]) is None
    for wrong in (("--kind", "king"), (), ("--kind", "notifier", "--group", "x"), ("--kind", "notifier", "--project", "x")):
        assert s.sirdar("peer", "invite", "fresh", *wrong, expect=None).returncode != 0, wrong


@test
def a_code_that_is_used_by_the_wrong_program_is_not_spent(s):
    code = invite(s, "machine", "--kind", "broker")
    face = {"server": f"127.0.0.1:{s.port}", "name": "machine", "key_file": s.dir / "face.key", "state_dir": s.dir / "face", "web_dir": ""}
    done = s.run([*s.argv("sirdar-cgi", face), "enrol", code])
    assert done.returncode != 0 and "for a broker" in done.stderr and not (s.dir / "face.key").exists(), done
    assert peer(s, "machine")["state"] == "invited"
    done = program(s, "machine", "enrol", code)
    assert done.returncode == 0, done.stderr


@test
def an_invite_of_a_peer_that_is_let_in_changes_no_kind(s):
    """It would be shut out before its new key is there: the last face, and whoever gave the command."""
    s.add_key("lives")
    mark = s.base.log.stat().st_size
    start_broker(s, "lives")
    faces = [p["peer"] for p in s.get("/api/v1/peers")["peers"] if p["kind"] == "face" and p["state"] == "active"]
    for name, kind in ((faces[0], "broker"), ("lives", "face")):
        was = peer(s, name)
        done = s.sirdar("peer", "invite", name, "--kind", kind, expect=None)
        assert done.returncode != 0 and f"sirdar peer set {name} --kind {kind}" in done.stderr, (done.stdout, done.stderr)
        assert peer(s, name) == was
    assert not s.base.has(r"session\.(refused|end) .*name=lives ", mark)
    assert invite(s, "lives", "--kind", "broker") and peer(s, "lives")["kind"] == "broker", "its own kind may be said"
    s.sirdar("peer", "revoke", "lives")
    assert invite(s, "lives", "--kind", "notifier") and peer(s, "lives")["kind"] == "notifier", "who is shut out may become another"


@test
def whom_a_code_is_for_is_told_with_it(s):
    for kind, says in (("broker", "taskbroker -c FILE enrol"), ("face", "sirdar-cgi -c FILE enrol"),
                       ("notifier", "sirdar-notifier -c FILE enrol")):
        assert says in s.sirdar("peer", "invite", f"tell-{kind}", "--kind", kind).stderr, kind
    assert "sirdar-cgi -c FILE enrol" in s.sirdar("peer", "invite", "tell-face").stderr, "of what it is already"
    assert "taskbroker" not in s.sirdar("peer", "invite", "tell-client", "--kind", "client").stderr


@test
def approval_of_another_fingerprint_or_of_nobody_lets_nobody_in(s):
    pair = Pair()
    assert s.sirdar("peer", "approve", "nobody-here", expect=None).returncode != 0
    with under(s, invite(s, "swap", "--kind", "broker")) as p:
        assert p.enrol("swap", pair) == 0
    done = s.sirdar("peer", "approve", "swap", "--fingerprint", Pair().key.hex(), expect=None)
    assert done.returncode != 0 and "another one" in done.stderr, done.stderr
    assert refused(s, "swap", pair)
    s.sirdar("peer", "revoke", "swap")
    assert s.sirdar("peer", "approve", "swap", expect=None).returncode != 0
    try:
        assert "swap" in refused(s, "swap", pair)
    except Gone:
        pass


@test
def a_key_is_approved_by_name_alone_only_by_somebody_who_looks(s):
    key = enrolled(s, "eye")
    done = s.sirdar("peer", "approve", "eye", expect=1)
    assert key in done.stderr and "--fingerprint" in done.stderr and peer(s, "eye")["state"] == "pending", done

    def asked(typed):
        return on_terminal([BIN / "sirdar", "peer", "approve", "eye"], dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token")), s.dir, typed=typed)
    shown = asked("n\n")
    assert shown.code == 1 and key in shown.text and peer(s, "eye")["state"] == "pending", shown.text
    shown = asked("y\n")
    assert shown.code == 0 and "eye is let in" in shown.text and peer(s, "eye")["fingerprint"] == key, shown.text
    key = enrolled(s, "blind")
    assert "blind is let in" in s.sirdar("peer", "approve", "blind", "--yes").stdout and peer(s, "blind")["fingerprint"] == key


@test
def only_an_administrator_invites_and_nobody_sees_the_code_again(s):
    code = invite(s, "quiet", "--kind", "broker")
    secret = code.split("-")[1]
    for path in ("/api/v1/peers/quiet", "/api/v1/audit?limit=50", "/api/v1/commands?limit=50"):
        assert secret not in str(s.get(path)), path
    for kept in [*(s.dir / "base").rglob("*"), s.base.log, s.cgi.log]:
        assert not kept.is_file() or secret.encode() not in kept.read_bytes(), kept
    args = {"peer": "quiet", "kind": "broker", "id": "0" * 12, "secret": SECRET}
    for kind in ("peer-invite", "peer-key"):
        status, answer = s.ask("POST", "/api/v1/commands", {"kind": kind, "args": args if kind == "peer-invite" else
                                                           {"peer": "quiet", "key": "0" * 64, "invite": code.split("-")[0]}})
        assert status in (400, 403, 404), (kind, status, answer)
    assert peer(s, "quiet")["waits"] is None


@test
def who_has_a_key_of_keys_file_gets_one_of_its_own_and_the_former_one_opens_nothing_more(s):
    s.add_key("old")
    s.sirdar("peer", "set", "old", "--kind", "broker")
    shared = key_file(s, "old").read_text()
    mark = s.base.log.stat().st_size
    broker = start_broker(s, "old")
    key = enrolled(s, "old")
    assert peer(s, "old")["state"] == "active" and not s.base.has(r"session\.refused .*name=old", mark), "it works until then"
    s.sirdar("peer", "approve", "old", "--fingerprint", key)
    until("its session by the former key ends", lambda: s.base.has(r"session\.refused .*name=old .*key of its own", mark))
    s.wait_broker("old", ["shell"])
    until("it greets with its own", lambda: peer(s, "old")["fingerprint"] == key and s.base.has(r"session\.greeted .*name=old", mark))
    broker.stop()
    key_file(s, "old").write_text(shared)
    with Peer(s, "old") as p:
        kind, m = p.hello(BROKER)
        assert kind == "refuse" and "key of its own" in text(m, 2), (kind, m)


@test
def who_is_revoked_goes_at_once_and_comes_back_by_another_invite(s):
    enrolled(s, "bad")
    approve(s, "bad")
    mark = s.base.log.stat().st_size
    broker = start_broker(s, "bad")
    s.sirdar("peer", "revoke", "bad")
    until("its sessions end", lambda: len(re.findall(r"session\.refused .*name=bad .*revoked", s.base.text(mark))) >= 2)
    broker.stop()
    key_file(s, "bad").unlink()
    enrolled(s, "bad")
    assert peer(s, "bad")["state"] == "revoked"
    approve(s, "bad")
    start_broker(s, "bad").stop()


@test
def a_key_is_followed_by_the_next_without_a_stop_of_jobs(s):
    key = enrolled(s, "turn", "--kind", "broker", "--group", "turn")
    approve(s, "turn")
    s.brokers["turn"] = Daemon(s, "turn", s.argv("taskbroker", s.broker_sets("turn", ("shell:2",), groups="turn")), r"broker\.keeper_up")
    broker = s.brokers["turn"].start()
    s.wait_broker("turn", ["shell"])
    former = Pair.of(key_file(s, "turn"))
    go = s.dir / "go"
    name = task(s, "long", "turn", f"echo begins; while [ ! -e {go} ]; do sleep 0.1; done; echo ends")
    s.wait_state(name, "2026-01-01T00:00:00Z", ("Running",), 60)
    mark = s.base.log.stat().st_size
    done = program(s, "turn", "rotate-key")
    assert done.returncode == 0, done.stderr
    following = done.stdout.strip()
    assert following != key and Pair.of(key_file(s, "turn")).key.hex() == following
    assert peer(s, "turn")["fingerprint"] == following
    assert refused(s, "turn", former, CLIENT) and "kind broker" in refused(s, "turn", former, CLIENT), "the former key still counts"
    assert program(s, "turn", "enrol", invite(s, "turn2", "--kind", "broker")).returncode != 0, "the key is not lost by a mistake"
    before = broker.log.stat().st_size
    broker.proc.send_signal(signal.SIGHUP)
    until("the new one greets", lambda: s.base.has(r"session\.greeted .*name=turn ", mark))

    until("the former key is over", lambda: gone_or_none_of(s, "turn", former))
    s.wait_broker("turn", ["shell"])
    assert not broker.has(r"link\.refused .*final=1", before), "no loader stays away because of the former key"
    go.touch()
    i = s.wait_state(name, "2026-01-01T00:00:00Z", ("Succ", "Fail"), 60)
    assert i["state"] == "Succ" and i["attempt"] == 1, i
    with Peer(s, "turn") as p:
        assert p.enrol("turn", Pair(), former=Pair.of(key_file(s, "turn"))) == BUSY, "a document each, without a bound"
    with Peer(s, "turn") as p:
        assert p.enrol("turn", Pair()) == AUTH, "not signed by the key before it"
    with Peer(s, "turn") as p:
        assert p.enrol("etl-1", Pair(), former=Pair.of(key_file(s, "turn"))) == FORBIDDEN


@test
def what_a_change_that_was_killed_left_beside_the_key_is_taken_away_by_the_next(s):
    enrolled(s, "left")
    approve(s, "left")
    path = key_file(s, "left")
    left, others = path.with_name("left.key.4711.tmp"), [path.with_name(n) for n in ("left.key.tmp", "left.key.x.tmp", "more-left.key.1.tmp")]
    busy = path.with_name("left.key.4712.tmp")
    for p in (left, busy, *others):
        p.write_text("key " + "0" * 64)
    with busy.open() as held:  # somebody writes it
        fcntl.flock(held, fcntl.LOCK_EX)
        assert program(s, "left", "rotate-key").returncode == 0
    assert not left.exists() and busy.exists() and all(p.exists() for p in others)


@test
def a_change_of_keys_that_was_cut_short_is_finished_also_when_the_former_key_is_over(s):
    """The server had the next one, the file had both, and nobody asked again for a day."""
    enrolled(s, "cut", "--kind", "broker")
    approve(s, "cut")
    path, following = key_file(s, "cut"), Pair()
    former = Pair.of(path)
    with Peer(s, "cut", pair=former) as p:
        assert p.enrol("cut", following, former=former) == 0
    assert refused(s, "cut", following) is None
    until("the former key is over", lambda: gone_or_none_of(s, "cut", former))
    kept = path.read_text().splitlines()
    path.write_text("\n".join([*kept[:2], f"next {following.secret.hex()}", *kept[2:]]) + "\n")
    done = program(s, "cut", "rotate-key")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == following.key.hex() and Pair.of(path).key == following.key and "next" not in path.read_text()
    start_broker(s, "cut")


@test
def a_server_with_another_key_is_not_greeted_and_one_that_starts_again_is(s):
    enrolled(s, "firm")
    approve(s, "firm")
    broker = start_broker(s, "firm")
    s.base.restart()
    s.wait_broker("firm", ["shell"])
    broker.stop()
    path = key_file(s, "firm")
    path.write_text(re.sub(r"server .*", "server " + Pair().key.hex(), path.read_text()))
    broker.start(wait=False)
    until("it says so", lambda: broker.has(r"the server's key is none that firm knows"))
    broker.stop()


def guide(manual):
    """The commands of the manual's guide, in order."""
    text = (Path(__file__).parents[2] / "docs/book" / manual / "keys.md").read_text()
    return re.findall(r"^    ((?:sirdar peer|taskbroker) .*?)(?: {2,}#.*)?$", "    " + text[text.index("sirdar peer invite etl-2"):].split("\n\n")[0], re.M)


@test
def the_guide_of_the_manual_runs_as_it_stands_there(s):
    for manual in ("en", "zh"):
        lines, code, key = guide(manual), "", ""
        assert [w.split()[-1] if "rotate" in w else w.split()[2] for w in lines] == \
            ["invite", "/etc/sirdar/taskbroker.yaml", "list", "approve", "rotate-key"], lines
        settings = s.dir / "taskbroker.yaml"
        settings.write_text("".join(f"{k}: {v}\n" for k, v in s.broker_sets("etl-2", ("shell:2",)).items() if k != "types"))
        settings.chmod(0o600)
        for line in lines:
            words = line.replace("/etc/sirdar/taskbroker.yaml", str(settings)).replace("CODE", code).replace("KEY", key).split()
            done = s.sirdar(*words[1:]) if words[0] == "sirdar" else s.run([BIN / words[0], *words[1:]])
            assert done.returncode == 0, (line, done.stderr)
            if words[2] == "invite":
                code = done.stdout.strip()
            elif "enrol" in words:
                key = done.stdout.strip()
            elif words[2] == "list":
                assert re.search(rf"etl-2 .*(pending|revoked).*{key}", done.stdout), done.stdout
        assert peer(s, "etl-2")["state"] == "active"
        s.sirdar("peer", "revoke", "etl-2")
        key_file(s, "etl-2").unlink()


@test
def by_roots_hand_the_key_is_the_daemons_and_none_is_lost(s):
    if os.geteuid() != 0:
        raise Skip("needs root")
    home = s.dir / "home"
    home.mkdir(mode=0o700)
    os.chown(home, 65534, 65534)
    own = home / "own.key"

    def by_root(*words):
        return s.run([*s.argv("taskbroker", {**s.broker_sets("theirs", ("shell:2",)), "key_file": own, "state_dir": home}), *words])
    done = by_root("enrol", invite(s, "theirs", "--kind", "broker"))
    assert done.returncode == 0, done.stderr
    assert (own.stat().st_uid, own.stat().st_mode & 0o7777) == (65534, 0o600), own.stat()
    code = invite(s, "theirs")
    done = by_root("enrol", code)
    assert done.returncode != 0 and "rotate-key" in done.stderr, done.stderr
    s.sirdar("peer", "revoke", "theirs")
    own.unlink()
    assert by_root("enrol", invite(s, "theirs")).returncode == 0
    approve(s, "theirs")
    done = by_root("rotate-key")
    assert done.returncode == 0 and own.stat().st_uid == 65534, (done.stderr, own.stat())
    home.chmod(0o777)
    before = own.read_bytes()
    assert by_root("rotate-key").returncode != 0 and own.read_bytes() == before, "anybody could put a file there"


@test
def a_web_server_and_a_notifier_enrol_as_a_broker_does(s):
    face = Daemon(s, "face-2", s.argv("sirdar-cgi", {
        "listen": f"127.0.0.1:{free_port()}", "server": f"127.0.0.1:{s.port}", "name": "face-2", "key_file": key_file(s, "face-2"),
        "state_dir": s.dir / "face-2", "store": f"sqlite:{s.dir}/base", "web_dir": ""}), r"cgi\.ready")
    channels = s.dir / "channels.yaml"
    channels.write_text("channels: {hook: {type: webhook, url: 'http://127.0.0.1:1/'}}\nnodes: ['webhook:hook']\n")
    channels.chmod(0o600)
    teller = Daemon(s, "teller", s.argv("sirdar-notifier", {
        "server": f"127.0.0.1:{s.port}", "name": "teller", "key_file": key_file(s, "teller"), "state_dir": s.dir / "teller",
        "store": f"sqlite:{s.dir}/base", "channels_file": channels}), r"notifier\.(ready|up)")
    for daemon, kind in ((face, "face"), (teller, "notifier")):
        done = s.run([*daemon.argv, "enrol", invite(s, daemon.name, "--kind", kind)])
        assert done.returncode == 0, done.stderr
        s.sirdar("peer", "approve", daemon.name, "--fingerprint", done.stdout.strip())
        s.brokers[daemon.name] = daemon
        mark = s.base.log.stat().st_size
        daemon.start(wait=False)
        until(f"{daemon.name} greets", lambda: s.base.has(rf"session\.greeted .*name={daemon.name} role=3", mark))
        done = s.run([*daemon.argv, "rotate-key"])
        assert done.returncode == 0, done.stderr
        assert "SIGHUP" not in done.stderr and "next connection" in done.stderr, "what makes it used, and nothing else"
        s.base.restart()
        until("the cgi has the server again", s.up)
        until(f"{daemon.name} greets by its new key", lambda: peer(s, daemon.name)["fingerprint"] == done.stdout.strip()
              and s.base.has(rf"session\.greeted .*name={daemon.name} role=3", s.base.mark))
        daemon.stop()


@test
def the_keys_of_the_other_servers_are_learnt_with_the_first_and_with_each_greeting(s):
    first, second = Pair().key.hex(), Pair().key.hex()

    def begin(keys):
        s.base.stop()
        s.base = Daemon(s, "baseserver", s.argv("baseserver", {**s.base_sets, "server_keys": keys}), r"baseserver\.up")
        s.base.start()
        until("the cgi has it again", s.up)

    def known():
        return set(re.findall(r"server (.*)", key_file(s, "pinned").read_text()))
    own = s.run([*s.argv("baseserver", s.base_sets), "server-key"]).stdout.strip()
    begin(first)
    enrolled(s, "pinned")
    assert known() == {own, first}
    approve(s, "pinned")
    broker = start_broker(s, "pinned")
    begin(f"{first},{second}")
    until("they are learnt", lambda: known() == {own, first, second})
    broker.stop()
    s.base.stop()
    done = s.run([*s.argv("baseserver", {**s.base_sets, "server_keys": "none"}), "--check-config"])
    assert done.returncode != 0 and "server_keys" in done.stderr, done.stderr
    s.base.start()


def site():
    return Site("enrol").start()


if __name__ == "__main__":
    sys.exit(main(site))
