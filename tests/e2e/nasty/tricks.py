"""What a hostile job tries: `tricks.py FACTS.json` prints a line `passed NAME` for each trick that did it harm's way.

Nothing is harmed: who may read is asked to read one byte, who may kill sends signal 0, who may write
makes a file of its own. FACTS names what is there to be taken: files, directories, processes, a word that
only the victim's memory and environment have.
"""
import ctypes
import json
import mmap
import os
import resource
import socket
import struct
import subprocess
import sys

GIVEN = [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}")]  # the listing's own is gone
FACTS = json.load(open(sys.argv[1], encoding="utf-8"))
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = LIBC.ptrace.restype = LIBC.process_vm_readv.restype = ctypes.c_long
WORD = FACTS["word"].encode()[::-1]  # it stands reversed in FACTS: whoever finds it has it from the victim
TRICKS = {}


def trick(call):
    TRICKS[call.__name__] = call
    return call


def may(call, *args):
    try:
        return call(*args) is not False
    except (OSError, subprocess.SubprocessError, ValueError):
        return False


def reads(path):
    def look():
        if os.path.isdir(path):
            return bool(os.listdir(path))
        with open(path, "rb") as f:
            return f.read(1) != b""
    return may(look)


def writes(path):
    def put():
        if os.path.isdir(path):
            name = os.path.join(path, f"trick-{os.getpid()}")
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            os.unlink(name)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
    return may(put)


def call(number, *args):
    """A raw system call: did it succeed?"""
    return LIBC.syscall(ctypes.c_long(number), *map(ctypes.c_long, args)) >= 0


def in_child(act):
    """What would change this process is tried in another."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if act() is not False else 1)
        except BaseException:  # noqa: BLE001
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


# --- files, each by name

for _name, _path in FACTS["read"].items():
    TRICKS[f"read_{_name}"] = lambda path=_path: reads(path)
for _name, _path in FACTS["write"].items():
    TRICKS[f"write_{_name}"] = lambda path=_path: writes(path)


@trick
def hard_link_to_the_key():
    return may(lambda: (os.link(FACTS["key"], "mine"), open("mine", "rb").read(1)))


@trick
def move_the_victims_place():
    return may(lambda: (os.rename(FACTS["place"], FACTS["place"] + ".x"), os.rename(FACTS["place"] + ".x", FACTS["place"])))


@trick
def link_where_the_next_job_has_its_tmp():
    """Whoever makes or chowns TMPDIR as root would follow it; looked at by the next job's start."""
    target = FACTS["target"]
    tmp = os.environ.get("TMPDIR")
    if not tmp:
        return False
    before = os.stat(target)
    if not os.path.islink(tmp):
        os.rmdir(tmp)
        os.symlink(target, tmp)
        return False  # the second run of these tricks sees what became of it
    after = os.stat(target)
    return (before.st_uid, before.st_mode) != (FACTS["target_uid"], after.st_mode) or writes(target)


# --- other processes

def of_victim(what, size=1 << 20):
    with open(f"/proc/{FACTS['victim']}/{what}", "rb") as f:
        return WORD in f.read(size)


@trick
def victims_environment():
    return may(of_victim, "environ")


@trick
def victims_memory():
    def look():
        with open(f"/proc/{FACTS['victim']}/maps", encoding="ascii") as maps, open(f"/proc/{FACTS['victim']}/mem", "rb") as mem:
            for line in maps:
                if " rw-p " in line:
                    first = int(line.split("-")[0], 16)
                    mem.seek(first)
                    return mem.read(1) != b""
        return False
    return may(look)


@trick
def victims_maps():
    return may(lambda: bool(open(f"/proc/{FACTS['victim']}/maps", "rb").read(1)))


@trick
def victims_descriptors():
    return may(lambda: bool(os.listdir(f"/proc/{FACTS['victim']}/fd")))


@trick
def victims_directory():
    return may(lambda: bool(os.readlink(f"/proc/{FACTS['victim']}/cwd")))


@trick
def victims_root():
    return may(lambda: bool(os.readlink(f"/proc/{FACTS['victim']}/root")))


@trick
def words_of_scripts_in_a_process_list():
    def look(pid):
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return WORD in f.read()
    return any(may(look, p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid())


def attaches(pid):
    if LIBC.ptrace(ctypes.c_long(16), ctypes.c_long(pid), None, None) < 0:  # PTRACE_ATTACH
        return False
    os.waitpid(pid, 0x40000000)
    LIBC.ptrace(ctypes.c_long(17), ctypes.c_long(pid), None, None)
    return True


def copies(pid):
    return LIBC.process_vm_readv(pid, None, 0, None, 0, 0) >= 0 and reads(f"/proc/{pid}/mem")


def takes_descriptor(pid):
    if pid <= 0:
        return False
    fd = os.pidfd_open(pid)
    got = LIBC.syscall(ctypes.c_long(438), ctypes.c_long(fd), ctypes.c_long(0), ctypes.c_long(0))
    os.close(fd)
    if got >= 0:
        os.close(got)
    return got >= 0


def limits(pid):
    resource.prlimit(pid, resource.RLIMIT_NOFILE, resource.prlimit(pid, resource.RLIMIT_NOFILE))


for _who, _pid in FACTS["processes"].items():
    TRICKS[f"trace_{_who}"] = lambda pid=_pid: in_child(lambda: attaches(pid))
    TRICKS[f"descriptors_of_{_who}"] = lambda pid=_pid: may(takes_descriptor, pid)
    TRICKS[f"kill_{_who}"] = lambda pid=_pid: may(os.kill, pid, 0)
    TRICKS[f"limits_of_{_who}"] = lambda pid=_pid: may(limits, pid)
    TRICKS[f"environment_of_{_who}"] = lambda pid=_pid: reads(f"/proc/{pid}/environ")


# --- sockets

def connects(path):
    def dial():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.connect(path)
    return may(dial)


for _name, _path in FACTS["sockets"].items():
    TRICKS[f"socket_{_name}"] = lambda path=_path: connects(path)


@trick
def socket_without_a_name():
    with open("/proc/net/unix", encoding="ascii", errors="replace") as f:
        names = [line.split()[-1] for line in f if " @" in line and "sirdar" in line]
    return any(connects("\0" + n[1:]) for n in names)


# --- the kernel

@trick
def cgroup_of_the_victim():
    return FACTS["cgroup"] and any(writes(os.path.join(FACTS["cgroup"], f)) for f in ("cgroup.procs", "tasks", "cgroup.kill", "memory.max"))


@trick
def cgroup_of_its_own_is_left():
    for line in open("/proc/self/cgroup", encoding="ascii"):
        path = line.rstrip().split(":", 2)[2]
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            if path != "/" and any(writes(f"{root}{path}/{f}") for f in ("../cgroup.procs", "memory.max", "pids.max", "cpu.max", "cgroup.procs")):
                return True
    return False


@trick
def release_agent():
    return any(writes(f"/sys/fs/cgroup/{c}/release_agent") for c in ("memory", "pids", "cpu", "systemd", ""))


@trick
def mount():
    return in_child(lambda: LIBC.mount(b"none", b"/mnt", b"tmpfs", 0, None) == 0)


@trick
def chroot():
    return in_child(lambda: may(os.chroot, "/tmp"))


@trick
def mount_namespace():
    return in_child(lambda: LIBC.unshare(0x00020000) == 0)


@trick
def mount_in_a_namespace_of_its_own():
    return in_child(lambda: LIBC.unshare(0x10020000) == 0 and LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)


@trick
def root_of_a_namespace_of_its_own():
    """It is root there only; but what a kernel's fault makes of that is not known beforehand."""
    def become():
        uid = os.getuid()
        if LIBC.unshare(0x10000000) != 0:
            return False
        with open("/proc/self/uid_map", "w", encoding="ascii") as f:
            f.write(f"0 {uid} 1")
        return call(117, 0, 0, 0)
    return in_child(become)


@trick
def userfaultfd():
    return in_child(lambda: call(323, 1))


@trick
def keyring():
    return in_child(lambda: call(250, 0, -3, 1))  # the session's, made where there is none


@trick
def calls_of_another_machine():
    """getpid() as a program of i386 makes it."""
    def run():
        code = bytes.fromhex("b814000000cd80c3")
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))() > 0
    return os.uname().machine == "x86_64" and in_child(run)


@trick
def setuid():
    return any(in_child(lambda c=c: may(*c)) for c in (
        (os.setuid, 0), (os.seteuid, 0), (os.setresuid, -1, 0, -1), (os.setgid, 0), (os.setgroups, [0]), (os.setreuid, 0, 0)))


@trick
def setuid_to_the_victim():
    return in_child(lambda: may(os.setuid, FACTS["victim_uid"])) and FACTS["victim_uid"] != os.getuid()


@trick
def root_already():
    return 0 in (*os.getresuid(), *os.getresgid(), *os.getgroups())


@trick
def capabilities():
    text = open("/proc/self/status", encoding="ascii").read().split("\n")
    return any(int(line.split()[1], 16) for line in text if line.startswith(("CapEff", "CapPrm", "CapAmb", "CapInh")))


def runs(*argv):
    return may(lambda: subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=20).returncode == 0)


@trick
def sudo():
    return runs("sudo", "-n", "true") or runs("su", "-c", "true", "root") or runs("pkexec", "true")


@trick
def program_that_gains_rights():
    """A copy of a shell with the bit set, and whatever the system has."""
    def make():
        with open("/bin/sh", "rb") as a, open("sh", "wb") as b:
            b.write(a.read())
        os.chmod("sh", 0o6755)
        return subprocess.run(["./sh", "-p", "-c", "id -u"], capture_output=True, text=True, check=False).stdout.strip() == "0"
    return may(make) or "NoNewPrivs:\t1" not in open("/proc/self/status", encoding="ascii").read()


@trick
def at_and_cron():
    return any(writes(d) for d in ("/etc/cron.d", "/etc/crontab", "/var/spool/cron", "/var/spool/cron/crontabs", "/var/spool/at")) or \
        runs("sh", "-c", "echo true | at now")


@trick
def systemd_run():
    return runs("systemd-run", "--no-block", "true")


@trick
def keys_of_the_session():
    """A keyring that a daemon left: one that holds something of ours."""
    with open("/proc/keys", encoding="ascii") as f:
        return "sirdar" in f.read()


@trick
def bpf():
    attr = ctypes.create_string_buffer(struct.pack("=IIII", 1, 4, 4, 1) + bytes(100))  # a hash map
    return call(321, 0, ctypes.addressof(attr), len(attr))


@trick
def performance_of_the_victim():
    attr = ctypes.create_string_buffer(struct.pack("=II", 1, 112) + bytes(104))
    return call(298, ctypes.addressof(attr), FACTS["victim"], -1, -1, 0)


@trick
def memory_of_the_machine():
    return any(reads(p) for p in ("/dev/mem", "/dev/kmsg", "/proc/kcore"))


@trick
def switches_of_the_kernel():
    return any(writes(p) for p in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/modprobe", "/proc/sys/fs/protected_symlinks"))


@trick
def accounts():
    return any(writes(p) for p in ("/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/ld.so.preload", "/etc/sirdar")) or reads("/etc/shadow")


@trick
def inherited_descriptors():
    return bool(GIVEN)


@trick
def preload_of_the_daemons():
    return any(name in os.environ for name in ("LD_PRELOAD", "NOTIFY_SOCKET", "LISTEN_FDS", "SUDO_USER", "CREDENTIALS_DIRECTORY"))


@trick
def words_of_the_daemons_in_the_environment():
    return "never-a-jobs" in str(os.environ)


@trick
def shared_memory():
    """A file: in a box the directory is its own, with the way to its place in it where that is below /tmp."""
    names = [os.path.join("/dev/shm", f) for f in os.listdir("/dev/shm") if "sirdar" in f] if os.path.isdir("/dev/shm") else []
    return any(reads(name) for name in names if not os.path.isdir(name))


@trick
def out_of_memory_last():
    """Who sets it below 0 is killed after everybody else."""
    def put():
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as f:
            f.write("-1000")
    return in_child(lambda: may(put))


@trick
def first_in_line():
    return in_child(lambda: may(os.setpriority, os.PRIO_PROCESS, 0, -20))


@trick
def limits_raised():
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    return in_child(lambda: may(resource.setrlimit, resource.RLIMIT_CORE, (hard + 1, hard + 1))) if hard != resource.RLIM_INFINITY else False


for _name, _trick in TRICKS.items():
    try:
        if _trick():
            print("passed", _name)
    except Exception as e:  # noqa: BLE001
        print("stopped", _name, repr(e)[:80])
print("tried", len(TRICKS))
