"""Servers that are not who a target means: they speak enough of MySQL or PostgreSQL to ask for the password in a way that
shows it, and keep whatever comes. With or without TLS, whose certificate nobody vouches for."""
import contextlib
import os
import socket
import ssl
import struct
import subprocess
import tempfile
import threading

NONCE = b"abcdefghijklmnopqrst"


def openssl(*words, data=None):
    return subprocess.run(["openssl", *words], input=data, check=True, capture_output=True).stdout


def certificate(folder):
    """Of localhost and 127.0.0.1, signed by itself: who is given it as ca_file believes it. (certificate, key)"""
    cert, key = os.path.join(folder, "made-up.crt"), os.path.join(folder, "made-up.key")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    return cert, key


class Redirected:
    """`got`: every byte that it was sent, out of TLS, and what it could decrypt. `asked`: how often it asked for the password.
    `ended`: how many have come and are gone."""

    def __init__(self, ask, tls=None):
        self.bye = False  # hang up once it was answered
        self.ask, self.got, self.asked, self.ended = ask, b"", 0, 0
        self.tls = tls and ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if tls:
            self.tls.load_cert_chain(*tls)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.one, args=(self.server.accept()[0],), daemon=True).start()

    def one(self, c):
        c.settimeout(60)
        with c, contextlib.suppress(OSError, EOFError):
            c = self.talk(c)
            while not self.bye:  # whatever else it says
                self.take(c, 1)
        self.ended += 1

    def take(self, c, n):
        data = b""
        while len(data) < n:
            piece = c.recv(n - len(data))
            if not piece:
                raise EOFError
            data += piece
            self.got += piece
        return data

    def close(self):
        self.server.close()


class MySQL(Redirected):
    """Asks by the plugin `ask`: in its greeting (`early`) or after the client's answer. 20 letters are its nonce."""
    TLS, CAPABILITIES = 0x800, 0x28a20f

    def __init__(self, ask, tls=None, early=False):
        self.early, self.n, self.key = early, 0, None
        super().__init__(ask, tls)

    def send(self, c, body):
        c.sendall(len(body).to_bytes(3, "little") + bytes([self.n]) + body)

    def packet(self, c):
        head = self.take(c, 4)
        self.n = head[3] + 1
        return self.take(c, int.from_bytes(head[:3], "little"))

    def talk(self, c):
        can = self.CAPABILITIES | (self.TLS if self.tls else 0)
        plugin = self.ask if self.early else "mysql_native_password"
        self.n, self.asked = 0, self.asked + self.early
        self.send(c, b"\x0a8.0.36\0" + struct.pack("<I", 7) + NONCE[:8] + b"\0" + struct.pack("<HBHH", can & 0xffff, 45, 2, can >> 16) +
                  bytes([21]) + bytes(10) + NONCE[8:] + b"\0" + plugin.encode() + b"\0")
        first = self.packet(c)
        if self.tls and len(first) == 32:
            c = self.tls.wrap_socket(c, server_side=True)
            self.packet(c)
        if not self.early:
            self.asked += 1
            self.send(c, b"\xfe" + self.ask.encode() + b"\0" + NONCE + b"\0")
            self.packet(c)
        if "sha" in self.ask:
            self.give_key(c)
        return c

    def give_key(self, c):
        """No shortcut: the whole password, by this key."""
        with tempfile.TemporaryDirectory() as folder:
            key = os.path.join(folder, "key")
            openssl("genrsa", "-out", key, "2048")
            if self.ask == "caching_sha2_password":
                self.send(c, b"\x01\x04")
                self.packet(c)
            self.send(c, b"\x01" + openssl("rsa", "-in", key, "-pubout"))
            mixed = openssl("pkeyutl", "-decrypt", "-inkey", key, "-pkeyopt", "rsa_padding_mode:oaep", data=self.packet(c))
            self.got += bytes(a ^ NONCE[i % 20] for i, a in enumerate(mixed))


class PostgreSQL(Redirected):
    """Asks at once (`clear`), after it began SCRAM (`scram`), or in one go with that (`both`)."""
    CLEAR = b"R" + struct.pack(">II", 8, 3)
    SCRAM = b"R" + struct.pack(">II", 23, 10) + b"SCRAM-SHA-256\0\0"

    def start(self, c):
        while True:
            n, code = struct.unpack(">II", self.take(c, 8))
            if code == 80877103 and self.tls:
                c.sendall(b"S")
                c = self.tls.wrap_socket(c, server_side=True)
            elif code in (80877103, 80877104):
                c.sendall(b"N")
            else:
                self.take(c, n - 8)
                return c

    def message(self, c):
        return self.take(c, struct.unpack(">xI", self.take(c, 5))[0] - 4)

    def talk(self, c):
        c = self.start(c)
        self.asked += 1
        if self.ask != "clear":
            c.sendall(self.SCRAM + (self.CLEAR if self.ask == "both" else b""))
            self.message(c)
        if self.ask != "both":
            c.sendall(self.CLEAR)
        self.message(c)
        c.sendall(b"R" + struct.pack(">II", 8, 0) + b"Z" + struct.pack(">IB", 5, ord("I")))
        return c
