"""Receivers of alerts for tests, on loopback: one speaks HTTP, one SMTP. They remember what came and
behave as a test asks: answer badly, or not at all. Standard library only."""
import base64
import json
import socket
import socketserver
import ssl
import subprocess
import threading
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Http:
    """`got`: (path, headers, JSON). `answers[path]`: a list of (status, body) for the next requests
    to that path, then 200; None for one that is never answered while `hold` is not set."""

    def __init__(self):
        self.got, self.answers, self.hold = [], {}, threading.Event()
        self.moves, self.at_work = threading.Condition(), 0
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self):
                receiver.count(1)
                try:
                    super().handle()
                finally:
                    receiver.count(-1)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                path = self.path.split("?")[0]
                plan = receiver.answers.get(path) or []
                answer = plan.pop(0) if plan else (200, '{"errcode":0,"code":0}')
                receiver.got.append((self.path, dict(self.headers), json.loads(body), body, answer))
                if answer is None:
                    receiver.count(-1)
                    receiver.hold.wait(60)
                    receiver.count(1)
                    self.close_connection = True
                    return
                text = answer[1].encode()
                self.send_response(answer[0])
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def count(self, n):
        with self.moves:
            self.at_work += n
            self.moves.notify_all()

    def settle(self):
        """Whoever asked is gone: wait until what he had sent is answered as planned, or held. A new plan
        would be his answer else. Connections are taken in order: who comes now comes last."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as last:
            last.sendall(b"POST /last HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            while last.recv(4096):
                pass
        with self.moves:
            assert self.moves.wait_for(lambda: self.at_work == 0, 60), self.at_work

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def taken(self, path):
        """What came to a path and was answered with success."""
        return [g[2] for g in list(self.got)
                if g[0].split("?")[0] == path and g[4] is not None and g[4][0] == 200
                and "err" not in g[4][1].replace('"errcode":0', "")]

    def close(self):
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()


def certificate(folder, name="localhost"):
    """-> (certificate, key): self-signed, for 127.0.0.1 and localhost."""
    cert, key = f"{folder}/{name}.crt", f"{folder}/{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout", key, "-out", cert], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return cert, key


class Smtp:
    """`got`: (envelope sender, recipients, email message). `refuse`: that many DATA are refused, into `refused`; while `awake`
    is not set nobody is answered, nor greeted. `tls`: certificate and key, offered by STARTTLS; `users`: name to
    password, then nothing goes without both. `tries`: connections, `auths`: (name, whether TLS was on)."""

    def __init__(self, tls=None, users=None):
        self.got, self.refuse, self.awake, self.tries, self.auths = [], 0, threading.Event(), 0, []
        self.refused = []
        self.awake.set()
        receiver = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
        if tls:
            context.load_cert_chain(*tls)

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def start_tls(self):
                self.say("220 go on")
                self.request = context.wrap_socket(self.request, server_side=True)
                self.rfile, self.wfile = self.request.makefile("rb"), self.request.makefile("wb", 0)
                self.is_safe = True

            def sign_in(self, words):
                text = words[2] if len(words) > 2 else None
                if text is None:
                    self.say("334 ")
                    text = self.rfile.readline().decode().strip()
                _, name, password = base64.b64decode(text).decode().split("\0")
                receiver.auths.append((name, self.is_safe))
                self.is_known = self.is_safe and users.get(name) == password
                self.say("235 welcome" if self.is_known else "535 who are you")

            def handle(self):
                receiver.tries += 1
                self.is_safe, self.is_known = False, not users
                try:
                    self.talk()
                except OSError:
                    pass  # the sender had enough

            def talk(self):
                receiver.awake.wait(60)
                self.say("220 test")
                sender, to = None, []
                while True:
                    line = self.rfile.readline().decode("utf-8", "replace").strip()
                    word = line.upper()
                    receiver.awake.wait(60)  # also on a connection that is kept
                    if not line or word == "QUIT":
                        self.say("221 bye")
                        return
                    if word.startswith("EHLO") and tls:
                        self.say("250-test")
                        self.say("250 AUTH PLAIN" if self.is_safe else "250 STARTTLS")
                        continue
                    if word == "STARTTLS" and tls:
                        self.start_tls()
                        continue
                    if word.startswith("AUTH PLAIN") and users:
                        self.sign_in(line.split())
                        continue
                    if not self.is_known and word.startswith("MAIL"):
                        self.say("530 sign in first")
                        continue
                    if word.startswith("MAIL FROM:"):
                        sender, to = line[10:].split()[0].strip("<>"), []
                    elif word.startswith("RCPT TO:"):
                        to.append(line[8:].split()[0].strip("<>"))
                    elif word == "DATA":
                        self.say("354 go on")
                        self.data(sender, to)
                        continue
                    self.say("250 fine")

            def data(self, sender, to):
                lines = []
                for line in iter(self.rfile.readline, b""):
                    if line == b".\r\n":
                        break
                    lines.append(line[1:] if line.startswith(b"..") else line)
                if receiver.refuse > 0:
                    receiver.refuse -= 1
                    receiver.refused.append(b"".join(lines))
                    self.say("451 later")
                    return
                # As strictly as there is a parser: a defect is an error.
                receiver.got.append((sender, to, message_from_bytes(b"".join(lines), policy=policy.SMTP + policy.strict)))
                self.say("250 taken")

        socketserver.ThreadingTCPServer.allow_reuse_address = True
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
