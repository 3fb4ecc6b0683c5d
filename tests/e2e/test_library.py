#!/usr/bin/env python3
"""Libraries: tasks written once that pipelines and workflows `use`, with what they say over it. TAP."""
import http.client
import json
import os
import subprocess
import sys

from harness import BIN, Site, main, rss_kb, test, until

LIBRARY = """library: common
project: ops
tasks:
  greet:
    type: shell
    description: says hello
    params: {script: 'echo "$GREETING from $(pwd)"'}
    environment: {GREETING: hello}
    directory: /tmp
    retries: 1
    interval: 1s
  list: {type: shell, params: {script: ls /}}
"""
PIPELINE = """pipeline: one
project: ops
cycle: day
start_date: 2026-01-01
steps:
  - {name: first, use: common/greet}
  - {name: second, use: common/greet, directory: /, environment: {GREETING: goodbye}}
finished: {use: ops/common/list}
"""
WORKFLOW = """workflow: two
project: retail
tasks:
  greet: {use: ops/common/greet, cycle: day, start_date: 2026-01-01, retry: {attempts: 3, delay: 1s}}
"""


DAYS = (f"2026-03-{n:02}" for n in range(1, 29))


def said(s, task):
    """What a run of it writes, begun now."""
    day = next(DAYS)
    s.command_over(s.command("run-now", selection={"tasks": [task], "dates": [day]}))
    one = s.wait_state(task, f"{day}T00:00:00Z", "Succ")
    return str(s.log_of(one["id"]))


def version(s, name):
    return s.get(f"/api/v1/workflows/{name}")["version"]


def refused(s, text, *words, **more):
    answer = s.apply(text, expect=(409, 422, 400), **more)
    assert all(w in json.dumps(answer, ensure_ascii=False) for w in words), (words, answer)
    return answer


def check(s, *texts, expect=0):
    names = []
    for i, t in enumerate(texts):
        names.append(str(s.dir / f"checked-{i}.yaml"))
        (s.dir / f"checked-{i}.yaml").write_text(t)
    return subprocess.run([str(BIN / "sirdar"), "check", *names], capture_output=True, text=True, timeout=60)


@test
def pipelines_and_workflows_use_one_task_and_say_over_it_what_they_want(s):
    refused(s, PIPELINE, "there is no library 'ops/common'")
    s.command_over(s.apply(LIBRARY + "---\n" + PIPELINE + "---\n" + WORKFLOW))
    assert "hello from /tmp" in said(s, "ops/one/first")
    assert "goodbye from /" in said(s, "ops/one/second") and "/tmp" not in said(s, "ops/one/second")
    assert "etc" in said(s, "ops/one/finished")
    assert "hello from /tmp" in said(s, "retail/two/greet")
    document = s.get("/api/v1/workflows/ops/one")["document"]
    assert "use: common/greet" in document and "used:" not in document and "GREETING from" not in document, document
    assert "used:" not in s.ask("GET", "/api/v1/workflows/ops/one?format=yaml")[1].decode()


@test
def a_change_of_the_library_changes_all_who_use_what_changed_in_one_command(s):
    was = {n: version(s, n) for n in ("ops/common", "ops/one", "retail/two")}
    text = LIBRARY.replace("GREETING from", "GREETING again from")
    plan = s.apply(text, dry_run=True)
    changed = {c["name"]: c["change"] for c in plan["changes"] if c["kind"] != "task"}
    assert changed == {"ops/common": "update", "ops/one": "update", "retail/two": "update"}, plan
    assert "again" in json.dumps(plan["changes"]), plan
    assert version(s, "ops/one") == was["ops/one"]
    one = s.command_over(s.apply(text))
    assert one["state"] == "done", one
    assert {n: version(s, n) for n in was} == {n: v + 1 for n, v in was.items()}
    assert "hello again from /tmp" in said(s, "ops/one/first")
    assert "hello again from /tmp" in said(s, "retail/two/greet")
    # What nobody uses of it changes nobody, what one uses changes that one.
    s.command_over(s.apply(text.replace("ls /", "ls -l /")))
    assert version(s, "retail/two") == was["retail/two"] + 1 and version(s, "ops/one") == was["ops/one"] + 2
    audit = s.get("/api/v1/audit?limit=20")
    assert "ops/common" in json.dumps(audit), audit


@test
def what_is_used_stays_and_who_uses_it_is_named(s):
    less = "library: common\nproject: ops\ntasks:\n  list: {type: shell, params: {script: ls -l /}}\n"
    refused(s, less, "ops/common/greet is used by", "ops/one", "retail/two")
    gone = s.sirdar("library", "retire", "ops/common", expect=None)
    assert gone.returncode != 0 and "ops/common is used by ops/one, retail/two" in gone.stderr, gone
    refused(s, "workflow: common\nproject: ops\ntasks:\n  a: {type: noop, cycle: day}\n", "ops/common is used by")
    s.apply("library: spare\nproject: spare\ntasks:\n  list: {type: shell, params: {script: ls}}\n")
    until("it is there", lambda: s.ask("GET", "/api/v1/workflows/spare/spare")[0] == 200)
    refused(s, "workflow: w\nproject: ops\ntasks:\n  a: {use: spare/spare/lst, cycle: day}\n", "has no task 'lst'", "list")
    refused(s, "workflow: w\nproject: ops\ntasks:\n  a: {use: retail/two/greet, cycle: day}\n", "retail/two is a workflow")
    assert s.sirdar("library", "retire", "spare/nothing", expect=None).returncode != 0
    s.sirdar("library", "retire", "spare/spare")
    until("it is retired", lambda: s.get("/api/v1/workflows/spare/spare")["retired"])
    refused(s, "workflow: w\nproject: ops\ntasks:\n  a: {use: spare/spare/list, cycle: day}\n", "there is no library 'spare/spare'")


@test
def one_who_may_not_change_the_users_may_not_change_the_library(s):
    word = "her own word here"
    assert s.ask("POST", "/api/v1/users", {"user": "dev", "role": "developer", "projects": ["ops"], "password": word})[0] == 200
    dev = s.ask("POST", "/api/v1/login", {"user": "dev", "password": word, "name": "dev"})[1]["token"]
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    link.request("POST", "/api/v1/workflows", json.dumps({"documents": [{"name": "l", "text": LIBRARY.replace("hello", "hi")}]}),
                 {"Content-Type": "application/json", "Authorization": f"Bearer {dev}"})
    answer = link.getresponse()
    status, answer = answer.status, json.loads(answer.read())
    assert status == 403 and "retail/two" in json.dumps(answer), (status, answer)


@test
def an_export_applies_to_the_same_and_the_server_reads_its_own_after_a_restart(s):
    text = s.sirdar("export", "ops").stdout + "---\n" + s.sirdar("export", "retail").stdout
    assert "library: common" in text and "used:" not in text, text
    plan = s.apply(text, dry_run=True)
    assert {c["change"] for c in plan["changes"]} == {"same"}, plan
    (s.dir / "all.yaml").write_text(text)
    s.sirdar("diff", "--exit-code", "all.yaml")
    before = {n: version(s, n) for n in ("ops/common", "ops/one", "retail/two")}
    s.base.restart()
    until("it leads again", s.up)
    s.wait_broker("b1", ["shell"])
    assert "hello again from /tmp" in said(s, "retail/two/greet")
    assert before == {n: version(s, n) for n in before}


@test
def check_without_a_server_knows_them(s):
    done = check(s, PIPELINE, LIBRARY, WORKFLOW)
    assert done.returncode == 0, done
    for texts, words in (
            ((PIPELINE,), ("there is no library 'ops/common'", "give the file it is in")),
            ((PIPELINE.replace("common/greet", "common/gret"), LIBRARY), ("has no task 'gret'", "greet")),
            ((PIPELINE.replace("use: common/greet, dir", "use: common/greet, type: noop, dir"), LIBRARY),
             ("'common/greet' says the type",)),
            ((LIBRARY.replace("type: shell, params: {script: ls /}", "use: common/greet"),), ("cannot `use` another",)),
            ((LIBRARY.replace("retries: 1", "cron: '* * * * * *'"),), ("a task of a library has no key 'cron'",)),
            ((LIBRARY.replace("type: shell, params: {script: ls /}", "params: {script: ls /}"),), ("needs a `type`",)),
            (("workflow: w\ndefaults: {use: common/greet}\ntasks:\n  a: {type: noop, cycle: day}\n",), ("`defaults` cannot `use`",)),
            (("workflow: w\ntasks:\n  a: {use: greet, cycle: day}\n",), ("LIBRARY/TASK or PROJECT/LIBRARY/TASK",)),
            # What the library's task says is judged where it is used.
            ((LIBRARY.replace("script: ls /", "scrip: ls /"), PIPELINE), ("scrip",))):
        done = check(s, *texts)
        assert done.returncode != 0 and all(w in done.stdout + done.stderr for w in words), (words, done)
    done = check(s, PIPELINE.replace("use: common/greet, directory", "use: common/gret, directory"), LIBRARY)
    assert ":7:" in done.stdout + done.stderr, done


def sent(s, texts, **more):
    """An apply of several documents -> status, answer."""
    body = {"documents": [{"name": f"{n}.yaml", "text": json.dumps(t)} for n, t in enumerate(texts)], **more}
    return s.ask("POST", "/api/v1/workflows", body if more.get("dry_run") else {"request_id": os.urandom(8).hex(), **body})


@test
def a_library_that_its_users_make_too_large_for_one_edit_is_refused_before_it_is_expanded(s):
    def library(script):
        return {"library": "big", "project": "wide", "tasks": {"t": {"type": "shell", "params": {"script": script}}}}
    users = [{"workflow": f"w{k}", "project": "wide",
              "tasks": {f"a{i}": {"use": "big/t", "cycle": "none"} for i in range(200)}} for k in range(10)]
    large = library("x" * 40000)
    # What is applied itself counts as what is brought by the library.
    status, answer = sent(s, [large, *users])
    assert status == 429, (status, str(answer)[:300])
    status, answer = sent(s, [library("echo 1"), *users])
    assert status in (200, 202), (status, str(answer)[:300])
    if status == 202:
        assert s.command_over(answer)["state"] == "done"
    was = version(s, "wide/big"), version(s, "wide/w0"), rss_kb(s.base.pid)
    for more in ({}, {"dry_run": True}):
        status, answer = sent(s, [large], **more)
        assert status == 429, (status, str(answer)[:300])
        text = json.dumps(answer)
        assert all(w in text for w in ("2000 tasks use the library wide/big", "67108864", "shorter task")), text
    assert was[:2] == (version(s, "wide/big"), version(s, "wide/w0"))
    assert rss_kb(s.base.pid) - was[2] < 40 << 10, (was, rss_kb(s.base.pid))
    # Less of it is taken as before: a small apply that becomes a large one is judged in pieces.
    status, answer = sent(s, [library("echo " + "y" * 2000)])
    assert status in (200, 202), (status, str(answer)[:300])
    until("all have it", lambda: version(s, "wide/w9") == was[1] + 1)
    # A draft is bounded as well.
    assert sent(s, [dict(large, library="spare")])[0] in (200, 202)
    until("it is there", lambda: s.ask("GET", "/api/v1/workflows/wide/spare")[0] == 200)
    draft = dict(users[0], tasks={f"a{i}": {"use": "spare/t", "cycle": "none"} for i in range(2000)})
    answer = s.command("test-run", document=json.dumps(draft), selection={"tasks": ["wide/w0/a0"]}, expect=(429,))
    assert "2000 tasks use the library wide/spare" in json.dumps(answer), answer
    # Who asks on the command line is told at once.
    (s.dir / "large.yaml").write_text(json.dumps(large))
    done = s.sirdar("apply", "-y", "large.yaml", expect=None)
    assert done.returncode != 0 and "2000 tasks use the library wide/big" in done.stderr, done


if __name__ == "__main__":
    def site():
        s = Site("library")
        s.start()
        return s
    sys.exit(main(site))
