#!/usr/bin/env python3
"""Who may do what: users, roles, projects, rights, their sessions and tokens. TAP."""
import http.client
import json
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, main, test, until  # noqa: E402

WORD = "a long enough word"
DAY = "2026-03-01"


def workflow(s, project, name="w", as_who=None):
    return ask(s, as_who, "POST", "/api/v1/workflows", {"documents": [{"name": "x.yaml", "text": f"""
workflow: {name}
project: {project}
timezone: UTC
start_date: {DAY}
end_date: 2099-01-01
state: online
tasks:
  a: {{type: noop, cycle: day, catchup: {{mode: none}}}}
  b: {{type: noop, cycle: day, catchup: {{mode: none}}, needs: [a]}}
"""}]})


def ask(s, token, method, path, body=None, headers=None):
    """-> status, JSON; token None: the admin's; of session(): with its cookie."""
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    head = {"Content-Type": "application/json", **(headers or {})}
    if isinstance(token, dict):
        head.update(token)
    elif headers is None or "Cookie" not in headers:
        head["Authorization"] = f"Bearer {token or s.token}"
    link.request(method, path, None if body is None else json.dumps(body), head)
    answer = link.getresponse()
    text = answer.read()
    s.cookie = (answer.getheader("Set-Cookie") or "").split(";")[0]
    link.close()
    is_json = "json" in (answer.getheader("Content-Type") or "")
    return answer.status, json.loads(text) if is_json and text else text


def user(s, name, **more):
    status, answer = ask(s, None, "POST", "/api/v1/users", {"user": name, "password": WORD, **more})
    assert status == 200, (status, answer)


def token(s, name, password=WORD, role=None):
    body = {"user": name, "password": password, "name": f"{name}-{os.urandom(3).hex()}"}
    if role:
        body["role"] = role
    status, answer = ask(s, "none", "POST", "/api/v1/login", body)
    assert status == 200, (status, answer)
    return answer["token"]


def command(s, who, kind, dry=False, **args):
    return ask(s, who, "POST", "/api/v1/commands", {"kind": kind, "args": args, "dry_run": dry})


@test
def a_user_signs_in_and_is_told_what_he_may(s):
    user(s, "ann", role="developer", projects=["retail"], rights=["backfill"], full_name="Ann")
    status, answer = ask(s, token(s, "ann"), "GET", "/api/v1/session")
    assert status == 200 and answer["user"] == "ann" and answer["role"] == "developer", answer
    assert answer["projects"] == ["retail"] and answer["rights"] == ["backfill"], answer
    listed = s.get("/api/v1/users")["users"]
    assert listed == [{**listed[0], "user": "ann", "role": "developer", "has_password": True}], listed
    assert "ann" in s.sirdar("user", "list").stdout


@test
def a_wrong_name_or_word_is_one_answer(s):
    for who, word in (("ann", "wrong wrong wrong"), ("nobody", WORD)):
        status, answer = ask(s, "none", "POST", "/api/v1/login", {"user": who, "password": word})
        assert status == 401 and answer["error"]["message"] == "wrong user or password", answer


@test
def a_developer_changes_his_own_projects_alone(s):
    ann = token(s, "ann")
    assert workflow(s, "retail", as_who=ann)[0] == 202
    status, answer = workflow(s, "finance", as_who=ann)
    assert status == 403 and "retail" in answer["error"]["message"], answer
    assert workflow(s, "finance")[0] == 202
    for text in ("calendar: c\ndays: [2026-01-01]\n", "pool: p\nslots: 3\n", "global: {x: '1'}\n",
                 "project: finance\nparameters: {x: '1'}\n"):
        status, answer = ask(s, ann, "POST", "/api/v1/workflows", {"documents": [{"name": "x", "text": text}]})
        assert status in (400, 403), (text, status, answer)
        assert status == 403 or "calendar" in text, (text, answer)
    status, answer = command(s, ann, "offline", selection={"tasks": ["finance/w/a"]}, detach=True)
    assert status == 403, answer
    status, answer = command(s, ann, "offline", selection={"tasks": ["retail/w/b"]})
    assert status == 202, answer
    assert command(s, ann, "online", selection={"tasks": ["retail/w/b"]})[0] == 202


@test
def a_quota_is_an_operators_whether_a_document_says_it_or_the_command(s):
    user(s, "qdev", role="developer", projects=["retail"])
    user(s, "qops", role="operator", projects=["retail"])
    dev, ops = token(s, "qdev"), token(s, "qops")

    def apply(who, text):
        return command(s, who, "apply", documents=[{"name": "p.yaml", "text": text}])
    assert command(s, dev, "quota-set", project="retail", running=5)[0] == 403
    status, answer = apply(dev, "project: retail\nquota: {running: 5}\n")
    assert status == 403 and "needs the role operator" in str(answer), (status, answer)
    assert apply(ops, "project: retail\nquota: {running: 5}\n")[0] in (200, 202)
    # What leaves it as it is stays a developer's to save; what drops it does not.
    assert apply(dev, "project: retail\nquota: {running: 5}\nparameters: {q: one}\n")[0] in (200, 202)
    assert apply(dev, "project: retail\nparameters: {q: two}\n")[0] == 403
    status, answer = command(s, dev, "apply", documents=[{"name": "p.yaml", "text": "project: retail\nparameters: {q: two}\n"}], quota_within=["retail"])
    assert status == 403, (status, answer)
    assert apply(ops, "project: retail\nparameters: {q: two}\n")[0] in (200, 202)


@test
def who_may_not_set_a_priority_starts_nothing_with_one_either(s):
    user(s, "pdev", role="developer", projects=["retail"])
    user(s, "pops", role="operator", projects=["retail"])
    user(s, "pboth", role="developer", projects=["retail"])
    assert ask(s, None, "POST", "/api/v1/groups", {"name": "fin-ops", "role": "operator", "projects": ["finance"], "members": ["pboth"]})[0] == 200
    dev, ops, both = token(s, "pdev"), token(s, "pops"), token(s, "pboth")
    select = {"selection": {"tasks": ["retail/w/a"], "dates": [DAY]}}
    for kind in ("run-start", "redo"):
        status, answer = command(s, dev, kind, dry=True, priority=10, **select)
        assert status == 403 and answer["error"]["place"] == "args.priority" and "operator" in answer["error"]["message"], (kind, status, answer)
        assert command(s, dev, kind, dry=True, **select)[0] != 403, kind
        assert command(s, ops, kind, dry=True, priority=10, **select)[0] != 403, kind
        # An operator of another project is none of this one.
        assert command(s, both, kind, dry=True, priority=10, **select)[0] == 403, kind
        assert command(s, both, kind, dry=True, **select)[0] != 403, kind


@test
def who_asks_for_more_than_his_projects_gets_no_more(s):
    """`within` of the body narrows, and never widens."""
    ann = token(s, "ann")
    status, answer = command(s, ann, "online", selection={"tasks": ["finance/w/a"]}, within=["finance"])
    assert status == 403 and "none" in answer["error"]["message"], answer
    status, _ = command(s, ann, "online", selection={"tasks": ["retail/w/a"]}, within=["retail", "finance"])
    assert status == 202


@test
def what_lies_downstream_in_another_project_is_left_and_named(s):
    user(s, "olga", role="operator", projects=["retail"])
    status, answer = ask(s, None, "POST", "/api/v1/workflows", {"documents": [{"name": "y.yaml", "text": f"""
workflow: far
project: finance
timezone: UTC
start_date: {DAY}
end_date: 2099-01-01
state: online
tasks:
  c: {{type: noop, cycle: day, catchup: {{mode: none}}, needs: [{{task: retail/w/a}}]}}
"""}]})
    assert status == 202, answer
    s.command_over(s.command("backfill", selection={"tasks": ["retail/w/a", "finance/far/c"], "dates": [DAY]}))
    s.wait_state("finance/far/c", DAY + "T00:00:00Z", "Succ")
    olga = token(s, "olga")
    args = {"selection": {"tasks": ["retail/w/a"], "dates": [DAY]}, "mode": "with_downstream", "scope": "all"}
    status, answer = command(s, olga, "redo", dry=True, **args)
    assert status == 200 and answer["refusals"] >= 1, answer
    assert "not among those you may change" in json.dumps(answer), answer
    status, answer = command(s, olga, "redo", **args)
    assert status == 202, answer
    over = s.command_over(answer)
    assert over["failed"] == 1, over
    items = s.get(f"/api/v1/commands/{over['command']}/items?failed=1")["items"]
    assert [i["task"] for i in items] == ["finance/far/c"] and items[0]["code"] == "FORBIDDEN", items


@test
def backfill_and_force_success_are_rights_of_their_own(s):
    olga, ann = token(s, "olga"), token(s, "ann")
    picks = {"selection": {"tasks": ["retail/w/a"], "dates": ["2026-03-05"]}}
    for kind in ("backfill", "force-success"):
        status, answer = command(s, olga, kind, **picks)
        assert status == 403 and "right" in answer["error"]["message"], answer
        assert f"--right {kind}" in answer["error"]["hint"], answer
    assert command(s, ann, "backfill", **picks)[0] == 202
    assert command(s, ann, "force-success", **picks)[0] == 403
    assert command(s, ann, "skip", **picks)[0] == 403  # an operator's


@test
def the_whole_installation_is_not_for_who_has_projects(s):
    olga = token(s, "olga")
    assert command(s, olga, "pool-set", pool="x", size=1)[0] == 403
    assert command(s, olga, "quota-set", project="finance", running=1)[0] == 403
    assert command(s, olga, "quota-set", project="retail", running=5)[0] == 202
    user(s, "omar", role="operator", projects=["*"])
    assert command(s, token(s, "omar"), "pool-set", pool="x", size=1)[0] == 202


@test
def another_ones_command_is_not_steered(s):
    user(s, "oleg", role="operator", projects=["retail"])
    olga, oleg = token(s, "olga"), token(s, "oleg")
    status, answer = command(s, olga, "redo", selection={"tasks": ["retail/w/a"], "dates": [DAY]})
    assert status == 202, answer
    number = s.command_over(answer)["command"]
    status, answer = command(s, oleg, "command-cancel", command=number)
    assert status == 403, answer
    status, answer = command(s, token(s, "olga"), "command-cancel", command=number)  # another token of hers
    assert status == 409, answer  # over, but hers


def session(s, name, word=WORD, agent="x"):
    status, answer = ask(s, None, "POST", "/api/v1/login", {"user": name, "password": word}, headers={"Cookie": "x=y", "User-Agent": agent})
    assert status == 200, answer
    return {"Cookie": s.cookie, "X-CSRF-Token": answer["csrf"]}


@test
def a_session_ends_with_its_password_its_role_and_its_user(s):
    user(s, "sam", role="operator", projects=["retail"])
    for change in ({"password": "another long word"}, {"role": "viewer"}, {"disabled": True}):
        jar = session(s, "sam")
        assert ask(s, None, "GET", "/api/v1/session", headers=jar)[0] == 200
        assert ask(s, None, "POST", "/api/v1/users", {"user": "sam", **change})[0] == 200
        assert ask(s, None, "GET", "/api/v1/session", headers=jar)[0] == 401, change
        ask(s, None, "POST", "/api/v1/users", {"user": "sam", "password": WORD, "role": "operator", "disabled": False})
    jar = session(s, "sam")
    assert ask(s, None, "POST", "/api/v1/users", {"user": "sam", "mail": "sam@example.com"})[0] == 200
    assert ask(s, None, "GET", "/api/v1/session", headers=jar)[0] == 200  # nothing that matters changed
    mine = token(s, "sam")
    assert ask(s, None, "DELETE", "/api/v1/users/sam")[0] == 200
    assert ask(s, None, "GET", "/api/v1/session", headers=jar)[0] == 401
    assert ask(s, mine, "GET", "/api/v1/session")[0] == 401
    assert ask(s, None, "GET", "/api/v1/users/sam")[0] == 404
    assert ask(s, None, "DELETE", "/api/v1/users/sam")[0] == 404


@test
def a_removed_user_who_returns_has_nothing_of_before(s):
    status, answer = ask(s, None, "POST", "/api/v1/users", {"user": "sam", "role": "viewer"})
    assert status == 200, answer
    status, answer = ask(s, None, "GET", "/api/v1/users/sam")
    assert answer["projects"] == [] and not answer["has_password"] and answer["mail"] is None, answer
    assert ask(s, "none", "POST", "/api/v1/login", {"user": "sam", "password": WORD})[0] == 401


@test
def people_change_their_own_password_and_only_with_it(s):
    user(s, "pat", role="viewer")
    jar, other = session(s, "pat"), session(s, "pat")
    status, _ = ask(s, None, "POST", "/api/v1/password", {"old": "not that one", "new": "a newer long word"}, headers=jar)
    assert status == 401
    status, answer = ask(s, None, "POST", "/api/v1/password", {"old": WORD, "new": "short"}, headers=jar)
    assert status == 400, answer
    status, answer = ask(s, None, "POST", "/api/v1/password", {"old": WORD, "new": "a newer long word"}, headers=jar)
    assert status == 200, answer
    assert ask(s, None, "GET", "/api/v1/session", headers=jar)[0] == 200  # it knew the old one
    assert ask(s, None, "GET", "/api/v1/session", headers=other)[0] == 401
    session(s, "pat", "a newer long word")


def sessions(s, jar, args=""):
    status, answer = ask(s, None, "GET", "/api/v1/sessions" + args, headers=jar)
    assert status == 200, answer
    return answer["sessions"]


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0"


@test
def people_see_where_they_are_signed_in_and_end_it(s):
    user(s, "eve", role="viewer")
    user(s, "fay", role="viewer")
    here, there, fays = session(s, "eve", agent=FIREFOX), session(s, "eve", agent=EDGE), session(s, "fay")
    mine = sessions(s, here)
    assert [(x["user"], x["browser"], x["system"], x["own"], x["via"], x["address"]) for x in mine] == [
        ("eve", "Firefox", "Linux", True, "password", "127.0.0.1"),
        ("eve", "Edge", "Windows", False, "password", "127.0.0.1")], mine
    assert all(x["since"] <= x["seen"] and x["since"].endswith("Z") for x in mine), mine
    assert not any(c.partition("=")[2] in str(mine) for c in (here["Cookie"], there["Cookie"])), "a secret is told"
    fay = sessions(s, fays)[0]["id"]
    for how in ("?user=fay", "?all=true"):
        assert ask(s, None, "GET", "/api/v1/sessions" + how, headers=here)[0] == 403
    got = ask(s, None, "DELETE", "/api/v1/users/fay/sessions", headers=here)
    assert got[0] == 403, got
    assert ask(s, None, "DELETE", "/api/v1/sessions/" + fay, headers=here)[0] == 404
    assert ask(s, None, "GET", "/api/v1/session", headers=fays)[0] == 200
    assert ask(s, None, "DELETE", "/api/v1/sessions", headers=here) == (200, {"ended": 1})
    assert ask(s, None, "GET", "/api/v1/session", headers=there)[0] == 401
    assert ask(s, None, "DELETE", "/api/v1/sessions", headers=here) == (200, {"ended": 0})
    assert [x["own"] for x in sessions(s, here)] == [True]
    assert ask(s, None, "DELETE", "/api/v1/sessions/" + mine[0]["id"], headers=here) == (200, {"ended": 1})
    assert ask(s, None, "GET", "/api/v1/session", headers=here)[0] == 401


@test
def an_admin_sees_and_ends_those_of_anybody_and_the_audit_says_so(s):
    user(s, "gus", role="viewer")
    jars = [session(s, "gus") for _ in range(3)]
    assert sorted(x["user"] for x in s.get("/api/v1/sessions?user=gus")["sessions"]) == ["gus"] * 3
    assert {"gus"} <= {x["user"] for x in s.get("/api/v1/sessions?all=true")["sessions"]}
    one = s.get("/api/v1/sessions?user=gus")["sessions"][0]["id"]
    assert ask(s, None, "DELETE", "/api/v1/sessions/" + one) == (200, {"ended": 1})
    got = ask(s, None, "DELETE", "/api/v1/users/gus/sessions")
    assert got == (200, {"ended": 2}), got
    assert [ask(s, None, "GET", "/api/v1/session", headers=j)[0] for j in jars] == [401] * 3
    told = [json.loads(x["detail"]) for x in s.get("/api/v1/audit")["items"] if x["action"] == "session-end"]
    by = {"asserted_by": "cgi"}
    assert [len(t.pop("ids")) for t in told[:2]] == [2, 1], told
    assert told[:2] == [{"user": "gus", "sessions": 2, **by}, {"user": "gus", "sessions": 1, **by}], told
    for wrong, code in (("?user=gus&all=true", 400), ("?whose=gus", 400), ("?all=maybe", 400)):
        assert ask(s, None, "GET", "/api/v1/sessions" + wrong)[0] == code, wrong
    status, answer = command(s, None, "session-end", user="gus", sessions=1)
    assert status == 400 and "DELETE /api/v1/sessions" in answer["error"]["message"], answer


@test
def the_command_line_lists_sessions_and_ends_them(s):
    user(s, "ivy", role="viewer")
    user(s, "jon", role="viewer")
    jars = [session(s, "ivy", agent=FIREFOX) for _ in range(4)]
    other = session(s, "jon")

    def alive():
        return [ask(s, None, "GET", "/api/v1/session", headers=j)[0] == 200 for j in (*jars, other)]

    def listed(*words):
        return json.loads(s.sirdar("session", "list", "--json", *words).stdout)

    mine = sessions(s, jars[1])
    third = next(x["id"] for x in mine if x["own"])
    assert {x["id"] for x in listed("--user", "ivy")} == {x["id"] for x in mine} and len(mine) == 4, mine
    assert {"ivy", "jon"} <= {x["user"] for x in listed("--all")}
    table = s.sirdar("session", "list", "--user", "ivy").stdout
    assert third in table and "Firefox" in table and "127.0.0.1" in table and "jon" not in table, table
    assert s.sirdar("session", "end", third).stdout == "ended: 1\n"
    assert alive() == [True, False, True, True, True]
    # By a token of hers: her own, of nobody else.
    mine = s.dir / "ivy.token"
    mine.touch(0o600)
    mine.write_text(token(s, "ivy"))
    ivys = ("--token-file", str(mine), "--server", f"http://127.0.0.1:{s.http}")
    assert [x["user"] for x in listed(*ivys)] == ["ivy"] * 3
    for words in (("list", "--all"), ("list", "--user", "jon"), ("end", "--user", "jon")):
        done = s.sirdar("session", *words, *ivys, expect=None)
        assert done.returncode not in (0, 2) and "admin" in done.stderr, (words, done.stderr)
    assert json.loads(s.sirdar("session", "end", "--all", "--json", *ivys).stdout) == {"ended": 3}
    assert alive() == [False] * 4 + [True]
    assert s.sirdar("session", "end", "--user", "jon").stdout == "ended: 1\n" and not any(alive())
    for words in (("end",), ("end", third, "--all"), ("end", "--user", "jon", "--all"), ("list", "ivy"),
                  ("list", "--user", "jon", "--all")):
        done = s.sirdar("session", *words, expect=None)
        assert done.returncode == 2 and f"usage: sirdar session {words[0]}" in done.stderr, (words, done)
    done = s.sirdar("session", "end", third, expect=None)
    assert done.returncode not in (0, 2) and "session" in done.stderr, done


@test
def sessions_outlive_the_web_server_but_not_their_end(s):
    """By a hash of what the browser has: the file lets nobody in, and what was ended stays ended, crash or not."""
    user(s, "hal", role="viewer")
    kept, ended, changed = session(s, "hal"), session(s, "hal"), session(s, "hal")
    got = ask(s, None, "POST", "/api/v1/logout", headers=ended)
    assert got[0] == 200, got
    path = s.dir / "cgi" / "sessions"
    until("it is written down", lambda: path.exists() and path.read_text().count('"hal"') == 2)
    text = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600, oct(path.stat().st_mode)
    for jar in (kept, changed):
        assert jar["Cookie"].partition("=")[2] not in text and jar["X-CSRF-Token"] not in text
    row = [x for x in json.loads(text)["sessions"] if x["user"] == "hal"][0]
    for stolen in (row["hash"], row["id"]):
        assert ask(s, None, "GET", "/api/v1/session", headers={"Cookie": "sirdar=" + stolen})[0] == 401
    before = sessions(s, kept)
    s.cgi.restart(hard=True)
    until("it is known again", lambda: ask(s, None, "GET", "/api/v1/session", headers=kept)[0] == 200)
    after = sessions(s, kept)
    assert [(x["id"], x["since"], x["own"]) for x in after] == [(x["id"], x["since"], x["own"]) for x in before], after
    assert ask(s, None, "GET", "/api/v1/session", headers=ended)[0] == 401
    new = {"old": WORD, "new": "a newer long word"}
    assert ask(s, None, "POST", "/api/v1/password", new, headers=kept)[0] == 200  # its CSRF token is as it was
    s.cgi.restart(hard=True)
    until("the one that changed it goes on", lambda: ask(s, None, "GET", "/api/v1/session", headers=kept)[0] == 200)
    assert ask(s, None, "GET", "/api/v1/session", headers=changed)[0] == 401
    s.cgi.stop()
    path.write_text("{")
    s.cgi.start()
    until("a file that does not read is nobody's", lambda: ask(s, None, "GET", "/api/v1/session")[0] == 200)
    assert ask(s, None, "GET", "/api/v1/session", headers=kept)[0] == 200, "it is the server's to keep"
    until("the server is known again", s.up)
    assert ask(s, None, "DELETE", "/api/v1/users/hal")[0] == 200


def preferences(s, jar, value, version):
    return ask(s, None, "PUT", "/api/v1/preferences", {"preferences": value}, headers={**jar, "If-Match": f'"{version}"'})


@test
def what_one_has_set_is_ones_own_and_no_write_is_lost(s):
    user(s, "ida", role="viewer")
    user(s, "jon", role="viewer")
    ida, jon = session(s, "ida"), session(s, "jon")
    assert ask(s, None, "GET", "/api/v1/preferences", headers=ida) == (200, {"version": 0, "preferences": {}})
    first = {"theme": {"value": "dark", "at": 1792000000000}, "views": [{"name": "夜间 \"x\"", "q": "state:Running", "at": 1}]}
    got = preferences(s, ida, first, 0)
    assert got == (200, {"version": 1, "preferences": first}), got
    status, answer = preferences(s, ida, {"theme": {}}, 0)  # another browser, which had not read it
    assert status == 412 and answer["error"]["code"] == "CONFLICT", answer
    assert preferences(s, ida, {"theme": {}}, 1) == (200, {"version": 2, "preferences": {"theme": {}}})
    assert ask(s, None, "GET", "/api/v1/preferences", headers=jon)[1] == {"version": 0, "preferences": {}}
    assert ask(s, token(s, "ida"), "GET", "/api/v1/preferences")[1]["version"] == 2  # a token of hers is hers
    assert ask(s, None, "GET", "/api/v1/preferences")[0] == 403  # this machine's is nobody's
    assert not [x for x in s.get("/api/v1/audit?limit=200")["items"] if "preferences" in x["action"]]
    assert not [x for x in s.get("/api/v1/commands?limit=200")["items"] if x["kind"] == "preferences-set"]


@test
def what_one_has_set_is_small_and_an_object(s):
    jar = session(s, "ida")
    room = 32768 - len('{"a":""}')
    assert preferences(s, jar, {"a": "x" * room}, 2)[0] == 200
    status, answer = preferences(s, jar, {"a": "x" * (room + 1)}, 3)
    assert status == 413 and "32768" in answer["error"]["message"], answer
    for body in ([], {}, {"preferences": []}, {"preferences": "{}"}, {"preferences": {}, "more": 1}, {"preferences": {"a": 0.5}}):
        status, answer = ask(s, None, "PUT", "/api/v1/preferences", body, headers={**jar, "If-Match": '"3"'})
        assert status == 400, (body, answer)
    for match in ("", "3", '"x"', '"-1"', '"3" ,"4"', "*", '"99999999999"'):
        status, answer = ask(s, None, "PUT", "/api/v1/preferences", {"preferences": {}}, headers={**jar, "If-Match": match})
        assert status == 400 and answer["error"]["place"] == "If-Match", (match, answer)
    assert ask(s, None, "PUT", "/api/v1/preferences", {"preferences": {}}, headers=jar)[0] == 400
    assert ask(s, None, "GET", "/api/v1/preferences?user=jon", headers=jar)[0] == 400
    assert preferences(s, {"Cookie": jar["Cookie"]}, {}, 3)[0] == 403  # without its CSRF token
    assert command(s, None, "preferences-set", user="jon", value="{}", version=0)[0] == 400


@test
def what_one_has_set_goes_with_him_and_outlives_servers(s):
    jar = session(s, "ida")
    s.base.restart(hard=True)
    until("the server leads", s.up)
    kept = ask(s, None, "GET", "/api/v1/preferences", headers=jar)[1]
    assert kept["version"] == 3 and len(kept["preferences"]["a"]) > 32000, kept["version"]
    assert until("and takes more", lambda: preferences(s, jar, {"b": [1, {"c": None}]}, 3))[1]["version"] == 4
    assert ask(s, None, "DELETE", "/api/v1/users/ida")[0] == 200
    user(s, "ida", role="viewer")
    jar = session(s, "ida")
    assert ask(s, None, "GET", "/api/v1/preferences", headers=jar)[1] == {"version": 0, "preferences": {}}
    assert preferences(s, jar, {"new": True}, 0)[1]["preferences"] == {"new": True}


@test
def tokens_are_ones_own_and_never_more_than_oneself(s):
    ann = session(s, "ann")
    status, answer = ask(s, ann, "POST", "/api/v1/tokens", {"name": "ann-robot", "role": "operator"})
    assert status == 403, answer
    status, answer = ask(s, ann, "POST", "/api/v1/tokens", {"name": "ann-robot", "role": "viewer"})
    assert status == 201, answer
    robot = answer["token"]
    assert workflow(s, "retail", "z", as_who=robot)[0] == 403
    olga = session(s, "olga")
    assert all(t["user"] == "olga" for t in ask(s, olga, "GET", "/api/v1/tokens")[1]["tokens"])
    assert ask(s, olga, "DELETE", "/api/v1/tokens/ann-robot")[0] == 404
    assert ask(s, ann, "DELETE", "/api/v1/tokens/ann-robot")[0] == 200
    assert ask(s, robot, "GET", "/api/v1/session")[0] == 401


def group(s, name, **more):
    status, answer = ask(s, None, "POST", "/api/v1/groups", {"name": name, **more})
    assert status == 200, (status, answer)


@test
def a_group_gives_its_members_role_rights_and_projects_at_once(s):
    user(s, "gina", role="none")
    assert ask(s, "none", "POST", "/api/v1/login", {"user": "gina", "password": WORD})[0] == 403  # no role at all
    group(s, "retail-ops", role="operator", projects=["retail"], rights=["backfill"], members=["gina", "nobody"],
          description="who watches over retail")
    gina = token(s, "gina")
    status, answer = ask(s, gina, "GET", "/api/v1/session")
    assert answer["role"] == "operator" and answer["projects"] == ["retail"] and answer["rights"] == ["backfill"], answer
    assert answer["via"] == "token", answer
    picks = {"selection": {"tasks": ["retail/w/a"], "dates": [DAY]}}
    assert command(s, gina, "redo", dry=True, **picks)[0] == 200
    assert command(s, gina, "redo", dry=True, selection={"tasks": ["finance/w/a"], "dates": [DAY]})[0] == 403
    shown = ask(s, None, "GET", "/api/v1/groups/retail-ops")[1]
    assert shown["belong"] == ["gina"] and shown["members"] == ["gina", "nobody"] and shown["source"] == "local", shown
    one = ask(s, None, "GET", "/api/v1/users/gina")[1]
    assert one["role"] == "none" and one["groups"] == ["retail-ops"], one
    assert one["effective"] == {"role": "operator", "projects": ["retail"], "rights": ["backfill"]}, one
    group(s, "retail-ops", members=[])
    assert ask(s, gina, "GET", "/api/v1/session")[0] == 403  # known, and nothing more
    group(s, "retail-ops", members=["gina"])
    assert ask(s, None, "DELETE", "/api/v1/groups/retail-ops")[0] == 200
    assert command(s, gina, "redo", dry=True, **picks)[0] == 403
    assert ask(s, None, "GET", "/api/v1/groups/retail-ops")[0] == 404


@test
def each_grant_holds_in_its_own_projects_only(s):
    """Developer of finance, operator of retail by a group: not an operator of finance."""
    user(s, "drew", role="developer", projects=["finance"], rights=["force-success"])
    group(s, "ops", role="operator", projects=["retail"], rights=["backfill"], members=["drew"])
    drew = token(s, "drew")
    session = ask(s, drew, "GET", "/api/v1/session")[1]
    assert session["role"] == "operator" and sorted(session["projects"]) == ["finance", "retail"], session
    assert session["rights"] == ["backfill", "force-success"], session

    def may(kind, project):
        picks = {"selection": {"tasks": [f"{project}/w/a"], "dates": [DAY]}}
        return command(s, drew, kind, dry=True, **picks)[0] == 200
    assert may("skip", "retail") and not may("skip", "finance") and may("redo", "finance")
    assert may("backfill", "retail") and not may("backfill", "finance")
    assert may("force-success", "finance") and not may("force-success", "retail")
    assert workflow(s, "finance", as_who=drew)[0] == 202
    assert ask(s, None, "DELETE", "/api/v1/groups/ops")[0] == 200


@test
def who_is_made_anew_is_in_no_group_of_the_former(s):
    user(s, "kim", role="viewer")
    group(s, "admins", role="admin", members=["kim"])
    old = token(s, "kim")
    assert ask(s, old, "GET", "/api/v1/users")[0] == 200
    assert ask(s, None, "DELETE", "/api/v1/users/kim")[0] == 200
    user(s, "kim", role="viewer")
    assert ask(s, None, "GET", "/api/v1/groups/admins")[1]["members"] == []
    assert ask(s, old, "GET", "/api/v1/session")[0] == 401  # nor are the tokens
    assert ask(s, token(s, "kim"), "GET", "/api/v1/users")[0] == 403
    assert ask(s, None, "DELETE", "/api/v1/groups/admins")[0] == 200


@test
def groups_refuse_what_they_cannot_be(s):
    for place, body in (("args.role", {"name": "x"}), ("args.role", {"name": "x", "role": "king"}),
                        ("name", {"role": "viewer"}), ("args.group", {"name": "a b", "role": "viewer"}),
                        ("args.members", {"name": "x", "role": "viewer", "members": ["a b"]}),
                        ("args.projects", {"name": "x", "role": "viewer", "projects": ["a b"]}),
                        ("args.source", {"name": "x", "role": "viewer", "source": "nis"})):
        status, answer = ask(s, None, "POST", "/api/v1/groups", body)
        assert status == 400 and answer["error"]["place"] == place, (body, status, answer)
    assert ask(s, token(s, "omar"), "GET", "/api/v1/groups")[0] == 403


@test
def a_scoped_token_has_less_than_its_person_and_makes_none(s):
    user(s, "toni", role="operator", projects=["retail", "finance"], rights=["backfill"])
    toni = session(s, "toni")
    status, answer = ask(s, toni, "POST", "/api/v1/tokens", {"name": "toni-retail", "projects": ["retail"], "rights": [], "days": 3})
    assert status == 201, answer
    small = answer["token"]
    told = ask(s, small, "GET", "/api/v1/session")[1]
    assert told["projects"] == ["retail"] and told["rights"] == [], told
    picks = {"selection": {"tasks": ["finance/w/a"], "dates": [DAY]}}
    assert command(s, toni, "redo", dry=True, **picks)[0] == 200
    assert command(s, small, "redo", dry=True, **picks)[0] == 403
    assert ask(s, small, "POST", "/api/v1/tokens", {"name": "toni-child"})[0] == 403
    for more in ({"projects": ["shop"]}, {"projects": ["*"]}, {"rights": ["force-success"]}, {"role": "admin"}):
        assert ask(s, toni, "POST", "/api/v1/tokens", {"name": "more", **more})[0] == 403, more
    assert ask(s, toni, "POST", "/api/v1/tokens", {"name": "toni-retail"})[0] == 409


@test
def a_token_is_listed_with_what_it_may_not_more(s):
    """Of a developer without rights it showed every right, in all projects."""
    user(s, "lil", role="developer", projects=["retail"])
    token(s, "lil")
    held, = (t for t in ask(s, None, "GET", "/api/v1/tokens")[1]["tokens"] if t["user"] == "lil")
    assert (held["role"], held["projects"], held["rights"]) == ("developer", ["retail"], []), held


@test
def keys_of_apps_are_kept_by_the_server_and_end_at_once(s):
    status, answer = ask(s, None, "POST", "/api/v1/apps", {"name": "etl", "role": "operator", "projects": ["retail"], "days": 30})
    assert status == 201 and answer["key"].startswith("sirdar_app_"), answer
    key = answer["key"]
    listed = ask(s, None, "GET", "/api/v1/apps")[1]["apps"]
    assert [(a["name"], a["role"], a["projects"], a["app"]) for a in listed] == [("etl", "operator", ["retail"], True)], listed
    assert ask(s, key, "GET", "/api/v1/session")[0] == 401  # no bearer token
    assert ask(s, token(s, "omar"), "GET", "/api/v1/apps")[0] == 403
    for path in s.dir.rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path
    assert key not in json.dumps(s.get("/api/v1/audit?limit=200")) + json.dumps(s.get("/api/v1/commands?limit=200"))
    assert ask(s, None, "POST", "/api/v1/apps", {"name": "etl", "role": "viewer"})[0] == 409
    assert ask(s, None, "POST", "/api/v1/apps", {"name": "x"})[0] == 400
    assert ask(s, None, "DELETE", "/api/v1/apps/etl")[0] == 200
    assert ask(s, None, "DELETE", "/api/v1/apps/etl")[0] == 404


def made_here(s, what, name):
    """A token, or the key of an app, that this cgi's machine alone knows."""
    made = s.run([*s.cgi.argv, what, name, "viewer"])
    assert made.returncode == 0, made.stderr
    s.cgi.proc.send_signal(signal.SIGHUP)
    return made.stdout.strip()


def endings(s):
    """What the audit says of ended tokens and sessions (without their ids), oldest first."""
    rows = [x for x in s.get("/api/v1/audit?limit=200")["items"] if x["action"] in ("token-end", "token-remove", "session-end")]
    return [(x["action"], {k: v for k, v in json.loads(x["detail"]).items() if k != "ids"}) for x in reversed(rows)]


@test
def an_app_and_a_token_of_one_name_are_told_apart_and_every_end_is_in_the_audit(s):
    user(s, "toby", role="developer")
    toby = session(s, "toby")
    # A person's token, and his key: neither is a program's to end as one.
    assert ask(s, toby, "POST", "/api/v1/tokens", {"name": "toby-key", "app": True})[0] == 201
    assert ask(s, toby, "POST", "/api/v1/tokens", {"name": "toby-token"})[0] == 201
    for name in ("toby-key", "toby-token"):
        assert ask(s, None, "DELETE", f"/api/v1/apps/{name}")[0] == 404, name
    assert not [a for a in ask(s, None, "GET", "/api/v1/apps")[1]["apps"] if a["name"].startswith("toby")]
    # An app of the server and a token of this machine, both called twin; and the other way round.
    here = made_here(s, "--make-token", "twin")
    until("the face knows it", lambda: ask(s, here, "GET", "/api/v1/session")[0] == 200)
    assert ask(s, None, "POST", "/api/v1/apps", {"name": "twin", "role": "viewer"})[0] == 201
    assert ask(s, None, "DELETE", "/api/v1/apps/twin")[0] == 200
    assert ask(s, None, "DELETE", "/api/v1/apps/twin")[0] == 404
    assert ask(s, here, "GET", "/api/v1/session")[0] == 200, "a token went with the app of its name"
    assert ask(s, None, "POST", "/api/v1/apps", {"name": "twin", "role": "viewer"})[0] == 201
    assert ask(s, None, "DELETE", "/api/v1/tokens/twin")[0] == 200
    assert ask(s, here, "GET", "/api/v1/session")[0] == 401
    assert ask(s, None, "DELETE", "/api/v1/tokens/twin")[0] == 404, "an app went as a token"
    assert [a["name"] for a in ask(s, None, "GET", "/api/v1/apps")[1]["apps"] if a["name"] == "twin"] == ["twin"]
    assert "twin" not in [t["name"] for t in ask(s, None, "GET", "/api/v1/tokens")[1]["tokens"]]
    made_here(s, "--make-app", "local-app")
    until("the face knows it", lambda: "local-app" in [a["name"] for a in ask(s, None, "GET", "/api/v1/apps")[1]["apps"]])
    assert ask(s, None, "DELETE", "/api/v1/tokens/local-app")[0] == 404
    assert ask(s, None, "DELETE", "/api/v1/apps/local-app")[0] == 200
    assert ask(s, None, "DELETE", "/api/v1/apps/twin")[0] == 200
    assert ask(s, toby, "DELETE", "/api/v1/tokens/toby-key")[0] == 200
    by = {"asserted_by": "cgi"}
    assert endings(s)[-5:] == [
        ("token-remove", {"token": "twin", **by}), ("token-end", {"token": "twin", "app": False, **by}),
        ("token-end", {"token": "local-app", "app": True, **by}), ("token-remove", {"token": "twin", **by}),
        ("token-remove", {"token": "toby-key", "face": "cgi"})], endings(s)
    assert command(s, None, "token-end", token="twin", app=True)[0] == 400


@test
def whoever_leaves_or_is_put_out_is_in_the_audit(s):
    user(s, "lee", role="viewer")
    jars = [session(s, "lee") for _ in range(3)]
    before = len(endings(s))
    assert ask(s, None, "POST", "/api/v1/logout", headers=jars[0]) == (200, {})
    assert ask(s, None, "GET", "/api/v1/session", headers=jars[0])[0] == 401
    assert ask(s, None, "POST", "/api/v1/password", {"old": WORD, "new": "another long word"}, headers=jars[1]) == (200, {})
    assert [ask(s, None, "GET", "/api/v1/session", headers=j)[0] for j in jars[1:]] == [200, 401]
    assert endings(s)[before:] == [("session-end", {"user": "lee", "sessions": 1, "face": "cgi"})] * 2, endings(s)[before:]
    by = [x["actor"] for x in s.get("/api/v1/audit")["items"] if x["action"] == "session-end"]
    assert by[:2] == ["lee", "lee"], by


@test
def a_password_is_found_nowhere(s):
    word = "canary-" + os.urandom(8).hex()
    status, _ = ask(s, None, "POST", "/api/v1/users", {"user": "cleo", "role": "viewer", "password": word})
    assert status == 200
    session(s, "cleo", word)
    audit = json.dumps(s.get("/api/v1/audit?limit=200")["items"]) + json.dumps(s.get("/api/v1/commands?limit=200")["items"])
    assert "argon2id" not in audit and "not kept" in audit
    number = [c for c in s.get("/api/v1/commands?limit=50")["items"] if c["kind"] == "user-set"][0]["command"]
    assert "argon2id" not in json.dumps(s.get(f"/api/v1/commands/{number}"))
    assert "argon2id" not in json.dumps(s.get("/api/v1/users"))
    for path in s.dir.rglob("*"):
        if path.is_file():
            assert word.encode() not in path.read_bytes(), path


@test
def people_outlive_servers(s):
    ann = token(s, "ann")
    s.base.restart(hard=True)
    s.cgi.restart()
    until("ann is known again", lambda: ask(s, ann, "GET", "/api/v1/session")[0] == 200)
    assert ask(s, ann, "GET", "/api/v1/session")[1]["projects"] == ["retail"]
    until("the server leads", s.up)
    status, answer = ask(s, None, "POST", "/api/v1/users", {"user": "ann", "full_name": "Ann B."})
    assert status == 200, answer
    after = ask(s, None, "GET", "/api/v1/users/ann")[1]
    assert after["full_name"] == "Ann B." and after["projects"] == ["retail"] and after["version"] == 2, after


@test
def another_daemon_sees_the_change(s):
    """Of two cgis each knows within a second what came in through the other."""
    from harness import Daemon, free_port
    port = free_port()
    sets = [a for a in s.cgi.argv]
    sets[sets.index(f"listen=127.0.0.1:{s.http}")] = f"listen=127.0.0.1:{port}"
    state = [i for i, a in enumerate(sets) if str(a).startswith("state_dir=")][0]
    sets[state] = f"state_dir={s.dir}/cgi2"
    other = Daemon(s, "cgi2", sets, r"cgi\.ready")
    other.start()
    try:
        first, s.http = s.http, port
        mine = until("he signs in there", lambda: token(s, "omar"))
        s.http = first
        until("its token is the other's too", lambda: ask(s, mine, "GET", "/api/v1/session")[0] == 200)
        omar = session(s, "omar")
        theirs = ask(s, omar, "POST", "/api/v1/tokens", {"name": "omar-there"})[1]["token"]
        s.http = port
        until("and the other way round", lambda: ask(s, theirs, "GET", "/api/v1/session")[0] == 200)
        s.http = first
        assert ask(s, omar, "DELETE", "/api/v1/tokens/omar-there")[0] == 200
        assert ask(s, theirs, "GET", "/api/v1/session")[0] == 401  # at once
        s.http = port
        until("the other one knows that it is over", lambda: ask(s, theirs, "GET", "/api/v1/session")[0] == 401)
        assert ask(s, mine, "GET", "/api/v1/session")[0] == 200
        s.http = first
        assert ask(s, None, "POST", "/api/v1/users", {"user": "omar", "disabled": True})[0] == 200
        s.http = port
        until("the other cgi knows", lambda: ask(s, mine, "GET", "/api/v1/session")[0] == 401)
    finally:
        s.http = first
        other.stop()


@test
def wrong_words_are_named(s):
    def refused(place, **body):
        status, answer = ask(s, None, "POST", "/api/v1/users", body)
        assert status in (400, 409) and answer["error"]["place"] == place, (body, status, answer)
        assert answer["error"]["hint"] or place in ("password", "body"), answer
    refused("args.user", role="viewer")
    refused("args.user", user="two words", role="viewer")
    refused("args.user", user="admin", role="viewer")
    refused("args.role", user="new")
    refused("args.role", user="new", role="king")
    refused("args.projects", user="new", role="viewer", projects=["a b"])
    refused("args.rights", user="new", role="viewer", rights=["everything"])
    refused("args.disabled", user="new", role="viewer", disabled="yes")
    refused("password", user="new", role="viewer", password=7)
    refused("body", user="new", role="viewer", groups=["x"])
    status, answer = ask(s, None, "POST", "/api/v1/users", {"user": "new", "role": "viewer", "password": "short"})
    assert status == 400, answer
    status, answer = command(s, None, "user-set", user="new", role="viewer", secret="plain words")
    assert status == 400 and "argon2id" in answer["error"]["message"], answer
    for cost in ("m=19456,t=50000000,p=1", "m=4194304,t=1000000,p=1", "m=4194304,t=1,p=1", "m=19456,t=2,p=64", "m=19456,t=0,p=1"):
        secret = f"$argon2id$v=19${cost}$c29tZXNhbHRzb21lc2E$RdescudvJCsgt3ub+b5dWRWJTmaaJObG"  # one try of it would take hours
        status, answer = command(s, None, "user-set", user="new", role="viewer", secret=secret)
        assert status == 400 and "of usual cost" in answer["error"]["message"], (cost, answer)


@test
def the_command_line_does_it_too(s):
    s.sirdar("user", "set", "cli", "--role", "operator", "-p", "retail", "-p", "finance", "--right", "backfill",
             "--password", stdin=WORD + "\n")
    listed = json.loads(s.sirdar("user", "list", "--json").stdout)
    mine = [u for u in listed if u["user"] == "cli"][0]
    assert mine["projects"] == ["retail", "finance"] and mine["rights"] == ["backfill"], mine
    s.sirdar("user", "set", "cli", "-p", "", "--disable")
    mine = [u for u in json.loads(s.sirdar("user", "list", "--json").stdout) if u["user"] == "cli"][0]
    assert mine["projects"] == [] and mine["disabled"], mine
    s.sirdar("group", "add", "team", "--role", "developer", "-p", "retail", "-m", "cli", "--description", "a team")
    assert "there is a group" in s.sirdar("group", "add", "team", "--role", "viewer", expect=2).stderr
    s.sirdar("group", "set", "team", "--right", "force-success")
    team = json.loads(s.sirdar("group", "show", "team", "--json").stdout)
    assert team["belong"] == ["cli"] and team["rights"] == ["force-success"] and team["role"] == "developer", team
    assert "a team" in s.sirdar("group", "list").stdout
    key = s.sirdar("app", "add", "cli-app", "--role", "viewer", "--days", "7").stdout.strip()
    assert key.startswith("sirdar_app_") and "cli-app" in s.sirdar("app", "list").stdout
    s.sirdar("app", "remove", "cli-app")
    assert "cli-app" not in s.sirdar("token", "list").stdout
    s.sirdar("group", "remove", "team")
    s.sirdar("user", "remove", "cli")
    s.sirdar("user", "remove", "cli", expect=4)
    s.sirdar("audit", "verify")


if __name__ == "__main__":
    assert BIN
    sys.exit(main(lambda: Site("people").start_as_earlier().believe()))
