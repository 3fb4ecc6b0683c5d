"""A real store of objects for tests: s3rver (npm), which judges signatures, takes uploads in parts and gives ranges. It comes by
`npm ci` from the lock file in tests/e2e/s3, once, into build/s3; where that cannot be had the tests are skipped and say so. What
it has is files below a folder: the tests look there, too. It does not list uploads that were begun (501)."""
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from harness import ROOT, Skip, free_port, stand_still, until

HERE = ROOT / "tests" / "e2e" / "s3"
KEY, SECRET = "S3RVER", "S3RVER"  # the one pair it knows
OBJECT = "._S3rver_object"


def installed():
    """The folder of node_modules, filled when the lock file is another one."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise Skip("NOT TRIED: node and npm are not here, so there is no s3rver")
    lock = HERE / "package-lock.json"
    at = ROOT / "build" / "s3"
    at.mkdir(parents=True, exist_ok=True)
    with open(at / ".lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        mark = at / "node_modules" / ".sirdar"
        want = hashlib.sha256(lock.read_bytes()).hexdigest()
        if not mark.exists() or mark.read_text() != want:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, at / name)
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-progress", "--no-audit", "--no-fund"], cwd=at,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
            if done.returncode:
                raise Skip(f"NOT TRIED: npm gives no s3rver: {done.stderr[-300:]}")
            mark.write_text(want)
    return at / "node_modules"


class S3:
    """One bucket on loopback. `with`, or close()."""

    def __init__(self, folder, bucket="logs", pem=None):
        self.modules, self.folder, self.bucket, self.pem = installed(), Path(folder), bucket, pem  # pem: key and certificate
        self.port, self.proc = free_port(), None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start()

    def url(self, prefix="site", region="eu-west-1"):
        return f"s3:http{'s' if self.pem else ''}://127.0.0.1:{self.port}/{self.bucket}/{prefix}?region={region}"

    def start(self):
        (self.folder / self.bucket).mkdir(exist_ok=True)
        with open(self.folder / "s3rver.log", "ab") as log:
            self.proc = subprocess.Popen(["node", "--openssl-legacy-provider",  # its marks of a page are DES
                                          self.modules / "s3rver" / "bin" / "s3rver.js", "-d", self.folder, "-a", "127.0.0.1",
                                          "-p", str(self.port), "--no-vhost-buckets", "--configure-bucket", self.bucket,
                                          *(["--key", self.pem, "--cert", self.pem] if self.pem else [])],
                                         stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until("s3rver listens", self.listens, 120)
        return self

    def listens(self):
        assert self.proc.poll() is None, (self.folder / "s3rver.log").read_text("utf-8", "replace")[-2000:]
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=30).close()
        except OSError:
            return False
        return True

    def still(self):
        stand_still(self.proc.pid)

    def go_on(self):
        os.kill(self.proc.pid, signal.SIGCONT)

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()

    close = kill

    def objects(self, prefix="site"):
        """Name -> its bytes, of what is there whole or not."""
        at = self.folder / self.bucket / prefix
        return {f.name[:-len(OBJECT)]: f.read_bytes() for f in at.glob("*" + OBJECT)} if at.exists() else {}
