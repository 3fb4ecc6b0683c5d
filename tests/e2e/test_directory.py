#!/usr/bin/env python3
"""People of a directory (Debian's slapd, StartTLS) whom the server asks about itself: no face's word lets any of them in, a face needs no
settings of a directory, and its settings are the server's. Where the server has none: test_ways.py. TAP."""
import os
import signal
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import free_port, main, stand_still, test, until  # noqa: E402
from peer import Face  # noqa: E402
from ways import BIND, WORD, Beside, Slapd, Ways, admin, ask, cookies, judge_with, login, person  # noqa: E402


def site():
    s = Ways()
    try:
        (s.dir / "bind.secret").touch(0o600)
        (s.dir / "bind.secret").write_text(BIND + "\n")
        s.slapd = Slapd(s.dir)
        s.directory = {"ldap_url": f"ldap://127.0.0.1:{s.slapd.port}", "ldap_start_tls": "true", "ldap_ca_file": s.slapd.dir / "cert.pem",
                       "ldap_base": "ou=people,dc=x", "ldap_bind_dn": "cn=root,dc=x", "ldap_bind_secret_file": s.dir / "bind.secret",
                       "ldap_group_base": "ou=groups,dc=x", "ldap_timeout_ms": 3000}
        s.base_sets |= {**s.directory, "login_tries_per_minute": 1000}
        s.base.argv = s.argv("baseserver", s.base_sets)
        s.cgi.argv += ["--set", "login_tries_per_minute=1000"]
        s.start().believe()
    except BaseException:
        s.close()
        raise
    return s


def group(s, name, role, external):
    admin(s, "POST", "/api/v1/groups", {"name": name, "role": role, "projects": ["*"], "source": "ldap", "external": external})


def session(r, answer):
    return {**cookies(r), "X_CSRF_Token": answer["csrf"]}


# --- who gets in


@test
def who_has_no_group_with_a_role_does_not_get_in_and_is_not_made(s):
    status, answer, _ = login(s, "lea", WORD)
    assert status == 403 and "no role" in answer["error"]["message"], answer
    assert [u["user"] for u in s.get("/api/v1/users")["users"]] == ["admin"]


@test
def a_group_of_the_directory_lets_its_people_in_at_a_face_without_settings_of_one(s):
    group(s, "ops", "operator", "cn=ops,ou=groups,dc=x")
    status, answer, r = login(s, "lea", WORD)
    assert status == 200 and answer["role"] == "operator", answer
    me = ask(s, "GET", "/api/v1/session", **cookies(r))[1]
    assert me["via"] == "ldap" and me["role"] == "operator", me
    one = s.get("/api/v1/users/lea")
    assert one["source"] == "ldap" and one["role"] == "none" and not one["has_password"], one
    assert one["full_name"] == "Lea of X" and one["mail"] == "lea@example.com" and one["groups"] == ["ops"], one
    assert login(s, "lou", WORD)[0] == 403
    status, answer, _ = ask(s, "POST", "/api/v1/password", {"old": WORD, "new": "another long word"}, **session(r, answer))
    assert status == 409 and "kept by ldap" in answer["error"]["message"], answer
    status, answer, _ = login(s, "lea", WORD, name="lea-cli")
    assert status == 200 and ask(s, "GET", "/api/v1/session", Authorization="Bearer " + answer["token"])[0] == 200


@test
def a_wrong_password_is_one_answer_whoever_it_is_of(s):
    for user, word in (("lea", "wrong"), ("lea", WORD + " "), ("nobody-at-all", WORD), ("lea", "")):
        status, answer, _ = login(s, user, word)
        assert status == 401 and answer["error"]["message"] == "wrong user or password", (user, word, answer)
    assert {u["user"] for u in s.get("/api/v1/users")["users"]} == {"admin", "lea"}


@test
def what_is_typed_means_nothing_to_the_directory(s):
    for user in ("*", "lea*", "lea)(uid=*", "*)(objectClass=*", "lea\\2a", "lea,ou=people", "uid=lea", "(", "l\u00e9a", " lea", "lea "):
        status, answer, _ = login(s, user, WORD)
        assert status in (400, 401), (user, status, answer)


@test
def who_leaves_the_group_has_its_rights_no_longer(s):
    s.slapd.change("ldapmodify", "dn: cn=ops,ou=groups,dc=x\nchangetype: modify\nadd: member\nmember: uid=lou,ou=people,dc=x\n-\n"
                                 "delete: member\nmember: uid=lea,ou=people,dc=x\n")
    assert login(s, "lou", WORD)[0] == 200
    assert login(s, "lea", WORD)[0] == 403
    assert s.get("/api/v1/users/lea")["effective"]["role"] == "none"
    s.slapd.change("ldapmodify", "dn: cn=ops,ou=groups,dc=x\nchangetype: modify\nadd: member\nmember: uid=lea,ou=people,dc=x\n")
    assert login(s, "lea", WORD)[0] == 200


@test
def another_spelling_is_the_same_person_and_one_made_anew_another(s):
    status, answer, _ = login(s, "LEA", WORD)
    assert status == 403 and "lea" in answer["error"]["message"], answer
    admin(s, "POST", "/api/v1/users", {"user": "lea", "disabled": True})
    assert login(s, "lea", WORD)[0] in (401, 403)
    admin(s, "POST", "/api/v1/users", {"user": "lea", "disabled": False})
    s.slapd.change("ldapmodify", "dn: uid=lou,ou=people,dc=x\nchangetype: delete\n")
    s.slapd.change("ldapadd", person("lou"))
    status, answer, _ = login(s, "lou", WORD)
    assert status == 403 and "somebody else" in answer["error"]["message"] and "--source ldap" in answer["error"]["hint"], answer
    s.sirdar("user", "set", "lou", "--source", "ldap")
    assert login(s, "lou", WORD)[0] == 200


@test
def a_name_with_a_password_here_is_not_the_directorys(s):
    admin(s, "POST", "/api/v1/users", {"user": "ann", "role": "viewer", "password": "her own word here"})
    assert login(s, "ann", WORD)[0] == 401
    assert login(s, "ann", "her own word here")[0] == 200
    s.slapd.change("ldapadd", person("admin"))
    assert login(s, "admin", WORD)[0] == 401


@test
def who_has_signed_in_proves_it_once_more_by_the_directory(s):
    group(s, "bosses", "admin", "cn=bosses,ou=groups,dc=x")
    s.slapd.change("ldapadd", person("bea"))
    s.slapd.change("ldapadd", "dn: cn=bosses,ou=groups,dc=x\nobjectClass: groupOfNames\ncn: bosses\nmember: uid=bea,ou=people,dc=x\n\n")
    status, answer, r = login(s, "bea", WORD)
    assert status == 200 and answer["role"] == "admin", answer
    head = session(r, answer)
    assert ask(s, "POST", "/api/v1/users", {"user": "new", "role": "viewer", "password": "a word of the new"}, **head)[0] == 200
    assert ask(s, "POST", "/api/v1/session/proof", {"password": "wrong"}, **head)[0] == 401
    assert ask(s, "POST", "/api/v1/session/proof", {"password": WORD}, **head)[0] in (200, 204)


# --- no face's word


@test
def a_face_that_lies_lets_nobody_in(s):
    before = s.get("/api/v1/users")["users"]
    with Face(s) as f:
        for more in ({}, {"password": "wrong"}, {"password": WORD}, {"brief": True}):
            code, why = f.sign_in("bea", via="ldap", **more)
            assert code and "ldap_url" in why, (more, code, why)
        code, why = f.sign_in("bea", "wrong")
        assert code and "wrong user or password" in why, (code, why)
        code, body = f.sign_in("bea", WORD)
        assert code == 0 and body["via"] == "ldap" and body["session"], body
        why = f.command("ldap:lea", "user-set", user="lea", source="ldap", subject="x", groups=["bosses"])
        assert "ldap_url" in why, why
        assert f.command("ldap:eve", "user-set", user="eve", source="ldap", subject="e", groups=["ops"]) != ""
    assert s.get("/api/v1/users")["users"] == before


# --- a directory that fails


@test
def a_directory_that_is_down_is_told_and_local_people_get_in(s):
    s.slapd.stop()
    status, answer, _ = login(s, "lea", WORD)
    assert status == 503 and "directory" in answer["error"]["message"], answer
    assert login(s, "ann", "her own word here")[0] == 200
    s.slapd.start()
    assert login(s, "lea", WORD)[0] == 200


@test
def a_directory_that_hangs_holds_nobody_who_has_a_password_here(s):
    stand_still(s.slapd.proc.pid)
    try:
        got = []
        t = threading.Thread(target=lambda: got.append(login(s, "lea", WORD)[0]))
        t.start()
        while t.is_alive():
            assert login(s, "ann", "her own word here")[0] == 200
            assert s.get("/api/v1/server")["leads"]
        t.join()
        assert got[0] in (503, 504), got
    finally:
        os.kill(s.slapd.proc.pid, signal.SIGCONT)
    until("it is back", lambda: login(s, "lea", WORD)[0] == 200)


# --- settings


@test
def settings_that_would_tell_passwords_are_refused(s):
    def refused(word, **sets):
        done = s.run(s.argv("baseserver", {"state_dir": s.dir / "other", "listen": f"127.0.0.1:{free_port()}", **sets}))
        assert done.returncode not in (0, -9) and word in done.stderr, (sets, done.stderr)
    away = {"ldap_url": "ldap://ldap.example.com", "ldap_base": "dc=x"}
    refused("not loopback", **away)
    refused("%u", ldap_url="ldaps://x", ldap_base="dc=x", ldap_filter="(uid=x)")
    refused("go together", ldap_url="ldaps://x", ldap_base="dc=x", ldap_bind_dn="cn=x")
    refused("want ldaps://", ldap_url="http://x", ldap_base="dc=x")
    refused("ldap_role", ldap_url="ldaps://x", ldap_base="dc=x", ldap_role="admin")


@test
def a_directory_with_a_certificate_of_nobody_gets_no_password(s):
    with judge_with(s, ldap_ca_file="/etc/ssl/certs/ca-certificates.crt"):
        status, answer, _ = login(s, "lea", WORD)
        assert status == 503 and "StartTLS" in answer["error"]["message"], answer


@test
def the_servers_settings_of_the_directory_say_who_is_found_and_what_of_him(s):
    lea = "dn: uid=lea,ou=people,dc=x\nchangetype: modify\n"
    s.slapd.change("ldapmodify", lea + "add: description\ndescription: cn=ops,ou=groups,dc=x\n")
    s.slapd.change("ldapadd", person("ned").rstrip() + "\nlabeledURI: n@example.org\n\n")
    with judge_with(s, ldap_base="ou=groups,dc=x"):
        assert login(s, "lea", WORD)[0] == 401  # nobody is found there
    with judge_with(s, ldap_base="ou=groups,dc=x", ldap_user_dn="uid=%u,ou=people,dc=x"):
        assert login(s, "lea", WORD)[0] == 200
    with judge_with(s, ldap_filter="(&(uid=%u)(cn=Lou*))", ldap_role="viewer"):
        assert login(s, "lea", WORD)[0] == 401
        assert login(s, "lou", WORD)[0] == 200
    with judge_with(s, ldap_group_filter="(&(cn=nothing)(member=%d))"):
        login(s, "lea", WORD)
        assert s.get("/api/v1/users/lea")["groups"] == []
    with judge_with(s, ldap_group_base="", ldap_group_attribute="description"):
        assert login(s, "lea", WORD)[0] == 200
        assert s.get("/api/v1/users/lea")["groups"] == ["ops"]
    assert login(s, "ned", WORD)[0] == 403
    with judge_with(s, ldap_role="viewer", ldap_name_attribute="sn", ldap_mail_attribute="labeledURI"):
        status, answer, _ = login(s, "ned", WORD)
        assert status == 200 and answer["role"] == "viewer", answer
        one = s.get("/api/v1/users/ned")
        assert (one["full_name"], one["mail"]) == ("x", "n@example.org"), one
    (s.dir / "wrong.secret").touch(0o600)
    (s.dir / "wrong.secret").write_text("wrong\n")
    with judge_with(s, ldap_bind_secret_file=s.dir / "wrong.secret"):
        assert login(s, "lea", WORD)[0] == 503
    with judge_with(s, ldap_bind_dn="cn=nobody,dc=x"):
        assert login(s, "lea", WORD)[0] == 503
    with judge_with(s, ldap_start_tls="false"):  # this directory takes no password without TLS
        assert login(s, "lea", WORD)[0] != 200


# --- from a face that asks the directory itself


@test
def what_a_face_asserted_before_is_over_and_its_settings_are_not_used(s):
    with judge_with(s, ldap_url=""):
        with Beside(s, **s.directory):
            status, answer, r = login(s, "lea", WORD)
            assert status == 200, answer
            old = cookies(r)
            assert ask(s, "GET", "/api/v1/session", **old)[1]["via"] == "ldap"
        assert s.base.has(r"ldap\.believed")
        assert login(s, "lea", WORD)[0] == 401, "nobody asks a directory"
    with Beside(s, **{**s.directory, "ldap_base": "dc=nowhere"}):  # it would find nobody
        assert ask(s, "POST", "/api/v1/session/proof", {"password": WORD}, **old, X_CSRF_Token="x")[0] in (401, 403), "it is over"
        status, answer, r = login(s, "lea", WORD)
        assert status == 200, answer
        assert ask(s, "GET", "/api/v1/session", **cookies(r))[1]["via"] == "ldap", answer
        assert ask(s, "POST", "/api/v1/session/proof", {"password": WORD}, **session(r, answer))[0] in (200, 204)
        assert ask(s, "POST", "/api/v1/session/proof", {"password": "wrong"}, **session(r, answer))[0] == 401


if __name__ == "__main__":
    sys.exit(main(site))
