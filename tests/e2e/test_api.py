#!/usr/bin/env python3
"""The HTTP face, from outside: raw sockets and http.client against a real sirdar-cgi.

Without a BaseServer: routing, defence, who may what, limits, errors. Prints TAP.
"""
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import openapi  # noqa: E402
from harness import OWN_WORD, own_admin  # noqa: E402
from ports import free_port  # noqa: E402

ROOT = Path(os.environ.get("SIRDAR_ROOT", Path(__file__).resolve().parents[2]))
BIN = Path(os.environ.get("B", ROOT / "build/gcc"))
BIN = (BIN if BIN.is_absolute() else ROOT / BIN) / "bin"
WORK = Path(tempfile.mkdtemp(prefix="api-"))
TESTS = []


def test(f):
    TESTS.append(f)
    return f


class Cgi:
    """One sirdar-cgi with its own state directory."""

    def __init__(self, name, *sets, server="127.0.0.1:1"):
        self.dir = WORK / name
        self.port = free_port()
        self.sets = [f"listen=127.0.0.1:{self.port}", f"state_dir={self.dir}/state",
                     f"store=sqlite:{self.dir}/none", f"server={server}", *sets]
        self.dir.mkdir(exist_ok=True)
        if not (self.dir / "state/password").exists():
            own_admin(self.dir / "state")  # no server is here, and who lets himself in without one is the cgi's own
        self.log = open(self.dir / "log", "a+")
        self.ready_before = self.text().count("cgi.ready")
        self.proc = subprocess.Popen(self.command(), stdout=self.log, stderr=self.log)
        self.wait_ready()

    def command(self, *more):
        return [str(BIN / "sirdar-cgi"), *[w for s in self.sets for w in ("--set", s)], *more]

    def text(self):
        return (self.dir / "log").read_text()

    def wait_ready(self):
        end = time.monotonic() + 20
        while self.text().count("cgi.ready") == self.ready_before:
            assert self.proc.poll() is None, self.text()
            assert time.monotonic() < end, "not ready in time"
            time.sleep(0.01)

    @property
    def password(self):
        return OWN_WORD

    def token(self, name, *role):
        return subprocess.run(self.command("--make-token", name, *role), check=True,
                              capture_output=True, text=True).stdout.strip()

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        code = self.proc.wait(20)
        assert code == 0, f"ended with {code}:\n{self.text()}"
        assert "ERROR" not in self.text() and "runtime error" not in self.text(), self.text()

    def ask(self, method, path, body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=15)
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        c.request(method, path, body, headers)
        r = c.getresponse()
        text = r.read()
        c.close()
        is_json = "json" in (r.getheader("Content-Type") or "")
        return r.status, (json.loads(text) if is_json and text else text), r

    def raw(self, text, timeout=15):
        """All that comes back on one connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(text if isinstance(text, bytes) else text.encode())
            got = b""
            try:
                while chunk := s.recv(65536):
                    got += chunk
            except ConnectionResetError:
                pass
            return got.decode("latin-1")


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def statuses(text):
    return [int(s) for s in re.findall(r"^HTTP/1\.1 (\d+)", text, re.M)]


def error(answer):
    e = answer["error"]
    assert set(e) >= {"code", "message", "place", "hint", "request_id"}, e
    assert re.fullmatch(r"[0-9a-f]{32}", e["request_id"]), e
    return e


CGI = ADMIN = None


# --- it says what is wrong --------------------------------------------------------------------


@test
def without_a_baseserver_health_is_503_and_says_so():
    status, answer, _ = CGI.ask("GET", "/api/v1/health", **ADMIN)
    assert status == 503 and error(answer)["code"] == "AGAIN"
    assert "baseserver" in answer["error"]["message"] and "127.0.0.1:1" in answer["error"]["message"]
    assert CGI.ask("GET", "/healthz")[0] == 200
    assert CGI.ask("GET", "/readyz")[0] == 503


@test
def without_a_store_lists_are_503_and_say_so():
    status, answer, _ = CGI.ask("GET", "/api/v1/instances", **ADMIN)
    assert status == 503 and "store" in error(answer)["message"], answer


@test
def a_path_that_is_not_there_is_404_in_the_one_shape():
    for path in ("/nope", "/api/v1", "/api/v1/tasks/", "/api/v1/instances/1.2/", "//", "/api/v1/../v1/tasks",
                 "/api/v1/%2e%2e/%2e%2e/etc/passwd", "/api/v2/tasks"):
        status, answer, _ = CGI.ask("GET", path, **ADMIN)
        assert status == 404, (path, status)
        assert error(answer)["code"] == "NOT_FOUND"


@test
def a_wrong_method_is_405_with_those_allowed():
    status, answer, r = CGI.ask("DELETE", "/api/v1/commands", **ADMIN)
    assert status == 405 and sorted(r.getheader("Allow").split(", ")) == ["GET", "POST"], r.getheader("Allow")
    assert CGI.ask("BREW", "/api/v1/tasks", **ADMIN)[0] == 405


@test
def no_other_refusal_says_which_methods_there_are():
    """Of a POST it named those that the router had passed by: GET alone."""
    for body in (b"{", b'{"kind": "nothing"}'):
        status, _, r = CGI.ask("POST", "/api/v1/commands", body, **ADMIN)
        assert status == 400 and r.getheader("Allow") is None, (status, r.getheader("Allow"))


@test
def unknown_and_wrong_arguments_are_named():
    for query, place in (("colour=red", "query"), ("limit=0", "limit"), ("limit=501", "limit"), ("limit=1e3", "limit"),
                         ("limit=99999999999999999999", "limit"), ("states=Lost", "states"), ("from=soon", "from"),
                         ("sort=name;drop", "sort"), ("order=up", "order"), ("from=2026-02-30", "from")):
        status, answer, _ = CGI.ask("GET", "/api/v1/instances?" + query, **ADMIN)
        assert status == 400 and error(answer)["place"] == place, (query, status, answer)
    for bad in ("x", "1", "1.", "1.2.3.4", "1.2.x", "-", "99999999999.1"):
        status, answer, _ = CGI.ask("GET", f"/api/v1/instances/{bad}", **ADMIN)
        assert status == 400 and error(answer)["place"] == "id", (bad, status)


@test
def every_answer_carries_the_protective_headers():
    for path in ("/", "/healthz", "/nope", "/api/v1/health", "/status.js"):
        _, _, r = CGI.ask("GET", path)
        assert "default-src 'self'" in r.getheader("Content-Security-Policy"), path
        assert "frame-ancestors 'none'" in r.getheader("Content-Security-Policy"), path
        assert r.getheader("X-Content-Type-Options") == "nosniff" and r.getheader("X-Request-Id")


@test
def the_status_page_has_nothing_inline_and_nothing_from_elsewhere():
    _, page, _ = CGI.ask("GET", "/")
    page = page.decode()
    assert "<style" not in page and not re.search(r"<script(?![^>]*src=)", page) and " on" + "click" not in page
    assert "http://" not in page and "https://" not in page and "//" not in page.replace("</", "")
    for part in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert CGI.ask("GET", part)[0] == 200, part


# --- who may what ---------------------------------------------------------------------------------


def routes():
    text = (ROOT / "cgi/handlers/routes.def").read_text()
    return [(m, p, r, f) for m, p, r, f in
            re.findall(r'^ROUTE\("(\w+)",\s*"([^"]+)",\s*(\w+),\s*\w+,\s*([^,]+),', text, re.M)]


def filled(path):
    return path.replace("{id}", "1").replace("{name...}", "a/b/c").replace("{name}", "zzz")


@test
def every_route_refuses_whom_it_must_and_lets_the_others_through():
    order = ["NONE", "VIEWER", "DEVELOPER", "OPERATOR", "ADMIN"]
    tokens = {r: CGI.token("m-" + r.lower(), r.lower()) for r in order[1:]}
    assert len(routes()) > 25
    for method, path, role, flags in routes():
        body = "RF_BODY" in flags
        if path == "/api/v1/events" or path.startswith("/api/v1/login"):
            continue
        for who in order:
            headers = bearer(tokens[who]) if who != "NONE" else {}
            status, answer, _ = CGI.ask(method, filled(path), {} if body else None, **headers)
            if who == "NONE" and role != "NONE":
                assert status == 401, (method, path, who, status)
            elif order.index(who) < order.index(role):
                assert status == 403, (method, path, who, status)
            elif "RF_CREDENTIAL" in flags and who != "ADMIN":  # his token was made on the machine
                assert status == 403 and error(answer)["place"] == "session", (method, path, who, status)
            else:
                assert status not in (401, 403, 404, 405) or path.startswith(("/api/v1/tokens/", "/api/v1/password", "/api/v1/users/", "/api/v1/apps/", "/api/v1/sessions/",
                                                                                           "/api/v1/preferences", "/api/v1/schema/", "/docs")), (method, path, who, status)


@test
def a_command_needs_its_own_role():
    viewer, developer = CGI.token("c-v", "viewer"), CGI.token("c-d", "developer")
    body = {"kind": "skip", "args": {"selection": {"tasks": ["a/b/c"]}}}
    assert CGI.ask("POST", "/api/v1/commands", body, **bearer(viewer))[0] == 403
    status, answer, _ = CGI.ask("POST", "/api/v1/commands", body, **bearer(developer))
    assert status == 403 and "operator" in error(answer)["message"]
    body["kind"] = "log-level"
    assert CGI.ask("POST", "/api/v1/commands", body, **bearer(CGI.token("c-o", "operator")))[0] == 403
    body["kind"] = "apply"
    assert CGI.ask("POST", "/api/v1/commands", body, **bearer(developer))[0] == 503


@test
def wrong_credentials_are_401_whatever_their_shape():
    for value in ("Bearer x", "Bearer ", "Basic YWRtaW46", "Bearer " + "a" * 5000, "bearer", "Bearer sirdar_" + "A" * 43):
        status, answer, _ = CGI.ask("GET", "/api/v1/session", Authorization=value)
        looks_right = value.endswith("AA")  # and no store is there that would know
        assert status == (503 if looks_right else 401), (value[:20], status)
        assert error(answer)["code"] == ("AGAIN" if looks_right else "AUTH"), answer
    for cookie, status in (("x", 401), ("here_" + "x" * 43, 401), ("x" * 43, 503)):  # one of the server's, and no store is there
        assert CGI.ask("GET", "/api/v1/session", Cookie="sirdar=" + cookie)[0] == status, cookie


@test
def a_token_of_this_machine_is_kept_hashed_and_ends_when_deleted():
    secret = CGI.token("robot", "viewer")
    for f in (CGI.dir / "state").rglob("*"):
        if f.is_file():
            assert secret not in f.read_text() and f.stat().st_mode & 0o077 == 0, f
    assert secret not in CGI.text()
    assert CGI.ask("GET", "/api/v1/session", **bearer(secret))[1]["user"] == "token:robot"
    assert CGI.ask("DELETE", "/api/v1/tokens/robot", **ADMIN)[0] == 200
    assert CGI.ask("DELETE", "/api/v1/tokens/..%2fpassword", **ADMIN)[0] == 404
    assert (CGI.dir / "state/password").exists()
    assert CGI.ask("GET", "/api/v1/session", **bearer(secret))[0] == 503  # no store is there that would know


@test
def a_token_that_an_older_version_kept_for_a_person_is_refused_and_told():
    (CGI.dir / "state/tokens/ann-old").touch(0o600)
    (CGI.dir / "state/tokens/ann-old").write_text(f"viewer {'ab' * 32} 1700000000 0 ann\n")
    assert CGI.ask("GET", "/api/v1/session", **bearer("sirdar_" + "x" * 43))[0] == 503
    assert "token.ignored" in CGI.text() and "sirdar login" in CGI.text()
    (CGI.dir / "state/tokens/ann-old").unlink()


@test
def a_session_needs_its_csrf_token_and_the_same_origin_for_changes():
    status, answer, r = CGI.ask("POST", "/api/v1/login", {"user": "admin", "password": CGI.password})
    assert status == 200, answer
    cookie = r.getheader("Set-Cookie")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    jar, csrf = {"Cookie": cookie.split(";")[0]}, answer["csrf"]
    host = f"http://127.0.0.1:{CGI.port}"
    assert CGI.ask("GET", "/api/v1/session", **jar)[1]["user"] == "admin"
    new = {"name": "n1"}
    assert CGI.ask("POST", "/api/v1/tokens", new, **jar)[0] == 403
    assert CGI.ask("POST", "/api/v1/tokens", new, **jar, X_CSRF_Token="0" * 64)[0] == 403
    assert CGI.ask("POST", "/api/v1/tokens", new, **jar, X_CSRF_Token=csrf, Origin="http://evil.example")[0] == 403
    assert CGI.ask("POST", "/api/v1/tokens", new, **jar, X_CSRF_Token=csrf, Origin="null")[0] == 403
    assert CGI.ask("POST", "/api/v1/tokens", new, **jar, X_CSRF_Token=csrf, Sec_Fetch_Site="cross-site")[0] == 403
    assert CGI.ask("POST", "/api/v1/tokens", new, **jar, X_CSRF_Token=csrf, Origin=host)[0] == 201
    assert CGI.ask("POST", "/api/v1/logout", **jar, X_CSRF_Token=csrf)[0] == 200
    assert CGI.ask("GET", "/api/v1/session", **jar)[0] == 401


@test
def a_new_password_ends_all_other_sessions_and_survives_a_restart():
    cgi = Cgi("password")
    first = cgi.password
    _, answer, r = cgi.ask("POST", "/api/v1/login", {"user": "admin", "password": first})
    jar = {"Cookie": r.getheader("Set-Cookie").split(";")[0], "X_CSRF_Token": answer["csrf"]}
    other = {"Cookie": cgi.ask("POST", "/api/v1/login", {"user": "admin", "password": first})[2].getheader("Set-Cookie").split(";")[0]}
    change = {"old": first, "new": "short"}
    assert cgi.ask("POST", "/api/v1/password", change, **jar)[0] == 400
    change["new"] = "a longer password"
    assert cgi.ask("POST", "/api/v1/password", change, **jar)[0] == 200
    assert cgi.ask("GET", "/api/v1/session", **jar)[0] == 200
    assert cgi.ask("GET", "/api/v1/session", **other)[0] == 401
    cgi.stop()
    cgi = Cgi("password")
    assert cgi.ask("GET", "/api/v1/session", **jar)[0] == 200
    assert cgi.ask("GET", "/api/v1/session", **other)[0] == 401
    assert "Password:" not in cgi.text()
    assert cgi.ask("POST", "/api/v1/login", {"user": "admin", "password": first})[0] == 401
    assert cgi.ask("POST", "/api/v1/login", {"user": "admin", "password": change["new"]})[0] == 200
    cgi.stop()


@test
def wrong_passwords_are_slowed_down_and_of_people_none_is_judged_without_a_server():
    cgi = Cgi("tries", "login_tries_per_minute=1")  # the next one is there after a minute
    assert cgi.ask("POST", "/api/v1/login", {"user": "root", "password": "x"})[0] == 503
    assert cgi.ask("POST", "/api/v1/login", {"user": "admin", "password": "x"})[0] == 401
    status, answer, r = cgi.ask("POST", "/api/v1/login", {"user": "admin", "password": cgi.password})
    assert status == 429 and error(answer)["code"] == "LIMIT" and int(r.getheader("Retry-After")) > 0
    cgi.stop()


# --- bad input ---------------------------------------------------------------------------------------


@test
def requests_that_two_readers_would_cut_differently_are_refused():
    head = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
    post = "POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    inner = "GET /healthz HTTP/1.1\r\nHost: inner\r\n\r\n"
    for name, text in (
            ("two lengths", post + "Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner),
            ("same length twice", post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
            ("length and chunked", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner),
            ("chunked", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
            ("odd coding", post + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}"),
            ("length with sign", post + "Content-Length: +2\r\n\r\n{}"),
            ("two lengths in one", post + "Content-Length: 2, 2\r\n\r\n{}"),
            ("two hosts", head + "Host: y\r\n\r\n"),
            ("no host", "GET /healthz HTTP/1.1\r\n\r\n"),
            ("absolute target", "GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
            ("NUL in target", "GET /healthz%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
            ("NUL in argument", "GET /healthz?a=%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
    ):
        got = CGI.raw(text + "")
        assert statuses(got)[:1] in ([400], []), (name, got[:200])
        assert 200 not in statuses(got), (name, got[:300])


@test
def a_body_over_the_limit_is_413_before_it_is_sent():
    text = ("POST /api/v1/commands HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            "Authorization: %s\r\nContent-Length: 1048577\r\n\r\n" % ADMIN["Authorization"])
    got = CGI.raw(text)
    assert statuses(got) == [413] and "TOO_BIG" in got and "Connection: close" in got, got[:300]


@test
def a_head_over_the_memory_limit_is_refused():
    got = CGI.raw("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + "a" * 60000 + "\r\n\r\n")
    assert 200 not in statuses(got), got[:200]
    got = CGI.raw("GET /healthz?a=" + "a" * 5000 + " HTTP/1.1\r\nHost: x\r\n\r\n")
    assert statuses(got) == [414], got[:200]


@test
def json_is_read_strictly():
    deep = '{"kind":"redo","args":' + '{"a":' * 20 + "1" + "}" * 21
    for bad in ('{', '[]', '"x"', 'null', '{"kind":"redo"} x', '{"kind":"redo","kind":"kill"}', '{"kind":"redo",}', "{'a':1}",
                '{"kind":"re\\u0000do"}', '{"kind":"\\ud800"}', '{"kind":"a\nb"}', '{"kind":01}', '{"kind":1e999}', '{"a":NaN}',
                '{"args":{"n":9007199254740993}}', deep, '{"kind":"\xff"}'.encode("latin-1"), b'{"kind":"\xc0\xaf"}',
                b'{"kind":"\xed\xa0\x80"}', b'\x00', b'', '{"kind":"redo","colour":1}', '{"kind":7}', '{"kind":"nope"}',
                '{"kind":"redo","args":[]}', '{"kind":"redo","dry_run":1}', '{"kind":"redo","request_id":"x"}'):
        status, answer, _ = CGI.ask("POST", "/api/v1/commands", bad, **ADMIN)
        assert status == 400 and error(answer)["code"] == "INVALID", (bad, status)
    for good in ('{"kind":"redo"}', ' {"kind" : "redo" , "args" : {"message":"\\ud83d\\ude00 é"}}\n'):
        status, answer, _ = CGI.ask("POST", "/api/v1/commands", good.encode(), **ADMIN)
        assert status == 503, (good, status, answer)
    assert CGI.ask("POST", "/api/v1/commands", "kind=redo", Content_Type="text/plain", **ADMIN)[0] == 415


@test
def a_client_that_drips_is_cut_off():
    cgi = Cgi("drip", "request_ms=1000", "idle_ms=5000")
    for text in (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ",
                 b"POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", cgi.port), timeout=0.2) as s:
            s.sendall(text)
            begun, over = time.monotonic(), False
            while not over and time.monotonic() - begun < 8:
                try:
                    s.sendall(b"a")
                    over = s.recv(1000) == b""
                except socket.timeout:
                    pass
                except OSError:
                    over = True
            took = time.monotonic() - begun
            assert over and 0.8 < took < 4, (text[:20], took)
    cgi.stop()


@test
def connections_of_one_address_are_limited_and_come_back():
    cgi = Cgi("many", "connections_per_address_max=5")
    held = [socket.create_connection(("127.0.0.1", cgi.port)) for _ in range(5)]
    for s in held:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" in s.recv(1000)
    assert statuses(cgi.raw("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")) == []
    for s in held:
        s.close()
    end = time.monotonic() + 10
    while True:
        try:
            if cgi.ask("GET", "/healthz")[0] == 200:
                break
        except OSError:
            pass
        assert time.monotonic() < end
    cgi.stop()


# --- lists, over a store made here ---------------------------------------------------------------------


def store_make(folder, runs):
    """A store as the server would have left it: one workflow, one task, `runs` finished runs."""
    folder.mkdir()
    head = (ROOT / "lib/store/sqlite_migrate.c").read_text() + (ROOT / "lib/store/sqlite.h").read_text()
    app = int(re.search(r"APPLICATION_ID\s+(0x[0-9a-fA-F]+|\d+)", head).group(1), 0)
    db = sqlite3.connect(folder / "sirdar.db")
    db.execute("PRAGMA journal_mode=WAL")
    for n, f in enumerate(sorted((ROOT / "schema/sql/sqlite").glob("*.sql")), 1):
        db.executescript(f.read_text())
        db.execute(f"PRAGMA user_version={n}")
    db.execute(f"PRAGMA application_id={app}")
    db.execute("UPDATE lb_leader SET epoch=1, number=?", (runs,))
    db.execute("INSERT INTO lb_workflow VALUES (1,1,'p/w',0,'me',1772323200000000,'workflow: w\n\"quoted\": 中文\n')")
    columns = [r[1] for r in db.execute("PRAGMA table_info(lb_task)")]
    task = dict.fromkeys(columns, 0) | {"task_id": 7, "task_name": "p/w/t", "task_type": "shell", "task_status": 1, "workflow_id": 1, "version": 1, "owner": "me", "priority": 5}
    db.execute(f"INSERT INTO lb_task ({','.join(task)}) VALUES ({','.join('?' * len(task))})", list(task.values()))
    columns = [r[1] for r in db.execute("PRAGMA table_info(lb_task_run_history)")]
    for n in range(1, runs + 1):
        row = dict.fromkeys(columns, 0) | {"last_number": n, "task_id": 7, "curr_run_date": 1772323200 + 3600 * n, "job_status": 3, "generation": 1, "ended_us": 1772323200000000 + n, "priority": 5, "version": 1}
        db.execute(f"INSERT INTO lb_task_run_history ({','.join(row)}) VALUES ({','.join('?' * len(row))})", list(row.values()))
    today = int(time.time()) // 86400
    for task in (0, 7):  # 98 took 1 s, 2 took about 100 s, 1 failed for good; yesterday 5 were skipped
        for state, day, bucket, count, total in ((3, today, 270, 98, 98000000), (3, today, 375, 2, 200000000),
                                                 (5, today, 270, 1, 1000000), (10, today - 1, -1, 5, 0)):
            db.execute("INSERT INTO lb_statistic VALUES (?,?,?,?,?,?)", (day, task, state, bucket, count, total))
    db.execute("UPDATE lb_leader SET outcome_number=?", (runs - 10,))
    db.commit()
    db.close()


@test
def lists_are_paged_without_loss_and_one_is_found_by_id():
    store_make(WORK / "store", 1234)
    cgi = Cgi("lists", f"store=sqlite:{WORK}/store")
    who = bearer(cgi.token("v", "viewer"))
    for order in ("asc", "desc"):
        seen, cursor = [], ""
        while cursor is not None:
            status, page, _ = cgi.ask("GET", f"/api/v1/instances?task=p/w/t&limit=500&order={order}&cursor={cursor}", **who)
            assert status == 200 and page["number"] == "1234", page
            seen += [i["id"] for i in page["items"]]
            cursor = page["cursor"]
        assert len(seen) == len(set(seen)) == 1234, (order, len(seen))
    status, one, _ = cgi.ask("GET", f"/api/v1/instances/{seen[0]}", **who)
    assert status == 200 and one["task"] == "p/w/t" and one["state"] == "Succ" and one["run_date"].endswith("Z"), one
    assert cgi.ask("GET", "/api/v1/instances/7.1", **who)[0] == 404
    assert cgi.ask("GET", "/api/v1/instances?cursor=zzz", **who)[0] == 400
    few = cgi.ask("GET", "/api/v1/instances?from=2026-03-01T00:00:00Z&to=2026-03-01T05:00:00Z", **who)[1]["items"]
    assert len(few) == 5, few
    day = cgi.ask("GET", "/api/v1/instances?from=2026-03-01&to=2026-03-01&limit=500", **who)[1]["items"]
    assert len(day) == 23, len(day)
    assert cgi.ask("GET", "/api/v1/instances?states=Failed", **who)[1]["items"] == []
    assert cgi.ask("GET", "/api/v1/instances?task=p/w/none", **who)[0] == 404
    assert cgi.ask("GET", "/api/v1/stats", **who)[1]["instances"]["Succ"] == 1234
    for path in ("/api/v1/statistics", "/api/v1/statistics/p/w/t"):
        stats = cgi.ask("GET", path + "?days=3", **who)[1]
        assert [d["states"] for d in stats["days"]] == [{"Succ": 100, "StopSchedule": 1}, {"Skipped": 5}], stats
        took = stats["total"]["duration_us"]
        assert stats["total"]["runs"] == 100 and stats["total"]["success_permille"] == 990, stats
        assert took["mean"] == 2980000 and abs(took["p50"] - 1e6) < 32e3 and abs(took["p99"] - 100e6) < 4e6, took
    assert cgi.ask("GET", "/api/v1/statistics/p/w/none", **who)[0] == 404
    assert cgi.ask("GET", "/api/v1/statistics?days=0", **who)[0] == 400
    gone = cgi.ask("GET", "/api/v1/retention?days=1", **who)[1]  # what has no saved outcome stays
    assert gone["instances"] == 1224 and gone["instances_kept"] == 10 and gone["bytes"] <= gone["bytes_all"], gone
    assert cgi.ask("GET", "/api/v1/retention?days=36500", **who)[1]["instances"] == 0
    assert cgi.ask("GET", "/api/v1/tasks?prefix=p/", **who)[1]["items"][0]["task"] == "p/w/t"
    assert cgi.ask("GET", "/api/v1/tasks/p/w/t", **who)[1]["task_id"] == 7
    assert cgi.ask("GET", "/api/v1/links/p/w/t", **who)[1] == {"parents": [], "children": []}
    status, flow, _ = cgi.ask("GET", "/api/v1/workflows/p/w", **who)
    assert status == 200 and "中文" in flow["document"] and flow["versions"][0]["version"] == 1, flow
    assert cgi.ask("GET", "/api/v1/workflows/p/w?format=yaml", **who)[1].decode() == flow["document"]
    assert cgi.ask("GET", "/api/v1/workflows", **who)[1]["items"][0]["name"] == "p/w"
    assert cgi.ask("GET", "/api/v1/commands", **who)[1]["items"] == []
    assert cgi.ask("GET", "/api/v1/commands/1", **who)[0] == 404
    run = subprocess.run([BIN / "sirdar", "run", "list", "p/w/*", "--all", "--json"], capture_output=True, text=True, timeout=30,
                         env=dict(os.environ, SIRDAR_URL=f"http://127.0.0.1:{cgi.port}", SIRDAR_TOKEN_FILE=str(token_file(cgi, who))))
    assert run.returncode == 0 and len(json.loads(run.stdout)) == 1234, run.stderr
    cgi.stop()


def token_file(cgi, who):
    f = cgi.dir / "token"
    f.write_text(who["Authorization"].split()[1] + "\n")
    f.chmod(0o600)
    return f


# --- streams, start and stop ------------------------------------------------------------------------------


@test
def an_event_stream_begins_at_once_and_ends_with_the_server():
    cgi = Cgi("sse", "events_max=2")
    token = cgi.token("t")
    held = []
    for _ in range(2):
        s = socket.create_connection(("127.0.0.1", cgi.port), timeout=15)
        s.sendall(f"GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        got = b""
        while b"event: down" not in got:
            got += s.recv(4096)
        assert b"text/event-stream" in got and b"retry:" in got
        held.append(s)
    status, answer, _ = cgi.ask("GET", "/api/v1/events", **bearer(token))
    assert status == 429 and error(answer)["code"] == "LIMIT"
    held.pop().close()
    end = time.monotonic() + 30  # the heartbeat finds the one that left
    while cgi.ask("GET", "/metrics", **bearer(token))[1].decode().find("sirdar_cgi_streams 1\n") < 0:
        assert time.monotonic() < end, "the stream of a client that left is still counted"
        time.sleep(0.2)
    cgi.stop()  # with a stream open
    while held[0].recv(4096):
        pass


@test
def a_request_that_waits_is_answered_when_the_cgi_stops():
    with socket.socket() as silent:  # takes the connection, never says a word
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        cgi = Cgi("waits", server="127.0.0.1:%d" % silent.getsockname()[1])
        token = cgi.token("t")
        got = []
        asks = [threading.Thread(target=lambda: got.append(cgi.ask("GET", "/api/v1/server", **bearer(token))[0]))
                for _ in range(20)]
        for t in asks:
            t.start()
        end, own = time.monotonic() + 60, 0
        while True:  # all twenty are there, beside our own questions
            own += 1
            text = cgi.ask("GET", "/metrics", **bearer(token))[1].decode()
            if int(re.search(r"cgi_requests_total (\d+)", text)[1]) - own >= 20:
                break
            assert time.monotonic() < end
        cgi.stop()
        for t in asks:
            t.join(20)
        assert len(got) == 20 and all(s == 503 for s in got), got


@test
def a_public_address_without_a_certificate_does_not_start():
    for listen in ("0.0.0.0:0", "[::]:0", "192.0.2.1:7480"):
        r = subprocess.run([BIN / "sirdar-cgi", "--set", f"listen={listen}", "--set", f"state_dir={WORK}/never"],
                           capture_output=True, text=True, timeout=20)
        assert r.returncode == 78 and "certificate" in r.stderr, (listen, r)
    assert not (WORK / "never").exists()


@test
def with_a_certificate_it_speaks_tls_and_marks_its_cookie():
    key, crt = WORK / "key.pem", WORK / "crt.pem"
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                           "-keyout", key, "-out", crt, "-subj", "/CN=localhost", "-days", "2"], capture_output=True)
    if made.returncode != 0:
        return "SKIP no openssl to make a certificate"
    os.chmod(key, 0o600)
    cgi = Cgi("tls", f"certificate_file={crt}", f"certificate_key_file={key}")
    context = ssl.create_default_context(cafile=str(crt))
    context.check_hostname = False
    c = http.client.HTTPSConnection("127.0.0.1", cgi.port, timeout=15, context=context)
    c.request("POST", "/api/v1/login", json.dumps({"user": "admin", "password": cgi.password}), {"Content-Type": "application/json"})
    r = c.getresponse()
    cookie = r.getheader("Set-Cookie")
    assert r.status == 200 and cookie.startswith("__Host-sirdar=") and "Secure" in cookie, cookie
    assert r.getheader("Strict-Transport-Security")
    c.close()
    for suites, taken in (("ECDHE+AESGCM", True), ("ECDHE+CHACHA20", True), ("ECDHE-ECDSA-AES128-SHA", False),
                          ("ECDHE-ECDSA-AES256-SHA:ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA384:ECDHE-ECDSA-AES256-CCM", False)):
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(suites + ":@SECLEVEL=0")
        try:
            with context.wrap_socket(socket.create_connection(("127.0.0.1", cgi.port), timeout=15)) as s:
                got = s.cipher()[0]
        except (ssl.SSLError, OSError):
            got = None
        assert (got is not None) == taken, (suites, got)
    cgi.stop()
    return None


@test
def a_request_without_a_host_gets_one_answer():
    for text in ("GET /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/1.1\r\nX: y\r\n\r\n", "GET /api/v1/session HTTP/1.1\r\n\r\n",
                 "POST /api/v1/login HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"):
        said = CGI.raw(text)
        assert statuses(said) == [400], said


@test
def a_head_with_nul_or_lines_that_do_not_end_with_cr_lf_is_refused():
    who = f"Authorization: {ADMIN['Authorization']}"
    good = f"GET /api/v1/session HTTP/1.1\r\nHost: x\r\nX: a b \t\r\nY:\r\n{who}\r\nConnection: close\r\n\r\n"
    assert statuses(CGI.raw(good)) == [200] and statuses(CGI.raw("\r\n" + good)) == [200], CGI.raw(good)
    for was, now in (("session HTTP", "session\0x HTTP"), ("session HTTP", "session?a=1\0 HTTP"), ("GET ", "GE\0T "), ("GET ", "GET\0X "),
                     ("GET ", "GET  "), ("HTTP/1.1", "HTTP/1.1\0"), ("X: a", "X: \0a"), ("a b", "a\0b"), ("X:", "X\0:"), ("X:", "\0X:"),
                     (who, who + "\0x"), (who, who + "\0"), ("Host: x", "Host: x\0y"), ("Y:", "Y: \x07"), ("Y:", "Y: a\rb"), ("Y:", "Y: a\r\n b"),
                     ("1.1\r\n", "1.1\n"), ("1.1\r\n", "1.1\r"), ("x\r\n", "x\n"), ("x\r\n", "x\r"), (who + "\r\n", who + "\n"),
                     ("close\r\n\r\n", "close\n\r\n"), ("close\r\n\r\n", "close\r\n\n"), ("close\r\n\r\n", "close\n\n")):
        assert was in good
        said = CGI.raw(good.replace(was, now, 1))
        assert statuses(said) == [400], (was, now, said)
    assert statuses(CGI.raw(good.replace("\r\n", "\n"))) == [400]


@test
def a_body_with_nul_is_refused():
    text = '{"kind": "pool-set", "args": {"pool": "p", "size": 1}}'
    for was, now in (("p\"", "p\0q\""), ("p\"", 'p\\u0000q"'), ("}}", "}}\0"), ("}}", "}\0}"), ("pool\"", 'pool\\u0000"')):
        body = text.replace(was, now, 1)
        assert body != text
        said = CGI.raw(f"POST /api/v1/commands HTTP/1.1\r\nHost: x\r\nAuthorization: {ADMIN['Authorization']}\r\n"
                       f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}")
        assert statuses(said) == [400], (was, now, said)


@test
def the_description_and_the_route_table_name_the_same_routes():
    """Completely: method, path, role, handler; every argument in braces of a path is described."""
    described = set()
    for path, methods in openapi.load(ROOT / "schema/openapi.yaml")["paths"].items():
        for method, op in methods.items():
            described.add((method.upper(), path, op["x-role"].upper(), op.get("x-handler", "is missing: the handler of cgi/handlers/routes.def")))
            told = {p["name"] for p in op.get("parameters", []) if p["in"] == "path"}
            assert told == set(re.findall(r"\{(\w+)\}", path)), (method, path, told)
    rows = re.findall(r'^ROUTE\("(\w+)",\s*"([^"]+)",\s*(\w+),\s*\w+,\s*[^,]+,\s*(\w+)\)', (ROOT / "cgi/handlers/routes.def").read_text(), re.M)
    table = {(m, p.replace("...", ""), r, h) for m, p, r, h in rows}
    assert described == table, described ^ table


# --- the command line ------------------------------------------------------------------------------------


@test
def the_command_line_signs_in_and_ends_with_codes_for_scripts():
    env = dict(os.environ, XDG_CONFIG_HOME=str(WORK / "xdg"), SIRDAR_URL=f"http://127.0.0.1:{CGI.port}")
    env.pop("SIRDAR_TOKEN_FILE", None)

    def run(*words, text=None):
        return subprocess.run([BIN / "sirdar", *words], env=env, input=text, capture_output=True, text=True, timeout=30)

    assert run("run", "list").returncode == 5
    assert run("login", text="wrong\n").returncode == 5
    assert run("login", text=CGI.password + "\n").returncode == 0
    kept = WORK / "xdg/sirdar/token"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert run("run", "list").returncode == 3  # no store
    assert run("kill", "a/b/c", "2026-01-01", "--yes").returncode == 3
    assert run("kill").returncode == 2
    assert run("apply", str(WORK / "absent.yaml")).returncode == 4
    env["SIRDAR_URL"] = "http://example.org"
    assert run("status").returncode == 2
    env["SIRDAR_URL"] = f"http://127.0.0.1:{free_port()}"
    assert run("status").returncode == 3


def main():
    global CGI, ADMIN
    CGI = Cgi("main", "login_tries_per_minute=100")
    ADMIN = bearer(CGI.token("admin"))
    only = sys.argv[1:]
    chosen = [t for t in TESTS if not only or any(o in t.__name__ for o in only)]
    print(f"1..{len(chosen) + 1}")
    failed = 0
    for n, t in enumerate(chosen, 1):
        try:
            note = t()
            print(f"ok {n} - {t.__name__}" + (f" # {note}" if note else ""), flush=True)
        except Exception as e:  # noqa: BLE001
            failed += 1
            print(f"not ok {n} - {t.__name__}\n# {type(e).__name__}: {str(e)[:800]}", flush=True)
    try:
        CGI.stop()
        print(f"ok {len(chosen) + 1} - it stops in order and nothing was reported by a sanitizer")
    except Exception as e:  # noqa: BLE001
        failed += 1
        print(f"not ok {len(chosen) + 1} - it stops in order\n# {str(e)[-1500:]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
