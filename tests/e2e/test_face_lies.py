#!/usr/bin/env python3
"""A face that was taken over: it holds a face's key, speaks the wire itself, has people's sessions, and says what it likes of who
acts and where. The server judges by its own documents of people; what it does with sessions that it has not, and with those that
are over, is in test_face_sessions.py. TAP."""
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402
from keeper_client import field  # noqa: E402
from peer import Face  # noqa: E402

WORD, SECRET = "a long password 1", "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2E$RdescudvJCsgt3ub+b5dWRWJTmaaJObG"
FLOW = ("workflow: w\nproject: retail\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-02\nparameters: {who: x}\n"
        "defaults: {type: shell, cycle: day}\ntasks: {t: {params: {script: 'echo ${who}'}}}\n")


def user(s, name, **more):
    status, answer = s.ask("POST", "/api/v1/users", {"user": name, "password": WORD, **more})
    assert status == 200, (status, answer)


def group(s, name, **more):
    status, answer = s.ask("POST", "/api/v1/groups", {"name": name, **more})
    assert status == 200, (status, answer)


def row(s, kind):
    """What the audit says of the last command of that kind."""
    rows = s.get(f"/api/v1/audit?order=desc&limit=5&action={kind}")["items"]
    return rows[0]["actor"], json.loads(rows[0]["detail"])


@test
def a_face_gives_a_viewer_no_more_than_the_server_knows_of_her(s):
    user(s, "vera", role="viewer", projects=["*"])
    with Face(s, word=WORD) as f:
        for kind, args in (("user-set", {"user": "mallory", "role": "admin"}), ("user-set", {"user": "vera", "role": "admin"}),
                           ("user-set", {"user": "vera", "secret": SECRET, "rights": ["unsafe"], "since": 0}),
                           ("group-set", {"group": "all", "role": "admin", "members": ["vera"]}), ("log-level", {"level": "debug"}),
                           ("token-set", {"token": "t", "role": "admin", "hash": "ab" * 32, "created": 1}),
                           ("token-remove", {"token": "nobodys"}), ("peer-set", {"peer": "liar", "asserts": "admin"}),
                           ("server-set", {"server": "x", "kind": "http", "host": "h"}), ("step-down", {}),
                           ("pool-set", {"pool": "hers", "size": 3}), ("quota-set", {"project": "retail", "running": 3}),
                           ("session-end", {"user": "ann", "sessions": 1}), ("preferences-set", {"user": "ann", "version": 0, "value": "{}"})):
            for dry in (False, True):
                why = f.command("vera", kind, dry, **args)
                assert "vera" in why and "viewer" in why, (kind, args, dry, why)
        why = f.command("vera", "apply", documents=[{"name": "w.yaml", "text": FLOW}])
        assert "vera" in why and "developer" in why, why
        assert f.command("vera", "preferences-set", user="vera", version=0, value="{}") == ""
    assert "mallory" not in [u["user"] for u in s.get("/api/v1/users")["users"]]
    assert s.get("/api/v1/users/vera")["role"] == "viewer"


@test
def a_face_names_nobody_who_is_not_there_or_not_any_more(s):
    user(s, "gone", role="admin")
    user(s, "off", role="admin", disabled=True)
    s.sirdar("user", "remove", "gone")
    with Face(s, word=WORD) as f:
        for actor in ("gone", "off", "mallory", "gone/token", "vera/token", "token of vera", "admin/x", "peer:cgi", ""):
            assert f.command(actor, "pool-set", pool="nobodys", size=3) != "", actor
    assert "nobodys" not in str(s.get("/api/v1/pools"))


@test
def names_of_people_who_begin_alike_are_two_however_long_they_are(s):
    alike = "v" * 62  # a name has 63 bytes at most
    user(s, alike, role="viewer", projects=["*"])
    user(s, alike + "w", role="operator", projects=["*"])
    with Face(s, word=WORD) as f:
        assert f.command(alike + "w", "pool-set", pool="alikes", size=3) == ""
        for actor in (alike, alike + "x", alike + "wx", alike + "w" * 200, "v" * 61):
            assert f.command(actor, "pool-set", pool="nobodys", size=3) != "", actor
        assert f.command(alike, "preferences-set", user=alike, version=0, value="{}") == ""
    s.sirdar("user", "remove", alike)
    assert "nobodys" not in str(s.get("/api/v1/pools"))


@test
def a_persons_projects_bound_what_a_face_asks_for_in_her_name_whatever_it_says(s):
    user(s, "olga", role="operator", projects=["retail"])
    group(s, "finance", role="operator", projects=["fin"], members=["olga"])
    group(s, "readers", role="viewer", projects=["hr"], members=["olga"])
    with Face(s, word=WORD) as f:
        for within in ({}, {"within": ["hr"]}, {"within": ["retail", "hr"]}):
            why = f.command("olga", "quota-set", project="hr", running=3, **within)
            assert "olga" in why, (within, why)
        for project in ("retail", "fin"):
            assert f.command("olga", "quota-set", project=project, running=3, within=[project]) == "", project
            assert f.command("olga", "quota-set", project=project, running=4, within=["fin", "retail"]) == "", project
        assert f.command("olga", "pool-set", pool="p", size=3, within=["retail"]) != ""
        group(s, "finance", members=[])
        assert f.command("olga", "quota-set", project="fin", running=5, within=["fin"]) != "", "she left the group"


@test
def rights_beside_the_role_are_the_servers_to_give(s):
    user(s, "dev", role="developer", projects=["retail"])
    user(s, "devel", role="developer", projects=["retail"], rights=["backfill", "unsafe"])
    raw = FLOW.replace("}}}", "}, raw: true}}")
    with Face(s, word=WORD) as f:
        assert f.command("dev", "apply", documents=[{"name": "w.yaml", "text": FLOW}], within=["retail"],
                         unsafe_within=[], quota_within=[]) == ""
        for unsafe in ({}, {"unsafe_within": ["retail"], "quota_within": []}):
            why = f.command("dev", "apply", documents=[{"name": "w.yaml", "text": raw}], within=["retail"], **unsafe)
            assert "unsafe" in why, (unsafe, why)
        raised = [{"name": "p.yaml", "text": "project: retail\nquota: {running: 50}\n"}]
        for quota in ({}, {"quota_within": ["retail"]}):
            why = f.command("dev", "apply", documents=raised, within=["retail"], unsafe_within=[], **quota)
            assert "quota_within" in why, (quota, why)
        which = {"selection": {"workflow": "retail/w", "from": "2026-01-01", "to": "2026-01-02"}, "within": ["retail"]}
        assert "backfill" in f.command("dev", "backfill", **which)
        assert "backfill" not in f.command("devel", "backfill", **which)
        assert f.command("devel", "apply", documents=[{"name": "w.yaml", "text": raw}], within=["retail"], unsafe_within=["retail"], quota_within=[]) == ""


@test
def a_token_is_never_more_than_its_person_and_changes_no_credential(s):
    user(s, "ada", role="admin")

    def made(name):
        return {"token": name, "hash": hashlib.sha256(f"sirdar_{name}".encode()).hexdigest(), "created": 1}
    with Face(s, word=WORD) as f:
        assert f.command("ada", "token-set", owner="ada", role="viewer", **made("small")) == ""
        assert f.command("ada", "token-set", owner="ada", role="admin", **made("large")) == ""
        assert f.command("olga", "token-set", owner="olga", role="admin", **made("hers")) == ""
        assert f.command("olga", "token-set", owner="ada", role="admin", **made("theirs")) != ""
        f.secrets.update({"ada/small": "sirdar_small", "ada/large": "sirdar_large", "olga/hers": "sirdar_hers"})
        assert f.command("ada/small", "pool-set", pool="p", size=3) != ""
        assert f.command("ada/large", "pool-set", pool="p", size=3) == ""
        assert f.command("olga/hers", "pool-set", pool="p", size=4) != "", "her token is of the role admin, she is not"
        for actor in ("ada/hers", "olga/large", "app:large"):
            assert f.command(actor, "user-set", user="mallory", role="admin") != "", actor
        assert "token" in f.command("ada/large", "user-set", user="mallory", role="admin")
        assert "token" in f.command("olga/hers", "user-set", user="olga", secret=SECRET, since=0)
        assert f.command("olga", "token-remove", token="large") != "" and f.command("olga", "token-remove", token="hers") == ""


@test
def what_a_token_takes_from_its_person_it_takes_from_what_he_saves_too(s):
    user(s, "abe", role="admin")
    jar = s.as_person("abe", WORD)
    status, made = jar("POST", "/api/v1/tokens", {"name": "saves", "role": "developer", "rights": [], "days": 1})
    assert status == 201, made
    ordinary, raw = FLOW, FLOW.replace("}}}", "}, raw: true}}")
    mine, s.token = s.token, made["token"]
    try:
        for text, wanted in ((ordinary, (200, 202)), (raw, (403,)), ("project: retail\nquota: {running: 60}\n", (403,))):
            s.command("apply", documents=[{"name": "d.yaml", "text": text}], expect=wanted)
    finally:
        s.token = mine


@test
def a_person_changes_of_himself_the_password_and_nothing_that_gives_him_rights(s):
    since = 1
    with Face(s, word=WORD) as f:
        for more in ({"role": "admin"}, {"rights": ["unsafe"]}, {"projects": ["*"]}, {"disabled": False}, {"source": "ldap"}, {"groups": ["finance"]}):
            assert f.command("olga", "user-set", user="olga", since=since, **more) != "", more
        assert f.command("olga", "user-set", user="vera", secret=SECRET, since=0) != ""
    jar = s.as_person("olga", WORD)
    assert jar("POST", "/api/v1/password", {"old": WORD, "new": WORD + "2"})[0] == 200, "by the face that does not lie"


@test
def the_audit_names_the_person_and_the_face_and_says_who_is_only_asserted(s):
    user(s, "otto", role="operator", projects=["*"])
    with Face(s, word=WORD) as f:
        assert f.command("otto", "pool-set", pool="of_otto", size=3) == ""
        assert row(s, "pool-set") == ("otto", {"pool": "of_otto", "size": 3, "face": "liar"})
        s.believe("liar")
        assert f.command("admin", "pool-set", pool="of_admin", size=3) == ""
        assert row(s, "pool-set") == ("admin", {"pool": "of_admin", "size": 3, "asserted_by": "liar"})
        assert f.command("otto", "pool-set", pool="x", size=3, face="cgi") != "" and f.command("otto", "pool-set", pool="x", size=3, asserted_by="cgi") != ""
    assert s.ask("POST", "/api/v1/commands", {"kind": "pool-set", "args": {"pool": "of_all", "size": 2}})[0] == 202
    actor, detail = row(s, "pool-set")
    assert actor.startswith("token:") and detail["asserted_by"] == "cgi", (actor, detail)
    assert "asserted_by" in s.sirdar("audit", "list", "--action", "pool-set").stdout


@test
def a_request_that_comes_again_by_another_face_is_the_same_command(s):
    again = field(2, "the-same-request") + field(4, "pool-set") + field(5, json.dumps({"pool": "twice", "size": 2}))
    with Face(s, word=WORD) as f, Face(s, "liar2", WORD) as g:
        for face in (f, g):
            face.send("command", field(1, 900) + again + field(8, face.credential_of("otto")))
            assert not face.wait("answer", lambda m: m[1][0] == 900).get(2, [0])[0]
    rows = [r for r in s.get("/api/v1/audit?order=desc&limit=20&action=pool-set")["items"] if "twice" in r["detail"]]
    assert len(rows) == 1, rows


@test
def a_claim_of_a_directory_makes_its_own_person_and_never_an_administrator(s):
    s.sirdar("peer", "set", "narrow", "--kind", "face", "--asserts", "people")
    s.add_key("narrow", "face")
    group(s, "ldap_admins", role="admin", source="ldap")
    group(s, "ldap_ops", role="operator", projects=["*"], source="ldap")
    claim = {"source": "ldap", "subject": "cn=lea", "role": "viewer", "full_name": "Lea", "mail": ""}
    with Face(s, word=WORD) as wide, Face(s, "narrow", WORD) as f:
        for face in (wide, f):
            for wrong in ({"user": "leo", **claim, "groups": []}, {"user": "lea", **claim, "source": "local", "groups": []},
                          {"user": "lea", **claim, "groups": [], "rights": ["unsafe"]}, {"user": "lea", **claim, "groups": [], "secret": SECRET},
                          {"user": "lea", **claim, "groups": ["finance"]}, {"user": "lea", **claim, "groups": ["nowhere"]}):
                assert face.command("ldap:lea", "user-set", **wrong) != "", wrong
            assert face.command("ldap:lea", "pool-set", pool="p", size=1) != ""
            assert face.command("ldap:vera", "user-set", user="vera", source="ldap", subject="cn=vera", groups=["ldap_ops"]) != "", "she has a password here"
        for admin in ({"role": "admin", "groups": []}, {"groups": ["ldap_admins"]}):
            assert f.command("ldap:lea", "user-set", user="lea", **{**claim, **admin}) != "", admin
        assert f.command("ldap:lea", "user-set", user="lea", **claim, groups=["ldap_ops"]) == ""
        assert s.get("/api/v1/users/lea")["effective"]["role"] == "operator"
        assert f.command("lea", "pool-set", pool="of_lea", size=1) != "", "nobody has said that it is she"
        assert f.sign_in("lea", WORD)[0] != 0, "she has no password here"
        f.secrets["lea"] = f.sign_in("lea", via="ldap")[1]["session"]
        assert f.command("lea", "pool-set", pool="of_lea", size=1) == ""
        assert f.command("ldap:lea", "user-set", user="lea", source="ldap", subject="cn=other", groups=[]) != "", "another person of that name"


@test
def who_only_a_face_knows_may_with_asserts_people_nothing_about_access_and_with_nobody_nothing(s):
    user(s, "ada", role="admin")
    guarded = (("user-set", {"user": "mallory", "role": "admin"}), ("user-remove", {"user": "vera"}), ("group-set", {"group": "g", "role": "admin"}),
               ("group-remove", {"group": "finance"}), ("token-set", {"token": "t", "role": "admin", "hash": "ab" * 32, "created": 1}),
               ("token-remove", {"token": "large"}), ("peer-set", {"peer": "narrow", "asserts": "admin"}), ("peer-revoke", {"peer": "cgi"}),
               ("server-set", {"server": "x", "kind": "http", "host": "h"}), ("server-remove", {"server": "x"}), ("server-rekey", {}))
    with Face(s, "narrow", WORD) as f:
        for actor in ("admin", "token:of_its_machine"):
            for kind, args in guarded:
                why = f.command(actor, kind, **args)
                assert "narrow" in why and "asserts" in why, (actor, kind, why)
            assert f.command(actor, "pool-set", pool="asserted", size=2) == ""
        assert f.command("app:of_its_machine", "user-set", user="mallory", role="admin") != ""
        assert f.command("ada", "user-set", user="made_by_ada", role="viewer") == "", "whom the server knows goes by what it knows"
        s.sirdar("peer", "set", "narrow", "--asserts", "nobody")
        assert "asserts" in f.command("admin", "pool-set", pool="asserted", size=3)
        assert f.command("ldap:ned", "user-set", user="ned", source="ldap", subject="cn=ned", role="viewer", groups=[]) != ""
        assert f.command("ada", "pool-set", pool="asserted", size=3) == ""
    shown = s.sirdar("peer", "list").stdout
    assert "nobody" in next(line for line in shown.splitlines() if line.startswith("narrow")), shown
    assert s.get("/api/v1/peers/cgi")["asserts"] == "admin" and s.get("/api/v1/peers/narrow")["asserts"] == "nobody"


@test
def asserts_is_a_faces_and_nobody_shuts_the_last_administrator_out_by_it(s):
    s.add_key("tool", "client")
    assert s.ask("POST", "/api/v1/peers", {"peer": "tool", "kind": "client", "asserts": "people"})[0] == 400
    for name in ("ada", "abe", "made_by_ada"):
        s.sirdar("user", "remove", name)
    status, answer = s.ask("POST", "/api/v1/peers", {"peer": "cgi", "asserts": "people"})
    assert status == 409 and "administrator" in answer["error"]["message"], answer
    until("nothing has changed", lambda: s.get("/api/v1/peers/cgi")["asserts"] == "admin")


@test
def a_face_of_which_nobody_has_said_anything_speaks_for_its_admin_until_the_server_knows_one(s):
    for u in s.get("/api/v1/users")["users"]:
        if u["role"] == "admin":
            s.sirdar("user", "remove", u["user"])
    doing = (("pool-set", {"pool": "first_hour", "size": 1}), ("apply", {"documents": [{"name": "w.yaml", "text": FLOW}]}),
             ("user-set", {"user": "mallory", "role": "admin", "secret": SECRET}), ("token-set", {"token": "theirs", "role": "admin", "hash": "ab" * 32, "created": 1}),
             ("group-set", {"group": "all", "role": "admin", "members": ["vera"]}), ("peer-set", {"peer": "unsaid", "asserts": "admin"}),
             ("factor-remove", {"user": "first"}), ("session-end", {"user": "first", "sessions": 1}), ("user-remove", {"user": "first"}),
             ("preferences-set", {"user": "first", "version": 0, "value": "{}"}), ("project-trust", {"project": "retail"}))
    with Face(s, "unsaid", WORD) as f:
        assert f.command("admin", *doing[0][:1], **doing[0][1]) == "", "somebody has to begin"
        user(s, "first", role="admin")
        for actor in ("admin", "token:of_its_machine", "app:of_its_machine"):
            for kind, args in doing:
                for dry in (False, True):
                    why = f.command(actor, kind, dry, **args)
                    assert "directory" in why or "no user here" in why or "is no" in why, (actor, kind, why)
        assert f.command("admin", "preferences-set", user="admin", version=0, value="{}") == "", "his own are nobody else's"
        assert f.sign_in("first", via="ldap")[0] != 0 and f.sign_in("admin", "guessed")[0] != 0 and f.sign_in("admin", via="ldap")[0] != 0
        group(s, "ldap_unsaid", role="admin", source="ldap")
        claim = {"source": "ldap", "subject": "cn=una", "full_name": "Una", "mail": ""}
        for more in ({"role": "admin", "groups": []}, {"role": "viewer", "groups": ["ldap_unsaid"]}):
            assert f.command("ldap:una", "user-set", user="una", **claim, **more) != "", more
        assert f.command("ldap:una", "user-set", user="una", **claim, role="viewer", groups=[]) == ""
        assert f.command("first", "pool-set", pool="first_hour", size=2) == "", "by a session of his"
        assert s.get("/api/v1/peers/unsaid")["asserts"] == "directory"
        user(s, "first", disabled=True)
        assert f.command("admin", "pool-set", pool="first_hour", size=3) == "", "and to begin anew, when no administrator can sign in"
    assert "mallory" not in [u["user"] for u in s.get("/api/v1/users")["users"]]


@test
def what_lets_others_in_changes_for_who_has_just_shown_the_password(s):
    user(s, "prue", role="admin")
    prue = s.as_person("prue", WORD)
    new = {"user": "made_by_prue", "role": "viewer"}
    assert prue("POST", "/api/v1/users", new)[0] == 200, "a sign-in shows it"
    with Face(s, word=WORD) as f:
        assert f.command("prue", "user-set", user="made_by_prue", role="viewer") == ""
    s.base.restart()  # what was shown is in memory alone
    until("the face is back", s.up)
    changes = (("POST", "/api/v1/users", new), ("POST", "/api/v1/groups", {"name": "gg", "role": "viewer"}),
               ("POST", "/api/v1/peers", {"peer": "cgi", "asserts": "admin"}))
    for method, path, body in changes:
        status, answer = prue(method, path, body)
        assert status == 403 and answer["error"]["code"] == "PROOF", (path, status, answer)
    with Face(s, word=WORD) as f:
        f.secrets["prue"] = f.sign_in("prue", WORD)[1]["session"]
        assert f.command("prue", "user-set", user="made_by_prue", role="viewer") == "", "one that is fresh"
    assert prue("POST", "/api/v1/commands", {"kind": "pool-set", "args": {"pool": "p", "size": 4}})[0] in (200, 202), "it is about nobody's access"
    assert prue("POST", "/api/v1/session/proof", {"password": "not this one"})[0] == 401
    assert prue(*changes[0])[0] == 403
    assert prue("POST", "/api/v1/session/proof", {"password": WORD})[0] == 200
    for method, path, body in changes[:3]:
        status, answer = prue(method, path, body)
        assert status in (200, 201, 202, 204), (path, status, answer)
    assert s.ask("POST", "/api/v1/session/proof", {"password": WORD})[0] in (403, 409), "a token has no password"


class LieSite(Site):
    def as_person(self, name, word):
        """-> what asks with a session of his."""
        import urllib.error
        import urllib.request
        jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        root, head = f"http://127.0.0.1:{self.http}", {"Content-Type": "application/json"}
        head["Origin"] = root

        def ask(method, path, body=None):
            try:
                with jar.open(urllib.request.Request(root + path, json.dumps(body).encode(), head, method=method)) as r:
                    return r.status, json.loads(r.read())
            except urllib.error.HTTPError as e:
                return e.code, json.loads(e.read())

        status, answer = ask("POST", "/api/v1/login", {"user": name, "password": word})
        assert status == 200, answer
        head["X-CSRF-Token"] = answer["csrf"]
        return ask


def site():
    return LieSite("lies").start_as_earlier().believe()


if __name__ == "__main__":
    sys.exit(main(site))
