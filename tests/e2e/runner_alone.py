"""One job of a runner, without a server: sirdar-runner-run, its answer taken apart. And an HTTP
server of a test's own, on loopback."""
import json
import re
import shutil
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness import BIN, RUNNERS, SLOW

RUN = BIN / "sirdar-runner-run"


class Ended:
    """How a job ended: `ok`, `not_yet`, `refused`, `code` (exit code), `text`, `outputs`, `log`."""

    def __init__(self, done):
        self.out, self.err, self.status = done.stdout, done.stderr, done.returncode
        self.ok, self.not_yet = done.returncode == 0, done.returncode == 75
        self.outputs = dict(re.findall(r"^# output ([^=\n]+)=(.*)$", done.stderr, re.M))
        self.progress = re.findall(r"^# progress (\d+) ?(.*)$", done.stderr, re.M)
        self.fatal = "verdict fatal" in done.stderr

    def __repr__(self):
        return f"status {self.status}\n--- out\n{self.out}\n--- err\n{self.err}"


class Alone:
    """A directory, an environment, and jobs run in it. The `site` of these suites."""

    def __init__(self, name, egress="allow 127.0.0.1\n"):
        if not RUN.exists():
            raise FileNotFoundError("not built: sirdar-runner-run")
        self.dir = Path(tempfile.mkdtemp(prefix=f"sirdar-{name}-"))
        self.dir.chmod(0o755)
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.dir),
                    "SIRDAR_EGRESS": str(self.dir / "egress.conf")}
        self.egress(egress)
        self.closers, self.jobs = [], 0

    def egress(self, text):
        (self.dir / "egress.conf").write_text(text)

    def start(self, plugin, params, *words, secrets=None, env=None, **job):
        self.jobs += 1
        path = self.dir / f"job{self.jobs}.yaml"
        # JSON is YAML.
        path.write_text(json.dumps({"params": params, "secrets": secrets or {}, **job}))
        return subprocess.Popen([str(RUN), str(RUNNERS / f"{plugin}.so"), "--job", str(path), *words],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=self.dir, env=dict(self.env, **(env or {})))

    def end(self, process, seconds=60):
        out, err = process.communicate(timeout=seconds * SLOW)
        return Ended(subprocess.CompletedProcess(process.args, process.returncode, out, err))

    def run(self, plugin, params, *words, **job):
        return self.end(self.start(plugin, params, *words, **job))

    def close(self):
        for closer in reversed(self.closers):
            closer()
        shutil.rmtree(self.dir, ignore_errors=True)

    def logs(self):
        return ""

    def reports(self):
        return []


class Web:
    """`on[path]`: a function of the handler and the body; answers (status, headers, body), or None when
    it did all itself. `got`: (method, path, headers, body)."""

    def __init__(self):
        self.on, self.got, self.hold = {}, [], threading.Event()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                web.got.append((self.command, self.path, dict(self.headers), body))
                answer = web.on.get(self.path.split("?")[0], lambda *_: (404, {}, "no such page"))(self, body)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, text = answer
                data = text.encode() if isinstance(text, str) else text
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Transfer-Encoding" not in headers:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = serve

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 2048

            def handle_error(self, *_):
                pass  # clients that are killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05},
                         daemon=True).start()

    def close(self):
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()
