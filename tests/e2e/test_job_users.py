#!/usr/bin/env python3
"""Whose process a job is where the broker is root: its project's user by the machine's own map, never root,
never another project's; what the map lacks is the machine's fault, what it forbids is the job's. TAP."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Daemon, Site, Skip, main, test, until  # noqa: E402

AT = "2026-03-01T00:00:00Z"
ENDS = ("Succ", "StopSchedule", "Killed", "Hanged")
WHO = "id -u; id -G"
FIRST, LAST = 59000, 59003


def job(s, project, name, script, params=None, **keys):
    text = f"workflow: {name}\nproject: {project}\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\n" \
           f"tasks:\n  t:\n    type: {keys.pop('type', 'shell')}\n    cycle: day\n    catchup: {{mode: all}}\n"
    text += "".join(f"    {k}: {v}\n" for k, v in {"group": "mapped", **keys}.items())
    text += "    params:\n" + "".join(f"      {k}: {v}\n" for k, v in (params or {}).items())
    text += "      script: |\n" + "".join(f"        {line}\n" for line in script.splitlines())
    s.apply(text, **{"from": "2026-03-01"})
    return f"{project}/{name}/t"


def over(s, task):
    return s.wait_state(task, AT, ENDS, 60)


def said(s, i):
    text = s.log_of(i["id"])
    return (text if isinstance(text, str) else text.decode("utf-8", "replace")).split()


def told(s, i):
    return str(s.history(i["id"]))


# --- only `users` is set: what was there before there was a map

@test
def a_task_that_names_no_user_is_not_run_as_root_but_waits_for_a_machine_that_has_one(s):
    task = job(s, "stray", "waits", WHO, group="listed")
    until("why says it", lambda: any(
        "project stray has no user on listed" in str(s.get(f"/api/v1/instances/{i['id']}/why"))
        for i in s.instances(task)), 60)
    assert "job_users_file" in told(s, s.instance(task, AT)), told(s, s.instance(task, AT))
    assert s.instance(task, AT)["state"] not in ENDS


@test
def root_by_name_or_number_is_refused_with_the_remedy(s):
    for name in ("root", "bin", "daemon"):
        i = over(s, job(s, "stray", f"as-{name}", WHO, run_as=name, group="listed"))
        assert i["state"] == "StopSchedule", (name, i)
        text = told(s, i)
        assert "never as root" in text if name == "bin" else "may not run jobs as" in text and "job_users_file" in text, (name, text)


@test
def a_user_of_the_list_may_be_named_by_any_project(s):
    i = over(s, job(s, "stray", "listed", WHO, run_as="nobody", group="listed"))
    assert i["state"] == "Succ" and said(s, i) == ["65534", "65534"], (i, told(s, i))


@test
def what_a_job_does_to_its_own_place_stops_neither_its_project_nor_others(s):
    for mode in ("000", "755", "777"):
        i = over(s, job(s, "own", f"place{mode}", f"chmod {mode} $HOME", group="mapped"))
        assert i["state"] == "Succ", (mode, told(s, i))
        i = over(s, job(s, "own", f"after{mode}", "stat -c %a $HOME", group="mapped"))
        assert i["state"] == "Succ" and said(s, i) == ["700"], (mode, said(s, i), told(s, i))


@test
def a_line_that_names_a_user_of_the_system_holds_back_its_project_alone(s):
    tasks = [job(s, "other", f"sys{n}", WHO, group="mapped") for n in range(4)]
    i = over(s, job(s, "lined", "besidesys", WHO, group="mapped"))
    assert i["state"] == "Succ", told(s, i)
    for task in tasks:
        until("why says it", lambda task=task: any("project other has no user on b1" in str(s.get(f"/api/v1/instances/{i['id']}/why"))
                                                   for i in s.instances(task)), 60)
    b = next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == "b1")
    assert next(t["starts"] for t in b["types"] if t["type"] == "shell") == "", b


@test
def others_start_there_at_once_while_one_has_no_user(s):
    tasks = [job(s, "stray", f"more{n}", WHO, group="listed") for n in range(4)]
    i = over(s, job(s, "stray", "beside", WHO, run_as="nobody", group="listed"))
    assert i["state"] == "Succ", i
    assert not s.base.has(r"broker\.starts broker=listed"), s.base.tail()
    s.add_broker("second", types=("shell:8",), groups="listed", job_uids=f"{FIRST}-{LAST}")
    for task in tasks:
        assert over(s, task)["state"] == "Succ", task


# --- the map: lines, and numbers of its own

@test
def a_task_without_run_as_is_its_projects_user(s):
    i = over(s, job(s, "lined", "plain", WHO))
    assert i["state"] == "Succ" and said(s, i) == ["65534", "65534"], (i, told(s, i))
    i = over(s, job(s, "lined", "named", WHO, run_as="nobody"))
    assert i["state"] == "Succ" and said(s, i) == ["65534", "65534"], (i, told(s, i))


@test
def projects_without_a_line_get_a_number_each_and_keep_it(s):
    seen = {}
    for n, project in enumerate(("one", "two", "one", "two")):
        i = over(s, job(s, project, f"who{n}", WHO))
        assert i["state"] == "Succ", (i, told(s, i))
        uid = said(s, i)
        assert uid[0] == uid[1] and len(uid) == 2 and FIRST <= int(uid[0]) <= LAST, uid
        assert seen.setdefault(project, uid) == uid, (seen, uid)
    assert seen["one"] != seen["two"], seen
    s.brokers["b1"].restart()
    i = over(s, job(s, "two", "again", WHO))
    assert said(s, i) == seen["two"], (seen, told(s, i))
    kept = (s.dir / "b1" / "job_uids").read_text()
    assert f"{seen['one'][0]} one\n" in kept and f"{seen['two'][0]} two\n" in kept, kept


@test
def a_user_of_another_project_is_refused_with_the_place_and_the_remedy(s):
    i = over(s, job(s, "one", "theirs", WHO, run_as="nobody"))
    assert i["state"] == "StopSchedule", i
    text = told(s, i)
    assert "project one may not run jobs as nobody" in text and str(s.map) in text, text
    for n, user in enumerate((f"#{FIRST + 1}", f"{FIRST + 1}", "0", "#0", "root", "-1")):  # a parameter of its type: any text
        i = over(s, job(s, "one", f"number{n}", WHO, params={"user": f"'{user}'"}))
        assert i["state"] == "StopSchedule" and "may not run jobs as" in told(s, i), (user, i, told(s, i))


@test
def where_all_numbers_are_given_a_project_waits_and_why_says_so(s):
    kept = s.dir / "b1" / "job_uids"
    text = kept.read_text()
    kept.write_text(text + "".join(f"{n} gone{n}\n" for n in range(FIRST, LAST + 1)))
    task = job(s, "three", "late", WHO)
    until("it is told", lambda: s.instance(task, AT) and "are given" in told(s, s.instance(task, AT)), 60)
    assert s.instance(task, AT)["state"] not in ENDS
    kept.write_text(text)
    i = over(s, task)
    assert i["state"] == "Succ" and FIRST <= int(said(s, i)[0]) <= LAST, (i, told(s, i))


@test
def a_line_that_does_not_read_starts_nothing_and_names_itself(s):
    text = s.map.read_text()
    for wrong, word in (("lined nobody\n", ":3:"), ("lined:\n", ":3:"), ("lined: '#0'\n", ":3:"), ("lined: nobody\nlined: nobody\n", ":4:"),
                        ("two words: nobody\n", ":3:"), ("*: nobody\n", ":3:"), ("77th: nobody\n\n", ":3:")):
        s.map.write_text("# users\n\n" + wrong)
        task = job(s, "lined", f"wrong{len(wrong)}", WHO)
        until(f"{wrong!r} is told", lambda task=task, word=word: s.instance(task, AT) and
              f"{s.map}{word}" in told(s, s.instance(task, AT)), 60)
        assert s.instance(task, AT)["state"] not in ENDS
        s.map.write_text(text)
        assert over(s, task)["state"] == "Succ"
    s.map.chmod(0o666)
    task = job(s, "lined", "open", WHO)
    until("its mode is told", lambda: s.instance(task, AT) and "anyone may write" in told(s, s.instance(task, AT)), 60)
    s.map.chmod(0o644)
    assert over(s, task)["state"] == "Succ"


@test
def a_job_has_a_place_that_no_other_project_can_look_into(s):
    script = "pwd; stat -c %u:%a . \"$TMPDIR\"; ls ../* >/dev/null 2>&1 || echo closed\necho mine >left; env"
    i = over(s, job(s, "one", "place", script))
    words = said(s, i)
    uid = words[0].rsplit("/", 1)[1]
    assert i["state"] == "Succ" and words[1:4] == [f"{uid}:700", f"{uid}:700", "closed"], (i, words)
    assert f"USER={uid}" in words and f"HOME={words[0]}" in words and not [w for w in words if w.startswith("SUDO_")], words


PROGRAMS = """set -e
python3 - <<'END'
import mmap, multiprocessing, os, sqlite3, subprocess, tempfile, threading
os.setuid(os.getuid()), os.setresgid(*os.getresgid())
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
with multiprocessing.Pool(2) as pool:
    assert pool.map(abs, (-1, -2)) == [1, 2]
assert sqlite3.connect("x.db").execute("select 7").fetchone() == (7,)
assert subprocess.check_output(["sh", "-c", "echo $((3 * 4))"]) == b"12\\n"
mmap.mmap(-1, 1 << 16).close(), tempfile.TemporaryFile().close()
END
if command -v java >/dev/null; then java -Xmx64m -version 2>&1; fi
sort /etc/passwd | tar -cf x.tar x.db && tar -tf x.tar
echo all well"""


@test
def ordinary_programs_go_on_under_the_filters_of_a_job(s):
    i = over(s, job(s, "one", "programs", PROGRAMS))
    assert i["state"] == "Succ" and said(s, i)[-2:] == ["all", "well"], (said(s, i), s.log_of(i["id"], stream="stderr"))
    i = over(s, job(s, "one", "filters", "grep -E '^(Seccomp|NoNewPrivs|Groups):' /proc/self/status"))
    assert said(s, i)[:4] == ["Groups:", "NoNewPrivs:", "1", "Seccomp:"] and said(s, i)[4] == "2", said(s, i)


WARM = """import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
warm = b"import ctypes" in open("/proc/self/cmdline", "rb").read().split(b"\\0")[2]
def no(r):
    return r < 0 and ctypes.get_errno() == errno.EPERM
def child():
    pid = os.fork()
    if pid == 0:
        r = libc.unshare(0x10020000)  # NEWUSER, NEWNS
        os._exit(r == 0 and not no(libc.mount(b"none", b"/", b"tmpfs", 0, None)))
    return os.waitpid(pid, 0)[1] == 0
print(warm, os.getuid(), os.getgroups(), status["Seccomp"].strip(), status["NoNewPrivs"].strip(), status["CapBnd"].strip() != "",
      no(libc.syscall(250, 0, 0, 0)), no(libc.setresuid(0, 0, 0)), no(libc.setreuid(-1, -1)), child())"""


@test
def a_job_of_a_warm_interpreter_has_the_filters_of_every_job_and_so_has_that(s):
    """The interpreter is root there, and is no user of a job's."""
    if os.uname().machine != "x86_64":
        raise Skip("calls by number")
    i = over(s, job(s, "one", "warm", WARM, type="python"))
    assert i["state"] == "Succ", (told(s, i), s.log_of(i["id"], stream="stderr"))
    uid = said(s, i)[1]
    assert FIRST <= int(uid) <= LAST and said(s, i) == ["True", uid, "[]", "2", "1", "True", "True", "True", "True", "True"], said(s, i)
    for pid in [p for p in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_zygote_of(p, s)]:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            assert "Seccomp:\t2" in f.read(), pid


def is_zygote_of(pid, s):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read().split(b"\0")
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            parent = int(f.read().rsplit(")", 1)[1].split()[1])
        return len(words) > 2 and b"zygote.py" in words[2] and parent in s.pids("taskrunner-loader", "name=b1")
    except OSError:
        return False


# --- root without any of them

@test
def a_broker_of_root_says_whose_processes_jobs_are_or_does_not_begin(s):
    s.add_key("bare")
    sets = {k: v for k, v in s.broker_sets("bare", ("shell:1",)).items() if k != "jobs_as_root"}
    done = s.run(s.argv("taskbroker", sets), seconds=30)
    assert done.returncode == 78 and "job_uids" in done.stderr and "job_users_file" in done.stderr, done


@test
def a_machine_says_whether_it_separates_projects(s):
    def says():
        return {b["name"]: b["separates"] for b in s.get("/api/v1/brokers")["brokers"]}
    assert (says()["b1"], says()["listed"]) == ("yes", "no"), says()
    text = s.sirdar("broker", "list").stdout
    assert "listed: jobs there can read each other" in text and "b1: jobs" not in text, text


@test
def a_jobkeeper_without_a_launcher_is_not_talked_to_where_one_is_wanted(s):
    """Else the broker would say that it separates, and its jobs would be that jobkeeper's own user."""
    s.add_key("other")
    sets = {k: v for k, v in s.broker_sets("other", ("shell:1",), keeper_dir=s.dir / "b1").items() if k != "jobs_as_root"}
    d = s.brokers["other"] = Daemon(s, "other", s.argv("taskbroker", sets), r"broker\.keeper_down .*has no launcher")
    d.start()
    assert not d.has(r"broker\.keeper_up"), d.tail()
    d.stop()


@test
def a_jobkeepers_service_that_is_not_there_is_told_with_its_place_and_why(s):
    """It was not: the machine never came, and its log said nothing."""
    s.add_key("alone")
    sets = {k: v for k, v in s.broker_sets("alone", ("shell:1",), keeper_dir=s.dir / "nothing").items() if k != "jobs_as_root"}
    d = s.brokers["alone"] = Daemon(s, "alone", s.argv("taskbroker", sets), r"broker\.keeper_away dir=\S*/nothing: No such file")
    d.start()
    d.stop()


@test
def a_map_that_does_not_read_or_gives_two_projects_one_user_is_told_at_the_brokers_start(s):
    shared = s.dir / "shared-users"
    shared.write_text("# whose\none: nobody bin\n two : daemon bin\nthree: mail\n")
    wrong = s.dir / "wrong-users"
    wrong.write_text("one: nobody\ntwo\n")
    for at, (path, event, words) in enumerate((
            (s.dir / "no-such-map", "broker.users_unread", ("no-such-map", "wait")), (wrong, "broker.users_unread", ("wrong-users:2",)),
            (shared, "broker.users_shared", ("projects one and two", "bin")))):
        b = s.add_broker(f"told{at}", types=("shell:1",), groups=f"told{at}", job_users_file=path)
        line = next(x for x in b.text().splitlines() if event in x)
        assert all(w in line for w in words), line
        b.stop()
    assert "broker.users_" not in s.brokers["b1"].text(), "a map that is right is told of"


@test
def what_cannot_hold_together_is_refused_when_settings_are_read(s):
    argv = s.brokers["b1"].argv[0]
    for wrong, word in ((("jobs_as_root=true", "users=nobody"), "jobs_as_root"), (("job_uids=59000",), "job_uids"), (("keeper_dir=/x", "job_uids=59000-59001"), "keeper_dir"),
                        (("job_uids=999-2000",), "1000"), (("job_uids=5000-4000",), "job_uids"), (("users=root",), "root")):
        done = s.run([argv, *(w for x in wrong for w in ("--set", x)), "--check-config"])
        assert done.returncode == 78 and word in done.stderr, (wrong, done)


def make():
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")
    s = Site("users", infra_max=1000, start_pause_ms=50, start_pause_max_ms=400)
    s.base.start()
    s.start_cgi()
    s.map = s.dir / "users"
    s.map.write_text("# who runs what\nlined: nobody\nother: daemon\n")
    s.add_broker("b1", types=("shell:8", "python:2"), groups="mapped", job_users_file=s.map, job_uids=f"{FIRST}-{LAST}")
    s.add_broker("listed", types=("shell:8",), groups="listed", users="nobody,bin")
    return s


if __name__ == "__main__":
    sys.exit(main(make))
