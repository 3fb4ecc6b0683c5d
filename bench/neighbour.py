#!/usr/bin/env python3
"""What one bad neighbour costs the others. A quiet person runs a chain of no-ops and asks the API now and then; beside him a
person keeps 250,000 no-ops of his own project ready and asks for the most that a page has, as often as he is answered. By turns
without and with him, for a machine that others use changes from minute to minute: hand-over (a parent's end to its child's) and calls of the API, p50, p99 and their ratio.

    bench/run neighbour            one turn of 15 s each
    SECONDS=3600 bench/run neighbour    an hour, in turns of 60 s
    READY=20000                    fewer jobs;  CLIENTS=0 without, 2 with two of his clients (1)

His client runs at the lowest priority of the machine's own scheduler: it is elsewhere in earnest.
"""
import calendar
import http.client
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tests/e2e"), HERE]
from harness import Site, until  # noqa: E402

SECONDS, READY, CLIENTS = float(os.environ.get("SECONDS", "30")), int(os.environ.get("READY", "250000")), int(os.environ.get("CLIENTS", "1"))
TURN_S, TASKS, TARGET, WORD = min(SECONDS / 2, 60), 10, 2.0, "a long enough word"
DOC = ("project: {0}\nworkflow: w\ndefaults: {{type: noop, cycle: minute, start_date: 2020-01-01, catchup: {{mode: none}}}}\n"
       "tasks:\n{1}")
CHAIN = 100


class Client:
    def __init__(self, port, token):
        self.port, self.link = port, None
        self.head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        for _ in (1, 2):
            try:
                self.link = self.link or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                self.link.request(method, path, None if body is None else json.dumps(body), self.head)
                answer = self.link.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.link = None
        return 0, b""

    def backfill(self, task, begin, dates, dry_run=False, **more):
        end = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(begin + 60 * (dates - 1)))
        body = {"kind": "backfill", "dry_run": dry_run, "args": {"selection": {
            "tasks": [task], "from": time.strftime("%Y-%m-%dT%H:%M", time.gmtime(begin)), "to": end}, **more}}
        if not dry_run:
            body["request_id"] = os.urandom(16).hex()
        return self.ask("POST", "/api/v1/commands", body)


def be_bad(port, token):
    """In a process of its own, until it is ended."""
    os.nice(19)
    me = Client(port, token)
    while True:
        for path in ("instances?limit=500&project=bad", "instances?limit=500&sort=change&project=bad", "tasks?limit=500"):
            me.ask("GET", "/api/v1/" + path)
        me.backfill("bad/w/t0", calendar.timegm((2024, 1, 1, 0, 0, 0)), 49000, dry_run=True)


def rows(s, sql, *args):
    with sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True, timeout=30) as db:
        return db.execute(sql, args).fetchall()


class Mass(threading.Thread):
    """Keeps READY jobs of the bad one ready: each task is given new dates when what it had is half done."""

    def __init__(self, s, bad):
        super().__init__(daemon=True)
        self.s, self.bad, self.over, self.made = s, bad, threading.Event(), 0

    def waits(self):
        return rows(self.s, "select count(*) from lb_task_run where job_status = 1 and task_id in "
                            "(select task_id from lb_task where task_name like 'bad/%')")[0][0]

    def run(self):
        task, began = 0, calendar.timegm((2020, 1, 1, 0, 0, 0))
        while not self.over.is_set():
            while not self.over.is_set() and self.waits() < READY:
                per = READY // TASKS
                self.bad.backfill(f"bad/w/t{task % TASKS}", began + 60 * per * (task // TASKS), per)
                task, self.made = task + 1, self.made + per
            self.over.wait(0.2)


def person(s, name):
    status, answer = s.ask("POST", "/api/v1/users", {"user": name, "password": WORD, "role": "developer", "rights": ["backfill"], "projects": [name]})
    assert status == 200, answer
    status, answer = s.ask("POST", "/api/v1/login", {"user": name, "password": WORD, "name": name})
    assert status == 200, answer
    return answer["token"]


def handovers(s, good, number):
    """A chain of the dates of a time of its own, of one command: from each one's end to the next one's, and of it to the grant, in ms."""
    began = calendar.timegm((2021, 1, 1, 0, 0, 0)) + 60 * (CHAIN + 5) * number
    status, answer = good.backfill("good/w/link", began, CHAIN, dependencies="inside")
    assert status in (200, 202), answer

    def over():
        got = rows(s, "select e.curr_run_date, e.event, max(e.at_us) from lb_task_event e join lb_task t using (task_id) where t.task_name = "
                      "'good/w/link' and e.event in (8, 10) and e.curr_run_date between ? and ? group by 1, 2", began, began + 60 * CHAIN)
        return got if len(got) == 2 * CHAIN else None
    at = {(date, event): us for date, event, us in until("the chain is over", over, 600, every=0.3)}
    def gaps(event):
        return [(at[began + 60 * (i + 1), event] - at[began + 60 * i, 10]) / 1000 for i in range(CHAIN - 1)]
    return gaps(10), gaps(8)


def calls(good, over, took):
    began = calendar.timegm((2025, 2, 1, 0, 0, 0))
    while not over.is_set():
        for ask in (lambda: good.ask("GET", "/api/v1/instances?limit=50&task=good/w/link"),
                    lambda: good.backfill("good/w/link", began, 60, dry_run=True)):
            t0 = time.monotonic()
            status, answer = ask()
            took.append((time.monotonic() - t0) * 1000)
            assert status in (200, 429), answer
            over.wait(0.05)  # within what a person may ask


def turn(s, tokens, number, is_loud, seen):
    good, bad = Client(s.http, tokens["good"]), Client(s.http, tokens["bad"])
    mass, clients, over = Mass(s, bad), [], threading.Event()
    if is_loud:
        mass.start()
        until("the neighbour's jobs wait", lambda: mass.waits() >= READY * 0.8 or mass.made >= 2 * READY, 300, every=0.2)
        clients = [subprocess.Popen([sys.executable, __file__, "bad", str(s.http), tokens["bad"]]) for _ in range(CLIENTS)]
    asks = threading.Thread(target=calls, args=(Client(s.http, tokens["good"]), over, seen[2]))
    asks.start()
    try:
        end = time.monotonic() + TURN_S
        while time.monotonic() < end or not seen[0]:
            for all_gaps, some in zip(seen, handovers(s, good, number[0])):
                all_gaps.extend(some)
            number[0] += 1
    finally:
        over.set()
        mass.over.set()
        for one in clients:
            one.kill()
            one.wait()
        asks.join()
    if is_loud:
        print(f"beside {mass.waits()} that wait, of {mass.made} made", flush=True)
        mass.join()
        until("the neighbour's jobs are done", lambda: mass.waits() == 0, 600, every=0.5)


def part(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def site():
    s = Site("neighbour", beat_ms=10000, fence_ms=150000, kill_ms=15000, lose_ms=180000)
    own = [w for w in s.cgi.argv if not w.startswith("person_")]  # the harness asks for more than a person may
    s.cgi.argv = [w for i, w in enumerate(own) if not (w == "--set" and (i + 1 == len(own) or own[i + 1] == "--set"))]
    return s.start(types=("noop:32",))


def main():
    with site() as s:
        tokens = {name: person(s, name) for name in ("good", "bad")}
        s.apply(DOC.format("good", "  link: {needs: [{task: link, depend: -1}]}\n"))
        s.apply(DOC.format("bad", "".join(f"  t{i}: {{}}\n" for i in range(TASKS))))
        seen, number, end = {False: ([], [], []), True: ([], [], [])}, [0], time.monotonic() + SECONDS
        while time.monotonic() < end or not seen[True][0]:
            for is_loud in (False, True):
                turn(s, tokens, number, is_loud, seen[is_loud])
        for what, i in (("hand-over no-op, end to end", 0), ("of it to the grant", 1), ("calls of the API", 2)):
            q, loud = seen[False][i], seen[True][i]
            print(f"{what:<30} p50 {part(q, .5):8.2f} -> {part(loud, .5):8.2f} ms   p99 {part(q, .99):8.2f} -> {part(loud, .99):8.2f} ms   "
                  f"{part(loud, .99) / part(q, .99):5.2f} times (target {TARGET:g})   n {len(q)}, {len(loud)}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["bad"]:
        be_bad(int(sys.argv[2]), sys.argv[3])
    main()
