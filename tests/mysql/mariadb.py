"""A MariaDB server of a test's own: its own directory, loopback, gone with the test.

What mariadb-install-db makes is kept in build/mariadb, by the server's version and the user: the
servers begin as copies of it."""
import hashlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def program(name):
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")


ROOT = Path(os.environ.get("SIRDAR_ROOT", Path(__file__).resolve().parents[2]))
NOSYNC = ROOT / os.environ.get("B", "build/gcc") / "test/nosync.so"
KEPT = ROOT / "build/mariadb"
USER = pwd.getpwuid(os.getuid()).pw_name


def install(data):
    """`data` becomes a data directory with the system's tables only."""
    version = subprocess.run([program("mariadbd"), "--version"], capture_output=True, check=True).stdout
    kept = KEPT / hashlib.sha256(version + USER.encode()).hexdigest()[:16]
    if not kept.is_dir():
        KEPT.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="making-", dir=KEPT))
        try:
            subprocess.run([program("mariadb-install-db"), "--no-defaults", f"--datadir={made / 'data'}",
                            f"--user={USER}", "--skip-test-db", "--auth-root-authentication-method=normal",
                            "--innodb-log-file-size=8M"],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            (made / "data").rename(kept)
        except OSError:
            if not kept.is_dir():  # else another was faster
                raise
        finally:
            shutil.rmtree(made)
    shutil.copytree(kept, data)


def unsynced(env):
    """The same, and nothing waits for the disk (nosync.c)."""
    preload = [str(NOSYNC)] * NOSYNC.exists() + [p for p in (env.get("LD_PRELOAD"),) if p]
    return dict(env, LD_PRELOAD=":".join(preload))


class MariaDB:
    """A server on `port` and `socket`; user root without a password, by the socket and loopback.
    sync: it waits for the disk, as one in earnest does."""

    def __init__(self, *options, base=None, flush=1, env=None, sync=False):
        self.dir = Path(tempfile.mkdtemp(prefix="mariadb-", dir=base))
        self.data, self.socket = self.dir / "data", self.dir / "s"
        self.port, self.options, self.process = free_port(), list(options), None
        self.flush, self.env = flush, dict(os.environ, **(env or {}))
        if not sync:
            self.env = unsynced(self.env)
        self.common = ["--no-defaults", f"--datadir={self.data}", f"--user={USER}"]
        install(self.data)
        self.start()

    def start(self):
        with open(self.dir / "log", "ab") as log:
            self.process = subprocess.Popen(
                [program("mariadbd"), *self.common, f"--socket={self.socket}",
                 f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve",
                 f"--pid-file={self.dir / 'pid'}", f"--innodb-flush-log-at-trx-commit={self.flush}",
                 "--innodb-buffer-pool-size=256M", "--innodb-log-file-size=256M",
                 "--skip-log-bin", *self.options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError("mariadbd ended:\n" + self.log())
            try:
                self.sql("SELECT 1")
                return self
            except subprocess.CalledProcessError:
                time.sleep(0.05)
        raise RuntimeError("mariadbd does not answer:\n" + self.log())

    def log(self):
        return (self.dir / "log").read_text(errors="replace")[-4000:]

    def sql(self, text, database=""):
        """What the statements print, tab separated, without headings."""
        return subprocess.run(
            [program("mariadb"), "--no-defaults", f"--socket={self.socket}", "-uroot", "-N", "-B",
             database or "mysql"], input=text, text=True, check=True, capture_output=True).stdout

    def url(self, database, **options):
        query = "&".join(f"{k}={v}" for k, v in options.items())
        return f"mysql://root@127.0.0.1:{self.port}/{database}" + ("?" + query if query else "")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
