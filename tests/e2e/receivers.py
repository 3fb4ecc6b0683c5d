"""Receivers of alerts for tests, on loopback: one speaks HTTP, one SMTP. They remember what came and
behave as a test asks: answer badly, or not at all. Standard library only."""
import json
import socketserver
import threading
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Http:
    """`got`: (path, headers, JSON). `answers[path]`: a list of (status, body) for the next requests
    to that path, then 200; None for one that is never answered while `hold` is not set."""

    def __init__(self):
        self.got, self.answers, self.hold = [], {}, threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                path = self.path.split("?")[0]
                plan = receiver.answers.get(path) or []
                answer = plan.pop(0) if plan else (200, '{"errcode":0,"code":0}')
                receiver.got.append((self.path, dict(self.headers), json.loads(body), body, answer))
                if answer is None:
                    receiver.hold.wait(60)
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


class Smtp:
    """`got`: (envelope sender, recipients, email message). `refuse`: that many DATA are refused."""

    def __init__(self):
        self.got, self.refuse = [], 0
        receiver = self

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def handle(self):
                self.say("220 test")
                sender, to = None, []
                while True:
                    line = self.rfile.readline().decode("utf-8", "replace").strip()
                    word = line.upper()
                    if not line or word == "QUIT":
                        self.say("221 bye")
                        return
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
                    self.say("451 later")
                    return
                receiver.got.append((sender, to, message_from_bytes(b"".join(lines),
                                                                    policy=policy.default)))
                self.say("250 taken")

        socketserver.ThreadingTCPServer.allow_reuse_address = True
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
