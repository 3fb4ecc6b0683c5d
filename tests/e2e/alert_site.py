"""A site with a notifier, and receivers of what it sends."""
import json
import sqlite3
from datetime import datetime, timedelta, timezone

from harness import Daemon, Site, until
from receivers import Http, Smtp

FAST = {"group_ms": 0, "retry_min_ms": 50, "retry_max_ms": 400, "send_ms": 20000}
SECRET = "canary-of-the-webhook"


class AlertSite(Site):
    """A Site with a notifier and its receivers."""

    def __init__(self, name="notify", **sets):
        super().__init__(name, **sets)
        self.web, self.mail = Http(), Smtp()
        self.add_key("notifier")
        self.channels = self.dir / "channels.yaml"
        self.write_channels()
        self.notifier = self.make(**FAST)

    def make(self, **sets):
        base = {"server": f"127.0.0.1:{self.port}", "key_file": self.dir / "notifier.key",
                "store": f"sqlite:{self.dir}/base", "state_dir": self.dir / "notifier",
                "channels_file": self.channels, "console_url": "https://sirdar.example.org"}
        return Daemon(self, "sirdar-notifier", self.argv("sirdar-notifier", {**base, **sets}),
                      r"notifier\.ready")

    def write_channels(self, owners="never", **more):
        url = self.web.url
        script = self.dir / "tell.sh"
        script.write_text(f"#!/bin/sh\ncat >> {self.dir}/told; echo >> {self.dir}/told\n")
        script.chmod(0o755)
        all_ = {"mail": {"type": "mail", "url": f"smtp://127.0.0.1:{self.mail.port}",
                         "from": "sirdar@example.org"},
                "hook": {"type": "webhook", "url": url("/hook"), "secret": SECRET},
                "slow": {"type": "webhook", "url": url("/slow")},
                "ding": {"type": "dingtalk", "url": url("/ding?access_token=t"), "secret": "s1"},
                "work": {"type": "wecom", "url": url("/work"), "language": "zh"},
                "lark": {"type": "feishu", "url": url("/lark"), "secret": "s2"},
                "chat": {"type": "slack", "url": url("/chat")},
                "gram": {"type": "telegram", "url": url("/gram"), "chat": "42"},
                "duty": {"type": "pagerduty", "url": url("/duty"), "secret": "route"},
                "am": {"type": "alertmanager", "url": url("/am")},
                "machines": {"type": "webhook", "url": url("/machines")},
                "team": {"type": "webhook", "url": url("/team")},
                "second": {"type": "webhook", "url": url("/ding2")},
                "run": {"type": "script", "argv": [str(script)]}, **more}
        self.channels.touch(0o600)
        self.channels.write_text(json.dumps(
            {"channels": all_, "owners": owners,
             "system": [{"when": ["broker_lost", "broker_back", "plugin_down", "leader_changed"], "to": ["webhook:machines"]}],
             "oncall": {"dw": {
                "people": ["slack:chat", "webhook:second"], "every": "7d",
                "from": (datetime.now(timezone.utc) - timedelta(days=8)).strftime("%Y-%m-%dT%H:%M:%SZ")}}}))

    def notifier_fact(self, subject):
        with sqlite3.connect(f"file:{self.dir}/notifier/outbox.db?mode=ro", uri=True) as db:
            row = db.execute("SELECT state FROM fact WHERE subject = ?", (subject,)).fetchone()
        return row and row[0]

    def nothing_waits(self):
        """Also what was taken is written down: a notifier that dies now sends nothing twice."""
        with sqlite3.connect(f"file:{self.dir}/notifier/outbox.db?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM letter WHERE state IN (0, 3)").fetchone()[0] == 0

    def start(self, **how):
        super().start(**how)
        self.notifier.start()
        return self

    def close(self):
        self.notifier.kill()
        self.web.close()
        self.mail.close()
        super().close()


def workflow(s, name, task, to, when=("failed",), start="2026-03-01", end="2026-03-01", **more):
    head = {"workflow": name, "project": "al", "timezone": "UTC", "start_date": start, "end_date": end,
            "alerts": [{"when": list(when), "to": list(to)}], **more}
    text = "".join(f"{k}: {json.dumps(v)}\n" for k, v in head.items())
    text += ("defaults: {type: shell, cycle: day, retry: {attempts: 1}, catchup: {mode: all, max: 10000}}\n"
             f"tasks: {{t: {json.dumps(task)}}}\n")
    s.apply(text, name + ".yaml", **{"from": start})


def fails(code=3):
    return {"params": {"script": f"exit {code}"}}


def came(s, path, task, n=1, seconds=60):
    """n alerts about a task at a path of the webhook kind."""
    def look():
        found = [a for body in s.web.taken(path) for a in body["alerts"] if a["task"] == task]
        return found if len(found) >= n else None
    return until(f"{n} alerts of {task} at {path}", look, seconds)


def alerts(s, **args):
    return s.get("/api/v1/alerts?" + "&".join(f"{k}={v}" for k, v in args.items()))["items"]


def alert(s, workflow_name, want=lambda a: True, kind="failed"):
    """The newest one of a workflow and a kind, once it is as wanted."""
    seen = {}

    def look():
        found = alerts(s, workflow=workflow_name, kind=kind)
        seen["last"] = found
        return found[0] if found and want(found[0]) else None
    try:
        return until(f"an alert of {workflow_name}", look)
    except Exception as e:
        raise AssertionError(f"{e}: {seen.get('last')}") from e


def told(a, to):
    return next(t for t in a["told"] if t["to"] == to)
