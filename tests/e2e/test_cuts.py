#!/usr/bin/env python3
"""A database whose answers are lost: a proxy between server and MariaDB cuts at COMMIT and at other
points, under load. What a commit did is read back, nothing is lost and nothing done twice; the
witness is what the jobs themselves wrote (test_chaos.py). TAP.

CUTS=n (default 40, HEAVY=1: 2000) and SEED=n."""
import os
import random
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import mariadb  # noqa: E402
import test_chaos as chaos  # noqa: E402
from harness import TESTS, Site, Skip, main, test, until  # noqa: E402
from proxy import Proxy  # noqa: E402

TESTS.clear()  # those of chaos: only its load and its judge are wanted here

CUTS = int(os.environ.get("CUTS") or (2000 if os.environ.get("HEAVY") else 40))
TIMEOUT_S = 2  # of a statement
# Where, how, how often.
STRIKES = (
    ("COMMIT", "lose_answer", 8),
    ("COMMIT", "cut_answer", 3),
    ("COMMIT", "cut_before", 3),
    ("COMMIT", "swallow", 1),
    ("COMMIT", "swallow_statement", 1),
    ("COMMIT", "delay", 2),
    ("START TRANSACTION", "cut_before", 1),
    ("START TRANSACTION", "lose_answer", 1),
    ("SELECT epoch", "lose_answer", 2),
    ("SELECT epoch", "cut_answer", 1),
    ("INSERT|REPLACE|UPDATE|DELETE", "cut_statement", 2),
    ("INSERT|REPLACE|UPDATE|DELETE", "lose_answer", 2),
    ("INSERT|REPLACE|UPDATE|DELETE", "cut_before", 1),
)


class CutSite(Site):
    """Database and proxy go with the site. The cgi reads past the proxy."""

    def __init__(self):
        if not mariadb.program("mariadbd"):
            raise Skip("no mariadbd: packaging/deps.sh test")
        self.database = mariadb.MariaDB()
        self.database.sql("CREATE DATABASE sirdar")
        self.proxy = Proxy(self.database.port)
        url = f"mysql://root@127.0.0.1:{self.proxy.port}/sirdar?timeout={TIMEOUT_S}"
        super().__init__("cuts", store=url)

    def close(self):
        try:
            super().close()
        finally:
            self.proxy.close()
            self.database.close()


def blow(s, pattern, action):
    since = s.proxy.strike(pattern, action, seconds=random.uniform(0, 0.5))
    s.proxy.wait_struck(since)


def moves(s, load):
    """The server is out of its trouble: the store takes commits again."""
    def look():
        try:
            return s.ask("GET", "/api/v1/health")[1]["store"]["ok"]
        except (OSError, KeyError, TypeError):
            return False
    until("commits go through", look, 60)


def asked_once(s, load):
    """Every request was carried out, under its id, once."""
    rows = s.database.sql("SELECT request_id, COUNT(*) FROM lb_command GROUP BY request_id", "sirdar")
    have = {line.split("\t")[0]: int(line.split("\t")[1]) for line in rows.splitlines()}
    want = {f"{n:032x}" for n in range(load.rounds)}
    assert want <= set(have) and set(have.values()) <= {1}, have


@test
def commits_whose_answer_is_lost_are_read_back_and_nothing_is_lost_or_doubled(s):
    random.seed(chaos.SEED)
    load = s.load
    load.more()
    until("jobs run", load.ends)
    points = [x for x in STRIKES for _ in range(x[2])]
    done = {}
    for n in range(CUTS):
        if (chaos.alive(s) or 99) < 12:
            load.more()
        pattern, action, _ = points[n % len(points)] if n < len(points) else random.choice(points)
        blow(s, pattern, action)
        done[action] = done.get(action, 0) + 1
        if n % 10 == 9:
            chaos.goes_on(s, load)
            moves(s, load)
    s.proxy.calm()
    moves(s, load)
    chaos.judge(s, load)
    asked_once(s, load)
    print(f"# seed {chaos.SEED}: {done}, {load.ends()} jobs ended")


@test
def a_request_whose_commit_has_no_answer_is_acknowledged_once_it_is_found(s):
    load = s.load
    mark = len(s.base.text())
    text = "workflow: asked{n}\nproject: e2e\ntasks:\n  t: {{type: noop, cycle: none}}\n"
    for n, action in enumerate(("lose_answer", "cut_answer", "cut_before", "swallow")):
        since = s.proxy.strike("COMMIT", action, after="INSERT INTO lb_workflow|REPLACE INTO lb_workflow")
        answer = s.apply(text.format(n=n), request_id=f"{n + 0xa000:032x}")
        s.proxy.wait_struck(since)
        again = s.apply(text.format(n=n), request_id=f"{n + 0xa000:032x}")
        assert again["command"] == answer["command"], (action, answer, again)
    assert s.base.has(r"ledger\.store-down", mark), s.base.tail()
    found = s.database.sql("SELECT COUNT(*), COUNT(DISTINCT name) FROM lb_workflow WHERE name LIKE"
                           " '%asked%'", "sirdar").split()
    assert found == ["4", "4"], found
    asked_once(s, load)


@test
def a_server_killed_while_its_commit_is_on_its_way_starts_from_what_the_store_has(s):
    load = s.load
    for n in range(2 if CUTS < 100 else CUTS // 20):
        if (chaos.alive(s) or 99) < 12:
            load.more()
        action = ("hold", "lose_answer", "delay")[n % 3]
        since = s.proxy.strike("COMMIT", action, seconds=1.0)
        s.proxy.wait_struck(since)
        s.base.kill()
        s.base.start(wait=False)  # its new COMMITs race with the held one, whose row is locked
        time.sleep(random.uniform(0, 0.5))  # the held one goes through at a random moment
        s.proxy.calm()
        until("the server leads", s.up, 60)
        chaos.goes_on(s, load)
    chaos.judge(s, load)
    asked_once(s, load)


def make():
    s = CutSite()
    try:
        s.cgi.argv += ["--set", "store=" + s.database.url("sirdar")]
        s.start(("shell:12", "noop:8"), retry_max_ms=100)
        s.load = chaos.Load(s, s.dir / "data/load", minutes=10)
    except BaseException:
        print(s.logs())
        s.close()
        raise
    return s


if __name__ == "__main__":
    sys.exit(main(make))
