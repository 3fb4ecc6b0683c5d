#!/usr/bin/env python3
"""The whole matrix: every route of the description x every caller, and every command x every caller x his project
and another's. Callers are every role with every set of rights, half of them by their own grant, half by a group's;
besides nobody, a stranger's token, a person without a role and a scoped token. What must come out is in
schema/openapi.yaml (x-role, x-right, x-owner, x-within) and schema/tbl/command.def. TAP."""
import hashlib
import http.client
import itertools
import json
import os
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import openapi  # noqa: E402
from harness import Site, main, test  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
ORDER = ("none", "viewer", "developer", "operator", "admin")
RIGHTS = ((), ("backfill",), ("force-success",), ("backfill", "force-success"))
METHODS = ("get", "post", "put", "delete", "patch")
DAY = "2026-03-01"
WORD = "a long enough word"


class Caller:
    def __init__(self, name, role, rights=(), token=None):
        self.name, self.role, self.token = name, role, token
        self.rights = RIGHTS[3] if role == "admin" else rights

    def reaches(self, role):
        return ORDER.index(self.role) >= ORDER.index(role)


class Link:
    """One connection for all; an answer that does not end costs a new one."""

    def __init__(self, port):
        self.port, self.link = port, None

    def ask(self, token, method, path, body=None):
        self.link = self.link or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        who = token if isinstance(token, dict) else {"Authorization": f"Bearer {token}"} if token else {}
        head = {"Content-Type": "application/json", **who}
        self.link.request(method.upper(), path, None if body is None else json.dumps(body), head)
        r = self.link.getresponse()
        if (r.getheader("Content-Type") or "").startswith("text/event-stream"):
            self.link.close()
            self.link = None
            return r.status, None
        text, self.head = r.read(), r.headers
        if (r.getheader("Connection") or "").lower() == "close":
            self.link.close()
            self.link = None
        try:
            return r.status, json.loads(text)
        except ValueError:
            return r.status, None


def operations():
    for file in ("openapi.yaml", "openapi-seeds.yaml"):
        for path, item in openapi.load(ROOT / "schema" / file)["paths"].items():
            for method in METHODS:
                if method in item:
                    yield method, path, item[method]


def place_of(answer):
    """Of a refusal in the API's shape; a seed has words of its own."""
    return answer["error"].get("place") if isinstance(answer, dict) and isinstance(answer.get("error"), dict) else None


def signed_in(site, who):
    """The head of a session: no token changes a credential."""
    status, answer = site.web.ask(None, "POST", "/api/v1/login", {"user": who.name, "password": WORD})
    assert status == 200, (who.name, status, answer)
    return {"Cookie": site.web.head["Set-Cookie"].split(";")[0], "X-CSRF-Token": answer["csrf"]}


def made(path):
    """A path that is there, with names that are nobody's."""
    path = path.replace("{id}", "1.1772323200" if "instances" in path else "999999")
    return re.sub(r"\{[^}]*\}", "none", path)


def matrix():
    site = Site("matrix")
    site.cgi.argv += ["--set", "crontab_project=cron", "--set", "ects_project=retail", "--set", "chin_project=cron",
                      "--set", "jarvis2_project=cron"]
    site.start(types=("noop:4",)).believe()
    site.web = Link(site.http)

    def post(path, body):
        status, answer = site.web.ask(site.token, "POST", path, body)
        assert status < 300, (path, body, status, answer)
        return answer
    for project in ("retail", "finance"):
        site.apply(f"workflow: w\nproject: {project}\ntimezone: UTC\nstart_date: {DAY}\nend_date: 2099-01-01\nstate: online\n"
                   "tasks:\n  a: {type: noop, cycle: day, catchup: {mode: none}}\n")
    site.callers = []
    for n, (role, rights) in enumerate(itertools.product(ORDER[1:], RIGHTS)):
        name = f"{role}-{n}"
        grant = {"role": role, "projects": ["retail"], "rights": list(rights)}
        if n % 2:
            post("/api/v1/users", {"user": name, "role": "none", "password": WORD})
            post("/api/v1/groups", {"name": f"g-{name}", "members": [name], **grant})
        else:
            post("/api/v1/users", {"user": name, "password": WORD, **grant})
        site.callers.append(Caller(name, role, rights))
    post("/api/v1/users", {"user": "nothing", "role": "none"})
    site.callers.append(Caller("nothing", "none"))
    # A token is made by its person; to sign in 17 times would cost 17 password hashes. The server takes a hash.
    for c in site.callers:
        c.token = "sirdar_" + os.urandom(32).hex()[:43]
        digest = hashlib.sha256(c.token.encode()).hexdigest()
        done = site.command("token-set", token=f"t-{c.name}", owner=c.name, role="admin", hash=digest, created=1)
        site.command_over(done)
    site.web.ask(site.token, "GET", "/api/v1/users")  # read again
    boss = next(c for c in site.callers if c.role == "operator" and len(c.rights) == 2)
    status, answer = site.web.ask(signed_in(site, boss), "POST", "/api/v1/tokens", {"name": "scoped", "role": "viewer", "rights": []})
    assert status == 201, answer
    site.callers.append(Caller("scoped", "viewer", (), answer["token"]))
    return site


@test
def the_description_and_the_routes_are_one(s):
    """Deny by default: a route without a role in the description, or that it does not know, fails."""
    tables = "".join((ROOT / "cgi" / f).read_text() for f in ("handlers/routes.def", "seeds/routes_seeds.def"))
    rows = {(m.lower(), re.sub(r"\.\.\.\}", "}", p)): role.lower() for m, p, role in
            re.findall(r'^ROUTE\("(\w+)",\s*"([^"]+)",\s*(\w+),', tables, re.M)}
    told = {(m, p): op for m, p, op in operations()}
    bad = [f"{m} {p} has no x-role" for (m, p), op in told.items() if op.get("x-role") not in ORDER]
    bad += [f"{m} {p}: x-role {told[m, p].get('x-role')}, the route's {role}" for (m, p), role in rows.items()
            if (m, p) in told and told[m, p].get("x-role") != role]
    bad += [f"{m} {p} is not described" for m, p in rows if (m, p) not in told and not p.startswith(("/ui", "/status"))]
    bad += [f"{m} {p} is no route" for m, p in told if (m, p) not in rows]
    assert len(told) > 80 and not bad, bad


@test
def every_route_by_every_caller(s):
    bad, n, refused = [], 0, 0
    ops = list(operations())
    for method, path, op in ops:
        role, url, body = op["x-role"], made(path), {} if method == "post" else None
        if path == "/api/v1/login":
            continue  # limits tries; test_people
        for who in [Caller("nobody", "none"), Caller("stranger", "none", (), "sirdar_" + "x" * 43), *s.callers]:
            if path in ("/api/v1/logout", "/api/v1/password", "/api/v1/session/proof") and who.token and who.role != "none":
                continue  # would change the caller
            known = who in s.callers
            status, answer = s.web.ask(who.token, method, url, body)
            n += 1
            if role == "none":  # the seeds' say who in their bodies
                ok = status not in (401, 403) or path.startswith(("/api/", "/job")) and not path.startswith("/api/v1/")
            elif not known:
                ok = status == 401
            elif not who.reaches(role):
                ok = status == 403 and place_of(answer) != "session"
            elif op.get("x-session") is True:  # the role does, a token does not
                ok = status == 403 and place_of(answer) == "session"
            else:
                ok = status not in (401, 403)
            refused += status in (401, 403)
            if not ok or status >= 500 and status not in (501, 503):
                bad.append(f"{method} {path} ({role}) by {who.name}: {status} {str(answer)[:120]}")
    print(f"# {len(ops)} operations x {len(s.callers) + 2} callers: {n} answers, {refused} refused")
    assert n > 1500 and refused > 300 and not bad, f"{len(bad)} wrong\n" + "\n".join(bad[:40])


def arguments(acts_on, project):
    """A selection in one project that says nothing wrong; None: the kind names no project."""
    chosen = {"tasks": [f"{project}/w/a"]}
    if acts_on in ("INSTANCES", "EITHER"):
        chosen["dates"] = [DAY]
    return {"selection": chosen} if acts_on in ("TASKS", "INSTANCES", "EITHER") else None


@test
def every_command_by_every_caller_in_his_project_and_in_another(s):
    """Dry runs: nothing changes. The role, the right of the kind's name, and the project: each alone refuses."""
    rows = re.findall(r'^COMMAND\(\w+,\s*"([^"]+)",\s*(\w+),\s*(\w+),', (ROOT / "schema/tbl/command.def").read_text(), re.M)
    post = next(op for m, p, op in operations() if (m, p) == ("post", "/api/v1/commands"))
    needs, least_of_route = post["x-right"], post["x-role"]
    assert set(needs) == {"backfill", "force-success"} and post["x-within"] == "projects", post
    bad, n, refused = [], 0, 0
    for kind, role, acts_on in rows:
        role = max(role.lower(), least_of_route, key=ORDER.index)
        for who, project in itertools.product(s.callers, ("retail", "finance")):
            args = arguments(acts_on, project)
            if args is None:
                args, project = {"nonsense": 1}, None
            extra = {"priority": {"priority": 3}}.get(kind, {})
            status, answer = s.web.ask(who.token, "post", "/api/v1/commands", {"kind": kind, "args": {**args, **extra}, "dry_run": True})
            n += 1
            may = who.reaches(role) and needs.get(kind, "") in (*who.rights, "") and (project != "finance" or who.role == "admin")
            refused += status == 403
            if kind in post["x-session"] and may:  # the role does, a token does not
                if status != 403 or place_of(answer) != "session":
                    bad.append(f"{kind} by a token of {who.name}: {status} {str(answer)[:160]}")
            elif (status == 403) == may or may and status != (400 if project is None else 200):
                bad.append(f"{kind} ({role}) by {who.name} {who.rights} in {project}: {status} {str(answer)[:160]}")
    print(f"# {len(rows)} commands x {len(s.callers)} callers x 2 projects: {n} answers, {refused} refused")
    assert n > 1000 and not bad, f"{len(bad)} wrong\n" + "\n".join(bad[:40])


@test
def documents_go_into_ones_own_projects(s):
    for who, project in itertools.product(s.callers, ("retail", "finance")):
        text = f"workflow: m\nproject: {project}\nstart_date: {DAY}\ntasks:\n  a: {{type: noop, cycle: none}}\n"
        status, answer = s.web.ask(who.token, "post", "/api/v1/workflows", {"documents": [{"name": "m.yaml", "text": text}], "dry_run": True})
        may = who.reaches("developer") and (project == "retail" or who.role == "admin")
        assert status == (200 if may else 403), (who.name, project, status, answer)


@test
def what_has_an_owner_is_his_and_the_administrators(s):
    """x-owner: tokens, commands (alerts: test_alerts, devices: test_push)."""
    owned = {op["x-owner"] for _, _, op in operations() if "x-owner" in op}
    assert owned == {"token", "command", "alert", "device"}, owned
    people = [c for c in s.callers if c.role != "none" and c.name != "scoped"]
    for owner, other in zip(people, people[1:] + people[:1]):
        mine, others = signed_in(s, owner), signed_in(s, other)
        status, answer = s.web.ask(mine, "post", "/api/v1/tokens", {"name": f"own-{owner.name}"})
        assert status == 201, (owner.name, status, answer)
        seen = [t["name"] for t in s.web.ask(other.token, "get", "/api/v1/tokens")[1]["tokens"]]
        assert (f"own-{owner.name}" in seen) == (other.role == "admin"), (owner.name, other.name)
        status, _ = s.web.ask(others, "delete", f"/api/v1/tokens/own-{owner.name}")
        assert status == (200 if other.role == "admin" else 404), (owner.name, other.name, status)
        status, _ = s.web.ask(mine, "delete", f"/api/v1/tokens/own-{owner.name}")
        assert status == (404 if other.role == "admin" else 200), (owner.name, status)
    boss = next(c for c in people if c.role == "operator")
    status, answer = s.web.ask(boss.token, "post", "/api/v1/commands",
                               {"kind": "priority", "args": {"selection": {"tasks": ["retail/w/a"], "dates": [DAY]}, "priority": 3}})
    assert status == 202, answer
    number = s.command_over(answer)["command"]
    for who in people:
        status, answer = s.web.ask(who.token, "post", "/api/v1/commands", {"kind": "command-cancel", "args": {"command": number}})
        his = who is boss or who.role == "admin"
        assert (status != 403) == his, (who.name, status, answer)


if __name__ == "__main__":
    sys.exit(main(matrix))
