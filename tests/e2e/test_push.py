#!/usr/bin/env python3
"""Alerts pushed to people's browsers: sealed for the device, signed for its service, to each device of who is meant,
again when the service was busy, never again when it does not know the device any more. TAP."""
import json
import os
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import AlertSite, alert, fails, told, workflow  # noqa: E402
from harness import main, test, until  # noqa: E402
from push_service import Browser, PushService  # noqa: E402

WORD = "a long enough word"
CONTACT = "mailto:ops@example.org"


class PushSite(AlertSite):
    """With a push service; people who sign in, each with tokens of their own."""

    def __init__(self):
        self.service = PushService()
        self.tokens = {}
        super().__init__("push")

    def write_channels(self, owners="never", **more):
        push = {"type": "push", "from": CONTACT, "hosts": ["127.0.0.1", "*.push.example.net"], "insecure": True}
        super().write_channels(owners, **{"push": push, **more})

    def close(self):
        super().close()
        self.service.close()

    def person(self, name, role="viewer"):
        status, answer = self.ask("POST", "/api/v1/users", {"user": name, "password": WORD, "role": role})
        assert status == 200, answer
        status, answer = self.ask("POST", "/api/v1/login", {"user": name, "password": WORD, "name": name})
        assert status == 200, answer
        self.tokens[name] = answer["token"]

    def by(self, name, method, path, body=None):
        admin = self.token
        self.token = self.tokens.get(name, admin)
        try:
            return self.ask(method, path, body)
        finally:
            self.token = admin

    def subscribe(self, person, name, **more):
        browser = Browser(self.service, name)
        status, answer = self.by(person, "POST", "/api/v1/push", browser.subscription(**more))
        assert status == 200, answer
        browser.device = answer["device"]
        return browser

    def devices(self, person, path="/api/v1/push"):
        status, answer = self.by(person, "GET", path)
        assert status == 200, answer
        return {d["device"]: d for d in answer["devices"]}


def begin():
    s = PushSite().start()
    until("the notifier is known", lambda: s.get("/api/v1/channels")["notifier"])
    for name in ("ann", "bob", "cid", "eve"):
        s.person(name)
    return s


def came(s, name, n=1):
    return until(f"{n} pushes taken by {name}", lambda: len(s.service.taken(name)) >= n and s.service.taken(name))


@test
def an_alert_opens_on_each_device_of_who_is_meant_and_nowhere_else(s):
    phone = s.subscribe("ann", "phone", language="zh")
    s.subscribe("ann", "desk")
    s.subscribe("bob", "bobs")
    workflow(s, "one", fails(4), ["push:ann"])
    a = alert(s, "al/one", lambda a: told(a, "push:ann")["state"] == "sent")
    assert told(a, "push:ann")["channel"] == "push" and told(a, "push:ann")["tries"] == 1, a
    assert not s.service.wrong and not s.service.taken("bobs"), s.service.wrong
    desk, zh = s.service.taken("desk"), s.service.taken("phone")
    assert len(desk) == len(zh) == 1, s.service.got
    assert desk[0]["message"]["title"] == "al/one/t 2026-03-01 failed", desk
    assert "失败" in zh[0]["message"]["title"] and zh[0]["message"]["lang"] == "zh", zh
    want = {"path": f"/ui/ops/alerts?a={a['id']}", "tag": f"sirdar-{a['id']}", "lang": "en"}
    assert want.items() <= desk[0]["message"].items(), desk
    assert desk[0]["headers"]["urgency"] == "high" and desk[0]["headers"]["topic"] == want["tag"], desk
    assert desk[0]["claims"]["sub"] == CONTACT
    status, answer = s.by("ann", "GET", "/api/v1/push/key")
    assert status == 200 and answer["key"] == desk[0]["key"], answer
    assert {d["device"]: d["last_ok"] for d in answer["devices"]}[phone.device] is True, answer


@test
def what_a_device_gave_is_told_to_nobody(s):
    browser = s.subscribe("cid", "secret", label="A <b>browser</b>", least="critical")
    seen = json.dumps([s.by("cid", "GET", "/api/v1/push"), s.by("cid", "GET", "/api/v1/push/key"),
                       s.ask("GET", "/api/v1/push?all=true"), s.ask("GET", "/api/v1/audit"),
                       s.ask("GET", "/api/v1/commands")])
    sub = browser.subscription()
    assert sub["auth"] not in seen and sub["endpoint"] not in seen, seen
    row = s.devices("cid")[browser.device]
    assert row["least"] == "critical" and row["label"] == "A <b>browser</b>" and row["person"] == "cid", row
    assert row["service"] == f"127.0.0.1:{s.service.port}", row
    key = s.dir / "notifier" / "push.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and key.read_text().strip() not in seen


@test
def a_device_is_its_persons_alone_and_an_administrator_may_forget_it(s):
    mine = s.subscribe("bob", "own")
    assert mine.device not in s.devices("eve") and mine.device in s.devices("", "/api/v1/push?all=true")
    for method, path in (("DELETE", f"/api/v1/push/{mine.device}"), ("POST", f"/api/v1/push/{mine.device}/test")):
        status, answer = s.by("eve", method, path, {} if method == "POST" else None)
        assert status == 404, (method, answer)
    assert s.by("eve", "GET", "/api/v1/push?all=true")[0] == 403
    status, answer = s.by("bob", "POST", f"/api/v1/push/{mine.device}/test", {})
    assert status == 200 and {**answer, "took_ms": 0} == {"channel": "push", "taken": True, "outcome": "sent", "error": None, "took_ms": 0}, answer
    got = came(s, "own")[0]
    assert got["message"]["tag"] == "sirdar-test" and got["message"]["path"] == "/ui/settings", got
    status, answer = s.ask("DELETE", f"/api/v1/push/{mine.device}")
    assert status == 200, answer
    assert mine.device not in s.devices("bob")
    # The same browser, signed in by another: it is hers from then on.
    status, answer = s.by("eve", "POST", "/api/v1/push", mine.subscription())
    assert status == 200 and answer["device"] == mine.device, answer
    assert mine.device in s.devices("eve") and mine.device not in s.devices("bob")


@test
def a_device_that_its_service_knows_no_more_is_forgotten(s):
    gone, stays = s.subscribe("cid", "gone"), s.subscribe("cid", "stays")
    s.service.plan["gone"] = [410] * 1000
    workflow(s, "gone", fails(), ["push:cid"])
    until("it is forgotten", lambda: gone.device not in s.devices("cid"))
    assert stays.device in s.devices("cid")
    alert(s, "al/gone", lambda a: told(a, "push:cid")["state"] == "sent")
    assert len(s.service.taken("stays")) == 1 and len([g for g in s.service.got if g["browser"] == "gone"]) == 1
    rows = [x for x in s.get("/api/v1/audit?limit=50")["items"] if x["action"] == "device-remove"]
    assert any(x["actor"] == "peer:notifier" for x in rows), rows


@test
def a_busy_service_is_asked_again_and_no_device_twice(s):
    s.subscribe("eve", "quick")
    s.subscribe("eve", "busy")
    s.service.plan["busy"] = [429, 503, 429]
    workflow(s, "busy", fails(), ["push:eve"])
    a = alert(s, "al/busy", lambda a: told(a, "push:eve")["state"] == "sent")
    assert told(a, "push:eve")["tries"] == 4, a
    assert len(s.service.taken("quick")) == len(s.service.taken("busy")) == 1, s.service.got


@test
def a_notifier_that_is_killed_goes_on_and_keeps_its_key(s):
    s.person("kim")
    s.subscribe("kim", "done")
    s.subscribe("kim", "later")
    s.service.plan["later"] = [503] * 100000
    before = s.by("kim", "GET", "/api/v1/push/key")[1]["key"]
    workflow(s, "killed", fails(), ["push:kim"])
    came(s, "done")
    alert(s, "al/killed", lambda a: told(a, "push:kim")["tries"] > 0)
    s.notifier.kill()
    s.service.plan["later"] = []
    s.notifier.start()
    got = came(s, "later")
    alert(s, "al/killed", lambda a: told(a, "push:kim")["state"] == "sent")
    assert len(s.service.taken("done")) == 1 and got[0]["key"] == before, s.service.got


@test
def what_is_too_long_for_a_service_comes_shorter(s):
    s.person("lea")
    s.subscribe("lea", "small")
    s.service.plan["small"] = [413]
    workflow(s, "long", fails(), ["push:lea"])
    alert(s, "al/long", lambda a: told(a, "push:lea")["state"] == "sent")
    first, second = [g["message"] for g in s.service.got if g["browser"] == "small"]
    assert first["body"] and not second["body"] and second["path"] == first["path"], (first, second)


@test
def nobody_is_pushed_who_is_disabled_or_wants_severer_ones(s):
    s.person("dan")
    s.subscribe("dan", "dans", least="critical")
    workflow(s, "mild", {**fails(), "retry": {"attempts": 2, "delay": "0s"}}, ["push:dan"], when=("retried",))
    a = alert(s, "al/mild", lambda a: told(a, "push:dan")["state"] == "dropped", kind="retried")
    assert "severer" in told(a, "push:dan")["error"], a
    assert s.ask("POST", "/api/v1/users", {"user": "dan", "disabled": True})[0] == 200
    workflow(s, "off", fails(), ["push:dan"])
    a = alert(s, "al/off", lambda a: told(a, "push:dan")["state"] == "dropped")
    assert "dan is disabled" in told(a, "push:dan")["error"] and not s.service.taken("dans"), a
    assert s.ask("DELETE", "/api/v1/users/dan")[0] == 200
    assert not [d for d in s.devices("", "/api/v1/push?all=true").values() if d["person"] == "dan"]
    workflow(s, "left", fails(), ["push:dan"])
    a = alert(s, "al/left", lambda a: told(a, "push:dan")["state"] == "dropped")
    assert "nobody called dan" in told(a, "push:dan")["error"], a


@test
def wrong_keys_and_places_that_are_not_allowed_are_refused_with_one_error(s):
    good = Browser(s.service, "never").subscription()
    url = "https://updates.push.example.net/x"
    for change, code, word in (({"p256dh": good["auth"]}, 400, "p256dh: want a point"),
                               ({"p256dh": "B" + "A" * 86}, 400, "p256dh: want a point"),
                               ({"auth": "AAAA"}, 400, "auth: want 16 bytes"),
                               ({"endpoint": "https://example.org/x"}, 403, "example.org is none of the push services"),
                               ({"endpoint": "https://push.example.net.evil.org/x"}, 403, "none of the push services"),
                               ({"endpoint": "https://updates.push.example.net:8443/x"}, 403, "none of the push services"),
                               ({"endpoint": "https://updates.push.example.net@evil.org/x"}, 400, "no address"),
                               ({"endpoint": "http://updates.push.example.net/x"}, 403, "want https://"),
                               ({"endpoint": "ftp://127.0.0.1/x"}, 400, "want an address"),
                               ({"least": "loud"}, 400, "notice")):
        status, answer = s.by("bob", "POST", "/api/v1/push", {**good, **change})
        assert status == code and word in answer["error"]["message"], (change, status, answer)
    status, answer = s.by("bob", "POST", "/api/v1/push", {**good, "endpoint": url})
    assert status == 200, answer
    assert s.by("bob", "DELETE", f"/api/v1/push/{answer['device']}")[0] == 200


@test
def sixteen_devices_are_enough_for_anybody(s):
    s.person("max")
    for i in range(16):
        s.subscribe("max", f"max{i}")
    status, answer = s.by("max", "POST", "/api/v1/push", Browser(s.service, "max16").subscription())
    assert status >= 400 and "max has 16 devices" in answer["error"]["message"], answer
    assert s.by("max", "POST", "/api/v1/push", s.service.browsers["/max3"].subscription(least="notice"))[0] == 200
    assert len(s.devices("max")) == 16


@test
def an_owner_with_a_device_is_told_there_and_a_channel_is_tested_to_a_person(s):
    s.person("olga")
    s.subscribe("olga", "olgas")
    s.write_channels(owners="failed")
    s.notifier.stop()
    s.notifier.start()
    until("the notifier is known", lambda: s.get("/api/v1/channels")["notifier"])
    workflow(s, "owned", fails(), [], owner="olga", alerts=[])
    alert(s, "al/owned", lambda a: told(a, "push:olga")["state"] == "sent")
    came(s, "olgas")
    rules = s.get("/api/v1/rules?workflow=al/owned")["tasks"][0]["rules"]
    assert {"kind": "failed", "to": "push:olga", "after_s": 0, "from": "owner"} in rules, rules
    status, answer = s.ask("POST", "/api/v1/channels/push/test", {"to": "olga"})
    assert status == 200 and answer["taken"], answer
    came(s, "olgas", 2)
    status, answer = s.ask("POST", "/api/v1/channels/push/test", {"to": "nobody"})
    assert status == 200 and not answer["taken"] and "nobody called nobody" in answer["error"], answer
    assert s.ask("POST", "/api/v1/channels/push/test", {})[0] == 400
    channel = next(c for c in s.get("/api/v1/channels")["channels"] if c["name"] == "push")
    assert channel["kind"] == "push" and channel["last_ok"] is False, channel


@test
def an_operators_own_key_signs_and_one_that_is_none_is_refused(s):
    own = s.dir / "own.key"
    own.touch(0o600)
    own.write_text("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw\n")
    push = {"type": "push", "from": CONTACT, "hosts": ["127.0.0.1"], "insecure": True, "key_file": str(own)}
    s.write_channels(push=push)
    s.notifier.stop()
    s.notifier.start()
    until("it is the operator's", lambda: s.by("ann", "GET", "/api/v1/push/key")[1].get("key", "").startswith("BP4z9KsN6nGR"))
    own.write_text("not a key\n")
    s.notifier.stop()
    s.notifier.start(wait=False)
    until("it ends", lambda: s.notifier.proc.poll() is not None)
    assert "own.key: want a private key of P-256" in s.notifier.text(), s.notifier.text()[-500:]
    own.unlink()
    s.write_channels()
    s.notifier.start()


if __name__ == "__main__":
    sys.exit(main(begin))
