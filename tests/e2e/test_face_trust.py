#!/usr/bin/env python3
"""What the HTTP face lets whom do to itself: who may change a credential, what one stranger or one
person may cost the others, and what stands between it and a browser. TAP."""
import concurrent.futures
import http.client
import json
import os
import re
import sys
import threading
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import OWN_WORD, Site, main, own_admin, test, until  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
WORD, OTHER = "a long enough word", "another long word"


def ask(s, method, path, body=None, at="127.0.0.1", **head):
    """-> status, JSON or bytes; of the answer's head s.head. X_Y is the header X-Y; `at`: from where."""
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60, source_address=(at, 0))
    link.request(method, path, None if body is None else json.dumps(body),
                 {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in head.items()}})
    answer = link.getresponse()
    text, s.head = answer.read(), answer.headers
    link.close()
    return answer.status, json.loads(text) if text and "json" in (answer.getheader("Content-Type") or "") else text


def admin_word(s):
    return s.word


def session(s, name, word=WORD):
    """-> the headers of a person who has signed in."""
    status, answer = ask(s, "POST", "/api/v1/login", {"user": name, "password": word})
    assert status == 200, (status, answer)
    return {"Cookie": s.head["Set-Cookie"].split(";")[0], "X_CSRF_Token": answer["csrf"]}


def token(s, name, word=WORD, **more):
    status, answer = ask(s, "POST", "/api/v1/login",
                         {"user": name, "password": word, "name": f"{name}-{os.urandom(3).hex()}", **more})
    assert status == 200, (status, answer)
    return answer["token"]


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


def user(s, name, **more):
    status, answer = s.ask("POST", "/api/v1/users", {"user": name, "password": WORD, **more})
    assert status == 200, (status, answer)


# --- credentials

SECRET = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2E$RdescudvJCsgt3ub+b5dWRWJTmaaJObG"
KINDS = {"user-set": {"user": "eve", "role": "admin", "secret": SECRET}, "user-remove": {"user": "ann"},
         "group-set": {"group": "g", "role": "admin"}, "group-remove": {"group": "g"},
         "token-set": {"token": "t", "role": "admin", "hash": "ab" * 32, "created": 1}, "token-remove": {"token": "t"},
         "server-set": {"server": "x"}, "server-remove": {"server": "x"}}


def rows(name):
    text = (ROOT / name).read_text("utf-8")
    return re.findall(r'^ROUTE\("(\w+)",\s*"([^"]+)",\s*(\w+),\s*\w+,\s*([^,]+),', text, re.M)


def kept(s):
    """All that lets somebody in, as the store and the cgi's files have it."""
    people = {p: s.get(f"/api/v1/{p}") for p in ("users", "groups", "apps", "tokens", "servers")}
    people["tokens"] = [t for t in people["tokens"]["tokens"] if not t["here_only"]]
    return {**people, "admin's": (s.dir / "cgi/password").read_text()}


@test
def a_viewers_token_of_an_admin_does_not_set_his_password_over_chin(s):
    user(s, "ada", role="admin", projects=["*"])
    _, mine = ask(s, "POST", "/api/user/login", {"user_name": "ada", "password": WORD})
    status, small = ask(s, "POST", "/api/v1/tokens", {"name": "small", "role": "viewer", "days": 1}, **session(s, "ada"))
    assert status == 201, small
    fields = {"token": small["token"], "user_id": int(mine["info"].split()[1]), "password": OTHER, "email": ""}
    _, answer = ask(s, "POST", "/api/user/modify", fields)
    assert answer["status"] == "FAILED", answer
    assert ask(s, "POST", "/api/v1/login", {"user": "ada", "password": OTHER})[0] == 401
    session(s, "ada")


@test
def no_token_changes_a_credential_whatever_its_scope_and_its_way(s):
    user(s, "ann", role="admin", projects=["*"])
    user(s, "dora", role="developer", projects=["*"])
    tokens = {"of an admin": token(s, "ann"), "of admin": token(s, "admin", admin_word(s)),
              "of admin, scoped": token(s, "admin", admin_word(s), role="viewer", days=1),
              "of a developer": token(s, "dora"), "of the machine, scoped": made_here(s, "viewer")}
    assert s.ask("POST", "/api/v1/tokens", {"name": "mine", "days": 1})[0] == 201
    before = kept(s)
    guarded = [(m, p) for m, p, _, f in rows("cgi/handlers/routes.def") if "RF_CREDENTIAL" in f]
    named = re.compile(r"/(users|groups|apps|tokens|servers)\b|/password$")
    for method, path, _, _ in rows("cgi/handlers/routes.def"):  # the table forgets none
        if method != "GET" and named.search(path) and not path.endswith(("/sessions", "/test")):  # a test sets nothing
            assert (method, path) in guarded, (method, path)
    for whose, secret in tokens.items():
        for method, path in guarded:
            body = {"user": "eve", "name": "eve", "role": "admin", "password": WORD} if method == "POST" else None
            path = path.replace("{name}", "ann" if "users" in path else "mine")
            status, answer = ask(s, method, path, body, **bearer(secret))
            assert status == 403, (whose, method, path, status, answer)
        for kind, args in KINDS.items():
            status, answer = ask(s, "POST", "/api/v1/commands", {"kind": kind, "args": args}, **bearer(secret))
            assert status == 403, (whose, kind, status, answer)
        for method, path, _, _ in rows("cgi/seeds/routes_seeds.def"):
            body = {"token": secret, "user_id": 0, "user_name": "eve", "password": OTHER, "email": "", "name": "x"}
            ask(s, method, path.replace("{id}", "1"), None if method == "GET" else body, **bearer(secret))
            for more in ("user_name", "user_id"):
                body.pop(more)
                if path.startswith("/api/user/") and method == "POST":
                    _, answer = ask(s, method, path, {k: v for k, v in body.items() if k != "name"})
                    assert answer["status"] == "FAILED", (whose, path, answer)
                body["user_id"] = 0
    after = kept(s)
    for what, was in before.items():
        assert after[what] == was, (what, was, after[what])
    for whose in ("ann", "dora"):
        session(s, whose)


@test
def a_session_changes_credentials_and_the_refusal_of_a_token_says_so(s):
    ann = session(s, "ann")
    status, answer = ask(s, "POST", "/api/v1/users", {"user": "ben", "password": WORD, "role": "viewer"}, **bearer(token(s, "ann")))
    assert status == 403 and answer["error"]["place"] == "session" and "password" in answer["error"]["hint"], answer
    assert ask(s, "POST", "/api/v1/users", {"user": "ben", "password": WORD, "role": "viewer"}, **ann)[0] == 200
    assert ask(s, "POST", "/api/v1/commands", {"kind": "user-remove", "args": {"user": "ben"}}, **ann)[0] == 202
    # chin's token of a session is one, too
    _, answer = ask(s, "POST", "/api/user/login", {"user_name": "ann", "password": WORD})
    chin = answer["token"]
    _, answer = ask(s, "POST", "/api/user/new", {"token": chin, "user_name": "cem", "password": WORD, "email": ""})
    assert answer["status"] == "SUCCEED", answer


@test
def the_command_line_asks_for_the_password_where_a_token_does_not_do(s):
    path = s.dir / "ann.token"
    path.touch(0o600)
    path.write_text(f"{token(s, 'ann')}\nhttp://127.0.0.1:{s.http}\n")
    s.sirdar("user", "set", "finn", "--role", "viewer", "--token-file", str(path), stdin=f"{WORD}\n")
    assert "finn" in s.sirdar("user", "list").stdout
    before = len(s.get("/api/v1/sessions?all=true")["sessions"])
    done = s.sirdar("user", "remove", "finn", "--token-file", str(path), stdin="wrong wrong wrong\n", expect=None)
    assert done.returncode != 0 and "finn" in s.sirdar("user", "list").stdout, done.stderr
    s.sirdar("user", "remove", "finn", "--token-file", str(path), stdin=f"{WORD}\n")
    assert "finn" not in s.sirdar("user", "list").stdout
    assert len(s.get("/api/v1/sessions?all=true")["sessions"]) == before, "its session stays"


@test
def a_new_password_ends_the_tokens_of_its_person_whoever_sets_it(s):
    user(s, "hal", role="viewer")
    user(s, "ida", role="viewer")
    hers = token(s, "ida")
    for by in ("himself", "an admin"):
        secret = token(s, "hal")
        here, there = session(s, "hal"), session(s, "hal")
        if by == "himself":
            assert ask(s, "POST", "/api/v1/password", {"old": WORD, "new": OTHER}, **here)[0] == 200
            assert ask(s, "GET", "/api/v1/session", **here)[0] == 200
        else:
            user(s, "hal", password=OTHER + "2")
            assert ask(s, "GET", "/api/v1/session", **here)[0] == 401
        assert ask(s, "GET", "/api/v1/session", **there)[0] == 401, by
        assert ask(s, "GET", "/api/v1/session", **bearer(secret))[0] == 401, f"his token outlives a password set by {by}"
        assert not [t for t in s.get("/api/v1/tokens")["tokens"] if t["user"] == "hal"], by
        user(s, "hal")
    assert ask(s, "GET", "/api/v1/session", **bearer(hers))[0] == 200, "another's token ended"
    kept_on = token(s, "hal")
    assert s.ask("POST", "/api/v1/users", {"user": "hal", "role": "developer"})[0] == 200
    assert ask(s, "GET", "/api/v1/session", **bearer(kept_on))[0] == 200, "a token ends with a role"


@test
def the_command_line_says_that_tokens_end_with_the_password(s):
    path = s.dir / "hal.token"
    path.touch(0o600)
    path.write_text(f"{token(s, 'hal')}\nhttp://127.0.0.1:{s.http}\n")
    done = s.sirdar("passwd", "--token-file", str(path), stdin=f"{WORD}\n{OTHER}\n")
    assert "sirdar login" in done.stderr and "token" in done.stderr, done.stderr
    assert s.sirdar("session", "list", "--token-file", str(path), expect=None).returncode == 5
    session(s, "hal", OTHER)


def at_once(*asks):
    """-> the answers to calls that begin together (who is verified before another's change is durable: test_face_sessions.py)."""
    begin = threading.Barrier(len(asks))

    def one(ask_it):
        begin.wait()
        return ask_it()
    with concurrent.futures.ThreadPoolExecutor(len(asks)) as pool:
        return [w.result() for w in [pool.submit(one, a) for a in asks]]


@test
def of_two_that_change_a_password_with_the_same_old_one_one_is_refused(s):
    user(s, "nils", role="viewer")
    heads, words = [session(s, "nils") for _ in range(2)], (OTHER + " one", OTHER + " two")
    made = at_once(*[
        lambda n=n: ask(s, "POST", "/api/v1/password", {"old": WORD, "new": words[n]}, **heads[n]) for n in range(2)])
    assert sorted(m[0] for m in made) in ([200, 401], [200, 409]), made
    won = [m[0] for m in made].index(200)
    assert ask(s, "GET", "/api/v1/session", **heads[won])[0] == 200, "the session that changed it ended"
    assert ask(s, "GET", "/api/v1/session", **heads[1 - won])[0] == 401, "the one that was refused goes on"
    session(s, "nils", words[won])
    for old in (words[1 - won], WORD):
        assert ask(s, "POST", "/api/v1/login", {"user": "nils", "password": old})[0] == 401, "two passwords are in force"


@test
def of_two_that_change_admins_password_with_the_same_old_one_one_is_refused(s):
    heads, words = [session(s, "admin", admin_word(s)) for _ in range(2)], (OTHER + " one", OTHER + " two")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waits = [pool.submit(ask, s, "POST", "/api/v1/password", {"old": admin_word(s), "new": words[n]}, **heads[n])
                 for n in range(2)]
    made = [w.result()[0] for w in waits]
    assert sorted(made) == [200, 401], made
    s.word = words[made.index(200)]
    assert ask(s, "GET", "/api/v1/session", **heads[made.index(200)])[0] == 200
    session(s, "admin", s.word)


@test
def a_token_for_a_password_that_was_changed_meanwhile_is_not_made(s):
    user(s, "olga", role="viewer")
    here = session(s, "olga")
    changed, made = at_once(
        lambda: ask(s, "POST", "/api/v1/password", {"old": WORD, "new": OTHER}, **here),
        lambda: ask(s, "POST", "/api/v1/login", {"user": "olga", "password": WORD, "name": "olga-late"}))
    assert changed[0] == 200 and made[0] in (200, 401, 409), (changed, made)
    assert not [t for t in s.get("/api/v1/tokens")["tokens"] if t["user"] == "olga"], "the old password made a token"
    assert made[0] != 200 or ask(s, "GET", "/api/v1/session", **bearer(made[1]["token"]))[0] == 401


@test
def what_was_verified_before_an_administrators_reset_changes_nothing_after_it(s):
    def send(kind, **args):
        status, answer = s.ask("POST", "/api/v1/commands", {"kind": kind, "args": args})
        assert status in (202, 409), (status, answer)
        return status if status == 202 else (status, answer["error"]["code"], answer["error"]["place"])

    user(s, "pete", role="viewer")
    user(s, "pete", password=OTHER)
    late = {"role": "viewer", "hash": "cd" * 32, "created": 1, "owner": "pete"}
    assert send("user-set", user="pete", secret=SECRET, since=1) == (409, "CONFLICT", "args.since")
    assert send("token-set", token="pete-late", since=1, **late) == (409, "CONFLICT", "args.since")
    assert send("user-set", user="nobody-yet", role="viewer", since=1) == (409, "CONFLICT", "args.since")
    session(s, "pete", OTHER)
    assert not [t for t in s.get("/api/v1/tokens")["tokens"] if t["user"] == "pete"]
    assert send("token-set", token="pete-now", since=2, **late) == 202
    assert send("user-set", user="pete", secret=SECRET, since=2) == 202


@test
def roots_new_password_over_chin_ends_the_sessions_of_before(s):
    old = session(s, "admin", admin_word(s))
    _, answer = ask(s, "POST", "/api/user/modify", {"token": s.token, "user_id": 0, "password": OTHER, "email": ""})
    assert answer["status"] == "SUCCEED", answer
    s.word = OTHER
    assert ask(s, "GET", "/api/v1/session", **old)[0] == 401
    session(s, "admin", OTHER)


@test
def a_new_password_of_admin_ends_the_tokens_that_he_made_and_apps_name_their_maker(s):
    user(s, "lea", role="viewer")
    hers, words = token(s, "lea"), [OTHER, OTHER + " 2", OTHER + " 3"]
    for n, by in enumerate(("himself", "over chin")):
        by_login, here = token(s, "admin", admin_word(s)), session(s, "admin", admin_word(s))
        status, made = ask(s, "POST", "/api/v1/tokens", {"name": f"of-admin-{n}", "role": "operator"}, **here)
        assert status == 201 and ask(s, "POST", "/api/v1/apps", {"name": f"app-{n}", "role": "viewer"}, **here)[0] == 201
        assert s.ask("POST", "/api/v1/tokens", {"name": f"of-machine-{n}"})[0] == 201
        rows_ = {t["name"]: t for t in s.get("/api/v1/tokens")["tokens"]}
        assert rows_[f"of-admin-{n}"]["made_by"] == "admin" and rows_[f"of-admin-{n}"]["user"] is None, rows_
        assert rows_[f"of-machine-{n}"]["made_by"].startswith("token:test-"), rows_
        if by == "himself":
            assert ask(s, "POST", "/api/v1/password", {"old": admin_word(s), "new": words[n]}, **here)[0] == 200
            assert ask(s, "GET", "/api/v1/session", **here)[0] == 200
        else:
            _, answer = ask(s, "POST", "/api/user/modify", {"token": s.token, "user_id": 0, "password": words[n], "email": ""})
            assert answer["status"] == "SUCCEED", answer
        s.word = words[n]
        for secret in (by_login, made["token"]):
            assert ask(s, "GET", "/api/v1/session", **bearer(secret))[0] == 401, f"a token of admin outlives a password set by {by}"
        names = {t["name"] for t in s.get("/api/v1/tokens")["tokens"]}
        assert f"of-machine-{n}" in names and not [x for x in names if x.startswith(("of-admin", "admin-"))], names
        apps = {a["name"]: a["made_by"] for a in s.get("/api/v1/apps")["apps"]}
        assert apps[f"app-{n}"] == "admin", apps
    assert ask(s, "GET", "/api/v1/session", **bearer(hers))[0] == 200, "another's token ended"
    assert "admin" in next(row for row in s.sirdar("app", "list").stdout.splitlines() if row.startswith("app-0"))


@test
def without_a_server_a_new_password_of_admin_ends_what_he_made_meanwhile_and_says_what_it_cannot(s):
    here = session(s, "admin", admin_word(s))
    status, kept_on = ask(s, "POST", "/api/v1/tokens", {"name": "of-admin-away", "role": "viewer"}, **here)
    assert status == 201
    s.base.stop()
    until("the cgi knows", lambda: ask(s, "GET", "/readyz")[0] == 503)
    local = token(s, "admin", admin_word(s))
    assert ask(s, "GET", "/api/v1/session", **bearer(local))[0] == 200
    status, answer = ask(s, "POST", "/api/v1/password", {"old": admin_word(s), "new": OTHER + " 4"}, **here)
    s.word = OTHER + " 4"
    assert status == 503 and "is changed" in answer["error"]["message"] and "tokens" in answer["error"]["message"], answer
    assert ask(s, "GET", "/api/v1/session", **bearer(local))[0] == 401
    s.base.start()
    until("the cgi is up", lambda: s.up())
    assert ask(s, "POST", "/api/v1/password", {"old": s.word, "new": OTHER + " 5"}, **here)[0] == 200
    s.word = OTHER + " 5"
    assert ask(s, "GET", "/api/v1/session", **bearer(kept_on["token"]))[0] == 401


@test
def taking_the_password_away_ends_the_sessions_that_it_let_in(s):
    old, path = session(s, "admin", admin_word(s)), s.dir / "cgi/password"
    user(s, "mona", role="viewer")
    hers = session(s, "mona")
    s.cgi.stop()
    path.unlink()
    s.cgi.start()
    until("the server answers", lambda: ask(s, "GET", "/api/v1/session", **hers)[0] == 200)
    assert ask(s, "GET", "/api/v1/session", **old)[0] == 401
    assert ask(s, "POST", "/api/v1/login", {"user": "admin", "password": s.word})[0] == 401
    assert ask(s, "GET", "/api/v1/session", **bearer(s.token))[0] == 401, "tokens of the machine go on without who made them"
    s.cgi.stop()
    own_admin(s.dir / "cgi")
    s.cgi.start()
    until("the cgi is up", s.up)
    s.word = OWN_WORD
    assert ask(s, "GET", "/api/v1/session", **old)[0] == 401, "a session of before came back with the file"
    assert ask(s, "GET", "/api/v1/session", **session(s, "admin", s.word))[0] == 200


# --- what one may cost the others


@test
def one_persons_logins_end_nobody_elses_session(s):
    user(s, "jan", role="viewer")
    user(s, "ken", role="viewer")
    other = session(s, "ken")
    said = {guess(s, "jan", WORD, f"127.0.11.{1 + n % 200}")[0] for n in range(262)}
    assert said == {200}, said
    assert ask(s, "GET", "/api/v1/session", **other)[0] == 200
    mine = [x for x in s.get("/api/v1/sessions?all=true")["sessions"] if x["user"] == "jan"]
    assert len(mine) == 20, len(mine)


# --- tries


def guess(s, name, word, at):
    """-> status, seconds to wait. Of no use to two threads: a link of its own, nothing kept."""
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60, source_address=(at, 0))
    link.request("POST", "/api/v1/login", json.dumps({"user": name, "password": word}), {"Content-Type": "application/json"})
    answer = link.getresponse()
    answer.read()
    link.close()
    return answer.status, int(answer.getheader("Retry-After") or 0)


@test
def a_stranger_locks_nobody_out_who_signs_in_from_another_network(s):
    word = admin_word(s)
    said = [guess(s, "admin", "wrong wrong wrong", f"127.0.5.{1 + n}")[0] for n in range(12)]  # one network, many addresses
    assert said == [401] * 5 + [429] * 7, said
    status, wait = guess(s, "admin", word, "127.0.5.99")
    assert status == 429 and wait > 0, (status, wait)
    assert guess(s, "admin", word, "127.0.6.1")[0] == 200
    assert guess(s, "admin", word, "127.0.5.99")[0] == 429, "another network's right password has paid for the guesses"
    user(s, "gil", role="viewer")
    assert guess(s, "gil", WORD, "127.0.5.99")[0] == 200, "somebody else of that network waits for admin's guesses"


@test
def guesses_at_the_same_time_are_no_more_than_one_after_the_other(s):
    with concurrent.futures.ThreadPoolExecutor(17) as pool:
        said = sorted(pool.map(lambda n: guess(s, "admin", f"wrong wrong {n}", f"127.0.7.{1 + n}")[0], range(17)))
    assert said.count(401) <= 5 and set(said) <= {401, 429}, said
    assert guess(s, "admin", admin_word(s), "127.0.8.1")[0] == 200


@test
def one_address_does_not_try_a_word_on_everybody(s):
    said = [guess(s, f"nobody-{n}", "wrong wrong wrong", "127.0.9.1")[0] for n in range(8)]
    assert said == [401] * 5 + [429] * 3, said
    assert guess(s, "gil", WORD, "127.0.9.2")[0] == 200


@test
def a_right_password_makes_up_for_wrong_ones_before_it(s):
    for _ in range(8):
        assert ask(s, "POST", "/api/v1/login", {"user": "gil", "password": WORD}, at="127.0.10.1")[0] == 200
    said = [guess(s, "gil", WORD if n % 2 else "wrong wrong wrong", "127.0.10.1")[0] for n in range(8)]
    assert said == [401, 200] * 4, said


def made_here(s, role):
    done = s.run([*s.cgi.argv, "--make-token", f"here-{role}-{os.urandom(3).hex()}", role])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def site():
    s = Site("face-trust")
    s.cgi.argv += [w for seed in ("chin", "jarvis2", "crontab", "ects") for w in ("--set", f"{seed}_project={seed}")]
    s.word = OWN_WORD
    return s.start_as_earlier().believe()


if __name__ == "__main__":
    sys.exit(main(site))
