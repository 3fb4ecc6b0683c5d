#!/usr/bin/env python3
"""The interfaces of the seeds, answering as their documents say: every path of each document with its own
fields, in both spellings where it has both; what is refused, and that each is off unless it is switched on. TAP."""
import http.client
import json
import os
import re
import sys
import time
import urllib.parse
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Daemon, Site, free_port, main, test, until  # noqa: E402

WORD = "a long enough word"
SEEDS = {"chin_project": "chin", "jarvis2_project": "jarvis", "crontab_project": "cron", "ects_project": "ects"}


def ask(s, method, path, body=None, form=None, headers=None, port=None):
    """-> status, JSON or text."""
    link = http.client.HTTPConnection("127.0.0.1", port or s.http, timeout=60)
    text, head = None, dict(headers or {})
    if form is not None:
        text, head["Content-Type"] = urllib.parse.urlencode(form), "application/x-www-form-urlencoded"
    elif body is not None:
        text, head["Content-Type"] = json.dumps(body), "application/json"
    link.request(method, path, text, head)
    answer = link.getresponse()
    raw = answer.read()
    link.close()
    s.headers = answer
    is_json = "json" in (answer.getheader("Content-Type") or "")
    return answer.status, json.loads(raw) if is_json else raw


def chin(s, path, fails=False, spelled="_", **fields):
    body = {k.replace("_", spelled): v for k, v in fields.items()}
    status, answer = ask(s, "POST", path, body)
    assert status == 200, (path, status, answer)
    assert answer["status"] == ("FAILED" if fails else "SUCCEED"), (path, answer)
    assert isinstance(answer["info"], str) and (answer["info"] or not fails), answer
    return answer


def root(s):
    return {"token": s.token, "user_id": 0}


def login(s, name, word=WORD):
    answer = chin(s, "/api/user/login", user_name=name, password=word)
    assert set(answer) == {"status", "info", "token"}, answer
    return {"token": answer["token"], "user_id": int(answer["info"].split()[1])}


TASK = {"task_name": "每日汇总", "command": "echo chin $HOME out; echo err >&2", "father_id": [], "valid": True,
        "machine_pool": [], "schedule_type": "day", "schedule_format": "02:30"}


# --- chin --------------------------------------------------------------------------------------------------


@test
def chin_users_are_made_by_root_and_sign_in(s):
    assert set(chin(s, "/api/user/new", token=s.token, user_name="ann", password=WORD, email="ann@example.org")) == \
        {"status", "info"}
    chin(s, "/api/user/new", spelled="__", token=s.token, user_name="bob", password=WORD, email="bob@example.org")
    chin(s, "/api/user/new", True, token=s.token, user_name="bob", password=WORD, email="")
    ann = login(s, "ann")
    assert ann["user_id"] > 0
    chin(s, "/api/user/new", True, token=ann["token"], user_name="eve", password=WORD, email="")
    chin(s, "/api/user/login", True, user_name="ann", password="wrong wrong wrong")
    chin(s, "/api/user/query", True, token="nonsense", user_id=0, page=1, page_size=10)
    # who asks says who he is: another's number is refused
    chin(s, "/api/user/query", True, token=ann["token"], user_id=ann["user_id"] + 1, page=1, page_size=10)
    answer = chin(s, "/api/user/query", spelled="__", **ann, page=1, page_size=10)
    assert set(answer) == {"status", "info", "data"}
    assert [u["user_name"] for u in answer["data"]] == ["admin", "ann", "bob"], answer
    assert set(answer["data"][1]) == {"user_id", "user_name", "email", "create_time", "update_time"}
    assert answer["data"][1]["user_id"] == ann["user_id"] and answer["data"][1]["email"] == "ann@example.org"
    time.strptime(answer["data"][1]["create_time"], "%Y-%m-%d %H:%M:%S")
    assert [u["user_name"] for u in chin(s, "/api/user/query", **ann, page=2, page_size=2)["data"]] == ["bob"]


@test
def chin_users_change_themselves_and_root_the_others(s):
    ann, bob = login(s, "ann"), login(s, "bob")
    chin(s, "/api/user/modify", True, token=ann["token"], user_id=bob["user_id"], password=WORD + "2", email="x@example.org")
    chin(s, "/api/user/modify", token=bob["token"], user_id=bob["user_id"], password=WORD + "2", email="b@example.org")
    chin(s, "/api/user/query", True, **bob, page=1, page_size=1)  # his session ended with his password
    bob = login(s, "bob", WORD + "2")
    chin(s, "/api/user/modify", token=s.token, user_id=bob["user_id"], password=WORD, email="")
    bob = login(s, "bob")
    chin(s, "/api/user/logout", **bob)
    chin(s, "/api/user/logout", True, **bob)
    chin(s, "/api/user/delete", True, token=ann["token"], user_id=bob["user_id"])
    chin(s, "/api/user/delete", token=s.token, user_id=bob["user_id"])
    chin(s, "/api/user/delete", True, token=s.token, user_id=bob["user_id"])
    chin(s, "/api/user/login", True, user_name="bob", password=WORD)


@test
def chin_tasks_are_made_changed_and_listed(s):
    ann = login(s, "ann")
    machine = chin(s, "/api/machine/query", **ann, page=1, page_size=10)["data"][0]
    first = chin(s, "/api/task/new", **ann, **TASK)
    one = int(first["info"].split()[1])
    chin(s, "/api/task/new", True, **ann, **TASK)  # a name is there once
    second = chin(s, "/api/task/new", spelled="__", **ann, **{**TASK, "task_name": "weekly", "father_id": [one], "valid": False,
                  "machine_pool": [machine["machine_id"]], "schedule_type": "week", "schedule_format": "3 06:00"})
    two = int(second["info"].split()[1])
    answer = chin(s, "/api/task/query", **ann, batch=False, task_id=one)
    assert set(answer) == {"status", "info", "data"}
    row = answer["data"]
    assert set(row) == {"task_id", "task_name", "command", "father_id", "valid", "machine_pool", "owner_id", "schedule_type",
                        "schedule_format", "create_time", "update_time"}, row
    for key in ("task_name", "command", "schedule_type", "schedule_format"):
        assert row[key] == TASK[key], (key, row)
    assert row["valid"] == 1 and row["father_id"] == "" and row["owner_id"] == str(ann["user_id"]), row
    row = chin(s, "/api/task/query", spelled="__", **ann, batch=False, task_id=two)["data"]
    assert row["father_id"] == str(one) and row["machine_pool"] == str(machine["machine_id"]) and row["valid"] == 0, row
    assert (row["schedule_type"], row["schedule_format"]) == ("week", "3 06:00"), row
    rows = chin(s, "/api/task/query", **ann, batch=True, page=1, page_size=10)["data"]
    assert [r["task_id"] for r in rows] == sorted([one, two], key=lambda i: {one: TASK["task_name"], two: "weekly"}[i]), rows
    assert len(chin(s, "/api/task/query", **ann, batch=True, page=2, page_size=1)["data"]) == 1
    for kind, text in (("month", "31 23:59"), ("once", "2099-01-01 02:30"), ("day", "2:30:15")):
        chin(s, "/api/task/modify", **ann, **{**TASK, "task_name": "weekly", "valid": False, "schedule_type": kind, "schedule_format": text})
        row = chin(s, "/api/task/query", **ann, batch=False, task_id=two)["data"]
        assert (row["schedule_type"], row["schedule_format"]) == (kind, text), row
    for wrong in ({"schedule_type": "year"}, {"schedule_format": "25:00"}, {"father_id": [99999]}, {"machine_pool": [999]},
                  {"valid": "perhaps"}, {"command": 5}, {"colour": 1}, {"user__id": 5}, {"task_name": "absent"}):
        answer = chin(s, "/api/task/modify", True, **ann, **{**TASK, "task_name": "weekly", **wrong})
        assert answer["info"], wrong
    for gone in ("token", "user_id", "command", "valid"):
        fields = {k: v for k, v in {**ann, **TASK, "task_name": "weekly"}.items() if k != gone}
        assert gone in chin(s, "/api/task/modify", True, **fields)["info"]


@test
def chin_tasks_belong_to_their_owner_and_root(s):
    chin(s, "/api/user/new", token=s.token, user_name="cid", password=WORD, email="")
    cid, ann = login(s, "cid"), login(s, "ann")
    two = chin(s, "/api/task/query", **ann, batch=True, page=1, page_size=10)["data"]
    two = next(r for r in two if r["task_name"] == "weekly")
    assert "owner" in chin(s, "/api/task/modify", True, **cid, **{**TASK, "task_name": "weekly"})["info"]
    assert "owner" in chin(s, "/api/task/delete", True, **cid, task_id=two["task_id"])["info"]
    chin(s, "/api/task/modify", **root(s), **{**TASK, "task_name": "weekly", "valid": False, "command": "true"})
    row = chin(s, "/api/task/query", **ann, batch=False, task_id=two["task_id"])["data"]
    assert row["command"] == "true" and row["owner_id"] == str(ann["user_id"]), row
    chin(s, "/api/task/delete", spelled="__", **ann, task_id=two["task_id"])
    chin(s, "/api/task/query", True, **ann, batch=False, task_id=two["task_id"])
    assert len(chin(s, "/api/task/query", **ann, batch=True, page=1, page_size=10)["data"]) == 1


@test
def chin_what_is_not_valid_takes_no_enqueue_and_no_run_now(s):
    ann = login(s, "ann")
    info = chin(s, "/api/task/new", **ann, **{**TASK, "task_name": "asleep", "valid": False})["info"]
    name = next(t["task"] for t in s.get("/api/v1/tasks")["items"] if t["task_id"] == int(info.split()[1]))
    first, second = ({"tasks": [name], "from": time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(time.time() + d * 86400)),
                      "to": time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(time.time() + d * 86400))} for d in (1, 2))
    for kind, selection in (("run-now", {"tasks": [name]}), ("enqueue", first), ("run-now", second)):
        refused = s.command(kind, dry_run=True, selection=selection)
        assert {r["code"] for r in refused["reasons"]} == {"CONFLICT"} and "its task is offline" in refused["reasons"][0]["message"], refused
        done = s.command_over(s.command(kind, selection=selection))
        assert done["failed"] == done["done"] >= 1, (kind, done)
        items = s.get(f"/api/v1/commands/{done['command']}/items?failed=1")["items"]
        assert all("its task is offline" in i["message"] for i in items) and items, items
    assert s.instances(name) == []
    chin(s, "/api/task/modify", **ann, **{**TASK, "task_name": "asleep", "valid": True})
    assert s.command_over(s.command("run-now", selection={"tasks": [name]}))["failed"] == 0
    s.wait_all_over(name, n=1)
    chin(s, "/api/task/delete", **ann, task_id=int(info.split()[1]))


@test
def chin_logs_are_found_by_task_and_by_number(s):
    ann = login(s, "ann")
    task = chin(s, "/api/task/query", **ann, batch=True, page=1, page_size=1)["data"][0]["task_id"]
    chin(s, "/api/log/query", True, **ann, batch=False, given_task=True, task_id=task)  # it has not run
    name = next(t["task"] for t in s.get("/api/v1/tasks")["items"] if str(t["task_id"]) == str(task))
    s.command("run-now", selection={"tasks": [name]}, off_plan=True)
    s.wait_all_over(name, n=1)
    log = chin(s, "/api/log/query", **ann, batch=False, given_task=True, task_id=task)["data"]
    assert set(log) == {"log_id", "instance_id", "machine_id", "output", "create_time", "update_time"}, log
    assert "chin " in log["output"] and "err" in log["output"] and "$HOME" not in log["output"], log
    again = chin(s, "/api/log/query", spelled="__", **ann, batch=False, given_task=False, log_id=log["log_id"])["data"]
    assert again == log, (again, log)
    assert chin(s, "/api/log/query", **ann, batch=False, given_task=False, log_id=str(log["log_id"]))["data"] == log
    rows = chin(s, "/api/log/query", **ann, batch=True, given_task=True, task_id=task, page=1, page_size=10,
                column=["log_id", "create_time"])["data"]
    assert rows == [{"log_id": log["log_id"], "create_time": log["create_time"]}], rows
    assert log in chin(s, "/api/log/query", **ann, batch=True, given_task=False, page=1, page_size=5)["data"]
    assert chin(s, "/api/log/query", **ann, batch=True, given_task=False, page=2, page_size=5)["data"] == []
    for wrong in ({"column": ["colour"], "log_id": log["log_id"]}, {"log_id": 5}, {}):
        chin(s, "/api/log/query", True, **ann, batch=False, given_task=False, **wrong)


@test
def chin_actions_and_machines(s):
    ann = login(s, "ann")  # which is an action
    rows = chin(s, "/api/action/query", **root(s), batch=True, page=1, page_size=3)["data"]
    assert len(rows) == 3 and set(rows[0]) == {"action_id", "user_id", "content", "create_time", "update_time"}, rows
    assert rows[0]["action_id"] > rows[1]["action_id"]
    assert len(chin(s, "/api/action/query", spelled="__", **root(s), batch=False)["data"]) > 3
    assert chin(s, "/api/action/query", **ann, batch=True, page=1, page_size=3)["data"] == rows  # the seed keeps nobody out
    chin(s, "/api/action/query", True, token="nonsense", user_id=ann["user_id"], batch=False)
    machines = chin(s, "/api/machine/query", **ann, page=1, page_size=10)["data"]
    assert len(machines) == 1 and set(machines[0]) == {"machine_id", "machine_name", "ip", "mac", "cpu_load", "memory_load",
                                                       "alive", "create_time", "update_time"}, machines
    assert machines[0]["mac"] == "", machines  # over loopback there is none: tests/e2e/test_netns.py has one
    assert machines[0]["machine_name"] == "b1" and machines[0]["alive"] == 1 and machines[0]["ip"] == "127.0.0.1", machines
    chin(s, "/api/machine/delete", True, **ann, machine_id=machines[0]["machine_id"])
    chin(s, "/api/machine/delete", **root(s), machine_id=machines[0]["machine_id"])
    until("it is not listed", lambda: chin(s, "/api/machine/query", **ann, page=1, page_size=10)["data"] == [])
    s.command("broker-undrain", brokers=["b1"])
    until("it is back", lambda: chin(s, "/api/machine/query", **ann, page=1, page_size=10)["data"])


# --- jarvis2 -----------------------------------------------------------------------------------------------


def app(s, name, role):
    status, answer = s.ask("POST", "/api/v1/tokens", {"name": name, "role": role, "app": True})
    assert status == 201 and answer["app"] is True, answer
    return {"app_name": name, "app_key": answer["token"]}


def jarvis(s, method, path, expect=200, **fields):
    if method == "GET":
        status, answer = ask(s, method, path + "?" + urllib.parse.urlencode(fields))
    else:
        status, answer = ask(s, method, path, fields)
    assert status == expect, (path, status, answer)
    return answer


JOB = {"job_name": "xray/报表", "user": "wu.ming", "job_type": "shell", "command": "for i in 1 2 3 4 5; do echo line $i; done; "
       "echo $COLOUR; echo bad >&2", "group_id": 0, "parameters": {"COLOUR": "red"}}


@test
def jarvis2_jobs_are_submitted_and_tell_status_and_log(s):
    s.xray = app(s, "XRay", "operator")
    answer = jarvis(s, "POST", "/api/job/submit", **s.xray, **JOB)
    assert set(answer) == {"job_id", "accept", "message"} and answer["accept"] is True and answer["message"] == "", answer
    job = {"job_id": answer["job_id"]}

    def over():
        got = jarvis(s, "GET", "/api/job/status", **s.xray, **job)
        assert set(got) == {"job_id", "status"} and got["job_id"] == job["job_id"], got
        return got["status"] == 3
    until("the job succeeded", over, 60)
    until("its log is whole", lambda: jarvis(s, "GET", "/api/log", **s.xray, **job, type="stdout")["is_end"])
    until("and its errors", lambda: jarvis(s, "GET", "/api/log", **s.xray, **job, type="stderr")["is_end"])
    got = jarvis(s, "GET", "/api/log", **s.xray, **job, type="stdout")
    assert set(got) == {"job_id", "type", "is_end", "log", "offset"}, got
    assert got["log"] == "line 1\nline 2\nline 3\nline 4\nline 5\nred\n" and got["is_end"] is True, got
    assert got["offset"] == len(got["log"]) and got["type"] == 1, got
    two = jarvis(s, "GET", "/api/log", **s.xray, **job, type=1, offset=7, lines=2)
    assert two["log"] == "line 2\nline 3\n" and two["offset"] == 21 and two["is_end"] is False, two
    rest = jarvis(s, "GET", "/api/log", **s.xray, **job, type=1, offset=two["offset"])
    assert rest["log"] == "line 4\nline 5\nred\n" and rest["is_end"] is True, rest
    assert jarvis(s, "GET", "/api/log", **s.xray, **job, type=2)["log"] == "bad\n"
    assert jarvis(s, "GET", "/api/log/download", **s.xray, **job, type="stdout") == got["log"].encode()
    assert s.headers.getheader("Content-Disposition").startswith("attachment")
    kill = jarvis(s, "DELETE", "/api/job/kill", **s.xray, **job)
    assert kill == {**job, "success": False}, kill  # it is over
    # Submitted once more under its name, it runs once more.
    def runs():
        return [i for i in s.instances(states="Succ") if i["task_id"] == job["job_id"]]
    assert len(runs()) == 1, runs()
    assert jarvis(s, "POST", "/api/job/submit", **s.xray, **JOB)["job_id"] == job["job_id"]
    until("it ran again", lambda: len(runs()) == 2, 60)


@test
def jarvis2_logs_of_any_length_are_downloaded_whole(s):
    answer = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**JOB, "job_name": "long", "command": "seq 1 150000"})
    job = {"job_id": answer["job_id"]}
    until("it succeeded", lambda: jarvis(s, "GET", "/api/job/status", **s.xray, **job)["status"] == 3, 60)
    until("its log is whole", lambda: jarvis(s, "GET", "/api/log", **s.xray, **job, type=1, offset=880000, lines=10000)["is_end"])
    whole = "".join(f"{i}\n" for i in range(1, 150001)).encode()
    assert jarvis(s, "GET", "/api/log/download", **s.xray, **job, type=1) == whole
    text, offset, is_end = "", 0, False
    while not is_end:
        got = jarvis(s, "GET", "/api/log", **s.xray, **job, type=1, offset=offset, lines=10000)
        text, offset, is_end = text + got["log"], got["offset"], got["is_end"]
    assert text.encode() == whole


@test
def jarvis2_jobs_run_by_cron_and_after_others_and_are_killed(s):
    answer = ask(s, "POST", "/api/job/submit", form={**s.xray, **JOB, "job_name": "nightly", "cron_expression": "0 0 23 * * ?",
                                                     "parameters": json.dumps({"COLOUR": "red"}), "priority": "7"})[1]
    assert answer["accept"] is True, answer
    after = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**JOB, "job_name": "after", "dependency_jobids": answer["job_id"]})
    assert after["accept"] is True, after
    names = {t["task_id"]: t for t in s.get("/api/v1/tasks")["items"]}
    assert names[answer["job_id"]]["priority"] == 7
    assert [p["parent_id"] for p in s.get("/api/v1/links/" + names[after["job_id"]]["task"])["parents"]] == [answer["job_id"]]
    again = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**JOB, "job_name": "after", "dependency_jobids": [answer["job_id"]],
                                                             "command": "true"})
    assert again["job_id"] == after["job_id"], again
    assert jarvis(s, "GET", "/api/job/status", **s.xray, job_id=after["job_id"])["status"] == 0
    slow = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**JOB, "job_name": "slow", "command": "sleep 600"})
    until("it runs", lambda: jarvis(s, "GET", "/api/job/status", **s.xray, job_id=slow["job_id"])["status"] == 2, 60)
    assert jarvis(s, "DELETE", "/api/job/kill", **s.xray, job_id=slow["job_id"]) == {"job_id": slow["job_id"], "success": True}
    until("it is killed", lambda: jarvis(s, "GET", "/api/job/status", **s.xray, job_id=slow["job_id"])["status"] == 8, 60)


def says_its_words(s, name):
    """A program that tells what it was called with, in the place of java and hadoop."""
    path = s.dir / name
    path.write_text("#!/bin/sh\nfor w in \"$@\"; do echo \"<$w>\"; done\n")
    path.chmod(0o755)
    return str(path)


def log_when_over(s, job_id, expect=3):
    until("the job is over", lambda: jarvis(s, "GET", "/api/job/status", **s.xray, job_id=job_id)["status"] == expect, 60)
    until("its log is whole", lambda: jarvis(s, "GET", "/api/log", **s.xray, job_id=job_id, type=1)["is_end"])
    return jarvis(s, "GET", "/api/log", **s.xray, job_id=job_id, type=1)["log"].split("\n")


@test
def jarvis2_java_and_mapreduce_take_their_command_as_the_seed_has_it(s):
    fake = says_its_words(s, "fake")
    for n, (kind, command, parameters, words) in enumerate((
            ("java", "java -Xmx64m -jar /opt/x.jar a 'b c' $HOME", {"java": fake}, ["-Xmx64m", "-jar", "/opt/x.jar", "a", "b c", "$HOME"]),
            ("Java", "-cp /opt/lib com.example.Main --day 1", {"java": fake}, ["-cp", "/opt/lib", "com.example.Main", "--day", "1"]),
            ("mapreduce", "hadoop jar /opt/count.jar com.example.Count in out", {"program": fake, "queue": "etl"},
             ["jar", "/opt/count.jar", "com.example.Count", "-Dqueue=etl", "in", "out"]),
            ("MapReduce", "/opt/count.jar in out", {"program": fake}, ["jar", "/opt/count.jar", "in", "out"]))):
        answer = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**JOB, "job_name": f"program {n}", "job_type": kind, "command": command,
                                                                 "parameters": parameters})
        assert answer["accept"] is True, answer
        said = [w[1:-1] for w in log_when_over(s, answer["job_id"]) if w.startswith("<")]
        assert said == words, (kind, said)
    for kind, command, why in (("java", "java -Xmx1g", "-jar FILE|CLASS"), ("mapreduce", "hadoop jar", "JAR [CLASS]"),
                               ("cobol", "x", "no job type 'cobol', want one of shell, hive, presto, java, mapreduce")):
        answer = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**JOB, "job_name": "wrong", "job_type": kind, "command": command, "parameters": {}})
        assert answer["accept"] is False and answer["job_id"] == -1 and why in answer["message"], answer


@test
def jarvis2_jobs_wait_for_one_off_jobs(s):
    gate = s.dir / "gate"
    first = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**JOB, "job_name": "one-off", "command":
                   f"while ! test -e {gate}; do sleep 0.02; done; echo first"})["job_id"]
    after, too = ({**JOB, "job_name": n, "command": f"test -e {gate} && echo {n}", "dependency_jobids": d}
                  for n, d in (("after-one", [first]), ("after-both", [first])))
    two = jarvis(s, "POST", "/api/job/submit", **s.xray, **after)
    assert two["accept"] is True, two
    three = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**too, "dependency_jobids": [first, two["job_id"]]})
    assert three["accept"] is True, three
    until("the first runs", lambda: jarvis(s, "GET", "/api/job/status", **s.xray, job_id=first)["status"] == 2, 60)
    names = {t["task_id"]: t["task"] for t in s.get("/api/v1/tasks")["items"]}
    row = until("the second waits", lambda: s.instances(names[two["job_id"]]))[0]
    assert row["state"] in ("Ready", "DependenceFinish") and names[first] in s.sirdar("why", row["id"]).stdout, row
    gate.touch()
    assert log_when_over(s, two["job_id"])[0] == "after-one"
    assert log_when_over(s, three["job_id"])[0] == "after-both"
    late = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**after, "job_name": "late"})  # its parent has long ended
    assert log_when_over(s, late["job_id"])[0] == "after-one"


@test
def jarvis2_refuses_in_its_own_words(s):
    bad = {**s.xray, "app_key": s.xray["app_key"][:-1] + "x"}
    answer = jarvis(s, "POST", "/api/job/submit", **bad, **JOB)
    assert answer["accept"] is False and answer["job_id"] == -1 and answer["message"], answer
    answer = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**JOB, "priority": 11})
    assert answer["accept"] is False and "priority" in answer["message"], answer
    answer = jarvis(s, "POST", "/api/job/submit", **s.xray, **{**JOB, "cron_expression": "every now and then"})
    assert answer["accept"] is False and answer["message"], answer
    assert jarvis(s, "GET", "/api/job/status", 401, **bad, job_id=1)["error"]["code"] == "AUTH"
    assert jarvis(s, "GET", "/api/job/status", 404, **s.xray, job_id=4000000)["error"]["code"] == "NOT_FOUND"
    assert jarvis(s, "GET", "/api/log", 400, **s.xray, job_id=1, type="noise")["error"]["place"] == "type"
    other = app(s, "Other", "viewer")
    assert jarvis(s, "POST", "/api/job/submit", **other, **JOB)["accept"] is False
    mine = app(s, "Mine", "operator")
    assert "another app" in jarvis(s, "POST", "/api/job/submit", **mine, **JOB)["message"]
    # the key of an app opens nothing else, and a token is no key
    assert ask(s, "GET", "/api/v1/tasks", headers={"Authorization": "Bearer " + s.xray["app_key"]})[0] == 401
    assert jarvis(s, "GET", "/api/job/status", 401, app_name="XRay", app_key=s.token, job_id=1)
    chin(s, "/api/user/query", True, token=s.xray["app_key"], user_id=0, page=1, page_size=1)
    for path in s.dir.rglob("*"):
        assert not path.is_file() or s.xray["app_key"].encode() not in path.read_bytes(), path


@test
def jarvis2_workers_go_off_and_on(s):
    where = {"ip": "127.0.0.1", "port": 10080}
    assert jarvis(s, "POST", "/api/worker/status", **s.xray, **where, status=0) == {**where, "success": False}  # no admin
    boss = app(s, "Boss", "admin")
    assert jarvis(s, "POST", "/api/worker/status", **boss, **where, status=0) == {**where, "success": True}
    until("it is off", lambda: s.get("/api/v1/brokers")["brokers"][0]["drained"])
    assert jarvis(s, "POST", "/api/worker/status", **boss, **where, status=1) == {**where, "success": True}
    until("it is on", lambda: not s.get("/api/v1/brokers")["brokers"][0]["drained"])
    assert jarvis(s, "POST", "/api/worker/status", **boss, **{**where, "ip": "10.9.9.9"}, status=1)["success"] is False


# --- the etcd crontab --------------------------------------------------------------------------------------


def cron(s, method, path, fails=False, form=None):
    status, answer = ask(s, method, path, form=form, headers={"Authorization": f"Bearer {s.token}"})
    assert status == 200 and set(answer) == {"errno", "msg", "data"}, (path, status, answer)
    assert (answer["errno"] != 0) == fails, (path, answer)
    return answer["data"] if not fails else answer["msg"]


@test
def crontab_jobs_are_saved_listed_killed_and_deleted(s):
    job = {"name": "job1", "command": "echo out; echo $USER >/dev/null; sleep 600", "cronExpr": "0 0 1 1 *"}
    assert ask(s, "GET", "/job/list")[0] == 401  # the seed has no users: here a token is needed
    assert cron(s, "POST", "/job/save", form={"job": json.dumps(job)}) is None
    assert cron(s, "GET", "/job/list") == [job]
    new = {**job, "cronExpr": "*/5 * * * * * *"}
    assert cron(s, "POST", "/job/save", form={"job": json.dumps({**job, "cronExpr": "30 1 1 1 *"})}) == job, "the old one"
    s.command("run-now", selection={"tasks": ["cron/job1/job1"]}, off_plan=True)
    until("it writes", lambda: [r for r in cron(s, "GET", "/job/log?name=job1") if r["output"] == "out\n"], 60)
    assert cron(s, "POST", "/job/kill", form={"name": "job1"}) is None
    rows = until("its end is there", lambda: [r for r in cron(s, "GET", "/job/log?name=job1&limit=5") if r["endTime"]], 60)
    assert set(rows[0]) == {"jobName", "command", "err", "output", "startTime", "endTime"}, rows
    assert rows[0]["jobName"] == "job1" and rows[0]["command"] == job["command"] and "Killed" in rows[0]["err"], rows
    assert rows[0]["startTime"] <= rows[0]["endTime"] and cron(s, "GET", "/job/log?name=job1&skip=1") == []
    assert cron(s, "GET", "/worker/list") == ["127.0.0.1"]
    assert cron(s, "POST", "/job/delete", form={"name": "job1"})["name"] == "job1"
    assert cron(s, "GET", "/job/list") == []
    cron(s, "POST", "/job/delete", True, {"name": "job1"})
    cron(s, "POST", "/job/kill", True, {"name": "absent"})
    cron(s, "POST", "/job/save", True, {"job": json.dumps({**new, "colour": "red"})})
    cron(s, "POST", "/job/save", True, {"job": json.dumps({**new, "cronExpr": "never"})})
    cron(s, "POST", "/job/save", True, {"job": "{"})


@test
def a_crontab_jobs_name_has_one_limit_that_is_told_when_it_is_saved(s):
    job = {"name": "n" * 200, "command": "true", "cronExpr": "0 0 1 1 *"}
    cron(s, "POST", "/job/save", form={"job": json.dumps(job)})
    cron(s, "POST", "/job/delete", form={"name": job["name"]})
    for name in ("n" * 201, "名" * 67):
        told = cron(s, "POST", "/job/save", True, {"job": json.dumps({**job, "name": name})})
        assert "name has 201 bytes, want 1 to 200" in told, told
        assert cron(s, "POST", "/job/save", True, {**job, "name": name}) == told
        assert cron(s, "POST", "/job/delete", True, {"name": name}) == told
        assert cron(s, "POST", "/job/kill", True, {"name": name}) == told
    told = cron(s, "POST", "/job/save", True, {"job": json.dumps({**job, "cronExpr": "0 " * 200})})
    assert "cronExpr has 400 bytes, want 1 to 256" in told, told


@test
def a_crontab_job_does_not_overlap_itself(s):
    cron(s, "POST", "/job/save", form={"job": json.dumps(
        {"name": "busy", "command": f"while [ ! -e {s.dir}/data/busy.go ]; do sleep 0.02; done", "cronExpr": "* * * * * *"})})
    left = until("dates are left out", lambda: len(x := s.instances("cron/busy/busy", "Skipped")) >= 2 and x)
    assert {i["reason"] for i in left} == {"overlap"}, left
    assert len(s.instances("cron/busy/busy", "Running")) == 1
    (s.dir / "data/busy.go").touch()
    cron(s, "POST", "/job/delete", form={"name": "busy"})


@test
def a_crontab_job_that_runs_is_deleted_and_its_last_run_ends_as_it_does(s):
    go = s.dir / "data/leaves.go"
    job = {"name": "leaves", "command": f"while [ ! -e {go} ]; do sleep 0.02; done; echo over", "cronExpr": "* * * * * *"}
    cron(s, "POST", "/job/save", form={"job": json.dumps(job)})
    until("it runs", lambda: s.instances("cron/leaves/leaves", "Running"))
    assert cron(s, "POST", "/job/delete", form={"name": "leaves"}) == job
    until("it is listed no more", lambda: "leaves" not in [j["name"] for j in cron(s, "GET", "/job/list")])
    cron(s, "POST", "/job/delete", True, {"name": "leaves"})
    until("its plan ends", lambda: not s.instances("cron/leaves/leaves", "Ready,DependenceFinish"))
    assert len(s.instances("cron/leaves/leaves", "Running")) == 1, "what runs goes on"
    go.touch()
    rows = until("it ended well", lambda: s.instances("cron/leaves/leaves", "Succ"))
    assert len(rows) == 1 and "over" in str(s.log_of(rows[0]["id"])), rows
    until("it is retired", lambda: s.get("/api/v1/workflows/cron/leaves")["retired"])
    # Saved anew while its last run goes on, it is there again.
    go.unlink()
    cron(s, "POST", "/job/save", form={"job": json.dumps(job)})
    until("it runs", lambda: s.instances("cron/leaves/leaves", "Running"))
    cron(s, "POST", "/job/delete", form={"name": "leaves"})
    cron(s, "POST", "/job/save", form={"job": json.dumps(job)})
    assert "leaves" in [j["name"] for j in cron(s, "GET", "/job/list")]
    n = len(s.instances("cron/leaves/leaves", "Succ"))
    go.touch()
    until("it runs again and again", lambda: len(s.instances("cron/leaves/leaves", "Succ")) >= n + 3)
    cron(s, "POST", "/job/delete", form={"name": "leaves"})


# --- ECTS ------------------------------------------------------------------------------------------------

PIPELINE = """
pipeline: nightly
project: ects
description: two steps
cron: "0 */10 * * * * *"
state: offline
overlap: false
nodes: [b1]
steps:
  - {name: first, description: 测试任务, type: shell, params: {script: 'sleep 3 && echo "$${HOME}"'}, timeout: 90s, interval: 2s,
     retries: 3, directory: /tmp, environment: {A: "1", B: "2"}, dependence: weak}
  - {name: second, type: shell, params: {script: ls -la}}
failed: {type: shell, params: {script: bind aliyun dns}}
"""


@test
def ects_pipelines_tasks_and_nodes_read_as_its_own_json(s):
    s.apply(PIPELINE)
    head = {"Authorization": f"Bearer {s.token}"}
    assert ask(s, "GET", "/ects/pipelines")[0] == 401
    status, found = ask(s, "GET", "/ects/pipelines", headers=head)
    assert status == 200 and len(found) == 1, found
    p = found[0]
    assert set(p) == {"id", "name", "description", "spec", "status", "finished", "failed", "overlap", "created_at", "updated_at",
                      "nodes", "steps", "finished_task", "failed_task"}, p
    assert p["name"] == "nightly" and p["spec"] == "0 */10 * * * * *" and p["overlap"] == 0 and p["nodes"] == ["b1"] and p["status"] == 0, p
    assert p["finished"] == "" and p["finished_task"] is None and p["failed_task"]["content"] == "bind aliyun dns", p
    assert p["failed"] == p["failed_task"]["id"] and re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", p["id"]), p
    one, two = p["steps"]
    assert set(one) == {"id", "pipeline_id", "task_id", "step", "timeout", "interval", "retries", "directory", "user", "environment",
                        "dependence", "created_at", "updated_at", "task"}, one
    assert (one["step"], one["timeout"], one["interval"], one["retries"], one["directory"], one["environment"], one["dependence"]) == \
        (1, 90, 2, 3, "/tmp", "A=1;B=2", "weak"), one
    assert set(one["task"]) == {"id", "name", "mode", "url", "method", "content", "description", "created_at", "updated_at"}, one
    assert one["task"]["content"] == 'sleep 3 && echo "${HOME}"' and one["task"]["description"] == "测试任务", one
    assert one["pipeline_id"] == p["id"] and one["task_id"] == one["task"]["id"] and two["dependence"] == "strong", two
    tasks = ask(s, "GET", "/ects/tasks", headers=head)[1]
    assert [t["name"] for t in tasks] == ["first", "second", "failed"] and tasks[0] == one["task"], tasks
    assert ask(s, "GET", "/ects/nodes", headers=head) == (200, []), "no etcd, no registry"
    assert ask(s, "GET", "/ects/nodes?colour=1", headers=head)[0] == 400


def ects(s, method, path, body=None, expect=200):
    status, answer = ask(s, method, "/ects" + path, body, headers={"Authorization": f"Bearer {s.token}"})
    assert status == expect, (method, path, status, answer)
    return answer


def step(task, n=1, **more):
    """As ECTS has it: all of its fields."""
    return {"id": f"step-{n}", "pipeline_id": "", "task_id": task if isinstance(task, str) else task.get("id", ""), "step": n,
            "timeout": 0, "interval": 0, "retries": 0, "directory": "", "user": "", "environment": "", "dependence": "strong",
            "created_at": "2019-08-17 12:05:26", "updated_at": "2019-08-17 12:05:26",
            **({} if isinstance(task, str) else {"task": task}), **more}


def shell(name, content, **more):
    return {"name": name, "mode": "shell", "url": "", "method": "post", "content": content, "description": name, **more}


@test
def ects_pipelines_are_made_changed_and_deleted_and_run(s):
    id_ = "b6e54dc3-7e12-4029-b499-fb4603c72163"
    hook = shell("绑定IP", f"echo bound $HOME >> {s.dir}/data/ects-hook", id="7a0a46fb-7f61-4b36-8005-a4da351f32fa")
    body = {"id": id_, "name": "测试任务流水线", "description": "", "spec": "*/1 * * * * * *", "status": 0,
            "finished": hook["id"], "failed": hook["id"], "overlap": 1, "created_at": "2019-08-17 12:03:40",
            "updated_at": "2019-09-02 14:32:52", "nodes": ["b1"], "finished_task": hook, "failed_task": hook,
            "steps": [step(shell("查看目录", f"echo two >> {s.dir}/data/ects", id="d2e3f791"), 2),
                      step(shell("测试任务", f'echo "one $X" >> {s.dir}/data/ects', id="4afe4ea7"), 1, environment="X=it is;Y=2",
                           timeout=30, retries=1, interval=2)]}
    made = ects(s, "POST", "/pipelines", body)
    assert made == {"id": id_, "name": "测试任务流水线"}, made
    until("it runs, and its hook", lambda: (s.dir / "data/ects-hook").exists())
    assert (s.dir / "data/ects").read_text().startswith("one it is\ntwo\n")
    assert "$" not in (s.dir / "data/ects-hook").read_text()
    seen = ects(s, "GET", f"/pipelines/{id_}")
    assert seen["id"] == id_ and seen["status"] == 1 and [t["task"]["name"] for t in seen["steps"]] == ["测试任务", "查看目录"], seen
    assert seen["finished"] == hook["id"] and seen["finished_task"]["content"] == hook["content"], seen
    assert seen["steps"][0]["environment"] == "X=it is;Y=2" and seen["steps"][0]["task_id"] == "4afe4ea7", seen
    # What is read may be put again, and is the same.
    v = s.get("/api/v1/workflows/ects/测试任务流水线".replace("测试任务流水线", urllib.parse.quote("测试任务流水线")))["version"]
    ects(s, "PUT", f"/pipelines/{id_}", seen)
    path = "/api/v1/workflows/ects/" + urllib.parse.quote("测试任务流水线")
    assert s.get(path)["version"] == v, s.get(path)["document"]
    seen["spec"] = "0 0 0 1 1 * *"
    ects(s, "PUT", f"/pipelines/{id_}", seen)
    assert ects(s, "GET", f"/pipelines/{id_}")["spec"] == "0 0 0 1 1 * *" and s.get(path)["version"] == v + 1
    ects(s, "DELETE", f"/pipelines/{id_}")
    until("it is retired", lambda: s.get(path)["retired"])
    ects(s, "GET", f"/pipelines/{id_}", expect=404)
    ects(s, "DELETE", f"/pipelines/{id_}", expect=404)


@test
def an_ects_task_is_shared_by_pipelines_and_its_change_is_theirs(s):
    one = ects(s, "POST", "/tasks", shell("sum", "echo sum"))
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one["id"]), one
    other = ects(s, "POST", "/tasks", {"id": "call-1", "name": "call", "mode": "http", "url": "http://127.0.0.1:1/$x", "method": "get",
                                       "content": ""})
    assert other["id"] == "call-1"
    for name in ("first", "second"):
        ects(s, "POST", "/pipelines", {"name": name, "spec": "0 0 0 1 1 *", "steps": [step(one["id"]), step("call-1", 2), step(one["id"], 3)],
                                       "failed": "call-1"})
    seen = {p["name"]: p for p in ects(s, "GET", "/pipelines")}
    assert [t["task"]["content"] for t in seen["first"]["steps"]] == ["echo sum", "", "echo sum"], seen["first"]
    assert seen["first"]["failed"] == "call-1" and seen["first"]["failed_task"]["url"] == "http://127.0.0.1:1/$x", seen["first"]
    assert "use: tasks/sum" in s.get("/api/v1/workflows/ects/first")["document"]
    tasks = ects(s, "GET", "/tasks")
    assert [t["id"] for t in tasks].count(one["id"]) == 1 and ects(s, "GET", "/tasks/call-1")["mode"] == "http", tasks
    ects(s, "PUT", f"/tasks/{one['id']}", {"mode": "shell", "content": "echo more"})
    for name in ("first", "second"):
        now = ects(s, "GET", f"/pipelines/{seen[name]['id']}")
        assert [t["task"]["content"] for t in now["steps"]] == ["echo more", "", "echo more"], now
    # One that brings the task as it is goes on sharing it, one that brings another has that for itself.
    ects(s, "PUT", f"/pipelines/{seen['first']['id']}", ects(s, "GET", f"/pipelines/{seen['first']['id']}"))
    assert "use: tasks/sum" in s.get("/api/v1/workflows/ects/first")["document"]
    own = ects(s, "GET", f"/pipelines/{seen['second']['id']}")
    own["steps"][0]["task"]["content"] = "echo its own"
    ects(s, "PUT", f"/pipelines/{seen['second']['id']}", own)
    assert ects(s, "GET", f"/tasks/{one['id']}")["content"] == "echo more"
    assert ects(s, "GET", f"/pipelines/{seen['second']['id']}")["steps"][0]["task"]["content"] == "echo its own"
    said = ects(s, "DELETE", "/tasks/call-1", expect=409)
    assert "ects/tasks/call is used by ects/first, ects/second" in said["error"]["message"], said
    for name in ("first", "second"):
        ects(s, "DELETE", f"/pipelines/{seen[name]['id']}")
        until("it is retired", lambda name=name: s.get(f"/api/v1/workflows/ects/{name}")["retired"])
    ects(s, "DELETE", "/tasks/call-1")
    ects(s, "DELETE", f"/tasks/{one['id']}")
    assert s.get("/api/v1/workflows/ects/tasks")["retired"]


@test
def what_is_wrong_with_an_ects_pipeline_is_one_answer(s):
    good = {"name": "wrong", "spec": "0 0 0 1 1 *", "steps": [step(shell("a", "true"))]}
    for change, words in (({"name": "two words"}, "cannot be called"), ({"name": None}, "name is missing"), ({"steps": []}, "needs steps"),
                          ({"spec": "61 * * * *"}, "61"), ({"colour": 1}, "has no 'colour'"), ({"steps": [step("nobody")]}, "no task 'nobody'"),
                          ({"steps": [step(shell("a", ""))]}, "has no content"), ({"overlap": "x"}, "overlap of a pipeline wants"),
                          ({"steps": [step({**shell("a", "b"), "mode": "ftp"})]}, "mode of the task 'a' is 'ftp'"),
                          ({"steps": [step(shell("a", "true"), environment="A")]}, "NAME=value"), ({"nodes": ["1d9988aa-4630"]}, "no node"),
                          ({"steps": [step(shell("a", "true"), dependence="odd")]}, "strong or weak")):
        said = ects(s, "POST", "/pipelines", {k: v for k, v in {**good, **change}.items() if v is not None}, expect=400)
        assert words in said["error"]["message"], (change, said)
    made = ects(s, "POST", "/pipelines", good)
    ects(s, "POST", "/pipelines", good, expect=409)
    ects(s, "POST", "/pipelines", {**good, "name": "other", "id": made["id"]}, expect=409)
    ects(s, "PUT", f"/pipelines/{made['id']}", {**good, "name": "other"}, expect=409)
    ects(s, "PUT", "/pipelines/nobody", good, expect=404)
    ects(s, "PUT", "/tasks/nobody", shell("a", "b"), expect=404)
    ects(s, "POST", "/tasks", shell("a b", "b"), expect=400)
    ects(s, "DELETE", f"/pipelines/{made['id']}")


# --- all ---------------------------------------------------------------------------------------------------


@test
def the_description_and_the_route_table_name_the_same_paths(s):
    """Method, path, role and handler; what is described as needed is missed when it is not there."""
    root_dir = Path(__file__).resolve().parents[2]
    text = (root_dir / "schema/openapi-seeds.yaml").read_text()
    rows = set(re.findall(r'^ROUTE\("(\w+)",\s*"([^"]+)",\s*(\w+),\s*\w+,\s*RF_(?:CHIN|JARVIS2|CRONTAB|ECTS),\s*(\w+)\)',
                          (root_dir / "cgi/seeds/routes_seeds.def").read_text(), re.M))
    described, needed = set(), {}
    blocks = [(path, m.upper(), block) for path, whole in re.findall(r"^  (/\S*):\n((?:    .*\n)+)", text, re.M)
              for m, block in re.findall(r"^    (\w+):\n((?:      .*\n)+)", whole, re.M)]
    for path, method, block in blocks:
        described.add((method, path, re.search(r"x-role: (\w+)", block).group(1).upper(), re.search(r"x-handler: (\w+)", block).group(1)))
        listed = re.search(r"^              required: \[(.*)\]", block, re.M)
        needed[method, path] = listed.group(1).split(", ") if listed else \
            re.findall(r"name: (\w+), in: query, required: true", block)
        fields = re.findall(r"^                (\w+): ", block, re.M) + re.findall(r"name: (\w+), in: query", block)
        good = {f: "x" for f in fields}
        status, answer = ask(s, method, path + ("?" if method == "GET" else "") + urllib.parse.urlencode({"colour": 1}
                             if method == "GET" else {}), None if method == "GET" else {**good, "colour": 1},
                             headers={"Authorization": f"Bearer {s.token}"})
        assert "SUCCEED" not in str(answer) and status in (200, 400, 404), (path, status, answer)
    assert described == rows, described ^ rows
    for (method, path), names in needed.items():
        status, answer = ask(s, method, path, None if method == "GET" else {}, headers={"Authorization": f"Bearer {s.token}"})
        if names and "job_id" not in str(answer) and "success" not in str(answer):
            assert any(n in str(answer) for n in names), (path, names, answer)


@test
def each_is_off_unless_its_setting_names_a_project(s):
    port = free_port()
    sets = {"listen": f"127.0.0.1:{port}", "server": f"127.0.0.1:{s.port}", "state_dir": s.dir / "plain", "web_dir": "",
            "key_file": s.dir / "cgi.key", "store": f"sqlite:{s.dir}/base", "jarvis2_project": "jarvis"}
    plain = Daemon(s, "plain", s.argv("sirdar-cgi", sets), r"cgi\.ready")
    plain.start()
    try:
        # GET of a path that takes POST: 404, too, not the 405 that would tell of the interface
        for method, path in (("POST", "/api/task/new"), ("POST", "/api/user/login"), ("GET", "/api/task/new"), ("GET", "/job/list"),
                             ("POST", "/ects/tasks"), ("GET", "/ects/nodes")):
            status, answer = ask(s, method, path, {} if method == "POST" else None, port=port)
            assert status == 404 and answer["error"]["code"] == "NOT_FOUND", (method, path, status, answer)
        assert ask(s, "GET", "/api/job/status?job_id=1", port=port)[0] == 400
    finally:
        assert plain.stop() == 0


def site():
    s = Site("seeds")
    s.cgi.argv += [w for k, v in SEEDS.items() for w in ("--set", f"{k}={v}")]
    s.start(types=("shell:8", "noop:64", "java:2", "mapreduce:2"))
    return s


if __name__ == "__main__":
    sys.exit(main(site))
