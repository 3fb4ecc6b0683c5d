#!/usr/bin/env python3
"""etcd: nodes in the registry, their changes recorded and told, jobs and kills put there, and what
is wrong said clearly. The election: test_etcd_lead.py. TAP."""
import http.client
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "etcd")]
import etcd  # noqa: E402
from harness import BIN, Daemon, Site, Skip, main, test, until  # noqa: E402
from receivers import Http  # noqa: E402

PREFIX = "/sirdar"


class EtcdSite(Site):
    def __init__(self):
        if not etcd.program("etcd") or not etcd.program("etcdctl"):
            raise Skip("no etcd: packaging/deps.sh test")
        self.etcd = etcd.Etcd()
        try:
            super().__init__("etcd", etcd=self.etcd.url, etcd_jobs="true", etcd_pipelines="true", etcd_ttl_ms=2000,
                             etcd_timeout_ms=1000)
        except BaseException:
            self.etcd.close()
            raise
        self.cgi.argv += ["--set", f"etcd={self.etcd.url}", "--set", "etcd_description=the face",
                          "--set", "crontab_project=etcd", "--set", "ects_project=etcd"]
        self.start(etcd=self.etcd.url, etcd_ttl_ms=2000)

    def close(self):
        try:
            super().close()
        finally:
            self.etcd.close()

    def nodes(self):
        """-> {name: node}"""
        return {n["name"]: n for n in self.get("/api/v1/nodes")["nodes"]}

    def status(self, name):
        return self.nodes().get(name, {}).get("status")

    def put_job(self, name, command, cron="*/1 * * * * *", **more):
        self.etcd.put(f"{PREFIX}/jobs/{name}",
                      json.dumps({"name": name, "command": command, "cronExpr": cron, **more}))

    def problem(self, name):
        return next((p["text"] for p in self.get("/api/v1/nodes")["problems"]
                     if p["name"] == name), None)

    def workflow(self, name):
        status, answer = self.ask("GET", f"/api/v1/workflows/etcd/{name}")
        return answer if status == 200 else None


def records(s, name):
    """What the store has of a node, oldest first."""
    with sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True) as db:
        rows = [json.loads(r[0]) for r in db.execute("SELECT body FROM lb_node ORDER BY version")]
    return [r["status"] for r in rows if r["name"] == name]


@test
def every_node_is_in_the_registry_and_in_the_list(s):
    until("all three are there", lambda: len(s.nodes()) == 3)
    keys = s.etcd.keys(PREFIX + "/nodes/")
    assert len(keys) == 3, keys
    for key, text in keys.items():
        node = json.loads(text)
        assert set(node) == {"id", "name", "host", "port", "mode", "status", "version",
                             "description"}, node
        assert key == f"{PREFIX}/nodes/{node['id']}", (key, node)
    nodes = s.nodes()
    assert nodes["b1"]["mode"] == "taskbroker" and nodes["b1"]["status"] == "online", nodes
    assert nodes["cgi"]["port"] == s.http and nodes["cgi"]["description"] == "the face", nodes
    base = next(n for n in nodes.values() if n["mode"] == "baseserver")
    until("the server says that it leads", lambda: s.status(base["name"]) == "active")
    assert base["port"] == s.port and base["host"] == "127.0.0.1", base
    table = s.sirdar("node", "list").stdout
    assert "taskbroker" in table and "b1" in table and "the face" in table, table


@test
def who_ends_goes_at_once_who_dies_goes_with_its_lease_each_is_recorded_once(s):
    b1 = s.brokers["b1"]
    b1.restart()
    until("b1 is back", lambda: records(s, "b1")[-2:] == ["offline", "online"])
    ident = s.nodes()["b1"]["id"]
    b1.kill()
    until("its lease ran out", lambda: s.status("b1") == "offline")
    b1.start()
    until("b1 is back", lambda: s.status("b1") == "online")
    assert s.nodes()["b1"]["id"] == ident
    assert records(s, "b1") == ["online", "offline", "online", "offline", "online"]
    assert s.base.text().count("node.changed id=" + ident) == 5


@test
def those_named_in_the_channels_file_are_told_of_nodes(s):
    web, channels = Http(), s.dir / "channels.yaml"
    channels.touch(0o600)
    s.add_key("notifier")
    teller = Daemon(s, "sirdar-notifier", s.argv("sirdar-notifier", {
        "server": f"127.0.0.1:{s.port}", "key_file": s.dir / "notifier.key",
        "store": f"sqlite:{s.dir}/base", "state_dir": s.dir / "notifier", "group_ms": 0,
        "channels_file": channels}), r"notifier\.ready")
    text = {"channels": {"hook": {"type": "webhook", "url": web.url("/hook")}}}
    channels.write_text(json.dumps({**text, "nodes": ["webhook:nobody"]}))
    done = s.run(teller.argv)
    assert done.returncode != 0 and "no channel 'nobody'" in done.stderr, done
    channels.write_text(json.dumps({**text, "nodes": ["webhook:hook"]}))
    teller.start()
    try:
        b = s.add_broker("told", types=("noop:1",), etcd=s.etcd.url)
        until("it came", lambda: s.status("told") == "online")
        assert b.stop() == 0
        until("it went", lambda: s.status("told") == "offline")

        def heard():
            alerts = [a for g in list(web.got) for a in g[2]["alerts"]]
            return [a["event"] for a in alerts if a["task"] == "taskbroker told"]
        until("both are told", lambda: len(heard()) == 2)
        assert sorted(heard()) == ["joined", "left"], web.got
    finally:
        assert teller.stop() == 0


@test
def a_stranger_is_recorded_and_nonsense_is_one_line(s):
    s.etcd.put(PREFIX + "/nodes/nonsense", "{")
    s.etcd.put(PREFIX + "/nodes/7d935d87", json.dumps(
        {"id": "7d935d87", "name": "George.local", "host": "192.168.1.9", "port": 9701,
         "mode": "master", "status": "online", "version": "0.3.0", "description": "master node"}))
    until("George came", lambda: s.status("George.local") == "online")
    until("nonsense was said", lambda: s.base.has(r"etcd\.node key=nodes/nonsense"))
    s.etcd.delete(PREFIX + "/nodes/7d935d87")
    until("George went", lambda: s.status("George.local") == "offline")
    s.etcd.delete(PREFIX + "/nodes/nonsense")
    assert s.base.text().count("etcd.node key=nodes/nonsense") == 1


@test
def a_node_that_is_gone_for_good_is_forgotten_until_it_is_there_again(s):
    stranger = {"id": "0a0a", "name": "old", "host": "h", "port": 1, "mode": "master", "status": "online",
                "version": "1", "description": ""}
    key = PREFIX + "/nodes/0a0a"
    s.etcd.put(key, json.dumps(stranger))
    until("it is there", lambda: s.status("old") == "online")
    said = s.sirdar("node", "forget", "old", expect=None)
    assert said.returncode != 0 and "it would be back at once" in said.stdout + said.stderr, said
    s.etcd.delete(key)
    until("it went", lambda: s.status("old") == "offline")
    s.sirdar("node", "forget", "old")
    until("it is forgotten", lambda: "old" not in s.nodes())
    said = s.sirdar("node", "forget", "old", expect=None)
    assert said.returncode != 0 and "no node is called 'old'" in said.stdout + said.stderr, said
    assert any(c["kind"] == "node-forget" for c in s.get("/api/v1/commands?limit=50")["items"])
    s.etcd.put(key, json.dumps(stranger))
    until("it is there again", lambda: s.status("old") == "online")
    s.etcd.delete(key)
    until("it went", lambda: s.status("old") == "offline")
    s.sirdar("node", "forget", "0a0a")
    # Another has been offline for longer than etcd_nodes_days: nobody has to ask.
    s.etcd.put(PREFIX + "/nodes/0b0b", json.dumps({**stranger, "id": "0b0b", "name": "older"}))
    until("it is there", lambda: s.status("older") == "online")
    s.etcd.delete(PREFIX + "/nodes/0b0b")
    until("it went", lambda: s.status("older") == "offline")
    assert s.base.stop() == 0
    with sqlite3.connect(s.dir / "base/sirdar.db") as db:
        db.execute("UPDATE lb_node SET at_us = at_us - 31 * 86400000000")
    s.base.start()
    until("the server is back", s.up)
    until("nodes are listed", lambda: s.status("b1") == "online")
    until("both are forgotten", lambda: not {"old", "older"} & set(s.nodes()))
    assert records(s, "older") == ["online", "offline", "offline"], records(s, "older")


@test
def a_job_put_there_runs_and_an_edit_is_a_new_version(s):
    s.put_job("hello", f"echo \"$$ ${{HOME:-none}} {'x' * 3}\" >> {s.dir}/data/hello")
    out = s.dir / "data/hello"
    until("it ran", out.exists)
    until("it ran again", lambda: len(out.read_text().splitlines()) > 1)
    line = out.read_text().splitlines()[0].split()
    assert line[0].isdigit() and line[2] == "xxx", line
    first = s.workflow("hello")["version"]
    s.put_job("hello", f"echo second >> {s.dir}/data/hello")
    until("the second runs", lambda: "second" in out.read_text())
    assert s.workflow("hello")["version"] == first + 1
    actions = s.get("/api/v1/commands?limit=50")["items"]
    assert any(c["actor"] == "etcd" and c["kind"] == "apply" for c in actions), actions


@test
def a_kill_put_there_ends_what_runs_and_is_taken_away(s):
    s.put_job("long", f"echo on >> {s.dir}/data/long; exec sleep 1000", "0 0 0 1 1 *")
    until("it is known", lambda: s.workflow("long"))
    s.command("run-now", selection={"tasks": ["etcd/long/long"]}, off_plan=True)
    until("it runs", lambda: s.instances("etcd/long/long", states="Running"))
    s.etcd.put(PREFIX + "/killer/long", "")
    until("it was killed", lambda: [i["state"] for i in s.instances("etcd/long/long")] == ["Killed"])
    until("the key went", lambda: not s.etcd.keys(PREFIX + "/killer/"))
    s.etcd.put(PREFIX + "/killer/long", "")  # nothing runs: nothing to do
    until("the key went", lambda: not s.etcd.keys(PREFIX + "/killer/"))
    assert s.problem("long") is None


@test
def what_is_wrong_with_a_job_is_said_once_and_stops_nothing(s):
    bad = {"cut": ('{"name": "cut"', "column"),
           "poor": ('{"name": "poor", "cronExpr": "* * * * *"}', "command is missing"),
           "odd": ('{"command": "x", "cronExpr": "@daily", "user": "root"}', "has 'user'"),
           "other": ('{"name": "one", "command": "x", "cronExpr": "@daily"}', "name is 'one'"),
           "when": ('{"name": "when", "command": "x", "cronExpr": "61 * * * *"}', "61"),
           "7up": ('{"command": "x", "cronExpr": "@daily"}', "not with a letter")}
    for name, (text, _) in bad.items():
        s.etcd.put(f"{PREFIX}/jobs/{name}", text)
    for name, (_, why) in bad.items():
        until(f"{name} is said", lambda name=name: s.problem(name))
        assert why in s.problem(name), (name, s.problem(name))
        assert s.base.text().count(f"etcd.job key=jobs/{name} ") == 1, s.base.tail(30)
    s.put_job("when", "true", "@daily")
    until("mended", lambda: s.workflow("when") and s.problem("when") is None)
    for name in bad:
        s.etcd.delete(f"{PREFIX}/jobs/{name}")
    until("all is well", lambda: not s.get("/api/v1/nodes")["problems"])


@test
def a_job_that_is_taken_back_at_once_is_retired(s):
    for n in range(5):
        s.put_job("brief", f"echo {n}", "@daily")
    s.etcd.delete(PREFIX + "/jobs/brief")
    s.put_job("last", "true", "@daily")
    until("all were taken", lambda: s.workflow("last"))
    until("its last word counts", lambda: s.workflow("brief")["retired"])
    s.put_job("brief", "echo again", "@daily")
    until("it is back", lambda: not s.workflow("brief")["retired"])


@test
def what_happened_while_nobody_watched_is_found_also_after_a_compaction(s):
    s.put_job("gone", "true", "@daily")
    until("it is known", lambda: s.workflow("gone"))
    until("and marked", lambda: f"{PREFIX}/bridge/gone" in s.etcd.keys(PREFIX + "/bridge/"))
    assert s.base.stop() == 0
    s.etcd.delete(PREFIX + "/jobs/gone")
    s.put_job("came", "true", "@daily")
    s.etcd.compact()
    s.base.start()
    until("the server is back", s.up)
    until("the new one came", lambda: s.workflow("came"))
    until("the old one went", lambda: s.workflow("gone")["retired"])


def cron(s, path, form=None):
    """The crontab's own interface."""
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    head = {"Authorization": f"Bearer {s.token}", "Content-Type": "application/x-www-form-urlencoded"}
    link.request("POST" if form else "GET", path, urllib.parse.urlencode(form) if form else None, head)
    answer = json.loads(link.getresponse().read())
    link.close()
    assert answer["errno"] == 0, answer
    return answer["data"]


def save(s, name, command, when="@daily"):
    cron(s, "/job/save", {"job": json.dumps({"name": name, "command": command, "cronExpr": when})})


def key_of(s, name):
    text = s.etcd.keys(f"{PREFIX}/jobs/{name}").get(f"{PREFIX}/jobs/{name}")
    return json.loads(text) if text else None


def listed(s):
    return {j["name"]: j["command"] for j in cron(s, "/job/list") or []}


@test
def what_is_saved_over_http_is_in_etcd_and_what_is_put_there_is_listed(s):
    save(s, "both", "echo $HOME one")
    until("the key is there", lambda: key_of(s, "both") == {"name": "both", "command": "echo $HOME one", "cronExpr": "@daily"})
    assert not s.workflow("both")["retired"] and s.workflow("both")["version"] == 1
    s.put_job("both", "echo two", "@daily")
    until("the other way, too", lambda: listed(s).get("both") == "echo two")
    save(s, "both", "echo three")
    until("and back", lambda: (key_of(s, "both") or {}).get("command") == "echo three")
    cron(s, "/job/delete", {"name": "both"})
    until("deleted here, gone there", lambda: key_of(s, "both") is None)
    save(s, "both", "echo four")
    until("there again", lambda: key_of(s, "both") is not None)
    s.etcd.delete(PREFIX + "/jobs/both")
    until("deleted there, gone here", lambda: "both" not in listed(s))
    assert s.problem("both") is None


@test
def what_is_saved_over_http_stays_through_a_restart(s):
    save(s, "stays", "echo it stays")
    until("the key is there", lambda: key_of(s, "stays"))
    s.base.restart(hard=True)
    until("the server is back", s.up)
    s.put_job("after_it", "true", "@daily")
    until("keys were listed", lambda: s.workflow("after_it"))
    assert listed(s)["stays"] == "echo it stays" and key_of(s, "stays") and s.workflow("stays")["version"] == 1


@test
def what_is_saved_while_etcd_is_away_is_written_when_it_is_back(s):
    save(s, "edited", "echo before")
    save(s, "ended", "echo ends")
    until("both keys are there", lambda: key_of(s, "edited") and key_of(s, "ended"))
    until("both are marked", lambda: {f"{PREFIX}/bridge/{n}" for n in ("edited", "ended")} <= set(s.etcd.keys(PREFIX + "/bridge/")))
    mark = len(s.base.text())
    s.etcd.kill()
    until("it is away", lambda: s.base.has(r"etcd\.away", mark))
    save(s, "unseen", "echo while it was away")
    save(s, "edited", "echo after")
    cron(s, "/job/delete", {"name": "ended"})
    until("it is retired", lambda: s.workflow("ended")["retired"])
    # Nobody remembers what is to be written but the store and etcd.
    s.base.restart(hard=True)
    until("the server is back", s.up)
    s.etcd.start()
    until("the new one is written", lambda: key_of(s, "unseen"))
    until("the edit is written", lambda: key_of(s, "edited")["command"] == "echo after")
    until("the end is written", lambda: key_of(s, "ended") is None)
    assert {"unseen", "edited"} <= set(listed(s)) and s.workflow("ended")["retired"]


@test
def an_etcd_that_comes_back_empty_gets_the_jobs_and_retires_none(s):
    save(s, "here", "echo here")
    s.put_job("there", "echo there", "@daily")
    until("both are on both sides", lambda: key_of(s, "here") and "there" in listed(s))
    until("both are marked", lambda: {f"{PREFIX}/bridge/{n}" for n in ("here", "there")} <= set(s.etcd.keys(PREFIX + "/bridge/")))
    mark = len(s.base.text())
    s.etcd.kill()
    until("it is away", lambda: s.base.has(r"etcd\.away", mark))
    shutil.rmtree(s.etcd.dir / "data")
    s.etcd.start()
    until("it has them again", lambda: key_of(s, "here") and key_of(s, "there"))
    assert {"here", "there"} <= set(listed(s)), listed(s)
    until("all are online", lambda: s.status("b1") == "online" and s.status("cgi") == "online", 60)


@test
def a_deletion_that_nobody_saw_is_told_from_one_that_never_was(s):
    save(s, "dropped", "true")
    until("it is marked", lambda: f"{PREFIX}/bridge/dropped" in s.etcd.keys(PREFIX + "/bridge/"))
    assert s.base.stop() == 0
    s.etcd.delete(PREFIX + "/jobs/dropped")
    s.base.start()
    until("the server is back", s.up)
    until("it is retired", lambda: s.workflow("dropped")["retired"])
    until("its mark went", lambda: f"{PREFIX}/bridge/dropped" not in s.etcd.keys(PREFIX + "/bridge/"))


@test
def a_running_job_whose_key_goes_ends_as_it_does(s):
    go = s.dir / "data/ends.go"
    s.put_job("ends", f"while [ ! -e {go} ]; do sleep 0.02; done")
    until("it is known", lambda: s.workflow("ends"))
    until("it runs", lambda: s.instances("etcd/ends/ends", "Running"))
    s.etcd.delete(PREFIX + "/jobs/ends")
    until("its plan ends", lambda: "ends" not in listed(s))
    assert len(s.instances("etcd/ends/ends", "Running")) == 1
    go.touch()
    until("it ended well", lambda: len(s.instances("etcd/ends/ends", "Succ")) == 1)
    until("it is retired", lambda: s.workflow("ends")["retired"])
    assert s.problem("ends") is None


# --- pipelines, as ECTS has them ----------------------------------------------------------------


def ects_says(s, method, path, body=None):
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    link.request(method, "/ects" + path, json.dumps(body) if body else None,
                 {"Authorization": f"Bearer {s.token}", "Content-Type": "application/json"})
    answer = link.getresponse()
    text = json.loads(answer.read())
    link.close()
    return answer.status, text


def ects(s, method, path, body=None):
    status, text = ects_says(s, method, path, body)
    assert status == 200, (method, path, status, text)
    return text


def pipeline(name, *contents, **more):
    """What is PUT into etcd, as its document prints it."""
    return {"id": f"b6e54dc3-{name}", "name": name, "description": "", "spec": "*/1 * * * * * *", "status": 0, "overlap": 1,
            "created_at": "2019-08-17 12:03:40", "updated_at": "2019-09-02 14:32:52", "nodes": [],
            "steps": [{"id": f"s{n}", "pipeline_id": f"b6e54dc3-{name}", "task_id": f"4afe4ea7-{n}", "step": n, "timeout": 0,
                       "interval": 0, "retries": 0, "directory": "", "user": "", "environment": "", "dependence": "strong",
                       "task": {"id": f"4afe4ea7-{n}", "name": f"task{n}", "mode": "shell", "url": "", "method": "post",
                                "content": content, "description": ""}}
                      for n, content in enumerate(contents, 1)], **more}


def put_pipeline(s, p):
    s.etcd.put(f"{PREFIX}/pipelines/{p['name']}", json.dumps(p))


def pipeline_key(s, name):
    text = s.etcd.keys(f"{PREFIX}/pipelines/{name}").get(f"{PREFIX}/pipelines/{name}")
    return json.loads(text) if text else None


def pipeline_marked(s, name):
    return f"{PREFIX}/bridged-pipelines/{name}" in s.etcd.keys(PREFIX + "/bridged-pipelines/")


@test
def a_pipeline_put_there_runs_and_what_is_made_over_http_stands_there(s):
    out = s.dir / "data/pipe"
    node = s.nodes()["b1"]["id"]
    hook = {"id": "7a0a46fb", "name": "bind", "mode": "shell", "url": "", "method": "post", "content": f"echo bound >> {out}", "description": ""}
    put_pipeline(s, pipeline("测试", f"echo one >> {out}", f"echo two >> {out}", nodes=[node], overlap=0, finished="7a0a46fb", finished_task=hook))
    # Without overlap, or the next second's run writes between on a slow machine.
    until("it ran in its order, on the node of that id", lambda: out.exists() and out.read_text().startswith("one\ntwo\nbound\n"))
    seen = ects(s, "GET", "/pipelines/b6e54dc3-" + urllib.parse.quote("测试"))
    assert seen["nodes"] == ["b1"] and seen["finished_task"]["id"] == "7a0a46fb" and seen["steps"][1]["task_id"] == "4afe4ea7-2", seen
    # Changed here, it is changed there, and the other way round.
    seen["spec"] = "0 0 0 1 1 * *"
    ects(s, "PUT", "/pipelines/" + urllib.parse.quote(seen["id"]), seen)
    until("the key follows", lambda: pipeline_key(s, "测试")["spec"] == "0 0 0 1 1 * *")
    put_pipeline(s, pipeline("测试", f"echo three >> {out}"))
    until("what is put there runs", lambda: "three" in out.read_text())
    assert len(ects(s, "GET", "/pipelines/" + urllib.parse.quote(seen["id"]))["steps"]) == 1
    assert s.get("/api/v1/nodes")["pipelines"] == 1
    version = s.workflow(urllib.parse.quote("测试"))["version"]
    s.etcd.delete(f"{PREFIX}/pipelines/测试")
    until("it is retired", lambda: s.workflow(urllib.parse.quote("测试"))["retired"])
    assert version == 3, version
    # Made here.
    made = ects(s, "POST", "/pipelines", pipeline("made", "true", spec="0 0 0 1 1 * *"))
    until("it stands there", lambda: pipeline_key(s, "made"))
    assert pipeline_key(s, "made")["steps"][0]["task"]["content"] == "true" and s.workflow("made")["version"] == 1
    until("its mark too", lambda: pipeline_marked(s, "made"))
    ects(s, "DELETE", f"/pipelines/{made['id']}")
    until("it is gone there", lambda: pipeline_key(s, "made") is None)
    until("and its mark", lambda: not pipeline_marked(s, "made"))
    assert s.problem("made") is None and s.problem("测试") is None


@test
def a_put_with_another_id_in_its_body_is_refused_with_both(s):
    made = ects(s, "POST", "/pipelines", pipeline("keeps", "true", spec="0 0 0 1 1 * *"))
    task = ects(s, "POST", "/tasks", {"name": "kept", "mode": "shell", "content": "true"})
    for path, is_, body in (("/pipelines/", made["id"], pipeline("keeps", "false", spec="0 0 0 1 1 * *")),
                            ("/tasks/", task["id"], {"content": "false"})):
        status, text = ects_says(s, "PUT", path + is_, {**body, "id": "another"})
        assert status == 409 and text["error"]["place"] == "id", (status, text)
        assert "'another'" in text["error"]["message"] and f"'{is_}'" in text["error"]["message"], text
        assert ects(s, "GET", path + is_)["id"] == is_
        ects(s, "PUT", path + is_, {**body, "id": is_})
    assert s.workflow("keeps")["version"] == 2
    ects(s, "DELETE", f"/pipelines/{made['id']}")
    ects(s, "DELETE", f"/tasks/{task['id']}")
    until("its key goes", lambda: pipeline_key(s, "keeps") is None)


@test
def a_shared_tasks_change_reaches_the_keys_of_all_who_use_it(s):
    task = ects(s, "POST", "/tasks", {"name": "shared", "mode": "shell", "content": "echo shared"})
    one = {"step": 1, "task_id": task["id"]}
    for name in ("sharing", "sharing2"):
        ects(s, "POST", "/pipelines", {"name": name, "spec": "0 0 0 1 1 *", "steps": [one]})
        until("it stands there", lambda name=name: pipeline_key(s, name))
    ects(s, "PUT", f"/tasks/{task['id']}", {"content": "echo changed"})
    for name in ("sharing", "sharing2"):
        until("its key follows", lambda name=name: pipeline_key(s, name)["steps"][0]["task"]["content"] == "echo changed")
    # Put there with the task as it is, another schedule: it goes on sharing it.
    p = {**pipeline_key(s, "sharing"), "spec": "0 0 0 2 1 *"}
    put_pipeline(s, p)
    until("it is taken", lambda: s.workflow("sharing")["version"] == 3)
    assert "use: tasks/shared" in s.workflow("sharing")["document"], s.workflow("sharing")
    # A pipeline that only names it.
    s.etcd.put(f"{PREFIX}/pipelines/sharing3", json.dumps({"name": "sharing3", "spec": "0 0 0 1 1 *", "steps": [one]}))
    until("it is taken", lambda: s.workflow("sharing3"))
    assert "use: tasks/shared" in s.workflow("sharing3")["document"]
    for name in ("sharing", "sharing2", "sharing3"):
        s.etcd.delete(f"{PREFIX}/pipelines/{name}")
        until("it is retired", lambda name=name: s.workflow(name)["retired"])


@test
def what_is_wrong_with_a_pipeline_is_said_once_and_stops_nothing(s):
    bad = {"cutp": ('{"name": "cutp"', "column"), "poorp": (json.dumps({"name": "poorp", "steps": []}), "needs steps"),
           "oddp": (json.dumps({**pipeline("oddp", "true"), "colour": 1}), "has no 'colour'"),
           "otherp": (json.dumps(pipeline("onep", "true")), "name is 'onep'"),
           "whenp": (json.dumps(pipeline("whenp", "true", spec="61 * * * *")), "61"),
           "nodep": (json.dumps(pipeline("nodep", "true", nodes=["1d9988aa-4630"])), "no node '1d9988aa-4630'")}
    for name, (text, _) in bad.items():
        s.etcd.put(f"{PREFIX}/pipelines/{name}", text)
    for name, (_, why) in bad.items():
        until(f"{name} is said", lambda name=name: s.problem(name))
        assert why in s.problem(name), (name, s.problem(name))
        assert s.base.text().count(f"etcd.job key=pipelines/{name} ") == 1, s.base.tail(30)
    assert f"pipeline cutp: " in s.sirdar("node", "list").stderr
    put_pipeline(s, pipeline("whenp", "true", spec="@daily"))
    until("mended", lambda: s.workflow("whenp") and s.problem("whenp") is None)
    for name in bad:
        s.etcd.delete(f"{PREFIX}/pipelines/{name}")
    until("all is well", lambda: not s.get("/api/v1/nodes")["problems"])


@test
def what_becomes_of_pipelines_while_etcd_or_the_server_is_away_is_made_up_for(s):
    made = ects(s, "POST", "/pipelines", pipeline("lasts", "true", spec="@daily"))
    put_pipeline(s, pipeline("comes", "true", spec="@daily"))
    put_pipeline(s, pipeline("goes", "true", spec="@daily"))
    until("all are on both sides", lambda: pipeline_key(s, "lasts") and s.workflow("comes") and s.workflow("goes"))
    until("all are marked", lambda: all(pipeline_marked(s, n) for n in ("lasts", "comes", "goes")))
    assert s.base.stop() == 0
    s.etcd.delete(f"{PREFIX}/pipelines/goes")
    s.base.start()
    until("the server is back", s.up)
    until("the deletion is made up for", lambda: s.workflow("goes")["retired"])
    mark = len(s.base.text())
    s.etcd.kill()
    until("it is away", lambda: s.base.has(r"etcd\.away", mark))
    shutil.rmtree(s.etcd.dir / "data")
    ects(s, "PUT", f"/pipelines/{made['id']}", pipeline("lasts", "echo later", spec="@daily"))
    s.etcd.start()
    until("one made anew is filled", lambda: pipeline_key(s, "lasts") and pipeline_key(s, "comes"))
    assert pipeline_key(s, "lasts")["steps"][0]["task"]["content"] == "echo later"
    there = {n: (s.workflow(n)["retired"], pipeline_key(s, n) is not None) for n in ("lasts", "comes", "goes")}
    assert there == {"lasts": (False, True), "comes": (False, True), "goes": (True, False)}, there
    # One that is put there while it is offline stays so.
    s.apply("pipeline: off\nproject: etcd\nstate: offline\ntimezone: Asia/Shanghai\ncron: '@daily'\nsteps:\n"
            "  - {name: a, type: shell, params: {script: 'true'}}\n")
    until("it stands there", lambda: pipeline_key(s, "off"))
    assert pipeline_key(s, "off")["status"] == 0
    put_pipeline(s, {**pipeline_key(s, "off"), "spec": "@weekly"})
    until("it is taken", lambda: s.workflow("off")["version"] == 2)
    assert "state: offline" in s.workflow("off")["document"] and "Asia/Shanghai" in s.workflow("off")["document"]
    for name in ("lasts", "comes", "off"):
        s.etcd.delete(f"{PREFIX}/pipelines/{name}")
        until("it is retired", lambda name=name: s.workflow(name)["retired"])
    until("all are online", lambda: s.status("b1") == "online" and s.status("cgi") == "online", 60)


@test
def an_etcd_that_dies_is_said_and_followed_when_it_is_back(s):
    mark = len(s.base.text())
    s.etcd.kill()
    until("it is said", lambda: s.base.has(r"etcd\.away", mark))
    until("the API says it", lambda: s.get("/api/v1/nodes")["error"])
    s.etcd.start()
    until("it is watched again", lambda: s.base.has(r"etcd\.watched", mark))
    until("all are online", lambda: s.status("b1") == "online" and s.status("cgi") == "online")
    s.put_job("after", "true", "@daily")
    until("jobs come", lambda: s.workflow("after"))


@test
def a_compaction_while_watching_loses_nothing(s):
    s.etcd.pause()
    until("it hangs", lambda: s.get("/api/v1/nodes")["error"], 60)
    s.etcd.resume()
    for n in range(20):
        s.etcd.put("/beside", n)
    s.etcd.compact()
    s.put_job("still", "true", "@daily")
    until("jobs come", lambda: s.workflow("still"))


@test
def wrong_settings_are_one_line_each(s):
    secret = s.dir / "user"
    secret.touch(0o600)
    secret.write_text("somebody:very-secret\n")
    for sets, why in (
            ({"etcd": "127.0.0.1:2379"}, "want http[s]://HOST:PORT"),
            ({"etcd": "http://u:very-secret@127.0.0.1:1"}, "an address with '@'"),
            ({"etcd": "http://10.0.0.1:2379", "etcd_user_file": secret}, "over https only"),
            ({"etcd": s.etcd.url, "etcd_prefix": "x/"}, "etcd_prefix is 'x/'"),
            ({"etcd_lead": "true"}, "etcd_lead is on and etcd is empty"),
            ({"etcd": s.etcd.url, "etcd_lead": "true", "lead_ms": 2000, "epoch_ms": 1000},
             "want at least 3000")):
        sets = {"state_dir": s.dir / "wrong", "keys_file": s.dir / "keys", **sets}
        done = s.run([*s.argv("baseserver", sets), "--check-config"])
        assert done.returncode == 78 and why in done.stderr, (why, done)
        assert len(done.stderr.strip().splitlines()) == 1 and "very-secret" not in done.stderr, done


BROKERS = iter(range(2, 100))


def broker_says(s, pattern, url, **sets):
    """A broker more, with an etcd that is wrong somehow: it works all the same."""
    b = s.add_broker(f"b{next(BROKERS)}", types=("noop:1",), etcd=url, etcd_timeout_ms=2000, **sets)
    try:
        until(f"it says {pattern}", lambda: b.has(r"etcd\.unregistered.*" + pattern))
        assert b.text().count("etcd.unregistered") == 1, b.tail()
        assert "very-secret" not in b.text(), b.tail()
        argv = subprocess.run(["ps", "-o", "args=", "-p", str(b.pid)], capture_output=True,
                              text=True, check=True).stdout
        assert "very-secret" not in argv
    finally:
        assert b.stop() == 0


@test
def a_wrong_endpoint_or_a_hanging_one_is_one_line(s):
    broker_says(s, "Failed to connect", "http://127.0.0.1:1")
    broker_says(s, "gives no lease", Http().url("").rstrip("/"))


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True)


def rights(server):
    """Who asks needs a password now; somebody may work below /sirdar/."""
    server.ctl("user", "add", "root:root-secret")
    server.ctl("user", "add", "somebody:right-secret")
    server.ctl("role", "add", "sirdar")
    server.ctl("role", "grant-permission", "sirdar", "--prefix=true", "readwrite", "/sirdar/")
    server.ctl("user", "grant-role", "somebody", "sirdar")
    server.ctl("user", "grant-role", "root", "root")
    server.ctl("auth", "enable")
    server.credentials = ["--user", "root:root-secret"]


@test
def users_and_certificates_are_checked(s):
    folder = s.dir / "tls"
    folder.mkdir()
    certificate(folder)
    secret = s.dir / "user"
    secret.touch(0o600)
    with etcd.Etcd(tls=folder) as server:
        broker_says(s, "certificate", server.url)
        rights(server)
        ca = {"etcd_ca_file": folder / "cert.pem"}
        secret.write_text("somebody:very-secret\n")
        broker_says(s, "authentication failed", server.url, etcd_user_file=secret, **ca)
        secret.write_text("somebody:right-secret\n")
        broker_says(s, "permission denied", server.url, etcd_user_file=secret,
                    etcd_prefix="/elsewhere", **ca)
        b = s.add_broker(f"b{next(BROKERS)}", types=("noop:1",), etcd=server.url, etcd_user_file=secret, **ca)
        until("it is registered", lambda: b.has(r"etcd\.registered", b.mark))
        assert len(server.keys("/sirdar/nodes/")) == 1
        assert b.stop() == 0
        assert not server.keys("/sirdar/nodes/")


def cgi_beside(s, url, **sets):
    """Another cgi, with an etcd of its own."""
    sets = {"server": f"127.0.0.1:{s.port}", "key_file": s.dir / "cgi.key", "store": f"sqlite:{s.dir}/base", "web_dir": "",
            "listen": f"127.0.0.1:{etcd.free_port()}", "state_dir": s.dir / f"cgi{next(BROKERS)}", "etcd": url, **sets}
    return Daemon(s, f"cgi-{sets['state_dir'].name}", s.argv("sirdar-cgi", sets), r"cgi\.ready").start()


@test
def users_and_certificates_of_a_cgi_are_checked_and_its_keys_begin_with_the_prefix(s):
    folder, secret = s.dir / "tls-cgi", s.dir / "user-cgi"
    folder.mkdir()
    secret.touch(0o600)
    certificate(folder)

    def says(pattern, **sets):
        face = cgi_beside(s, server.url, **sets)
        try:
            until(f"it says {pattern}", lambda: face.has(r"etcd\.unregistered.*" + pattern))
        finally:
            assert face.stop() == 0
    with etcd.Etcd(tls=folder) as server:
        says("certificate")
        rights(server)
        ca = {"etcd_ca_file": folder / "cert.pem"}
        secret.write_text("somebody:very-secret\n")
        says("authentication failed", etcd_user_file=secret, **ca)
        secret.write_text("somebody:right-secret\n")
        says("permission denied", etcd_user_file=secret, etcd_prefix="/elsewhere", **ca)
        face = cgi_beside(s, server.url, etcd_user_file=secret, **ca)
        until("it is registered", lambda: face.has(r"etcd\.registered", face.mark))
        assert len(server.keys("/sirdar/nodes/")) == 1
        assert face.stop() == 0


@test
def an_endpoint_of_a_cgi_may_take_etcd_timeout_ms(s):
    """The first one says nothing; the second is asked after that long."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        both = f"http://127.0.0.1:{deaf.getsockname()[1]},{s.etcd.url}"
        face = cgi_beside(s, both, etcd_timeout_ms=50, etcd_prefix="/timeout")
        until("it asks the other", lambda: s.etcd.keys("/timeout/nodes/"))
        assert face.stop() == 0
        # On a slow machine its goodbye takes longer than 50 ms: then its key goes with its lease.
        until("the first one's key is gone", lambda: not s.etcd.keys("/timeout/nodes/"))
        face, end = cgi_beside(s, both, etcd_timeout_ms=10000, etcd_prefix="/timeout"), time.monotonic() + 3
        while time.monotonic() < end:
            assert not s.etcd.keys("/timeout/nodes/"), "it did not wait"
        face.kill()


@test
def an_installation_of_another_prefix_and_project_is_by_itself(s):
    """Server, broker and cgi with a prefix of their own; jobs put below it are in the project it names."""
    here, there = set(s.etcd.keys(PREFIX + "/nodes/")), "/other"
    with Site("etcd2", etcd=s.etcd.url, etcd_jobs="true", etcd_ttl_ms=2000, etcd_prefix=there, etcd_project="elsewhere") as o:
        o.cgi.argv += ["--set", f"etcd={s.etcd.url}", "--set", f"etcd_prefix={there}"]
        o.start(etcd=s.etcd.url, etcd_ttl_ms=2000, etcd_prefix=there)
        until("all three are below it", lambda: len(s.etcd.keys(there + "/nodes/")) == 3)
        assert set(s.etcd.keys(PREFIX + "/nodes/")) == here, "one is among the others"
        until("its own are listed", lambda: {f"{there}/nodes/{n['id']}" for n in o.get("/api/v1/nodes")["nodes"]} == set(s.etcd.keys(there + "/nodes/")))
        s.etcd.put(f"{there}/jobs/theirs", json.dumps({"name": "theirs", "command": "true", "cronExpr": "@daily"}))
        until("it is taken over", lambda: o.ask("GET", "/api/v1/workflows/elsewhere/theirs")[0] == 200)
        assert o.ask("GET", "/api/v1/workflows/etcd/theirs")[0] == 404
        assert s.workflow("theirs") is None


if __name__ == "__main__":
    assert BIN
    sys.exit(main(EtcdSite))
