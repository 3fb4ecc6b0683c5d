# zygote.py — a Python interpreter that is started once and forks itself for each job.
#
# Descriptor 0: a pipe that the broker's loader holds; its end is ours. Descriptor 3: a listening
# socket. A job's process (warm/main.c) connects and sends its descriptors 0, 1 and 2. What the job
# is, and what it may take of the machine, is read from that process in /proc: arguments,
# environment, directory, user, groups, limits, mask, cgroups.
#
# For each there is a `warden`, which outlives us: it has the connection, is the reaper of all that
# the job starts, passes signals on, tells the end, and kills everything when the other side is gone.
# It and the job's process are forked ahead, one pair at a time.
import sys
sys.path[:] = [p for p in sys.path if p]  # the directory it happens to start in is no place for modules
import ctypes  # noqa: E402
import gc
import io
import os
import resource
import runpy
import select
import signal
import socket
import time
import traceback
import importlib.util, pkgutil, zipimport  # noqa: E401,F401  what runpy wants
import datetime, json, logging, pathlib, re, subprocess  # noqa: E401,F401  what most jobs want

PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
libc = ctypes.CDLL(None, use_errno=True)


def cgroup_mounts():
    found = {}
    for line in open("/proc/self/mountinfo"):
        left, _, right = line.partition(" - ")
        kind, _, options = right.split()
        if kind == "cgroup2":
            found[""] = left.split()[4]
        elif kind == "cgroup":
            for name in options.split(","):
                found[name] = left.split()[4]
    return found


def cgroups_of(pid):
    with open(f"/proc/{pid}/cgroup") as f:
        return f.read().split("\n")


def join_cgroups(pid, mounts):
    mine = set(cgroups_of("self"))
    for line in cgroups_of(pid):
        _, names, path = (line.split(":", 2) + ["", ""])[:3]
        mount = mounts.get(names.split(",")[0])
        if line and line not in mine and mount:
            try:
                with open(f"{mount}{path}/cgroup.procs", "w") as f:
                    f.write("0")
            except OSError:
                pass  # not ours to write: the warden holds the tree


def status_of(pid):
    with open(f"/proc/{pid}/status") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def words_of(pid, name):
    with open(f"/proc/{pid}/{name}", "rb") as f:
        return [os.fsdecode(w) for w in f.read().split(b"\0")[:-1]]


def become(pid, uid, gid):
    """What the jobkeeper made of that process is made of this one; last the user."""
    status = status_of(pid)
    for name in dir(resource):
        if name.startswith("RLIMIT_"):
            number = getattr(resource, name)
            try:
                resource.setrlimit(number, resource.prlimit(pid, number))
            except (OSError, ValueError):
                pass
    os.umask(int(status.get("Umask", "022"), 8))
    os.chdir(f"/proc/{pid}/cwd")
    try:
        with open(f"/proc/{pid}/oom_score_adj") as f, open("/proc/self/oom_score_adj", "w") as to:
            to.write(f.read())
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, pid))
    except OSError:
        pass
    if status.get("NoNewPrivs") == "1":
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.geteuid() == 0:
        os.setgroups([int(g) for g in status.get("Groups", "").split()])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)


def begin(pid, uid, gid, fds):
    """In the job's process: -> its arguments, as Python would have them after `python`."""
    os.setsid()
    become(pid, uid, gid)
    for fd in range(3):
        os.dup2(fds[fd], fd)
    os.closerange(3, 1024)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    environment = dict(w.split("=", 1) for w in words_of(pid, "environ") if "=" in w)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8", errors="surrogateescape", line_buffering=True)
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(open(2, "wb", 0, closefd=False), encoding="utf-8", errors="backslashreplace", write_through=True)
    files = environment.get("SIRDAR_FILES", "")
    return [w.replace("$SIRDAR_FILES/", files + "/", 1) if w.startswith("$SIRDAR_FILES/") else w
            for w in words_of(pid, "cmdline")[4:]]


def children():
    """Everything below this process."""
    below, of = [], {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as f:
                    of.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(entry))
            except OSError:
                pass
    todo = [os.getpid()]
    while todo:
        found = of.get(todo.pop(), [])
        below += found
        todo += found
    return below


def end_all():
    """KILL until nothing is left; orphans come to us, who reap for them."""
    while True:
        try:  # mostly there is nothing, and no need to look at every process of the machine
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, 0):
                pass
        except ChildProcessError:
            return


def forward(connection, job):
    """Signals that the other side got. False: it is gone."""
    numbers = connection.recv(64)
    for number in numbers:
        try:
            os.killpg(job, number)
        except ProcessLookupError:
            pass
    return bool(numbers)


def watch(connection, job):
    pidfd = os.pidfd_open(job)
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    poll.register(pidfd, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if pidfd in ready:
            _, status = os.waitpid(job, 0)
            end_all()
            connection.sendall(b"%d\n" % status)
            return
        if not forward(connection, job):
            end_all()
            return


def wait_for_job(order, mounts):
    """In a process forked ahead: -> its arguments, once the warden has a job for it."""
    data, ancillary, _, _ = order.recvmsg(64, socket.CMSG_SPACE(12))
    if not data:
        os._exit(0)
    pid, uid, gid = (int(n) for n in data.split())
    fds = descriptors_of(ancillary)
    order.detach()  # begin() closes it: no object may close that number once more
    try:
        join_cgroups(pid, mounts)  # not the warden, which is told of its end by the connection
        return begin(pid, uid, gid, fds)
    except BaseException as e:  # noqa: BLE001
        os.write(fds[2], f"sirdar: the job's process cannot be made: {e}\n".encode())
        os._exit(126)


def descriptors_of(ancillary):
    return [int.from_bytes(ancillary[0][2][i:i + 4], sys.byteorder) for i in (0, 4, 8)] if ancillary else []


def take(connection, order):
    """Somebody wants a job: handed to the process that waits. False: the other side does it without us."""
    pid, uid, gid = (int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[i:i + 4], sys.byteorder)
                     for i in (0, 4, 8))
    if os.geteuid() not in (0, uid):
        return False
    _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(12))
    fds = descriptors_of(ancillary)
    if len(fds) != 3:
        return False
    connection.sendall(b"+")  # from here on it is ours
    order.sendmsg([f"{pid} {uid} {gid}".encode()],
                  [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds))])
    for fd in fds:
        os.close(fd)
    return True


def accept(listener):
    """None: the loader has ended, and nobody will come."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(listener, select.POLLIN)
    while True:
        if 0 in {fd for fd, _ in poll.poll()}:
            return None
        try:
            return listener.accept()[0]
        except BlockingIOError:
            pass


def silence():
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)


def warden(listener, taken, mounts):
    """Forked ahead, and forks the job's process ahead: no job waits for a fork. -> the arguments, in
    a job's process; never returns in the warden."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    order, waits = socket.socketpair()
    job = os.fork()
    if job == 0:
        order.close()
        listener.close()
        os.close(taken)
        silence()
        return wait_for_job(waits, mounts)
    waits.close()
    connection = accept(listener)
    if connection is None:
        os._exit(0)  # and the one who waits, for its order ends
    listener.close()
    try:
        os.write(taken, b"1")
    except BrokenPipeError:
        pass  # the interpreter we come from is gone: this job we can still do
    os.close(taken)
    silence()
    try:
        if take(connection, order):
            watch(connection, job)
    finally:
        order.close()
        end_all()
        os._exit(0)


def serve():
    """Returns in a job's process only. One warden always waits."""
    listener = socket.socket(fileno=3)
    listener.setblocking(False)
    mounts = cgroup_mounts()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    while True:
        told, taken = os.pipe()
        if os.fork() == 0:
            os.close(told)
            return warden(listener, taken, mounts)
        os.close(taken)
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(told, select.POLLIN)
        if 0 in {fd for fd, _ in poll.poll()}:
            os._exit(0)
        if not os.read(told, 1):
            time.sleep(0.1)  # it ended without a job
        os.close(told)


def show(kind, value, trace):
    """A traceback from the job's first line on, not from ours."""
    while trace and trace.tb_frame.f_code.co_filename in ("<string>", "<frozen runpy>", runpy.__file__):
        trace = trace.tb_next
    traceback.print_exception(kind, value, trace)


if not hasattr(os, "pidfd_open"):
    os._exit(3)  # older than 3.9: jobs go without us
words = serve()
sys.excepthook = show
if words[0] == "-m":
    sys.argv = words[1:]
    sys.path.insert(0, os.getcwd())
    runpy.run_module(words[1], run_name="__main__", alter_sys=True)
else:
    sys.argv = words
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
    runpy.run_path(words[0], run_name="__main__")
