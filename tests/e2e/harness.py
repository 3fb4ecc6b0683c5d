"""The real programs, together, for end-to-end tests and benchmarks: a Site is one directory with a
baseserver, a sirdar-cgi and brokers, on loopback ports of their own. Standard library only.

Waiting is for a condition with a deadline (`until`); nothing sleeps to be in step. What a Site
started is ended by its pid, jobs that a test left behind by the directory they carry.
"""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
from pathlib import Path

from ports import free_port

ROOT = Path(os.environ.get("SIRDAR_ROOT", Path(__file__).resolve().parents[2]))
B = Path(os.environ.get("B", "build/gcc"))
B = B if B.is_absolute() else ROOT / B
BIN, RUNNERS = B / "bin", B / "runners"
SLOW = 5 if "address" in B.name or "thread" in B.name else 1
PROGRAMS = ("baseserver", "taskbroker", "taskrunner-loader", "jobkeeper", "sirdar-cgi", "sirdar-notifier", "sirdar")
WAITS = float(os.environ.get("WAITS") or "inf")  # conditions that took longer (s) are told
OVER = {"Succ", "StopSchedule", "Killed", "Skipped"}

# The `admin` that a cgi of earlier releases has for itself: a password, and its argon2id hash.
OWN_WORD = "the own word of a cgi"
OWN_HASH = "$argon2id$v=19$m=19456,t=2,p=1$GDFj6upbmSabwWAvmkdi1w$XA2BF96vyYXKd8T8F45qjba8bBqn0CyBcmclaTDufFo"

# Leases of tests: long enough for a busy machine, short enough to be waited for.
LEASES = {"beat_ms": 300, "fence_ms": 20000, "kill_ms": 1000, "lose_ms": 30000}


class Skip(Exception):
    """This machine cannot show it; the text says why."""


class Late(AssertionError):
    """A condition did not come true in time."""


def until(what, condition, seconds=30, every=0.02):
    """Call `condition` until it gives something true, and return that."""
    began = time.monotonic()
    end = began + seconds * SLOW
    while True:
        got = condition()
        if got:
            if time.monotonic() - began > WAITS:
                print(f"# waited {time.monotonic() - began:.2f} s: {what}", flush=True)
            return got
        if time.monotonic() > end:
            raise Late(f"{what}: not in {seconds * SLOW} s")
        time.sleep(every)


def threads_stand(pid):
    states = []
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # a thread that has ended
            states.append(stat.read_text().rsplit(")", 1)[1].split()[0])
    return all(state in "TtZX" for state in states)


def stand_still(pid):
    """Stop a process, and wait until each of its threads stands: kill() returns before they do, and one may answer yet."""
    os.kill(pid, signal.SIGSTOP)
    until(f"{pid} stands still", lambda: threads_stand(pid), every=0.001)


def rfc3339(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def seconds_of(text):
    """RFC 3339 in UTC, as the API gives it, in seconds (float)."""
    whole, _, part = text.rstrip("Z").partition(".")
    import calendar
    base = calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S"))
    return base + (float("0." + part) if part else 0.0)


def rss_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def anonymous_kb(pid):
    """Memory of its own: no file's pages, whatever the system cached."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon"))


def gone(pid):
    """Not there, or a zombie nobody has collected yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def own_admin(folder):
    """In the state directory of a cgi, as earlier releases left it: an `admin` of its own."""
    folder.mkdir(0o700, exist_ok=True)
    path = folder / "password"
    path.touch(0o600)
    path.write_text(OWN_HASH + "\n")


class Daemon:
    """One program of a Site: start, wait for a line of its log, stop, kill."""

    def __init__(self, site, name, argv, ready):
        self.site, self.name, self.argv, self.ready = site, name, [str(a) for a in argv], ready
        self.log = site.dir / (name + ".log")
        self.proc, self.starts = None, 0

    def start(self, wait=True):
        assert self.proc is None or self.proc.poll() is not None, f"{self.name} runs already"
        mark = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as out:
            self.proc = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=out,
                                         stderr=out, cwd=self.site.dir, env=self.site.env)
        self.starts += 1
        self.mark = mark
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, seconds=120):
        def look():
            assert self.proc.poll() is None, f"{self.name} ended with {self.proc.returncode}: {self.tail()}"
            return self.has(self.ready, self.mark)
        until(f"{self.name} says {self.ready!r}", look, seconds)

    def text(self, mark=0):
        with open(self.log, "rb") as f:
            f.seek(mark)
            return f.read().decode("utf-8", "replace")

    def has(self, pattern, mark=0):
        return re.search(pattern, self.text(mark))

    def tail(self, lines=15):
        return "\n".join(self.text().splitlines()[-lines:])

    @property
    def pid(self):
        return self.proc.pid

    def kill(self):
        if self.proc is not None and self.proc.poll() is None:
            self.proc.kill()
        if self.proc is not None:
            self.proc.wait()

    def stop(self, seconds=20):
        """TERM and a clean end; -> exit status."""
        if self.proc is None or self.proc.poll() is not None:
            return self.proc.returncode if self.proc else 0
        self.proc.terminate()
        try:
            return self.proc.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            raise Late(f"{self.name} did not end on TERM:\n{self.tail()}") from None

    def restart(self, hard=False):
        if hard:
            self.kill()
        else:
            assert self.stop() == 0, f"{self.name}: {self.tail()}"
        self.start()


class Site:
    """A directory with everything in it. `with Site() as s: ...` ends all of it."""

    def __init__(self, name="site", **base_sets):
        missing = [p for p in PROGRAMS if not (BIN / p).exists()]
        if missing:
            raise FileNotFoundError(f"not built: {', '.join(missing)}")
        self.dir = Path(tempfile.mkdtemp(prefix=f"sirdar-{name}-"))
        self.dir.chmod(0o755)
        self.port, self.http = free_port(), free_port()
        self.env = dict(os.environ, SIRDAR_SITE=str(self.dir), HOME=str(self.dir),
                        XDG_CONFIG_HOME=str(self.dir / "config"))
        self.token, self.brokers, self.link = None, {}, None
        self.base_sets = {"listen": f"127.0.0.1:{self.port}", "state_dir": self.dir / "base",
                          "log_dir": self.dir / "joblogs", "keys_file": self.dir / "keys",
                          "disk_free_min_bytes": 1 << 20,
                          # one person's work on machines of one user; tests/e2e/test_trusted.py has the default
                          "trust_new_projects": "true",
                          **LEASES, **base_sets}
        for d in ("work", "data"):
            (self.dir / d).mkdir()
        self.base = Daemon(self, "baseserver", self.argv("baseserver", self.base_sets),
                           r"baseserver\.up")
        self.add_key("cgi")
        cgi = {"listen": f"127.0.0.1:{self.http}", "server": f"127.0.0.1:{self.port}",
               "key_file": self.dir / "cgi.key", "state_dir": self.dir / "cgi",
               "store": self.base_sets.get("store", f"sqlite:{self.dir}/base"),
               "connections_per_address_max": 512, "web_dir": "", "docs_dir": "",
               # a suite is one person who asks for what many do; tests/e2e/test_budget.py has the defaults
               "person_requests_max": 1000000000, "person_running_max": 65536, "person_reading_ms": 86400000, "person_streams_max": 65536}
        self.cgi = Daemon(self, "sirdar-cgi", self.argv("sirdar-cgi", cgi), r"cgi\.ready")

    @staticmethod
    def argv(program, sets):
        return [BIN / program, *(w for k, v in sets.items() for w in ("--set", f"{k}={v}"))]

    def run(self, argv, seconds=60, **more):
        return subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, cwd=self.dir,
                              env=dict(self.env, **more), timeout=seconds * SLOW)

    def add_key(self, name, kind=None):
        """A key in the server's file, and in `NAME.key` for the peer; without a kind it is what key-add makes of the name."""
        keys = self.dir / "keys"
        if not keys.exists():
            keys.touch(0o600)
        done = self.run([*self.argv("baseserver", self.base_sets), "key-add", name, *([kind] if kind else [])])
        assert done.returncode == 0, done.stderr
        path = self.dir / (name + ".key")
        path.touch(0o600)
        path.write_text(done.stdout)
        if self.base.proc is not None and self.base.proc.poll() is None:
            self.base.proc.send_signal(signal.SIGHUP)

    # --- daemons

    def start(self, types=("shell:8", "noop:64"), **broker_sets):
        self.base.start()
        self.start_cgi()
        self.add_broker("b1", types=types, **broker_sets)
        return self

    def believe(self, face="cgi"):
        """The server believes this face who its own `admin` is, and its machine's tokens, also when it knows an administrator."""
        self.sirdar("peer", "set", face, "--asserts", "admin")
        return self

    def second_cgi(self):
        """Another face, with a key and a state directory of its own. -> its port."""
        self.add_key("cgi2", "face")
        port = free_port()
        sets = {"listen": f"127.0.0.1:{port}", "server": f"127.0.0.1:{self.port}", "name": "cgi2", "key_file": self.dir / "cgi2.key",
                "state_dir": self.dir / "cgi2", "store": f"sqlite:{self.dir}/base", "web_dir": ""}
        self.brokers["cgi2"] = Daemon(self, "cgi2", self.argv("sirdar-cgi", sets), r"cgi\.ready")
        self.brokers["cgi2"].start()
        return port

    def start_cgi(self):
        self.cgi.start()
        self.token = self.make_token(f"test-{os.getpid()}-{self.cgi.starts}")
        until("the cgi is up", lambda: self.up())
        self.use_token(self.token)  # the face knows it: who reads the file meanwhile still has the former one

    def make_token(self, name, *words):
        """A token of nobody's, of the own socket of the server that leads, which may be another than `base`."""
        said = []

        def ask():
            for d in (*vars(self).values(), *self.brokers.values()):
                if not isinstance(d, Daemon) or "baseserver" not in map(os.path.basename, d.argv) or d.proc is None or d.proc.poll() is not None:
                    continue
                made = self.run([*d.argv, "admin", "token", name, *words])
                if made.returncode == 0:
                    return made.stdout.strip()
                said[:] = [made.stderr]
                assert made.returncode == 69, made  # no server answers, or it stands by
            return None
        try:
            return until("a server that leads makes a token", ask, 60, every=0.2)
        except Late as e:
            raise Late(f"{e}: {said}") from None

    def use_token(self, token):
        self.token = token
        path = self.dir / "token"
        path.touch(0o600)
        path.write_text(f"{token}\nhttp://127.0.0.1:{self.http}\n")

    def first_password(self):
        """The one that the server drew for `admin` at its first start."""
        return until("admin is made", lambda: self.base.has(r"admin\.first user=admin") and (self.dir / "base/first-password").read_text().strip())

    def start_as_earlier(self, types=("shell:8", "noop:64"), **broker_sets):
        """As start(), of an installation as earlier releases began it: `admin` is the cgi's, with the password OWN_WORD, so is the
        token, and the server has nobody of that name."""
        self.base.start()
        self.first_password()
        assert self.base.stop() == 0, self.base.tail()
        with contextlib.closing(sqlite3.connect(self.dir / "base/sirdar.db")) as db, db:
            assert db.execute("DELETE FROM lb_user WHERE name = 'admin'").rowcount == 1
        (self.dir / "base/first-password").unlink()
        own_admin(self.dir / "cgi")
        self.base.start()
        self.cgi.start()
        self.use_token(self.own_token(f"test-{os.getpid()}"))
        until("the cgi is up", lambda: self.up())
        if types:
            self.add_broker("b1", types=types, **broker_sets)
        return self

    def own_token(self, name, *words, option="--make-token"):
        """A token, or key, that this cgi alone knows: of its own `admin`."""
        made = self.run([*self.cgi.argv, option, name, *words])
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def up(self):
        try:
            return self.get("/api/v1/server")["leads"]
        except (OSError, AssertionError, http.client.HTTPException):
            return False

    def broker_sets(self, name, types, **sets):
        if os.geteuid() == 0 and not {"users", "job_users_file", "job_uids"} & set(sets):
            sets = {"jobs_as_root": "true", **sets}
        return {"server": f"127.0.0.1:{self.port}", "name": name,
                "key_file": self.dir / (name + ".key"), "state_dir": self.dir / name,
                "runners_dir": sets.pop("runners_dir", RUNNERS), "work_dir": self.dir / "work",
                "files_dir": self.dir / (name + "-files"),
                "types": ",".join(types), "load_max_percent": 100000, "report_ms": 300,
                "retry_min_ms": 20, "retry_max_ms": 300, "loader_restart_ms": 20,
                "loader_crash_max": 1000, "disk_free_min_bytes": 1 << 20, "jobs_max": 4096,
                "stop_ms": 3000, "output_flush_ms": 100, **sets}

    def job_users(self, **lines):
        """Settings with which a broker of root runs jobs of these projects as these users."""
        if os.geteuid() != 0:
            return {}
        (self.dir / "data").chmod(0o1777)
        path = self.dir / ("users-" + "-".join(lines))
        path.write_text("".join(f"{project}: {users}\n" for project, users in lines.items()))
        return {"job_users_file": path}

    def add_broker(self, name, types=("shell:8", "noop:64"), wait=True, **sets):
        self.add_key(name)
        sets = self.broker_sets(name, types, **sets)
        self.brokers[name] = Daemon(self, name, self.argv("taskbroker", sets), r"broker\.keeper_up")
        self.brokers[name].start()
        if wait:
            self.wait_broker(name, [t.split(":")[0] for t in types])
        return self.brokers[name]

    def add_broker_of(self, name, types=("shell:8", "noop:64"), **sets):
        """A broker whose key is there already."""
        argv = self.argv("taskbroker", self.broker_sets(name, types, **sets))
        self.brokers[name] = Daemon(self, name, argv, r"broker\.keeper_up")
        self.brokers[name].start()

    def wait_broker(self, name, types, seconds=60):
        """Until it is online and may be given jobs of each type: a type is ready a moment before its slots are known."""
        def look():
            status, answer = self.ask("GET", "/api/v1/brokers")
            if status == 503:  # a cgi that has just begun does not have the server yet
                return None
            assert status == 200, (status, answer)
            for b in answer["brokers"]:
                ready = {t["type"] for t in b["types"] if t["state"] == "ready" and t["slots"]}
                if b["name"] == name and b["online"] and ready >= set(types):
                    return b
            return None
        return until(f"broker {name} is ready", look, seconds)

    def pids(self, program, under=None):
        """Processes of this Site that run `program`, by their command line; "/NAME" is what lies in the Site's own folder."""
        found = []
        if isinstance(under, str) and re.fullmatch(r"/[^/]+", under):
            under = f"{self.dir}{under}"  # the path of the folder itself may hold such a name, too
        for pid in self.ours():
            try:
                argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.path.basename(argv[0]).decode() == program and \
                    (under is None or str(under).encode() in b"\0".join(argv)):
                found.append(pid)
        return found

    def ours(self):
        """Every process that carries this Site's directory: environment, arguments or cwd."""
        me, mark = {os.getpid(), os.getppid()}, str(self.dir).encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in me:
                continue
            for part in ("environ", "cmdline"):
                try:
                    if mark in Path(f"/proc/{entry}/{part}").read_bytes():
                        yield int(entry)
                        break
                except OSError:
                    continue
            else:
                try:
                    if os.readlink(f"/proc/{entry}/cwd").encode().startswith(mark):
                        yield int(entry)
                except OSError:
                    continue

    def close(self):
        for d in [self.cgi, *self.brokers.values(), self.base]:
            d.kill()
        for _ in range(50):
            left = list(self.ours())
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not left:
                break
            time.sleep(0.02)
        if os.environ.get("KEEP"):
            print(f"# kept: {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def logs(self, lines=12):
        return "\n".join(f"--- {d.name}\n{d.tail(lines)}"
                         for d in [self.base, self.cgi, *self.brokers.values()]
                         if d.log.exists())

    def reports(self):
        """What sanitizers wrote to the daemons' logs: of each log the first, from its beginning."""
        found = []
        for log in sorted(self.dir.glob("*.log")):
            text = log.read_text("utf-8", "replace")
            at = re.search(r"WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer|runtime error:", text)
            if at:
                found.append(f"{log.name}: {text[at.start():at.start() + 6000]}")
        return found

    def story(self, most=20):
        """Why nothing moves: what is unfinished and what holds it back, its history, brokers, queues."""
        lines = []

        def tell(what, ask):
            try:
                lines.append(f"{what}: {ask()}")
            except Exception as e:  # noqa: BLE001
                lines.append(f"{what}: no answer: {e!r}")
        for path in ("server", "brokers", "queues"):
            tell(path, lambda path=path: json.dumps(self.get(f"/api/v1/{path}")))
        try:
            open_ = [i for i in self.instances() if i["state"] not in OVER]
        except Exception as e:  # noqa: BLE001
            lines.append(f"instances: no answer: {e!r}")
            open_ = []
        lines.append(f"{len(open_)} unfinished")
        for i in open_[:most]:
            lines.append(json.dumps(i))
            tell("  why", lambda i=i: json.dumps(self.get(f"/api/v1/instances/{i['id']}/why")))
            tell("  history", lambda i=i: json.dumps(self.history(i["id"])[:6]))
        for pid in self.ours():
            tell(f"process {pid}", lambda pid=pid: Path(f"/proc/{pid}/cmdline").read_bytes()
                 .replace(b"\0", b" ")[:200].decode("utf-8", "replace"))
        return "\n".join(lines)

    # --- the API

    def ask(self, method, path, body=None, seconds=60):
        """-> status, JSON (or bytes)."""
        for again in (True, False):
            if self.link is None:
                self.link = http.client.HTTPConnection("127.0.0.1", self.http, timeout=seconds)
            try:
                self.link.request(method, path, None if body is None else json.dumps(body), {
                    "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
                answer = self.link.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.link.close()
                self.link = None
                # A request that names itself may be sent twice: that is what `request_id` is for.
                if not again or not (method == "GET" or (body or {}).get("request_id")):
                    raise
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return answer.status, json.loads(text) if is_json and text else text

    def as_person(self, name, password, method, path, body=None):
        jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        root = f"http://127.0.0.1:{self.http}"
        head = {"Content-Type": "application/json", "Origin": root}
        with jar.open(urllib.request.Request(f"{root}/api/v1/login", json.dumps({"user": name, "password": password}).encode(), head)) as r:
            csrf = json.loads(r.read()).get("csrf")
        if csrf:
            head["X-CSRF-Token"] = csrf
        try:
            data = json.dumps(body).encode() if body is not None else None
            with jar.open(urllib.request.Request(root + path, data, head, method=method)) as r:
                return r.status, json.loads(r.read())
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read())

    def get(self, path):
        """What stands there. A read that took longer than the store allows is asked again, as its answer says: this machine does other work."""
        def look():
            status, answer = self.ask("GET", path)
            late = status == 429 and "did not have that within" in str(answer)
            return None if late else (status, answer)
        status, answer = until(f"the store has {path}", look, 120)
        assert status == 200, f"GET {path}: {status} {answer}"
        return answer

    def command(self, kind, request_id=None, dry_run=False, expect=(200, 201, 202), **args):
        body = {"kind": kind, "args": args, "dry_run": dry_run}
        if not dry_run:
            body["request_id"] = request_id or os.urandom(16).hex()
        status, answer = self.ask("POST", "/api/v1/commands", body)
        assert status in expect, f"{kind} {args}: {status} {answer}"
        return answer

    def command_over(self, answer, seconds=60):
        """The command when it is over."""
        def look():
            c = self.get(f"/api/v1/commands/{answer['command']}")
            return c if c["state"] in ("done", "failed", "cancelled") else None
        return until(f"command {answer['command']} is over", look, seconds)

    def apply(self, text, name="test.yaml", **more):
        return self.command("apply", documents=[{"name": name, "text": text}], **more)

    def instances(self, task=None, states=None, limit=None, **args):
        """All of them, page by page."""
        args = {k.rstrip("_"): v for k, v in args.items()}
        if task:
            args["task"] = task
        if states:
            args["states"] = states
        rows, cursor = [], None
        while True:
            query = dict(args, limit=500, **({"cursor": cursor} if cursor else {}))
            path = "/api/v1/instances?" + "&".join(
                f"{k}={http_quote(str(v))}" for k, v in query.items())
            page = self.get(path)
            rows += page["items"]
            cursor = page.get("cursor")
            if not cursor or (limit and len(rows) >= limit):
                return rows

    def instance(self, task, run_date):
        found = [i for i in self.instances(task) if i["run_date"] == run_date]
        return found[0] if found else None

    def wait_state(self, task, run_date, states, seconds=30):
        states = {states} if isinstance(states, str) else set(states)
        seen = {}

        def look():
            i = self.instance(task, run_date)
            seen["last"] = i
            return i if i and i["state"] in states else None
        try:
            return until(f"{task} {run_date} is {states}", look, seconds)
        except Late as e:
            raise Late(f"{e}; it is {seen['last']}") from None

    def wait_all_over(self, task=None, n=None, seconds=60):
        """Every instance (of a task or `prefix*`) is final, and there are n."""
        def look():
            rows = self.instances(task)
            return rows if (n is None or len(rows) >= n) and rows and \
                all(i["state"] in OVER for i in rows) else None
        try:
            return until(f"all of {task} are over", look, seconds, every=0.05)
        except Late as e:
            rows = self.instances(task)
            open_ = [i for i in rows if i["state"] not in OVER]
            raise Late(f"{e}: {len(rows)} there, open: {open_[:3]}") from None

    def log_of(self, instance_id, **args):
        query = "&".join(f"{k}={v}" for k, v in args.items())
        status, text = self.ask("GET", f"/api/v1/instances/{instance_id}/log?{query}")
        assert status == 200, f"log of {instance_id}: {status} {text}"
        return text if isinstance(text, (bytes, str)) else json.dumps(text)

    def history(self, instance_id):
        return self.get(f"/api/v1/instances/{instance_id}/events?limit=500")["items"]

    def sirdar(self, *words, expect=0, stdin=None):
        """The command line, as a person uses it."""
        done = subprocess.run([str(BIN / "sirdar"), *words], capture_output=True, text=True,
                              cwd=self.dir, timeout=120, input=stdin,
                              env=dict(self.env, SIRDAR_TOKEN_FILE=str(self.dir / "token")))
        if expect is not None:
            assert done.returncode == expect, \
                f"sirdar {' '.join(words)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done


def http_quote(text):
    from urllib.parse import quote
    return quote(text, safe="")


# --- TAP

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def main(make_site, argv=None):
    """Run the TESTS of a file, each with one shared Site; names on the command line choose."""
    chosen = (argv if argv is not None else sys.argv)[1:]
    tests = [t for t in TESTS if not chosen or any(c in t.__name__ for c in chosen)]
    print(f"1..{len(tests)}", flush=True)
    site, bad, n = None, 0, 0
    try:
        try:
            site = make_site()
        except Skip as e:
            for n, t in enumerate(tests, 1):
                print(f"ok {n} - {t.__name__.replace('_', ' ')} # SKIP {e}")
            return 0
        for n, t in enumerate(tests, 1):
            title, began = t.__name__.replace("_", " "), time.monotonic()
            try:
                t(site)
                print(f"ok {n} - {title} # {time.monotonic() - began:.2f} s", flush=True)
            except Skip as e:
                print(f"ok {n} - {title} # SKIP {e}", flush=True)
            except Exception:  # noqa: BLE001
                bad += 1
                print(f"not ok {n} - {title}")
                for line in (traceback.format_exc() + (site.logs() if site else "")).splitlines():
                    print(f"# {line}")
                sys.stdout.flush()
    except Exception:  # noqa: BLE001
        bad += 1
        print("not ok - the programs start together")
        for line in traceback.format_exc().splitlines():
            print(f"# {line}")
    finally:
        if site is not None:
            bad += tell_reports(site)
            site.close()
    return 1 if bad else 0


def tell_reports(site):
    reports = site.reports()
    if reports:
        print("not ok - no sanitizer reports anything")
        for line in "\n".join(reports).splitlines():
            print(f"# {line}")
    return len(reports)
