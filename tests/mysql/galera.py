"""A MariaDB Galera cluster of a test's own, on loopback: the set-up of docs/galera.md, node by node.

The nodes begin as copies of one data directory whose state is known (grastate.dat), so that they
join without a transfer; one that comes back fetches what it missed from a neighbour's cache (IST).
"""
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import mariadb

PROVIDERS = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so")
HERE = os.path.dirname(os.path.abspath(__file__))


def provider():
    """The library's path, or None: Galera is not installed."""
    return next((p for p in PROVIDERS if Path(p).exists()), None) if mariadb.program("mariadbd") else None


class Node(mariadb.MariaDB):
    """One of a cluster. `start` joins; with bootstrap=True it is the first."""

    def __init__(self, cluster, number, data):  # noqa: super().__init__ would make a data directory
        self.dir = cluster.dir / f"n{number}"
        self.dir.mkdir()
        self.data, self.socket = self.dir / "data", self.dir / "s"
        self.port, self.gcomm, self.ist = mariadb.free_port(), mariadb.free_port(), mariadb.free_port()
        self.cluster, self.process, self.flush = cluster, None, 0
        self.common = cluster.common(self.data)
        shutil.copytree(data, self.data)
        self.options, self.env = [], mariadb.unsynced({**os.environ, "PATH": f"{HERE}:{os.environ['PATH']}"})

    def settings(self, bootstrap):
        others = "" if bootstrap else ",".join(f"127.0.0.1:{n.gcomm}" for n in self.cluster.nodes)
        wsrep = ("gcache.size=64M", f"gmcast.listen_addr=tcp://127.0.0.1:{self.gcomm}",
                 f"ist.recv_addr=127.0.0.1:{self.ist}", "evs.keepalive_period=PT0.3S", "evs.suspect_timeout=PT2S",
                 "evs.inactive_check_period=PT0.3S", "evs.inactive_timeout=PT4S", "evs.install_timeout=PT4S",
                 "pc.recovery=false", "pc.linger=PT1S")
        return ["--wsrep-on=ON", f"--wsrep-provider={provider()}", "--wsrep-cluster-name=sirdar-test",
                f"--wsrep-cluster-address=gcomm://{others}", f"--wsrep-node-name={self.dir.name}",
                f"--wsrep-node-address=127.0.0.1:{self.gcomm}", "--wsrep-sst-method=nothing",
                f"--wsrep-provider-options={';'.join(wsrep)}", "--binlog-format=ROW",
                "--innodb-autoinc-lock-mode=2", "--wsrep-slave-threads=2"]

    def start(self, bootstrap=False):
        self.options = self.settings(bootstrap)
        if not bootstrap:
            self.options += self.recovered()
        super().start()
        return self.wait_synced()

    def recovered(self):
        """After a kill the state is in the tables only: found first, else all would be fetched."""
        state = (self.data / "grastate.dat").read_text()
        if "seqno:   -1" not in state:
            return []
        done = subprocess.run([mariadb.program("mariadbd"), *self.common, *self.settings(False), "--wsrep-recover",
                               f"--socket={self.dir / 'r'}", "--skip-networking", "--innodb-buffer-pool-size=64M",
                               "--innodb-log-file-size=256M", f"--pid-file={self.dir / 'r.pid'}", "--skip-log-error"],
                              capture_output=True, text=True, check=False, timeout=60)
        at = [line.split()[-1] for line in (done.stdout + done.stderr).splitlines() if "Recovered position:" in line]
        return [f"--wsrep-start-position={at[-1]}"] if at else []

    def status(self, name):
        try:
            said = self.sql(f"SHOW GLOBAL STATUS LIKE '{name}'")
        except subprocess.CalledProcessError:
            return ""
        return said.split()[-1] if said.split() else ""

    def synced(self):
        return self.status("wsrep_ready") == "ON" and self.status("wsrep_local_state") == "4"

    def wait_synced(self):
        end = time.monotonic() + 60
        while not self.synced():
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"{self.dir.name} does not come into step:\n" + self.log())
            time.sleep(0.05)
        return self

    def end(self):
        self.process.terminate()
        self.process.wait(60)

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Cluster:
    def __init__(self, size=3, base=None):
        self.dir = Path(tempfile.mkdtemp(prefix="galera-", dir=base))
        self.nodes, seed = [], self.dir / "seed"
        mariadb.install(seed)
        try:
            # Once as a cluster of its own: then the tables know their position in it.
            first = Node(self, 0, seed)
            first.start(bootstrap=True).end()
            self.nodes = [first] + [Node(self, n, first.data) for n in range(1, size)]
            for n, node in enumerate(self.nodes):
                node.start(bootstrap=n == 0)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def common(data):
        return ["--no-defaults", f"--datadir={data}", f"--user={mariadb.USER}"]

    def url(self, database, **options):
        query = "&".join(f"{k}={v}" for k, v in options.items())
        hosts = ",".join(f"127.0.0.1:{n.port}" for n in self.nodes)
        return f"mysql://root@{hosts}/{database}" + ("?" + query if query else "")

    def close(self):
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.go_on()
                node.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
