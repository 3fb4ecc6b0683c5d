"""A TCP proxy of the tests between a server and its database, which knows enough of MySQL's
protocol to see the statements. It cuts, halves, holds, delays and swallows at the point a test names.

    p = Proxy(port_of_mariadb)
    p.strike("COMMIT", "lose_answer")       the next COMMIT's answer does not come back
    p.wait_struck()

Standard library only; one thread for each direction of a connection.
"""
import random
import re
import select
import socket
import struct
import threading
import time

COM_QUERY, COM_PREPARE, COM_EXECUTE, COM_BULK = 0x03, 0x16, 0x17, 0xfa
HEAD = 4  # length (3, little endian), sequence number
# What may be done to the statement a rule is for, and to its answer.
ACTIONS = {
    "cut_before": "the connection ends, the statement never arrives",
    "cut_statement": "half of the statement arrives, then the connection ends",
    "lose_answer": "the statement is carried out, the connection ends before its answer",
    "cut_answer": "a few bytes of the answer come, then the connection ends",
    "swallow": "it is carried out, no answer comes and the connection stands: the client's time-out",
    "swallow_statement": "nothing arrives and the connection stands",
    "delay": "the statement comes later (seconds)",
    "hold": "the statement waits for release()",
}


class Rule:
    def __init__(self, pattern, action, times, seconds, after):
        assert action in ACTIONS, action
        self.pattern, self.action = re.compile(pattern), action
        self.left, self.seconds = times, seconds
        self.after = re.compile(after) if after else None

    def fits(self, text, earlier):
        return self.left > 0 and self.pattern.match(text) and \
            (self.after is None or any(self.after.match(e) for e in earlier))


class Proxy:
    """Listens on `port` (loopback); every connection goes on to `target`, (host, port)."""

    def __init__(self, target_port, target_host="127.0.0.1", host="127.0.0.1"):
        self.target = (target_host, target_port)
        self.listener = socket.create_server((host, 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.rules, self.struck, self.pairs = [], [], set()
        self.changed, self.released = threading.Condition(self.lock), threading.Event()
        self.closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    # --- what a test says

    def strike(self, pattern, action, times=1, seconds=0.0, after=None):
        """The next `times` statements that `pattern` matches at their beginning; with `after` only
        in a transaction that has a statement like this already."""
        with self.lock:
            if action == "hold":
                self.released.clear()
            self.rules.append(Rule(pattern, action, times, seconds, after))
            return len(self.struck)

    def wait_struck(self, since=0, seconds=60):
        """-> (action, statement) of the first strike after `since`, as strike() gave it."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.struck) > since, seconds):
                raise AssertionError(f"no statement was struck in {seconds} s")
            return self.struck[since]

    def release(self):
        self.released.set()

    def calm(self):
        """Forget every rule, let go what is held."""
        with self.lock:
            self.rules.clear()
        self.released.set()

    def cut_all(self):
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            pair.cut()

    def close(self):
        self.closed = True
        self.calm()
        self.listener.close()
        self.cut_all()

    # --- what it does

    def _accept(self):
        while not self.closed:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target, 10)
            except OSError:
                if self.closed:
                    return
                client.close()
                continue
            server.settimeout(None)
            pair = self._pair(client, server)
            with self.lock:
                self.pairs.add(pair)
            for run in (pair.forward, pair.back):
                threading.Thread(target=run, daemon=True).start()

    def _pair(self, client, server):
        return Pair(self, client, server)

    def rule_for(self, text, earlier):
        with self.changed:
            for rule in self.rules:
                if rule.fits(text, earlier):
                    rule.left -= 1
                    if rule.left == 0:
                        self.rules.remove(rule)
                    self.struck.append((rule.action, text[:200]))
                    self.changed.notify_all()
                    return rule
        return None


class Pair:
    """One connection, both ways."""

    def __init__(self, proxy, client, server):
        self.proxy, self.client, self.server = proxy, client, server
        self.mode = None  # what happens to the next bytes of the server
        self.earlier = []  # statements of this transaction
        self.prepared, self.preparing = {}, None  # id -> text; the text whose id comes next
        for s in (client, server):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def cut(self):
        """Both ends see it: an orderly end, or a reset."""
        hard = random.random() < 0.5
        for s in (self.client, self.server):
            try:
                if hard and s is self.client:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        with self.proxy.lock:
            self.proxy.pairs.discard(self)

    def done(self):
        self.cut()
        for s in (self.client, self.server):
            s.close()

    def forward(self):
        """Packet by packet, to see the statements."""
        have = b""
        try:
            while True:
                some = self.client.recv(65536)
                if not some:
                    break
                have += some
                while len(have) >= HEAD:
                    size = HEAD + int.from_bytes(have[:3], "little")
                    if len(have) < size:
                        break
                    packet, have = have[:size], have[size:]
                    if not self.packet(packet):
                        return
        except OSError:
            pass
        finally:
            self.cut()

    def statement(self, packet):
        """The text of what is to be carried out, or None."""
        kind = packet[HEAD] if packet[3] == 0 and len(packet) > HEAD else None
        text = packet[HEAD + 1:HEAD + 401]
        if kind == COM_QUERY:
            return text.decode("utf-8", "replace")
        if kind == COM_PREPARE:
            self.preparing = text.decode("utf-8", "replace")
        elif kind in (COM_EXECUTE, COM_BULK):
            return self.prepared.get(text[:4], "a prepared statement")
        return None

    def learn(self, answer):
        """The answer to a prepare begins with the statement's id."""
        if self.preparing is not None and len(answer) >= HEAD + 5 and answer[HEAD] == 0:
            self.prepared[answer[HEAD + 1:HEAD + 5]] = self.preparing
        self.preparing = None

    def packet(self, packet):
        """False: the connection is over."""
        rule, text = None, self.statement(packet)
        if text is not None:
            if text.startswith("START TRANSACTION"):
                self.earlier.clear()
            rule = self.proxy.rule_for(text, self.earlier)
            self.earlier.append(text)
        action = rule.action if rule else None
        if action == "cut_before":
            return False
        if action == "cut_statement":
            self.server.sendall(packet[:len(packet) // 2])
            return False
        if action == "swallow_statement":
            return True
        if action == "delay":
            time.sleep(rule.seconds)
        if action == "hold":
            self.proxy.released.wait()
        if action in ("lose_answer", "cut_answer", "swallow"):
            self.mode = action
        self.server.sendall(packet)
        return True

    def back(self):
        try:
            while True:
                some = self.server.recv(65536)
                self.learn(some)
                if not some or self.mode == "lose_answer":
                    break
                if self.mode == "cut_answer":
                    self.client.sendall(some[:3])
                    break
                if self.mode != "swallow":
                    self.client.sendall(some)
        except OSError:
            pass
        finally:
            self.cut()


class OldServer:
    """Greets as a database of another version and lets everybody in; answers nothing else."""

    def __init__(self, version):
        self.version = version.encode()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _greeting(self):
        # Protocol 10, native password; capabilities: 4.1, secure, plugins, transactions.
        low, high = 0xa20d, 0x0008
        body = (b"\x0a" + self.version + b"\0" + struct.pack("<I", 1) + b"12345678\0" +
                struct.pack("<HBHHB", low, 33, 2, high, 21) + b"\0" * 10 + b"123456789012\0" +
                b"mysql_native_password\0")
        return len(body).to_bytes(3, "little") + b"\0" + body

    def _serve(self):
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            with link:
                link.sendall(self._greeting())
                while select.select([link], [], [], 10)[0]:
                    got = link.recv(65536)
                    if not got:
                        break
                    ok = b"\0\0\0\x02\0\0\0"
                    link.sendall(len(ok).to_bytes(3, "little") + bytes([got[3] + 1]) + ok)

    def close(self):
        self.listener.close()


class Wire(Proxy):
    """Any protocol: bytes as they come. `slow` seconds before each piece of an answer; `shut`: no new connection gets
    through; `open` cleared: connections stand and nothing passes, until it is set and all of it arrives late."""

    def __init__(self, target_port):
        self.slow, self.shut, self.open = 0.0, False, threading.Event()
        self.open.set()
        super().__init__(target_port)

    def _pair(self, client, server):
        return Line(self, client, server)


class Line(Pair):
    def forward(self):
        self.copy(self.client, self.server, lambda: 0)

    def back(self):
        self.copy(self.server, self.client, lambda: self.proxy.slow)

    def copy(self, source, target, wait):
        try:
            while not self.proxy.shut:
                some = source.recv(65536)
                if not some:
                    break
                time.sleep(wait())
                self.proxy.open.wait()
                target.sendall(some)
        except OSError:
            pass
        finally:
            self.cut()
