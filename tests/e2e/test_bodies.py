#!/usr/bin/env python3
"""Every field of every body that the API takes, with every kind of wrong value: 400, and the error
names the field, what was found and what is allowed. Fields come from schema/openapi.yaml and from the
table of commands' arguments. TAP."""
import json
import os
import re
import sys
from datetime import date, timedelta
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BODIES = {"Login": "/api/v1/login", "Password": "/api/v1/password", "Proof": "/api/v1/session/proof", "TokenNew": "/api/v1/tokens",
          "Apply": "/api/v1/workflows", "CommandNew": "/api/v1/commands", "UserNew": "/api/v1/users",
          "TargetNew": "/api/v1/servers", "Acknowledge": "/api/v1/alerts/1/acknowledge", "ChannelTest": "/api/v1/channels/mail/test",
          "SilenceNew": "/api/v1/silences", "GroupNew": "/api/v1/groups", "AppNew": "/api/v1/apps",
          "DeviceNew": "/api/v1/push", "PeerNew": "/api/v1/peers", "PeerRevoke": "/api/v1/peers/none/revoke",
          "PeerInvite": "/api/v1/peers/none/invite", "PeerApprove": "/api/v1/peers/none/approve", "ProjectMark": "/api/v1/projects/none/trust",
          "ChannelNew": "/api/v1/channels", "OncallNew": "/api/v1/oncall", "RuleNew": "/api/v1/rules",
          "TargetTest": "/api/v1/servers/none/test", "Empty": "/api/v1/push/none/test"}
# A person's own, in a session: test_people.py, test_factor.py.
ELSEWHERE = {"PreferencesNew", "FactorBegin", "FactorCode", "FactorRemove"}
GOOD = {"Login": {"user": "admin", "password": "not this one"}, "Password": {"old": "a", "new": "b"}, "Proof": {"password": "a"},
        "TokenNew": {"name": "test-token", "role": "viewer"},
        "UserNew": {"user": "body", "role": "viewer"}, "TargetNew": {"server": "body"},
        "GroupNew": {"name": "body", "role": "viewer"}, "AppNew": {"name": "body", "role": "viewer"},
        "Apply": {"documents": [{"name": "x.yaml", "text": "workflow: x"}], "dry_run": True},
        "DeviceNew": {"endpoint": "https://fcm.googleapis.com/x", "p256dh": "x", "auth": "x"}, "Empty": {},
        "PeerNew": {"peer": "body", "kind": "broker"}, "PeerRevoke": {}, "PeerInvite": {"kind": "broker"}, "PeerApprove": {}, "ProjectMark": {}, "TargetTest": {},
        "ChannelNew": {"channel": "body", "kind": "file"}, "OncallNew": {"oncall": "body", "people": ["mail:a@example.org"]},
        "RuleNew": {"rule": "body", "when": ["failed"], "to": ["mail:a@example.org"]},
        "Acknowledge": {}, "ChannelTest": {}, "SilenceNew": {"kind": "late", "until": (date.today() + timedelta(days=90)).isoformat() + "T00:00:00Z", "reason": "x"},
        "CommandNew": {"kind": "freeze", "args": {"selection": {"tasks": ["a/b/c"]}}, "dry_run": True}}


def schemas():
    text = (ROOT / "schema/openapi.yaml").read_text()
    for name in BODIES:
        block = re.search(rf"^    {name}:\n((?:      .*\n)+)", text, re.M).group(1)
        for key, kind, rest in re.findall(r"^        (\w+): \{(type|oneOf): (.*)\}$", block, re.M):
            yield name, key, "either" if kind == "oneOf" else rest.split(",")[0].split("}")[0].strip()


WRONG = {"string": [7, True, ["x"], {"x": "y"}, "x" * 70_000], "integer": ["many", True, [1], {"x": 1}, 10 ** 15],
         "boolean": ["yes", 1, [True], {"x": True}], "array": ["word", 7, True, {"x": 1}, [7], [["x"]]],
         "object": ["word", 7, True, ["x"]], "either": [7, True, ["x"], {"x": "y"}, "x" * 70_000]}


def post(s, path, text):
    """A body as it stands, also when it is no JSON. A device is a person's, so he sends it."""
    if path != BODIES["DeviceNew"]:
        return s.ask("POST", path, text)
    machine, s.token = s.token, person(s)
    try:
        return s.ask("POST", path, text)
    finally:
        s.token = machine


def person(s):
    """-> a token of one."""
    if not hasattr(s, "person"):
        assert s.ask("POST", "/api/v1/users", {"user": "pia", "password": "a long word of hers", "role": "viewer"})[0] == 200
        status, answer = s.ask("POST", "/api/v1/login", {"user": "pia", "password": "a long word of hers", "name": "pia-1"})
        assert status == 200, answer
        s.person = answer["token"]
    return s.person


def told(status, answer, key):
    """None, or what is wrong with the refusal."""
    if status not in (400, 413, 422):
        return f"answered {status} {str(answer)[:120]}"
    e = answer["error"]
    text = f"{e['message']} {e['hint']} {json.dumps(e.get('details', ''))}"
    if status == 413:
        return None if re.search(r"\d", text) else f"does not say how large: {text}"
    if key not in e["place"] and key not in text:
        return f"does not name {key}: {e}"
    if not re.search(r"want|expected|allowed|missing|at most|is not|unknown|of type|must", text):
        return f"does not say what is allowed: {e}"
    return None


@test
def each_field_of_each_body_refuses_what_it_cannot_be(s):
    bad, n = [], 0
    for name, key, kind in schemas():
        for value in WRONG[kind]:
            body = dict(GOOD[name], **{key: value})
            if name == "Login" and key in ("name", "role", "days"):
                body.setdefault("name", "x")
            status, answer = post(s, BODIES[name], body)
            wrong = told(status, answer, key)
            n += 1
            if wrong:
                bad.append(f"{name}.{key} = {str(value)[:30]}: {wrong}")
        body = dict(GOOD[name])
        body[key + "x"] = 1
        wrong = told(*post(s, BODIES[name], body), key + "x")
        if wrong:
            bad.append(f"{name}.{key}x: {wrong}")
    assert n > 60 and not bad, f"{n} tried\n" + "\n".join(bad[:40])


@test
def a_field_that_must_be_there_is_missed_by_name(s):
    text = (ROOT / "schema/openapi.yaml").read_text()
    bad = []
    for name in BODIES:
        block = re.search(rf"^    {name}:\n((?:      .*\n)+)", text, re.M).group(1)
        required = re.search(r"^      required: \[([^\]]*)\]", block, re.M)
        for key in required.group(1).split(", ") if required else []:
            body = {k: v for k, v in GOOD[name].items() if k != key}
            wrong = told(*post(s, BODIES[name], body), key)
            if wrong:
                bad.append(f"{name} without {key}: {wrong}")
    assert not bad, "\n".join(bad)


NEEDED = {"peer": "body", "documents": [{"name": "x", "text": "workflow: x"}], "priority": 3, "level": "info", "pool": "p", "server": "db", "type": "odd", "version": "1", "sha256": "0" * 64, "project": "p", "user": "u", "role": "viewer"}


@test
def each_argument_of_each_command_refuses_what_it_cannot_be(s):
    s.apply("workflow: w\nproject: p\nstart_date: 2026-03-01\ntasks:\n  t: {type: noop, cycle: day, catchup: {mode: none}}\n")
    table = (ROOT / "baseserver/command/commander_kinds.c").read_text()
    bad, n = [], 0
    for kind, keys in re.findall(r"\[CK_(\w+)\] =\s*\{\s*\.keys = \{([^}]*)\}", table):
        kind = kind.lower().replace("_", "-")
        for key in re.findall(r'"(\w+)"', keys) + ["message"]:
            for value in (["x", ["y"]], {"zz": {"y": 1}}, "\u0001", -1, 10 ** 15):
                good = {"selection": {"tasks": ["p/w/t"], "dates": ["2026-03-01"]}} if "selection" in keys else {}
                if kind in ("retire", "online", "offline"):
                    good = {"selection": {"tasks": ["p/w/t"]}}
                if key in ("message", "note", "reason") and isinstance(value, str):
                    continue  # any text will do
                others = {k: v for k, v in NEEDED.items() if k in re.findall(r'"(\w+)"', keys)}
                args = {**good, **others, key: value}
                status, answer = post(s, "/api/v1/commands", {"kind": kind, "args": args, "dry_run": True})
                n += 1
                if f"{kind} is asked for by" in json.dumps(answer):
                    continue  # its arguments are those of another address
                if status < 400:
                    bad.append(f"{kind} {key} = {value!r}: accepted {str(answer)[:80]}")
                elif status >= 500 and status != 501:
                    bad.append(f"{kind} {key} = {value!r}: {status} {answer}")
                elif key not in json.dumps(answer) and not (status == 400 and "line" in json.dumps(answer)):
                    bad.append(f"{kind} {key} = {value!r}: does not name it: {answer['error']['message'][:150]}")
    assert n > 200 and not bad, f"{n} tried\n" + "\n".join(bad[:40])


# What a query's argument cannot be: by its type, and by its name where the type is a text.
WRONG_QUERY = {"integer": ["many", "1e3", "-1", "1.5", "9" * 25, ""], "boolean": ["maybe", "2", ""]}
WRONG_TEXT = {"state": ["opened", ""], "kind": ["laet", ""], "since": ["someday"], "until": ["someday"], "match": ["(", "", "a" * 513], "instance": ["x", ""], "project": [], "workflow": [], "order": ["up", ""], "states": ["nosuch", "Succ,nosuch"], "from": ["someday", "2026-13-01"],
              "to": ["someday", "2026-02-30"], "date": ["someday", "2026-02-30"], "before": ["someday"],
              "run_date": ["someday"], "sort": ["colour"], "now": ["never"], "format": ["xml"], "stream": ["stdin"], "times": ["local"], "cursor": ["%21%21"],
              "task": [""], "ids": ["x", "1", "1.2,x"], "name": [""], "prefix": [], "actor": [], "action": [], "user": [""]}
NAMES = {"/api/v1/calendars/{name}": "cal", "/api/v1/workflows/{name}": "p/w", "/api/v1/runs/{name}": "p/w", "/api/v1/grid/{name}": "p/w", "/api/v1/lineage/{name}": "p/w", "/api/v1/why/{name}": "p/w",
         "/api/v1/users/{name}": "u", "/api/v1/groups/{name}": "g", "/api/v1/servers/{name}": "s", "/api/v1/peers/{name}": "cgi", "/api/v1/peers/{name}/exposed": "cgi"}


def queries():
    """(path, its arguments [(name, type)]) of every GET of openapi.yaml, those without arguments too."""
    path, found = "", {}
    for line in (ROOT / "schema/openapi.yaml").read_text().split("\ncomponents:")[0].splitlines():
        at = re.match(r"  (/\S*):$", line)
        path = at.group(1) if at else path
        if line == "    get:":
            found[path] = []
        one = re.match(r"\s+- \{name: (\w+), in: query, (?:required: true, )?schema: \{type: (\w+)", line)
        if one:
            found[path].append(one.groups())
        else:
            assert "in: query" not in line, line
    return found


@test
def each_argument_of_each_query_refuses_what_it_cannot_be(s):
    s.apply("calendar: cal\nweekends: [sunday]\n---\nworkflow: w\nproject: p\nstart_date: 2026-03-01\ntasks:\n"
            "  t: {type: noop, cycle: none}\n")
    bad, n = [], 0
    for path, arguments in queries().items():
        if not path.startswith("/api/v1/") or path.startswith("/api/v1/login/oidc"):
            continue
        where = path.replace("{kind}", "document").replace("{name}", NAMES.get(path, "p/w/t")).replace("{id}", "7" if "commands" in path else "1.1772323200")
        for name, kind in arguments + [("zz", "unknown")]:
            wrong = WRONG_QUERY.get(kind) or (["1"] if kind == "unknown" else WRONG_TEXT[name])
            others = {"name": "name=p/w/t", "task": "task=p/w/t", "run_date": "run_date=2026-03-01T00:00:00Z"}
            needed = "&".join(v for k, v in others.items() if k != name and path in ("/api/v1/resolve", "/api/v1/forecast")
                              and k in [a for a, _ in arguments])
            for value in wrong:
                if value == "-1" and name == "part":
                    continue  # a test run has such a number
                status, answer = s.ask("GET", f"{where}?{needed}{'&' if needed else ''}{name}={value}")
                n += 1
                if status == 404 and value == "" and name in ("name", "task"):
                    continue  # nothing has no name
                if status != 400:
                    bad.append(f"{path} {name}={value!r}: {status} {str(answer)[:100]}")
                elif name not in answer["error"]["place"] and name not in answer["error"]["message"]:
                    bad.append(f"{path} {name}={value!r}: does not name it: {answer['error']}")
    assert n > 150 and not bad, f"{n} tried\n" + "\n".join(bad)


@test
def no_body_of_the_api_is_left_out(s):
    text = (ROOT / "schema/openapi.yaml").read_text()
    used = re.findall(r"requestBody: .*schemas/(\w+)\"", text)
    there = set(used)
    assert there == {*BODIES, *ELSEWHERE} and text.count("requestBody:") == len(used), there ^ {*BODIES, *ELSEWHERE}
    for name in BODIES:
        block = re.search(rf"^    {name}:\n((?:      .*\n)+)", text, re.M).group(1)
        keys = (*block.split("      properties:\n"), "")[1]
        told = {k for n, k, _ in schemas() if n == name}
        assert told == set(re.findall(r"^        (\w+):", keys, re.M)), (name, told)


HOURS = """workflow: prev
project: p
timezone: America/New_York
start_date: 2026-03-01
tasks:
  a: {type: noop, cycle: hour}
  b: {type: noop, cycle: day, fire: end, offset: 2h30m, needs: [a], params: {day: "$[yyyyMMdd] of ${who}"}}
parameters: {who: us}
"""


@test
def a_preview_says_when_a_task_fires_and_what_each_date_waits_for(s):
    status, got = post(s, "/api/v1/workflows", {"documents": [{"name": "p.yaml", "text": HOURS}], "dry_run": True, "from": "2026-03-01",
                                                "preview": {"task": "b", "from": "2026-03-06", "fires": 3, "edges": 2}})
    assert status == 200, got
    p = got["preview"]
    assert [f["due_local"] for f in p["fires"]] == ["2026-03-06T02:30:00", "2026-03-07T02:30:00", "2026-03-08T03:00:00"], p["fires"]
    assert [f["biz_date"] for f in p["fires"]] == ["2026-03-05", "2026-03-06", "2026-03-07"]
    assert p["clock_change"] == "2026-03-08T07:00:00Z" and p["timezone"] == "America/New_York"
    assert [(d["child_local"][:10], d["count"], len(d["parents"])) for d in p["links"][0]["dates"]] == [
        ("2026-03-05", 24, 24), ("2026-03-06", 24, 24), ("2026-03-08", 23, 23)], p["links"]
    assert p["params"] == [{"name": "who", "value": "us", "unknown": None}, {"name": "day", "value": "20260305 of us", "unknown": None}] or \
        sorted(x["value"] for x in p["params"]) == ["20260305 of us", "us"], p["params"]
    for wrong, word in (({"task": "zz"}, "zz"), ({"task": "b", "from": "someday"}, "from"), ({"task": "b", "fires": 51}, "fires")):
        status, answer = post(s, "/api/v1/workflows", {"documents": [{"name": "p.yaml", "text": HOURS}], "dry_run": True, "preview": wrong})
        assert status == 400 and word in json.dumps(answer), (wrong, answer)
    status, answer = post(s, "/api/v1/workflows", {"documents": [{"name": "p.yaml", "text": HOURS.replace("hour,", "hor,").replace("hour}", "hor}")}],
                                                   "dry_run": True, "preview": {"task": "b"}})
    assert status == 200 and [(e["line"], e["path"]) for e in answer["errors"]] == [(6, "tasks.a.cycle")], answer
    status, answer = post(s, "/api/v1/workflows", {"documents": [{"name": "p.yaml", "text": HOURS}], "preview": {"task": "b"}})
    assert status >= 400 or answer["state"] == "failed", answer


if __name__ == "__main__":
    sys.exit(main(lambda: Site("bodies").start(types=("noop:1",))))
