"""A jobkeeper with a launcher, as its service begins it: a user with three capabilities, whose keeper has none.

Numbers of users are this process's own: the launcher kills all there is of a number, and suites run side by side.
"""
import fcntl
import os
import shutil
import subprocess

from keeper_client import Keeper

LAUNCH, KEEPER, BROKER = 62001, 62002, 62003  # as packages have system users
FIRST = 1000000 + os.getpid() * 16
UIDS = f"{FIRST}-{FIRST + 15}"
CAPABILITIES = "+setuid,+setgid,+kill"


def missing():
    """Why no launcher can be begun here; "": it can."""
    if os.geteuid() != 0:
        return "needs root: to begin a launcher as its service does"
    return "" if shutil.which("setpriv") else "no setpriv here"


def as_user(uid, *argv, capabilities=""):
    gains = [f"--{kind}-caps=-all,{capabilities}" if kind == "inh" else f"--{kind}-caps={capabilities}" for kind in ("inh", "ambient")] if capabilities else ["--inh-caps=-all"]
    return [shutil.which("setpriv"), f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *gains,
            f"--bounding-set=-all{',' if capabilities else ''}{capabilities}", "--no-new-privs", *map(str, argv)]


def place(path, user, mode, group=None):
    os.makedirs(path, exist_ok=True)
    os.chown(path, user, user if group is None else group)
    os.chmod(path, mode)
    return str(path)


def options(base, state, lines=""):
    """Its places, made as tmpfiles.d makes them, and its command line without the program."""
    os.makedirs(base, exist_ok=True)
    os.chmod(base, 0o755)
    place(state, KEEPER, 0o2710, BROKER)
    kept = place(f"{base}/launch", LAUNCH, 0o700)
    work, files = place(f"{base}/jobs", LAUNCH, 0o731), place(f"{base}/files", LAUNCH, 0o731)
    users = f"{base}/job_users"
    with open(users, "w", encoding="ascii") as f:
        f.write(lines)
    return [f"--state={state}", f"--user={KEEPER}:{KEEPER}", f"--peer={BROKER}:{BROKER}", f"--work={work}", f"--files={files}",
            f"--job-users-file={users}", f"--job-uids={UIDS}", f"--job-uids-kept={kept}/job_uids"]


def group_make():
    """A group of version 2 as a service has it with Delegate=yes; "": none can be made here."""
    for root in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        path = f"{root}/sirdar-test-{os.getpid()}"
        if os.path.exists(f"{root}/cgroup.procs") and os.path.exists(f"{root}/cgroup.controllers"):
            os.mkdir(path)
            for name in ("", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control"):
                os.chown(path + name, LAUNCH, LAUNCH)
            return path
    return ""


class Lent(Keeper):
    group = ""

    def __init__(self, program, base, *more, lines=""):
        self.base, self.argv = base, options(base, f"{base}/keeper", lines)
        super().__init__(program, f"{base}/keeper", *more)

    def up(self):
        def enter():
            if self.group:
                with open(f"{self.group}/cgroup.procs", "w", encoding="ascii") as f:
                    f.write("0")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(as_user(LAUNCH, self.program, *self.argv, *self.options, capabilities=CAPABILITIES),
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=enter)
        return self

    def children(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(p) for p in f.read().split()]

    def is_left(self):
        """Does a launcher of a keeper that is gone still end jobs?"""
        try:
            with open(f"{self.base}/launch/job_uids.lock", "rb") as f:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def launcher(self):
        return next(p for p in self.children() if status(p)["Name"] == "sirdar-launch")


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return {k: v.strip() for k, v in (line.split(":", 1) for line in f)}


def of_user(uid):
    """Live processes of that user."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            s = status(pid)
        except (OSError, ValueError):
            continue
        if str(uid) in s["Uid"].split() and s["State"][0] not in "ZX":
            found.append(int(pid))
    return found
