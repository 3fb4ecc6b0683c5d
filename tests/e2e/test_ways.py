#!/usr/bin/env python3
"""Signing in with what others vouch for: a directory (Debian's slapd, StartTLS), an OpenID provider whose ID tokens the server judges.
Lying faces, and a server that judges none: test_provider.py. TAP."""
import base64
import hashlib
import hmac
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Daemon, free_port, main, stand_still, test, until  # noqa: E402
from provider import Provider  # noqa: E402
from ways import (BIND, CLIENT, WORD, Beside, admin, ask, back, begin, cookies, go, judge_with, login, person, refused,  # noqa: E402
                  whole)


@test
def the_ways_are_told(s):
    status, answer, _ = ask(s, "GET", "/api/v1/login/ways")
    assert answer["ways"] == [{"kind": "password"}, {"kind": "ldap"},
                              {"kind": "oidc", "name": "House", "href": "/api/v1/login/oidc"}], answer


# --- the directory -------------------------------------------------------------------------------

@test
def who_has_no_group_with_a_role_does_not_get_in_and_is_not_made(s):
    status, answer, _ = login(s, "lea", WORD)
    assert status == 403 and "no role" in answer["error"]["message"], answer
    assert [u["user"] for u in s.get("/api/v1/users")["users"]] == ["admin"]


@test
def a_group_of_the_directory_lets_its_people_in(s):
    admin(s, "POST", "/api/v1/groups", {"name": "ops", "role": "operator", "projects": ["retail"], "rights": ["backfill"],
                                        "source": "ldap", "external": "cn=ops,ou=groups,dc=x"})
    status, answer, r = login(s, "lea", WORD)
    assert status == 200 and answer["role"] == "operator", answer
    me = ask(s, "GET", "/api/v1/session", **cookies(r))[1]
    assert me["via"] == "ldap" and me["projects"] == ["retail"] and me["rights"] == ["backfill"], me
    one = s.get("/api/v1/users/lea")
    assert one["source"] == "ldap" and one["role"] == "none" and not one["has_password"], one
    assert one["full_name"] == "Lea of X" and one["mail"] == "lea@example.com" and one["groups"] == ["ops"], one
    assert s.get("/api/v1/groups/ops")["belong"] == ["lea"]
    assert login(s, "lou", WORD)[0] == 403
    status, answer, _ = ask(s, "POST", "/api/v1/password", {"old": WORD, "new": "another long word"}, **cookies(r),
                            X_CSRF_Token=me["csrf"])
    assert status == 409 and "kept by ldap" in answer["error"]["message"], answer
    status, answer, _ = login(s, "lea", WORD, name="lea-cli")  # a token, as the command line makes one
    assert status == 200 and ask(s, "GET", "/api/v1/session", Authorization="Bearer " + answer["token"])[0] == 200


@test
def who_leaves_the_group_has_its_rights_no_longer(s):
    s.slapd.change("ldapmodify", "dn: cn=ops,ou=groups,dc=x\nchangetype: modify\nadd: member\nmember: uid=lou,ou=people,dc=x\n-\n"
                                 "delete: member\nmember: uid=lea,ou=people,dc=x\n")
    assert login(s, "lou", WORD)[0] == 200
    _, _, r = login(s, "lea", WORD)
    assert s.get("/api/v1/users/lea")["effective"]["role"] == "none"
    s.slapd.change("ldapmodify", "dn: cn=ops,ou=groups,dc=x\nchangetype: modify\nadd: member\nmember: uid=lea,ou=people,dc=x\n")
    assert login(s, "lea", WORD)[0] == 200


@test
def what_is_typed_means_nothing_to_the_directory(s):
    for user in ("*", "lea*", "le*", "lea)(uid=*", "*)(objectClass=*", "lea\\2a", "lea,ou=people", "uid=lea", "lea)", "(", "lea\x7f",
                 "l\u00e9a", "lea)(|(uid=*", " lea", "lea "):
        status, answer, _ = login(s, user, WORD)
        assert status in (400, 401) or user.strip() == "lea", (user, status, answer)
        assert status != 200, user
    assert {u["user"] for u in s.get("/api/v1/users")["users"]} == {"admin", "lea", "lou"}


@test
def an_empty_password_is_refused_before_anybody_is_asked(s):
    """slapd here takes a name without a password for an anonymous bind, and says yes."""
    for word in ("", "wrong", WORD + " "):
        status, answer, _ = login(s, "lea", word)
        assert status == 401 and answer["error"]["message"] == "wrong user or password", (word, answer)


@test
def another_spelling_is_the_same_person(s):
    status, answer, _ = login(s, "LEA", WORD)
    assert status == 403 and "lea" in answer["error"]["message"], answer
    admin(s, "POST", "/api/v1/users", {"user": "lea", "disabled": True})
    for name in ("lea", "Lea"):
        assert login(s, name, WORD)[0] == 403
    admin(s, "POST", "/api/v1/users", {"user": "lea", "disabled": False})


@test
def a_name_with_a_password_here_is_not_the_directorys(s):
    admin(s, "POST", "/api/v1/users", {"user": "ann", "role": "admin", "password": "her own word here"})
    assert login(s, "ann", WORD)[0] == 401
    assert login(s, "ann", "her own word here")[0] == 200
    assert login(s, "admin", WORD)[0] == 401


@test
def an_entry_made_anew_is_another_person(s):
    s.slapd.change("ldapmodify", "dn: uid=lou,ou=people,dc=x\nchangetype: delete\n")
    s.slapd.change("ldapadd", person("lou"))
    status, answer, _ = login(s, "lou", WORD)
    assert status == 403 and "somebody else" in answer["error"]["message"] and "--source ldap" in answer["error"]["hint"], answer
    s.sirdar("user", "set", "lou", "--source", "ldap")
    assert login(s, "lou", WORD)[0] == 200


@test
def a_directory_that_is_down_is_told_and_local_people_get_in(s):
    s.slapd.stop()
    status, answer, _ = login(s, "lea", WORD)
    assert status == 503 and "directory" in answer["error"]["message"], answer
    assert login(s, "ann", "her own word here")[0] == 200
    s.slapd.start()
    assert login(s, "lea", WORD)[0] == 200


@test
def a_directory_that_hangs_holds_nobody_else(s):
    stand_still(s.slapd.proc.pid)
    try:
        got = []
        t = threading.Thread(target=lambda: got.append(login(s, "lea", WORD)[0]))
        t.start()
        while t.is_alive():  # meanwhile all others are answered
            assert s.get("/api/v1/server")["leads"]
        t.join()
        assert got[0] in (503, 504), got
    finally:
        os.kill(s.slapd.proc.pid, signal.SIGCONT)
    until("it is back", lambda: login(s, "lea", WORD)[0] == 200)


@test
def settings_that_would_tell_passwords_are_refused(s):
    def refused(word, **sets):
        words = [w for k, v in {"state_dir": s.dir / "other", **sets}.items() for w in ("--set", f"{k}={v}")]
        done = s.run([BIN / "sirdar-cgi", "--set", f"listen=127.0.0.1:{free_port()}", *words])
        assert done.returncode not in (0, -9) and word in done.stderr, (sets, done.stderr)
    away = {"ldap_url": "ldap://ldap.example.com", "ldap_base": "dc=x"}
    refused("not loopback", **away)
    refused("not loopback", **{**away, "ldap_url": "ldap://127.0.0.1.example.com"})
    refused("%u", ldap_url="ldaps://x", ldap_base="dc=x", ldap_filter="(uid=x)")
    refused("go together", ldap_url="ldaps://x", ldap_base="dc=x", ldap_bind_dn="cn=x")
    refused("want ldaps://", ldap_url="http://x", ldap_base="dc=x")
    refused("ldap_role", ldap_url="ldaps://x", ldap_base="dc=x", ldap_role="admin")
    refused("not loopback", oidc_issuer="http://id.example.com", oidc_client_id="x", oidc_redirect_url="https://x/api/v1/login/oidc/callback")
    refused("oidc_redirect_url", oidc_issuer="https://id.example.com", oidc_client_id="x", oidc_redirect_url="https://x/elsewhere")
    open_file = s.dir / "open.secret"
    open_file.write_text("x\n")
    open_file.chmod(0o644)
    refused("open.secret", ldap_url="ldaps://x", ldap_base="dc=x", ldap_bind_dn="cn=x", ldap_bind_secret_file=open_file)


@test
def a_directory_with_a_certificate_of_nobody_gets_no_password(s):
    words = [str(w) for w in s.cgi.argv]
    at = next(i for i, w in enumerate(words) if w.startswith("ldap_ca_file="))
    words[at] = "ldap_ca_file=/etc/ssl/certs/ca-certificates.crt"
    port = free_port()
    words = [w.replace(f"listen=127.0.0.1:{s.http}", f"listen=127.0.0.1:{port}").replace(f"state_dir={s.dir}/cgi", f"state_dir={s.dir}/cgi2")
             for w in words]
    other = Daemon(s, "cgi2", words, r"cgi\.ready")
    other.start()
    first, s.http = s.http, port
    try:
        status, answer, _ = until("the store is read", lambda: [a for a in [login(s, "lea", WORD)] if "StartTLS" in str(a[1])])[0]
        assert status == 503, answer
    finally:
        s.http = first
        other.stop()


@test
def the_settings_of_the_directory_say_who_is_found_and_what_of_him(s):
    lea = "dn: uid=lea,ou=people,dc=x\nchangetype: modify\n"
    s.slapd.change("ldapmodify", lea + "add: description\ndescription: cn=ops,ou=groups,dc=x\n")
    s.slapd.change("ldapadd", person("ned").rstrip() + "\nlabeledURI: n@example.org\n\n")
    with Beside(s, ldap_base="ou=groups,dc=x"):
        assert login(s, "lea", WORD)[0] == 401  # nobody is found there
    with Beside(s, ldap_base="ou=groups,dc=x", ldap_user_dn="uid=%u,ou=people,dc=x"):
        assert login(s, "lea", WORD)[0] == 200
    with Beside(s, ldap_filter="(&(uid=%u)(cn=Lou*))", ldap_role="viewer"):
        assert login(s, "lea", WORD)[0] == 401
        assert login(s, "lou", WORD)[0] == 200
    with Beside(s, ldap_group_filter="(&(cn=nothing)(member=%d))"):
        login(s, "lea", WORD)
        assert s.get_first("/api/v1/users/lea")["groups"] == []
    with Beside(s, ldap_group_base="", ldap_group_attribute="description"):
        assert login(s, "lea", WORD)[0] == 200
        assert s.get_first("/api/v1/users/lea")["groups"] == ["ops"]
    with Beside(s, ldap_group_base="", ldap_group_attribute="memberOf"):
        login(s, "lea", WORD)
        assert s.get_first("/api/v1/users/lea")["groups"] == []
    assert login(s, "lea", WORD)[0] == 200
    assert login(s, "ned", WORD)[0] == 403
    with Beside(s, ldap_role="viewer", ldap_name_attribute="sn", ldap_mail_attribute="labeledURI"):
        status, answer, _ = login(s, "ned", WORD)
        assert status == 200 and answer["role"] == "viewer", answer
        one = s.get_first("/api/v1/users/ned")
        assert (one["full_name"], one["mail"]) == ("x", "n@example.org"), one
    (s.dir / "wrong.secret").touch(0o600)
    (s.dir / "wrong.secret").write_text("wrong\n")
    with Beside(s, ldap_bind_secret_file=s.dir / "wrong.secret"):
        assert login(s, "lea", WORD)[0] == 503
    with Beside(s, ldap_bind_dn="cn=nobody,dc=x"):
        assert login(s, "lea", WORD)[0] == 503
    with Beside(s, ldap_start_tls="false"):  # this directory takes no password without TLS
        assert login(s, "lea", WORD)[0] != 200


# --- the provider --------------------------------------------------------------------------------

def again(s):
    s.base.restart()
    until("the cgi has the server again", s.up)


@test
def the_provider_lets_in_whom_a_group_gives_a_role(s):
    status, answer, _ = whole(s)
    assert status == 403 and "no role" in answer["error"]["message"], answer
    admin(s, "POST", "/api/v1/groups", {"name": "devs", "role": "developer", "projects": ["retail"], "source": "oidc", "external": "/dev team"})
    s.provider.claims["groups"] = ["/dev team", "other"]
    for alg in ("RS256", "ES256"):
        s.provider.alg = alg
        status, answer, r = whole(s)
        assert status == 302 and r.getheader("Location") == "/ui/", (status, answer)
        assert "SameSite=Strict" in r.getheader("Set-Cookie"), r.getheader("Set-Cookie")
        me = ask(s, "GET", "/api/v1/session", **cookies(r))[1]
        assert me["user"] == "olga" and me["via"] == "oidc" and me["role"] == "developer" and me["projects"] == ["retail"], me
    s.provider.alg = "RS256"
    one = s.get("/api/v1/users/olga")
    assert one["source"] == "oidc" and one["mail"] == "olga@example.com" and one["groups"] == ["devs"], one
    assert login(s, "olga", WORD)[0] == 401  # neither here nor in the directory


@test
def what_the_token_does_not_say_the_provider_is_asked(s):
    """UserInfo: as JSON and signed, of the same person, over the same checks; what it may fail at and what not."""
    p, before = s.provider, dict(s.provider.claims)
    def only_sub(head, claims):
        for k in ("preferred_username", "name", "email", "groups"):
            claims.pop(k, None)

    def no_mail(head, claims):
        claims.pop("email", None)

    def no_groups(head, claims):
        claims.pop("groups", None)

    try:
        p.bend = only_sub
        refused_now = whole(s)
        assert refused_now[0] == 401 and "preferred_username" in refused_now[1]["error"]["message"], refused_now  # it offers no UserInfo
        p.offers_info = True
        again(s)  # what the provider says of itself is known for an hour
        for signed, alg in ((False, "RS256"), (True, "RS256"), (True, "ES256")):
            p.info_signed, p.alg = signed, alg
            p.claims = {**before, "preferred_username": f"uma{alg[:1]}{signed}", "sub": f"u-{alg}-{signed}", "name": "Uma", "email": "uma@example.com"}
            status, answer, r = whole(s)
            assert status == 302, (signed, status, answer)
            me = s.get(f"/api/v1/users/{p.claims['preferred_username']}")
            assert (me["full_name"], me["mail"], me["groups"]) == ("Uma", "uma@example.com", ["devs"]), me
        asked = p.asked.count("/realm/info")
        p.info_signed, p.alg, p.claims, p.bend = False, "RS256", dict(before), None
        assert whole(s)[0] == 302 and p.asked.count("/realm/info") == asked, "asked though the token says it all"
        for bend, bent, status, word in (
                (only_sub, {"info": {**before, "sub": "thief"}}, 401, "somebody else"), (only_sub, {"info": {}}, 401, "somebody else"),
                (no_groups, {"info_status": 500}, 503, "UserInfo"), (no_groups, {"info_status": 403}, 401, "UserInfo"),
                (only_sub, {"info_signed": True, "info_bend": lambda h, c: c.update(iss="https://evil.example")}, 401, "another issuer"),
                (only_sub, {"info_signed": True, "info_bend": lambda h, c: c.update(aud="other")}, 401, "not for this client"),
                (only_sub, {"info_signed": True, "info_bend": lambda h, c: c.update(exp=5)}, 401, "it is over"),
                (only_sub, {"info_signed": True, "info_bend": lambda h, c: h.update(alg="none")}, 401, "UserInfo")):
            p.bend = bend
            for k, v in bent.items():
                setattr(p, k, v)
            got = whole(s)
            p.info, p.info_status, p.info_signed, p.info_bend = None, 200, False, None
            assert got[0] == status and word in got[1]["error"]["message"], (bent, got)
        p.bend, p.info_status = no_mail, 403  # a mail is not worth a refusal
        mark = s.base.text().count("oidc.userinfo")
        assert whole(s)[0] == 302 and s.base.text().count("oidc.userinfo") == mark + 1
    finally:
        p.bend, p.info, p.info_status, p.info_signed, p.claims, p.alg, p.offers_info = None, None, 200, False, before, "RS256", False
        again(s)


@test
def a_token_that_is_not_as_it_should_be_is_refused(s):
    p = s.provider

    def claim(**new):
        return lambda head, claims: claims.update(new)

    def head(**new):
        return lambda head, claims: head.update(new)
    now = int(time.time())
    refused(s, "signature", sign_with=p.stranger, bend=head(kid="rsa-1"))
    refused(s, "does not list", sign_with=p.stranger)
    refused(s, "signature", signature=lambda text: b"\0" * 256)
    refused(s, "does not list", alg="ES256", bend=head(kid="rsa-1"))
    refused(s, "'none'", bend=head(alg="none"), signature=lambda text: b"")
    pem = subprocess.run(["openssl", "rsa", "-in", p.keys["RS256"].path, "-pubout"], capture_output=True, check=True).stdout
    refused(s, "HS256", bend=head(alg="HS256"), signature=lambda text: hmac.new(pem, text, hashlib.sha256).digest())
    refused(s, "HS256", bend=head(alg="HS256"), signature=lambda text: hmac.new(CLIENT.encode(), text, hashlib.sha256).digest())
    refused(s, "must be understood", bend=head(crit=["x"], x=1))
    refused(s, "nonce", bend=claim(nonce="n" * 43))
    refused(s, "nonce", bend=lambda head, claims: claims.pop("nonce"))
    refused(s, "not for this client", bend=claim(aud="another"))
    refused(s, "not for this client", bend=claim(aud=["sirdar", "another"]))
    refused(s, "not for this client", bend=claim(azp="another"))
    refused(s, "another issuer", bend=claim(iss="http://127.0.0.1/other"))
    refused(s, "it is over", bend=claim(exp=now - 120))
    refused(s, "it is over", bend=lambda head, claims: claims.pop("exp"))
    refused(s, "to come", bend=claim(iat=now + 600))
    refused(s, "too old", bend=claim(iat=now - 7200))
    refused(s, "not valid yet", bend=claim(nbf=now + 600))
    refused(s, "names nobody", bend=lambda head, claims: claims.pop("sub"))
    refused(s, "no preferred_username", bend=lambda head, claims: claims.pop("preferred_username"))
    for good in (claim(exp=now - 30), claim(iat=now + 30), claim(aud=["sirdar", "another"], azp="sirdar")):
        p.bend = good
        assert whole(s)[0] == 302  # clocks may differ by a minute
    p.bend = None


@test
def what_came_back_once_or_to_another_browser_is_refused(s):
    code, state, jar = go(s)
    assert back(s, code, state, jar)[0] == 302
    assert back(s, code, state, jar)[0] == 401  # once
    code, state, jar = go(s)
    _, _, other = go(s)
    assert back(s, code, state, other)[0] == 401  # another browser's
    assert back(s, code, state, jar)[0] == 401  # and for nobody any more
    code, state, jar = go(s)
    assert back(s, code, "x" * 43, jar)[0] == 401
    assert back(s, code, state, {})[0] == 401
    code, state, jar = go(s)
    assert back(s, "code-0", state, jar)[0] == 401  # the provider knows it no longer
    code, state, jar = go(s)
    assert back(s, code, state, jar, "&iss=http://elsewhere")[0] == 401
    code, state, jar = go(s)
    status, answer, _ = ask(s, "GET", f"/api/v1/login/oidc/callback?error=access_denied&state={state}", **jar)
    assert status == 401 and "access_denied" in answer["error"]["message"], answer


@test
def a_person_who_is_refused_reads_a_page_and_not_json(s):
    _, state, jar = go(s)
    link = http.client.HTTPConnection("127.0.0.1", s.http)
    link.request("GET", f"/api/v1/login/oidc/callback?error=%3Cscript%3Ealert(1)&state={state}",
                 headers={**jar, "Accept": "text/html,*/*;q=0.8"})
    r = link.getresponse()
    page = r.read().decode()
    assert r.status == 401 and r.getheader("Content-Type") == "text/html; charset=utf-8", (r.status, page)
    assert "<script" not in page and "alert(1)" in page and 'href="/ui/"' in page, page
    assert "default-src 'self';" in r.getheader("Content-Security-Policy"), r.getheaders()


@test
def nobody_is_sent_elsewhere(s):
    for path in ("/api/v1/login/oidc?next=//evil.example", "/api/v1/login/oidc?redirect_uri=https://evil.example",
                 "/api/v1/login/oidc/callback?code=x&state=y&next=//evil.example"):
        status, answer, r = ask(s, "GET", path)
        assert status == 400 and r.getheader("Location") is None, (path, status, answer)
    status, _, r = ask(s, "GET", "/api/v1/login/oidc", Host="evil.example", X_Forwarded_Host="evil.example")
    assert "evil" not in r.getheader("Location"), r.getheader("Location")


@test
def the_providers_names_are_its_own(s):
    before = dict(s.provider.claims)
    try:
        for name in ("ann", "lea", "admin"):
            s.provider.claims.update(preferred_username=name, sub="thief")
            assert whole(s)[0] == 403, name
        s.provider.claims.update(preferred_username="olga", sub="thief")
        status, answer, _ = whole(s)
        assert status == 403 and "somebody else" in answer["error"]["message"], answer
        s.provider.claims.update(preferred_username="../x", sub="u-9")
        assert whole(s)[0] in (400, 401)
    finally:
        s.provider.claims = before


@test
def a_provider_that_is_away_is_told(s):
    s.cgi.restart()
    until("the cgi is up", s.up)
    s.provider.away = True
    status, answer, _ = ask(s, "GET", "/api/v1/login/oidc")
    assert status == 503 and "provider" in answer["error"]["message"], answer
    s.provider.away = False
    s.provider.issuer_said = "https://another.example"
    status, answer, _ = ask(s, "GET", "/api/v1/login/oidc")
    assert status == 503 and "calls itself" in answer["error"]["message"], answer
    s.provider.issuer_said = None
    assert whole(s)[0] == 302
    again(s)  # it knows of the provider what it asks for now
    code, state, jar = go(s)
    s.provider.issuer_said = "https://another.example"
    status, answer, _ = back(s, code, state, jar)
    s.provider.issuer_said = None
    assert status == 503 and "calls itself" in answer["error"]["message"], answer
    assert whole(s)[0] == 302


@test
def a_sign_in_that_was_under_way_when_the_server_began_anew_begins_again(s):
    code, state, jar = go(s)
    again(s)
    status, answer, _ = back(s, code, state, jar)
    assert status == 401 and "too long ago" in answer["error"]["message"], answer
    assert whole(s)[0] == 302


@test
def server_and_cgi_that_mean_different_providers_say_so_before_anybody_is_sent_away(s):
    for setting, value in (("oidc_issuer", "http://127.0.0.1:1/else"), ("oidc_client_id", "another")):
        with judge_with(s, **{setting: value}):
            status, answer, _ = ask(s, "GET", "/api/v1/login/oidc")
            assert status == 409 and setting in answer["error"]["message"] and value in answer["error"]["message"], answer


@test
def the_settings_of_the_provider_say_what_is_asked_and_what_of_it_is_taken(s):
    p, before = s.provider, dict(s.provider.claims)
    try:
        with judge_with(s, oidc_user_claim="nick", oidc_groups_claim="teams"), Beside(s, oidc_scopes="openid teams"):
            where = ask(s, "GET", "/api/v1/login/oidc")[2].getheader("Location")
            assert urllib.parse.parse_qs(where.split("?", 1)[1])["scope"] == ["openid teams"], where
            p.claims = {**before, "sub": "u-nick", "nick": "nicki", "groups": [], "teams": ["/dev team"]}
            assert whole(s)[0] == 302
            assert s.get_first("/api/v1/users/nicki")["groups"] == ["devs"]
        assert "profile" in ask(s, "GET", "/api/v1/login/oidc")[2].getheader("Location")
        p.claims = {**before, "sub": "u-new", "preferred_username": "newcomer", "groups": []}
        assert whole(s)[0] == 403
        with judge_with(s, oidc_role="viewer"):
            assert whole(s)[0] == 302
            assert s.get_first("/api/v1/users/newcomer")["effective"]["role"] == "viewer"
        p.claims, p.bend = dict(before), lambda head, claims: claims.update(exp=int(time.time()) - 30)
        assert whole(s)[0] == 302
        with judge_with(s, oidc_skew_ms=0):
            assert whole(s)[0] == 401
    finally:
        p.claims, p.bend = before, None


@test
def a_provider_may_take_oidc_timeout_ms(s):
    hold = threading.Event()
    try:
        with judge_with(s, oidc_timeout_ms=200), Beside(s):
            code, state, jar = go(s)
            s.provider.hold = hold
            assert back(s, code, state, jar)[0] in (503, 504), "by the server, which knows nothing of the provider yet"
        with Beside(s, oidc_timeout_ms=200):
            assert ask(s, "GET", "/api/v1/login/oidc")[0] in (503, 504)
        with Beside(s, oidc_timeout_ms=60000):
            got = []
            t = threading.Thread(target=lambda: got.append(ask(s, "GET", "/api/v1/login/oidc")[0]))
            t.start()
            t.join(1)
            assert t.is_alive(), got
            hold.set()
            t.join()
            assert got == [302], got
    finally:
        hold.set()
        s.provider.hold = None


@test
def a_provider_that_hangs_holds_nobody_else_of_the_server(s):
    again(s)
    code, state, jar = go(s)
    s.provider.hold = threading.Event()
    got = []
    t = threading.Thread(target=lambda: got.append(back(s, code, state, jar)[0]))
    t.start()
    try:
        until("the server asks it", lambda: s.provider.waiting)
        for _ in range(3):
            assert login(s, "ann", "her own word here")[0] == 200
            s.command("pool-set", pool="meanwhile", size=2)
        assert t.is_alive(), got
    finally:
        s.provider.hold.set()
        t.join()
        s.provider.hold = None
    assert got == [302], got


@test
def a_provider_is_vouched_for_by_oidc_ca_file(s):
    (s.dir / "provider").mkdir()
    first, p = s.provider, Provider(s.dir / "provider", "sirdar", CLIENT)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(s.slapd.dir / "cert.pem", s.slapd.dir / "key.pem")
    p.server.socket = tls.wrap_socket(p.server.socket, server_side=True)
    p.issuer, p.claims = p.issuer.replace("http:", "https:"), first.claims
    s.provider, known = p, s.slapd.dir / "cert.pem"
    try:
        for server, cgi, there, here in ((known, known, 302, 302), (known, "", 503, None), ("", known, 302, 503)):
            with judge_with(s, oidc_issuer=p.issuer, oidc_ca_file=server), Beside(s, oidc_issuer=p.issuer, oidc_ca_file=cgi):
                assert ask(s, "GET", "/api/v1/login/oidc")[0] == there, (server, cgi)
                assert here is None or whole(s)[0] == here, (server, cgi)
    finally:
        s.provider = first
    p.server.shutdown()


def words_of(secret):
    """As it stands, and as texts carry it: in hex, base64, a URL, a form, JSON."""
    raw = secret.encode()
    return {raw, raw.hex().encode(), base64.b64encode(raw).rstrip(b"="), urllib.parse.quote(secret, safe="").encode(),
            urllib.parse.quote_plus(secret).encode(), json.dumps(secret)[1:-1].encode()}


@test
def no_secret_is_found_anywhere(s):
    """Canaries of every kind: in no file but the ones they are kept in, no answer, no log, no error, no arguments or
    environment of any process. Of a job's password of a target server see test_targets."""
    said = []

    def made(method, path, body=None, **head):
        status, answer, r = ask(s, method, path, body, **(head or {"Authorization": f"Bearer {s.token}"}))
        said.append(f"{status} {json.dumps(answer) if not isinstance(answer, bytes) else answer}")
        return status, answer, r
    word, server, channel = "canary word 5\"1", "canary/server+2", "canary-channel-3"
    wrong = "canary-wrong-4"
    assert made("POST", "/api/v1/users", {"user": "cleo", "role": "operator", "projects": ["*"], "password": word})[0] == 200
    assert login(s, "cleo", word)[0] == 200 and made("POST", "/api/v1/login", {"user": "cleo", "password": wrong}, X="y")[0] == 401
    assert made("POST", "/api/v1/login", {"user": "lea", "password": wrong}, X="y")[0] == 401
    token = login(s, "cleo", word, name="cleo-cli")[1]["token"]
    key = ask(s, "POST", "/api/v1/apps", {"name": "app", "role": "viewer"}, Authorization=f"Bearer {s.token}")[1]["key"]
    _, answer, r = login(s, "cleo", word)
    session = cookies(r)["Cookie"].split("=", 1)[1]
    assert made("POST", "/api/v1/servers", {"server": "db", "kind": "mysql", "host": "h", "password": server})[0] == 200
    assert made("POST", "/api/v1/users", {"user": "x y", "role": "viewer", "password": word})[0] == 400
    assert made("POST", "/api/v1/servers", {"server": "x y", "kind": "mysql", "password": server})[0] == 400
    assert made("POST", "/api/v1/commands", {"kind": "user-set", "args": {"user": "cleo", "secret": word}})[0] == 400
    assert made("POST", "/api/v1/password", {"old": wrong, "new": word}, Authorization=f"Bearer {token}")[0] == 403
    code, state, jar = go(s)
    assert back(s, code, state, jar)[0] == 302
    channels = s.dir / "channels.yaml"
    channels.touch(0o600)
    channels.write_text(json.dumps({"channels": {"hook": {"type": "webhook", "url": "http://127.0.0.1:1/h", "secret": channel}}}))
    s.add_key("notifier")
    notifier = Daemon(s, "sirdar-notifier", s.argv("sirdar-notifier", {
        "server": f"127.0.0.1:{s.port}", "key_file": s.dir / "notifier.key", "store": f"sqlite:{s.dir}/base",
        "state_dir": s.dir / "notifier", "channels_file": channels}), r"notifier\.ready")
    notifier.start()
    try:
        secrets = [WORD, BIND, CLIENT, word, server, channel, wrong, token, key, session, s.token, code]
        found = set().union(*(words_of(x) for x in secrets))
        kept = {s.dir / "bind.secret", s.dir / "client.secret", channels, s.dir / "token"}
        until("the notifier is there", lambda: s.get("/api/v1/channels")["notifier"])
        said.append(json.dumps(s.get("/api/v1/channels")))
        for path in ("audit?limit=500", "commands?limit=500", "users", "groups", "tokens", "apps", "servers", "servers/db", "users/cleo",
                     "login/ways", "health", "server", "alerts", "session"):
            said.append(json.dumps(s.get(f"/api/v1/{path}")))
        said.append(s.ask("GET", "/metrics")[1] if isinstance(s.ask("GET", "/metrics")[1], str) else "")
        text = "\n".join(said).encode()
        assert not [x for x in found if x in text], [x for x in found if x in text]
        n = 0
        for path in s.dir.rglob("*"):
            if path.is_file() and path not in kept and s.slapd.dir not in path.parents:
                data, n = path.read_bytes(), n + 1
                assert not [x for x in found if x in data], path
        processes = list(s.ours())
        for pid in processes:
            for part in ("cmdline", "environ"):
                data = Path(f"/proc/{pid}/{part}").read_bytes()
                assert not [x for x in found if x in data], (pid, part)
        print(f"# {len(secrets)} secrets in {len(found)} forms: {len(said)} answers, {n} files, {len(processes)} processes")
        assert n > 8 and len(processes) > 4
    finally:
        notifier.stop()


if __name__ == "__main__":
    sys.exit(main(begin))
