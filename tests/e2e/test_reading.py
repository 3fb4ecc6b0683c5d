#!/usr/bin/env python3
"""Who may read what: with reading bound to projects, somebody of project `alpha` is shown nothing of project `zqbproj`.
Every route of the two descriptions is asked, with arguments of the other project in every place and without any, and every
list page by page; whatever comes back is searched for what is the other's: names, texts, ids. Every name of it begins with
`zqb`, so that no answer has to be understood. What is not there and what is not theirs must be answered alike. TAP."""
import hashlib
import http.client
import itertools
import json
import os
import re
import subprocess
import sys
import time
import zlib
from pathlib import Path
from urllib.parse import quote

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import openapi  # noqa: E402
from alert_site import AlertSite  # noqa: E402
from harness import main, rfc3339, test, until  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
METHODS = ("get", "post", "put", "delete", "patch")
DAY, WORD, MARK = "2026-03-01", "a long enough word", "zqb"
OTHER, MINE = "zqbproj", "alpha"
# What an alpha document says in its own text, and its command, and the audit of that: the name of a task that it waits for.
SAID = f"{OTHER}/zqbflow/zqbsaid"
LATER = rfc3339(time.time() + 30 * 86400)

OTHERS = f"""
workflow: zqbflow
project: {OTHER}
title: zqbtitle
timezone: UTC
start_date: {DAY}
end_date: {DAY}
state: online
owner: zqbowner
alerts: [{{when: [failed], to: ["webhook:hook"]}}]
defaults: {{type: shell, cycle: day, retry: {{attempts: 1}}, catchup: {{mode: all}}}}
tasks:
  zqbsaid: {{params: {{script: "echo zqblog"}}}}
  zqbload: {{params: {{script: "echo zqblog; echo SIRDAR_OUTPUT zqbkey=zqbvalue"}}}}
  zqbfail: {{params: {{script: "echo zqblog; echo zqbboom >&2; exit 3"}}}}
  zqbwaits: {{params: {{script: "true"}}, needs: [{MINE}/flow/slow]}}
  zqbhand: {{cycle: none, params: {{script: "echo zqblog"}}}}
"""
OWN = f"""
workflow: flow
project: {MINE}
timezone: UTC
start_date: {DAY}
end_date: {DAY}
state: online
alerts: [{{when: [failed], to: ["webhook:hook"]}}]
defaults: {{type: shell, cycle: day, retry: {{attempts: 1}}, catchup: {{mode: all}}}}
tasks:
  load: {{params: {{script: "echo own"}}}}
  fail: {{params: {{script: "echo own; exit 3"}}}}
  slow: {{params: {{script: "echo own"}}, needs: [load]}}
  after: {{params: {{script: "echo own"}}, needs: [{SAID}]}}
  blocked: {{params: {{script: "echo own"}}, needs: [{OTHER}/zqbflow/zqbfail]}}
"""


class Ask:
    """One connection; an answer is its status, its head and its bytes, unpacked."""

    def __init__(self, port, token):
        self.port, self.token, self.link = port, token, None

    def __call__(self, method, path, body=None, **head):
        try:
            return self.once(method, path, body, head)
        except (OSError, http.client.HTTPException):  # it was idle for longer than the face keeps it
            self.link = None
            return self.once(method, path, body, head)

    def once(self, method, path, body, head):
        self.link = self.link or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        who = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self.link.request(method.upper(), path, None if body is None else json.dumps(body),
                          {"Content-Type": "application/json", **who, **{k.replace("_", "-"): v for k, v in head.items()}})
        r = self.link.getresponse()
        stream = (r.getheader("Content-Type") or "").startswith("text/event-stream")
        text = b"" if stream else r.read()
        if r.getheader("Content-Encoding") == "gzip":
            text = zlib.decompress(text, 47)
        if stream or (r.getheader("Connection") or "").lower() == "close":
            self.link.close()
            self.link = None
        return r.status, "\n".join(f"{k}: {v}" for k, v in r.getheaders()), text.decode("utf-8", "replace")

    def json(self, path, expect=200):
        status, _, text = self("GET", path)
        assert status == expect, (path, status, text[:400])
        return json.loads(text)


def operations():
    for file in ("openapi.yaml", "openapi-seeds.yaml"):
        for path, item in openapi.load(ROOT / "schema" / file)["paths"].items():
            for method in METHODS:
                if method in item:
                    yield method, path, item[method]


def made():
    site = AlertSite("reading")
    site.cgi.argv += ["--set", f"crontab_project={OTHER}", "--set", f"ects_project={OTHER}", "--set", f"chin_project={OTHER}",
                      "--set", f"jarvis2_project={OTHER}"]
    site.start(types=("shell:8", "noop:8"))
    site.root = Ask(site.http, site.token)

    def post(path, body):
        status, _, text = site.root("POST", path, body)
        assert status < 300, (path, body, status, text)
        return json.loads(text)
    site.post = post
    for name, project, role in (("vera", MINE, "viewer"), ("dora", MINE, "developer"), ("oleg", MINE, "operator"),
                                ("zqbuser", OTHER, "operator")):
        post("/api/v1/users", {"user": name, "password": WORD, "role": role, "projects": [project], "rights": ["backfill"]})
    site.asks = {}
    for name in ("vera", "dora", "oleg", "zqbuser"):
        token = "sirdar_" + os.urandom(32).hex()[:43]
        site.command_over(site.command("token-set", token=f"t-{name}", owner=name, role="admin",
                                       hash=hashlib.sha256(token.encode()).hexdigest(), created=1))
        site.asks[name] = Ask(site.http, token)
    token = "sirdar_" + os.urandom(32).hex()[:43]  # of nobody's, for alpha
    site.command_over(site.command("token-set", token="t-program", role="operator", projects=[MINE],
                                   hash=hashlib.sha256(token.encode()).hexdigest(), created=1))
    site.asks["program"] = Ask(site.http, token)
    site.root("GET", "/api/v1/users")  # read again
    post("/api/v1/servers", {"server": "zqbtarget", "kind": "http", "host": "zqbhost.example.org", "projects": [OTHER]})
    post("/api/v1/servers", {"server": "both", "kind": "http", "host": "h.example.org", "projects": [MINE, OTHER]})
    both = [{"name": "zqb.yaml", "text": OTHERS}, {"name": "own.yaml", "text": OWN}]
    site.command_over(site.command("apply", documents=both, **{"from": DAY}))
    site.command_over(site.apply(OWN.replace("workflow: flow", "workflow: flow\ntitle: of alpha alone"), "own.yaml", **{"from": DAY}))
    for project, word in ((OTHER, "zqbparam"), (MINE, "ownparam")):
        site.command_over(site.apply(f"project: {project}\nparameters: {{{word}: {word}value}}\n", f"{word}.yaml"))
    status, _, text = site.asks["zqbuser"]("POST", "/api/v1/commands", {"kind": "redo", "args": {
        "selection": {"tasks": [f"{OTHER}/zqbflow/zqbload"], "dates": [DAY]}, "message": "zqbmessage"}})
    assert status == 202, text
    site.command_over(json.loads(text))
    status, _, text = site.asks["oleg"]("POST", "/api/v1/commands", {"kind": "redo", "args": {
        "selection": {"tasks": [f"{MINE}/flow/load"], "dates": [DAY]}, "message": "ownmessage"}})
    assert status == 202, text
    site.command_over(json.loads(text))
    form = "job=" + quote(json.dumps({"name": "zqbjob", "command": "true", "cronExpr": "0 0 1 1 *"}))
    link = http.client.HTTPConnection("127.0.0.1", site.http, timeout=60)
    link.request("POST", "/job/save", form, {"Authorization": f"Bearer {site.asks['zqbuser'].token}", "Content-Type": "application/x-www-form-urlencoded"})
    answer = link.getresponse().read()
    assert b'"errno":0' in answer.replace(b" ", b""), answer
    link.close()
    post("/api/v1/silences", {"project": OTHER, "until": LATER, "reason": "zqbreason"})
    post("/api/v1/silences", {"project": MINE, "until": LATER, "reason": "ownreason"})
    site.command_over(site.command("quota-set", project=OTHER, running=7))
    site.wait_state(f"{OTHER}/zqbflow/zqbload", f"{DAY}T00:00:00Z", "Succ")
    for project, task in ((OTHER, "zqbflow/zqbfail"), (MINE, "flow/fail")):
        site.wait_state(f"{project}/{task}", f"{DAY}T00:00:00Z", "StopSchedule")
        until(f"an alert of {project}", lambda p=project: site.get(f"/api/v1/alerts?project={p}")["items"])
    site.wait_state(f"{MINE}/flow/slow", f"{DAY}T00:00:00Z", "Succ")
    learn(site)
    return site


def learn(s):
    """The other's ids, of what a number alone tells."""
    tasks = s.root.json("/api/v1/tasks?limit=500")["items"]
    s.ids = {str(t["task_id"]) for t in tasks if t["task"].startswith(OTHER + "/")}
    s.flow = next(str(t["workflow_id"]) for t in tasks if t["task"].startswith(OTHER + "/"))
    s.names = [t["task"] for t in tasks if t["task"].startswith(OTHER + "/")]
    s.own_ids = {str(t["task_id"]) for t in tasks if t["task"].startswith(MINE + "/")}
    s.inst = [i["id"] for i in s.instances(f"{OTHER}/zqbflow/*")]
    commands = s.root.json("/api/v1/commands?limit=500")["items"]
    s.commands = [c["command"] for c in commands if c["actor"].startswith("zqbuser")]
    s.alerts = [a["id"] for a in s.root.json(f"/api/v1/alerts?project={OTHER}")["items"]]
    s.silences = [x["id"] for x in s.root.json("/api/v1/silences")["silences"] if x["reason"] == "zqbreason"]
    s.causes = [c["cause"] for c in s.root.json("/api/v1/failures?since=100d")["items"]]
    assert s.ids and s.inst and s.commands and s.alerts and s.silences and s.causes


def switch(s, to):
    s.command_over(s.command("reading-set", reading=to))
    s.root("GET", "/api/v1/users")  # read again
    until(f"reading is {to}", lambda: s.root.json("/api/v1/server")["reading"] == to)
    bound = to == "project"
    until("the faces know", lambda: (s.asks["vera"].json("/api/v1/session")["reads"] is not None) == bound)


# --- what is the other's -------------------------------------------------------------------------------------------------

ID_KEYS = {"task_id": "ids", "parent_id": "ids", "child_id": "ids", "latest": "ids", "workflow_id": "flow", "command": "commands",
           "cause": "commands"}


def strip(node, path=""):
    """A document of one's own, and the command that brought it, say what their author wrote."""
    if isinstance(node, dict):
        return {k: (v.replace(SAID, "").replace(f"{OTHER}/zqbflow/zqbfail", "") if k in ("document", "args", "detail", "before", "after") and
                    isinstance(v, str) else strip(v, path)) for k, v in node.items()}
    if isinstance(node, list):
        return [strip(v, path) for v in node]
    return node


def foreign_numbers(s, node, found):
    if isinstance(node, dict):
        for key, v in node.items():
            kind = ID_KEYS.get(key)
            if kind and isinstance(v, (str, int)) and str(v) != "0" and str(v) in (
                    {s.flow} if kind == "flow" else set(getattr(s, kind))):
                found.append(f"{key}={v}")
            if key in ("id", "instance") and isinstance(v, str) and v.split(".")[0] in s.ids and "." in v:
                found.append(f"{key}={v}")
            if key == "task_ids" and isinstance(v, list) and {str(x) for x in v} & s.ids:
                found.append(f"task_ids={v}")
            foreign_numbers(s, v, found)
    elif isinstance(node, list):
        for v in node:
            foreign_numbers(s, v, found)


def seen(s, asked, head, text):
    """What of the other project is in an answer. What the caller said himself comes back to him: it is taken out first."""
    head = "\n".join(line for line in head.splitlines() if not line.startswith(("X-Request-Id", "Location")))
    try:
        node = strip(json.loads(text))
    except ValueError:
        node = None
    plain = (json.dumps(node, ensure_ascii=False) if node is not None else text.replace(SAID, "").replace(f"{OTHER}/zqbflow/zqbfail", "")) + head
    for said in sorted(asked, key=len, reverse=True):
        plain = plain.replace(said, "")
    found = sorted(set(re.findall(MARK + r"[a-z]*", plain)))
    if node is not None:
        foreign_numbers(s, node, found)
    return found


# --- what is asked -------------------------------------------------------------------------------------------------------

def places(s, path):
    """The paths that a route has, with the other project's in its places."""
    fill = {"{name}": ["zqbtarget", "zqbuser", OTHER], "{cause}": s.causes[:3], "{device}": ["zqbdevice"], "{path}": ["zqbpath"]}
    if "instances/{id}" in path:
        fill["{id}"] = s.inst[:6] + [f"{sorted(s.ids)[0]}.1"]
    elif "commands/{id}" in path:
        fill["{id}"] = s.commands + ["999999"]
    elif "alerts/{id}" in path:
        fill["{id}"] = s.alerts
    elif "silences/{id}" in path:
        fill["{id}"] = s.silences
    elif "{id}" in path:
        fill["{id}"] = sorted(s.ids | {s.flow})
    if path.startswith(("/api/v1/workflows/", "/api/v1/graph/", "/api/v1/runs/", "/api/v1/grid/", "/api/v1/why/", "/api/v1/lineage/",
                        "/api/v1/tasks/", "/api/v1/links/", "/api/v1/statistics/")):
        fill["{name}"] = [f"{OTHER}/zqbflow", *s.names]
    slots = re.findall(r"\{\w+\}", path)
    for values in itertools.product(*(fill.get(x, ["zqbnone"]) for x in slots)):
        done = path
        for slot, v in zip(slots, values):
            done = done.replace(slot, v, 1)
        yield done


VALUES = {"task": [SAID, f"{OTHER}/*", "*"], "prefix": [OTHER + "/", ""], "project": [OTHER], "workflow": [f"{OTHER}/zqbflow"],
          "name": [f"{OTHER}/zqbflow", SAID], "sort": ["change", "start", "end", "priority", "state"], "order": ["desc", "asc"],
          "all": ["true"], "parts": ["true"], "days": ["30"], "date": [DAY], "run_date": [DAY], "since": ["100d", "2000-01-01"],
          "user": ["zqbuser"], "actor": ["zqbuser"], "action": ["redo", "apply", "save workflow"], "failed": ["true"], "open": ["true"],
          "up": ["5"], "down": ["5"], "limit": ["1", "500"], "from": ["2000-01-01"], "to": ["2099-01-01"], "kind": ["failed"],
          "states": ["Succ", "StopSchedule", "online"], "stream": ["stderr"], "lines": ["50"], "offset": ["1"], "bytes": ["9"],
          "download": ["true"], "generation": ["1"], "attempt": ["1"], "format": ["yaml"], "version": ["1"], "now": ["failed"],
          "state": ["open"], "acknowledged": ["false"], "fields": ["task,name,id,command,items"]}
NEEDS = {"/api/v1/resolve": {"task": SAID, "run_date": DAY}, "/api/v1/rules": {"workflow": f"{OTHER}/zqbflow"}}


def queries(s, path, op):
    """None, then each argument alone with each of its values, each of which the other project is in if it can be."""
    more = {"task_id": sorted(s.ids), "workflow_id": [s.flow], "ids": [",".join(s.inst)], "broker_id": ["1"],
            "cursor": [f"ta.{i}" for i in sorted(s.ids)[:2]] + ["td." + sorted(s.ids)[0], "1"], **VALUES}
    if path.startswith(("/job/log", "/api/log", "/api/job")):
        more.update(name=["zqbload"], job_id=["1", sorted(s.ids)[0]], app_name=["none"], app_key=["none"])
    base = NEEDS.get(path, {})
    yield dict(base)
    for p in op.get("parameters", []):
        if p["in"] == "query" and p["name"] not in ("follow",):
            for v in more.get(p["name"], ["1"]):
                yield {**base, p["name"]: v}
    if op.get("x-role") != "none":
        yield {**base, "fields": "name,task,id"}


def bodies(s, method, path):
    if method not in ("post", "put"):
        return [None]
    chosen = {"tasks": [SAID], "dates": [DAY]}
    if path == "/api/v1/commands":
        rows = re.findall(r'^COMMAND\(\w+,\s*"([^"]+)",', (ROOT / "schema/tbl/command.def").read_text(), re.M)
        picks = [{"selection": chosen}, {"selection": {"workflow": f"{OTHER}/zqbflow"}}, {"selection": {"instances": [{"id": s.inst[0]}]}},
                 {"selection": {"instances": [{"task": SAID, "run_date": DAY}]}}, {"command": s.commands[0]}, {"alert": s.alerts[0]},
                 {"silence": s.silences[0]}, {"server": "zqbtarget", "project": MINE}, {"project": OTHER, "running": 1},
                 {"selection": {"tasks": [f"{MINE}/flow/load"], "dates": [DAY]}, "scope": "downstream"},
                 {"selection": {"tasks": [f"{OTHER}/zqbflow/zqbsaidd"], "dates": [DAY]}},
                 {"selection": {"tasks": [f"{MINE}/zqbflow/zqbload"], "dates": [DAY]}}]
        return [{"kind": k, "args": a, "dry_run": True} for k in rows for a in picks]
    if path == "/api/v1/workflows":
        text = f"workflow: w\nproject: {MINE}\nstart_date: {DAY}\ntasks:\n  a: {{type: noop, cycle: day, needs: [{SAID}]}}\n"
        return [{"documents": [{"name": "w.yaml", "text": t}], "dry_run": True} for t in (text, text.replace(f"project: {MINE}", f"project: {OTHER}"))]
    if path == "/api/v1/silences":
        return [{"project": OTHER, "until": LATER, "reason": "r"}, {"task": SAID, "until": LATER, "reason": "r"}]
    if path.endswith("/test") and "/servers/" in path:
        return [{"project": MINE}, {"project": OTHER}]
    return [{}]


def said_in(url, body):
    """What of the question an answer may repeat: the words of it, and those of its names."""
    words = set(re.findall(r"[\w./*-]+", f"{url} {json.dumps(body) if body is not None else ''}"))
    return {w for w in words if MARK in w} | {p for w in words if MARK in w for p in w.split("/") if MARK in p }


def answers(s, who, ops):
    """Everything that can be asked by reading, and by changing without a change."""
    for method, path, op in ops:
        if path in ("/api/v1/login", "/api/v1/logout", "/api/v1/password", "/api/v1/tokens") and method != "get":
            continue
        if method == "delete" and path.startswith("/api/v1/sessions"):
            continue
        for url, query, body in itertools.product(places(s, path), queries(s, path, op) if method == "get" else [{}], bodies(s, method, path)):
            url += "?" + "&".join(f"{k}={quote(v)}" for k, v in query.items()) if query else ""
            yield method, path, url, body, s.asks[who] if who != "admin" else s.root


def tell(method, url, body, status, found):
    return f"{method.upper()} {url} {json.dumps(body)[:160] if body else ''}: {status} {found[:6]}"


@test
def with_the_switch_off_everybody_reads_everything(s):
    assert s.root.json("/api/v1/server")["reading"] == "all"
    assert s.asks["vera"].json("/api/v1/session")["reads"] is None
    with_marks = set()
    for path in ("/api/v1/instances", "/api/v1/tasks", "/api/v1/workflows", "/api/v1/commands", "/api/v1/alerts", "/api/v1/silences",
                 f"/api/v1/tasks/{SAID}", f"/api/v1/lineage/{MINE}/flow", "/api/v1/queues", "/api/v1/quotas", "/api/v1/pools",
                 f"/api/v1/instances/{s.inst[0]}", f"/api/v1/instances/{s.inst[0]}/log", "/api/v1/parameters"):
        status, head, text = s.asks["vera"]("GET", path)
        assert status == 200, (path, status, text[:300])
        if MARK in text:
            with_marks.add(path)
    print(f"# a viewer of {MINE} sees {OTHER} in {len(with_marks)} of 14 lists")
    assert len(with_marks) >= 11, with_marks
    status, _, text = s.asks["oleg"]("GET", "/api/v1/audit?limit=500")
    assert status == 200 and "zqbmessage" in text


@test
def the_search_has_teeth(s):
    """The same questions by who reads all: an answer of each route that shows anything of a project has marks of the other."""
    switch(s, "project")
    marked, n = set(), 0
    for method, path, url, body, ask in answers(s, "admin", [o for o in operations() if o[0] == "get"]):
        status, head, text = ask(method, url)
        n += 1
        if status == 200 and seen(s, said_in(url, None), "", text):
            marked.add(path)
    print(f"# {n} questions by an administrator: {len(marked)} routes show something of {OTHER}")
    want = {"/api/v1/instances", "/api/v1/tasks", "/api/v1/workflows", "/api/v1/commands", "/api/v1/audit", "/api/v1/alerts", "/api/v1/silences",
            "/api/v1/parameters", "/api/v1/failures", "/api/v1/servers", "/api/v1/quotas", "/api/v1/instances/{id}", "/api/v1/instances/{id}/log",
            "/api/v1/commands/{id}", "/api/v1/commands/{id}/items", "/api/v1/alerts/{id}", "/api/v1/failures/{cause}", "/api/v1/progress",
            "/job/list"} - {"/api/v1/progress"}
    assert want <= marked, want - marked


@test
def who_reads_alpha_sees_nothing_of_the_other_on_any_route(s):
    switch(s, "project")
    for who in ("vera", "oleg", "program"):
        bad, n, statuses, asked = [], 0, {}, set()
        for method, path, url, body, ask in answers(s, who, operations()):
            if who != "vera" and method not in ("get",) and path != "/api/v1/commands":
                continue
            status, head, text = ask(method, url, body)
            n += 1
            asked.add((method, path))
            statuses[status // 100] = statuses.get(status // 100, 0) + 1
            found = seen(s, said_in(url, body) if status >= 400 else set(), head, text)
            if status < 400 and path in ("/api/v1/lineage/{name}",):
                found = seen(s, set(), head, text)
            if found or status >= 500 and status not in (501, 503):
                bad.append(tell(method, url, body, status, found) + " " + text[:300])
        print(f"# {who}: {len(asked)} routes, {n} questions, {statuses}, {len(bad)} with something of {OTHER}")
        assert n > 1000 and len(asked) > 50 and not bad, f"{len(bad)} show something\n" + "\n".join(bad[:30])


@test
def what_is_not_theirs_is_answered_as_what_is_not_there(s):
    """The same bytes, but for the names that were asked with."""
    switch(s, "project")
    vera, oleg = s.asks["vera"], s.asks["oleg"]

    def plain(ask, url, body, words):
        status, _, text = ask("POST" if body else "GET", url, body)
        text = re.sub(r'"request_id":"\w+"', "", text)
        for w in words:
            text = text.replace(w, "X")
        return status, text
    pairs = [(f"/api/v1/{kind}/{OTHER}/zqbflow", f"/api/v1/{kind}/{OTHER}/zqbnoflw", f"/api/v1/{kind}/zqbnoprj/zqbflow")
             for kind in ("workflows", "graph", "runs", "grid", "why", "lineage")]
    pairs += [(f"/api/v1/{kind}/{SAID}", f"/api/v1/{kind}/{OTHER}/zqbflow/zqbnone", "/api/v1/" + kind + "/zqbnoprj/zqbflow/zqbsaid")
              for kind in ("tasks", "links", "statistics", "lineage")]
    pairs += [(f"/api/v1/instances/{s.inst[0]}{more}", f"/api/v1/instances/999999.1772323200{more}", f"/api/v1/instances/999998.1772323200{more}")
              for more in ("", "/events", "/why", "/log", "/log?lines=5", "/log?follow=true")]
    pairs += [(f"/api/v1/commands/{s.commands[0]}{more}", f"/api/v1/commands/999999{more}", f"/api/v1/commands/999998{more}") for more in ("", "/instances")]
    pairs += [(f"/api/v1/alerts/{s.alerts[0]}", "/api/v1/alerts/999999", "/api/v1/alerts/999998")]
    pairs += [(f"/api/v1/instances?task={SAID}", f"/api/v1/instances?task={OTHER}/zqbflow/zqbnone", "/api/v1/instances?task=zqbnoprj/zqbflow/zqbsaid"),
              (f"/api/v1/instances?task={OTHER}/*", "/api/v1/instances?task=zqbnoprj/*", "/api/v1/instances?task=zqbnoprk/*"),
              (f"/api/v1/forecast?name={SAID}", f"/api/v1/forecast?name={OTHER}/zqbflow/zqbnone", "/api/v1/forecast?name=zqbnoprj/zqbflow/zqbsaid"),
              (f"/api/v1/rules?workflow={OTHER}/zqbflow", f"/api/v1/rules?workflow={OTHER}/zqbnoflw", "/api/v1/rules?workflow=zqbnoprj/zqbflow"),
              (f"/api/v1/resolve?task={SAID}&run_date={DAY}", f"/api/v1/resolve?task={OTHER}/zqbflow/zqbnone&run_date={DAY}",
               f"/api/v1/resolve?task=zqbnoprj/zqbflow/zqbsaid&run_date={DAY}"),
              (f"/api/v1/failures?project={OTHER}", "/api/v1/failures?project=zqbnoprj", "/api/v1/failures?project=zqbnoprk")]
    cut = ["zqbnoprj", "zqbnoprk", "zqbnoflw", "zqbnone", "zqbsaid", "zqbflow", OTHER, s.inst[0], "999999.1772323200", "999998.1772323200",
           "999999", "999998", s.alerts[0], s.commands[0]]
    bad = []
    for urls in pairs:
        got = [plain(vera, u, None, cut if "/commands/" not in u and "/alerts/" not in u else ["999999", "999998", u.split("/")[4]]) for u in urls]
        if len(set(got)) != 1:
            bad.append(f"{urls}: {got}")
    asks = 0
    for kind in ("redo", "kill", "freeze", "run-now", "run-start", "online", "skip", "priority", "enqueue", "unfreeze"):
        for sel in ([{"tasks": [f"{p}/{t}"], **({} if kind in ("online", "run-start") else {"dates": [DAY]})} for p, t in (
                (OTHER, "zqbflow/zqbsaid"), (OTHER, "zqbflow/zqbnone"), ("zqbnoprj", "zqbflow/zqbsaid"))],
                [{"instances": [{"id": i}]} for i in (s.inst[0], "999999.1772323200", "999998.1772323200")],
                [{"workflow": w} for w in (f"{OTHER}/zqbflow", f"{OTHER}/zqbnoflw", "zqbnoprj/zqbflow")]):
            more = {"priority": {"priority": 3}}.get(kind, {})
            got = [plain(oleg, "/api/v1/commands", {"kind": kind, "args": {"selection": x, **more}, "dry_run": True}, cut) for x in sel]
            asks += 3
            if len(set(got)) != 1:
                bad.append(f"{kind} {sel}: {got}")
    for kind, args in (("command-cancel", [{"command": c} for c in (s.commands[0], "999999", "999998")]),
                       ("alert-ack", [{"alert": a} for a in (s.alerts[0], "999999", "999998")]),
                       ("silence-remove", [{"silence": a} for a in (s.silences[0], "999999", "999998")]),
                       ("silence-add", [{"project": p, "until": LATER, "reason": "r"} for p in (OTHER, "zqbnoprj", "zqbnoprk")]),
                       ("server-test", [{"server": t, "project": MINE} for t in ("zqbtarget", "zqbnoprj", "zqbnoprk")])):
        got = [plain(oleg, "/api/v1/commands", {"kind": kind, "args": a, "dry_run": True}, [*cut, *a.values(), "zqbtarget"]) for a in args]
        asks += 3
        if len(set(got)) != 1:
            bad.append(f"{kind}: {got}")
    print(f"# {len(pairs) * 3} questions of what is there, what is not there, and of a project that is not: {len(bad)} told apart; {asks} commands")
    assert not bad, "\n".join(bad[:20])


def walk(ask, path, key, limit):
    rows, cursor, pages = [], None, 0
    while True:
        page = ask.json(path + ("&" if "?" in path else "?") + f"limit={limit}" + (f"&cursor={cursor}" if cursor else ""))
        pages += 1
        if page.get("cursor"):
            assert len(page[key]) == limit, f"{path}: a page of {len(page[key])} that is not the last"
        rows += page[key]
        cursor = page.get("cursor")
        if not cursor:
            return rows, pages


@test
def pages_are_full_and_counts_are_of_what_is_seen(s):
    switch(s, "project")
    oleg, root = s.asks["oleg"], s.root
    for path, key, mine in (("/api/v1/tasks", "task", lambda r: r["task"].startswith(MINE + "/")),
                            ("/api/v1/tasks?order=desc", "task", lambda r: r["task"].startswith(MINE + "/")),
                            ("/api/v1/workflows", "name", lambda r: r["name"].startswith(MINE + "/")),
                            ("/api/v1/instances", "id", lambda r: r["task"].startswith(MINE + "/")),
                            ("/api/v1/instances?sort=change&order=desc", "id", lambda r: r["task"].startswith(MINE + "/")),
                            ("/api/v1/alerts", "id", lambda r: r["subject"].startswith(MINE + "/"))):
        all_, _ = walk(root, path, "items", 500)
        for limit in (1, 2, 500):
            got, pages = walk(oleg, path, "items", limit)
            assert [r[key] for r in got] == [r[key] for r in all_ if mine(r)], (path, limit, [r[key] for r in got])
    commands, _ = walk(oleg, "/api/v1/commands", "items", 2)
    kinds = sorted((c["kind"], c["actor"].split("/")[0]) for c in commands)
    assert ("redo", "oleg") in kinds and any(k == "apply" for k, _ in kinds) and not any(a == "zqbuser" for _, a in kinds), kinds
    assert not any(k in ("user-set", "token-set", "server-set", "reading-set") for k, _ in kinds), kinds
    audit, _ = walk(oleg, "/api/v1/audit", "items", 2)
    assert any("ownmessage" in (a["detail"] or "") for a in audit) and not any("zqb" in json.dumps(strip(a)) for a in audit), audit
    counts = oleg.json("/api/v1/stats")["instances"]
    mine = [i for i in s.instances() if i["task"].startswith(MINE + "/")]
    assert sum(counts.values()) == len(mine), (counts, len(mine))
    total = sum(oleg.json("/api/v1/statistics?days=400")["total"]["states"].values())
    each = sum(sum(oleg.json(f"/api/v1/statistics/{MINE}/flow/{t}?days=400")["total"]["states"].values())
               for t in ("load", "fail", "slow", "after", "blocked"))
    assert total == each < sum(root.json("/api/v1/statistics?days=400")["total"]["states"].values()), (total, each)
    causes = oleg.json("/api/v1/failures?since=100d")
    assert causes["failures"] == 1 and [c["tasks"] for c in causes["items"]] == [[f"{MINE}/flow/fail"]], causes
    names = {t["server"]: t["projects"] for t in oleg.json("/api/v1/servers")["servers"]}
    assert names == {"both": [MINE]}, names


@test
def what_another_project_has_to_do_with_mine_is_a_closed_box(s):
    switch(s, "project")
    vera = s.asks["vera"]
    for path in (f"/api/v1/lineage/{MINE}/flow", f"/api/v1/lineage/{MINE}/flow/after", f"/api/v1/lineage/{MINE}/flow/slow"):
        nodes = vera.json(path + "?up=3&down=3")
        boxes = [n for n in nodes["nodes"] if n["another"]]
        assert boxes and all(n["name"] == "" and n["closed"] and not n["states"] for n in boxes), (path, nodes)
        assert {x for k in nodes["links"] for x in (k["from"], k["to"])} <= {n["id"] for n in nodes["nodes"]}, nodes
        assert any(k["from"] == b["id"] or k["to"] == b["id"] for b in boxes for k in nodes["links"]), nodes
    links = vera.json(f"/api/v1/links/{MINE}/flow/after")
    assert [k["parent"] for k in links["parents"]] == [None] and links["parents"][0]["parent_id"] == 0, links
    links = vera.json(f"/api/v1/links/{MINE}/flow/slow")
    assert [k["child"] for k in links["children"]] == [None], links
    why = vera.json(f"/api/v1/instances/{s.instance(f'{MINE}/flow/blocked', DAY + 'T00:00:00Z')['id']}/why")
    assert "another project" in why["line"] and MARK not in json.dumps(why), why
    assert why["waits_for"][0]["closed"] and why["waits_for"][0]["state"] == "StopSchedule", why
    flow = vera.json(f"/api/v1/why/{MINE}/flow")
    assert "another project" in flow["line"] and MARK not in json.dumps(flow), flow


def listen(s, who, seconds_for, url, **head):
    """A stream as far as a condition says."""
    ask = s.asks[who]
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    link.request("GET", url, headers={"Authorization": f"Bearer {ask.token}", **{k.replace("_", "-"): v for k, v in head.items()}})
    r = link.getresponse()
    assert r.status == 200, r.read()
    text = ""
    end = time.monotonic() + 60
    while not seconds_for(text) and time.monotonic() < end:
        text += r.fp.readline().decode()
    link.close()
    return text


@test
def streams_carry_what_is_read_and_nothing_else(s):
    switch(s, "project")
    last = s.root.json("/api/v1/stats")["number"]

    def redo(task):
        return s.command_over(s.command("redo", selection={"tasks": [task], "dates": [DAY]}))
    total = 0
    for start in (last, "1", str(max(1, int(last) - 20))):
        redo(SAID)
        redo(f"{MINE}/flow/load")
        redo(SAID)
        ours = s.asks["oleg"]("POST", "/api/v1/commands", {"kind": "redo", "args": {"selection": {"tasks": [f"{MINE}/flow/slow"], "dates": [DAY]}}})
        number = json.loads(ours[2])["command"]
        s.command_over({"command": number})
        for head in ({"Last_Event_ID": start}, {}):
            url = "/api/v1/events" + ("" if head else f"?from={start}")
            text = listen(s, "oleg", lambda t: "alpha/flow/load" in t and '"task":"alpha/flow/slow"' in t, url, **head)
            assert "alpha/flow/load" in text and "alpha/flow/slow" in text, text[-2000:]
            total += text.count("event: instance")
            datas = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ") and line.endswith("}")]
            found = re.findall(MARK + "[a-z]*", text)
            for d in datas:
                foreign_numbers(s, {k: v for k, v in d.items() if k != "cause"}, found)
            assert not found, (found, text[:3000])
            told = {d["id"] for d in datas if "done" in d}
            assert told <= {number} | {c["command"] for c in s.asks["oleg"].json("/api/v1/commands?limit=500")["items"]
                                       if c["actor"].startswith("oleg")}, (told, number)
    for url in (f"/api/v1/events?task_id={i}&from=1" for i in sorted(s.ids)[:2]):
        text = listen(s, "oleg", lambda t: t.count("alive") > 0 or t.count("retry") > 0, url)
        assert MARK not in text and "event: instance" not in text, text
    print(f"# {total} events in six streams, none of {OTHER}")


@test
def a_stream_ends_when_what_its_reader_may_read_has_changed(s):
    """Who listened to everything before the switch is not told of the other project's afterwards."""
    switch(s, "all")
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    link.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {s.asks['vera'].token}"})
    r = link.getresponse()
    assert r.status == 200 and r.fp.readline()
    switch(s, "project")
    began, line = time.monotonic(), b"-"
    while line != b"0\r\n":  # the last chunk: the face has ended it
        line = r.fp.readline()
        assert line and time.monotonic() - began < 50, "the stream goes on"
    link.close()


@test
def what_is_kept_of_an_answer_is_nobody_elses(s):
    """An answer that is kept, packed, or known by its version to somebody else is not given to who may not read it."""
    switch(s, "project")
    vera, root = s.asks["vera"], s.root
    for _ in range(3):
        for path in ("/api/v1/instances?limit=50", f"/api/v1/instances/{s.inst[0]}"):
            for who, ask in (("root", root), ("vera", vera), ("root", root)):
                for coding in ("identity", "gzip"):
                    status, head, text = ask("GET", path, Accept_Encoding=coding)
                    sees = status == 200 and MARK in text
                    assert sees == (who == "root"), (who, path, coding, status, text[:300])
    etag = re.search(r"(?im)^etag: (.*)$", root("GET", f"/api/v1/workflows/{OTHER}/zqbflow")[1]).group(1)
    assert root("GET", f"/api/v1/workflows/{OTHER}/zqbflow", If_None_Match=etag)[0] == 304
    for known in (etag, "*"):
        status, head, _ = vera("GET", f"/api/v1/workflows/{OTHER}/zqbflow", If_None_Match=known)
        assert status == 404 and "etag" not in head.lower(), (status, head)
    for path in ("/api/v1/instances", f"/api/v1/instances/{s.inst[0]}", f"/api/v1/workflows/{OTHER}/zqbflow", f"/api/v1/instances/{s.inst[0]}/log"):
        get, head = vera("GET", path), vera("HEAD", path)
        length = [re.search(r"(?im)^content-length: (\d+)$", x[1]) for x in (get, head)]
        assert get[0] == head[0] and (path == "/api/v1/instances") == (get[0] == 200), (path, get[0], head[0])
        assert not (length[0] and length[1]) or length[0].group(1) == length[1].group(1) or "request_id" in get[2], path


@test
def the_seeds_interfaces_show_who_reads_alpha_nothing_of_their_project(s):
    """Their setting names the other project: whoever asks in their words is bound all the same."""
    switch(s, "project")
    bad, n = [], 0
    status, _, text = Ask(s.http, None)("POST", "/api/user/login", {"user_name": "vera", "password": WORD, "name": "vera"})
    token = (json.loads(text) if text.startswith("{") else {}).get("token") or s.asks["vera"].token
    app = s.post("/api/v1/apps", {"name": "alphaapp", "projects": [MINE], "role": "operator"})
    key = app.get("key") or app.get("app_key") or app.get("token")
    for method, path, op in operations():
        if path.startswith("/api/v1"):
            continue
        for url in places(s, path):
            for word in ("zqbload", SAID, sorted(s.ids)[0], "1"):
                ids = {"job_id": word, "task_id": word, "id": word, "task_name": word, "name": word, "log_id": "1"}
                body = {"token": token, "app_name": "alphaapp", "app_key": key, "page": 1, "page_size": 50, **ids} if method in ("post", "put") else None
                at = url + (f"?app_name=alphaapp&app_key={key}&job_id={word}&name={word}&type=stdout" if method in ("get", "delete") else "")
                status, head, text = s.asks["vera"](method, at, body)
                n += 1
                found = seen(s, said_in(at, body), head, text)
                if found or status >= 500 and status not in (501, 503):
                    bad.append(tell(method, at, body, status, found) + text[:200])
    for method, path, fields in (("post", "/api/task/query", {"token": token, "page": 1, "size": 50}), ("post", "/api/log/query", {"token": token}),
                                 ("post", "/api/action/query", {"token": token}), ("post", "/api/machine/query", {"token": token}),
                                 ("post", "/api/user/query", {"token": token})):
        status, head, text = s.asks["vera"](method, path, fields)
        n += 1
        found = seen(s, set(), head, text)
        if found:
            bad.append(tell(method, path, fields, status, found) + text[:200])
    for path in ("/job/list", "/ects/tasks", "/ects/pipelines", "/worker/list"):
        status, head, text = s.asks["vera"]("GET", path)
        n += 1
        if status != 200 or seen(s, set(), head, text):
            bad.append(f"{path}: {status} {text[:200]}")
    print(f"# {n} questions in the words of chin, jarvis2, the crontab and ECTS: {len(bad)} show something")
    assert n > 150 and not bad, "\n".join(bad[:20])


@test
def what_is_the_whole_installations_says_who_can_let_one_see_it(s):
    switch(s, "project")
    table = (ROOT / "cgi/handlers/routes.def").read_text()
    whole = [(m, p) for m, p, role, scope in re.findall(r'^ROUTE\("(\w+)",\s*"([^"]+)",\s*(\w+),\s*(\w+),', table, re.M)
             if scope == "WHOLE" and role == "VIEWER"]
    assert ("GET", "/metrics") in whole and len(whole) >= 3, whole
    for method, path in whole:
        status, _, text = s.asks["vera"](method, path)
        assert status == 403 and "whole installation" in text, (path, status, text)
    status, _, text = s.asks["vera"]("GET", "/api/v1/retention")
    assert "sirdar user set vera" in json.loads(text)["error"]["hint"], text
    assert s.root.json("/api/v1/retention")["days"]
    told = s.asks["vera"].json("/api/v1/session")
    assert told["reads"] == [MINE] and told["roles"] == [{"project": MINE, "role": "viewer", "rights": ["backfill"]}], told
    told = s.root.json("/api/v1/session")
    assert told["reads"] is None, told


@test
def a_name_that_another_project_has_taken_says_no_more_than_that(s):
    for what, more in (("channel", {"kind": "file", "projects": [OTHER]}), ("oncall", {"people": ["user:zqbuser"], "projects": [OTHER]}),
                       ("rule", {"when": ["failed"], "to": ["bell:console"], "project": OTHER})):
        status, _, text = s.asks["zqbuser"]("POST", f"/api/v1/{what if what == 'oncall' else what + 's'}", {what: f"{what}x", **more})
        assert status == 200, text
    switch(s, "project")
    oleg = s.asks["oleg"]
    for what, more in (("channel", {"kind": "file", "projects": [MINE]}), ("oncall", {"people": ["user:vera"], "projects": [MINE]}),
                       ("rule", {"when": ["failed"], "to": ["bell:console"], "project": MINE})):
        gone = [oleg("POST", "/api/v1/commands", {"kind": f"{what}-remove", "args": {what: name}}) for name in (f"{what}x", f"{what}y")]
        plain = [(status, re.sub(r'"request_id":"\w+"', "", text).replace(f"{what}x", "X").replace(f"{what}y", "X")) for status, _, text in gone]
        assert plain[0] == plain[1] and plain[0][0] == 404 and MARK not in plain[0][1], plain
        status, _, text = oleg("POST", f"/api/v1/{what if what == 'oncall' else what + 's'}", {what: f"{what}x", **more})
        assert status == 409 and "is taken" in text and MARK not in text, text


@test
def every_query_of_the_server_has_a_row_in_the_gate_or_is_refused(s):
    """What a face passes on and the gate has no row for is for who reads all."""
    kinds = set(re.findall(r'^QUERY\(\w+,\s*"([^"]+)"', (ROOT / "schema/tbl/query.def").read_text(), re.M))
    rows = set(re.findall(r'^GATE\("([^"]+)"', (ROOT / "cgi/server/gate.def").read_text(), re.M))
    assert rows <= kinds and kinds - rows == {"metrics", "logs", "channel-test", "peers", "exposed", "projects", "command"}, (rows - kinds, kinds - rows)


@test
def the_switch_is_an_administrators_and_holds_after_a_restart(s):
    switch(s, "project")
    status, _, text = s.asks["oleg"]("POST", "/api/v1/commands", {"kind": "reading-set", "args": {"reading": "all"}})
    assert status == 403, text
    status, _, text = s.root("POST", "/api/v1/commands", {"kind": "reading-set", "args": {"reading": "some"}})
    assert status == 400 and "all or project" in text, text
    s.base.restart()
    s.cgi.restart()
    for ask in (s.root, *s.asks.values()):
        ask.link = None
    until("the cgi has the server", s.up)
    until("people are read", lambda: s.asks["vera"]("GET", "/api/v1/session")[0] == 200)
    assert s.asks["vera"].json("/api/v1/session")["reads"] == [MINE]
    assert MARK not in s.asks["vera"]("GET", "/api/v1/instances?limit=500")[2]
    assert s.root.json("/api/v1/server")["reading"] == "project"
    switch(s, "all")
    assert MARK in s.asks["vera"]("GET", "/api/v1/instances?limit=500")[2]


if __name__ == "__main__":
    sys.exit(main(made))
