"""A peer of the server, spoken from Python: TLS 1.3 with a key of its own by the GnuTLS library, frames and
protobuf by hand. It says what it likes: what a broker's programs never would, too.

    p = Peer(site, "evil")                      the key of NAME.key, one that both have or a pair
    p = Peer(site, "evil", pair=Pair())         a pair of its own
    p = Peer(site, "invite:" + id, psk=secret)  under the code of an invite
    p.hello(LOADER, type="shell", held=[...]); p.send("beat", field(1, 1)); p.wait("beat_ack")
"""
import ctypes
import json
import os
import re
import select
import socket
import struct
import time

from harness import SLOW, Late, until
from keeper_client import field, fixed, packed, read

BROKER, LOADER, CLIENT = 1, 2, 3
KINDS = {"hello": 1, "welcome": 2, "refuse": 3, "ping": 4, "pong": 5, "credit": 10, "beat": 11, "beat_ack": 12, "load": 13,
         "jobs": 14, "kills": 15, "reports": 16, "report_acks": 17, "param_ask": 18, "param_give": 19, "log_chunk": 20,
         "log_ack": 21, "runner_state": 22, "orders": 23, "command": 40, "query": 41, "answer": 42, "subscribe": 43, "events": 44,
         "log_read": 45, "log_data": 46, "told": 47, "alerts": 48, "ask": 49, "reply": 50, "piece": 101, "piece_ack": 102,
         "prove": 104, "delegation": 105, "enrol": 106, "enrolled": 107, "sign_in": 114}
NAMES = {v: k for k, v in KINDS.items()}
REPORTS = {"started": 1, "progress": 2, "ended": 3, "rejected": 4, "not_started": 5, "kill_ack": 6, "hanged": 7, "not_yet": 8,
           "lost": 9}
SUITES = b"NONE:+VERS-TLS1.3:+AES-128-GCM:+CHACHA20-POLY1305:+AEAD:+GROUP-SECP256R1:+GROUP-X25519:"
PRIORITY = {True: SUITES + b"+ECDHE-ECDSA:+SIGN-EDDSA-ED25519:+CTYPE-SRV-RAWPK:+CTYPE-CLI-RAWPK",  # has a pair
            False: SUITES + b"+ECDHE-PSK:+SIGN-ECDSA-SECP256R1-SHA256"}
CLIENT_SIDE, RAWPK, CRD_CERTIFICATE, CRD_PSK, PSK_HEX, PSK_RAW, AGAIN, INTERRUPTED = 2, 1 << 18, 1, 4, 1, 0, -28, -52
SPKI, PKCS8 = bytes.fromhex("302a300506032b6570032100"), bytes.fromhex("302e020100300506032b657004220420")


def gnutls():
    lib = ctypes.CDLL("libgnutls.so.30")
    for call in ("gnutls_record_send", "gnutls_record_recv"):
        getattr(lib, call).restype = ctypes.c_ssize_t
        getattr(lib, call).argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    lib.gnutls_record_check_pending.restype = ctypes.c_size_t
    for call in ("gnutls_handshake", "gnutls_record_check_pending", "gnutls_deinit", "gnutls_psk_free_client_credentials",
                 "gnutls_certificate_free_credentials"):
        getattr(lib, call).argtypes = [ctypes.c_void_p]
    lib.gnutls_certificate_set_rawpk_key_mem.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint,
                                                         ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    lib.gnutls_prf_rfc5705.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                       ctypes.c_size_t, ctypes.c_char_p]
    return lib


class Pair:
    """An Ed25519 pair by libsodium."""

    def __init__(self, secret=None):
        self.lib, self.secret = ctypes.CDLL("libsodium.so.23"), secret or os.urandom(32)
        public, both = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        self.lib.crypto_sign_seed_keypair(public, both, self.secret)
        self.key, self.both = public.raw, both.raw

    def sign(self, what):
        out = ctypes.create_string_buffer(64)
        self.lib.crypto_sign_detached(out, None, what, ctypes.c_ulonglong(len(what)), self.both)
        return out.raw

    @classmethod
    def of(cls, path):
        """The one in a file as `enrol` writes it; None: there is none."""
        found = re.search(r"^key ([0-9a-f]{64})$", path.read_text(), re.M)
        return cls(bytes.fromhex(found[1])) if found else None


class Datum(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_uint)]


class Gone(ConnectionError):
    """The server ended the session."""


class Peer:
    def __init__(self, site, name, psk=None, pair=None, source=""):
        self.lib, self.name, self.data, self.news, self.session = gnutls(), name, b"", [], 0
        path = site.dir / (name + ".key")
        self.pair = pair or (Pair.of(path) if not psk else None)
        self.sock = socket.create_connection(("127.0.0.1", site.port), source_address=(source, 0))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tls, self.keys = ctypes.c_void_p(), ctypes.c_void_p()
        self.lib.gnutls_init(ctypes.byref(self.tls), CLIENT_SIDE | (RAWPK if self.pair else 0))
        self.check(self.lib.gnutls_priority_set_direct(self.tls, PRIORITY[bool(self.pair)], None))
        if self.pair:
            self.show_pair()
        elif psk:
            self.share_key(psk, PSK_RAW)
        else:
            self.share_key(path.read_text().strip().split(":")[1].encode(), PSK_HEX)
        self.lib.gnutls_transport_set_int2(self.tls, self.sock.fileno(), self.sock.fileno())
        self.check(self.lib.gnutls_handshake(self.tls))

    def share_key(self, key, form):
        secret = Datum(key, len(key))
        self.lib.gnutls_psk_allocate_client_credentials(ctypes.byref(self.keys))
        self.check(self.lib.gnutls_psk_set_client_credentials(self.keys, self.name.encode(), ctypes.byref(secret), form))
        self.check(self.lib.gnutls_credentials_set(self.tls, CRD_PSK, self.keys))

    def show_pair(self):
        """It believes any server."""
        public, private = SPKI + self.pair.key, PKCS8 + self.pair.secret
        spki, pkcs8 = Datum(public, len(public)), Datum(private, len(private))
        self.lib.gnutls_certificate_allocate_credentials(ctypes.byref(self.keys))
        self.check(self.lib.gnutls_certificate_set_rawpk_key_mem(self.keys, ctypes.byref(spki), ctypes.byref(pkcs8), 0, None, 0,
                                                                 None, 0, 0))
        self.check(self.lib.gnutls_credentials_set(self.tls, CRD_CERTIFICATE, self.keys))

    def proof(self):
        out, label = ctypes.create_string_buffer(32), b"EXPORTER-sirdar"
        self.check(self.lib.gnutls_prf_rfc5705(self.tls, len(label), label, 0, None, 32, out))
        return out.raw

    def enrol(self, name, pair, former=None, proof=None, sign=None):
        """A public key is made known -> the code that this is answered with."""
        what = b"sirdar enrol\0" + (proof or self.proof()) + pair.key + name.encode()
        body = field(1, name) + field(2, pair.key) + field(3, sign or pair.sign(what))
        self.send("enrol", body + (field(4, former.sign(what)) if former else b""))
        return code_of(self.wait("enrolled"), 1)

    def delegated(self, by, name=None, type="shell", lane=0, machine=None, key=None, seconds=3600, begins=0, sign=None):
        """It shows what `by` signed for its key: as a machine's taskbroker does for its loaders."""
        machine = self.machine if machine is None else machine
        start = int((time.time() + begins) * 1e6)
        words = [(name or self.name), machine, type]
        what = b"sirdar delegation\0" + b"".join(w.encode() + b"\0" for w in words)
        what += struct.pack("<QQQ", lane, start, start + int(seconds * 1e6)) + (key or self.pair.key)
        body = b"".join(field(i + 1, w) for i, w in enumerate(words)) + field(4, lane) + field(5, key or self.pair.key)
        self.send("delegation", body + field(6, start) + field(7, start + int(seconds * 1e6)) + field(8, sign or by.sign(what)))
        return self

    @property
    def machine(self):
        return self.name.encode().hex().ljust(32, "0")

    def check(self, code):
        if code < 0:
            raise Gone(f"TLS: {code}")

    def close(self):
        if self.tls:
            self.sock.close()
            self.lib.gnutls_deinit(self.tls)
            free = "gnutls_certificate_free_credentials" if self.pair else "gnutls_psk_free_client_credentials"
            getattr(self.lib, free)(self.keys)
            self.tls = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- frames

    def send_raw(self, data):
        at = 0
        while at < len(data):
            n = self.lib.gnutls_record_send(self.tls, data[at:at + 16384], min(16384, len(data) - at))
            self.check(n)
            at += n

    def send(self, kind, body=b"", length=None):
        self.send_raw(struct.pack(">IHH", len(body) if length is None else length, KINDS.get(kind, kind), 0) + body)

    def pump(self, seconds):
        """Read once; False: nothing came."""
        if not self.lib.gnutls_record_check_pending(self.tls) and not select.select([self.sock], [], [], max(0, seconds))[0]:
            return False
        into = ctypes.create_string_buffer(16384)
        n = self.lib.gnutls_record_recv(self.tls, into, len(into))
        if n in (AGAIN, INTERRUPTED):
            return False
        if n <= 0:
            raise Gone("the server ended the session")
        self.data += into.raw[:n]
        while len(self.data) >= 8:
            size, kind, _ = struct.unpack_from(">IHH", self.data)
            if len(self.data) < 8 + size:
                break
            self.news.append((NAMES.get(kind, kind), read(self.data[8:8 + size])))
            self.data = self.data[8 + size:]
            if self.news[-1][0] == "ping":
                self.send("pong", fixed(1, self.news[-1][1].get(1, [0])[0]))
        return True

    def wait(self, kind, fits=lambda m: True, seconds=30):
        """The next news of that kind that fits; other news stay."""
        end, seen = time.monotonic() + seconds * SLOW, 0
        while True:
            for i in range(seen, len(self.news)):
                if self.news[i][0] == kind and fits(self.news[i][1]):
                    return self.news.pop(i)[1]
            seen = len(self.news)
            if time.monotonic() > end:
                raise Late(f"no {kind}; news: {self.news[-5:]}")
            self.pump(end - time.monotonic())

    def wait_gone(self, seconds=30):
        end = time.monotonic() + seconds * SLOW
        try:
            while time.monotonic() < end:
                self.pump(end - time.monotonic())
        except Gone:
            return
        raise Late(f"the session goes on; news: {self.news[-5:]}")

    # --- what peers say

    def hello(self, role, type="", held=(), machine=None, groups=(), slots=8, lane=0, incarnation=7, boot="boot-of-the-peer",
              proves=False):
        """-> ("welcome" or "refuse", message). proves: of leases, as a broker of today; it keeps what it is given."""
        body = field(1, 1) + field(2, 1) + field(3, role) + field(4, self.name) + field(5, "python")
        body += field(6, boot) + field(7, incarnation) + field(8, "localhost")
        body += b"".join(field(9, g) for g in groups) + field(10, type) + field(11, slots) + packed(12, held)
        body += field(15, lane) + field(17, self.machine if machine is None else machine)
        self.send("hello", body + field(46, proves) + field(47, proves))
        while not any(n[0] in ("welcome", "refuse") for n in self.news):
            if not self.pump(30 * SLOW):
                raise Late("no answer to HELLO")
        at = next(i for i, n in enumerate(self.news) if n[0] in ("welcome", "refuse"))
        return self.news.pop(at)

    def beat(self, held=(), seq=1):
        """-> the tokens that are answered as unknown."""
        self.send("beat", field(1, seq) + packed(2, held) + field(3, len(held)))
        return tokens(self.wait("beat_ack", lambda m: m.get(1, [0])[0] == seq).get(3, []))

    def prove(self, proofs):
        """{token: proof}; -> when the server has read it."""
        self.send("prove", packed(1, list(proofs)) + field(2, b"".join(proofs.values())) + field(3, 1))
        self.send("ping", fixed(1, 4711))
        self.wait("pong")

    def report(self, token, kind, seq=1, exit_code=0, reason=0, outputs=()):
        """-> the code that the report is answered with."""
        body = fixed(1, token) + field(2, seq) + field(3, REPORTS[kind]) + field(4, exit_code % (1 << 64)) + field(6, reason)
        body += field(8, int(time.time() * 1e6)) + field(9, int(time.time() * 1e6))
        body += b"".join(field(11, field(1, k) + field(2, v)) for k, v in outputs)
        self.send("reports", field(1, body))

        def ours(m):
            return any((a := read(raw)).get(1, [0])[0] == token and a.get(2, [0])[0] == seq for raw in m[1])
        acks = self.wait("report_acks", ours)[1]
        return next(code_of(a) for a in map(read, acks) if a[1][0] == token and a[2][0] == seq)

    def ask_params(self, token, names=()):
        """-> code, {name: value}."""
        self.send("param_ask", field(1, 5) + fixed(2, token) + b"".join(field(3, n) for n in names))
        m = self.wait("param_give")
        values = {text(p, 1): text(p, 2) for p in map(read, m.get(4, []))}
        return code_of(m, 2), values

    def log(self, token, task, run_date, data, part=0, generation=1, attempt=1, offset=0, end=True, proof=b""):
        """-> the code that the chunk is answered with."""
        body = fixed(1, token) + field(2, task) + field(3, run_date) + field(4, part) + field(5, generation)
        body += field(6, attempt) + field(7, 1) + field(8, offset) + field(9, data) + field(10, end)
        self.send("log_chunk", body + (field(12, proof) if proof else b""))
        return code_of(self.wait("log_ack", lambda m: m[1][0] == token), 4)


def tokens(values):
    """Repeated fixed64, packed or not."""
    return [t for v in values for t in ([v] if isinstance(v, int) else struct.unpack(f"<{len(v) // 8}Q", v))]


def text(message, number):
    return message.get(number, [b""])[0].decode()


def code_of(message, number=3):
    code = message.get(number, [0])[0]
    return code - (1 << 64) if code >> 63 else code


class Face(Peer):
    """One that was taken over: it names whomever it likes. Of whom it knows the password (`word`, of everybody) it has a session,
    and of tokens in `secrets` ({actor: secret}) the secret; with `word` None it has nothing of anybody."""

    def __init__(self, s, name="liar", word=None):
        if not (s.dir / f"{name}.key").exists():
            s.add_key(name, "face")
        self.number, self.word, self.secrets = 0, word, {}
        until("its key is read", lambda: self.opens(s, name))
        assert self.hello(CLIENT)[0] == "welcome"

    def opens(self, s, name):
        try:
            super().__init__(s, name)
        except (Gone, OSError):
            return False
        return True

    def answer(self, what, body):
        """-> the code, the text, the body."""
        self.number += 1
        self.send(what, field(1, self.number) + body)
        m = self.wait("answer", lambda m: m[1][0] == self.number)
        return code_of(m, 2), text(m, 3), json.loads(m.get(4, [b""])[0] or b"{}")

    def sign_in(self, user, password=None, via="password", credential="", address="127.0.0.1", **more):
        """-> the code, and what it was answered: a text, or {"session", "since"}."""
        args = {"user": user, "via": via, "address": address, **({} if password is None else {"password": password}), **more}
        code, why, body = self.answer("sign_in", field(2, json.dumps(args)) + (field(3, credential) if credential else b""))
        return code, why if code else body

    def credential_of(self, actor):
        if self.word and actor not in self.secrets and actor.isalnum() and actor != "admin":
            code, body = self.sign_in(actor, self.word)
            if code == 0:
                self.secrets[actor] = body["session"]
        return self.secrets.get(actor, "")

    def command_by(self, credential, actor, what, dry=False, /, **args):
        """-> the code, and why not."""
        return self.answer("command", field(2, os.urandom(16).hex()) + field(3, actor) + field(4, what) + field(5, json.dumps(args)) +
                           field(6, dry) + (field(8, credential) if credential else b""))[:2]

    def command(self, actor, what, dry=False, /, **args):
        """-> "" when it was taken, else why not."""
        code, why = self.command_by(self.credential_of(actor), actor, what, dry, **args)
        return why if code else ""
