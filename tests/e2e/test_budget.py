#!/usr/bin/env python3
"""What one person or one app may cost the others at the HTTP face: requests in a time, requests at once,
streams. No verdict hangs on speed: budgets are tiny and their time is a day. TAP."""
import calendar
import concurrent.futures
import http.client
import json
import os
import select
import signal
import socket
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from exposition import parse  # noqa: E402
from harness import Site, main, stand_still, test, until  # noqa: E402

WORD = "a long enough word"
DAY = 86400


def ask(s, method, path, body=None, at="127.0.0.1", link=None, **head):
    """-> status, JSON or bytes; of the answer's head s.head."""
    one = link or http.client.HTTPConnection("127.0.0.1", s.http, timeout=60, source_address=(at, 0))
    one.request(method, path, None if body is None else json.dumps(body),
                {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in head.items()}})
    answer = one.getresponse()
    text, s.head = answer.read(), answer.headers
    if not link:
        one.close()
    return answer.status, json.loads(text) if text and "json" in (answer.getheader("Content-Type") or "") else text


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


def token(s, name):
    """Of a new viewer of this name, or another one of hers."""
    if ask(s, "GET", f"/api/v1/users/{name}", **bearer(s.token))[0] == 404:
        ask(s, "POST", "/api/v1/users", {"user": name, "password": WORD, "role": "viewer"}, **bearer(s.token))
    status, answer = ask(s, "POST", "/api/v1/login", {"user": name, "password": WORD, "name": f"{name}-{os.urandom(3).hex()}"})
    assert status == 200, (status, answer)
    return bearer(answer["token"])


def set_up(s, **sets):
    """The same cgi with other settings, which a SIGHUP reads again."""
    s.cgi.stop()
    s.file.write_text("".join(f"{k}: {v}\n" for k, v in sets.items()))
    s.start_cgi()


def limited(s, status, answer, limit, most, timed):
    """It is a refusal that says all that one wants to know."""
    assert status == 429, (status, answer)
    error, wait = answer["error"], int(s.head["Retry-After"])
    assert error["code"] == "LIMIT" and error["place"] == limit and limit in error["message"] and error["retry"], error
    assert error["details"]["limit"] == limit and error["details"]["max"] == most, error
    if timed:
        until_ = calendar.timegm(time.strptime(error["details"]["until"], "%Y-%m-%dT%H:%M:%SZ"))
        assert 0 < wait <= DAY + 1 and abs(until_ - time.time() - wait) < 600, (error, wait)
    else:
        assert wait == 1 and error["details"]["until"] is None, (error, wait)


def counted(s, limit):
    status, text = ask(s, "GET", "/metrics", **bearer(s.token))
    assert status == 200, text
    return parse(text.decode())["sirdar_cgi_limited_total"].of(limit=limit)


@test
def one_viewer_floods_and_the_others_are_answered(s):
    set_up(s, person_requests_max=100, person_window_ms=DAY * 1000)
    ann, ben = token(s, "ann"), token(s, "ben")

    def flood(n):
        link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60, source_address=(f"127.0.9.{n + 1}", 0))
        said = [ask(s, "GET", "/api/v1/instances?limit=1", link=link, **ann)[0] for _ in range(934)]
        link.close()
        return said
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        said = [status for part in pool.map(flood, range(6)) for status in part]
    assert len(said) == 5604 and said.count(200) == 100 and said.count(429) == 5504, {x: said.count(x) for x in set(said)}
    for _ in range(20):
        assert ask(s, "GET", "/api/v1/instances?limit=1", **ben)[0] == 200
    status, answer = ask(s, "GET", "/api/v1/instances", **ann)
    limited(s, status, answer, "person_requests_max", 100, True)
    assert counted(s, "person_requests_max") == 5505 and counted(s, "app_requests_max") == 0


@test
def all_tokens_and_sessions_of_a_person_are_one_and_what_is_denied_counts(s):
    set_up(s, person_requests_max=10, person_window_ms=DAY * 1000)
    one, two = token(s, "cora"), token(s, "cora")
    status, answer = ask(s, "POST", "/api/v1/login", {"user": "cora", "password": WORD})
    session = {"Cookie": s.head["Set-Cookie"].split(";")[0], "X_CSRF_Token": answer["csrf"]}
    for n in range(10):
        path = "/api/v1/users" if n % 2 else "/api/v1/session"
        assert ask(s, "GET", path, **(one, two, session)[n % 3])[0] == (403 if n % 2 else 200)
    for who in (one, two, session):
        status, answer = ask(s, "GET", "/api/v1/session", **who)
        limited(s, status, answer, "person_requests_max", 10, True)
    body = {"kind": "pool-set", "args": {"pool": "p", "size": 1}}
    status, answer = ask(s, "POST", "/api/v1/commands", body, **one)
    limited(s, status, answer, "person_requests_max", 10, True)
    assert ask(s, "GET", "/api/v1/session")[0] == 401 and ask(s, "GET", "/healthz")[0] == 200


@test
def when_the_time_is_over_requests_are_answered_again(s):
    set_up(s, person_requests_max=3, person_window_ms=DAY * 1000)
    dan = token(s, "dan")
    said = [ask(s, "GET", "/api/v1/session", **dan)[0] for _ in range(5)]
    assert said == [200] * 3 + [429] * 2, said
    s.file.write_text("person_requests_max: 3\nperson_window_ms: 100\n")
    s.cgi.proc.send_signal(signal.SIGHUP)
    until("it answers again", lambda: ask(s, "GET", "/api/v1/session", **dan)[0] == 200)


def stream(s, who, at="127.0.0.1"):
    """-> the link, status, JSON of an error."""
    link = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60, source_address=(at, 0))
    link.request("GET", "/api/v1/events", headers=who)
    answer = link.getresponse()
    s.head = answer.headers
    return link, answer.status, None if answer.status == 200 else json.loads(answer.read())


def close(*streams):
    for link, _, _ in streams:
        link.close()
        link.sock and link.sock.close()


@test
def streams_of_one_token_from_five_addresses_do_not_take_all(s):
    set_up(s, person_streams_max=4)
    eda, finn = token(s, "eda"), token(s, "finn")
    mine = [stream(s, eda, f"127.0.12.{n}") for n in range(1, 5)]
    assert [status for _, status, _ in mine] == [200] * 4
    for who in (eda, token(s, "eda")):
        link, status, answer = stream(s, who, "127.0.12.5")
        limited(s, status, answer, "person_streams_max", 4, False)
    log = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    log.request("GET", "/api/v1/instances/1.2/log?follow=true", headers=eda)
    assert log.getresponse().status == 429
    other = stream(s, finn)
    assert other[1] == 200
    assert ask(s, "GET", "/api/v1/session", **eda)[0] == 200
    assert counted(s, "person_streams_max") == 3
    close(mine.pop())

    def again():
        got = stream(s, eda)
        if got[1] == 200:
            mine.append(got)
        return got[1] == 200
    until("the place of a stream that ended is free", again)
    close(other, *mine)


@test
def the_last_streams_are_kept_for_who_has_none(s):
    set_up(s, events_max=16, person_streams_max=1000)
    gil, hal = token(s, "gil"), token(s, "hal")
    mine = [stream(s, gil) for _ in range(16)]
    assert [status for _, status, _ in mine] == [200] * 14 + [429] * 2, [x[1:] for x in mine]
    limited(s, mine[-1][1], mine[-1][2], "events_max", 16, False)
    assert (got := stream(s, hal))[1] == 200
    status, answer = stream(s, hal)[1:]
    limited(s, status, answer, "events_max", 16, False)
    close(got, *mine)


def begun(s, who):
    """A request that is being answered for as long as its body does not come."""
    link = socket.create_connection(("127.0.0.1", s.http), timeout=60)
    head = "".join(f"{k}: {v}\r\n" for k, v in who.items())
    link.sendall(f"POST /api/v1/alerts/1/acknowledge HTTP/1.1\r\nHost: x\r\n{head}Content-Type: application/json\r\n"
                 "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n".encode())
    said = link.recv(4096).decode()
    return link, int(said.split()[1])


@test
def requests_at_once_are_limited_and_the_next_may_come_when_one_is_over(s):
    set_up(s, person_running_max=3)
    ida, jan = token(s, "ida"), token(s, "jan")
    open_ = [begun(s, ida) for _ in range(3)]
    assert [status for _, status in open_] == [100] * 3
    status, answer = ask(s, "GET", "/api/v1/session", **ida)
    limited(s, status, answer, "person_running_max", 3, False)
    assert begun(s, ida)[1] == 429 and ask(s, "GET", "/api/v1/session", **jan)[0] == 200
    open_[0][0].sendall(b"{}")
    assert open_[0][0].recv(4096)
    until("one more may come", lambda: ask(s, "GET", "/api/v1/session", **ida)[0] == 200)
    # a stream is none of them
    streams = [stream(s, jan) for _ in range(5)]
    assert [x[1] for x in streams] == [200] * 5 and ask(s, "GET", "/api/v1/session", **jan)[0] == 200
    close(*streams)
    for link, _ in open_:
        link.close()


def new_app(s):
    """-> what a program of jarvis2's signs with, once the face knows it."""
    name = f"app-{os.urandom(3).hex()}"
    key = s.make_token(name, "--role", "admin", "--app")
    until("the face knows it", lambda: name in [a["name"] for a in s.get("/api/v1/apps")["apps"]])
    return {"app_name": name, "app_key": key}


@test
def an_app_has_a_budget_and_settings_of_its_own(s):
    set_up(s, person_requests_max=5, app_requests_max=8, person_window_ms=DAY * 1000, jarvis2_project="jarvis2")
    app = new_app(s)
    said = [ask(s, "GET", f"/api/job/status?{urllib.parse.urlencode({**app, 'job_id': 4000000})}")[0] for _ in range(10)]
    assert said == [404] * 8 + [429] * 2, said
    # in jarvis2's words, too
    status, answer = ask(s, "POST", "/api/job/submit", {**app, "job_name": "x", "user": "wu", "job_type": "shell", "command": "true", "group_id": 0})
    assert status == 429 and int(s.head["Retry-After"]) > 0, (status, answer)
    assert answer["accept"] is False and "app_requests_max" in answer["message"], answer
    kim = token(s, "kim")
    assert [ask(s, "GET", "/api/v1/session", **kim)[0] for _ in range(6)] == [200] * 5 + [429]


@test
def requests_of_an_app_at_once_are_limited_by_its_own_setting(s):
    set_up(s, app_running_max=2, person_running_max=1, jarvis2_project="jarvis2")
    app = new_app(s)
    stand_still(s.base.pid)  # what asks it waits
    links = [http.client.HTTPConnection("127.0.0.1", s.http, timeout=60) for _ in range(3)]
    try:
        for n, link in enumerate(links):
            job = {"job_name": f"x{n}", "user": "wu", "job_type": "shell", "command": "true", "group_id": 0}
            link.request("POST", "/api/job/submit", json.dumps({**app, **job}), {"Content-Type": "application/json"})
        # Whichever of them comes last is the one that is answered.
        first = select.select([link.sock for link in links], [], [], 60)[0]
        refused = next(link for link in links if link.sock in first)
        answer = refused.getresponse()
        text = json.loads(answer.read())
        assert answer.status == 429 and int(answer.getheader("Retry-After")) == 1, (answer.status, text)
        assert text["accept"] is False and "app_running_max" in text["message"], text
    finally:
        s.base.proc.send_signal(signal.SIGCONT)
    for link in links:
        assert link is refused or link.getresponse().read()
        link.close()
    status = f"/api/job/status?{urllib.parse.urlencode({**app, 'job_id': 4000000})}"
    until("they are over", lambda: ask(s, "GET", status)[0] == 404)


@test
def who_has_read_for_too_long_waits_with_reading_and_nobody_else_does(s):
    set_up(s)
    mia, ned = token(s, "mia"), token(s, "ned")
    set_up(s, person_reading_ms=1, person_window_ms=DAY * 1000)
    until("mia's reading is used up", lambda: ask(s, "GET", "/api/v1/tasks?limit=500", **mia)[0] == 429)
    status, answer = ask(s, "GET", "/api/v1/tasks", **mia)
    limited(s, status, answer, "person_reading_ms", 1, True)
    assert ask(s, "GET", "/api/v1/session", **mia)[0] == 200  # it reads nothing
    assert ask(s, "GET", "/api/v1/tasks", **ned)[0] == 200
    assert counted(s, "person_reading_ms") >= 2 and counted(s, "app_reading_ms") == 0


@test
def an_app_reads_within_a_time_of_its_own(s):
    set_up(s, app_reading_ms=1, person_window_ms=DAY * 1000, jarvis2_project="jarvis2")
    status = f"/api/job/status?{urllib.parse.urlencode({**new_app(s), 'job_id': 4000000})}"
    assert ask(s, "GET", status)[0] == 404
    until("its reading is used up", lambda: ask(s, "GET", status)[0] == 429)
    assert counted(s, "app_reading_ms") >= 1 and counted(s, "person_reading_ms") == 0


@test
def a_refused_login_says_which_limit_and_until_when(s):
    set_up(s)
    for _ in range(5):
        assert ask(s, "POST", "/api/v1/login", {"user": "lee", "password": "wrong wrong"}, at="127.0.31.1")[0] == 401
    status, answer = ask(s, "POST", "/api/v1/login", {"user": "lee", "password": "wrong wrong"}, at="127.0.31.1")
    limited(s, status, answer, "login_tries_per_minute", 5, True)


@test
def usual_work_of_a_person_and_of_a_console_is_within_the_defaults(s):
    set_up(s)
    mia = token(s, "mia")
    streams = [stream(s, mia) for _ in range(20)]
    said = {ask(s, "GET", path, **mia)[0] for _ in range(30)
            for path in ("/api/v1/session", "/api/v1/server", "/api/v1/workflows", "/api/v1/instances", "/api/v1/alerts")}
    assert said == {200} and {x[1] for x in streams} == {200}, said
    close(*streams)


def site():
    s = Site("budget")
    s.file = s.dir / "cgi.yaml"
    s.file.write_text("")
    own = [w for w in s.cgi.argv if not w.startswith("person_")]  # the harness asks for more than a person does
    s.cgi.argv = [w for i, w in enumerate(own) if not (w == "--set" and (i + 1 == len(own) or own[i + 1] == "--set"))]
    s.cgi.argv += ["-c", str(s.file)]
    return s.start()


if __name__ == "__main__":
    sys.exit(main(site))
