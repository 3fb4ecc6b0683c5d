#!/usr/bin/env python3
"""What is wrong gets its clear error, and everything else goes on: files, commands, frames, keys,
plugins, settings, a full disk. TAP."""
import contextlib
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import B, BIN, RUNNERS, Daemon, Late, Site, Skip, main, rss_kb, test, until  # noqa: E402

GOOD = """workflow: {name}
project: bad
start_date: 2026-03-01
end_date: 2026-03-01
tasks:
  t: {{type: {type}, cycle: day, catchup: {{mode: all}}, params: {{script: "echo fine"}}}}
"""


def still_works(s):
    """A job runs through everything."""
    s.count = getattr(s, "count", 0) + 1
    s.apply(GOOD.format(name=f"still{s.count}", type="shell"), **{"from": "2026-03-01"})
    s.wait_state(f"bad/still{s.count}/t", "2026-03-01T00:00:00Z", "Succ")


def refused(s, text, *words):
    """The command line says no, with these words, and nothing has changed."""
    path = s.dir / "refused.yaml"
    path.write_text(text)
    before = s.get("/api/v1/tasks?limit=500")["items"]
    for command in (("check",), ("apply", "--yes")):
        done = s.sirdar(*command, str(path), expect=1)
        told = done.stdout + done.stderr
        for w in words:
            assert w in told, f"sirdar {command[0]}: no {w!r} in: {told}"
    assert s.get("/api/v1/tasks?limit=500")["items"] == before
    return told


# --- files

@test
def broken_yaml_is_refused_with_its_line(s):
    refused(s, "workflow: w\ntasks:\n  t: {type: shell\n  u: [\n", "refused.yaml:4")


@test
def an_unknown_key_is_refused_with_the_nearest_known_one(s):
    text = "workflow: w\ntasks:\n  t:\n    type: shell\n    cycle: day\n    priorty: 3\n"
    refused(s, text, ":6:", "priorty", "priority")


@test
def a_dependency_cycle_is_refused_and_its_tasks_are_named(s):
    text = "workflow: w\nproject: bad\ntasks:\n" + "".join(
        f"  {a}: {{type: shell, cycle: day, needs: [{b}], params: {{script: 'true'}}}}\n"
        for a, b in (("alpha", "beta"), ("beta", "gamma"), ("gamma", "alpha")))
    refused(s, text, "cycle", "alpha", "beta", "gamma")


@test
def unknown_parents_zones_macros_and_odd_values_are_all_told_at_once(s):
    text = ("workflow: w\nproject: bad\ntimezone: Mars/Olympus\ntasks:\n"
            "  t: {type: shell, cycle: fortnight, params: {script: '${nosuch}'}}\n"
            "  u: {type: shell, cycle: day, needs: [nobody], priority: 11}\n")
    told = refused(s, text)
    assert sum(w in told for w in ("Mars", "fortnight", "nosuch", "nobody", "11")) >= 2, told


@test
def documents_that_are_no_text_or_far_too_deep_are_refused(s):
    for text in ("\x00\x01", "[" * 100000, "a: &x [*x, *x]\n", "? " * 5000, "workflow: 1\n" * 3, ""):
        status, answer = s.ask("POST", "/api/v1/commands", {
            "kind": "apply", "request_id": os.urandom(16).hex(),
            "args": {"documents": [{"name": "x", "text": text}]}})
        assert 400 <= status < 500, (text[:20], status, answer)
        assert answer["error"]["message"], answer
    still_works(s)


@test
def commands_with_wrong_arguments_are_refused_by_name(s):
    for kind, args, word in (("redo", {"selection": {"tasks": ["no/such/task"]}}, "no/such/task"),
                             ("redo", {"selektion": {}}, "selektion"),
                             ("explode", {}, "explode"),
                             ("backfill", {"selection": {}}, "")):
        status, answer = s.ask("POST", "/api/v1/commands", {
            "kind": kind, "request_id": os.urandom(16).hex(), "args": args})
        assert 400 <= status < 500 and word in str(answer), (kind, status, answer)


# --- frames

def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def hello(name, low=1, high=1, role=3):
    body = (b"\x08" + varint(low) + b"\x10" + varint(high) + b"\x18" + varint(role) +
            b"\x22" + varint(len(name)) + name.encode() + b"\x38\x01")
    return frame(1, body)


def frame(kind, body, length=None):
    return struct.pack(">IHH", len(body) if length is None else length, kind, 0) + body


def talk(s, data, name="tester", key=None, seconds=15):
    """All that the server says to a peer that sends `data` and waits."""
    if not shutil.which("openssl"):
        raise Skip("no openssl to speak TLS with a pre-shared key")
    if not (s.dir / (name + ".key")).exists():
        s.add_key(name)
        until("the key is known", lambda: "settings.reloaded" in s.base.text(s.base.mark))
    key = key or (s.dir / (name + ".key")).read_text().strip().split(":")[1]
    with subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{s.port}", "-quiet",
                           "-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256",
                           "-psk_identity", name, "-psk", key], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        try:
            with contextlib.suppress(BrokenPipeError):  # it was cut off before it had said all
                p.stdin.write(data)
                p.stdin.flush()
            p.stdin = None
            return p.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            p.kill()
            raise Late(f"the server kept a peer for {seconds} s: {p.communicate()[0]!r}") from None


@test
def frames_of_absurd_lengths_end_their_session_only_and_cost_no_memory(s):
    good = hello("tester")
    talk(s, good + frame(41, b"\xff" * 10))  # a QUERY that is no protobuf
    before = rss_kb(s.base.pid)
    for data in (frame(1, b"", 0xffffffff), frame(1, b"", 0x7fffffff), frame(1, b"A" * 4000, 1 << 20),
                 good + frame(40, b"", 0xfffffff0), good + frame(14, b"", 16),  # JOBS: ours to send
                 good + frame(999, b"abc"), good + frame(41, b"\x00" * 70000), frame(41, b""),
                 good + good, struct.pack(">IHH", 4, 1, 7) + b"abcd", b"\xff" * 4096):
        mark = s.base.log.stat().st_size
        talk(s, data)
        until("the end is logged", lambda: s.base.has(r"session\.end .*code=", mark))
    grown = rss_kb(s.base.pid) - before
    assert grown < 8192, f"{grown} kB more"
    still_works(s)


@test
def a_peer_of_another_protocol_is_refused_with_both_versions(s):
    answer = talk(s, hello("tester", low=7, high=9))
    assert re.search(rb"protocol 7 to 9, this server 1 to [1-6]\b", answer), answer
    still_works(s)


@test
def a_peer_under_another_name_than_its_keys_is_refused(s):
    assert b"tester" in talk(s, hello("b1"))


@test
def a_wrong_key_and_an_unknown_name_do_not_get_in(s):
    assert talk(s, hello("tester"), key="00" * 32) == b""
    (s.dir / "ghost.key").write_text("ghost:" + "11" * 32 + "\n")
    assert talk(s, hello("ghost"), name="ghost") == b""
    (s.dir / "b9.key").touch(0o600)
    (s.dir / "b9.key").write_text("b9:" + "22" * 32 + "\n")
    sets = s.broker_sets("b9", ["shell:1"])
    b9 = s.brokers["b9"] = Daemon(s, "b9", s.argv("taskbroker", sets), r"broker\.keeper_up")
    b9.start()
    until("the broker says why", lambda: b9.has(r"(?i)link\.\w+ .*(key|auth|handshake|TLS)"))
    assert "b9" not in [b["name"] for b in s.get("/api/v1/brokers")["brokers"]]
    b9.stop()
    still_works(s)


@test
def garbage_and_silent_peers_are_dropped_and_hold_nobody_up(s):
    idle = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(20)]
    for junk in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"\x16\x03\x01\xff\xff" + b"\0" * 100):
        with socket.create_connection(("127.0.0.1", s.port), timeout=20) as c:
            c.sendall(junk)
            try:
                while c.recv(4096):
                    pass
            except ConnectionError:
                pass
    still_works(s)
    for c in idle:  # handshake_ms
        c.settimeout(20)
        try:
            assert c.recv(1) in (b"",), "a silent peer was answered"
        except ConnectionError:
            pass
        c.close()


# --- plugins

@test
def a_plugin_of_the_wrong_abi_is_refused_with_its_reason_and_others_run(s):
    plugins, bad = s.dir / "plugins", ("wrong_major", "missing_symbol", "missing_member", "no_entry",
                                       "short_struct", "open_fails")
    plugins.mkdir()
    shutil.copy(RUNNERS / "shell.so", plugins)
    for name in bad:
        shutil.copy(B / "test/plugins" / (name + ".so"), plugins)
    (plugins / "text.so").write_text("I am no library\n")
    types = ["shell:2", *(f"{n}:1" for n in (*bad, "text", "absent"))]
    s.add_broker("b2", types=types, wait=False, runners_dir=plugins, groups="odd")
    s.wait_broker("b2", ["shell"])

    def told():
        b2 = next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "b2")
        states = {t["type"]: (t["state"], t["text"]) for t in b2["types"]}
        return states if len(states) == len(types) else None
    states = until("every type has a state", told)
    for name in (*bad, "text", "absent"):
        assert states[name][0] == "refused" and states[name][1], (name, states[name])
    assert states["shell"][0] == "ready", states
    assert "2" in states["wrong_major"][1] or "ABI" in states["wrong_major"][1], states
    s.apply(GOOD.format(name="onodd", type="shell") + "defaults: {group: odd}\n",
            **{"from": "2026-03-01"})
    s.wait_state("bad/onodd/t", "2026-03-01T00:00:00Z", "Succ")
    s.apply(GOOD.format(name="wrongtype", type="wrong_major") + "defaults: {group: odd}\n",
            **{"from": "2026-03-01"})
    i = until("its row is there", lambda: s.instance("bad/wrongtype/t", "2026-03-01T00:00:00Z"))
    why = until("why knows", lambda: next((w for w in [s.get(f"/api/v1/instances/{i['id']}/why")]
                                           if w["gate"] >= 9), None))
    assert why["line"], why
    s.brokers["b2"].stop()


# --- settings

@test
def settings_that_are_wrong_are_named_with_place_and_range(s):
    bad = s.dir / "bad-settings.yaml"
    for program, text, *words in (
            ("baseserver", "lose_ms: 5\n", "lose_ms", "100"),
            ("baseserver", "lose_mss: 500\n", "lose_mss", "lose_ms"),
            ("taskbroker", "jobs_max: many\n", "jobs_max"),
            ("sirdar-cgi", "listen: [\n", "bad-settings.yaml")):
        bad.write_text(text)
        done = s.run([BIN / program, "-c", bad, "--check-config"])
        assert done.returncode != 0 and all(w in done.stderr for w in words), (program, done)
    open_keys = s.dir / "open-keys"
    open_keys.write_text((s.dir / "keys").read_text())
    open_keys.chmod(0o644)
    done = s.run(s.argv("baseserver", {**s.base_sets, "keys_file": open_keys,
                                       "state_dir": s.dir / "other", "listen": "127.0.0.1:0"}))
    assert done.returncode != 0 and "open-keys" in done.stderr, done


@test
def a_second_server_on_one_directory_ends_and_names_the_first(s):
    done = s.run(s.argv("baseserver", {**s.base_sets, "listen": "127.0.0.1:0"}))
    assert done.returncode != 0 and str(s.base.pid) in done.stderr, done
    still_works(s)


# --- a full disk

@test
def a_full_disk_stops_grants_with_an_error_and_all_goes_on_when_there_is_room(s):
    place = s.dir / "small"
    place.mkdir()
    if os.geteuid() != 0 or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place], check=False,
            capture_output=True).returncode != 0:
        raise Skip("a small file system needs root and mount(2)")
    try:
        full_disk(place)
    finally:
        subprocess.run(["umount", "-l", place], check=False)


def full_disk(place):
    with Site("full", state_dir=place / "base", log_dir=place / "logs",
              disk_free_min_bytes=1 << 20) as s:
        s.cgi.argv = [a.replace(f"sqlite:{s.dir}/base", f"sqlite:{place}/base") for a in s.cgi.argv]
        s.cgi.argv += ["--set", "request_ms=60000"]  # no answer may come of a client's patience
        s.start()
        still_works(s)
        with open(place / "ballast", "wb", buffering=0) as f:  # close() must have nothing left to write
            try:
                while True:
                    f.write(b"\0" * 65536)
            except OSError:
                pass
        # The log of the store has room ahead, also on a full disk: used up by large documents.
        large = "".join(f"  p{i}: {'x' * 9000}\n" for i in range(60))
        for n in range(100):
            status, answer = s.ask("POST", "/api/v1/commands", {
                "kind": "apply", "request_id": os.urandom(16).hex(), "args": {"documents": [
                    {"name": "x", "text": f"global:\n  n: {n}\n{large}"}]}})
            if status >= 500:
                assert status == 507 and "same request id" in answer["error"]["message"], (status, answer)
                break
            assert status in (200, 202), (status, answer)
        # Asked of a full store: no acknowledgement, health says why, reading goes on.
        ids = [os.urandom(16).hex() for _ in range(2)]
        for n, request_id in enumerate(ids):
            began = time.monotonic()
            status, answer = s.ask("POST", "/api/v1/commands", {
                "kind": "apply", "request_id": request_id, "args": {"documents": [
                    {"name": "x", "text": GOOD.format(name=f"full{n}", type="shell")}],
                    "from": "2026-03-01"}})
            assert status == 507 and answer["error"]["code"] == "FULL", (status, answer)
            assert "was not taken" in answer["error"]["message"], answer  # it never lay in the queue
            assert time.monotonic() - began < 20, "two seconds are promised"
        status, health = s.ask("GET", "/api/v1/health")
        assert status == 503 and health["status"] == "failing" and not health["store"]["ok"], health
        assert s.base.has(r"store-down.* code=FULL"), s.base.tail()
        assert s.instances() and s.base.proc.poll() is None
        os.unlink(place / "ballast")
        until("the store takes commits again",
              lambda: s.ask("GET", "/api/v1/health")[1]["store"]["ok"])
        still_works(s)
        # What was not acknowledged may be asked for again under its id, without a second effect.
        for n, request_id in enumerate(ids):
            s.apply(GOOD.format(name=f"full{n}", type="shell"), name="x", request_id=request_id,
                    **{"from": "2026-03-01"})
            i = s.wait_state(f"bad/full{n}/t", "2026-03-01T00:00:00Z", "Succ")
            assert i["generation"] == 1, i
        s.base.restart(hard=True)
        until("it leads", s.up)
        assert all(i["state"] == "Succ" for i in s.instances())


if __name__ == "__main__":
    sys.exit(main(lambda: Site("bad", handshake_ms=3000).start(("shell:8",))))
