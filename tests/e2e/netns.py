"""Machines of a test: network namespaces that hang on processes, nothing of them outlives those.

The test itself runs in one (`enter()`, first of all), which is the hub: it routes between the others
and holds the rules that lose packets, one way or both. Needs root, iproute2, nftables, util-linux.
"""
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HUB = "10.99.0.1"
MARK = "SIRDAR_TEST_HUB"
NEEDS = ("ip", "nft", "nsenter", "unshare")
RULES = """table inet cut {
  chain lost {}
  chain f { type filter hook forward priority 0; jump lost; }
  chain i { type filter hook input priority 0; jump lost; }
  chain o { type filter hook output priority 0; jump lost; }
}
"""


def run(*words, stdin=None):
    done = subprocess.run(words, input=stdin, text=True, capture_output=True)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def why_not():
    """What this machine lacks, or ''."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [n for n in NEEDS if not shutil.which(n)]
    if missing:
        return f"no {', '.join(missing)}: packaging/deps.sh test"
    script = ("set -e; ip link set lo up; nft -f -; sysctl -qw net.ipv4.ip_forward=1;"
              "ip link add name va0 type veth peer name vb0")
    probe = subprocess.run(["unshare", "-n", "sh", "-c", script], input=RULES, text=True, capture_output=True)
    return "" if probe.returncode == 0 else "no namespaces here: " + probe.stderr.strip().replace("\n", " ")


def enter():
    """Begin this program again in a namespace of its own; there it returns. A text says why not."""
    if os.environ.get(MARK):
        return ""
    lacks = why_not()
    if lacks:
        return lacks
    os.environ[MARK] = "1"
    os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])


class Net:
    """The hub and its machines; `cut` loses packets until `heal`."""

    def __init__(self):
        run("ip", "link", "set", "lo", "up")
        run("ip", "address", "add", HUB + "/32", "dev", "lo")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1\n")
        run("nft", "-f", "-", stdin=RULES)
        self.holders, self.addresses = {}, {"hub": HUB}

    def machine(self, name):
        """-> its address. `inside(name)` is what to put before a command that runs there."""
        n = len(self.holders) + 1
        here, there = f"10.99.{n}.1", f"10.99.{n}.2"
        holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"], stdin=subprocess.DEVNULL)
        mine = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{holder.pid}/ns/net") == mine:
            time.sleep(0.005)
        self.holders[name], self.addresses[name] = holder, there
        run("ip", "link", "add", "name", f"v{n}", "type", "veth", "peer", "name", "up0", "netns", str(holder.pid))
        run("ip", "address", "add", here + "/30", "dev", f"v{n}")
        run("ip", "link", "set", f"v{n}", "up")
        for words in (("link", "set", "lo", "up"), ("address", "add", there + "/30", "dev", "up0"),
                      ("link", "set", "up0", "up"), ("route", "add", "default", "via", here)):
            run(*self.inside(name), "ip", *words)
        return there

    def inside(self, name):
        return ["nsenter", f"--net=/proc/{self.holders[name].pid}/ns/net"]

    def _where(self, name, way):
        """The hub has an address on every link."""
        if name == "hub":
            numbers = ", ".join([HUB, *(f"10.99.{n + 1}.1" for n in range(len(self.holders)))])
            return f"ip {way} {{ {numbers} }}"
        return f"ip {way} {self.addresses[name]}"

    def lose(self, source, target, port=""):
        """Packets from `source` to `target` are lost; port: 'tcp dport 1' or 'tcp sport 1'."""
        run("nft", "add rule inet cut lost " + f"{self._where(source, 'saddr')} "
            f"{self._where(target, 'daddr')} {port} drop")

    def cut(self, one, other, port=0):
        """Both ways; port: of `other`."""
        self.lose(one, other, f"tcp dport {port}" if port else "")
        self.lose(other, one, f"tcp sport {port}" if port else "")

    def heal(self):
        run("nft", "flush chain inet cut lost")

    def close(self):
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
