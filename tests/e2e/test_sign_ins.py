#!/usr/bin/env python3
"""Sign-ins, failed ones and denials in the audit: joined by person, network and outcome, bounded however many there are, told by
the face under its own name only. And while strangers try passwords from everywhere, whoever knows his own gets in. TAP."""
import collections
import http.client
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402
from peer import Face  # noqa: E402

WORD, TRIES = "a long password 1", 10000


def user(s, name, **more):
    status, answer = s.ask("POST", "/api/v1/users", {"user": name, "password": WORD, **more})
    assert status == 200, (status, answer)


class Client:
    """One connection through the trusted proxy, from whatever address."""

    def __init__(self, s):
        self.s, self.conn = s, http.client.HTTPConnection("127.0.0.1", s.http, timeout=120)

    def ask(self, method, path, body=None, address="198.51.100.7", **head):
        head = {"Content-Type": "application/json", "X-Forwarded-For": address, "X-Forwarded-Proto": "http", **head}
        self.conn.request(method, path, json.dumps(body) if body is not None else None, head)
        answer = self.conn.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")

    def login(self, name, password, address="198.51.100.7"):
        return self.ask("POST", "/api/v1/login", {"user": name, "password": password}, address)


def commands(s):
    """What the audit has of them, newest first: (actor, arguments)."""
    rows = s.get("/api/v1/audit?order=desc&limit=200&action=sign-ins")["items"]
    return [(r["actor"], json.loads(r["detail"])) for r in rows]


def told(s):
    """{(who, network, outcome): count} of all of them."""
    sums = collections.Counter()
    for _, args in commands(s):
        for r in args["rows"]:
            sums[r["who"], r["network"], r["outcome"]] += r["count"]
        for outcome, count in args.get("left_out", {}).items():
            sums["left out", "", outcome] += count
    return sums


@test
def who_signs_in_who_fails_and_who_is_denied_is_in_the_audit(s):
    user(s, "ann", role="viewer", projects=["*"])
    c = Client(s)
    for _ in range(3):
        assert c.login("ann", "wrong wrong wrong", "203.0.113.5")[0] == 401
    status, mine = c.login("ann", WORD, "203.0.113.77")
    assert status == 200, mine
    assert c.login("ann", WORD, "192.0.2.1")[0] == 200
    _, token = c.ask("POST", "/api/v1/login", {"user": "ann", "password": WORD, "name": "anns"}, "192.0.2.1")
    for _ in range(4):
        assert c.ask("GET", "/api/v1/users", address="192.0.2.9", Authorization=f"Bearer {token['token']}")[0] == 403
    until("the audit has them", lambda: told(s)["ann/anns", "192.0.2.0", "denied"] == 4)
    sums = told(s)
    assert sums["ann", "203.0.113.0", "wrong"] == 3 and sums["ann", "203.0.113.0", "in"] == 1, sums
    assert sums["ann", "192.0.2.0", "in"] == 2, sums
    assert {a for a, _ in commands(s)} == {"peer:cgi"}
    assert any(r.get("route") == "GET /api/v1/users" for _, args in commands(s) for r in args["rows"])
    shown = s.sirdar("audit", "list", "--action", "sign-ins").stdout
    assert "203.0.113.0" in shown and "wrong" in shown, shown


@test
def a_name_that_is_nobodys_is_not_kept_for_it_may_be_a_password(s):
    c = Client(s)
    assert c.login("my secret passphrase", WORD, "203.0.114.5")[0] == 401
    until("the audit has it", lambda: told(s)["", "203.0.114.0", "wrong"] == 1)
    assert "passphrase" not in json.dumps(commands(s))


@test
def ten_thousand_failed_logins_are_few_rows_and_what_had_no_room_is_counted(s):
    user(s, "bob", role="viewer")
    user(s, "cai", role="viewer")
    before, began = told(s), len(commands(s))

    def storm(part):
        c = Client(s)
        for i in range(TRIES // 4):
            n = part * TRIES + i
            c.login(("bob", f"nobody {n}")[i % 2], "wrong wrong wrong", f"10.{part}.{i % 3}.{i % 2 + 1}")
    threads = [threading.Thread(target=storm, args=(p,)) for p in range(4)]
    for t in threads:
        t.start()
    c = Client(s)
    assert c.login("cai", WORD, "192.0.2.1")[0] == 200, "meanwhile others sign in"
    for t in threads:
        t.join()
    until("all are told", lambda: sum((told(s) - before).values()) == TRIES + 1, 120)
    new = commands(s)[:len(commands(s)) - began]
    assert all(len(args["rows"]) <= 200 for _, args in new), new
    assert len({(r["who"], r["network"], r["outcome"]) for _, a in new for r in a["rows"]}) <= 1 + 4 * 3 * 2 * 2, "of three networks a part, two names, two outcomes"
    assert (told(s) - before)["cai", "192.0.2.0", "in"] == 1


@test
def while_strangers_try_passwords_from_many_networks_at_once_who_knows_his_own_gets_in(s):
    user(s, "dee", role="viewer")
    before, gone, seen = told(s), threading.Event(), collections.Counter()

    def storm(part):
        c = Client(s)
        for i in range(1000):
            if gone.is_set():
                return
            seen[c.login(f"nobody {part} {i}", "wrong wrong wrong", f"10.{part + 20}.{i % 250}.1")[0]] += 1
    threads = [threading.Thread(target=storm, args=(p,)) for p in range(24)]
    for t in threads:
        t.start()
    until("the storm is there", lambda: sum(seen.values()) > 48, 60)
    got = []
    try:
        for _ in range(3):
            got.append(Client(s).login("dee", WORD, "192.0.2.5")[0])
    finally:
        gone.set()
        for t in threads:
            t.join()
    assert got == [200] * 3, got
    assert seen[401] and not seen[503], seen
    until("all are told", lambda: sum((told(s) - before).values()) == sum(seen.values()) + len(got))


@test
def more_networks_than_there_are_rows_for_push_nobody_out_who_signed_in(s):
    user(s, "bob", role="viewer")
    before, c = told(s), Client(s)
    assert c.login("bob", WORD, "192.0.2.77")[0] == 200
    for i in range(120):
        c.login("bob", "wrong wrong wrong", f"172.{i // 100 + 16}.{i % 100}.1")
    until("all are told", lambda: sum((told(s) - before).values()) == 121)
    new = told(s) - before
    assert new["bob", "192.0.2.0", "in"] == 1, new


@test
def nobody_but_a_face_under_its_own_name_tells_of_sign_ins(s):
    rows = [{"who": "eve", "network": "10.9.9.0", "outcome": "in", "count": 1}]
    with Face(s) as f:
        assert f.command("ann", "sign-ins", rows=rows) != "" and f.command("admin", "sign-ins", rows=rows) != ""
        assert f.command("", "pool-set", pool="x", size=1) != ""
        for wrong in ([{"outcome": "in"}], [{"who": "eve", "outcome": "well", "count": 1}], [{**rows[0], "who": "e" * 200}], rows * 201,
                      [{**rows[0], "more": 1}]):
            assert f.command("", "sign-ins", rows=wrong) != "", wrong
        assert f.command("", "sign-ins", rows=rows) == ""
        assert commands(s)[0][0] == "peer:liar"
    status, answer = s.ask("POST", "/api/v1/commands", {"kind": "sign-ins", "args": {"rows": rows}})
    assert status == 400, (status, answer)


@test
def what_was_not_told_while_no_server_answered_is_told_afterwards_once(s):
    s.base.stop()
    c = Client(s)
    for _ in range(2):
        assert c.login("admin", "wrong wrong wrong", "203.0.115.1")[0] == 401
    s.base.start()
    until("it is told", lambda: told(s)["admin", "203.0.115.0", "wrong"] == 2, 60)


def site():
    s = Site("signs")
    s.cgi.argv += ["--set", "trusted_proxies=127.0.0.1", "--set", "sign_ins_ms=1000"]
    return s.start_as_earlier()


if __name__ == "__main__":
    sys.exit(main(site))
