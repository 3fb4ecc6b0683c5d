#!/usr/bin/env python3
"""`sirdar target test`: a broker tries to connect to a target server as a job would there, and says how it went. Against a real
MariaDB and PostgreSQL, SQLite, HTTP, hosts that accept and never answer; who may ask, which brokers may try, what nobody
may see. TAP."""
import contextlib
import http.server
import json
import os
import secrets
import shutil
import socket
import sqlite3
import sys
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, RUNNERS, Site, Skip, free_port, main, test, until  # noqa: E402
import databases  # noqa: E402
import mariadb  # noqa: E402
import redirected  # noqa: E402

CANARY = "canary-of-the-tested"
WRONG = "canary-of-the-wrong-word"


def make():
    if not mariadb.program("mariadbd"):
        raise Skip("no mariadbd: packaging/deps.sh test")
    site = Site("target-test", secrets_key_file="/nowhere", secret_env_prefix="SIRDAR_SECRET_")
    try:
        site.my = mariadb.MariaDB("--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M", flush=0)
        site.my.sql(f"CREATE DATABASE d; CREATE USER 'job'@'%' IDENTIFIED BY '{CANARY}'; GRANT ALL ON d.* TO 'job'@'%'")
        site.pg = databases.Postgres()
        site.pg.sql(f"CREATE ROLE job LOGIN PASSWORD '{CANARY}'")
        site.silent = socket.create_server(("127.0.0.1", 0))  # accepts, and never answers
        site.web = web()
        plugins = site.dir / "plugins"
        plugins.mkdir()
        for name in ("sql.so", "http.so", "noop.so"):
            shutil.copy(RUNNERS / name, plugins)
        keys = site.dir / "secrets.keys"
        keys.touch(0o600)
        keys.write_text(f"one:{secrets.token_hex(32)}\n")
        site.rules = site.dir / "egress.conf"
        site.rules.write_text("allow 127.0.0.1\n")
        site.env["SIRDAR_EGRESS"] = str(site.rules)
        site.base_sets.update(secrets_key_file=keys)
        site.base.argv = site.argv("baseserver", site.base_sets)
        return site.start(types=("sql:2", "http:2", "noop:2"), runners_dir=plugins)
    except BaseException:
        site.close()
        raise


def web():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            known = "Basic am9iOmNhbmFyeS1vZi10aGUtdGVzdGVk"  # job, CANARY
            self.send_response(200 if self.path == "/open" or self.headers.get("Authorization") == known else 401)
            self.end_headers()

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def target(s, name, **more):
    status, answer = s.ask("POST", "/api/v1/servers", {"server": name, **more})
    assert status in (200, 201, 202), answer


def tried(s, name, **body):
    status, answer = s.ask("POST", f"/api/v1/servers/{name}/test", body)
    assert status == 200, (status, answer)
    assert CANARY not in str(answer) and WRONG not in str(answer), answer
    return answer["test"]


def apart(s, name, **body):
    """Over a connection of its own."""
    head = {"Content-Type": "application/json", "Authorization": f"Bearer {s.token}"}
    ask = urllib.request.Request(f"http://127.0.0.1:{s.http}/api/v1/servers/{name}/test", json.dumps(body).encode(), head)
    try:
        with urllib.request.urlopen(ask) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as e:
        return e.code, json.loads(e.read())


def outcome(s, name, **body):
    return tried(s, name, **body)["outcome"]


@test
def each_kind_that_a_runner_can_dial_is_connected_to_and_says_its_version(s):
    my = {"kind": "mariadb", "host": "127.0.0.1", "port": s.my.port, "user": "job", "database": "d", "password": CANARY}
    pg = {"kind": "postgresql", "host": "127.0.0.1", "port": s.pg.port, "user": "job", "database": "postgres", "password": CANARY}
    sqlite3.connect(s.dir / "lite.db").close()
    for name, version, more in (("my", "MariaDB", my), ("pg", "PostgreSQL", pg), ("lite", "SQLite 3", {"kind": "sqlite", "database": str(s.dir / "lite.db")}),
                                ("web", "HTTP status 200", {"kind": "http", "host": f"http://127.0.0.1:{s.web.server_port}/x", "user": "job", "password": CANARY}),
                                ("webname", "HTTP status", {"kind": "http", "host": "127.0.0.1", "port": s.web.server_port})):
        target(s, name, **more)
        until("b1 has said that it takes work", lambda: tried(s, name)["outcome"] != "nobody")
        one = tried(s, name)
        assert one["outcome"] == ("login" if name == "webname" else "connected") and version in one["text"], (name, one)
        assert one["broker"] == "b1" and one["took_ms"] >= 0, one
    said = s.sirdar("target", "test", "my").stdout
    assert said.startswith("my: connected from b1: MariaDB"), said
    assert "server-test" in str(s.get("/api/v1/audit?limit=50")["items"])
    assert "my" in str(s.get("/api/v1/peers/b1/exposed")["secrets"])


@test
def each_way_to_fail_has_its_own_name(s):
    my = {"kind": "mariadb", "host": "127.0.0.1", "port": s.my.port, "user": "job", "database": "d", "password": CANARY}
    pg = {"kind": "postgresql", "host": "127.0.0.1", "port": s.pg.port, "user": "job", "database": "postgres", "password": CANARY}
    free, silent = free_port(), s.silent.getsockname()[1]
    for base in (my, pg):
        for want, more in (("login", {"password": WRONG}), ("database", {"database": "nosuch"}), ("refused", {"port": free}),
                           ("name", {"host": "no-such-host.invalid"}), ("tls", {"extra": {"tls": "verify"}}), *([("late", {"port": silent})] if base is pg else [])):
            target(s, "bad", **{**base, "extra": {}, **more})
            one = tried(s, "bad")
            assert one["outcome"] == want, (base["kind"], want, one)
    for want, host in (("refused", f"http://127.0.0.1:{free}"), ("name", "http://no-such-host.invalid"), ("tls", f"https://127.0.0.1:{s.my.port}"),
                       ("late", f"http://127.0.0.1:{silent}")):
        target(s, "badweb", kind="http", host=host)
        assert outcome(s, "badweb") == want, (host, tried(s, "badweb"))
    target(s, "nofile", kind="sqlite", database=str(s.dir / "not-there.db"))
    assert outcome(s, "nofile") == "database" and not (s.dir / "not-there.db").exists()
    target(s, "kept", kind="sqlite", database=str(s.dir / "b1/b1.key"))
    assert outcome(s, "kept") in ("policy", "database")
    done = s.sirdar("target", "test", "nofile", expect=1)
    assert "nofile: database from b1" in done.stdout, done


@test
def a_file_whose_writer_died_is_looked_at_and_nothing_beside_it_changes(s):
    folder = s.dir / "left"
    folder.mkdir()
    (folder / "precious").write_text("a file of somebody else\n")
    databases.hot(folder / "hot.db", folder / "precious")
    before = {f: (folder / f).read_bytes() for f in os.listdir(folder)}
    target(s, "hot", kind="sqlite", database=str(folder / "hot.db"))
    assert outcome(s, "hot") == "other"
    assert {f: (folder / f).read_bytes() for f in os.listdir(folder)} == before, os.listdir(folder)


@test
def a_file_that_another_one_locked_is_said_at_once_and_holds_up_no_test(s):
    path = s.dir / "locked.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("create table t (n int)")
    writer.execute("begin exclusive")
    target(s, "locked", kind="sqlite", database=str(path))
    one = tried(s, "locked")
    assert one["outcome"] == "other" and "database is locked" in one["text"], one
    writer.execute("rollback")
    assert outcome(s, "locked") == "connected"
    writer.close()


@test
def a_server_that_asks_for_the_password_itself_is_named_and_not_told(s):
    for server, kind in ((redirected.MySQL("mysql_clear_password"), "mysql"), (redirected.MySQL("caching_sha2_password"), "mysql"),
                         (redirected.PostgreSQL("clear"), "postgresql")):
        target(s, "asks", kind=kind, host="127.0.0.1", port=server.port, user="job", database="d", password=CANARY)
        one = tried(s, "asks")
        assert server.asked and CANARY.encode() not in server.got, (kind, server.got, one)
        assert one["outcome"] == "tls" and "not sent" in one["text"] and "set tls to verify" in one["text"], (kind, one)
        server.close()


@test
def what_a_target_says_steers_no_terminal(s):
    """A MariaDB that turns away with colours, a title, a line that looks like another's, and C1 controls."""
    said = b"\xff\x15\x04#28000no \x1b[31mentry\x1b]0;mine\x07\rmy: connected\x7f\xc2\x9b2J"

    def serve(server):
        with contextlib.suppress(OSError):
            while True:
                with server.accept()[0] as c:
                    c.sendall(len(said).to_bytes(3, "little") + b"\0" + said)
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    target(s, "steers", kind="mariadb", host="127.0.0.1", port=server.getsockname()[1], user="job", password=CANARY)
    text = tried(s, "steers")["text"]
    printed = s.sirdar("target", "test", "steers", expect=None).stdout
    server.close()
    for shown in (text, printed.rstrip("\n")):
        assert "entry" in shown, shown
        assert not [c for c in shown if ord(c) < 32 or 127 <= ord(c) < 160], ascii(shown)


@test
def the_machines_policy_is_said_with_the_line_that_it_wants(s):
    s.rules.write_text("")
    for name in ("my", "pg", "web"):
        one = tried(s, name)
        assert one["outcome"] == "policy" and "egress file" in one["text"], one
        port = {"my": s.my.port, "pg": s.pg.port, "web": s.web.server_port}[name]
        assert f'allow 127.0.0.1 {port}"' in one["text"], one
    s.rules.write_text("allow 127.0.0.1\n")


@test
def a_password_that_cannot_be_had_is_not_the_targets_fault(s):
    target(s, "away", kind="mysql", host="127.0.0.1", password={"from": "env", "path": "SIRDAR_SECRET_NOT_THERE"})
    one = tried(s, "away")
    assert one["outcome"] == "secret" and "SIRDAR_SECRET_NOT_THERE" in one["text"], one


@test
def nobody_who_may_try_is_said_with_each_ones_reason(s):
    one = tried(s, "my", broker="nosuch")
    assert one["outcome"] == "nobody" and "no broker nosuch has the task type sql" in one["text"], one
    one = tried(s, "my", group="far")
    assert one["outcome"] == "nobody" and one["text"] == "b1: is not in that group", one
    s.command_over(s.command("broker-drain", brokers=["b1"]))
    assert "b1: takes no work now" in tried(s, "my")["text"]
    s.command_over(s.command("broker-undrain", brokers=["b1"]))
    s.add_broker("far-1", ("sql:1",), groups="far", runners_dir=s.dir / "plugins")
    until("it says that it takes work", lambda: tried(s, "my", group="far")["broker"] == "far-1")
    target(s, "hdfs", kind="hive", host="h")
    status, answer = s.ask("POST", "/api/v1/servers/hdfs/test", {})
    assert status == 501 and "of kind hive: nothing here can try" in str(answer), answer
    assert s.ask("POST", "/api/v1/servers/nosuch/test", {})[0] == 404
    assert s.ask("POST", "/api/v1/servers/my/test", {"odd": 1})[0] == 400


@test
def who_may_ask_is_said_by_the_project(s):
    target(s, "mine", kind="mariadb", host="127.0.0.1", port=s.my.port, user="job", database="d", password=CANARY, projects=["retail"])
    target(s, "theirs", kind="mariadb", host="127.0.0.1", port=s.my.port, user="job", database="d", password=CANARY, projects=["finance"])
    word = "a long password 1"
    for user, role in (("dev", "developer"), ("view", "viewer")):
        status, answer = s.ask("POST", "/api/v1/users", {"user": user, "role": role, "projects": ["retail"], "password": word})
        assert status in (200, 201), answer

    def ask(who, name, **body):
        return s.as_person(who, word, "POST", f"/api/v1/servers/{name}/test", body)
    until("the face knows them", lambda: ask("dev", "mine")[0] == 200)
    assert ask("dev", "mine", project="retail")[1]["test"]["outcome"] == "connected"
    assert ask("view", "mine")[0] == 403
    for name, body in (("theirs", {}), ("theirs", {"project": "finance"}), ("mine", {"project": "finance"}), ("theirs", {"project": "retail"})):
        status, answer = ask("dev", name, **body)
        assert status == 403 and CANARY not in str(answer), (name, body, status, answer)
    assert s.ask("POST", "/api/v1/servers/mine/test", {"project": "finance"})[0] == 403
    target(s, "mine", projects=["retail", "other"])
    assert s.ask("POST", "/api/v1/servers/mine/test", {})[0] == 400
    assert outcome(s, "mine", project="other") == "connected"


@test
def a_hundred_tests_at_once_are_one_test(s):
    target(s, "stands", kind="mariadb", host="127.0.0.1", port=s.silent.getsockname()[1], user="job", password=CANARY)
    with ThreadPoolExecutor(30) as pool:
        all_of = list(pool.map(lambda _: apart(s, "stands"), range(100)))
    took = [a for code, a in all_of if code == 200]
    refused = [a for code, a in all_of if code == 429]
    assert len(took) >= 1 and len(took) + len(refused) == 100 and len(refused) > 50, sorted({code for code, _ in all_of})
    assert all(a["test"]["outcome"] in ("late", "nobody") for a in took), took
    assert CANARY not in str(all_of)
    until("the loader is free again", lambda: outcome(s, "my") == "connected")


@test
def a_broker_that_dies_meanwhile_is_told(s):
    silent = socket.create_server(("127.0.0.1", 0))
    target(s, "dies", kind="mariadb", host="127.0.0.1", port=silent.getsockname()[1], user="job", password=CANARY)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(tried, s, "dies", broker="far-1")
        dialled = silent.accept()[0]
        for pid in s.pids("taskrunner-loader", under="far-1"):
            os.kill(pid, 9)
        one = asked.result(60)
        dialled.close()
    silent.close()
    assert one["outcome"] == "gone" and "went before it answered" in one["text"], one


@test
def the_password_is_in_no_log_command_line_audit_or_answer(s):
    for file in (f for f in s.dir.rglob("*.log") if f.is_file()):
        text = file.read_text(errors="replace")
        assert CANARY not in text and WRONG not in text, file
    kept = str(s.get("/api/v1/servers")) + str(s.get("/api/v1/audit?limit=500")) + str(s.get("/api/v1/commands?limit=200"))
    assert CANARY not in kept and WRONG not in kept
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                assert CANARY.encode() not in line.read(), pid
        except OSError:
            continue


if __name__ == "__main__":
    sys.exit(main(make))
