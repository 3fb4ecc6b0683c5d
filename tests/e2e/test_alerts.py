#!/usr/bin/env python3
"""What people were told of, as the API and the command line show it: who was told, by which channel,
whether it was taken; acknowledged, silenced, ended. TAP."""
import json
import os
import sqlite3
import sys
from datetime import datetime, timedelta, timezone

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import FAST, SECRET, AlertSite, alert, alerts, came, fails, told, workflow  # noqa: E402
from harness import main, test, until  # noqa: E402
from receivers import Smtp, certificate  # noqa: E402

DAY = "2026-03-01T00:00:00Z"


def ago(**delta):
    return (datetime.now(timezone.utc) - timedelta(**delta)).strftime("%Y-%m-%dT%H:%M:%SZ")


def now_due(s):
    """With the notifier away: what waits for a later time is due at once."""
    with sqlite3.connect(f"{s.dir}/notifier/outbox.db") as db:
        db.execute("UPDATE letter SET next_us = 0 WHERE state = 0")


@test
def what_was_told_is_listed_with_to_whom_and_whether_it_was_taken(s):
    s.web.answers["/slow"] = [(500, "no")] * 10000
    workflow(s, "seen", fails(4), ["webhook:hook", "webhook:slow", "mail:me@example.org"])
    a = alert(s, "al/seen", lambda a: told(a, "webhook:hook")["state"] == "sent"
              and told(a, "mail:me@example.org")["state"] == "sent" and told(a, "webhook:slow")["tries"] > 1)
    assert a["state"] == "open" and a["severity"] == "critical" and a["subject"] == "al/seen/t", a
    assert a["run_date"] == DAY and a["attempt"] == 1 and a["instance"] == s.instance("al/seen/t", DAY)["id"], a
    assert told(a, "webhook:hook")["channel"] == "hook" and told(a, "webhook:hook")["at"] >= a["since"], a
    assert told(a, "mail:me@example.org")["channel"] == "mail", a
    slow = told(a, "webhook:slow")
    assert slow["state"] == "waiting" and "500" in slow["error"] and slow["next"] and not slow["at"], a
    assert a == s.get("/api/v1/alerts/" + a["id"])
    assert [x["id"] for x in alerts(s, state="open", project="al", since=a["since"])] == [a["id"]]
    assert not alerts(s, state="ended", workflow="al/seen") and not alerts(s, kind="late", workflow="al/seen")
    s.web.answers["/slow"] = []
    a = alert(s, "al/seen", lambda a: told(a, "webhook:slow")["state"] == "sent")
    s.command("force-success", selection={"tasks": ["al/seen/t"], "dates": ["2026-03-01"]})
    ended = alert(s, "al/seen", lambda a: a["state"] == "ended")
    assert ended["ended"] >= a["since"] and ended["told"] == a["told"], ended
    assert SECRET not in json.dumps(alerts(s))


@test
def who_acknowledges_an_alert_ends_its_escalation(s):
    rules = [{"when": ["failed"], "to": ["webhook:hook"]},
             {"when": ["failed"], "to": ["webhook:team"], "after": "2h"}]
    for name in ("acked", "left"):
        workflow(s, name, fails(), [], alerts=rules)
        alert(s, f"al/{name}", lambda a: len(a["told"]) == 2 and told(a, "webhook:hook")["state"] == "sent")
    a = alert(s, "al/acked")
    assert told(a, "webhook:team")["state"] == "waiting" and not a["acknowledged"], a
    s.sirdar("alert", "ack", a["id"], "--note", "on it")
    a = s.get("/api/v1/alerts/" + a["id"])
    assert a["acknowledged"]["note"] == "on it" and a["acknowledged"]["by"] and a["acknowledged"]["at"], a
    assert [x["id"] for x in alerts(s, acknowledged="true")] == [a["id"]]
    s.notifier.stop()
    now_due(s)
    s.notifier.start()
    came(s, "/team", "al/left/t")
    a = alert(s, "al/acked", lambda a: told(a, "webhook:team")["state"] == "acknowledged")
    assert a["state"] == "open" and a["acknowledged"]["note"] == "on it", a
    assert not [x for b in s.web.taken("/team") for x in b["alerts"] if x["task"] == "al/acked/t"]
    assert any(x["action"] == "alert-ack" for x in s.get("/api/v1/audit")["items"])
    for id_, code in (("1", 404), ("x", 400)):
        status, answer = s.ask("POST", f"/api/v1/alerts/{id_}/acknowledge", {})
        assert status == code, (status, answer)
    done = s.sirdar("alert", "ack", "12", expect=None)
    assert done.returncode != 0 and "alert" in done.stderr, done.stderr


@test
def a_viewer_acknowledges_what_he_owns_and_nothing_else(s):
    for name in ("vera", "otto"):
        status, answer = s.ask("POST", "/api/v1/users", {"user": name, "password": "a long enough word", "role": "viewer"})
        assert status == 200, answer
    workflow(s, "hers", fails(), ["webhook:hook"], owner="vera")
    a = alert(s, "al/hers")
    admin, seen = s.token, {}
    for name in ("otto", "vera"):
        s.token = admin
        status, answer = s.ask("POST", "/api/v1/login", {"user": name, "password": "a long enough word", "name": name})
        assert status == 200, answer
        s.token = answer["token"]
        seen[name] = s.ask("POST", f"/api/v1/alerts/{a['id']}/acknowledge", {"note": name})
    s.token = admin
    assert seen["otto"][0] == 403 and "owner" in seen["otto"][1]["error"]["message"], seen
    assert seen["vera"][0] == 200, seen
    assert alert(s, "al/hers", lambda a: a["acknowledged"])["acknowledged"]["note"] == "vera"


@test
def a_silence_by_command_keeps_alerts_back_says_so_and_ends(s):
    workflow(s, "calm", fails(), ["webhook:hook"], start="2026-03-01", end="2026-03-01", state="draft")
    status, answer = s.ask("POST", "/api/v1/silences", {"workflow": "al/calm", "until": ago(hours=-2), "reason": "the disk is moved"})
    assert status == 200 and answer["state"] == "done", answer
    id_ = answer["command"]
    row = next(x for x in s.get("/api/v1/silences")["silences"] if x["id"] == id_)
    assert row["state"] == "active" and row["workflow"] == "al/calm" and row["project"] == "al" and not row["task"], row
    s.command("run-now", selection={"tasks": ["al/calm/t"], "dates": ["2026-03-01"]})
    workflow(s, "calm", fails(), ["webhook:hook"])
    a = alert(s, "al/calm", lambda a: told(a, "webhook:hook")["state"] == "silenced")
    assert a["silenced"] == "the disk is moved" and a["state"] == "open", a
    s.sirdar("silence", "remove", id_)
    assert not [x for x in s.get("/api/v1/silences?all=1")["silences"] if x["id"] == id_]
    s.command("redo", selection={"tasks": ["al/calm/t"], "dates": ["2026-03-01"]})
    assert came(s, "/hook", "al/calm/t")[0]["generation"] == 2
    assert len(alerts(s, workflow="al/calm", state="ended")) == 1
    s.sirdar("silence", "add", "--workflow", "al/calm", "--kind", "late", "--for", "30m", "--reason", "why not")
    assert "why not" in s.sirdar("silence", "list").stdout
    for body, word in (({"until": ago(hours=-1), "reason": "x"}, "missing"),
                       ({"workflow": "al/nothing", "until": ago(hours=-1), "reason": "x"}, "al/nothing"),
                       ({"project": "al", "until": ago(hours=1), "reason": "x"}, "after"),
                       ({"project": "al", "until": ago(hours=-1)}, "reason"),
                       ({"project": "al", "kind": "laet", "until": ago(hours=-1), "reason": "x"}, "late"),
                       ({"project": "al", "workflow": "other/w", "until": ago(hours=-1), "reason": "x"}, "other/w")):
        status, answer = s.ask("POST", "/api/v1/silences", body)
        assert status in (400, 404) and word in answer["error"]["message"], (body, answer)
    status, answer = s.ask("DELETE", "/api/v1/silences/999999")
    assert status == 404, answer


@test
def channels_say_how_they_go_and_are_tested_by_a_real_letter(s):
    until("the notifier is known", lambda: s.get("/api/v1/channels")["notifier"])
    s.web.answers["/chat"] = [(403, "invalid_token")]
    status, answer = s.ask("POST", "/api/v1/channels/chat/test", {})
    assert status == 200 and not answer["taken"] and "invalid_token" in answer["error"], answer
    status, answer = s.ask("POST", "/api/v1/channels/mail/test", {"to": "ann@example.org"})
    assert status == 200 and answer["taken"] and s.mail.got[-1][1] == ["ann@example.org"], answer
    listed = s.get("/api/v1/channels")
    of = {c["name"]: c for c in listed["channels"]}
    assert of["chat"]["kind"] == "slack" and of["chat"]["last_ok"] is False and "invalid_token" in of["chat"]["last_error"], of
    assert of["mail"]["last_ok"] is True and of["duty"]["last_at"] is None, of
    assert SECRET not in json.dumps(listed)
    assert "chat" in s.sirdar("channel", "list").stdout
    assert s.sirdar("channel", "test", "team").returncode == 0
    for name, body, code in (("nobody", {}, 404), ("mail", {}, 400)):
        status, answer = s.ask("POST", f"/api/v1/channels/{name}/test", body)
        assert status == code, answer


@test
def rules_say_who_is_told_of_what(s):
    s.apply('project: al\nalerts:\n  - {when: [late], to: ["slack:chat"]}\n', "al.yaml")
    workflow(s, "ruled", {**fails(), "late_after": "1h"}, [],
             alerts=[{"when": ["failed"], "to": ["webhook:hook"], "after": "10m"}])
    until("the notifier is known", lambda: s.get("/api/v1/channels")["notifier"])
    rules = s.get("/api/v1/rules?workflow=al/ruled")["tasks"]
    assert [t["task"] for t in rules] == ["al/ruled/t"], rules
    assert {"kind": "failed", "to": "webhook:hook", "after_s": 600, "from": "workflow"} in rules[0]["rules"], rules
    assert {"kind": "late", "to": "slack:chat", "after_s": 0, "from": "project"} in rules[0]["rules"], rules
    status, answer = s.ask("GET", "/api/v1/rules?workflow=al/nothing")
    assert status == 404, answer
    s.apply("project: al\nparameters: {}\n", "al.yaml")


@test
def receivers_away_for_an_hour_lose_no_alert_and_delay_no_job(s):
    """The hour is one of pauses: `retry_max_ms` is 400 instead of 600000, so six pauses are more than it."""
    waves, days = 3, 6  # together less than the lines of one letter
    cert, key = certificate(s.dir)
    relay = Smtp(tls=(cert, key), users={"sirdar": "canary-of-the-relay"})
    s.write_channels(mail={"type": "mail", "url": f"smtp://127.0.0.1:{relay.port}", "from": "sirdar@example.org",
                           "user": "sirdar", "password": "canary-of-the-relay", "ca_file": cert})
    s.notifier.stop()
    s.notifier = s.make(**{**FAST, "send_ms": 500}).start()
    workflow(s, "first", fails(), ["mail:ops@example.org"])
    until("a mail came over TLS, from who signed in", lambda: relay.got)
    assert relay.auths[0] == ("sirdar", True), relay.auths
    relay.awake.clear()                      # the relay hangs,
    s.web.answers["/hook"] = [None] * 10000  # one receiver takes letters and never answers,
    s.web.answers["/team"] = [(500, "no")] * 10000  # one fails at once
    to = ["mail:ops@example.org", "webhook:hook", "webhook:team"]
    for wave in range(waves):
        workflow(s, f"hour{wave}", fails(), to, end=f"2026-03-0{days}")
        assert len(s.wait_all_over(f"al/hour{wave}/t", days)) == days  # while nobody takes anything
        until("all are known", lambda wave=wave: len(alerts(s, workflow=f"al/hour{wave}", limit=100)) == days)
        s.notifier.kill()
        s.notifier.start()

    def tried(a):
        return min(t["tries"] for t in a["told"]) > 6 and all(t["state"] == "waiting" and t["error"] for t in a["told"])
    for wave in range(waves):
        try:
            until("an hour is over", lambda wave=wave: all(tried(a) for a in alerts(s, workflow=f"al/hour{wave}", limit=100)), 60)
        except Exception as e:
            raise AssertionError(f"{e}: {alerts(s, workflow=f'al/hour{wave}')[0]} {s.notifier.tail(8)}") from e
    assert not [b for p in ("/hook", "/team") for b in s.web.taken(p) for a in b["alerts"] if "hour" in a["task"]]
    s.notifier.kill()
    s.web.settle()
    s.notifier = s.make(**FAST).start()  # a slow machine's answer is no hanging one
    relay.awake.set()
    s.web.answers["/hook"], s.web.answers["/team"] = [], []
    s.web.hold.set()
    want = sorted((f"al/hour{w}/t", f"2026-03-0{d}T00:00:00Z") for w in range(waves) for d in range(1, days + 1))
    for path in ("/hook", "/team"):
        def came_to(path=path):
            return sorted((a["task"], a["run_date_text"]) for b in s.web.taken(path) for a in b["alerts"] if "hour" in a["task"])
        until(f"all came to {path}", lambda: len(set(came_to())) == len(want), 120)
        for wave in range(waves):
            until("that is written down", lambda wave=wave: all(
                t["state"] == "sent" for a in alerts(s, workflow=f"al/hour{wave}", limit=100) for t in a["told"]), 60)
        assert came_to() == want, (path, came_to())  # each once
        for body in s.web.taken(path):
            assert [a["number"] for a in body["alerts"]] == sorted(a["number"] for a in body["alerts"]), body
    text = "".join(m.get_content() for _, _, m in relay.got)
    assert all(text.count(f"{task} {date[:10]} failed") == 1 for task, date in want), text
    for wave in range(waves):
        rows = alerts(s, workflow=f"al/hour{wave}", limit=100)
        assert len(rows) == days and all(t["state"] == "sent" and t["tries"] > 6 for a in rows for t in a["told"]), rows
    assert all("canary" not in d for d in (s.notifier.text(), json.dumps(alerts(s, limit=500))))
    relay.close()


@test
def without_a_notifier_who_asks_is_told_so_and_what_was_told_stays(s):
    before = [a["id"] for a in alerts(s)]
    s.notifier.kill()
    until("it is gone", lambda: s.ask("GET", "/api/v1/rules?workflow=al/seen")[0] == 503)
    assert not s.get("/api/v1/channels")["notifier"]
    status, answer = s.ask("POST", "/api/v1/channels/hook/test", {})
    assert "no notifier is connected" in answer["error"]["message"] and answer["error"]["retry"], answer
    assert [a["id"] for a in alerts(s)] == before
    s.base.restart(hard=True)
    until("it leads again", lambda: s.ask("GET", "/api/v1/health")[0] == 200)
    open_one = alerts(s, state="open", acknowledged="false")[0]
    until("it is acknowledged", lambda: s.ask("POST", f"/api/v1/alerts/{open_one['id']}/acknowledge", {})[0] == 200)
    assert s.get("/api/v1/alerts/" + open_one["id"])["acknowledged"]
    s.notifier.start()
    until("it is asked again", lambda: s.get("/api/v1/channels")["notifier"])


if __name__ == "__main__":
    sys.exit(main(lambda: AlertSite().start()))
