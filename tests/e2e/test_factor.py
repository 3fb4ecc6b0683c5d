#!/usr/bin/env python3
"""A second factor: set up, confirmed, shown at each sign-in, good once, bounded, recovered, removed, wanted by a setting; and that
its secret is nowhere but sealed in the store. Codes are made of the secret and the clock of this machine: of now or of the next step,
which a server takes for as long as a test may need. TAP."""
import base64
import hashlib
import hmac
import http.cookiejar
import json
import os
import pathlib
import re
import secrets
import sqlite3
import sys
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import OWN_WORD, Site, main, test, until  # noqa: E402
from peer import Face  # noqa: E402

PASSWORD = "a long password"


def code_of(secret, ahead=0):
    mac = hmac.new(base64.b32decode(secret), (int(time.time()) // 30 + ahead).to_bytes(8, "big"), hashlib.sha1).digest()
    at = mac[-1] & 15
    return f"{(int.from_bytes(mac[at:at + 4], 'big') & 0x7fffffff) % 1000000:06d}"


def wrong_of(secret):
    """A code that is none of those a server could take while this test runs."""
    near = {code_of(secret, n) for n in range(-3, 30)}
    return next(c for c in (f"{n:06d}" for n in range(1000)) if c not in near)


class Browser:
    def __init__(self, s, port=None):
        self.s, self.csrf, self.port = s, "", port or s.http
        self.cookies = http.cookiejar.CookieJar()
        self.jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def secret(self):
        """Of its session, as the cookie has it."""
        return next(c.value for c in self.cookies if c.name == "sirdar")

    def cookie(self, secret):
        """It has that session."""
        self.jar.addheaders = [("Cookie", f"sirdar={secret}")]

    def ask(self, method, path, body=None):
        root = f"http://127.0.0.1:{self.port}"
        head = {"Content-Type": "application/json", "Origin": root, **({"X-CSRF-Token": self.csrf} if self.csrf else {})}
        data = json.dumps(body).encode() if body is not None else None
        try:
            with self.jar.open(urllib.request.Request(root + path, data, head, method=method)) as r:
                return r.status, json.loads(r.read())
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read())["error"]

    def login(self, user, code=None, password=PASSWORD, **more):
        self.csrf = ""
        body = {"user": user, "password": password, **({"code": code} if code else {}), **more}
        status, answer = self.ask("POST", "/api/v1/login", body)
        if status == 200:
            self.csrf = answer.get("csrf", "")
        return status, answer

    def is_in(self):
        return self.ask("GET", "/api/v1/session")[0] == 200

    def enrol(self, password=PASSWORD):
        """-> secret, recovery codes. The code of now is spent; that of the next step is not."""
        status, made = self.ask("POST", "/api/v1/me/totp", {"password": password})
        assert status == 200, made
        status, answer = self.ask("POST", "/api/v1/me/totp/confirm", {"code": code_of(made["secret"])})
        assert status == 200, answer
        return made["secret"], answer["recovery_codes"]


def person(s, name, role="developer"):
    status, answer = s.ask("POST", "/api/v1/users", {"user": name, "role": role, "projects": ["*"], "password": PASSWORD})
    assert status == 200, answer
    b = Browser(s)
    assert b.login(name)[0] == 200
    return b


@test
def a_sign_in_wants_a_code_once_a_first_one_was_right_and_each_is_good_once(s):
    b, other = person(s, "ann"), Browser(s)
    assert other.login("ann")[0] == 200
    assert b.ask("GET", "/api/v1/me/totp") == (200, {"state": "none", "recovery_codes": 0, "must_enrol": False})
    assert b.ask("POST", "/api/v1/me/totp/confirm", {"code": "123456"})[0] == 404
    assert b.ask("POST", "/api/v1/me/totp", {"password": "another one"})[0] == 401
    status, made = b.ask("POST", "/api/v1/me/totp", {"password": PASSWORD})
    secret = made["secret"]
    assert status == 200 and made["url"].startswith("otpauth://totp/Sirdar:ann?secret=" + secret + "&issuer=Sirdar"), made
    assert b.ask("GET", "/api/v1/me/totp")[1]["state"] == "pending"
    assert Browser(s).login("ann")[0] == 200, "it counts for nothing before it was confirmed"
    assert b.ask("POST", "/api/v1/me/totp/confirm", {"code": wrong_of(secret)})[0] == 401
    spent = code_of(secret)
    status, answer = b.ask("POST", "/api/v1/me/totp/confirm", {"code": spent})
    assert status == 200 and len(set(answer["recovery_codes"])) == 10, answer
    assert b.ask("GET", "/api/v1/me/totp") == (200, {"state": "active", "recovery_codes": 10, "must_enrol": False})
    assert b.is_in() and not other.is_in(), "the session that showed it stays, others are over"
    assert b.ask("POST", "/api/v1/me/totp", {"password": PASSWORD})[0] == 409
    assert b.ask("POST", "/api/v1/me/totp/confirm", {"code": code_of(secret, 1)})[0] == 409

    late = Browser(s)
    status, answer = late.login("ann")
    assert status == 401 and answer["code"] == "FACTOR" and answer["place"] == "code", answer
    assert not late.is_in()
    status, answer = late.login("ann", spent)
    assert status == 401 and answer["code"] == "AUTH" and answer["place"] == "code", answer
    fresh = code_of(secret, 1)
    assert late.login("ann", fresh)[0] == 200 and late.is_in()
    assert Browser(s).login("ann", fresh)[0] == 401
    assert Browser(s).login("ann", code_of(secret), password="another one")[0] == 401
    assert s.get("/api/v1/users/ann")["second_factor"] is True


@test
def sessions_and_spent_codes_outlive_a_restart_of_both(s):
    b = person(s, "bea")
    secret, _ = b.enrol()
    fresh = code_of(secret, 1)
    assert Browser(s).login("bea", fresh)[0] == 200
    s.base.restart(hard=True)
    s.cgi.restart()
    until("the cgi has it again", s.up)
    until("the people are read", lambda: b.ask("GET", "/api/v1/session")[0] != 503)
    assert b.is_in()
    assert Browser(s).login("bea")[1]["code"] == "FACTOR"
    assert Browser(s).login("bea", fresh)[0] == 401


@test
def a_recovery_code_is_good_once_however_it_is_typed(s):
    b = person(s, "cid")
    _, codes = b.enrol()
    one = Browser(s)
    assert one.login("cid", codes[0].lower().replace("-", " "))[0] == 200
    assert Browser(s).login("cid", codes[0])[0] == 401
    assert Browser(s).login("cid", codes[1])[0] == 200
    assert one.ask("GET", "/api/v1/me/totp")[1]["recovery_codes"] == 8


@test
def guesses_are_bounded_by_the_server_wherever_they_come_from(s):
    b = person(s, "dan")
    secret, codes = b.enrol()
    bad = wrong_of(secret)
    answers = [Browser(s).login("dan", bad)[0] for _ in range(5)]
    assert answers == [401] * 5, answers
    until("the next ones wait", lambda: Browser(s).login("dan", bad)[0] == 429)
    status, answer = Browser(s).login("dan", codes[0])
    assert status == 429, (status, answer)
    with Face(s) as face:
        face.secrets["dan"] = b.secret()
        told = face.command("dan", "factor-use", user="dan", code=codes[0])
        assert "too many wrong codes" in str(told), told
    assert b.is_in(), "whoever is signed in stays"


@test
def it_is_removed_with_password_and_code_or_by_an_administrator(s):
    b = person(s, "eve")
    secret, codes = b.enrol()
    other = Browser(s)
    assert other.login("eve", codes[0])[0] == 200
    gone = "/api/v1/me/totp/remove"
    assert b.ask("POST", gone, {"password": PASSWORD})[0] == 400
    assert b.ask("POST", gone, {"password": "another one", "code": codes[1]})[0] == 401
    assert b.ask("POST", gone, {"password": PASSWORD, "code": codes[0]})[0] == 401
    assert b.ask("POST", gone, {"password": PASSWORD, "code": codes[1]})[0] == 200
    assert b.is_in() and not other.is_in() and Browser(s).login("eve")[0] == 200
    _, codes = b.enrol()
    assert s.ask("DELETE", "/api/v1/users/nobody/totp")[0] == 404
    s.sirdar("user", "totp-reset", "eve")
    assert not b.is_in() and b.login("eve")[0] == 200
    told = str(s.get("/api/v1/audit?limit=50"))
    assert "factor-confirm" in told and "factor-remove" in told, told


@test
def nobody_touches_that_of_others_and_no_token_does(s):
    b, admin = person(s, "fay"), person(s, "root2", role="admin")
    made = b.ask("POST", "/api/v1/tokens", {"name": "fay-token", "role": "developer"})[1]["token"]
    secret, codes = b.enrol()
    admin.enrol()
    assert b.ask("DELETE", "/api/v1/users/root2/totp")[0] == 403
    assert admin.ask("DELETE", "/api/v1/users/root2/totp")[0] == 409, "his own, unproven"
    for kind in ("factor-begin", "factor-confirm", "factor-use", "factor-remove"):
        status, answer = admin.ask("POST", "/api/v1/commands", {"kind": kind, "args": {"user": "fay", "code": codes[0]}})
        assert status in (400, 403, 404), (kind, status, answer)
    with Face(s) as face:
        face.secrets.update({"fay": b.secret(), "fay/fay-token": made})
        assert "factor-remove" in str(face.command("fay", "factor-remove", user="fay"))
        assert "factor-use" in str(face.command("fay", "factor-use", user="root2", code="000000"))
        assert "token" in str(face.command("fay/fay-token", "factor-remove", user="fay", code=codes[0]))
    was, s.token = s.token, made
    s.link = None
    assert s.ask("GET", "/api/v1/workflows")[0] == 200, "tokens go on"
    assert s.ask("POST", "/api/v1/me/totp", {"password": PASSWORD})[0] == 403
    s.token = was
    s.link = None
    assert b.is_in()


@test
def the_command_line_asks_for_a_code(s):
    b = person(s, "gus")
    secret, codes = b.enrol()
    words = ("login", "--user", "gus", "--token-file", str(s.dir / "gus.token"), "--server", f"http://127.0.0.1:{s.http}")
    no = s.sirdar(*words, stdin=PASSWORD + "\n", expect=None)
    assert no.returncode != 0 and "second factor" in no.stderr, no.stderr
    s.sirdar(*words, stdin=f"{PASSWORD}\n{codes[0]}\n")
    path = s.dir / "code"
    path.touch(0o600)
    path.write_text(codes[1] + "\n")
    s.sirdar(*words, "--code-file", str(path), stdin=PASSWORD + "\n")
    again = s.sirdar(*words, "--code-file", str(path), stdin=PASSWORD + "\n", expect=None)
    assert again.returncode != 0 and "was used already" in again.stderr, again.stderr


@test
def the_secret_is_in_no_answer_log_or_audit_and_sealed_in_the_store(s):
    b = person(s, "hal")
    secret, codes = b.enrol()
    Browser(s).login("hal", codes[0])
    seen = str(s.get("/api/v1/audit?limit=200")) + str(s.get("/api/v1/users/hal")) + str(s.get("/api/v1/commands?limit=100"))
    for path in s.dir.rglob("*"):
        if path.is_file() and path.stat().st_size < 64 << 20:
            seen += path.read_bytes().decode("latin-1")
    for text in (secret, *codes, *(c.replace("-", "") for c in codes)):
        assert text not in seen, text[:4]
    for code in codes:
        kept = hashlib.sha256(code.replace("-", "").encode()).hexdigest()
        assert kept not in str(s.get("/api/v1/audit?limit=200")) + str(s.get("/api/v1/commands?limit=100"))


@test
def keys_are_changed_under_it_and_it_goes_with_its_person(s):
    b = person(s, "ida")
    secret, codes = b.enrol()
    keys = s.dir / "secrets.keys"
    keys.write_text(f"two:{secrets.token_hex(32)}\n" + keys.read_text())
    s.command_over(s.command("server-rekey"))
    keys.write_text(keys.read_text().split("\n")[0] + "\n")
    assert Browser(s).login("ida", code_of(secret, 1))[0] == 200
    assert s.ask("DELETE", "/api/v1/users/ida")[0] == 200
    b = person(s, "ida")
    assert b.ask("GET", "/api/v1/me/totp")[1]["state"] == "none", "one who is made anew has none of the former"


@test
def admin_has_one_too_and_a_token_of_the_machine_takes_it_away(s):
    password = s.admin_password
    b = Browser(s)
    assert b.login("admin", password=password)[0] == 200
    _, codes = b.enrol(password)
    assert Browser(s).login("admin", password=password)[1]["code"] == "FACTOR"
    assert Browser(s).login("admin", codes[0], password=password)[0] == 200
    s.sirdar("user", "totp-reset", "admin")
    assert not b.is_in() and b.login("admin", password=password)[0] == 200


def errors():
    text = (pathlib.Path(__file__).resolve().parents[2] / "schema" / "tbl" / "err.def").read_text()
    return {name: -int(n) for name, n in re.findall(r"^ERR\((\w+),\s*(\d+)", text, re.M)}


@test
def a_face_that_was_taken_over_has_no_session_of_who_showed_no_code(s):
    """It has the password, a key, and whatever it was told; not the device."""
    b = person(s, "mia")
    before = b.secret()
    secret, codes = b.enrol()
    err = errors()
    with Face(s) as f:
        for how in ({}, {"brief": True}, {"code": ""}, {"code": None}, {"code": 123456}, {"factor": 0}, {"life_s": 60}):
            code, told = f.sign_in("mia", PASSWORD, **how)
            assert code == err["FACTOR"] and "session" not in told, (how, code, told)
        for how in ({"via": "ldap"}, {"via": "oidc"}, {"via": "ldap", "code": codes[0]}):
            assert f.sign_in("mia", None, **how)[0] == err["FORBIDDEN"], how
        for stale in ("A" * 43, "", "mia"):  # a session that is none proves nothing
            code, told = f.sign_in("mia", PASSWORD, credential=stale)
            assert code in (err["FACTOR"], err["AUTH"]), (stale, code, told)
        other = person(s, "ned").secret()
        assert f.sign_in("mia", PASSWORD, credential=other)[0] == err["AUTH"]
        assert f.sign_in("mia", "another one", code=codes[0])[0] == err["AUTH"], "and the code is not spent"

        code, mine = f.sign_in("mia", PASSWORD, code=codes[0])
        assert code == 0, mine
        for how in ({}, {"brief": True}):  # replayed
            code, told = f.sign_in("mia", PASSWORD, code=codes[0], **how)
            assert code == err["AUTH"] and "was used already" in told, (code, told)
        fresh = code_of(secret, 1)
        assert f.sign_in("mia", PASSWORD, code=fresh, brief=True)[0] == 0
        assert f.sign_in("mia", PASSWORD, code=fresh)[0] == err["AUTH"]
        assert f.command_by(mine["session"], "mia", "session-begin", user="mia")[0] != 0
        assert f.command_by(mine["session"], "mia", "pool-set", pool="mias", size=2)[0] in (0, err["FORBIDDEN"])
        assert f.command_by(before, "mia", "pool-set", pool="mias", size=2)[0] != err["AUTH"], "she confirmed it by that one"


@test
def a_session_is_over_at_every_face_when_its_factor_is_replaced_or_removed(s):
    b = person(s, "oda")
    err, second = errors(), s.second_cgi()
    with Face(s) as f:
        plain = f.sign_in("oda", PASSWORD)[1]["session"]
        assert f.command_by(plain, "oda", "factor-remove", user="oda")[0] == err["FORBIDDEN"]
        secret, codes = b.enrol()
        assert f.command_by(plain, "oda", "factor-remove", user="oda")[0] == err["AUTH"], "of before"
        shown = f.sign_in("oda", PASSWORD, code=codes[0])[1]["session"]
        there = Browser(s, second)
        there.cookie(b.secret())
        until("the other face has read it", there.is_in)
        assert f.command_by(shown, "oda", "factor-remove", user="oda")[0] == err["FORBIDDEN"], "a code is wanted"
        assert b.ask("POST", "/api/v1/me/totp/remove", {"password": PASSWORD, "code": codes[1]})[0] == 200
        assert f.command_by(shown, "oda", "factor-remove", user="oda")[0] == err["AUTH"], "of the former factor"
        assert b.is_in() and until("there she is in, too", there.is_in)
        b.enrol()
        s.sirdar("user", "totp-reset", "oda")
        assert f.command_by(b.secret(), "oda", "factor-remove", user="oda")[0] == err["AUTH"]
        assert not b.is_in() and until("nor there", lambda: not there.is_in())


@test
def what_a_session_sets_up_wants_its_password_of_just_now(s):
    b = person(s, "pia")
    err, made = errors(), base64.b32encode(secrets.token_bytes(20)).decode()
    s.base.restart(hard=True)  # her sign-in is no proof any more
    until("the cgi has it again", s.up)
    with Face(s) as f:
        def begin():
            return f.command_by(b.secret(), "pia", "factor-begin", user="pia", secret=made)[0]
        assert begin() == err["AUTH"]
        assert f.sign_in("pia", PASSWORD, credential=b.secret())[0] == 0
        assert begin() == 0


@test
def chin_has_no_place_for_a_code_and_begins_no_session_of_who_has_one(s):
    b = person(s, "quin")
    ask = {"user_name": "quin", "password": PASSWORD}
    assert Browser(s).ask("POST", "/api/user/login", ask)[1]["status"] == "SUCCEED"
    _, codes = b.enrol()
    with sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True) as db:
        def sessions():
            return len(json.loads(db.execute("SELECT body FROM lb_session WHERE name = 'quin'").fetchone()[0])["sessions"])
        until("that in which it was set up is left", lambda: sessions() == 1)
        answer = Browser(s).ask("POST", "/api/user/login", ask)[1]
        assert answer["status"] == "FAILED" and "second factor" in answer["info"], answer
        assert sessions() == 1 and "token" not in answer, answer


@test
def who_needs_one_and_has_none_can_only_set_it_up(s):
    low, high = person(s, "jo"), person(s, "kim", role="admin")
    s.cgi.stop()
    s.cgi.argv = s.cgi.argv + ["--set", "second_factor=admins"]
    s.start_cgi()
    until("the people are read", lambda: high.ask("GET", "/api/v1/session")[0] != 503)
    assert low.ask("GET", "/api/v1/workflows")[0] == 200
    assert high.ask("GET", "/api/v1/session")[1]["must_enrol"] is True
    for path in ("/api/v1/workflows", "/api/v1/users", "/api/v1/tokens", "/api/v1/sessions"):
        status, answer = high.ask("GET", path)
        assert status == 403 and answer["place"] == "second_factor", (path, status, answer)
    status, answer = high.login("kim", name="kims", days=1)
    assert status == 403 and answer["place"] == "second_factor", answer
    status, answer = high.login("kim")
    assert status == 200 and answer["must_enrol"] is True, answer
    assert Browser(s).login("jo")[1]["must_enrol"] is False
    secret, codes = high.enrol()
    assert high.ask("GET", "/api/v1/users")[0] == 200
    assert high.ask("GET", "/api/v1/session")[1]["must_enrol"] is False
    assert s.get("/api/v1/server"), "tokens go on"
    bad = s.run([*s.cgi.argv, "--set", "second_factor=some", "--check"], seconds=30)
    assert bad.returncode != 0


@test
def a_face_counts_codes_like_passwords_and_a_password_makes_up_for_none(s):
    b = person(s, "lea")
    secret, codes = b.enrol()
    s.cgi.stop()
    s.cgi.argv = s.cgi.argv + ["--set", "login_tries_per_minute=3"]
    s.start_cgi()
    bad = wrong_of(secret)
    for _ in range(3):
        assert Browser(s).login("lea")[1]["code"] == "FACTOR"
        assert Browser(s).login("lea", bad)[0] == 401
    status, answer = Browser(s).login("lea", codes[0])
    assert status == 429 and "wrong passwords" in answer["message"], answer



def site():
    s = Site("factor", secrets_key_file="/nowhere")
    keys = s.dir / "secrets.keys"
    keys.touch(0o600)
    keys.write_text(f"one:{secrets.token_hex(32)}\n")
    s.base_sets.update(secrets_key_file=keys)
    s.base.argv = s.argv("baseserver", s.base_sets)
    s.cgi.argv = s.cgi.argv + ["--set", "login_tries_per_minute=1000", "--set", "chin_project=chin"]
    s.start_as_earlier().believe()
    s.admin_password = OWN_WORD
    return s


if __name__ == "__main__":
    sys.exit(main(site))
