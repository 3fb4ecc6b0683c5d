#!/usr/bin/env python3
"""Channels, on-call lists and rules that are documents of the server: made while the notifier runs, tested well
and badly, with secrets that nobody sees again; people of projects; a notifier that is away. TAP."""
import json
import os
import sys
from datetime import datetime, timedelta, timezone

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import AlertSite, alert, came, fails, told, workflow  # noqa: E402
from harness import main, test, until  # noqa: E402
from receivers import Smtp, certificate  # noqa: E402

CANARY = "canary-of-the-channel-4711"


def channel(s, name, expect=200, **args):
    status, answer = s.ask("POST", "/api/v1/channels", {"channel": name, **args})
    assert status == expect, (status, answer)
    return answer


def post(s, what, expect=200, **args):
    status, answer = s.ask("POST", f"/api/v1/{what}", args)
    assert status == expect, (status, answer)
    return answer


def listed(s):
    return {c["name"]: c for c in s.get("/api/v1/channels")["channels"]}


def try_(s, name, **body):
    status, answer = s.ask("POST", f"/api/v1/channels/{name}/test", body)
    assert status == 200, (status, answer)
    return answer


def here(s):
    until("the notifier is known", lambda: s.get("/api/v1/channels")["notifier"])


@test
def a_channel_made_by_command_tells_people_without_a_restart_and_its_secrets_are_seen_nowhere(s):
    here(s)
    channel(s, "made", kind="webhook", url=s.web.url("/made?token=" + CANARY), secret=CANARY + "-s")
    workflow(s, "first", {"params": {"script": "true"}}, ["bell:console"])
    post(s, "rules", rule="made", when=["failed"], to=["webhook:made"], project="al")
    workflow(s, "docs", fails(3), ["bell:console"])
    came(s, "/made", "al/docs/t")
    path, headers, *_ = next(g for g in s.web.got if g[0].startswith("/made"))
    assert CANARY in path and headers["X-Sirdar-Signature"].startswith("sha256="), (path, headers)
    c = listed(s)["made"]
    assert c["made"] == "server" and c["where"] == s.web.url("") and c["secrets"] == ["url", "secret"] and c["last_ok"], c
    s.sirdar("channel", "list")
    shown = json.loads(s.sirdar("channel", "show", "made").stdout)
    assert shown["secrets"] == ["url", "secret"], shown
    for path in ("/api/v1/channels", "/api/v1/audit", "/api/v1/commands?limit=100", "/api/v1/alerts", "/api/v1/rules?workflow=al/docs"):
        assert CANARY not in json.dumps(s.get(path)), path
    for at, _, files in os.walk(s.dir):
        for f in files:
            file = os.path.join(at, f)
            if os.path.isfile(file) and not os.path.islink(file):
                with open(file, "rb") as f_:
                    assert CANARY.encode() not in f_.read(), file


@test
def what_was_asked_for_is_not_repeated_by_a_refusal(s):
    """It may stand in the log of whoever runs the command: the address of a chat lets anybody write there."""
    for url in (f"http://chat.example.org/{CANARY}", f"https://user:{CANARY}@chat.example.org/", CANARY):
        done = s.sirdar("channel", "set", "typed", "--kind", "slack", "--ask-url", stdin=url + "\n", expect=1)
        assert "--url" in done.stderr and CANARY not in done.stdout + done.stderr, done.stderr
    done = s.sirdar("channel", "set", "typed", "--kind", "mail", "--url", "smtp://user@relay.example.org", expect=1)
    assert "smtp://user@relay.example.org" in done.stderr, done.stderr  # that was said
    done = s.sirdar("target", "set", "typed", "--kind", "postgresql", "--host", "h", "--password", stdin=CANARY * 400 + "\n", expect=None)
    assert done.returncode and CANARY not in done.stdout + done.stderr, done


@test
def a_change_counts_at_once_and_what_is_not_said_stays(s):
    channel(s, "moves", kind="webhook", url=s.web.url("/before"), secret="first-secret")
    assert try_(s, "moves")["outcome"] == "sent" and s.web.taken("/before")
    channel(s, "moves", url=s.web.url("/after"))
    assert try_(s, "moves")["taken"] and s.web.taken("/after")
    assert next(g for g in s.web.got if g[0] == "/after")[1]["X-Sirdar-Signature"]
    channel(s, "moves", secret="")
    assert try_(s, "moves")["taken"] and "X-Sirdar-Signature" not in s.web.got[-1][1], s.web.got[-1]
    assert listed(s)["moves"]["secrets"] == ["url"]


@test
def a_test_says_how_it_went(s):
    tls = certificate(s.dir)
    smtp = Smtp(tls=tls, users={"sirdar": "right"})
    channel(s, "mail2", kind="webhook", url=s.web.url("/bad"))
    s.web.answers["/bad"] = [(403, "invalid_token")]
    a = try_(s, "mail2")
    assert a["outcome"] == "refused" and "403" in a["error"] and "invalid_token" in a["error"] and not a["taken"], a
    assert a["took_ms"] >= 0
    channel(s, "gone", kind="webhook", url="http://127.0.0.1:9/x")
    a = try_(s, "gone")
    assert a["outcome"] == "not reached", a
    done = s.sirdar("channel", "test", "gone", expect=None)
    assert done.returncode != 0 and "no connection" in done.stderr, done
    for text, want in (("", 404),):
        status, answer = s.ask("POST", "/api/v1/channels/nothing/test", {})
        assert status == want, (text, answer)
    smtp.close()


@test
def a_relay_that_refuses_a_password_says_so_in_its_own_words(s):
    smtp = Smtp(users={"sirdar": "right"})
    s.channels.unlink()
    write = json.dumps({"channels": {"hook": {"type": "webhook", "url": s.web.url("/hook")}}})
    s.channels.touch(0o600)
    s.channels.write_text(write)
    s.notifier.restart()
    here(s)
    channel(s, "mail", kind="mail", url=f"smtp://127.0.0.1:{smtp.port}", sender="sirdar@example.org",
            user="sirdar", password=CANARY, insecure=True)
    a = try_(s, "mail", to="ann@example.org")
    assert a["outcome"] in ("refused", "failed"), a
    assert CANARY not in json.dumps(a), a
    smtp.close()
    s.write_channels()
    s.notifier.restart()
    here(s)
    both = [c for c in s.get("/api/v1/channels")["channels"] if c["name"] == "mail"]
    assert [(c["made"], c["hidden"]) for c in both] == [("file", False), ("server", True)], both
    s.sirdar("channel", "remove", "mail")


@test
def a_file_takes_lines_and_is_set_aside_at_its_limit(s):
    s.notifier.stop()
    s.notifier = s.make(group_ms=0, retry_min_ms=50, retry_max_ms=400, send_ms=20000, file_bytes=1000)
    s.notifier.start()
    here(s)
    channel(s, "lines", kind="file")
    for n in range(5):
        assert try_(s, "lines")["taken"]
    folder = s.dir / "notifier" / "files"
    assert (folder.stat().st_mode & 0o777, (folder / "lines.jsonl").stat().st_mode & 0o777) == (0o700, 0o600)
    names = sorted(f.name for f in folder.iterdir())
    assert names[:2] == ["lines.jsonl", "lines.jsonl.1"] and len(names) <= 4, names
    for f in folder.iterdir():
        assert f.stat().st_size <= 1000
        assert all(json.loads(x)["alerts"][0]["event"] == "test" for x in f.read_text().splitlines()), f
    assert "lines.jsonl.2" in names or sum(len(f.read_text().splitlines()) for f in folder.iterdir()) == 5
    (folder / "lines.jsonl").unlink()
    (folder / "lines.jsonl").symlink_to(s.dir / "elsewhere")
    a = try_(s, "lines")
    assert not a["taken"] and not (s.dir / "elsewhere").exists(), a
    (folder / "lines.jsonl").unlink()
    for name in ("../x", "a/b", ""):
        status, answer = s.ask("POST", "/api/v1/channels", {"channel": name, "kind": "file"})
        assert status == 400, (name, answer)


@test
def the_bell_keeps_an_alert_and_sends_nothing(s):
    workflow(s, "rings", fails(), ["bell:console"])
    a = alert(s, "al/rings", lambda a: told(a, "bell:console")["state"] == "sent")
    assert a["state"] == "open" and told(a, "bell:console")["channel"] == "console", a


@test
def an_on_call_list_tells_all_or_whose_turn_it_is_and_people_by_their_ways(s):
    post(s, "users", user="ann", password="a long enough word", role="viewer", chat="webhook:ann")
    channel(s, "ann", kind="webhook", url=s.web.url("/ann"))
    channel(s, "bob", kind="webhook", url=s.web.url("/bob"))
    post(s, "oncall", oncall="both", people=["user:ann", "webhook:bob"])
    long_ago = (datetime.now(timezone.utc) - timedelta(days=8)).strftime("%Y-%m-%d 00:00")
    post(s, "oncall", oncall="weekly", people=["webhook:bob", "user:ann"], every="week", zone="Asia/Shanghai", start=long_ago)
    now = {x["name"]: x for x in s.get("/api/v1/oncall")["lists"]}
    assert now["both"]["now"] == ["user:ann", "webhook:bob"] and now["both"]["until"] is None, now
    assert now["weekly"]["now"] == ["user:ann"] and now["weekly"]["until"], now
    assert "user:ann" in s.sirdar("oncall", "list").stdout
    workflow(s, "duty", fails(), ["oncall:both"])
    came(s, "/ann", "al/duty/t")
    came(s, "/bob", "al/duty/t")
    workflow(s, "week", fails(), ["oncall:weekly"])
    came(s, "/ann", "al/week/t")
    assert not [a for b in s.web.taken("/bob") for a in b["alerts"] if a["task"] == "al/week/t"]


@test
def a_channel_that_a_rule_names_stays_and_wrong_ones_are_refused_with_a_reason(s):
    channel(s, "kept", kind="webhook", url=s.web.url("/kept"))
    post(s, "rules", rule="kept", when=["late"], to=["webhook:kept"])
    done = s.sirdar("channel", "remove", "kept", expect=None)
    assert done.returncode != 0 and "rule kept" in done.stderr, done
    s.sirdar("rule", "remove", "kept")
    s.sirdar("channel", "remove", "kept")
    assert "kept" not in listed(s)
    workflow(s, "lost", fails(), ["webhook:kept"])
    a = alert(s, "al/lost", lambda a: told(a, "webhook:kept")["error"])
    assert "no channel 'kept'" in told(a, "webhook:kept")["error"], a
    for args, word in (({"kind": "webhook"}, "args.url"), ({"kind": "smoke"}, "no kind"), ({"kind": "script"}, "channels_file"),
                       ({"kind": "bell"}, "bell:console"), ({"kind": "webhook", "url": "ftp://x"}, "https://"),
                       ({"kind": "webhook", "url": "http://example.org/x"}, "clear"),
                       ({"kind": "webhook", "url": "https://me:pw@example.org/x"}, "password"),
                       ({"kind": "mail", "url": "smtp://127.0.0.1:25"}, "args.sender"), ({"kind": "file", "projects": ["a b"]}, "not a name"),
                       ({"kind": "slack", "url": "https://example.org/x", "language": "fr"}, "en or zh")):
        status, answer = s.ask("POST", "/api/v1/channels", {"channel": "wrong", **args})
        assert status in (400, 404) and word in json.dumps(answer), (args, answer)
    for args, word in (({"when": ["laet"], "to": ["owner"]}, "late"), ({"when": ["late"], "to": ["nobody"]}, "nobody"),
                       ({"when": ["late"]}, "args.to"), ({"when": ["late", "disk"], "to": ["bell:console"]}, "machines"),
                       ({"when": ["late"], "to": ["owner"], "project": "nowhere"}, "nowhere"),
                       ({"when": ["late"], "to": ["owner"], "after": "soon"}, "30m")):
        status, answer = s.ask("POST", "/api/v1/rules", {"rule": "wrong", **args})
        assert status in (400, 404) and word in json.dumps(answer), (args, answer)
    for args, word in (({"people": []}, "nobody"), ({"people": ["oncall:x"]}, "nobody to tell"),
                       ({"people": ["user:ann"], "every": "week"}, "handover"), ({"people": ["user:ann"], "every": "hour"}, "week"),
                       ({"people": ["user:ann"], "zone": "Mars/Olympus"}, "zone")):
        status, answer = s.ask("POST", "/api/v1/oncall", {"oncall": "wrong", **args})
        assert status in (400, 404) and word in json.dumps(answer), (args, answer)


@test
def who_operates_a_project_has_its_channels_and_no_others(s):
    post(s, "users", user="olga", password="a long enough word", role="operator", projects=["al"])
    admin = s.token
    status, answer = s.ask("POST", "/api/v1/login", {"user": "olga", "password": "a long enough word", "name": "olga"})
    assert status == 200, answer
    s.token = answer["token"]
    try:
        hers = {"kind": "webhook", "url": "https://example.org/x"}
        assert s.ask("POST", "/api/v1/channels", {"channel": "all", **hers})[0] == 403
        assert s.ask("POST", "/api/v1/channels", {"channel": "other", **hers, "projects": ["other"]})[0] == 403
        channel(s, "hers", **hers, projects=["al"])
        channel(s, "inner", kind="webhook", url=s.web.url("/inner"), projects=["al"])
        assert s.ask("POST", "/api/v1/channels", {"channel": "refs", "kind": "webhook", "projects": ["al"],
                                                  "url": {"from": "file", "path": "/etc/shadow"}})[0] == 403
        a = try_(s, "inner")
        assert a["outcome"] == "refused" and "public" in a["error"] and not s.web.taken("/inner"), a
        assert s.ask("POST", "/api/v1/channels/made/test", {})[0] == 403
        assert s.ask("DELETE", "/api/v1/channels/made")[0] == 403
        assert s.ask("POST", "/api/v1/rules", {"rule": "all", "when": ["failed"], "to": ["owner"]})[0] == 403
        post(s, "rules", rule="hers", when=["failed"], to=["webhook:hers"], project="al")
    finally:
        s.token = admin
    status, answer = s.ask("POST", "/api/v1/rules", {"rule": "foreign", "when": ["failed"], "to": ["webhook:hers"]})
    assert status == 403 and "some projects only" in json.dumps(answer), answer
    s.sirdar("rule", "remove", "hers")
    channel(s, "there", kind="webhook", url=s.web.url("/there"), projects=["elsewhere"])
    workflow(s, "strange", fails(), ["webhook:there"])
    a = alert(s, "al/strange", lambda a: told(a, "webhook:there")["state"] == "dropped")
    assert "not for this project" in told(a, "webhook:there")["error"] and not s.web.taken("/there"), a


@test
def a_notifier_that_was_away_tells_once_and_its_absence_is_said(s):
    s.notifier.stop()
    until("it is gone", lambda: not s.get("/api/v1/channels")["notifier"])
    assert "made" in listed(s)
    for words in (["alert", "list"], ["channel", "list"]):
        done = s.sirdar(*words)
        assert "nobody is told" in done.stderr, done
    workflow(s, "away", fails(), ["webhook:made"])
    s.wait_state("al/away/t", "2026-03-01T00:00:00Z", "StopSchedule")
    s.base.restart()
    until("the server is back", s.up)
    s.notifier.start()
    came(s, "/made", "al/away/t")
    here(s)
    alert(s, "al/away", lambda a: told(a, "webhook:made")["state"] == "sent")
    assert len([a for b in s.web.taken("/made") for a in b["alerts"] if a["task"] == "al/away/t"]) == 1  # by two rules, and once
    done = s.sirdar("alert", "list")
    assert "nobody is told" not in done.stderr, done


@test
def secrets_are_given_to_a_notifier_of_the_servers_and_the_giving_is_noted(s):
    shown = s.sirdar("peer", "exposed", "notifier").stdout
    assert "channel:made" in shown, shown


def make():
    s = AlertSite("channels", secrets_key_file="/nowhere")
    keys = s.dir / "seals"
    keys.touch(0o600)
    keys.write_text("first:" + os.urandom(32).hex() + "\n")
    s.base_sets.update(secrets_key_file=keys)
    s.base.argv = s.argv("baseserver", s.base_sets)
    return s.start()


if __name__ == "__main__":
    sys.exit(main(make))
