"""A PostgreSQL server of a test's own: its own directory, loopback, gone with the test. (MariaDB's is
tests/mysql/mariadb.py.) And a SQLite file as a writer leaves it that died."""
import glob
import os
import pwd
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mysql"))
from harness import Skip, free_port  # noqa: E402


def program(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}")) or [shutil.which(name)]
    if not found[-1]:
        raise Skip(f"no {name}: packaging/deps.sh test")
    return found[-1]


def plain_user():
    """Who runs it: the server refuses root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise Skip("no user postgres or nobody")


class Postgres:
    """Superuser `postgres`, password "pg"; databases `postgres` and those made."""

    def __init__(self):
        self.user, self.port = plain_user(), free_port()
        self.dir = Path(tempfile.mkdtemp(prefix="postgres-"))
        self.dir.chmod(0o755)
        if self.user:
            shutil.chown(self.dir, self.user)
        self.password = self.dir / "password"
        self.password.write_text("pg\n")
        self.run("initdb", "-D", self.dir / "data", "-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8",
                 "--locale=C", f"--pwfile={self.password}", "--no-sync")
        self.log = open(self.dir / "log", "ab")
        self.process = subprocess.Popen(
            [program("postgres"), "-D", str(self.dir / "data"), "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
             "-k", str(self.dir), "-F"], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, user=self.user,
            cwd=self.dir, env=dict(os.environ))
        end = time.monotonic() + 60
        while True:
            try:
                self.sql("SELECT 1")
                return
            except subprocess.CalledProcessError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("postgres: " + (self.dir / "log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def run(self, name, *words):
        subprocess.run([program(name), *map(str, words)], check=True, stdout=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL, user=self.user, cwd=self.dir)

    def sql(self, text, database="postgres"):
        """What it prints, tab separated, without headings."""
        return subprocess.run([program("psql"), "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1",
                               "-p", str(self.port), "-U", "postgres", database], input=text, text=True, check=True,
                              capture_output=True, env=dict(os.environ, PGPASSWORD="pg")).stdout

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def hot(path, victim):
    """A database whose writer died, with a journal that names `victim` as the list of its journals: who rolls it back takes that away."""
    writer = sqlite3.connect(f"{path}.x", isolation_level=None)
    writer.execute("pragma cache_size = 5")
    writer.execute("create table t (n)")
    writer.execute("insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) select printf('%.200c', 'x') from n")
    writer.execute("begin immediate")
    writer.execute("update t set n = n || 'y'")
    path.write_bytes(open(f"{path}.x", "rb").read())
    journal, name = open(f"{path}.x-journal", "rb").read(), str(victim).encode()
    page = struct.unpack(">I", journal[24:28])[0]
    end = struct.pack(">I", 0x40000000 // page + 1) + name + struct.pack(">II", len(name), sum(name)) + journal[:8]
    (path.parent / (path.name + "-journal")).write_bytes(journal + end)
    writer.execute("rollback")
    writer.close()
