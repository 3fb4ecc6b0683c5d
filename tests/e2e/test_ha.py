#!/usr/bin/env python3
"""Two servers on one store, one of them leads: kills, stops, step-downs and pauses under load. The
witness is what the jobs themselves wrote (test_chaos.py). TAP. test_ha_mysql.py is the same on MariaDB.

KILLS=n (default 5, HEAVY=1: 200) take-overs by kill -9; SEED=n; EPOCH_MS, LEAD_MS: the lease. How long
each take-over took is printed as a distribution.
"""
import http.client
import json
import os
import random
import re
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_chaos as chaos  # noqa: E402
from harness import SLOW, TESTS, Daemon, Site, free_port, main, stand_still, test, until  # noqa: E402

TESTS.clear()  # those of chaos: only its load and its judge are wanted here

KILLS = int(os.environ.get("KILLS") or (200 if os.environ.get("HEAVY") else 5))
# Short beside the defaults (10 s, 12 s), long beside the pauses of a busy machine.
EPOCH_MS = int(os.environ.get("EPOCH_MS") or 3000 * SLOW)
LEAD_MS = int(os.environ.get("LEAD_MS") or 4500 * SLOW)


WORDS = {"lock": "the lock of the store's directory", "lease": "a lease in the store", "etcd": "a key in etcd"}


class Pair(Site):
    """base and base2 on one store; peers have both in their lists, the second first."""
    lock_is_lease = True  # sqlite: the lock of the directory is the lease
    elects = "lock"

    def __init__(self, folder="ha", store="sqlite:shared"):
        super().__init__(folder, store=store, epoch_ms=EPOCH_MS, lead_ms=LEAD_MS)
        self.base_sets["name"] = "one"
        self.base.argv += ["--set", "name=one"]
        self.port2 = free_port()
        more = {**self.base_sets, "listen": f"127.0.0.1:{self.port2}",
                "state_dir": self.dir / "base2", "name": "two"}
        self.base2 = Daemon(self, "baseserver2", self.argv("baseserver", more), r"standby\.waits")
        self.times = {}

    def servers(self):
        return f"127.0.0.1:{self.port2},127.0.0.1:{self.port}"

    def broker_sets(self, name, types, **sets):
        return {**super().broker_sets(name, types, **sets), "server": self.servers()}

    def add_key(self, name, kind=None):
        super().add_key(name, kind)
        waits = getattr(self, "base2", None)
        if waits and waits.proc is not None and waits.proc.poll() is None:
            mark = len(waits.text())
            waits.proc.send_signal(signal.SIGHUP)
            until("the second knows the key", lambda: waits.has(r"settings\.reloaded", mark))

    def begin(self):
        self.base.start()
        until("the first leads", lambda: self.leader() is self.base)
        self.base2.start()
        self.cgi.argv += ["--set", f"server={self.servers()}",
                          "--set", "store=" + self.base_sets["store"]]
        self.start_cgi()
        self.add_broker("b1", types=("shell:12",))
        until("the standby is seen", lambda: self.status().get("standbys"))
        return self

    def close(self):
        self.base2.kill()
        super().close()

    def status(self):
        try:
            return self.get("/api/v1/server")
        except (OSError, AssertionError, http.client.HTTPException):
            return {}

    def leader(self):
        """The daemon that said last that it is up, while its process is there."""
        at = {}
        for d in (self.base, self.base2):
            if d.proc is not None and d.proc.poll() is None:
                up = re.findall(r"^(\S+) .*baseserver\.up epoch=(\d+)", d.text(d.mark), re.M)
                down = re.findall(r"^(\S+) .*standby\.waits", d.text(d.mark), re.M)
                if up and not (down and float(down[-1]) > float(up[-1][0])):
                    at[int(up[-1][1])] = d
        return at[max(at)] if at else None

    def other(self, d):
        return self.base2 if d is self.base else self.base

    def follows(self, what, was, began):
        """The other one leads and answers through the cgi; how long that took is kept."""
        until(f"the other leads after {what}", lambda: self.leader() is self.other(was), 60)
        active = time.monotonic() - began
        epoch = int(re.findall(r"baseserver\.up epoch=(\d+)", self.other(was).text())[-1])
        until("the cgi follows", lambda: self.status().get("epoch", 0) >= epoch, 60)
        self.times.setdefault(what, []).append((active, time.monotonic() - began))

    def both(self):
        """Whoever has ended starts again, as a supervisor does; the one that waits is seen."""
        for d in (self.base, self.base2):
            if d.proc.poll() is not None:
                d.start(wait=False)
        until("one waits, one leads", lambda: self.status().get("standbys"), 60)

    def tell(self):
        for what, times in self.times.items():
            for n, who in enumerate(("active", "answers")):
                t = sorted(x[n] for x in times)
                print(f"# {what}, {who} after: n={len(t)} min {t[0]:.2f} s, median "
                      f"{t[len(t) // 2]:.2f}, p90 {t[len(t) * 9 // 10]:.2f}, max {t[-1]:.2f} "
                      f"(lead_ms {LEAD_MS})", flush=True)


@test
def a_second_server_waits_is_listed_and_sends_peers_to_the_first(s):
    status = s.status()
    assert status["name"].startswith("one/") and status["address"] == f"127.0.0.1:{s.port}", status
    assert [n["name"][:4] for n in status["standbys"]] == ["two/"], status
    assert status["standbys"][0]["address"] == f"127.0.0.1:{s.port2}", status
    said = s.sirdar("server", "status").stdout
    assert "one/" in said and "epoch" in said, said
    assert status["elects"] == s.elects and f"who leads is decided by {WORDS[s.elects]}\n" in said, (status, said)
    row = next(line.split() for line in said.splitlines() if line.startswith("two/"))
    assert row[1] == f"127.0.0.1:{s.port2}" and row[3] == "transitions", said
    assert s.brokers["b1"].has(rf"link\.standby.*leader=127\.0\.0\.1:{s.port}"), s.logs()
    assert len(re.findall(r"standby\.waits", s.base2.text())) == 1, s.base2.text()
    s.load.more()
    chaos.judge(s, s.load)


@test
def a_second_server_on_the_same_directory_is_refused_in_one_line(s):
    done = s.run(s.base.argv)
    said = (done.stderr + done.stdout).splitlines()
    assert done.returncode != 0 and len(said) == 1 and "in use by process" in said[0], said


@test
def kills_of_the_leader_under_load_lose_nothing_and_run_nothing_twice(s):
    random.seed(chaos.SEED)
    load = s.load
    load.more()
    until("jobs run", load.ends)
    for _ in range(KILLS):
        if (chaos.alive(s) or 99) < 12:
            load.more()
        d, began = s.leader(), time.monotonic()
        d.kill()
        s.follows("kill -9", d, began)
        chaos.goes_on(s, load)
        s.both()
        time.sleep(random.uniform(0, 0.4))  # the next blow falls at a random moment
    s.tell()
    chaos.judge(s, load)


@test
def a_standby_that_came_late_and_stood_still_reads_only_what_it_missed(s):
    load = s.load
    load.more()
    d = s.leader()
    w = s.other(d)
    w.kill()
    w.start(wait=False)
    s.both()
    until("it has read everything", lambda: w.has(r"standby\.warm rows=\d+", w.mark), 60)
    stand_still(w.proc.pid)
    ends = load.ends()
    try:
        load.more()
        until("what it knows is old", lambda: load.ends() > ends + 20, 60)
    finally:
        began = time.monotonic()
        d.stop()  # the lease is free: who wakes takes it at its first look
        w.proc.send_signal(signal.SIGCONT)
    s.follows("clean stop while the standby stood still", d, began)
    said = re.findall(r"ledger\.loaded rows=(\d+) warm_rows=(\d+) caught_up_rows=(\d+) gone_rows=(\d+)",
                      w.text(w.mark))
    rows, warm, caught_up, gone = map(int, said[-1])
    assert rows == warm + caught_up and caught_up + gone > 0, said
    assert not any(x.has(r"warm\.refused") for x in (d, w)), s.logs()
    chaos.goes_on(s, load)
    s.both()
    chaos.judge(s, load)


@test
def a_leader_that_is_stopped_gives_the_lease_back(s):
    load = s.load
    for _ in range(2):
        load.more()
        d, began = s.leader(), time.monotonic()
        assert d.stop() == 0, d.tail()
        s.follows("clean stop", d, began)
        chaos.goes_on(s, load)
        s.both()
    chaos.judge(s, load)


@test
def a_leader_that_steps_down_waits_in_the_same_process(s):
    load = s.load
    load.more()
    d, began = s.leader(), time.monotonic()
    pid, mark = d.pid, len(d.text())
    s.sirdar("server", "step-down")
    s.follows("step-down", d, began)
    until("it waits", lambda: d.has(r"standby\.waits", mark))
    assert d.pid == pid and d.proc.poll() is None, d.tail()
    until("it is seen", lambda: s.status().get("standbys"))
    chaos.goes_on(s, load)
    chaos.judge(s, load)


@test
def who_is_signed_in_is_so_at_the_server_that_takes_over(s):
    word = {"user": "sia", "password": "a long password 1"}
    assert s.ask("POST", "/api/v1/users", {**word, "role": "operator", "projects": ["*"]})[0] == 200

    def ask(path, body, **head):
        conn = http.client.HTTPConnection("127.0.0.1", s.http, timeout=120)
        conn.request("POST", path, json.dumps(body), {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{s.http}", **head})
        answer = conn.getresponse()
        return answer.status, json.loads(answer.read()), (answer.getheader("Set-Cookie") or "").partition(";")[0]

    def pool(size):
        return ask("/api/v1/commands", {"kind": "pool-set", "args": {"pool": "of_sia", "size": size}}, **mine)[0]
    status, answer, cookie = ask("/api/v1/login", word)
    assert status == 200, answer
    mine = {"Cookie": cookie, "X-CSRF-Token": answer["csrf"]}
    assert pool(2) == 202
    d, began = s.leader(), time.monotonic()
    d.kill()
    s.follows("kill of who keeps the sessions", d, began)
    until("it takes her word", lambda: pool(3) == 202)
    s.both()


@test
def nobody_leads_alone_and_steps_down(s):
    waits = s.other(s.leader())
    waits.stop()
    until("nobody is heard", lambda: s.status().get("standbys") == [], 60)
    said = s.sirdar("server", "step-down", expect=None)
    assert said.returncode != 0 and "no standby is heard" in said.stdout + said.stderr, said
    waits.start(wait=False)
    s.both()


@test
def a_leader_paused_beyond_its_lease_can_do_nothing_any_more(s):
    load = s.load
    load.more()
    until("jobs run", lambda: chaos.alive(s))
    d, began = s.leader(), time.monotonic()
    mark = len(d.text())
    stand_still(d.proc.pid)
    try:
        if s.lock_is_lease:
            time.sleep(LEAD_MS / 1000 + 1)  # who has the lock keeps it, however long it stands
            assert not s.other(d).has(r"baseserver\.up", s.other(d).mark) or s.leader() is d
        else:
            s.follows("SIGSTOP", d, began)
    finally:
        d.proc.send_signal(signal.SIGCONT)
    if not s.lock_is_lease:
        until("it ends", lambda: d.proc.poll() is not None, 60)
        said = [x for x in d.text(mark).splitlines() if x.startswith("baseserver: ")]
        assert d.proc.returncode != 0 and len(said) == 1, (d.proc.returncode, said)
        assert re.search(r"epoch|lease|leads", said[0]), said
    chaos.goes_on(s, load)
    s.both()
    chaos.judge(s, load)


def raw(s, method, path):
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=30)
    try:
        link.request(method, path, "{}" if method == "POST" else None, {
            "Authorization": f"Bearer {s.token}", "Content-Type": "application/json"})
        answer = link.getresponse()
        return answer.status, answer.getheader("Retry-After"), answer.read().decode()
    finally:
        link.close()


@test
def while_nobody_leads_answers_say_when_to_ask_again(s):
    load = s.load
    load.more()
    d = s.leader()
    other = s.other(d)
    other.kill()
    d.kill()
    until("the cgi has noticed", lambda: raw(s, "GET", "/api/v1/server")[0] == 503)
    for method, path in (("GET", "/api/v1/server"), ("GET", "/api/v1/brokers")):
        status, again, text = raw(s, method, path)
        assert status == 503 and int(again) > 0 and '"retry":true' in text.replace(" ", ""), text
    status, answer = s.ask("POST", "/api/v1/commands", {
        "kind": "freeze", "request_id": "f" * 32, "dry_run": False,
        "args": {"selection": {"tasks": ["e2e/none/a"]}}})
    assert status == 503 and answer["error"]["retry"], (status, answer)
    s.both()  # both start at one moment: one of them leads
    until("one leads", lambda: s.leader() is not None)
    chaos.goes_on(s, load)
    chaos.judge(s, load)
    s.tell()


def make(pair=Pair):
    s = pair()
    try:
        s.begin()
        s.load = chaos.Load(s, s.dir / "data/load", minutes=10)
    except BaseException:
        print(s.logs())
        s.close()
        raise
    return s


if __name__ == "__main__":
    sys.exit(main(make))
