#!/usr/bin/env python3
"""Processes of guests where projects are separated: each project has its own, of its user, and has nothing of another
project's; they share within a project, leave when idle, and end with their loader. By a broker of root and by a launcher. TAP."""
import json
import os
import re
import shutil
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, RUNNERS, Daemon, Site, Skip, gone, main, test, until  # noqa: E402
from lent import BROKER, Lent, as_user, missing as lent_missing, place, status  # noqa: E402

AT = "2026-03-01T00:00:00Z"
ENDS = ("Succ", "StopSchedule", "Killed", "Hanged")
FIRST, LAST = 59040, 59049
NUMBERS = iter(range(1000))
GUEST = r'''
import json, os, sys, threading
to = os.fdopen(4, "w")
lock = threading.Lock()
kept = {}
def say(**m):
    with lock:
        to.write(json.dumps(m) + "\n"); to.flush()
def do(m):
    try:
        exec(m["params"].get("code", ""), {"kept": kept, "m": m, "os": os})
        say(op="done", job=m["job"])
    except BaseException as e:
        say(op="done", job=m["job"], exit_code=1, text=repr(e)[:200])
for line in os.fdopen(3):
    m = json.loads(line)
    if m["op"] == "hello":
        say(op="hello", protocol=1, concurrency=4)
    elif m["op"] == "ping":
        say(op="pong", n=m["n"])
    elif m["op"] == "run":
        threading.Thread(target=do, args=(m,)).start()
'''
WHO = "print('I am', os.getpid(), os.getuid(), os.environ.get('TMPDIR'), os.environ.get('SIRDAR_STAND_IN'), flush=True)"
# Holds a secret in memory and in a file, in a process that begins none, while another project looks for it.
VICTIM = """
import time
word = m['params']['word']
kept['word'] = word
with open(os.environ['TMPDIR'] + '/kept', 'w') as f: f.write(word)
print('I am', os.getpid(), os.environ['TMPDIR'], flush=True)
while not os.path.exists(m['params']['hold']): time.sleep(0.1)
"""
SPY = """
import glob, signal, socket
victim, tmp, word, loader = m['params']['victim'], m['params']['tmp'], m['params']['backwards'][::-1], m['params']['loader']
found = []
def tries(what, call):
    try:
        got = call()
        if got is None or word.encode() in (got if isinstance(got, bytes) else str(got).encode()): found.append(what)
    except OSError as e:
        pass
def read(path):
    with open(path, 'rb') as f: return f.read(1 << 20)
def memory():
    with open(f'/proc/{victim}/maps') as f: lines = f.read().split()
    return None
for name in ('environ', 'cmdline', 'stack'):
    tries(name, lambda: read(f'/proc/{victim}/{name}'))
tries('maps', memory)
tries('fds', lambda: os.listdir(f'/proc/{victim}/fd') and None)
for fd in (0, 1, 2, 3, 4):
    tries(f'fd {fd}', lambda: os.close(os.open(f'/proc/{victim}/fd/{fd}', os.O_RDWR)))
tries('cwd', lambda: os.readlink(f'/proc/{victim}/cwd') and None)
tries('kept', lambda: read(tmp + '/kept'))
tries('list', lambda: os.listdir(tmp) and None)
tries('write', lambda: os.close(os.open(tmp + '/planted', os.O_CREAT | os.O_WRONLY)))
for pid in (victim, loader):
    tries(f'kill {pid}', lambda: os.kill(int(pid), signal.SIGCONT))
# The loader's own socket, as stand-ins have it: nobody is given descriptors without a ticket.
for line in open('/proc/net/unix'):
    name = line.split()[-1]
    if not name.startswith('@') or line.split()[4] != '0005': continue
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(2)
    try:
        s.connect('\\0' + name[1:])
        s.send(b'0' * 32)
        data, fds, _, _ = socket.recv_fds(s, 16, 8)
        if fds: found.append(f'descriptors of {name}')
    except OSError: pass
    s.close()
print('looked and found', found, flush=True)
"""


def each(function):
    """For a broker of root, and for one that is not, with a launcher."""
    for group in ("uid", "lent"):
        def one(s, group=group):
            if group == "lent" and not s.lent:
                raise Skip(lent_missing())
            function(s, group)
        one.__name__ = f"{function.__name__}__{'by_a_launcher' if group == 'lent' else 'of_root'}"
        test(one)
    return function


def begin(s, group, project, code, more=(), keys=(), kind="spy", **params):
    """-> the task's name."""
    name = f"w{next(NUMBERS)}"
    params = dict(params, code=code)
    s.apply(f"workflow: {name}\nproject: {project}\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n"
            f"  t:\n    type: {kind}\n    group: {group}\n    cycle: day\n    catchup: {{mode: all}}\n"
            + "".join(f"    {line}\n" for line in more) + "    params:\n"
            + "".join(f"      {k}: {json.dumps(str(v))}\n" for k, v in params.items()), **{"from": "2026-03-01"})
    return f"{project}/{name}/t"


def text_of(s, i, stream="stdout"):
    status, got = s.ask("GET", f"/api/v1/instances/{i['id']}/log?stream={stream}")
    if status != 200:
        return ""
    return got if isinstance(got, str) else got.decode("utf-8", "replace")


def done(s, *args, **more):
    """-> what it printed."""
    i = s.wait_state(begin(s, *args, **more), AT, ENDS, 60)
    assert i["state"] == "Succ", (s.history(i["id"]), s.log_of(i["id"]), s.brokers[args[0]].text()[-3000:])
    return text_of(s, i)


def who(s, group, project, **more):
    """-> pid, uid and TMPDIR of the process that did it."""
    text = done(s, group, project, WHO, **more)
    found = re.search(r"I am (\d+) (\d+) (\S+) (\S+)", text)
    assert found and found[4] == "None", text
    return int(found[1]), int(found[2]), found[3]


@each
def jobs_of_a_project_share_a_process_of_its_user_and_no_other_project_has_it(s, group):
    one, again, two = who(s, group, "one"), who(s, group, "one"), who(s, group, "two")
    assert one == again and one[0] != two[0] and one[1] != two[1] and one[2] != two[2], (one, again, two)
    for pid, uid, _ in (one, two):
        has = status(pid)
        assert set(has["Uid"].split()) == {str(uid)} and uid >= 1000 and int(has["CapEff"], 16) == 0, has
        assert has["NoNewPrivs"] == "1" and has["Seccomp"] == "2", has


@each
def a_guest_of_one_project_finds_nothing_of_anothers(s, group):
    word, hold = "tulip" + os.urandom(8).hex(), s.dir / "data" / f"hold-{group}"
    task = begin(s, group, "two", VICTIM, word=word, hold=hold)
    i = until("the victim runs", lambda: (i := s.instance(task, AT)) and "I am" in text_of(s, i) and i, 60)
    victim, tmp = re.search(r"I am (\d+) (\S+)", text_of(s, i)).groups()
    loader = s.pids("taskrunner-loader", f"name={group}")[0]
    text = done(s, group, "one", SPY, victim=victim, tmp=tmp, backwards=word[::-1], loader=loader)
    hold.touch()
    assert s.wait_state(task, AT, ENDS, 60)["state"] == "Succ"
    assert "looked and found []" in text, text
    # In its own project all of that is there: else nothing found would say nothing.
    hold.unlink()
    task = begin(s, group, "two", VICTIM, word=word, hold=hold)
    i = until("the victim runs", lambda: (i := s.instance(task, AT)) and "I am" in text_of(s, i) and i, 60)
    victim, tmp = re.search(r"I am (\d+) (\S+)", text_of(s, i)).groups()
    text = done(s, group, "two", SPY, victim=victim, tmp=tmp, backwards=word[::-1], loader=loader)
    hold.touch()
    assert s.wait_state(task, AT, ENDS, 60)["state"] == "Succ"
    for what in ("'maps'", "'fds'", "'cwd'", "'kept'", "'write'"):
        assert what in text, (what, text)


@each
def a_project_whose_guest_cannot_begin_holds_up_no_other_one(s, group):
    bad = begin(s, group, "one", WHO, more=["run_as: daemon"])
    until("the refusal is told", lambda: (i := s.instance(bad, AT)) and "may not run jobs as daemon" in str(s.history(i["id"])), 60)
    assert who(s, group, "two")[1] >= 1000
    s.sirdar("kill", bad, "2026-03-01", "--yes")


@test
def one_without_work_leaves_and_there_are_never_more_than_the_setting_says(s):
    s.add_broker("few", types=("spy:4",), groups="few", job_uids=f"{LAST + 1}-{LAST + 5}", work_dir=s.dir / "few-work",
                 runners_dir=s.dir / "runners", guests_max=1, guest_idle_ms=3000)
    hold = s.dir / "data" / "hold-few"
    busy = begin(s, "few", "one", f"import time; print('I am', os.getpid(), flush=True)\nwhile not os.path.exists('{hold}'): time.sleep(0.1)")
    until("it runs", lambda: (i := s.instance(busy, AT)) and "I am" in text_of(s, i), 60)
    waits = begin(s, "few", "two", WHO)
    until("it says why it waits", lambda: (i := s.instance(waits, AT)) and "guests_max, 1, are at work" in text_of(s, i, "stderr"), 60)
    hold.touch()
    i = s.wait_state(waits, AT, ENDS, 60)
    assert i["state"] == "Succ", s.history(i["id"])
    pid = int(re.search(r"I am (\d+)", text_of(s, i))[1])
    until("it leaves when idle", lambda: gone(pid), 60)
    assert who(s, "few", "one")[0] != pid


@each
def with_its_loader_its_guests_end_and_the_next_one_has_new_ones(s, group):
    pid, uid, _ = who(s, group, "one")
    loader = next(p for p in s.pids("taskrunner-loader", f"name={group}") if b"spy" in open(f"/proc/{p}/cmdline", "rb").read())
    os.kill(loader, signal.SIGKILL)
    until("the guest ends", lambda: gone(pid), 60)
    assert who(s, group, "one")[1] == uid


def add_lent(s, runners):
    why = lent_missing()
    if why:
        return None
    s.add_key("lent")
    for path in (s.dir / "lent", s.dir / "lent-work"):
        place(path, BROKER, 0o700)
    os.chown(s.dir / "lent.key", BROKER, BROKER)
    k = Lent(str(BIN / "jobkeeper"), str(s.dir / "lent-lent"))
    sets = s.broker_sets("lent", TYPES, groups="lent", work_dir=s.dir / "lent-work", keeper_dir=k.state, runners_dir=runners)
    for unwanted in ("jobs_as_root", "files_dir"):
        sets.pop(unwanted, None)
    d = s.brokers["lent"] = Daemon(s, "lent", as_user(BROKER, *s.argv("taskbroker", sets)), r"broker\.keeper_up")
    d.start()
    s.wait_broker("lent", ["spy"])
    return k


TYPES = ("spy:4", "shell:2")


def make():
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")
    s = Site("guests")
    (s.dir / "secrets.key").touch(0o600)
    (s.dir / "secrets.key").write_text("one:" + os.urandom(32).hex() + "\n")
    runners, types = s.dir / "runners", s.dir / "types"
    runners.mkdir()
    shutil.copytree(BIN.parent / "types", types)
    for so in ("foreign.so", "shell.so"):
        shutil.copy(RUNNERS / so, runners)
    (runners / "guest.py").write_text(GUEST)
    text = "type: spy\nothers: true\nrunner: foreign\nguest:\n  command: [python3, guest.py]\nparams:\n  - {name: key, type: text, secret: true}\n"
    for folder in (runners, types):
        (folder / "spy.yaml").write_text(text)
    s.base_sets.update(secrets_key_file=s.dir / "secrets.key", types_dir=types)
    s.base = Daemon(s, "baseserver", s.argv("baseserver", s.base_sets), r"baseserver\.up")
    s.base.start()
    s.start_cgi()
    (s.dir / "data").chmod(0o1777)
    s.add_broker("uid", types=TYPES, groups="uid", job_uids=f"{FIRST}-{LAST}", work_dir=s.dir / "uid-work", runners_dir=runners)
    s.lent = add_lent(s, runners)
    return s


if __name__ == "__main__":
    sys.exit(main(make))
