#!/usr/bin/env python3
"""The server's own socket: the first peers come in by it, without a key that anybody carried and without a face, and so does
who was locked out. Who else may connect, what nonsense on it does, and where it lies. No server here has a keys_file. TAP."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, Daemon, Site, Skip, free_port, main, stand_still, test, until  # noqa: E402
from keeper_client import field, read  # noqa: E402
from peer import Gone, Peer  # noqa: E402
from terminal import on_terminal  # noqa: E402

COMMAND, QUERY, ANSWER, PING = 40, 41, 42, 4
NO_SERVER, NOT_ALLOWED, USAGE = 69, 77, 64


class Bare(Site):
    """Nobody has a key before the server runs."""

    def __init__(self):
        super().__init__("admin", keys_file="")

    def add_key(self, name, kind=None):
        if self.base.proc is not None:
            enrol(self, name, kind or ("face" if name == "cgi" else "broker"))

    def start(self, **_):
        self.base.start()
        self.add_key("cgi")
        self.start_cgi()
        return self


def sock(s):
    return s.dir / "base/admin.sock"


def admin(s, *words, expect=0, stdin=None, argv=(), sets=None):
    argv = [*argv, *s.argv("baseserver", sets or s.base_sets), "admin", *words]
    done = subprocess.run([str(a) for a in argv], input=stdin if stdin is not None else "", capture_output=True, text=True, env=s.env, timeout=120)
    if expect is not None:
        assert done.returncode == expect, (words, done)
    return done


def listed(s):
    """{name: (kind, state, key)}"""
    return {row.split()[0]: tuple(row.split()[1:]) for row in admin(s, "list").stdout.splitlines()}


def program(s, name, kind):
    return {"face": lambda: s.cgi.argv, "broker": lambda: s.argv("taskbroker", s.broker_sets(name, ("shell:2",)))}[kind]()


def enrol(s, name, kind, *more):
    code = admin(s, "invite", name, "--kind", kind, *more).stdout.strip()
    done = s.run([*program(s, name, kind), "enrol", code])
    assert done.returncode == 0, done.stderr
    admin(s, "approve", name, "--fingerprint", done.stdout.strip())
    return done.stdout.strip()


def as_nobody():
    if os.geteuid() != 0:
        raise Skip("needs root")
    return [shutil.which("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"]


class Raw:
    """A connection that says what it likes."""

    def __init__(self, s):
        self.sock, self.data = socket.socket(socket.AF_UNIX), b""
        self.sock.settimeout(60)
        self.sock.connect(str(sock(s)))

    def send(self, kind, body=b""):
        with contextlib.suppress(BrokenPipeError):
            self.sock.sendall(struct.pack(">IHH", len(body), kind, 0) + body)

    def rest(self):
        """All that comes until the server closes."""
        got = b""
        while True:
            try:
                some = self.sock.recv(65536)
            except ConnectionResetError:
                return got
            if not some:
                return got
            got += some


def answered(s, kind, body):
    """-> code, text of the answer to one frame; None: there was none."""
    c = Raw(s)
    c.send(kind, body)
    got = c.rest()
    if len(got) < 8:
        return None
    m = read(got[8:8 + struct.unpack(">I", got[:4])[0]])
    code = m.get(2, [0])[0]
    return code - (1 << 64) if code >> 63 else code, m.get(3, [b""])[0].decode()


def command(kind, args, request_id="x", actor="", dry_run=False):
    return field(2, request_id) + field(3, actor) + field(4, kind) + field(5, json.dumps(args)) + field(6, dry_run)


@test
def a_site_without_keys_begins_by_the_socket_and_runs_a_job(s):
    assert listed(s)["cgi"][:2] == ("face", "active"), listed(s)
    key = enrol(s, "b1", "broker", "--group", "default", "--project", "etl")
    assert listed(s)["b1"] == ("broker", "active", key)
    row = s.get("/api/v1/peers/b1")
    assert (row["groups"], row["projects"], row["fingerprint"]) == (["default"], ["etl"], key), row
    s.brokers["b1"] = Daemon(s, "b1", program(s, "b1", "broker"), r"broker\.keeper_up").start()
    s.wait_broker("b1", ["shell"])
    s.apply("workflow: w\nproject: etl\ntimezone: UTC\nstart_date: 2026-01-01\nend_date: 2026-01-01\ndefaults: {cycle: once}\n"
            "tasks:\n  t: {type: shell, params: {script: 'echo here'}}\n", **{"from": "2026-01-01"})
    s.wait_state("etl/w/t", "2026-01-01T00:00:00Z", ("Succ",), 60)


@test
def without_a_file_of_keys_no_shared_key_opens_anything(s):
    for name in ("cgi", "b1", "nobody"):
        for key in (bytes(32), b"0" * 32):
            try:
                Peer(s, name, psk=key).close()
                raise AssertionError((name, key))
            except Gone:
                pass


@test
def what_was_done_by_it_survives_a_kill_and_stands_in_the_audit_with_who_did_it(s):
    code = admin(s, "invite", "kept", "--kind", "broker").stdout.strip()
    done = s.run([*program(s, "kept", "broker"), "enrol", code])
    admin(s, "approve", "kept", "--fingerprint", done.stdout.strip())
    s.base.kill()
    assert sock(s).is_socket(), "what a killed server leaves"
    s.base.start()
    assert listed(s)["kept"] == ("broker", "active", done.stdout.strip())
    until("the cgi has it again", s.up)
    rows = s.get("/api/v1/audit?limit=50")["items"]
    who = "root (socket)" if os.geteuid() == 0 else None
    mine = {r["action"]: r["actor"] for r in rows if '"peer":"kept"' in r["detail"]}
    assert mine["peer-invite"] == mine["peer-approve"] and mine["peer-key"] == "peer:kept", mine
    assert mine["peer-invite"] == who if who else mine["peer-invite"].endswith(" (socket)"), mine
    assert code.split("-")[1] not in json.dumps(rows)


@test
def an_administrator_is_made_and_gets_a_new_password_where_nobody_can_sign_in(s):
    def signs_in(password):
        return s.ask("POST", "/api/v1/login", {"user": "ann", "password": password, "name": "x"})[0]
    assert admin(s, "password", "ann", stdin="first-of-ann\n", expect=1).stderr.count("role") >= 1
    admin(s, "password", "ann", "--role", "admin", stdin="first-of-ann\n")
    until("she signs in", lambda: signs_in("first-of-ann") in (200, 201))
    admin(s, "password", "ann", stdin="second-of-ann\n")
    until("the former one is over", lambda: signs_in("second-of-ann") in (200, 201))
    assert signs_in("first-of-ann") == 401
    assert "10" in admin(s, "password", "ann", stdin="short\n", expect=USAGE).stderr
    for kept in [*(s.dir / "base").rglob("*"), s.base.log]:
        assert not kept.is_file() or b"second-of-ann" not in kept.read_bytes(), kept


@test
def the_last_face_comes_back_by_it(s):
    admin(s, "revoke", "cgi")
    until("nobody is let in", lambda: s.ask("GET", "/api/v1/peers")[0] != 200)
    s.cgi.stop()
    (s.dir / "cgi.key").unlink()
    enrol(s, "cgi", "face")
    s.start_cgi()
    assert s.get("/api/v1/peers/cgi")["state"] == "active"


@test
def a_key_is_approved_by_its_fingerprint_or_by_a_person_who_looks(s):
    code = admin(s, "invite", "eye", "--kind", "broker").stdout.strip()
    assert "waits" in admin(s, "approve", "eye", expect=1).stderr, "nothing waits yet"
    key = s.run([*program(s, "eye", "broker"), "enrol", code]).stdout.strip()
    done = admin(s, "approve", "eye", expect=USAGE)
    assert key in done.stderr and "--fingerprint" in done.stderr, done
    assert admin(s, "approve", "eye", "--fingerprint", "0" * 64, expect=1).stderr.count("another one")
    argv = [*s.argv("baseserver", s.base_sets), "admin", "approve", "eye"]
    shown = on_terminal(argv, s.env, s.dir, typed="n\n")
    assert shown.code == 1 and key in shown.text and listed(s)["eye"][1] == "pending", shown.text
    shown = on_terminal(argv, s.env, s.dir, typed="y\n")
    assert shown.code == 0 and listed(s)["eye"] == ("broker", "active", key), shown.text


@test
def nobody_else_on_the_machine_comes_in(s):
    nobody = as_nobody()
    assert sock(s).stat().st_mode & 0o777 == 0o600, oct(sock(s).stat().st_mode)
    done = admin(s, "list", argv=nobody, expect=NOT_ALLOWED)
    assert "root" in done.stderr, done
    mark = s.base.log.stat().st_size
    (s.dir / "base").chmod(0o755)
    sock(s).chmod(0o666)  # the kernel lets him in: the server does not
    try:
        admin(s, "list", argv=nobody, expect=NO_SERVER)
        until("it is told", lambda: s.base.has(r"admin\.refused uid=65534", mark))
    finally:
        sock(s).chmod(0o600)
        (s.dir / "base").chmod(0o700)


@test
def it_asks_for_little_and_a_client_is_believed_nothing(s):
    assert answered(s, COMMAND, command("user-remove", {"user": "ann"}))[0] == -15
    assert answered(s, COMMAND, command("apply", {"documents": []}))[0] == -15
    assert answered(s, QUERY, field(2, "server"))[0] == -15
    code, _ = answered(s, COMMAND, command("peer-invite", {"peer": "liar", "kind": "broker", "id": "0" * 12, "secret": "0" * 32}, actor="admin"))
    assert code == 0
    until("the audit shows it", lambda: [r for r in s.get("/api/v1/audit?limit=20")["items"] if "liar" in json.dumps(r)])
    row = next(r for r in s.get("/api/v1/audit?limit=20")["items"] if "liar" in json.dumps(r))
    assert row["actor"].endswith(" (socket)"), row


@test
def nonsense_ends_its_connection_and_nothing_else(s):
    pid = s.base.pid
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0" * 64, os.urandom(4096), b"{}\n"):
        c = Raw(s)
        c.sock.sendall(junk)
        c.sock.shutdown(socket.SHUT_WR)
        c.rest()
    for kind in range(0, 140):
        if kind in (COMMAND, QUERY, PING, 5):
            continue
        c = Raw(s)
        c.send(kind)
        assert not c.rest(), kind
    for body in (b"", command("peer-set", {}, request_id=""), command("peer-revoke", {}), field(2, "x") + field(4, "peer-set") + field(5, "{"),
                 command("peer-set", {"peer": "x" * 70000})):
        got = answered(s, COMMAND, body)
        assert got is None or got[0] < 0, (body[:40], got)
    c = Raw(s)
    c.send(QUERY, field(2, "peers"))
    c.send(QUERY, field(2, "peers"))
    assert c.rest().count(b'"peers"') < 2, "one request a connection"
    assert s.base.pid == pid and s.base.proc.poll() is None and listed(s)


@test
def a_thousand_connections_and_those_who_say_half_keep_nobody_out_for_long(s):
    fds = len(os.listdir(f"/proc/{s.base.pid}/fd")) if os.geteuid() == 0 else 0
    crowd = []
    for i in range(1000):
        c = socket.socket(socket.AF_UNIX)
        c.connect(str(sock(s)))
        with contextlib.suppress(BrokenPipeError):
            c.sendall(b"\0\0\0\x40\0" if i % 2 else b"")
        crowd.append(c)
    if fds:
        assert len(os.listdir(f"/proc/{s.base.pid}/fd")) < fds + 40
    assert s.get("/api/v1/peers"), "others do not feel it"
    until("it takes one again", lambda: admin(s, "list", expect=None).returncode == 0, 120, every=1)
    for c in crowd:
        c.close()
    assert listed(s)


@test
def a_client_that_stands_still_is_let_go_and_the_server_stops_as_ever(s):
    c = Raw(s)
    c.send(QUERY, field(2, "peers"))  # and reads nothing
    s.base.restart()
    assert listed(s)
    until("the cgi has it again", s.up)


@test
def a_second_server_on_the_directory_takes_nothing_of_it(s):
    before = sock(s).stat().st_ino
    done = s.run([*s.argv("baseserver", {**s.base_sets, "listen": f"127.0.0.1:{free_port()}"})])
    assert done.returncode == 75 or "in use" in done.stderr, done
    assert sock(s).stat().st_ino == before and listed(s)


@test
def what_lies_in_its_place_is_left_and_told_and_the_server_works(s):
    s.base.stop()
    assert not sock(s).exists(), "it takes its own with it"
    treasure = s.dir / "treasure"
    treasure.write_text("keep")
    os.symlink(treasure, sock(s))
    mark = s.base.log.stat().st_size
    s.base.start()
    assert s.base.has(r"admin\.closed .*no socket", mark), s.base.tail()
    assert treasure.read_text() == "keep" and treasure.stat().st_mode & 0o777 != 0o600
    done = admin(s, "list", expect=NO_SERVER)
    assert "admin.closed" in done.stderr or "no server" in done.stderr, done
    s.base.stop()
    sock(s).unlink()
    s.base.start()
    assert listed(s)
    until("the cgi has it again", s.up)


@test
def a_directory_with_a_long_name_has_one_too(s):
    deep = s.dir / ("d" * 120)
    sets = {**s.base_sets, "state_dir": deep, "listen": f"127.0.0.1:{free_port()}"}
    d = s.brokers["deep"] = Daemon(s, "deep", s.argv("baseserver", sets), r"baseserver\.up").start()
    done = admin(s, "invite", "far", "--kind", "broker", sets=sets)
    assert re.fullmatch(r"[0-9a-f]{12}-[0-9a-f]{32}\n", done.stdout), done
    assert d.stop() == 0 and not (deep / "admin.sock").exists()


@test
def a_standby_says_so_and_a_server_that_does_not_run_is_named(s):
    sets = {**s.base_sets, "store": f"sqlite:{s.dir}/base", "state_dir": s.dir / "two", "name": "two", "listen": f"127.0.0.1:{free_port()}"}
    d = s.brokers["two"] = Daemon(s, "two", s.argv("baseserver", sets), r"standby\.waits").start()
    done = admin(s, "invite", "x", "--kind", "broker", sets=sets, expect=NO_SERVER)
    assert "stands by" in done.stderr and f"127.0.0.1:{s.port}" in done.stderr, done
    assert "stands by" in admin(s, "list", sets=sets, expect=NO_SERVER).stderr
    s.base.stop()  # it leads now, and its own socket is the server's
    until("the other one leads", lambda: d.has(r"baseserver\.up"), 120)
    assert "cgi" in admin(s, "list", sets=sets).stdout
    admin(s, "invite", "after", "--kind", "broker", sets=sets)
    assert d.stop() == 0
    s.base.start()
    assert listed(s)["after"][1] == "invited"
    until("the cgi has it again", s.up)
    done = admin(s, "list", sets=sets, expect=NO_SERVER)
    assert "no server answers" in done.stderr and str(s.dir / "two") in done.stderr, done
    assert "no server answers" in admin(s, "list", sets={**sets, "state_dir": s.dir / "nowhere"}, expect=NO_SERVER).stderr


@test
def a_server_that_stands_still_is_waited_for_no_longer_than_said(s):
    stand_still(s.base.pid)
    p = subprocess.Popen([str(a) for a in (*s.argv("baseserver", s.base_sets), "admin", "list")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env=s.env, text=True)
    until("it waits", lambda: Path(f"/proc/{p.pid}/wchan").exists() and p.poll() is None)
    os.kill(s.base.pid, signal.SIGCONT)
    out, _ = p.communicate(timeout=120)
    assert p.returncode == 0 and "cgi" in out, out


@test
def the_guide_of_the_manual_runs_as_it_stands_there(s):
    settings = s.dir / "baseserver.yaml"
    settings.write_text("".join(f"{k}: {json.dumps(str(v)) if v == '' else v}\n" for k, v in s.base_sets.items() if k != "listen"))
    for manual in ("en", "zh"):
        text = (ROOT / "docs/book" / manual / "keys.md").read_text()
        text = text[text.index("baseserver.yaml admin list"):].split("\n\n")[0]
        lines = re.findall(r"(?:^|-c \S*)baseserver.yaml admin (.*?)(?: {2,}#.*)?$", text, re.M)
        assert [line.split()[0] for line in lines] == ["list", "invite", "approve", "revoke", "password", "token", "token-remove"], lines
        key = ""
        for line in lines:
            words = [key if w == "KEY" else w for w in line.split()]
            done = subprocess.run([BIN / "baseserver", "-c", settings, "admin", *words], env=s.env, text=True, capture_output=True, timeout=120,
                                  input="a long password\n")
            assert done.returncode == 0, (line, done)
            if words[0] == "invite":
                face = {"server": f"127.0.0.1:{s.port}", "name": "web-2", "key_file": s.dir / "web-2.key", "state_dir": s.dir / "web-2", "web_dir": ""}
                key = s.run([*s.argv("sirdar-cgi", face), "enrol", done.stdout.strip()]).stdout.strip()
        assert listed(s)["web-2"][1] == "revoked"
        (s.dir / "web-2.key").unlink()


@test
def words_that_are_none_say_which_there_are(s):
    for words in ((), ("lisst",), ("invite",), ("invite", "a", "b"), ("list", "x"), ("invite", "a", "--kin", "broker"), ("invite", "a", "--kind"),
                  ("approve", "a", "--kind", "face")):
        said = admin(s, *words, expect=USAGE).stderr
        want = "approve NAME" if not words else "did you mean 'list'?" if words[0] == "lisst" else "admin --help"
        assert want in said and (not words or len(said.splitlines()) == 1), (words, said)
    assert "approve NAME" in admin(s, "--help").stdout
    for wrong in (("invite", "a b", "--kind", "broker"), ("invite", "fresh"), ("invite", "fresh", "--kind", "king"), ("revoke", "nobody-here"),
                  ("invite", "fresh", "--kind", "broker", "--expires", "yesterday")):
        done = admin(s, *wrong, expect=1)
        assert done.stderr and not done.stdout, done


if __name__ == "__main__":
    sys.exit(main(lambda: Bare().start()))
