#!/usr/bin/env python3
"""Sessions are the server's: it mints, keeps and judges them. A face that was taken over (tests/e2e/peer.py: a valid key, python)
acts for nobody whose session or token it does not hold, now. TAP."""
import http.client
import json
import os
import sqlite3
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402
from peer import Face  # noqa: E402

WORD = "a long password 1"
AUTH, FORBIDDEN, LIMIT, BUSY = "AUTH", "FORBIDDEN", "LIMIT", "BUSY"
SECRET = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2E$RdescudvJCsgt3ub+b5dWRWJTmaaJObG"


def names_of_errors():
    import pathlib
    import re
    text = (pathlib.Path(__file__).resolve().parents[2] / "schema" / "tbl" / "err.def").read_text()
    return {-int(n): name for name, n in re.findall(r"^ERR\((\w+),\s*(\d+)", text, re.M)}


ERRORS = names_of_errors()


def user(s, name, **more):
    status, answer = s.ask("POST", "/api/v1/users", {"user": name, "password": WORD, "role": "operator", "projects": ["*"], **more})
    assert status == 200, (status, answer)


class Browser:
    """Of one face, by its port: cookie and CSRF token as it was given them."""

    def __init__(self, port, name=None, password=WORD, cookie=None):
        self.port, self.cookie, self.csrf = port, cookie, None
        if name:
            status, answer = self.ask("POST", "/api/v1/login", {"user": name, "password": password})
            assert status == 200, (status, answer)
            self.csrf = answer["csrf"]

    def ask(self, method, path, body=None):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        head = {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{self.port}"}
        head |= {"Cookie": f"sirdar={self.cookie}"} if self.cookie else {}
        head |= {"X-CSRF-Token": self.csrf} if self.csrf else {}
        conn.request(method, path, json.dumps(body) if body is not None else None, head)
        answer = conn.getresponse()
        text, cookie = answer.read(), answer.getheader("Set-Cookie") or ""
        conn.close()
        if cookie.startswith("sirdar="):
            self.cookie = cookie.partition("=")[2].partition(";")[0]
        return answer.status, json.loads(text or b"{}")

    def status(self):
        status, answer = self.ask("GET", "/api/v1/session")
        if status == 200:
            self.csrf = answer["csrf"]
        return status

    def pool(self, name):
        return self.ask("POST", "/api/v1/commands", {"kind": "pool-set", "args": {"pool": name, "size": 2}})


def refused(answer, name):
    code, why = answer
    assert ERRORS.get(code) == name, (code, ERRORS.get(code), why)
    return why


def pools(s):
    return str(s.get("/api/v1/pools"))


@test
def a_face_that_invents_an_actor_acts_for_nobody(s):
    status, made = s.ask("POST", "/api/v1/login", {"user": "ann", "password": WORD, "name": "anns"})
    assert status == 200, made
    assert s.ask("POST", "/api/v1/apps", {"name": "wheel", "role": "operator", "projects": ["*"]})[0] in (200, 201, 403)
    with Face(s) as f:
        for actor in ("ann", "ada", "ann/anns"):
            refused(f.command_by("", actor, "pool-set", pool="invented", size=2), AUTH)
        for made_up in ("x", "sirdar_" + "A" * 43, "A" * 43, "'", "0" * 64):
            refused(f.command_by(made_up, "ada", "pool-set", pool="invented", size=2), AUTH)
            refused(f.command_by(made_up, "admin", "pool-set", pool="invented", size=2), AUTH)
    assert "invented" not in pools(s)


@test
def what_the_credential_says_counts_and_not_the_name_beside_it(s):
    user(s, "vera", role="viewer")
    with Face(s) as f:
        mine = f.sign_in("vera", WORD)[1]["session"]
        for actor in ("ada", "admin", "vera", ""):
            why = refused(f.command_by(mine, actor, "pool-set", pool="borrowed", size=2), FORBIDDEN)
            assert "vera" in why and "viewer" in why, why
        assert f.command_by(f.sign_in("ann", WORD)[1]["session"], "ada", "pool-set", pool="anns", size=2)[0] == 0
    row = s.get("/api/v1/audit?order=desc&limit=5&action=pool-set")["items"][0]
    assert row["actor"] == "ann" and json.loads(row["detail"])["face"] == "liar", row


@test
def what_the_store_has_of_a_session_lets_nobody_in(s):
    page = Browser(s.http, "ann")
    with sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True) as db:
        bodies = dict(db.execute("SELECT name, body FROM lb_session"))
    rows = json.loads(bodies["ann"])["sessions"]
    assert page.cookie not in str(bodies)
    with Face(s) as f:
        for row in rows:
            for stolen in (row["hash"], row["id"]):
                refused(f.command_by(stolen, "ann", "pool-set", pool="stolen", size=2), AUTH)
                assert Browser(s.http, cookie=stolen).status() == 401
    assert "stolen" not in pools(s)


@test
def a_session_of_one_face_is_good_at_another_and_its_end_is_its_end_at_both(s):
    second = s.second_cgi()
    page = Browser(s.http, "ann")
    there = Browser(second, cookie=page.cookie)
    until("the other face has read it", lambda: there.status() == 200)
    status, answer = there.pool("of_both")
    assert status == 202, answer
    shown = there.ask("GET", "/api/v1/sessions")[1]["sessions"]
    assert [x["own"] for x in shown].count(True) == 1, shown
    with Face(s) as f:  # it passes through that one, too: nothing else makes it act for her
        assert f.command_by(page.cookie, "", "pool-set", pool="of_three", size=2)[0] == 0
        assert there.ask("POST", "/api/v1/logout")[0] == 200
        refused(f.command_by(page.cookie, "ann", "pool-set", pool="after", size=2), AUTH)
    status, answer = page.pool("after")
    assert status == 401, (status, answer)
    until("the first one has heard of it", lambda: page.status() == 401)
    # An administrator ends at one what began at the other.
    other = Browser(second, "ann")
    assert s.ask("DELETE", "/api/v1/users/ann/sessions")[1]["ended"] >= 1
    assert other.pool("after")[0] == 401 and "after" not in pools(s)


@test
def a_session_that_was_ended_is_not_taken_again(s):
    with Face(s) as f:
        mine = f.sign_in("ann", WORD)[1]["session"]
        assert f.command_by(mine, "ann", "pool-set", pool="before", size=2)[0] == 0
        status, answer = s.ask("DELETE", "/api/v1/users/ann/sessions")
        assert status == 200 and answer["ended"] >= 1, answer
        refused(f.command_by(mine, "ann", "pool-set", pool="replayed", size=2), AUTH)
        s.base.restart(hard=True)
        until("the face is let in", s.up)
    with Face(s) as f:
        refused(f.command_by(mine, "ann", "pool-set", pool="replayed", size=2), AUTH)
    assert "replayed" not in pools(s)


@test
def whoever_is_demoted_disabled_removed_or_has_another_password_is_out_in_that_commit(s):
    changes = {"demoted": {"role": "viewer"}, "disabled": {"disabled": True}, "reset": {"password": WORD + "2"}}
    with Face(s) as f:
        for name, change in {**changes, "removed": None}.items():
            user(s, name)
            mine = f.sign_in(name, WORD)[1]["session"]
            assert f.command_by(mine, name, "pool-set", pool=name, size=2)[0] == 0
            done = s.ask("PUT", f"/api/v1/users/{name}", change) if change else s.ask("DELETE", f"/api/v1/users/{name}")
            if done[0] == 405:
                done = s.ask("POST", "/api/v1/users", {"user": name, **change})
            assert done[0] == 200, done
            refused(f.command_by(mine, name, "pool-set", pool="too_late", size=2), AUTH)
        user(s, "removed")  # somebody else of that name
        refused(f.command_by(mine, "removed", "pool-set", pool="too_late", size=2), AUTH)
    assert "too_late" not in pools(s)


def listens(s, **head):
    """-> an open stream of events."""
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=120)
    link.request("GET", "/api/v1/events", headers=head)
    answer = link.getresponse()
    assert answer.status == 200, answer.status
    return answer


def is_over(stream):
    """Reads to its end; the socket's timeout is the bound."""
    while stream.readline():
        pass
    return True


@test
def an_open_stream_ends_with_what_let_it_in_and_no_others(s):
    user(s, "ear")
    user(s, "other")
    browser, other = Browser(s.http, "ear"), Browser(s.http, "other")
    one, beside = (listens(s, Cookie=f"sirdar={b.cookie}") for b in (browser, other))
    assert s.ask("DELETE", "/api/v1/users/ear/sessions")[1]["ended"] >= 1
    assert is_over(one) and browser.status() == 401
    assert other.pool("heard")[0] == 202
    until("the other one hears on", lambda: beside.readline().startswith(b"event: command"))
    browser = Browser(s.http, "ear")
    for end in (lambda: s.sirdar("user", "set", "ear", "--disable"), lambda: s.sirdar("user", "remove", "ear")):
        if browser.status() != 200:
            s.sirdar("user", "set", "ear", "--enable")
            browser = Browser(s.http, "ear")
        one = listens(s, Cookie=f"sirdar={browser.cookie}")
        end()
        assert is_over(one) and browser.status() == 401
    status, made = other.ask("POST", "/api/v1/tokens", {"name": "hears", "role": "viewer", "days": 1})
    assert status == 201, (status, made)
    one = listens(s, Authorization=f"Bearer {made['token']}")
    assert other.ask("DELETE", "/api/v1/tokens/hears")[0] == 200
    assert is_over(one)


@test
def sessions_outlive_the_server_and_who_never_signed_in_there_too(s):
    page = Browser(s.http, "ann")
    with Face(s) as f:
        mine = f.sign_in("ann", WORD)[1]["session"]
    s.base.restart(hard=True)
    until("the face is let in", s.up)
    status, answer = page.pool("after_a_crash")
    assert status == 202, answer
    with Face(s) as f:
        assert f.command_by(mine, "", "pool-set", pool="after_a_crash", size=3)[0] == 0


@test
def a_password_changes_for_who_has_shown_the_former_one_and_that_session_goes_on(s):
    user(s, "pia", role="viewer")
    with Face(s) as f:
        mine, other = (f.sign_in("pia", WORD)[1] for _ in range(2))
    s.base.restart(hard=True)  # nobody has proven anything to this one
    until("the face is let in", s.up)
    change = {"user": "pia", "secret": SECRET, "since": mine["since"]}
    with Face(s) as f:
        why = refused(f.command_by(mine["session"], "pia", "user-set", **change), AUTH)
        assert "password" in why, why
        refused(f.sign_in("pia", "wrong wrong wrong", credential=mine["session"]), AUTH)
        refused(f.command_by(mine["session"], "pia", "user-set", **change), AUTH)
        refused(f.sign_in("ann", WORD, credential=mine["session"]), AUTH)
        assert f.sign_in("pia", WORD, credential=mine["session"])[0] == 0
        refused(f.command_by(other["session"], "pia", "user-set", **change), AUTH)
        assert f.command_by(mine["session"], "pia", "user-set", **change)[0] == 0
        refused(f.command_by(other["session"], "pia", "preferences-set", user="pia", version=0, value="{}"), AUTH)
        assert f.command_by(mine["session"], "pia", "preferences-set", user="pia", version=0, value="{}")[0] == 0


@test
def what_was_proven_before_a_change_of_the_password_changes_nothing_after_it(s):
    user(s, "nils", role="viewer")
    with Face(s) as f:
        (_, one), (_, two), (_, brief) = f.sign_in("nils", WORD), f.sign_in("nils", WORD), f.sign_in("nils", WORD, brief=True)
        token = {"owner": "nils", "role": "viewer", "created": 1, "since": one["since"]}
        assert f.command_by(brief["session"], "", "token-set", token="early", hash="ab" * 32, **token)[0] == 0
        change = {"user": "nils", "secret": SECRET, "since": one["since"]}
        assert f.command_by(one["session"], "", "user-set", **change)[0] == 0
        refused(f.command_by(two["session"], "", "user-set", **change), AUTH)
        refused(f.command_by(brief["session"], "", "token-set", token="late", hash="ac" * 32, **token), AUTH)
        refused(f.sign_in("nils", WORD, credential=one["session"]), AUTH)
    assert not [t for t in s.get("/api/v1/tokens")["tokens"] if t["user"] == "nils"], "the old password's token goes on"


@test
def an_open_session_alone_gives_nobody_a_key_that_outlives_it(s):
    """A browser that was left open, or a face that was taken over: who has the session only makes no token of it, and no
    administrator's password or second factor."""
    user(s, "root", role="admin")
    user(s, "odo")
    page = {name: Browser(s.http, name) for name in ("root", "odo")}
    with Face(s) as f:
        made = {name: f.sign_in(name, WORD)[1] for name in ("root", "odo")}
    s.base.restart(hard=True)  # nobody has proven anything to this one
    until("the face is let in", s.up)
    for name, p in page.items():
        status, answer = p.ask("POST", "/api/v1/tokens", {"name": f"of-{name}", "days": 3000})
        assert status == 403 and answer["error"]["code"] == "PROOF", (status, answer)
    with Face(s) as f:
        for name, of in made.items():
            mine, change = of["session"], {"user": name, "secret": SECRET, "since": of["since"]}
            token = {"owner": name, "role": "viewer", "created": 1, "since": of["since"]}
            refused(f.command_by(mine, "", "token-set", token=f"by-{name}", hash="ab" * 32, **token), "PROOF")
            refused(f.command_by(mine, "", "user-set", **change), AUTH)
            refused(f.command_by(mine, "", "factor-begin", user=name, secret="JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"), AUTH)
    assert not [t for t in s.get("/api/v1/tokens")["tokens"] if t["user"] in made], "a session made a token"
    for name, p in page.items():
        assert p.ask("POST", "/api/v1/session/proof", {"password": WORD})[0] == 200
        assert p.ask("POST", "/api/v1/tokens", {"name": f"of-{name}"})[0] == 201


@test
def a_brief_sign_in_is_no_session_and_nobody_else_begins_one(s):
    with Face(s) as f:
        before = len(s.get("/api/v1/sessions?user=ann")["sessions"])
        brief = f.sign_in("ann", WORD, brief=True)[1]["session"]
        assert f.command_by(brief, "", "pool-set", pool="brief", size=2)[0] == 0
        until("nothing is kept of it", lambda: len(s.get("/api/v1/sessions?user=ann")["sessions"]) == before)
        for credential in ("", brief):
            answer = f.command_by(credential, "ann", "session-begin", user="ada", session="0" * 16, hash="ab" * 32, via="password",
                                  since=0, expires=4000000000)
            assert answer[0] != 0, answer
        for name in ("ada", "ann"):  # of others: none; one's own, no more than twenty
            answer = f.command_by(brief, "ann", "session-end", user=name, sessions=1, ids=["0" * 16])
            assert (answer[0] == 0) == (name == "ann"), answer


@test
def somebody_has_twenty_sessions_and_the_oldest_gives_way(s):
    user(s, "max")
    with Face(s) as f:
        all_of_his = [f.sign_in("max", WORD)[1]["session"] for _ in range(22)]
        taken = [f.command_by(c, "", "preferences-set", user="max", version=99, value="{}")[0] for c in all_of_his]
        assert [ERRORS.get(code) for code in taken] == [AUTH] * 2 + ["CONFLICT"] * 20, taken


@test
def a_face_asserts_people_of_directories_alone_and_no_administrator_that_it_may_not(s):
    s.sirdar("peer", "set", "narrow", "--kind", "face", "--asserts", "people")
    s.add_key("narrow", "face")
    for name, role in (("lea", "operator"), ("lou", "admin")):
        assert s.ask("POST", "/api/v1/users", {"user": name, "source": "ldap", "role": role, "projects": ["*"]})[0] == 200
    with Face(s) as wide, Face(s, "narrow") as f:
        s.believe("liar")
        for face in (wide, f):
            for name in ("ann", "ada", "nobody", "admin"):  # who has a password here is not vouched for
                refused(face.sign_in(name, via="ldap"), FORBIDDEN)
            refused(face.sign_in("lea", via="oidc"), FORBIDDEN)
            refused(face.sign_in("lea", WORD), AUTH)
            mine = face.sign_in("lea", via="ldap")[1]["session"]
            assert face.command_by(mine, "", "pool-set", pool="of_lea", size=2)[0] == 0
        refused(f.sign_in("lou", via="ldap"), FORBIDDEN)
        assert wide.sign_in("lou", via="ldap")[0] == 0
        s.sirdar("peer", "set", "narrow", "--asserts", "nobody")
        refused(f.sign_in("lea", via="ldap"), FORBIDDEN)


@test
def wrong_passwords_are_counted_by_person_and_network_over_all_faces(s):
    user(s, "tom")
    with Face(s) as f, Face(s, "liar2") as g:
        seen = [ERRORS.get(face.sign_in("tom", "wrong wrong wrong", address="203.0.113.9")[0]) for face in (f, g, f, g, f, g, f)]
        assert seen == [AUTH] * 5 + [LIMIT] * 2, seen
        assert ERRORS.get(f.sign_in("tom", WORD, address="203.0.113.77")[0]) == LIMIT, "the right one waits there, too"
        assert f.sign_in("tom", WORD, address="198.51.100.1")[0] == 0, "nobody is kept out from elsewhere"
        seen = [ERRORS.get(f.sign_in("nobody", WORD, address="203.0.113.9")[0]) for _ in range(6)]
        assert seen == [AUTH] * 5 + [LIMIT], "a name that is nobody's is answered as others are"


@test
def a_face_that_floods_sign_ins_waits_for_itself(s):
    with Face(s) as f:
        sent = 600
        for i in range(sent):
            f.number += 1
            args = {"user": "ann", "password": f"guess {i}", "via": "password", "address": f"10.{i % 250}.{i // 250}.1"}
            from keeper_client import field
            f.send("sign_in", field(1, f.number) + field(2, json.dumps(args)))
        mark = time.monotonic()
        page = Browser(s.http, "ann")  # by the other face, meanwhile
        waited = time.monotonic() - mark
        assert page.pool("meanwhile")[0] == 202
        left = sum(1 for _ in range(sent) if answered(f, left_out=False))
        assert left == sent, left
        codes = [ERRORS.get(c) for c in f.codes]
        assert set(codes) == {AUTH, BUSY}, set(codes)
        assert codes.count(BUSY) >= sent - 300, codes.count(BUSY)
        print(f"# a sign-in of another face meanwhile: {waited:.2f} s; judged {codes.count(AUTH)}, sent away {codes.count(BUSY)}")


def answered(f, left_out):
    from peer import code_of
    f.codes = getattr(f, "codes", [])
    f.codes.append(code_of(f.wait("answer", seconds=120), 2))
    return True


@test
def what_is_no_sign_in_is_refused_and_ends_nothing(s):
    from keeper_client import field
    with Face(s) as f:
        for args in ("", "{", "[]", "{}", '{"user": 1}', '{"user": "ann"}', '{"user": "ann", "password": 1}', json.dumps({"user": "a" * 300, "password": "x"}),
                     json.dumps({"user": "ann", "password": "x" * 4000}), '{"user": "ann", "password": "x", "via": "by heart"}'):
            code, _, _ = f.answer("sign_in", field(2, args))
            assert code != 0, args
        code, _, _ = f.answer("sign_in", field(2, "{}") + field(3, "x" * 1000))
        assert code != 0
        assert f.sign_in("ann", WORD)[0] == 0


@test
def a_cgi_of_the_release_before_leaves_admins_sessions_and_people_sign_in_once_more(s):
    page, first = Browser(s.http, "ann"), s.http
    s.cgi.stop()
    path = s.dir / "cgi" / "sessions"
    text = json.loads(path.read_text())
    for row in text["sessions"]:
        for key in ("server", "kept", "ended"):
            del row[key]
    path.write_text(json.dumps(text))
    with sqlite3.connect(s.dir / "base" / "sirdar.db") as db:
        assert db.execute("SELECT count(*) FROM lb_session").fetchone()[0] > 0
    mark = s.cgi.log.stat().st_size
    s.cgi.start()
    until("the server is known again", s.up)
    assert s.cgi.has(r"sessions\.former .*sign in once more", mark)
    assert page.status() == 200 and first, "this one the server knows all the same"
    assert Browser(s.http, "ann").pool("once_more")[0] == 202


class SessionSite(Site):
    def second_cgi(self):
        port = super().second_cgi()

        def up():
            try:
                return Browser(port, "ann").cookie
            except (OSError, AssertionError):
                return False
        until("the second face is let in", up)
        return port


def site():
    s = SessionSite("sessions").start().believe()
    user(s, "ann")
    user(s, "ada", role="admin")
    return s


if __name__ == "__main__":
    sys.exit(main(site))
