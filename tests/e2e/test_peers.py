#!/usr/bin/env python3
"""Peers: what the kind of a key allows, what its document narrows, and how a session ends whose peer is
revoked, has run out, or lost its key. The attackers are our own programs under a stolen key. TAP."""
import contextlib
import json
import os
import re
import signal
import sqlite3
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Daemon, Site, free_port, main, test, until  # noqa: E402
from peer import Gone, Peer  # noqa: E402


class Thief:
    """A cgi that greets with the key of `name`; `ask` is what its administrator asks it."""

    def __init__(self, s, name, until_up=False):
        self.s, self.http = s, free_port()
        sets = {"listen": f"127.0.0.1:{self.http}", "server": f"127.0.0.1:{s.port}", "name": name,
                "key_file": s.dir / f"{name}.key", "state_dir": s.dir / f"thief-{self.http}",
                "store": s.base_sets.get("store", f"sqlite:{s.dir}/base"), "web_dir": ""}
        argv = s.argv("sirdar-cgi", sets)
        self.token = s.token
        self.daemon = s.brokers[f"thief-{self.http}"] = Daemon(s, f"thief-{self.http}", argv, r"cgi\.ready")
        self.daemon.start()
        if until_up:
            until("it is let in", lambda: self.daemon.has(r"server\.up"))
            until("it has read the tokens", lambda: self.ask("GET", "/api/v1/pools")[0] != 503)

    def ask(self, method, path, body=None):
        call = urllib.request.Request(f"http://127.0.0.1:{self.http}{path}", method=method,
                                      data=json.dumps(body).encode() if body is not None else None,
                                      headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(call, timeout=60) as r:
                return r.status, json.loads(r.read())
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read())

    def command(self, what, **args):
        return self.ask("POST", "/api/v1/commands", {"kind": what, "args": args, "request_id": os.urandom(16).hex()})


def key_of(s, name):
    if not (s.dir / f"{name}.key").exists():
        s.add_key(name)


def read_keys(s):
    return (s.dir / "keys").read_text().splitlines()


def write_keys(s, lines):
    """As a whole: a server that is told of keys may be reading them."""
    new = s.dir / "keys.new"
    new.touch(0o600)
    new.write_text("".join(line + "\n" for line in lines))
    new.rename(s.dir / "keys")


def without_kind(s, name):
    """Its line as it was before keys had kinds."""
    write_keys(s, [line.rsplit(":", 1)[0] if line.startswith(name + ":") else line for line in read_keys(s)])


def people(s):
    return [u["user"] for u in s.get("/api/v1/users")["users"]]


@test
def a_brokers_key_does_not_greet_as_a_client_and_makes_nobody_an_administrator(s):
    mark = len(s.base.text())
    thief = Thief(s, "b1")
    until("it was judged", lambda: s.base.has(r"session\.(refused|greeted) .*name=b1 .*(role=3|code=)", mark))
    status, answer = thief.ask("POST", "/api/v1/users", {"user": "mallory", "role": "admin", "password": "a long password 1"})
    assert status == 503, (status, answer)
    assert "mallory" not in people(s), people(s)
    said = s.base.has(r'session\.refused .*name=b1 .*text="([^"]*)"', mark)[1]
    assert "b1" in said and "broker" in said and "peer set b1 --kind face" in said, said
    until("the thief is told", lambda: thief.daemon.has(r"server\.unreachable .*kind broker"))


@test
def a_brokers_key_does_not_greet_as_the_notifier_and_the_notifiers_not_as_a_broker(s):
    key_of(s, "notifier")
    mark = len(s.base.text())
    s.add_broker_of("notifier")
    until("it is refused", lambda: s.base.has(r"session\.refused .*name=notifier .*kind notifier .*--kind broker", mark))
    assert not s.base.has(r"session\.greeted .*name=notifier", mark), s.base.tail()
    s.brokers["notifier"].stop()


@test
def a_client_or_the_notifier_commands_under_its_own_name_and_only_what_its_kind_may(s):
    s.add_key("tool", "client")
    tool = Thief(s, "tool", until_up=True)
    for kind, args in (("user-set", {"user": "mallory", "role": "admin"}), ("peer-set", {"peer": "tool", "kind": "face"}),
                       ("token-set", {"token": "t", "role": "admin", "hash": "0" * 64, "created": 1})):
        status, answer = tool.command(kind, **args)
        assert status == 403 and "kind client" in str(answer), (kind, status, answer)
    assert tool.ask("GET", "/api/v1/peers")[0] == 403 and tool.ask("GET", "/api/v1/pools")[0] == 200
    assert "mallory" not in people(s)
    status, answer = tool.command("pool-set", pool="of_a_tool", size=3)
    assert status == 200 or status == 202, (status, answer)
    # Whoever a client says that it acts for: it is the client.
    rows = s.get("/api/v1/audit?limit=20")["items"]
    mine = [r for r in rows if "of_a_tool" in str(r)]
    assert mine and {r["actor"] for r in mine} == {"peer:tool"}, rows
    key_of(s, "notifier")
    teller = Thief(s, "notifier", until_up=True)
    status, answer = teller.command("pool-set", pool="of_a_teller", size=3)
    assert status == 403 and "kind notifier" in str(answer), (status, answer)


@test
def the_projects_of_a_client_bound_what_it_may_have_changed(s):
    s.add_key("narrow", "client")
    s.sirdar("peer", "set", "narrow", "--kind", "client", "--project", "retail")
    narrow = Thief(s, "narrow", until_up=True)
    for within in ({}, {"within": ["retail", "other"]}, {"within": ["other"]}):
        status, answer = narrow.command("quota-set", project="retail", running=3, **within)
        assert status == 403, (within, status, answer)
    status, answer = narrow.command("quota-set", project="other", running=3, within=["retail"])
    assert status == 403, (status, answer)
    status, answer = narrow.command("quota-set", project="retail", running=3, within=["retail"])
    assert status in (200, 202), (status, answer)


@test
def a_key_that_nobody_has_said_anything_of_gets_in_as_nothing_until_somebody_does(s):
    s.add_key("old")
    without_kind(s, "old")
    mark = s.base.log.stat().st_size
    s.base.proc.send_signal(signal.SIGHUP)
    until("the server names it", lambda: s.base.has(r'peer\.no-kind names="old" .*key-kind NAME KIND', mark))
    problems = s.get("/api/v1/server")["problems"]
    assert any("old" in p and "peer set" in p for p in problems), problems
    row = next(p for p in s.get("/api/v1/peers")["peers"] if p["peer"] == "old")
    assert (row["kind"], row["state"], row["by"], row["key"]) == (None, "unassigned", "nobody", True), row
    s.add_broker_of("old")
    until("it is no broker", lambda: s.base.has(r"session\.refused .*name=old code=PEER .*peer set old --kind broker", mark))
    thief = Thief(s, "old")
    until("and no client", lambda: s.base.has(r"session\.refused .*name=old code=PEER .*peer set old --kind face", mark))
    assert thief.ask("GET", "/api/v1/server")[0] == 503
    s.sirdar("peer", "set", "old", "--kind", "broker")
    s.wait_broker("old", ["shell"])
    assert not any("old" in p for p in s.get("/api/v1/server")["problems"])
    assert thief.ask("GET", "/api/v1/server")[0] == 503
    s.brokers["old"].stop()


@test
def keys_file_of_before_goes_on_with_the_names_that_programs_have_and_key_kind_says_the_rest(s):
    s.add_key("web2", "face")
    for name in ("cgi", "web2"):
        without_kind(s, name)
    s.base.restart()
    until("the cgi is let in by its name", s.up)
    mark = s.base.log.stat().st_size
    other = Thief(s, "web2")
    until("another is not", lambda: s.base.has(r"session\.refused .*name=web2 code=PEER", mark))
    done = s.run([*s.base.argv, "key-kind", "web2", "face"])
    assert done.returncode == 0 and not done.stdout, done
    s.base.proc.send_signal(signal.SIGHUP)
    until("now it is", lambda: s.base.has(r"session\.greeted .*name=web2 role=3", mark))
    until("and serves", lambda: other.ask("GET", "/api/v1/server")[0] == 200)
    for words in (["key-kind", "web2"], ["key-kind", "web2", "king"], ["key-add", "x", "king"], ["key-kind", "nobody", "face"]):
        assert s.run([*s.base.argv, *words]).returncode != 0, words


@test
def a_broker_that_was_here_before_there_were_kinds_stays_one_and_becomes_nothing_else(s):
    s.add_broker("veteran")
    s.brokers["veteran"].stop()
    without_kind(s, "veteran")
    s.base.stop()
    with sqlite3.connect(s.dir / "base" / "sirdar.db") as db:
        db.execute("DROP TABLE lb_peer")
        db.execute("DROP TABLE lb_trust")
        db.execute("DROP TABLE lb_exposed")
        db.execute("DROP TABLE lb_factor")
        db.execute("DROP TABLE lb_session")  # 0027
        db.execute("ALTER TABLE lb_command DROP COLUMN projects")  # 0028
        for table in ("channel", "oncall", "rule"):  # 0029
            db.execute(f"DROP TABLE lb_{table}")
        for column in ("zone", "grain", "quarantined_us"):  # 0021, 0023
            db.execute(f"ALTER TABLE lb_task DROP COLUMN {column}")
        for table in ("lb_task_run", "lb_task_run_history"):  # 0024
            for column in ("looks", "kept_number"):
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        db.execute("DELETE FROM lb_migration WHERE number >= 20")
        db.execute("PRAGMA user_version = 19")
    db.close()
    s.base.start()
    until("the cgi is let in", s.up)
    row = s.get("/api/v1/peers/veteran")
    assert (row["kind"], row["by"], row["state"]) == ("broker", "document", "active"), row
    mark = s.base.log.stat().st_size
    Thief(s, "veteran")
    until("it is no client", lambda: s.base.has(r"session\.refused .*name=veteran code=PEER .*kind broker", mark))
    s.brokers["veteran"].start()
    s.wait_broker("veteran", ["shell"])
    s.brokers["veteran"].stop()


@test
def hello_only_narrows_the_groups_and_types_of_the_document(s):
    s.add_key("bound")
    s.sirdar("peer", "set", "bound", "--kind", "broker", "--group", "etl", "--group", "night", "--type", "noop")
    mark = s.base.log.stat().st_size
    s.add_broker_of("bound", groups="secure")
    until("a foreign group is refused", lambda: s.base.has(
        r"session\.refused .*name=bound code=PEER .*group 'secure', its document has etl, night: .*peer set bound --group", mark))
    assert not s.base.has(r"session\.greeted .*name=bound", mark), s.base.tail()
    s.brokers["bound"].stop()
    mark = s.base.log.stat().st_size
    s.add_broker_of("bound", types=("noop:4", "shell:4"), groups="etl")
    s.wait_broker("bound", ["noop"])
    until("a foreign type is refused", lambda: s.base.has(r"session\.refused .*name=bound code=PEER .*type 'shell'", mark))
    assert not s.base.has(r"session\.greeted .*name=bound .*type=shell", mark), s.base.tail()
    broker = next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "bound")
    assert broker["groups"] == ["etl"], broker
    # A document that becomes narrower ends what it does not hold any more.
    s.sirdar("peer", "set", "bound", "--group", "night")
    until("its sessions end", lambda: s.base.has(r"session\.end .*name=bound .*code=PEER .*group 'etl'", mark))
    s.sirdar("peer", "set", "bound", "--group", "", "--type", "")
    s.wait_broker("bound", ["noop", "shell"])
    s.brokers["bound"].stop()


def refusals(s, name):
    b = next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == name)
    return {t["type"]: t["barred"] for t in b["types"] if t["barred"]} | ({"": b["barred"]} if b["barred"] else {})


@test
def that_a_broker_or_a_loader_is_not_let_in_is_shown_where_people_look(s):
    s.add_broker("shut", groups="shut", types=("shell:4", "noop:4"))
    s.apply("workflow: shut\nproject: etl\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\ndefaults: {cycle: once}\n"
            "tasks:\n  t: {type: shell, group: shut, params: {script: 'true'}}\n", **{"from": "2026-01-01"})
    s.wait_state("etl/shut/t", "2026-01-01T00:00:00Z", ("Succ",), 60)
    s.sirdar("peer", "set", "shut", "--type", "noop")
    until("the loader is shown", lambda: "shell" in refusals(s, "shut"))
    assert list(refusals(s, "shut")) == ["shell"] and "may not be of type 'shell'" in refusals(s, "shut")["shell"]
    assert "the loader of task type shell is not let in" in s.sirdar("broker", "list").stdout
    s.sirdar("redo", "etl/shut/t", "2026-01-01", "--yes")
    said = until("why says it", lambda: re.search(r"shut has task type shell and is not let in: .*", s.sirdar("why", "etl/shut/t", "2026-01-01").stdout))
    assert "peer set shut --type" in said[0], said[0]
    s.sirdar("peer", "set", "shut", "--group", "elsewhere", "--type", "")
    until("the broker is shown", lambda: "may not be of group 'shut'" in refusals(s, "shut").get("", ""))
    assert "shut is not let in" in s.sirdar("broker", "list").stdout
    s.base.restart()  # nobody knows it now: who asks again is shown again
    until("the cgi is back", s.up)
    until("it asked again", lambda: "" in refusals(s, "shut"), 120)
    s.sirdar("peer", "set", "shut", "--group", "")
    s.wait_state("etl/shut/t", "2026-01-01T00:00:00Z", ("Succ",), 120)
    until("nothing is left of it", lambda: not refusals(s, "shut"))
    s.brokers["shut"].stop()


@test
def revoking_a_face_ends_its_open_session_at_once_and_it_does_not_come_back(s):
    s.add_key("web3", "face")
    thief = Thief(s, "web3", until_up=True)
    assert thief.ask("POST", "/api/v1/users", {"user": "before", "role": "viewer", "password": "a long password 1"})[0] == 200
    mark = s.base.log.stat().st_size
    s.sirdar("peer", "revoke", "web3")
    status, answer = thief.ask("POST", "/api/v1/users", {"user": "after", "role": "admin", "password": "a long password 1"})
    assert status == 503, (status, answer)
    until("its session is over", lambda: s.base.has(r"session\.end .*name=web3 .*code=PEER .*revoked", mark))
    until("it tried again", lambda: s.base.has(r"session\.refused .*name=web3 code=PEER .*revoked[\s\S]*session\.refused .*name=web3", mark))
    assert "after" not in people(s) and "before" in people(s)
    assert s.get("/api/v1/peers/web3")["state"] == "revoked"
    audit = s.get("/api/v1/audit?limit=50")["items"]
    assert any(r["action"] == "save peer" and "web3" in str(r) for r in audit), audit
    # Neither a restart nor another change of the document lets it in; saying so does.
    s.base.restart()
    until("the cgi is back", s.up)
    s.sirdar("peer", "set", "web3", "--kind", "face")
    assert s.get("/api/v1/peers/web3")["state"] == "revoked"
    assert thief.ask("GET", "/api/v1/server")[0] == 503
    s.sirdar("peer", "set", "web3", "--state", "active")
    until("it is in", lambda: thief.ask("GET", "/api/v1/server")[0] == 200, 120)


@test
def who_would_shut_out_the_last_face_is_told_before_it_is_done(s):
    others = [p["peer"] for p in s.get("/api/v1/peers")["peers"] if p["kind"] == "face" and p["state"] == "active" and p["peer"] != "cgi"]
    for name in others:
        s.sirdar("peer", "revoke", name)
    for words in (("revoke", "cgi"), ("set", "cgi", "--kind", "broker")):
        said = s.sirdar("peer", *words, expect=1).stderr
        assert "nobody could sign in" in said and "--kind face" in said, said
    for path, body in (("/api/v1/peers/cgi/revoke", {}), ("/api/v1/peers", {"peer": "cgi", "kind": "client"})):
        status, answer = s.ask("POST", path, body)
        assert status == 409 and "nobody could sign in" in str(answer), (path, status, answer)
    assert s.get("/api/v1/peers/cgi")["state"] == "active" and s.up()
    assert s.sirdar("peer", "set", "cgi", "--project", "").stdout == "cgi set\n"
    assert "what of it?" in s.sirdar("peer", "set", "cgi", expect=2).stderr
    for name in others:
        s.sirdar("peer", "set", name, "--state", "active")


@test
def a_peer_whose_time_is_over_is_listed_as_expired(s):
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
    s.sirdar("peer", "set", "late", "--kind", "client", "--expires", soon)

    def line():
        return next(line for line in s.sirdar("peer", "list").stdout.splitlines() if line.startswith("late "))
    until("it is over", lambda: "expired" in line() and "active" not in line())
    for words in (("set", "late"), ("invite", "later", "--kind", "client")):
        said = s.sirdar("peer", *words, "--expires", "2020-01-01T00:00:00Z", expect=None)
        assert said.returncode != 0 and "past" in said.stderr, said


@test
def an_end_that_a_list_prints_is_taken(s):
    s.sirdar("peer", "set", "ends", "--kind", "client", "--expires", "2099-03-01T08:30:00+01:00")
    printed = re.search(r"^ends .*?(2099-\S+ ?\S*Z)", s.sirdar("peer", "list").stdout, re.M)[1]
    before = s.get("/api/v1/peers/ends")["expires"]
    s.sirdar("peer", "set", "ends", "--expires", printed)
    assert s.get("/api/v1/peers/ends")["expires"] == before


@test
def a_word_that_is_no_kind_and_a_kind_that_was_said_are_told(s):
    base = s.argv("baseserver", s.base_sets)
    wrong = s.run([*base, "key-add", "typo", "brokr"])
    assert wrong.returncode == 64 and "'brokr' is no kind" in wrong.stderr and not wrong.stdout, wrong
    assert not any(p["peer"] == "typo" for p in s.get("/api/v1/peers")["peers"])
    s.add_key("changes")
    done = s.run([*base, "key-kind", "changes", "client"])
    assert done.returncode == 0 and "changes is a client" in done.stderr and "SIGHUP" in done.stderr and "document" in done.stderr, done
    many = s.run([*base, "key-kind", "changes", "client", "more"])
    assert many.returncode == 64 and "'more'" in many.stderr, many


@test
def revoking_a_broker_ends_the_sessions_of_its_loaders_too_and_it_is_off_line(s):
    s.add_broker("gone", groups="gone", types=("shell:4",))
    mark = s.base.log.stat().st_size
    s.sirdar("peer", "revoke", "gone")
    for role in ("1", "2"):
        number = s.base.has(rf"session\.greeted .*name=gone role={role} .*session=(\d+)")[1]
        until("the session ends", lambda n=number: s.base.has(rf"session\.end .*name=gone session={n} code=PEER", mark))
    until("it is off line", lambda: not next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "gone")["online"])
    s.brokers["gone"].stop()


def turned(s, name):
    return [r for r in s.get("/api/v1/peers")["refused"] if r["peer"] == name]


@test
def who_was_turned_away_and_never_let_in_is_listed_with_why_and_from_where(s):
    assert not turned(s, "stranger") and not turned(s, "odd")
    (s.dir / "stranger.key").touch(0o600)
    (s.dir / "stranger.key").write_text("stranger:" + "ab" * 32 + "\n")
    s.add_broker_of("stranger")  # a key that the server has not
    row = until("it is listed", lambda: [r for r in s.get("/api/v1/peers")["refused"] if "stranger" in r["why"]])[0]
    assert row["address"] == "127.0.0.1" and row["code"] == "AUTH" and row["times"] >= 1, row
    s.brokers["stranger"].stop()
    s.sirdar("peer", "set", "odd", "--kind", "client")
    s.add_key("odd", "client")
    s.add_broker_of("odd")  # a key of another kind
    row = until("it is listed", lambda: turned(s, "odd"))[0]
    assert row["code"] == "PEER" and "kind client" in row["why"] and "peer set odd --kind broker" in row["why"], row
    until("each time counts, in one row", lambda: turned(s, "odd")[0]["times"] >= 3)
    assert len(turned(s, "odd")) == 1
    shown = s.sirdar("peer", "list").stdout
    assert "Turned away" in shown and "peer set odd --kind broker" in shown, shown
    s.sirdar("peer", "set", "odd", "--kind", "broker")
    until("it is let in, and nothing is said of it any more", lambda: not turned(s, "odd"))
    s.brokers["odd"].stop()


@test
def no_number_of_strangers_makes_the_list_longer(s):
    for i in range(80):
        with contextlib.suppress(Gone):
            Peer(s, f"nobody{i}", psk=bytes(32)).close()
    rows = s.get("/api/v1/peers")["refused"]
    assert 1 <= len(rows) <= 64, len(rows)


@test
def a_key_that_is_taken_out_or_replaced_takes_its_open_session_with_it(s):
    s.add_key("web4", "face")
    thief = Thief(s, "web4", until_up=True)
    assert thief.ask("GET", "/api/v1/server")[0] == 200
    lines = read_keys(s)
    kept = [line for line in lines if not line.startswith("web4:")]
    for change in (kept, [*kept, "web4:" + "ab" * 32 + ":face"]):
        mark = s.base.log.stat().st_size
        write_keys(s, change)
        s.base.proc.send_signal(signal.SIGHUP)
        until("its session ends", lambda m=mark: s.base.has(r"session\.end .*name=web4 .*code=PEER .*not in keys_file", m))
        assert thief.ask("POST", "/api/v1/users", {"user": "late", "role": "admin", "password": "a long password 1"})[0] == 503
        write_keys(s, lines)
        s.base.proc.send_signal(signal.SIGHUP)
        until("with its key it is back", lambda: thief.ask("GET", "/api/v1/server")[0] == 200, 120)
    assert "late" not in people(s)


@test
def a_peer_that_expires_is_sent_away_when_its_time_has_come(s):
    s.add_key("guest", "face")
    for wrong in ("tomorrow", "2026-01-01T00:00:00"):
        assert s.sirdar("peer", "set", "guest", "--expires", wrong, expect=None).returncode != 0
    thief = Thief(s, "guest", until_up=True)
    mark = s.base.log.stat().st_size
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
    s.sirdar("peer", "set", "guest", "--expires", soon)
    until("its session ends", lambda: s.base.has(r"session\.end .*name=guest .*code=PEER .*expired", mark))
    assert s.get("/api/v1/peers/guest")["state"] == "expired"
    assert thief.ask("GET", "/api/v1/server")[0] == 503
    s.sirdar("peer", "set", "guest", "--expires", "never")
    until("it is in", lambda: thief.ask("GET", "/api/v1/server")[0] == 200, 120)


@test
def only_an_administrators_session_sets_or_revokes_a_peer(s):
    s.ask("POST", "/api/v1/users", {"user": "op", "role": "operator", "password": "a long password 1"})
    for who, path, body in (("op", "/api/v1/peers", {"peer": "b1", "kind": "face"}), ("op", "/api/v1/peers/b1/revoke", None)):
        status, answer = s.as_person(who, "a long password 1", "POST", path, body)
        assert status == 403, (path, status, answer)
    assert s.as_person("op", "a long password 1", "GET", "/api/v1/peers")[0] == 403
    refusals = (({"peer": "nobody"}, "peer-revoke"), ({"peer": "b1", "kind": "king"}, "peer-set"), ({"peer": "b1", "groups": ["a b"]}, "peer-set"),
                ({"peer": "notifier", "projects": ["retail"]}, "peer-set"), ({"peer": "cgi", "groups": ["etl"]}, "peer-set"),
                ({"peer": "b1", "state": "revoked"}, "peer-set"), ({"peer": "fresh"}, "peer-set"))
    for args, kind in refusals:
        status, answer = s.ask("POST", "/api/v1/commands", {"kind": kind, "args": args})
        assert status in (400, 404), (kind, args, status, answer)
    assert s.get("/api/v1/peers/b1")["kind"] == "broker"
    assert s.ask("GET", "/api/v1/peers/nobody")[0] == 404


def site():
    return Site("peers").start()


if __name__ == "__main__":
    sys.exit(main(site))
