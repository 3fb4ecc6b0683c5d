#!/usr/bin/env python3
"""A jobkeeper that separates without root: whose processes its jobs are, what it refuses, and what becomes of jobs
when keeper or launcher die. The program itself, begun as its service begins it. TAP."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import stand_still  # noqa: E402
from keeper_client import until  # noqa: E402
from lent import BROKER, FIRST, KEEPER, LAUNCH, Lent, as_user, group_make, missing, of_user, options, status  # noqa: E402

ROOT = os.environ.get("SIRDAR_ROOT") or os.path.abspath(os.path.dirname(__file__) + "/../..")
PROGRAM = os.path.join(ROOT, os.environ.get("B", "build/gcc"), "bin", "jobkeeper")
E_FORBIDDEN, E_MACHINE, E_NO_USER = -15, -31, -41
LINES = "lined: nobody\nsystems: daemon\n"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def said(k, a, token, script, project="one", **more):
    end = a.run(token, ["sh", "-c", script], project=project, own_cwd=True, **more)
    assert end["exit_code"] == 0 and not end["lost"], (end, k.output(token, "err"), k.logged()[-1000:])
    return k.output(token).decode().split()


def refused(a, token, project, wish=""):
    a.start(token, ["id"], project=project, run_as=wish)
    return a.wait("not_started", token)


def sleeper(k, a, token, project="one", script="sleep 600"):
    a.start(token, ["sh", "-c", script], project=project, own_cwd=True)
    name, news = a.wait("started|not_started", token)
    assert name == "started", news
    pid = news["pid"]
    return pid, int(status(pid)["Uid"].split()[0])


@test
def nobody_of_the_service_is_root_and_only_the_launcher_has_rights(k, a):
    assert a.welcome["separates"] == 1, a.welcome
    keeper, launcher = status(k.process.pid), status(k.launcher())
    assert set(keeper["Uid"].split()) == set(keeper["Gid"].split()) == {str(KEEPER)} and not keeper["Groups"], keeper
    assert not any(int(keeper[c], 16) for c in ("CapPrm", "CapEff", "CapInh", "CapAmb")), keeper
    assert set(launcher["Uid"].split()) == {str(LAUNCH)} and int(launcher["CapEff"], 16) == 0xe0, launcher
    assert launcher["Seccomp"] == "2" and launcher["NoNewPrivs"] == "1", launcher


@test
def each_project_is_a_user_of_its_own_that_it_keeps_over_a_restart(k, a):
    one, two = said(k, a, 1, "id -u; id -G; pwd"), said(k, a, 2, "id -u; id -G", project="two")
    assert one[:2] == [str(FIRST)] * 2 and two == [str(FIRST + 1)] * 2, (one, two)
    assert one[2] == f"{k.base}/jobs/{FIRST}", one
    assert said(k, a, 3, "id -u; id -G", project="lined") == ["65534"] * 2
    assert said(k, a, 4, "id -u", project="lined", run_as="nobody") == ["65534"]
    assert k.stop() == 0, k.logged()
    k.up()
    assert said(k, k.link(), 5, "id -u", project="two") == [str(FIRST + 1)]


@test
def root_and_users_of_the_system_and_of_others_are_refused_whoever_names_them(k, a):
    wishes = ("root", "0", "#0", "-1", "4294967295", f"#{FIRST + 1}", "daemon", "nobody", "%s" * 15)
    for n, wish in enumerate(wishes):
        end = refused(a, 10 + n, "one", wish)
        assert end["code"] == E_FORBIDDEN and "may not run jobs as" in end["text"], (wish, end)
    for n, project in enumerate(("systems", "")):
        end = refused(a, 40 + n, project)
        assert end["code"] == E_NO_USER and "has no user on this machine" in end["text"], (project, end)
    for n, (line, word) in enumerate((("one: root", "not root"), ("one: 0", "no numbers"), ("one: nobody", ""))):  # read at each start
        with open(f"{k.base}/job_users", "w", encoding="ascii") as f:
            f.write(line + "\n")
        end = refused(a, 50 + n, "one") if word else None
        assert not word or end["code"] == E_MACHINE and word in end["text"], end
    assert said(k, a, 60, "id -u") == ["65534"]
    os.chmod(f"{k.base}/job_users", 0o666)
    assert "anyone may write" in refused(a, 61, "one")["text"]


@test
def a_job_gets_its_files_alone_and_nothing_of_them_is_left(k, a):
    script = 'cat $SIRDAR_FILES/word; stat -c %u:%a $SIRDAR_FILES $SIRDAR_FILES/word . $TMPDIR; ls .. ../../files 2>/dev/null; ' \
             'mkdir -p $SIRDAR_FILES/a/b; touch $SIRDAR_FILES/a/b/c kept; ln -s $PWD $SIRDAR_FILES/a/out; mkfifo $SIRDAR_FILES/p'
    words = said(k, a, 1, script, files=(("word", b"secret\n"),), )
    assert words == ["secret", f"{FIRST}:700", f"{FIRST}:400", f"{FIRST}:700", f"{FIRST}:700"], words
    until(lambda: not os.listdir(f"{k.base}/files"))
    assert not os.listdir(f"{k.base}/files") and os.path.exists(f"{k.base}/jobs/{FIRST}/kept")


@test
def a_place_that_another_made_starts_nothing_there(k, a):
    os.mkdir(f"{k.base}/jobs/{FIRST}", 0o700)
    os.chown(f"{k.base}/jobs/{FIRST}", 65534, 65534)
    end = refused(a, 1, "one")
    assert end["code"] == E_MACHINE and f"is not only user {FIRST}'s" in end["text"], end


@test
def a_kill_ends_all_of_a_job_and_its_last_one_all_of_its_user(k, a):
    script = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 600 & sleep 600' & env -i setsid sh -c 'sleep 600 &' & sleep 600 & echo; wait"
    pid, uid = sleeper(k, a, 1, script=script)
    until(lambda: len(of_user(uid)) >= 6)
    assert len(of_user(uid)) >= 6, of_user(uid)
    other, others = sleeper(k, a, 2, project="two")
    a.kill(1, grace_us=100000)
    end = a.wait("exited", 1)
    assert end["exit_code"] == -9 and end["why"] == 1, end
    assert until(lambda: not of_user(uid)) and of_user(others), (of_user(uid), of_user(others))


@test
def what_a_job_leaves_behind_has_its_grace_before_its_user_is_swept(k, a):
    script = "(trap 'echo bye >bye; exit' TERM; echo >ready; while :; do sleep 0.02; done) & while [ ! -e ready ]; do sleep 0.02; done"
    end = a.run(1, ["sh", "-c", script], project="one", own_cwd=True)
    assert end["exit_code"] == 0 and end["strays"] == 1 and until(lambda: not of_user(FIRST)), (end, of_user(FIRST))
    assert os.path.exists(f"{k.base}/jobs/{FIRST}/bye")


@test
def where_its_service_has_a_group_each_job_has_one_too(k, a):
    assert k.stop() == 0, k.logged()
    k.group = group_make()
    if not k.group:
        print("# no cgroups of version 2 here: not tried")
        return
    a = k.up().link()
    assert a.welcome["cgroup"] == 1, k.logged()
    aside = f"{k.group}/sirdar-keeper"  # a group with processes in it hands no controller down
    assert not open(f"{k.group}/cgroup.procs", encoding="ascii").read()
    assert len(open(f"{aside}/cgroup.procs", encoding="ascii").read().split()) == 2, k.logged()  # the keeper and its launcher
    pid, uid = sleeper(k, a, 1, script="trap '' TERM; env -i setsid sh -c 'sleep 600 &' & sleep 600; sleep 600")
    with open(f"/proc/{pid}/cgroup", encoding="ascii") as f:
        assert f"{os.path.basename(k.group)}/sirdar-jobs-" in f.read()
    assert until(lambda: len(of_user(uid)) >= 3), of_user(uid)  # it has its trap by then
    other, _ = sleeper(k, a, 2, script="exec sleep 600")
    a.kill(1, grace_us=50000)
    assert a.wait("exited", 1)["exit_code"] == -9
    assert until(lambda: of_user(uid) == [other]), of_user(uid)  # of one job, not of its user
    assert k.stop() == 0, k.logged()
    assert until(lambda: not open(f"{aside}/cgroup.procs", encoding="ascii").read())  # the launcher, too
    os.rmdir(aside)
    os.rmdir(k.group)


@test
def a_job_whose_lease_ran_out_is_ended_by_the_launcher(k, a):
    a.start(1, ["sh", "-c", "trap '' TERM; sleep 600 & sleep 600; sleep 600"], project="one", deadline_us=1, fence_kill_us=100000, keep=False)
    name, end = a.wait("exited|not_started", 1)
    assert name == "not_started" or end["why"] == 2, end
    from keeper_client import boottime_us
    a.start(2, ["sh", "-c", "trap '' TERM; sleep 600 & sleep 600; sleep 600"], project="one", deadline_us=boottime_us() + 700000, fence_kill_us=100000)
    end = a.wait("exited", 2)
    assert end["why"] == 2 and end["exit_code"] == -9, end


@test
def a_keeper_that_is_killed_takes_its_jobs_with_it_and_the_next_tells_them_lost(k, a):
    pid, uid = sleeper(k, a, 1, script="env -i setsid sh -c 'sleep 600 &'; sleep 600")
    k.murder()
    assert until(lambda: not of_user(uid)), of_user(uid)  # the launcher's sweeper is that user for a moment, too
    end = k.up().link().wait("exited", 1)
    assert end["lost"], end


@test
def what_jobs_of_an_account_left_ends_with_the_launcher_or_before_the_next_begins_and_nothing_else_of_it(k, a):
    own = subprocess.Popen(as_user(65534, "sleep", "600"))  # the account is somebody's, too
    try:
        for is_launcher_killed in (True, False):
            script = "(setsid sh -c 'env -i sleep 600 & echo $$ $! >left.new; mv left.new left; exec sleep 600' &) ; sleep 600"
            left = f"{k.base}/jobs/nobody/left"
            if os.path.exists(left):  # of the round before: its processes are gone
                os.unlink(left)
            sleeper(k, a, 1 + is_launcher_killed, project="lined", script=script)
            assert until(lambda left=left: os.path.exists(left)), k.logged()
            with open(left, encoding="ascii") as f:
                pids = [int(word) for word in f.read().split()]
            assert all(os.path.exists(f"/proc/{pid}") for pid in pids), pids
            if is_launcher_killed:
                launcher = k.launcher()
                stand_still(k.process.pid)  # neither sees the other go
                os.kill(launcher, signal.SIGKILL)
                k.murder()
                assert all(os.path.exists(f"/proc/{pid}") for pid in pids), pids
                a = k.up().link()
                assert not any(pid in of_user(65534) for pid in pids), pids
            else:
                k.murder()
                assert until(lambda pids=pids: not any(pid in of_user(65534) for pid in pids)), pids
            assert own.pid in of_user(65534)
    finally:
        own.kill()
        own.wait()


@test
def a_launcher_waits_for_the_former_one_which_kills_all_there_is_of_its_numbers(k, a):
    pid, uid = sleeper(k, a, 1)
    former = k.launcher()
    stand_still(former)
    k.murder()
    k.up()
    assert until(lambda: len(k.children()) == 1), k.logged()
    is_early = until(lambda: k.logged().count("keeper.ready") == 2, 1)
    second = None
    if is_early:
        second = sleeper(k, k.link(), 2)[0]
    os.kill(former, signal.SIGCONT)
    b = k.link()
    second = second or sleeper(k, b, 2)[0]
    assert until(lambda: not os.path.exists(f"/proc/{former}") or status(former)["State"][0] == "Z"), status(former)
    assert second in of_user(uid) and pid not in of_user(uid), (pid, second, of_user(uid))
    assert b.wait("exited", 1)["lost"]


@test
def an_upgrade_keeps_jobs_and_launcher(k, a):
    pid, uid = sleeper(k, a, 1, script="sleep 600; exit 3")
    launcher = k.launcher()
    k.process.send_signal(signal.SIGHUP)
    assert until(lambda: "keeper.upgraded" in k.logged()), k.logged()
    b = k.link()
    assert 1 in b.held and k.launcher() == launcher and b.welcome["separates"] == 1, b.held
    assert said(k, b, 2, "id -u") == [str(FIRST)]
    b.kill(1)
    assert b.wait("exited", 1)["exit_code"] == -15


@test
def without_its_launcher_a_keeper_starts_nothing_tells_ends_and_ends_itself(k, a):
    go = f"{k.base}/jobs/{FIRST}/go"
    sleeper(k, a, 1, script="while [ ! -e go ]; do sleep 0.05; done; exit 3")
    os.kill(k.launcher(), signal.SIGKILL)
    assert until(lambda: "keeper.launcher_gone" in k.logged()), k.logged()
    end = refused(a, 2, "one")
    assert end["code"] == E_MACHINE and "launcher" in end["text"], end
    open(go, "w", encoding="ascii").close()
    end = a.wait("exited", 1)
    assert end["exit_code"] == 3 and not end["lost"], end
    assert k.process.wait(60) == 69, k.logged()
    b = k.up().link()
    assert said(k, b, 3, "id -u") == [str(FIRST)]


@test
def what_cannot_be_ended_without_a_launcher_the_next_one_ends(k, a):
    pid, uid = sleeper(k, a, 1, script="env -i setsid sh -c 'sleep 600 &'; sleep 600")
    os.kill(k.launcher(), signal.SIGKILL)
    assert until(lambda: "keeper.launcher_gone" in k.logged()), k.logged()
    a.kill(1)
    assert k.process.wait(60) == 69, k.logged()
    assert "keeper.unable" in k.logged() and of_user(uid), k.logged()
    end = k.up().link().wait("exited", 1)
    assert end["lost"] and not of_user(uid), (end, of_user(uid))


class Manager:
    """Hears as a service manager does."""
    def __init__(self, base, watch_us):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"{base}/notify")
        os.chmod(f"{base}/notify", 0o777)
        self.socket.settimeout(60)
        os.environ.update(NOTIFY_SOCKET=f"{base}/notify", WATCHDOG_USEC=str(watch_us))

    def hears(self, word, n=1):
        while n:
            n -= self.socket.recv(200).decode() == word

    def is_silent(self, seconds):
        self.socket.settimeout(seconds)
        try:
            return not self.socket.recv(200)
        except TimeoutError:
            return True

    def close(self):
        del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]
        self.socket.close()


@test
def a_service_manager_hears_of_a_keeper_while_it_turns_and_after_an_upgrade_too(k, a):
    assert k.stop() == 0, k.logged()
    m = Manager(k.base, 300000)
    try:
        k.up()
        m.hears("READY=1")
        m.hears("WATCHDOG_USEC=300000")
        m.hears("WATCHDOG=1", 4)
        words = said(k, k.link(), 1, "env | grep -c -e NOTIFY -e WATCHDOG || true")
        assert words == ["0"], words
        k.process.send_signal(signal.SIGHUP)
        m.hears("WATCHDOG_USEC=0")
        m.hears("READY=1")
        m.hears("WATCHDOG_USEC=300000")
        m.hears("WATCHDOG=1", 4)
        assert said(k, k.link(), 2, "env | grep -c -e NOTIFY -e WATCHDOG || true") == ["0"]
        stand_still(k.process.pid)
        assert until(lambda: status(k.process.pid)["State"][0] == "T")
        while not m.is_silent(0.2):  # what it said before
            pass
        assert m.is_silent(1)
        os.kill(k.process.pid, signal.SIGCONT)
        m.socket.settimeout(60)
        m.hears("WATCHDOG=1")
    finally:
        m.close()


@test
def only_the_brokers_user_is_heard_on_the_socket(k, a):
    ask = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({k.path!r}); s.settimeout(20); print(len(s.recv(9)) if s.send(b'x') else 0)"
    for uid, heard in ((65534, False), (FIRST, False), (LAUNCH, False)):
        done = subprocess.run(as_user(uid, sys.executable, "-c", ask), capture_output=True, text=True, check=False)
        assert done.returncode and "PermissionError" in done.stderr, (uid, done)
    os.chmod(k.state, 0o2711)
    os.chmod(k.path, 0o666)
    done = subprocess.run(as_user(65534, sys.executable, "-c", ask), capture_output=True, text=True, check=False)
    assert done.stdout.strip() != "9" and until(lambda: "peer.stranger" in k.logged()), (done, k.logged())
    done = subprocess.run(as_user(BROKER, "cat", f"{k.state}/logs/none"), capture_output=True, text=True, check=False)
    assert "No such file" in done.stderr, done  # it may look, and reads what jobs print
    said(k, a, 1, "echo word")
    done = subprocess.run(as_user(BROKER, "cat", f"{k.state}/logs/{1:016x}.out"), capture_output=True, text=True, check=False)
    assert done.stdout == "word\n", done


@test
def who_has_not_the_rights_or_the_places_is_told_what_is_missing(k, a):
    other = f"{k.base}/other"
    argv = options(other, f"{other}/keeper")
    for wrap, word in ((lambda *w: as_user(LAUNCH, *w), "CAP_SETUID"), (lambda *w: list(w), "not root")):
        done = subprocess.run(wrap(PROGRAM, *argv), capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode and word in done.stderr, done
    os.chown(f"{other}/jobs", 0, 0)
    done = subprocess.run(as_user(LAUNCH, PROGRAM, *argv, capabilities="+setuid,+setgid,+kill"), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode and f"{other}/jobs is not the launcher's own" in done.stderr, done


def main():
    wanted = sys.argv[1:]
    chosen = [t for t in TESTS if not wanted or any(w in t.__name__ for w in wanted)]
    why = missing()
    if why:
        print(f"1..0 # SKIP {why}\nok 1 - a launcher # SKIP {why}")
        return 0
    base = tempfile.mkdtemp(prefix="launcher-", dir="/tmp")  # a socket's path has 108 bytes, and others go through
    os.chmod(base, 0o755)
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    for number, function in enumerate(chosen, 1):
        k = Lent(PROGRAM, f"{base}/s{number}", lines=LINES)
        try:
            function(k, k.link())
            print(f"ok {number} - {function.__name__.replace('_', ' ')}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {function.__name__.replace('_', ' ')}", flush=True)
            print("# " + (traceback.format_exc() + k.logged()[-3000:]).replace("\n", "\n# "))
        finally:
            if k.process.poll() is None:
                k.process.kill()  # its launcher ends what is left
                k.process.wait()
            assert until(lambda: not k.is_left()), "a launcher is left"
            assert until(lambda: not any(of_user(FIRST + n) for n in range(4))), "processes of jobs are left"
    shutil.rmtree(base, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
