#!/usr/bin/env python3
"""`admin` of a cgi, as earlier releases began an installation, becomes a person of the server: over its own socket, with the password that the cgi had or another one. From then on no cgi has an
`admin` or tokens of its own, tokens of machines are asked of the server, and whoever has its machine always comes in again. TAP."""
import http.client
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import OWN_WORD, Site, main, test, until  # noqa: E402

FIRST, SECOND, WORD = "a first long word", "a second long word", "a long enough word"
USAGE, REFUSED = 64, 1


class Installation(Site):
    def __init__(self):
        super().__init__("first")
        self.cgi.argv += ["--set", "chin_project=chin"]

    def start(self, **_):
        self.start_as_earlier(types=())
        self.word = OWN_WORD
        return self


def admin(s, *words, stdin="", expect=0):
    argv = [*s.argv("baseserver", s.base_sets), "admin", *words]
    done = subprocess.run([str(a) for a in argv], input=stdin, capture_output=True, text=True, env=s.env, timeout=300)
    assert done.returncode == expect, (words, done)
    return done


def ask(s, method, path, body=None, port=None, **head):
    """-> status, JSON; the answer's cookie in s.cookie."""
    link = http.client.HTTPConnection("127.0.0.1", port or s.http, timeout=60)
    link.request(method, path, None if body is None else json.dumps(body),
                 {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in head.items()}})
    answer = link.getresponse()
    text, s.cookie = answer.read(), answer.headers.get("Set-Cookie", "").split(";")[0]
    link.close()
    return answer.status, json.loads(text) if text else None


def signs_in(s, word, port=None, **more):
    return ask(s, "POST", "/api/v1/login", {"user": "admin", "password": word, **more}, port)


def session(s, word, port=None):
    status, answer = signs_in(s, word, port)
    assert status == 200, (status, answer)
    return {"Cookie": s.cookie, "X_CSRF_Token": answer["csrf"]}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def good(s, token, port=None):
    return ask(s, "GET", "/api/v1/session", port=port, **bearer(token))[0] == 200


def make_person(s, name, head, port=None):
    return ask(s, "POST", "/api/v1/users", {"user": name, "password": WORD, "role": "viewer"}, port, **head)


# --- before, and how it comes to the server


@test
def until_the_server_has_him_admin_is_the_cgis_as_ever(s):
    s.own = session(s, s.word)
    assert make_person(s, "amy", s.own)[0] == 200
    assert good(s, s.token) and s.base.has(r"admin\.of_faces .*admin password admin") and s.cgi.has(r"admin\.own .*cgi/password")
    status, answer = ask(s, "POST", "/api/v1/users", {"user": "admin", "password": WORD, "role": "viewer"}, **s.own)
    assert status == 409 and "admin password admin" in answer["error"]["hint"], answer
    status, answer = signs_in(s, s.word, name="of-the-first-hour")
    assert status == 200, answer
    s.of_login = answer["token"]


@test
def a_file_that_is_no_password_of_a_cgi_is_refused_and_nothing_changes(s):
    (s.dir / "not-a-hash").write_text("hello\n")
    done = admin(s, "password", "admin", "--from", s.dir / "not-a-hash", expect=REFUSED)
    assert "not-a-hash" in done.stderr and "state_dir" in done.stderr, done.stderr
    assert "none" in admin(s, "password", "admin", "--from", s.dir / "none", expect=REFUSED).stderr
    (s.dir / "dear").write_text("$argon2id$v=19$m=19456,t=50000000,p=1$c29tZXNhbHRzb21lc2E$RdescudvJCsgt3ub+b5dWRWJTmaaJObG\n")
    assert "of usual cost" in admin(s, "password", "admin", "--from", s.dir / "dear", expect=REFUSED).stderr
    assert good(s, s.token) and ask(s, "GET", "/api/v1/session", **s.own)[0] == 200


@test
def the_password_goes_over_as_it_is_and_what_the_cgi_had_is_over(s):
    s.second = s.second_cgi()
    admin(s, "password", "admin", "--from", s.dir / "cgi/password")
    until("the cgi knows", lambda: not good(s, s.token))
    status, answer = ask(s, "GET", "/api/v1/session", **bearer(s.token))
    assert status == 401 and "admin token" in answer["error"]["hint"], answer
    assert ask(s, "GET", "/api/v1/session", **s.own)[0] == 401, "a session of the cgi's admin goes on"
    for port in (s.http, s.second):  # one person, at every face
        head = session(s, s.word, port)
        status, answer = ask(s, "GET", "/api/v1/session", port=port, **head)
        assert status == 200 and (answer["user"], answer["role"]) == ("admin", "admin"), answer
        assert make_person(s, f"of-{port}", head, port)[0] == 200
    assert not s.brokers["cgi2"].has("Password") and not (s.dir / "cgi2/password").exists(), "a cgi draws a password"
    for option in ("--make-token", "--make-app"):
        done = s.run([*s.cgi.argv, option, "late", "admin"])
        assert done.returncode == 78 and not done.stdout and "admin token" in done.stderr and "the server keeps" in done.stderr, done
    assert not (s.dir / "cgi/tokens/late").exists()
    users = ask(s, "GET", "/api/v1/users", port=s.second, **head)[1]["users"]
    assert [u["user"] for u in users].count("admin") == 1, users


@test
def what_he_does_is_his_in_the_audit_and_no_faces_word(s):
    head = session(s, s.word)
    assert make_person(s, "audited", head)[0] == 200
    rows = ask(s, "GET", "/api/v1/audit?limit=50", **head)[1]["items"]
    row = next(r for r in rows if r["action"] == "user-set" and "audited" in r["detail"])
    assert row["actor"] == "admin" and '"face"' in row["detail"] and "asserted_by" not in row["detail"], row


@test
def he_changes_his_password_and_the_former_one_is_over_at_every_face(s):
    head = session(s, s.word)
    assert ask(s, "POST", "/api/v1/password", {"old": "not the old one", "new": SECOND}, **head)[0] == 401
    assert ask(s, "POST", "/api/v1/password", {"old": s.word, "new": SECOND}, **head)[0] == 200
    for port in (s.http, s.second):
        assert signs_in(s, s.word, port)[0] == 401
        session(s, SECOND, port)


@test
def chin_knows_him_by_his_number_and_by_the_servers_password(s):
    _, answer = ask(s, "POST", "/api/user/login", {"user_name": "admin", "password": SECOND})
    assert answer.get("status") == "SUCCEED", answer
    token, number = answer["token"], int(answer["info"].split()[1])
    _, answer = ask(s, "POST", "/api/user/query", {"token": token, "user_id": number, "page": 1, "page_size": 20})
    assert [u["user_name"] for u in answer["data"]].count("admin") == 1, answer
    fields = {"token": token, "user_id": number, "password": FIRST, "email": ""}
    _, answer = ask(s, "POST", "/api/user/modify", fields)
    assert answer["status"] == "SUCCEED", answer
    assert signs_in(s, SECOND)[0] == 401
    session(s, FIRST)


# --- who has the machine


@test
def who_has_the_machine_sets_his_password_and_lets_him_in_again(s):
    head = session(s, FIRST)
    assert ask(s, "POST", "/api/v1/users", {"user": "admin", "disabled": True}, **head)[0] == 200
    assert signs_in(s, FIRST)[0] in (401, 403)
    assert not good(s, s.token), "the cgi's own come back while he is disabled"
    admin(s, "password", "admin", stdin=SECOND + "\n")
    assert signs_in(s, FIRST)[0] == 401
    until("he is in again", lambda: signs_in(s, SECOND)[0] == 200)
    assert "10" in admin(s, "password", "admin", stdin="short\n", expect=USAGE).stderr


@test
def he_is_not_removed_and_is_no_directorys(s):
    head = session(s, SECOND)
    status, answer = ask(s, "DELETE", "/api/v1/users/admin", **head)
    assert status == 409 and "--disable" in answer["error"]["hint"], answer
    status, answer = ask(s, "POST", "/api/v1/commands", {"kind": "user-set", "args": {"user": "admin", "source": "ldap"}}, **head)
    assert status == 409, answer
    session(s, SECOND)


@test
def a_token_of_the_socket_is_the_servers_and_changes_credentials(s):
    done = admin(s, "token", "ops")
    token = done.stdout.strip()
    assert token.startswith("sirdar_") and "token-remove ops" in done.stderr, done
    for port in (s.http, s.second):
        until("the cgi knows it", lambda port=port: good(s, token, port))
        assert make_person(s, f"by-ops-{port}", bearer(token), port)[0] == 200
    assert ask(s, "POST", "/api/v1/password", {"old": SECOND, "new": FIRST}, **bearer(token))[0] == 403, "it is no person"
    assert admin(s, "token", "ops", expect=REFUSED).stderr.count("already"), "a name serves once"
    admin(s, "token-remove", "ops")
    until("it is over", lambda: not good(s, token))


@test
def a_token_of_the_socket_may_be_less(s):
    viewer = admin(s, "token", "looks", "--role", "viewer", "--days", "7").stdout.strip()
    until("the cgi knows it", lambda: good(s, viewer))
    assert make_person(s, "nobody", bearer(viewer))[0] == 403
    operator = admin(s, "token", "runs", "--role", "operator").stdout.strip()
    until("the cgi knows it", lambda: good(s, operator))
    assert make_person(s, "nobody", bearer(operator))[0] == 403
    app = admin(s, "token", "program", "--role", "operator", "--app").stdout.strip()
    assert app.startswith("sirdar_app_") and not good(s, app), "an app's key is no bearer token"
    for wrong in (("--days", "0"), ("--days", "x"), ("--role",), ("--host", "x")):
        admin(s, "token", "wrong", *wrong, expect=USAGE)
    assert "role" in admin(s, "token", "wrong", "--role", "king", expect=REFUSED).stderr
    rows = {t["name"]: t for t in ask(s, "GET", "/api/v1/tokens", **session(s, SECOND))[1]["tokens"]}
    assert rows["looks"]["role"] == "viewer" and rows["looks"]["expires"] and not rows["looks"]["here_only"], rows["looks"]


@test
def nobody_else_makes_a_token_that_changes_credentials(s):
    head = session(s, SECOND)
    args = {"token": "sly", "role": "admin", "hash": "ab" * 32, "created": 1, "credentials": True}
    status, answer = ask(s, "POST", "/api/v1/commands", {"kind": "token-set", "args": args}, **head)
    assert status == 403 and answer["error"]["place"] == "args.credentials", answer
    assert "admin token" in answer["error"]["hint"], answer
    status, answer = ask(s, "POST", "/api/v1/tokens", {"name": "his", "role": "admin"}, **head)
    assert status == 201, answer
    until("the cgi knows it", lambda: good(s, answer["token"]))
    assert make_person(s, "nobody", bearer(answer["token"]))[0] == 403, "a person's own token changes credentials"


@test
def all_of_it_is_the_same_after_a_restart_of_both(s):
    token = admin(s, "token", "kept").stdout.strip()
    s.cgi.stop()
    s.base.kill()
    s.base.start()
    s.cgi.start()
    until("admin's sign-in", lambda: signs_in(s, SECOND)[0] == 200)
    assert signs_in(s, s.word)[0] == 401
    until("the token", lambda: good(s, token))
    assert not good(s, s.token)
    assert good(s, s.of_login), "one that the server kept before, too, goes on"


if __name__ == "__main__":
    sys.exit(main(lambda: Installation().start()))
