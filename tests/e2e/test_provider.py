#!/usr/bin/env python3
"""ID tokens of an OpenID provider, judged by the server: a face that was taken over shows what it overheard, made, or was given for
something else. And the upgrade: a server that is told nothing of the provider believes its faces, and says so. TAP."""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, main, test, until  # noqa: E402
from keeper_client import field  # noqa: E402
from peer import Face, code_of, text  # noqa: E402
from ways import CLIENT, Beside, admin, ask, back, begin, go, judge_with, refused, whole  # noqa: E402

AUTH, FORBIDDEN, BUSY, TOO_BIG = -14, -15, -2, -11


class Liar(Face):
    def begin(self):
        code, body = self.sign_in("", via="oidc", begin=True)
        assert code == 0 and body["judged"], (code, body)
        return body["nonce"]

    def show(self, token, nonce, user="", **more):
        return self.sign_in(user, via="oidc", id_token=token, access_token="", nonce=nonce, **more)


def token(s, nonce, bend=None, **claims):
    now = int(time.time())
    return s.provider.signed({"iss": s.provider.issuer, "aud": "sirdar", "exp": now + 300, "iat": now, "nonce": nonce, **s.provider.claims,
                              **claims}, bend)


def brought(shown, nonce):
    """The arguments of SIGN_IN, as they go over the wire."""
    return field(2, json.dumps({"user": "", "via": "oidc", "address": "127.0.0.1", "id_token": shown, "access_token": "", "nonce": nonce}))


def no(answer, *words):
    code, why = answer
    assert code in (AUTH, FORBIDDEN) and all(w in str(why) for w in words), answer


def olga(s):
    admin(s, "POST", "/api/v1/groups", {"name": "devs", "role": "developer", "projects": ["retail"], "source": "oidc", "external": "/dev team"})
    s.provider.claims["groups"] = ["/dev team"]


@test
def who_comes_in_and_what_he_is_the_token_says_and_not_the_face(s):
    olga(s)
    admin(s, "POST", "/api/v1/groups", {"name": "boss", "role": "admin", "source": "oidc", "external": "/boss"})
    admin(s, "POST", "/api/v1/users", {"user": "ann", "role": "admin", "password": "a long password 1"})
    with Liar(s) as f:
        nonce = f.begin()
        code, body = f.show(token(s, nonce), nonce, user="ann", groups=["boss"], role="admin", subject="u-ann", source="local")
        assert code == 0 and body["user"] == "olga" and body["session"], (code, body)
        f.secrets["olga"] = body["session"]
        assert f.command("olga", "pool-set", pool="hers", size=1) != "", "she is a developer"
    one = s.get("/api/v1/users/olga")
    assert one["groups"] == ["devs"] and one["effective"]["role"] == "developer" and one["source"] == "oidc", one
    row = next(r for r in s.get("/api/v1/audit?order=desc&limit=20&action=user-set")["items"] if r["actor"] == "oidc:olga")
    assert "asserted_by" not in row["detail"] and "face" not in json.loads(row["detail"]), row


@test
def the_provider_makes_administrators_where_a_face_could_not_assert_one(s):
    s.sirdar("peer", "set", "narrow", "--kind", "face", "--asserts", "nobody")
    s.add_key("narrow", "face")
    with Liar(s, "narrow") as f:
        nonce = f.begin()
        code, body = f.show(token(s, nonce, sub="u-bo", preferred_username="bo", groups=["/boss"]), nonce)
        assert code == 0, body
        f.secrets["bo"] = body["session"]
        assert f.command("bo", "user-set", user="made_by_bo", role="viewer") == "", "the sign-in proves him for ten minutes"


@test
def the_word_of_a_face_counts_for_nothing(s):
    s.believe("liar")
    claim = {"source": "oidc", "subject": "u-9", "full_name": "", "mail": "", "groups": ["devs"]}
    with Liar(s) as f:
        for more in ({"role": "viewer"}, {"role": "admin"}):
            why = f.command("oidc:mallory", "user-set", user="mallory", **claim, **more)
            assert "judges ID tokens" in why, why
        assert "judges ID tokens" in f.command("oidc:olga", "user-set", True, user="olga", **{**claim, "subject": "u-1"})
        for user in ("olga", "bo", "ann", "mallory", ""):
            no(f.sign_in(user, via="oidc"), "without one")
            no(f.sign_in(user, via="oidc", brief=True), "without one")
            no(f.sign_in(user, via="oidc", id_token="", nonce=f.begin()), "without one")
        assert f.command("olga", "apply", documents=[]) != ""
    assert "mallory" not in [u["user"] for u in s.get("/api/v1/users")["users"]]


@test
def a_token_that_was_overheard_is_shown_again(s):
    with Liar(s) as f, Liar(s, "liar2") as other:
        nonce = f.begin()
        mine = token(s, nonce)
        assert f.show(mine, nonce)[0] == 0
        no(f.show(mine, nonce), "already")
        no(f.show(token(s, nonce), nonce), "already")  # another token of that nonce
        no(other.show(mine, nonce), "not begun here")
        no(other.show(mine, other.begin()), "nonce")
        no(f.show(mine, f.begin()), "nonce")  # one's own, with a nonce that is fresh
        code, state, jar = go(s)  # somebody at the face that does not lie
        overheard = s.provider.codes[code]["nonce"]
        no(f.show(token(s, overheard), overheard), "not begun here")
        assert back(s, code, state, jar)[0] == 302, "and he gets in himself"
        no(f.show(token(s, overheard), overheard), "not begun here")


@test
def of_two_who_show_it_at_once_one_gets_in(s):
    with Liar(s) as f:
        nonce = f.begin()
        body = brought(token(s, nonce), nonce)
        for number in range(9001, 9009):
            f.send("sign_in", field(1, number) + body)
        answers = [f.wait("answer", lambda m, n=n: m[1][0] == n) for n in range(9001, 9009)]
        assert sorted(code_of(a, 2) for a in answers) == [AUTH] * 7 + [0], [(code_of(a, 2), text(a, 3)) for a in answers]


@test
def a_token_of_somebody_else_for_somebody_else_or_of_another_time(s):
    p, now = s.provider, int(time.time())
    pem = subprocess.run(["openssl", "rsa", "-in", p.keys["RS256"].path, "-pubout"], capture_output=True, check=True).stdout

    def head(**new):
        return lambda h, c: h.update(new)

    def without(key):
        return lambda h, c: c.pop(key)

    def signed_as(alg, how):
        def made(nonce):
            p.signature = how
            try:
                return token(s, nonce, head(alg=alg))
            finally:
                p.signature = None
        return made

    def by(key):
        def made(nonce):
            p.sign_with = key
            try:
                return token(s, nonce, head(kid="rsa-1"))
            finally:
                p.sign_with = None
        return made

    def flipped(nonce):
        first, claims, last = token(s, nonce).split(".")
        changed = json.loads(base64.urlsafe_b64decode(claims + "=="))
        changed["preferred_username"] = "bo"
        return ".".join([first, base64.urlsafe_b64encode(json.dumps(changed).encode()).decode().rstrip("="), last])
    tokens = (
        ("another's client", lambda n: token(s, n, aud="another"), "not for this client"),
        ("ours among several, given to another", lambda n: token(s, n, aud=["sirdar", "another"], azp="another"), "not for this client"),
        ("ours among several, nobody named", lambda n: token(s, n, aud=["sirdar", "another"]), "not for this client"),
        ("another issuer", lambda n: token(s, n, iss="https://id.example.com"), "another issuer"),
        ("alg none", signed_as("none", lambda t: b""), "'none'"),
        ("alg None", signed_as("None", lambda t: b""), "'None'"),
        ("HS256 by the public key", signed_as("HS256", lambda t: hmac.new(pem, t, hashlib.sha256).digest()), "HS256"),
        ("HS256 by the client's secret", signed_as("HS256", lambda t: hmac.new(CLIENT.encode(), t, hashlib.sha256).digest()), "HS256"),
        ("ES256 by a key of RSA", signed_as("ES256", lambda t: b"\1" * 64), "does not list"),
        ("a stranger's key under its name", by(p.stranger), "signature"),
        ("what was signed is changed", flipped, "signature"),
        ("over", lambda n: token(s, n, exp=now - 120), "it is over"),
        ("never over", lambda n: token(s, n, without("exp")), "it is over"),
        ("of a time to come", lambda n: token(s, n, iat=now + 600), "to come"),
        ("too old", lambda n: token(s, n, iat=now - 7200), "too old"),
        ("not yet", lambda n: token(s, n, nbf=now + 600), "not valid yet"),
        ("without nonce", lambda n: token(s, n, without("nonce")), "nonce"),
        ("of nobody", lambda n: token(s, n, without("sub")), "names nobody"),
        ("no name", lambda n: token(s, n, without("preferred_username")), "preferred_username"),
        ("admin", lambda n: token(s, n, preferred_username="admin"), "admin is"),
        ("one with a password here", lambda n: token(s, n, preferred_username="ann", sub="u-7"), "password here"),
        ("one whose name another had", lambda n: token(s, n, preferred_username="olga", sub="u-7"), "somebody else"),
        ("one who has another name here", lambda n: token(s, n, preferred_username="olga2"), "this person is olga"),
        ("none at all", lambda n: "a.b.c", "does not read"), ("no parts", lambda n: "x" * 200, "it is none"))
    with Liar(s) as f:
        for what, made, word in tokens:
            nonce = f.begin()
            code, why = f.show(made(nonce), nonce)
            assert code in (AUTH, FORBIDDEN) and word in why, (what, code, why)
        good = f.begin()
        for nonce in ("", "n" * 43, good[:-1], good + "A", *(good[:i] + ("A" if good[i] != "A" else "B") + good[i + 1:] for i in (0, 20, 42))):
            no(f.show(token(s, nonce), nonce), "not begun here")
        assert f.show(token(s, good) + "A" * 66000, good)[0] == TOO_BIG
        assert f.show(token(s, good), good)[0] == 0, "what was refused spent nothing"


@test
def tokens_of_strangers_make_nobody_ask_the_provider(s):
    p = s.provider
    assert whole(s)[0] == 302
    asked = len(p.asked)
    with Liar(s) as f:
        p.sign_with = p.stranger
        try:
            for _ in range(20):
                nonce = f.begin()
                no(f.show(token(s, nonce), nonce), "does not list")
        finally:
            p.sign_with = None
    assert len(p.asked) <= asked + 1, p.asked[asked:]


@test
def a_face_that_brings_many_waits_for_itself(s):
    s.base.restart()  # the server knows nothing of the provider, and asks
    until("the face is back", s.up)
    s.provider.hold = threading.Event()
    try:
        with Liar(s) as f:
            nonces = [f.begin() for _ in range(20)]
            for i, nonce in enumerate(nonces):
                f.send("sign_in", field(1, 9100 + i) + brought(token(s, nonce), nonce))
            busy = [f.wait("answer", lambda m: m[1][0] >= 9100) for _ in range(4)]
            assert [code_of(m, 2) for m in busy] == [BUSY] * 4, busy
            assert f.sign_in("ann", "a long password 1")[0] == 0, "passwords do not wait for the provider"
            s.provider.hold.set()
            rest = [f.wait("answer", lambda m: m[1][0] >= 9100) for _ in range(16)]
            assert [code_of(m, 2) for m in rest] == [0] * 16, rest
    finally:
        s.provider.hold.set()
        s.provider.hold = None


@test
def two_who_come_first_by_one_name_are_not_taken_for_one(s):
    with Liar(s) as f:
        nonces = [f.begin() for _ in range(8)]
        shown = [token(s, n, sub=f"u-first-{i}", preferred_username="first") for i, n in enumerate(nonces)]
        for i, n in enumerate(nonces):
            f.send("sign_in", field(1, 9200 + i) + brought(shown[i], n))
        answers = [f.wait("answer", lambda m: m[1][0] >= 9200) for _ in range(8)]
    assert sorted(code_of(a, 2) for a in answers) == [FORBIDDEN] * 7 + [0], [(code_of(a, 2), text(a, 3)) for a in answers]


@test
def who_is_disabled_or_has_nothing_any_more_stays_out(s):
    admin(s, "POST", "/api/v1/users", {"user": "olga", "disabled": True})
    assert whole(s)[0] == 403
    admin(s, "POST", "/api/v1/users", {"user": "olga", "disabled": False})
    assert whole(s)[0] == 302
    s.provider.claims["groups"] = []
    status, answer, _ = whole(s)
    assert status == 403 and "no role" in answer["error"]["message"], answer
    s.provider.claims["groups"] = ["/dev team"]
    assert whole(s)[0] == 302


@test
def settings_of_the_server_are_judged_before_it_starts(s):
    def wrong(word, **sets):
        done = s.run([*s.argv("baseserver", {**s.base_sets, **sets}), "--check-config"])
        assert done.returncode not in (0, -9) and word in done.stderr, (sets, done.stderr)
    wrong("not loopback", oidc_issuer="http://id.example.com")
    wrong("want https://", oidc_issuer="id.example.com")
    wrong("oidc_client_id", oidc_client_id="")
    wrong("oidc_role", oidc_role="admin")
    assert BIN.exists()


# --- a server that is told nothing of the provider: as before this release ------------------------

@test
def without_the_setting_a_face_is_believed_and_the_server_says_so(s):
    seen, hers, about = s.base.text().count("oidc.believed"), ("preferences-set", True), {"user": "olga", "version": 0, "value": "{}"}
    with Liar(s) as f:
        nonce = f.begin()
        judged = f.show(token(s, nonce), nonce)[1]["session"]
    with judge_with(s, oidc_issuer=""):
        assert s.base.text().count("oidc.believed") == seen + 1, "there are people of the provider"
        assert whole(s)[0] == 302
        refused(s, "nonce", bend=lambda head, claims: claims.update(nonce="n" * 43))
        refused(s, "'none'", bend=lambda head, claims: head.update(alg="none"), signature=lambda text: b"")
        with Face(s) as f:
            code, body = f.sign_in("", via="oidc", begin=True)
            assert code == 0 and body == {"judged": False}, body
            asserted = f.sign_in("olga", via="oidc")[1]["session"]
            assert f.command_by(asserted, "olga", *hers, **about)[0] == 0
            assert f.command_by(judged, "olga", *hers, **about)[0] == 0
    with Face(s) as f:
        no(f.sign_in("olga", via="oidc"), "without one")
        no(f.command_by(asserted, "olga", *hers, **about), "not known")  # with the setting what was only asserted is over
        assert f.command_by(judged, "olga", *hers, **about)[0] == 0


@test
def a_sign_in_that_began_where_the_face_was_believed_ends_where_it_is_not(s):
    with judge_with(s, oidc_issuer=""):
        code, state, jar = go(s)
    status, answer, _ = back(s, code, state, jar)
    assert status == 403 and "judges ID tokens" in answer["error"]["message"], answer
    assert whole(s)[0] == 302


@test
def where_the_cgi_judges_its_settings_say_what_of_a_token_is_taken(s):
    p, before = s.provider, dict(s.provider.claims)
    try:
        with judge_with(s, oidc_issuer=""):
            with Beside(s, oidc_user_claim="nick", oidc_groups_claim="teams"):
                p.claims = {**before, "sub": "u-nick", "nick": "nicki", "groups": [], "teams": ["/dev team"]}
                assert whole(s)[0] == 302
                assert s.get_first("/api/v1/users/nicki")["groups"] == ["devs"]
            p.claims = {**before, "sub": "u-new", "preferred_username": "newcomer", "groups": []}
            assert whole(s)[0] == 403
            with Beside(s, oidc_role="viewer"):
                assert whole(s)[0] == 302
                assert s.get_first("/api/v1/users/newcomer")["effective"]["role"] == "viewer"
            p.claims, p.bend = dict(before), lambda head, claims: claims.update(exp=int(time.time()) - 30)
            assert whole(s)[0] == 302
            with Beside(s, oidc_skew_ms=0):
                assert whole(s)[0] == 401
    finally:
        p.claims, p.bend = before, None


def site():
    return begin(with_directory=False)


if __name__ == "__main__":
    sys.exit(main(site))
