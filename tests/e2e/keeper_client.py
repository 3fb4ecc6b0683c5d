"""The jobkeeper's frames, spoken from Python: protobuf by hand, only what the tests need."""
import os
import re
import select
import signal
import socket
import struct
import subprocess
import time

RUN = f"KEEPER_TEST={os.getpid()}"
SLOW = 4 if re.search("address|thread", os.environ.get("B", "")) else 1  # a sanitizer's build
KINDS = {"hello": 80, "welcome": 81, "start": 82, "started": 83, "not_started": 84, "exited": 85,
         "forget": 86, "kill": 87, "kill_state": 88, "renew": 89, "list": 90, "held": 91,
         "attach": 92, "upgrade": 93}
NAMES = {v: k for k, v in KINDS.items()}
FIELDS = {  # of what comes back: number -> name, how to read it
    "welcome": {2: ("boot_id", "s"), 3: ("incarnation", "u"), 6: ("running", "u"),
                7: ("logs_dir", "s"), 9: ("cgroup", "u"), 10: ("keeps_proofs", "u"),
                11: ("separates", "u")},
    "started": {1: ("token", "f"), 2: ("pid", "u"), 3: ("started_us", "u")},
    "not_started": {1: ("token", "f"), 2: ("code", "z"), 3: ("text", "s")},
    "exited": {1: ("token", "f"), 2: ("exit_code", "z"), 3: ("lost", "u"), 4: ("started_us", "u"),
               5: ("ended_us", "u"), 6: ("cpu_us", "u"), 7: ("rss", "u"), 8: ("why", "u"),
               9: ("intent", "u"), 10: ("text", "s"), 11: ("out_bytes", "u"), 12: ("err_bytes", "u"),
               13: ("out_dropped", "u"), 14: ("err_dropped", "u"), 16: ("strays", "u"),
               17: ("type", "s")},
    "kill_state": {1: ("token", "f"), 2: ("state", "u")},
    "held": {1: ("id", "u"), 2: ("job", "m"), 3: ("last", "u")},
    "job": {1: ("token", "f"), 2: ("type", "s"), 3: ("state", "u"), 9: ("pid", "u"), 14: ("proof", "b")},
}


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value) if value else b""
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value if value is not None else b""


def fixed(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def packed(number, values):
    return field(number, b"".join(struct.pack("<Q", v) for v in values))


def read(body):
    """{number: [values]} of a message: varints and fixed numbers as int, the rest as bytes."""
    out, at = {}, 0

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            c = body[at]
            at += 1
            n |= (c & 127) << shift
            shift += 7
            if c < 128:
                return n
    while at < len(body):
        tag = varint()
        if tag & 7 == 0:
            value = varint()
        elif tag & 7 == 1:
            value = struct.unpack_from("<Q", body, at)[0]
            at += 8
        elif tag & 7 == 5:
            value = struct.unpack_from("<I", body, at)[0]
            at += 4
        else:
            size = varint()
            value = body[at:at + size]
            at += size
        out.setdefault(tag >> 3, []).append(value)
    return out


def decode(kind, body):
    fields = FIELDS[kind]
    out = {name: {"s": "", "b": b""}.get(how, 0) for name, how in fields.values()}
    if kind == "held":
        out["job"] = []
    for number, values in read(body).items():
        name, how = fields.get(number, (None, None))
        for value in values if name else ():
            if how == "m":
                out[name].append(decode("job", value))
            else:
                out[name] = value >> 1 ^ -(value & 1) if how == "z" else value.decode() if how == "s" else value
    return out


class Link:
    """One connection: request functions, and what came back, in order, in `news`."""

    def __init__(self, path, type="", who="test", attach=True, wait=10, process=None,
                 greeted=None):
        end = time.monotonic() + wait
        while True:
            self.sock = socket.socket(socket.AF_UNIX)
            try:
                self.sock.connect(path)
                break
            except OSError:
                self.sock.close()
                if time.monotonic() > end or (process and process.poll() is not None):
                    raise
                time.sleep(0.01)
        self.data, self.news = b"", []
        self.send("hello", field(1, 1) + field(2, who) + field(3, type))
        if greeted:
            greeted()
        self.welcome = self.wait("welcome")
        if attach:
            self.send("attach", field(1, type))
            self.held = self.held_list()

    def held_list(self):
        jobs = []
        while True:
            held = self.wait("held")
            jobs += held["job"]
            if held["last"]:
                return {j["token"]: j for j in jobs}

    def list(self):
        self.send("list", field(1, 7))
        return self.held_list()

    def send(self, kind, body):
        self.sock.sendall(struct.pack(">IHH", len(body), KINDS[kind], 0) + body)

    def pump(self, seconds):
        """Read once; False: nothing came. Raises when the connection ended."""
        if not select.select([self.sock], [], [], max(0, seconds))[0]:
            return False
        more = self.sock.recv(1 << 20)
        if not more:
            raise ConnectionError("the keeper closed the connection")
        self.data += more
        at = 0
        while len(self.data) - at >= 8:
            size, kind, _ = struct.unpack_from(">IHH", self.data, at)
            if len(self.data) - at < 8 + size:
                break
            name = NAMES[kind]
            self.news.append((name, decode(name, self.data[at + 8:at + 8 + size])))
            at += 8 + size
        self.data = self.data[at:]
        return True

    def wait(self, kind, token=None, seconds=20):
        """The next news of that kind (about that token); other news stay."""
        end, seen = time.monotonic() + seconds * SLOW, 0
        while True:
            for i in range(seen, len(self.news)):
                name, message = self.news[i]
                if name in kind.split("|") and token in (None, message.get("token")):
                    del self.news[i]
                    return message if "|" not in kind else (name, message)
            seen = len(self.news)
            if time.monotonic() > end:
                raise TimeoutError(f"no {kind} of {token}; news: {self.news[-5:]}")
            self.pump(end - time.monotonic())

    def start(self, token, argv, type="shell", env=(), cwd="", run_as="", grace_us=5000000,
              deadline_us=0, fence_kill_us=0, keep=False, files=(), limits=(), secrets=(), proof=b"",
              project="", own_cwd=False):
        body = fixed(1, token) + field(2, type) + b"".join(field(8, a) for a in argv)
        body += b"".join(field(9, e) for e in (*env, RUN)) + field(10, cwd) + field(11, run_as)
        body += b"".join(field(13, field(1, r) + field(2, s) + field(3, h)) for r, s, h in limits)
        body += field(14, grace_us) + field(15, deadline_us) + field(16, fence_kill_us)
        body += field(17, keep)
        body += b"".join(field(18, field(1, n) + field(2, c)) for n, c in files)
        body += field(32, proof) if proof else b""
        body += field(23, own_cwd) + field(27, project)
        body += field(25, True)  # with no user, as root where the keeper is root
        body += b"".join(field(31, s) for s in secrets)
        self.send("start", body)

    def kill(self, token, grace_us=0, intent=0):
        self.send("kill", fixed(1, token) + field(2, grace_us) + field(3, intent))

    def forget(self, *tokens):
        self.send("forget", packed(1, tokens))

    def renew(self, tokens, deadline_us, all=False):
        self.send("renew", packed(1, tokens) + field(2, all) + field(4, deadline_us))

    def run(self, token, argv, **more):
        """Start and wait for the end."""
        self.start(token, argv, **more)
        return self.wait("exited", token)

    def close(self):
        self.sock.close()


class Keeper:
    """A jobkeeper process on a directory of its own."""

    def __init__(self, program, state, *options):
        self.program, self.state, self.options = program, state, list(options)
        self.path = os.path.join(state, "keeper.sock")
        self.log = os.path.join(os.path.dirname(state), os.path.basename(state) + ".log")
        self.process = None
        self.up()

    def up(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.program, "--state=" + self.state, *self.options],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        return self

    def link(self, type="", **more):
        return Link(self.path, type, process=self.process, **more)

    def murder(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=20):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                return self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.murder()
                raise
        return self.process.returncode

    def output(self, token, stream="out"):
        try:
            with open(f"{self.state}/logs/{token:016x}.{stream}", "rb") as f:
                return f.read()
        except FileNotFoundError:
            return b""

    def logged(self):
        with open(self.log, "rb") as f:
            return f.read().decode("utf-8", "replace")

    def rss_kb(self, key="VmRSS"):
        with open(f"/proc/{self.process.pid}/status") as f:
            for line in f:
                if line.startswith(key + ":"):
                    return int(line.split()[1])


def checksum(size, body):
    crc = size ^ 0xffffffff
    for byte in body:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def rewrite_journal(state, change):
    """Each record as change(its bytes) makes it, of the same length; the file stays the same one."""
    path = f"{state}/keeper.journal"
    with open(path, "rb") as f:
        data = bytearray(f.read())
    at = 0
    while data[at:at + 4] == b"SKJ1":
        size = int.from_bytes(data[at + 4:at + 8], "little")
        new = change(bytes(data[at + 16:at + 16 + size]))
        data[at + 16:at + 16 + size] = new
        data[at + 8:at + 12] = checksum(size, new).to_bytes(4, "little")
        at += 16 + (size + 7) // 8 * 8
    with open(path, "r+b") as f:
        f.write(data)


def boottime_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def carriers(token):
    """Pids of live processes with this token that a keeper of this test run started."""
    mark, found = {f"SIRDAR_TOKEN={token:016x}".encode(), RUN.encode()}, []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if mark <= set(f.read().split(b"\0")):
                    with open(f"/proc/{pid}/stat") as s:
                        if s.read().rpartition(")")[2].split()[0] not in "ZX":
                            found.append(int(pid))
        except OSError:
            pass
    return found


def until(condition, seconds=15):
    end = time.monotonic() + seconds * SLOW
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
