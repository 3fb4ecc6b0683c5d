"""An etcd of a test's own: its own directory, loopback, gone with the test."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def program(name):
    return shutil.which(name) or shutil.which(name, path="/usr/bin:/usr/sbin:/usr/local/bin")


class Etcd:
    """One member, without disk syncs. `tls`: a folder with cert.pem and key.pem."""

    name, address, inside, members = "one", "127.0.0.1", (), ()

    def __init__(self, tls=None, base=None):
        self.dir = Path(tempfile.mkdtemp(prefix="etcd-", dir=base))
        self.port, self.peer, self.process, self.tls = free_port(), free_port(), None, tls
        self.credentials = []
        self.start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://{self.address}:{self.port}"

    @property
    def peer_url(self):
        return f"http://{self.address}:{self.peer}"

    def argv(self):
        argv = [*self.inside, program("etcd"), "--name", self.name, "--data-dir", str(self.dir / "data"),
                "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
                "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
                "--initial-cluster", ",".join(f"{m.name}={m.peer_url}" for m in self.members or [self]),
                "--heartbeat-interval", "100", "--election-timeout", "500",
                "--unsafe-no-fsync", "--logger", "zap"]
        if self.tls:
            argv += ["--cert-file", str(self.tls / "cert.pem"),
                     "--key-file", str(self.tls / "key.pem")]
        return argv

    def start(self):
        self.launch()
        return self.wait()

    def launch(self):
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(self.argv(), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=dict(os.environ, ETCD_UNSUPPORTED_ARCH=""))

    def wait(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError("etcd ended:\n" + self.log())
            if self.ctl("get", "sirdar-test", check=False).returncode == 0:
                return self
            time.sleep(0.05)
        raise RuntimeError("etcd does not answer:\n" + self.log())

    def log(self):
        return (self.dir / "log").read_text(errors="replace")[-4000:]

    def ctl(self, *words, check=True, stdin=None):
        argv = [program("etcdctl"), "--endpoints", self.url, "--command-timeout", "20s",
                *self.credentials]
        if self.tls:
            argv += ["--cacert", str(self.tls / "cert.pem")]
        return subprocess.run([*argv, *map(str, words)], capture_output=True, text=True,
                              check=check, input=stdin,
                              env=dict(os.environ, ETCDCTL_API="3"))

    def put(self, key, value):
        self.ctl("put", key, value)

    def delete(self, key):
        self.ctl("del", key)

    def keys(self, prefix):
        """-> {key: value}"""
        import base64
        got = json.loads(self.ctl("get", "--prefix", prefix, "-w", "json").stdout)
        return {base64.b64decode(kv["key"]).decode(): base64.b64decode(kv.get("value", "")).decode()
                for kv in got.get("kvs", [])}

    def revision(self):
        return json.loads(self.ctl("get", "none", "-w", "json").stdout)["header"]["revision"]

    def compact(self):
        self.ctl("compact", self.revision())

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Member(Etcd):
    """One of several: `address` and `inside` (words before its command) are where it runs."""

    def __init__(self, name, address="127.0.0.1", inside=(), base=None):  # noqa: starts later
        self.dir = Path(tempfile.mkdtemp(prefix="etcd-", dir=base))
        self.port, self.peer, self.process, self.tls = free_port(), free_port(), None, None
        self.credentials, self.name, self.address, self.inside = [], name, address, inside

    def leads(self):
        done = self.ctl("endpoint", "status", "-w", "json", check=False)
        try:
            status = json.loads(done.stdout)[0]["Status"]
            return status["header"]["member_id"] == status["leader"]
        except (ValueError, LookupError):
            return False


class Cluster:
    """Members that know each other, all started."""

    def __init__(self, members):
        self.members = members
        for m in members:
            m.members = members
        for m in members:
            m.launch()
        for m in members:
            m.wait()

    def url(self):
        return ",".join(m.url for m in self.members)

    def leader(self):
        return next((m for m in self.members if m.process.poll() is None and m.leads()), None)

    def close(self):
        for m in self.members:
            m.resume()
            m.close()


class Wire:
    """A TCP proxy to one port of this machine that can be cut: nothing passes then, nobody is told."""

    def __init__(self, to):
        self.to, self.is_cut = to, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                here = self.listener.accept()[0]
            except OSError:
                return
            try:
                there = socket.create_connection(("127.0.0.1", self.to), 5)
                there.settimeout(None)
            except OSError:
                here.close()
                continue
            for a, b in ((here, there), (there, here)):
                threading.Thread(target=self.pass_on, args=(a, b), daemon=True).start()

    def pass_on(self, a, b):
        try:
            while data := a.recv(65536):
                while self.is_cut.is_set():
                    time.sleep(0.05)
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        self.is_cut.set()

    def mend(self):
        self.is_cut.clear()

    def close(self):
        self.listener.close()
