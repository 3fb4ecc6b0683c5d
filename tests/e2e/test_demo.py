#!/usr/bin/env python3
"""The demo, whole: what it shows of more than luck. And its programs, as `make demo` starts them (packaging/demo.sh up): each peer has a key of its own, which the server learnt
over its own socket. Killed, cut short, from an earlier release. And what the demo waits for. TAP."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, free_port, main, test  # noqa: E402

PEERS = ("cgi", "demo-broker", "notifier")


class Demo:
    def __init__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="sirdar-demo-"))
        self.var = self.dir / "var"
        self.env = dict(os.environ, PATIENCE="600", VAR=str(self.var), PORT=str(free_port()), HTTP=str(free_port()), B=str(BIN.parent))

    def run(self, *words, expect=0):
        done = subprocess.run([ROOT / "packaging/demo.sh", *words], env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=900)
        assert done.returncode == expect, (words, done, self.logs())
        return done

    def sirdar(self, *words):
        done = subprocess.run([BIN / "sirdar", *words], env=dict(self.env, SIRDAR_TOKEN_FILE=str(self.var / "token")), capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=300)
        assert done.returncode == 0, (words, done)
        return done.stdout

    def json(self, *words):
        return json.loads(self.sirdar(*words, "--json"))

    def told(self):
        return [json.loads(line) for line in (self.var / "notifier/files/told.jsonl").read_text().splitlines()]

    def admin(self, *words):
        done = subprocess.run([BIN / "baseserver", "-c", self.var / "baseserver.yaml", "admin", *words], env=self.env, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60)
        assert done.returncode == 0, (words, done)
        return done.stdout

    def states(self):
        return {row.split()[0]: row.split()[2] for row in self.admin("list").splitlines()}

    def keys(self):
        return {name: (self.var / f"{name}.key").read_text() for name in PEERS}

    def kill(self):
        for path in (self.var / "run").glob("*.pid"):
            os.kill(int(path.read_text()), signal.SIGKILL)

    def brokers(self):
        done = subprocess.run([BIN / "sirdar", "broker", "list"], env=dict(self.env, SIRDAR_TOKEN_FILE=str(self.var / "token")),
                              capture_output=True, text=True, timeout=60)
        return done.stdout

    def logs(self):
        return "\n".join(f"--- {p.name}\n{p.read_text()[-2000:]}" for p in (self.var / "log").glob("*.log"))

    def reports(self):
        return []

    def close(self):
        self.run("stop")
        shutil.rmtree(self.dir)


@test
def it_shows_more_than_luck(s):
    said = s.run("start").stdout
    assert "every day's total is the index's own" in said, said
    s.failed = [i for i in s.json("run", "list", "demo/shop/clean", "--all") if i["state"] == "StopSchedule"]
    assert len(s.failed) == 1 and "'12,50'" in s.failed[0]["failure"]["line"], s.failed
    # Home groups failures by cause: one, of that line; its instance is one that others wait for.
    causes = s.json("failures", "--project", "demo")
    assert [(c["failed"], c["tasks"]) for c in causes] == [(1, ["demo/shop/clean"])] and "ValueError" in causes[0]["line"], causes
    assert "clean" in s.sirdar("why", "demo/shop") and "looks again" in s.sirdar("why", "demo/shop"), s.sirdar("why", "demo/shop")
    types = {t["type"] for t in s.json("task", "list", "demo", "--all")}
    assert {"shell", "python", "sql", "sensor"} <= types, types
    assert [c["name"] for c in s.json("calendar", "list")] == ["demo-workdays"]
    assert "missing" not in s.sirdar("run", "list", "demo/count/*") and "succeeded" in s.sirdar("run", "list", "demo/count/*")


@test
def of_its_two_promises_one_is_broken_and_one_is_kept(s):
    rows = {b["task"].rsplit("/", 1)[1]: b for b in s.json("baselines")}
    letter = s.json("run", "list", "demo/morning/letter")[0]
    kept = letter["ended"] <= rows["letter"]["committed"] if "letter" in rows else True  # a day later nothing is promised of that day
    assert not rows or rows["figures"]["state"] == "breached", rows
    assert not rows or rows["letter"]["state"] == ("safe" if kept else "breached"), rows


@test
def whoever_watches_was_told_of_the_failure_with_a_link_to_it(s):
    link = f"/p/demo/shop/clean/{s.failed[0]['label']}?"
    said = [a for told in s.told() for a in told["alerts"] if a.get("task") == "demo/shop/clean"]
    assert len(said) == 1 and link in said[0]["link"] and "12,50" in said[0]["failure"]["line"], said
    bell = [a for a in s.json("alert", "list") if a["subject"].startswith("demo/shop/clean")]
    assert bell, s.sirdar("alert", "list")


@test
def what_failed_is_mended_as_its_last_lines_say(s):
    label = s.failed[0]["label"]
    path = s.var / "drop" / f"orders-{label}.csv"
    path.write_text(path.read_text().replace('"12,50"', "12.50"))
    s.sirdar("redo", "demo/shop/clean", label, "--yes", "--wait")
    s.sirdar("run", "wait", "demo/shop", label)
    assert "succeeded" in s.sirdar("why", "demo/shop/takings", label)
    waits = s.json("run", "list", "demo/shop/arrival")[0]["label"]
    (s.var / "drop" / f"orders-{waits}.csv").write_text("order,amount\n1,1.00\n")
    s.sirdar("run", "wait", "demo/shop", waits)


@test
def a_second_run_goes_on_with_what_the_first_one_left(s):
    assert "All is running" in s.run("start").stdout
    s.run("stop")
    shutil.rmtree(s.var)


@test
def every_peer_has_a_key_of_its_own_and_there_is_no_file_of_keys(s):
    s.run("up")
    assert s.states() == dict.fromkeys(PEERS, "active"), s.states()
    assert all(re.match(rf"peer {name}\nkey ", text) for name, text in s.keys().items())
    assert "keys_file" not in (s.var / "baseserver.yaml").read_text() and not (s.var / "keys").exists()
    assert re.search(r"demo-broker.*shell", s.brokers()), s.brokers()


@test
def after_a_kill_of_all_of_it_the_same_peers_are_there_again(s):
    was = s.keys()
    s.kill()
    s.run("up")
    assert s.keys() == was and re.search(r"demo-broker.*shell", s.brokers())


@test
def what_was_cut_short_is_finished(s):
    s.run("stop")
    s.run("up")
    code = None
    for name, program in (("demo-broker", "taskbroker"), ("cgi", "sirdar-cgi")):
        (s.var / f"{name}.key").unlink()
        s.kill()
        s.run("up")  # no key
        (s.var / f"{name}.key").unlink()
        code = s.admin("invite", name).strip()
        done = subprocess.run([BIN / program, "-c", s.var / f"{program}.yaml", "enrol", code], env=s.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done
        s.kill()
        s.run("up")  # a key that nobody has approved of
        assert s.states() == dict.fromkeys(PEERS, "active") and re.search(r"demo-broker.*shell", s.brokers())


@test
def a_demo_of_an_earlier_release_goes_on_with_keys_of_its_own(s):
    s.run("stop")
    shutil.rmtree(s.var)
    s.var.mkdir()
    (s.var / "keys").touch(0o600)
    settings = s.dir / "old.yaml"
    settings.write_text(f"state_dir: {s.var}/baseserver\nkeys_file: {s.var}/keys\n")
    for name in PEERS:
        done = subprocess.run([BIN / "baseserver", "-c", settings, "key-add", name], capture_output=True, text=True, timeout=60)
        (s.var / f"{name}.key").touch(0o600)
        (s.var / f"{name}.key").write_text(done.stdout)
    s.run("up")
    assert all(text.startswith("peer ") for text in s.keys().values()) and not (s.var / "keys").exists()
    assert re.search(r"demo-broker.*shell", s.brokers())


@test
def a_peer_that_was_revoked_is_named_and_not_let_in_again(s):
    s.admin("revoke", "demo-broker")
    assert "revoked" in s.run("up", expect=1).stderr
    assert s.states()["demo-broker"] == "revoked"


@test
def work_of_ones_own_in_the_project_is_not_waited_for(s):
    """What failed there, or is not over, is nobody's but its owner's."""
    rows = [{"task": task, "run_date": "2026-01-01T00:00:00Z", "state": state, "reason": "exit"} for task, state in
            (("demo/packages/report", "Succ"), ("demo/weekly/summary", "Succ"), ("demo/first/t", "StopSchedule"), ("demo/first/u", "Running"))]
    fake = s.dir / "sirdar"
    fake.write_text(f"#!{sys.executable}\nimport fnmatch, json, sys\n"
                    f"print(json.dumps([r for r in json.loads({json.dumps(json.dumps(rows))}) if fnmatch.fnmatch(r['task'], sys.argv[3])]))\n")
    fake.chmod(0o755)
    done = subprocess.run([sys.executable, ROOT / "docs/demo/show.py", "wait", "2", "20", "2026-01-01T00:00:00Z"], capture_output=True, text=True,
                          env=dict(s.env, SIRDAR=str(fake)), timeout=60)
    assert done.returncode == 0 and "2 of 2" in done.stdout, done


if __name__ == "__main__":
    sys.exit(main(Demo))
