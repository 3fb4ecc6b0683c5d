#!/usr/bin/env python3
"""Alerts: from a job that fails to the people who are told, through real receivers of mail and
HTTP, with a notifier that is killed and receivers that hang or refuse. TAP."""
import base64
import hashlib
import hmac
import html
import json
import os
import re
import shutil
import signal
import sqlite3
import sys
import time
from datetime import datetime, timedelta, timezone
from email import message_from_bytes, policy
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, main, test, until  # noqa: E402
from alert_site import FAST, SECRET, AlertSite, came, fails, workflow  # noqa: E402

@test
def a_failed_task_is_mailed_and_posted_with_what_happened(s):
    workflow(s, "both", {"title": "装载 · load", **fails(3)}, ["mail:me@example.org,you@example.org", "webhook:hook"])
    alert = came(s, "/hook", "al/both/t")[0]
    assert alert["event"] == "failed" and alert["exit_code"] == 3 and alert["title"] == "装载 · load", alert
    assert alert["run_date_text"] == "2026-03-01T00:00:00Z", alert
    sender, to, mail = until("the mail", lambda: s.mail.got)[0]
    assert sender == "sirdar@example.org" and to == ["me@example.org", "you@example.org"], (sender, to)
    assert "al/both/t (装载 · load) 2026-03-01 failed" in mail["Subject"], mail["Subject"]
    text = mail.get_content()
    link = "https://sirdar.example.org/p/al/both/t/2026-03-01?run=1&attempt=1"
    assert "Exit status: 3" in text and link in text.split(), text
    assert alert["label"] == "2026-03-01" and alert["link"] == link, alert


@test
def an_instance_knows_when_its_owner_was_told_of_its_end_and_a_redo_forgets_it(s):
    workflow(s, "known", fails(3), ["webhook:hook"])
    date = "2026-03-01T00:00:00Z"
    path = "/api/v1/instances/" + s.wait_state("al/known/t", date, "StopSchedule")["id"]

    def told(generation):
        i = s.get(path)
        return i if i.get("notified_at") and i["generation"] == generation else None
    i = until("the server knows", lambda: told(1))
    assert i["state"] == "StopSchedule" and "notified" in i["flags"] and i["notified"] == "webhook:hook", i
    assert i["notified_at"] >= i["ended"], i
    s.notifier.stop()
    s.command_over(s.command("redo", selection={"tasks": ["al/known/t"], "dates": ["2026-03-01"]}))
    again = until("it failed again", lambda: s.get(path)["generation"] == 2 and s.wait_state("al/known/t", date, "StopSchedule") and s.get(path))
    assert "notified_at" not in again and "notified" not in again["flags"], again
    s.notifier.start()
    then = until("told once more", lambda: told(2))
    assert then["notified_at"] > i["notified_at"], (then, i, s.get(path + "/events"))
    assert [e["event"] for e in s.get(path + "/events")["items"]].count("notified") == 2


@test
def a_webhook_is_signed_and_its_secret_is_nowhere(s):
    path, headers, _, body, _ = next(g for g in s.web.got if g[0] == "/hook")
    want = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Sirdar-Signature"] == f"sha256={want}", headers
    assert SECRET not in s.notifier.text()
    with open(f"/proc/{s.notifier.pid}/cmdline", "rb") as f:
        assert SECRET.encode() not in f.read()
    for file in (s.dir / "notifier").iterdir():
        assert SECRET.encode() not in file.read_bytes(), file


@test
def each_kind_of_channel_gets_its_own_shape(s):
    workflow(s, "shapes", fails(), ["dingtalk:ding", "wecom:work", "feishu:lark", "slack:chat",
                                    "telegram:gram", "pagerduty:duty", "alertmanager:am", "script:run"])

    def first(path):
        return until(path, lambda: [g for g in s.web.got if g[0].split("?")[0] == path])[0]
    ding = first("/ding")
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(ding[0]).query)
    sign = base64.b64encode(hmac.new(b"s1", f"{query['timestamp'][0]}\ns1".encode(),
                                     hashlib.sha256).digest()).decode()
    assert query["sign"] == [sign] and query["access_token"] == ["t"], ding[0]
    assert "al/shapes/t" in ding[2]["text"]["content"], ding[2]
    assert "失败" in first("/work")[2]["text"]["content"], first("/work")[2]
    lark = first("/lark")[2]
    sign = base64.b64encode(hmac.new(f"{lark['timestamp']}\ns2".encode(), b"", hashlib.sha256).digest())
    assert lark["sign"] == sign.decode() and "al/shapes/t" in lark["content"]["text"], lark
    assert "al/shapes/t" in first("/chat")[2]["text"]
    assert first("/gram")[2]["chat_id"] == "42"
    duty = first("/duty")[2]
    assert duty["routing_key"] == "route" and duty["event_action"] == "trigger", duty
    am = first("/am")[2]
    assert am[0]["labels"]["task"] == "al/shapes/t" and am[0]["startsAt"].endswith("Z"), am
    told = until("the script ran", lambda: (s.dir / "told").exists() and (s.dir / "told").read_text())
    assert json.loads(told.splitlines()[0])["alerts"][0]["task"] == "al/shapes/t", told


HOSTILE = ("</script><img src=x onerror=alert(1)> <!channel> <AT user_id=\"all\">x</AT> =?UTF-8?Q?=0ABcc:?= "
           "\\r\\nBcc: x@y BEGIN:VEVENT =cmd|'/c calc'!A0 &lt; ${jndi:x} %s \\")


@test
def a_title_is_text_to_every_receiver_whatever_stands_in_it(s):
    task, mails = "al/hostile/été.零售_-b", len(s.mail.got)
    head = {"workflow": "hostile", "project": "al", "timezone": "UTC", "start_date": "2026-03-01", "end_date": "2026-03-01", "title": HOSTILE,
            "alerts": [{"when": ["failed"], "to": ["mail:me@example.org", "webhook:hook", "dingtalk:ding", "wecom:work", "feishu:lark",
                                                   "slack:chat", "telegram:gram", "pagerduty:duty", "alertmanager:am", "script:run"]}],
            "defaults": {"type": "shell", "cycle": "day", "retry": {"attempts": 1}, "catchup": {"mode": "all"}},
            "tasks": {task.rsplit("/", 1)[1]: {"title": HOSTILE, **fails()}}}
    s.apply(json.dumps(head), "hostile.yaml", **{"from": "2026-03-01"})
    assert came(s, "/hook", task)[0]["title"] == HOSTILE
    _, to, mail = until("the mail", lambda: len(s.mail.got) > mails and s.mail.got[-1])
    assert to == ["me@example.org"] and mail["Bcc"] is None and not mail.defects, (to, mail.items())
    assert f"{task} ({HOSTILE}) 2026" in mail["Subject"] and HOSTILE in mail.get_content(), mail["Subject"]
    assert mail.get_content_type() == "text/plain" and all(len(mail.get_all(k)) == 1 for k in mail.keys()), mail.items()

    def body(path):
        return until(path, lambda: [g[2] for g in s.web.got if g[0].split("?")[0] == path and task in json.dumps(g[2], ensure_ascii=False)])[0]
    for path, text in (("/ding", lambda b: b["text"]["content"]), ("/work", lambda b: b["text"]["content"]), ("/gram", lambda b: b["text"]),
                       ("/duty", lambda b: b["payload"]["summary"]), ("/am", lambda b: b[0]["annotations"]["summary"])):
        assert HOSTILE in text(body(path)), (path, body(path))
    slack = body("/chat")["text"]
    assert not set(slack) & set("<>") and html.unescape(slack).count(HOSTILE) == 2, slack  # no sign of Slack's own: it calls nobody
    lark = body("/lark")["content"]["text"]
    assert "</" not in lark and "<at" not in lark.lower(), lark
    assert any(a["title"] == HOSTILE for line in (s.dir / "told").read_text().splitlines() if line for a in json.loads(line)["alerts"])


@test
def what_is_refused_is_tried_again_until_it_is_taken(s):
    s.web.answers["/hook"] = [(500, "no"), (429, "slowly"), (404, "gone")]
    s.web.answers["/ding"] = [(200, '{"errcode":310000,"errmsg":"keywords"}')]
    s.mail.refuse = 2
    before = len(s.mail.got)
    workflow(s, "again", fails(), ["webhook:hook", "dingtalk:ding", "mail:me@example.org"])
    came(s, "/hook", "al/again/t")
    until("the mail", lambda: len(s.mail.got) > before)
    until("DingTalk", lambda: any("al/again/t" in b["text"]["content"] for b in s.web.taken("/ding")))
    assert "HTTP status 404: gone" in s.notifier.text(), s.notifier.tail()
    assert "keywords" in s.notifier.text(), s.notifier.tail()


@test
def a_mail_is_as_the_standards_say_and_the_same_message_at_each_try(s):
    s.mail.refuse, before = 2, len(s.mail.got)
    del s.mail.refused[:]
    s.write_channels(**{"mail": {"type": "mail", "url": f"smtp://127.0.0.1:{s.mail.port}", "from": "sirdar@example.org", "language": "zh"}})
    s.notifier.proc.send_signal(1)
    until("the file was read", lambda: s.notifier.text(s.notifier.mark).count("channels.read") >= 2)
    began = datetime.now(timezone.utc).replace(microsecond=0)
    many = ",".join(f"person-{i}@example.org" for i in range(8))
    workflow(s, "std", fails(), [f"mail:{many}"])
    until("the mail", lambda: len(s.mail.got) > before)
    _, to, mail = s.mail.got[-1]
    assert not mail.defects and all(not v.defects for v in mail.values() if hasattr(v, "defects")), mail.defects
    assert to == many.split(",") == [a.addr_spec for a in mail["To"].addresses]
    assert mail["Message-ID"].startswith("<") and mail["Message-ID"].endswith("@example.org>"), mail["Message-ID"]
    assert began <= mail["Date"].datetime <= datetime.now(timezone.utc), mail["Date"]
    assert mail["Auto-Submitted"] == "auto-generated" and mail["MIME-Version"] == "1.0"
    assert mail.get_content_type() == "text/plain" and mail.get_content_charset() == "utf-8"
    assert "失败" in mail["Subject"] and "退出码: 3" in mail.get_content(), (mail["Subject"], mail.get_content())
    assert all(len(h) == 1 for h in (mail.get_all(k) for k in set(mail.keys())))
    tries = [message_from_bytes(m, policy=policy.SMTP + policy.strict)["Message-ID"] for m in s.mail.refused]
    assert tries == [mail["Message-ID"]] * 2, (tries, mail["Message-ID"])
    raw = s.mail.refused[0]
    assert all(len(line) <= 78 for line in raw.split(b"\r\n")) and not any(b > 126 for b in raw), raw
    workflow(s, "std2", fails(), ["mail:person-1@example.org"])
    until("another", lambda: len(s.mail.got) > before + 1)
    assert s.mail.got[-1][2]["Message-ID"] != mail["Message-ID"]
    s.write_channels()
    s.notifier.proc.send_signal(1)
    until("the file was read", lambda: s.notifier.text(s.notifier.mark).count("channels.read") >= 3)


@test
def a_receiver_that_hangs_holds_up_neither_jobs_nor_other_receivers(s):
    s.web.answers["/slow"] = [None] * 3
    workflow(s, "hang", fails(), ["webhook:slow", "webhook:hook"])
    came(s, "/hook", "al/hang/t")
    until("the slow one was asked", lambda: [g for g in s.web.got if g[0] == "/slow"])
    workflow(s, "beside", fails(), ["webhook:hook"])
    came(s, "/hook", "al/beside/t")
    s.web.hold.set()
    came(s, "/slow", "al/hang/t")


@test
def what_happens_at_once_comes_as_one_message(s):
    s.notifier.stop()
    s.notifier = s.make(**{**FAST, "group_ms": 1500}).start()
    before = len(s.web.taken("/hook"))
    workflow(s, "many", fails(), ["webhook:hook"], end="2026-03-30")
    alerts = came(s, "/hook", "al/many/t", 30)
    assert len({a["run_date"] for a in alerts}) == 30, alerts
    assert len(s.web.taken("/hook")) - before <= 10, len(s.web.taken("/hook")) - before
    several = [b for b in s.web.taken("/hook")[before:] if len(b["alerts"]) > 1]
    assert several and all(f"{len(b['alerts'])} alerts, the first" in b["subject"] for b in several)
    s.notifier.stop()
    s.notifier = s.make(**FAST).start()


@test
def what_is_not_started_in_time_is_told_as_late_and_what_runs_is_not(s):
    go = s.dir / "data" / "go"
    wait = {"params": {"script": f"while [ ! -e {go} ]; do sleep 0.05; done"}, "late_after": "1s"}
    workflow(s, "runs", wait, ["webhook:hook"], when=["late", "succeeded"])
    workflow(s, "late", {**fails(), "group": "nowhere", "late_after": "1s"}, ["webhook:hook"],
             when=["late", "forced"])
    late = came(s, "/hook", "al/late/t")[0]
    assert late["event"] == "late" and late["note"] == "DependenceFinish", late
    s.command("force-success", selection={"tasks": ["al/late/t"], "dates": ["2026-03-01"]})
    assert came(s, "/hook", "al/late/t", 2)[1]["event"] == "forced"
    go.touch()
    assert [a["event"] for a in came(s, "/hook", "al/runs/t")] == ["succeeded"]


@test
def a_rule_that_waits_is_told_only_when_nobody_has_mended_it(s):
    rules = [{"when": ["failed"], "to": ["webhook:hook"]},
             {"when": ["failed"], "to": ["oncall:dw"], "after": "2s"}]
    for name in ("left", "mended"):
        workflow(s, name, fails(), [], alerts=rules)
        came(s, "/hook", f"al/{name}/t")
    s.command("force-success", selection={"tasks": ["al/mended/t"], "dates": ["2026-03-01"]})
    alert = came(s, "/ding2", "al/left/t")[0]
    assert alert["event"] == "failed" and alert["after_us"] == 2000000, alert
    until("the other was found mended", lambda: s.notifier.has(r"alert\.mended.*al/mended/t"))
    assert not [a for b in s.web.taken("/ding2") for a in b["alerts"] if a["task"] == "al/mended/t"]


@test
def what_runs_longer_than_it_may_is_told_once(s):
    go = s.dir / "data" / "long"
    workflow(s, "long", {"params": {"script": f"while [ ! -e {go} ]; do sleep 0.05; done"},
                         "long_after": "1s"}, ["webhook:hook"], when=["long", "succeeded"])
    alert = came(s, "/hook", "al/long/t")[0]
    assert alert["event"] == "long" and alert["note"] == "Running", alert
    go.touch()
    assert [a["event"] for a in came(s, "/hook", "al/long/t", 2)] == ["long", "succeeded"]


@test
def a_projects_rules_are_of_all_its_workflows_but_for_the_tasks_they_name(s):
    s.apply('project: al\nalerts:\n  - {when: [failed], tasks: [here], to: ["webhook:team"]}\n', "al.yaml")
    workflow(s, "there", fails(), ["webhook:hook"])
    workflow(s, "here", fails(), ["webhook:hook"])
    came(s, "/hook", "al/there/t")
    assert came(s, "/team", "al/here/t")[0]["event"] == "failed"
    assert {a["task"] for b in s.web.taken("/team") for a in b["alerts"]} == {"al/here/t"}
    s.command("quota-set", project="al", running=50)  # the document is printed anew, its rules stay
    s.command("redo", selection={"tasks": ["al/here/t"], "dates": ["2026-03-01"]})
    assert [a["generation"] for a in came(s, "/team", "al/here/t", 2)] == [1, 2]


@test
def a_silence_of_a_project_keeps_its_alerts_back_and_says_why(s):
    until_ = (datetime.now(timezone.utc) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    s.apply(f'project: al\nsilences:\n  - {{until: "{until_}", tasks: [quiet], reason: "the disk is moved"}}\n', "al.yaml")
    workflow(s, "quiet", fails(), ["webhook:hook"])
    workflow(s, "aloud", fails(), ["webhook:hook"])
    until("one is kept back", lambda: s.notifier.has(r'alert\.silenced.*al/quiet/t.*the disk is moved'))
    came(s, "/hook", "al/aloud/t")
    assert not [a for b in s.web.taken("/hook") for a in b["alerts"] if a["task"] == "al/quiet/t"]
    s.apply("project: al\nparameters: {}\n", "al.yaml")
    s.command("redo", selection={"tasks": ["al/quiet/t"], "dates": ["2026-03-01"]})
    assert came(s, "/hook", "al/quiet/t")[0]["generation"] == 2


@test
def a_broker_that_is_lost_or_back_and_another_leader_are_told_once(s):
    b = s.add_broker("b2", types=("noop:1",))

    def told(subject):
        return [a["event"] for p in s.web.taken("/machines") for a in p["alerts"] if a["task"] == subject]
    until("the notifier has seen it", lambda: s.notifier_fact("broker b2") == "ok")
    b.stop()
    until("it is told as lost", lambda: told("broker b2") == ["broker_lost"], 200)
    until("that is written down", s.nothing_waits)
    s.notifier.kill()
    s.notifier.start()
    b.start()
    until("it is told as back", lambda: told("broker b2") == ["broker_lost", "broker_back"], 200)
    assert not told("leader")
    s.base.restart(hard=True)
    until("it leads again", lambda: told("leader") == ["leader_changed"], 200)
    note = [a["note"] for p in s.web.taken("/machines") for a in p["alerts"] if a["task"] == "leader"][0]
    server = s.get("/api/v1/server")
    assert note == f"server {server['name']} leads again after a restart, epoch {server['epoch']}", note
    b.stop()


@test
def after_a_loss_that_was_accepted_alerts_go_on_from_where_the_store_stands(_):
    with AlertSite("past") as s:
        s.start()
        days = {"start": "2026-03-01", "end": "2026-03-20"}
        s.base.stop()
        store, older = s.dir / "base", s.dir / "older"
        shutil.copytree(store, older, ignore=lambda d, names: [n for n in names if not n.startswith("sirdar.db")])
        s.base.start()
        s.wait_broker("b1", ["shell"])
        workflow(s, "lost", fails(), ["webhook:hook"], **days)
        came(s, "/hook", "al/lost/t", 20)
        s.base.stop()
        for file in store.glob("sirdar.db*"):
            file.unlink()
        for file in older.iterdir():
            shutil.copy(file, store / file.name)
        done = s.run([BIN / "sirdar-db", "accept-loss", "--yes", f"sqlite:{store}"])
        assert done.returncode == 0, done.stderr
        s.base.start()
        s.wait_broker("b1", ["shell"])
        workflow(s, "found", fails(), ["webhook:hook"], **days)
        # Fewer events than were lost; each has a number that an alert of the former past had.
        dates = {a["run_date"] for a in came(s, "/hook", "al/found/t", 20)}
        assert len(dates) == 20, dates
        assert s.notifier.has(r"news\.past was=\d+ cursor=\d+"), s.notifier.tail()
        said = s.run([*s.notifier.argv, "--status"]).stdout
        assert "another past" in said and "went on after event" in said, said


@test
def a_promise_that_is_not_kept_is_told(s):
    today = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    workflow(s, "vow", {"params": {"script": "sleep 30"}, "cycle": "day"}, ["webhook:hook"],
             when=["at_risk", "breached"], start=today, end=today,
             baselines=[{"task": "t", "committed": "00:00"}])
    assert came(s, "/hook", "al/vow/t")[0]["event"] == "breached"
    s.command("kill", selection={"tasks": ["al/vow/t"], "dates": [today]})


@test
def a_retry_is_told_apart_from_the_last_failure(s):
    workflow(s, "retry", {"params": {"script": "exit 1"}, "retry": {"attempts": 3, "delay": "1s"}},
             ["webhook:hook"], when=["retried", "failed"])
    events = [a["event"] for a in came(s, "/hook", "al/retry/t", 3)]
    assert events == ["retried", "retried", "failed"], events


@test
def a_notifier_killed_again_and_again_loses_no_alert(s):
    kills = int(os.environ.get("KILLS", "6"))
    workflow(s, "storm", fails(), ["webhook:hook"], end="2026-05-09")
    for _ in range(kills):
        seen = len(s.web.got)
        until("something came", lambda: len(s.web.got) > seen or s.instances("al/storm/t"))
        s.notifier.kill()
        s.notifier.start()
    s.wait_all_over("al/storm/t", 70)
    until("all 70 were told", lambda: len({a["run_date"] for b in s.web.taken("/hook")
                                           for a in b["alerts"] if a["task"] == "al/storm/t"}) == 70, 60)


@test
def owners_are_told_when_the_administrator_says_so(s):
    s.write_channels(owners="failed")
    s.notifier.proc.send_signal(1)
    until("the file was read", lambda: s.notifier.text(s.notifier.mark).count("channels.read") >= 2)
    workflow(s, "owned", fails(), ["webhook:hook"], owner="ann@example.org")
    until("ann has mail", lambda: any(to == ["ann@example.org"] for _, to, _ in s.mail.got))


def told_of(s, task):
    """recipient -> (state, why) of the alerts of a task, as the server's rows say."""
    rows = [a for a in s.get("/api/v1/alerts?limit=200")["items"] if a["task"] == task]
    return {t["to"]: (t["state"], t["error"]) for a in rows for t in a["told"]}


@test
def an_owner_is_told_by_the_ways_he_has_and_who_has_none_is_named(s):
    s.write_channels(owners="failed")
    s.notifier.proc.send_signal(1)
    until("the file was read", lambda: s.notifier.text(s.notifier.mark).count("channels.read") >= 2)
    for name, more in (("wang", {"mail": "wang@example.org"}), ("alice", {}), ("chuck", {"chat": "slack:chat"}),
                       ("gone", {"mail": "gone@example.org", "disabled": True}),
                       ("lost", {"chat": "slack:nowhere"})):
        status, answer = s.ask("POST", "/api/v1/users", {"user": name, "role": "viewer", **more})
        assert status == 200, answer
    assert s.ask("POST", "/api/v1/groups", {"name": "dw", "role": "none", "members": ["wang", "chuck", "alice", "gone"]})[0] == 200
    untold = lambda name, why: {f"owner:{name}": ("dropped", f"not told: {name} {why}")}
    mailed, chatted = {"mail:wang@example.org": ("sent", None)}, {"slack:chat": ("sent", None)}
    for owner, want in (("wang", mailed), ("chuck", chatted), ("alice", untold("alice", "has no address")),
                        ("dw", {**mailed, **chatted, **untold("alice", "has no address")}),
                        ("gone", untold("gone", "is disabled")),
                        ("lost", untold("lost", "has an address that no channel serves")),
                        ("who", untold("who", "is nobody here"))):
        workflow(s, f"of-{owner}", fails(), [], owner=owner, alerts=[])
        until(f"what became of it: {owner}", lambda: told_of(s, f"al/of-{owner}/t") == want)
    assert [to for _, to, m in s.mail.got if "al/of-wang/t" in m["Subject"]] == [["wang@example.org"]]
    rules = {r["to"] for t in json.loads(s.sirdar("rule", "list", "al/of-dw", "--json").stdout) for r in t["rules"]}
    assert rules == {"mail:wang@example.org", "slack:chat", "owner:alice"}, rules


@test
def a_wrong_channels_file_is_named_with_its_place(s):
    file = s.dir / "wrong.yaml"
    file.touch(0o600)
    for text, *words in (
            ("channels: {a: {type: fax}}", "wrong.yaml:1:", "type: want mail"),
            ("channels: {a: {type: mail, url: 'smtp://h'}}", "needs `from`"),
            ("channels: {a: {type: webhook, url: 'ftp://h'}}", "want https"),
            ("channels: {a: {type: webhook, url: 'http://example.org'}}", "insecure"),
            ("channels: {a: {type: script, argv: [run]}}", "begins with /"),
            ("channels: {a: {type: webhook, url: 'https://h', colour: red}}", "no key of a channel"),
            ("channels: {}\noncall: {a: {people: []}}", "people: want a list"),
            ("channels: {}\noncall: {a: {people: [\"slack:x\"], from: now}}", "no channel 'x'"),
            ("channels: {m: {type: slack, url: 'https://h'}}\noncall: {a: {people: [\"slack:m\"], from: 2026-03-01}}",
             "from: want the instant"),
            ("channels: {}\noncall: {a: {person: []}}", "no key here: people, from, every"),
            ("channels: {}\nsystem: [{when: [failed], to: []}]", "when: want broker_lost"),
            ("channels: {}\nsystem: [{when: [trouble]}]", "system: want {when"),
            ("channels: {}\nowners: all", "owners: want never, failed or done"),
            ("what: 1", "want `channels:`")):
        file.write_text(text)
        done = s.run([*s.argv("sirdar-notifier", {"channels_file": file}), "--test", "webhook:a"])
        assert done.returncode != 0 and all(w in done.stderr for w in words), (text, done.stderr)
    file.chmod(0o644)
    done = s.run([*s.argv("sirdar-notifier", {"channels_file": file}), "--test", "webhook:a"])
    assert done.returncode != 0 and "wrong.yaml" in done.stderr, done.stderr


@test
def a_test_message_says_at_once_whether_it_was_taken(s):
    base = s.argv("sirdar-notifier", {"channels_file": s.channels})
    assert s.run([*base, "--test", "mail:you@example.org"]).returncode == 0
    assert s.mail.got[-1][1] == ["you@example.org"]
    s.web.answers["/chat"] = [(403, "invalid_token")]
    done = s.run([*base, "--test", "slack:chat"])
    assert done.returncode != 0 and "403: invalid_token" in done.stderr, done.stderr
    done = s.run([*base, "--test", "slack:nobody"])
    assert done.returncode != 0 and "no channel 'nobody' of type slack" in done.stderr, done.stderr
    status = [*s.argv("sirdar-notifier", {"state_dir": s.dir / "notifier"}), "--status"]
    until("nothing waits", lambda: "waiting 0" in s.run(status).stdout)


def other(s, **sets):
    """The notifier with other settings than it has in these tests."""
    s.notifier.stop()
    s.notifier = s.make(**{**FAST, **sets}).start()


def about(s, path, task):
    return [b for b in s.web.taken(path) if any(a["task"] == task for a in b["alerts"])]


@test
def the_settings_of_the_notifier_say_the_language_the_links_and_how_much_it_logs(s):
    def text(name):
        workflow(s, name, fails(), ["slack:chat"])
        return until("it is told", lambda: [g[2]["text"] for g in s.web.got if g[0] == "/chat" and f"al/{name}/t" in g[2]["text"]])[0]
    s.write_channels()
    other(s)
    first = text("english")
    assert "failed" in first and "https://sirdar.example.org/" in first, first
    assert not s.notifier.has(r" debug ", s.notifier.mark)
    other(s, language="zh", console_url="https://other.example.org", log_level="debug")
    second = text("chinese")
    assert "失败" in second and "https://other.example.org/" in second, second
    assert s.notifier.has(r" debug alert\.letter ", s.notifier.mark), s.notifier.tail()
    other(s)


@test
def a_message_has_group_max_alerts(s):
    other(s, group_ms=1500, group_max=3)
    workflow(s, "three", fails(), ["webhook:hook"], end="2026-03-10")
    came(s, "/hook", "al/three/t", 10)
    sizes = [len(b["alerts"]) for b in about(s, "/hook", "al/three/t")]
    assert max(sizes) <= 3 and len(sizes) >= 4, sizes
    other(s)


@test
def sends_max_deliveries_are_under_way(s):
    for name, most in (("alone", 1), ("beside2", 16)):
        s.web.hold.clear()
        s.web.answers["/slow"] = [None]
        other(s, sends_max=most)
        workflow(s, f"{name}-slow", fails(), ["webhook:slow"])
        until("the slow one is asked", lambda: [g for g in s.web.got if g[0] == "/slow" and f"al/{name}-slow/t" in str(g[2])])
        workflow(s, name, fails(), ["webhook:hook"])
        if most == 1:
            s.wait_state(f"al/{name}/t", "2026-03-01T00:00:00Z", "StopSchedule")
            end = time.monotonic() + 1
            while time.monotonic() < end:
                assert not about(s, "/hook", f"al/{name}/t"), "two were under way"
            s.web.hold.set()
        came(s, "/hook", f"al/{name}/t")
        s.web.hold.set()
        came(s, "/slow", f"al/{name}-slow/t")
    other(s)


@test
def what_is_refused_is_tried_again_within_retry_max_ms_and_given_up_after_give_up_ms(s):
    def tries(name):
        return len([g for g in s.web.got if g[0] == "/team" and f"al/{name}/t" in str(g[2])])
    s.web.answers["/team"] = [(500, "no")] * 100000
    other(s, retry_min_ms=10, retry_max_ms=20)
    workflow(s, "often", fails(), ["webhook:team"])
    until("it is tried often", lambda: tries("often") > 40)
    assert not s.notifier.has(r"alert\.given_up")
    other(s, retry_min_ms=10, retry_max_ms=20, give_up_ms=1000)
    until("it is given up", lambda: s.notifier.has(r"alert\.given_up .*task=al/often/t"))
    until("that is written down", s.nothing_waits)
    other(s, retry_min_ms=10, retry_max_ms=3600000)
    workflow(s, "seldom", fails(), ["webhook:team"])
    until("it was tried", lambda: tries("seldom"))
    end = time.monotonic() + 2
    while time.monotonic() < end:
        assert tries("seldom") <= 40, "the pauses do not grow"
    s.web.answers["/team"] = []
    other(s)


@test
def what_was_told_is_kept_for_keep_ms(s):
    other(s)
    workflow(s, "kept", fails(), ["webhook:hook"])
    came(s, "/hook", "al/kept/t")
    until("it is written down", s.nothing_waits)
    assert s.notifier.stop() == 0
    with sqlite3.connect(s.dir / "notifier/outbox.db") as db:  # it was over ten days ago
        letter, alert = db.execute("SELECT id, alert FROM letter ORDER BY id DESC").fetchone()
        then = int((time.time() - 10 * 86400) * 1e6)
        db.execute("UPDATE letter SET ended_us = ? WHERE id = ?", (then, letter))
        db.execute("UPDATE alert SET ended_us = ? WHERE id = ?", (then, alert))

    def is_kept():
        with sqlite3.connect(f"file:{s.dir}/notifier/outbox.db?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM letter WHERE id = ?", (letter,)).fetchone()[0] == 1
    other(s, keep_ms=20 * 86400000)
    workflow(s, "more", fails(), ["webhook:hook"])
    came(s, "/hook", "al/more/t")  # it has looked
    assert is_kept()
    other(s, keep_ms=5 * 86400000)
    until("it is forgotten", lambda: not is_kept())
    other(s)


@test
def a_notifier_gets_in_by_its_name_and_key_file(s):
    s.add_key("teller", "notifier")
    other(s, name="teller", key_file=s.dir / "teller.key")
    until("it is let in", lambda: s.base.has(r"session\.greeted .*name=teller role=3"))
    assert s.notifier.stop() == 0
    for wrong in ({"name": "teller"}, {"key_file": s.dir / "teller.key"}):  # the one does not fit the other
        done = s.run(s.make(**FAST, **wrong).argv)
        assert done.returncode == 69 and "has no key for" in done.stderr, done
    other(s)


@test
def a_key_that_the_server_has_not_read_is_named_on_both_sides_until_a_reload(s):
    made = s.run([*s.base.argv, "key-add", "fresh", "notifier"])  # nobody tells the server
    path = s.dir / "fresh.key"
    path.touch(0o600)
    path.write_text(made.stdout)
    mark = s.base.log.stat().st_size
    other(s, name="fresh", key_file=path)
    until("the notifier says why", lambda: s.notifier.has(r'warn server\.unreachable .*refuses identity fresh', s.notifier.mark))
    assert s.base.has(r"session\.end .*unknown identity or wrong key: 'fresh' was offered; .* SIGHUP", mark), s.base.tail()
    s.base.proc.send_signal(signal.SIGHUP)
    until("it is let in", lambda: s.base.has(r"session\.greeted .*name=fresh role=3", mark))
    told = len(re.findall(r"warn server\.unreachable", s.notifier.text(s.notifier.mark)))
    assert told == 1, told
    other(s)


if __name__ == "__main__":
    sys.exit(main(lambda: AlertSite().start()))
