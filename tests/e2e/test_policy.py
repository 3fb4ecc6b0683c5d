#!/usr/bin/env python3
"""What a machine lets jobs do: users, limits, mask, rates; what they say by lines; settings
that are taken over while all runs. TAP."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, Skip, main, test, until  # noqa: E402

AT = "2026-03-01T00:00:00Z"
USER = "nobody"


def job(s, name, what, **keys):
    text = f"workflow: {name}\nproject: policy\ntimezone: UTC\nstart_date: 2026-03-01\n" \
           f"end_date: 2026-03-01\ntasks:\n  t:\n    type: shell\n    cycle: day\n" \
           f"    catchup: {{mode: all}}\n"
    text += "".join(f"    {k}: {v}\n" for k, v in keys.items() if k != "params")
    text += "    params:\n" + keys.get("params", "") + "      script: |\n"
    text += "".join(f"        {line}\n" for line in what.splitlines())
    s.apply(text, **{"from": "2026-03-01"})
    return f"policy/{name}/t"


def over(s, task, seconds=60):
    return s.wait_state(task, AT, ("Succ", "StopSchedule", "Killed", "Hanged"), seconds)


def said(s, i, **args):
    try:
        text = s.log_of(i["id"], **args)
    except AssertionError as why:
        if "404" in str(why):
            return ""  # it said nothing
        raise
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def result(s, name, what, **keys):
    i = over(s, job(s, name, what, **keys))
    # Files of output go once the server has them.
    until("its output is shipped", lambda: not os.listdir(s.dir / i["broker"] / "logs"))
    return i, said(s, i)


def reload(s, **sets):
    """New settings for the broker b1, whose settings are in a file."""
    s.file.write_text("".join(f"{k}: {v}\n" for k, v in sets.items()))
    b = s.brokers["b1"]
    mark = len(b.text())
    b.proc.send_signal(signal.SIGHUP)
    until("all have taken it over", lambda: all(
        w in b.text()[mark:] for w in ("broker.reload", "loader.reload", "keeper.settings")))


def as_root():
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")


@test
def a_job_of_another_user_reads_its_files_and_nothing_of_ours(s):
    as_root()
    pad = "#" + "x" * 125000  # a script so long that it goes through a file
    i, text = result(s, "other", f"{pad}\nid -un; stat -c %U:%a $SIRDAR_FILES/script\n"
                     f"ls $SIRDAR_FILES/.. || echo closed; ls {s.dir}/b1 || echo private\n"
                     "grep NoNewPrivs /proc/self/status", run_as=USER)
    words = text.split()
    assert i["state"] == "Succ" and words[:4] == [USER, f"{USER}:400", "closed", "private"], (i, text)
    assert words[-1] == "1", text
    until("its files are gone", lambda: not os.listdir(s.dir / "b1-files"))


@test
def users_that_are_not_allowed_are_refused_with_the_reason(s):
    as_root()
    i = over(s, job(s, "bin", "id", run_as="bin"))  # in the list, but one of the system's
    assert (i["state"], i["exit_code"]) == ("StopSchedule", 126), i
    assert "never as root" in str(s.history(i["id"])), s.history(i["id"])
    i = over(s, job(s, "daemon", "id", run_as="daemon"))
    assert i["state"] == "StopSchedule" and "policy" in str(s.history(i["id"])), s.history(i["id"])


@test
def root_among_the_users_and_a_wrong_mask_are_refused_by_the_broker(s):
    for wrong, word in (("users=a,root", "root"), ("job_umask=99", "octal"), ("job_umask=1777", "octal"),
                        ("cgroup=here", "absolute")):
        done = s.run([s.brokers["b1"].argv[0], "--set", wrong, "--check-config"])
        assert done.returncode == 78 and word in done.stderr, (wrong, done)


@test
def limits_mask_and_environment_are_the_machines(s):
    reload(s, job_files_max=77, job_file_max_bytes=8192, job_umask="027")
    i, text = result(s, "limits", "ulimit -n; ulimit -c; umask; env | grep -c -i notify_socket\n"
                     "grep NoNewPrivs /proc/self/status | tr -d '[:space:]'; echo\n"
                     "(head -c 20000 /dev/zero > big) 2>/dev/null; stat -c %s:%a big; rm big")
    assert text.split() == ["77", "0", "0027", "0", "NoNewPrivs:1", "8192:640"], text
    reload(s, new_privileges="true")
    asked = "ulimit -n; umask; grep NoNewPrivs /proc/self/status | tr -d '[:space:]'"
    i, text = result(s, "limits2", asked, group="default")
    # Another user than the broker's never gains anything.
    assert text.split()[1:] == ["0022", f"NoNewPrivs:{int(os.geteuid() == 0)}"] and text.split()[0] != "77", text
    s.add_broker("own", ("shell:2",), groups="own", new_privileges="true")
    i, text = result(s, "limits3", asked, group="own")
    assert text.split()[1:] == ["0022", "NoNewPrivs:0"], text
    s.brokers["own"].stop()


def held(s, what):
    """Does the jobkeeper say that a controller of this host is ours?"""
    text = s.brokers["b1"].text()
    if f"{what}=" not in text or f"{what}=0" in text:
        raise Skip(f"this host gives us no cgroup controller {what}")


@test
def a_fork_bomb_hits_its_own_ceiling_and_nobody_else(s):
    held(s, "pids")
    reload(s, job_processes_max=40)
    up = s.dir / "data/up"
    task = job(s, "bomb", f"touch {up}; bomb() {{ bomb | bomb & wait; }}; bomb 2>/dev/null & exec sleep 600")
    other = over(s, job(s, "beside", "for i in 1 2 3 4 5; do sh -c 'echo $$$$'; done; nproc"))
    assert other["state"] == "Succ"
    until("it runs", lambda: up.exists())
    up.unlink()
    s.sirdar("kill", task, "2026-03-01", "--yes")
    assert over(s, task)["state"] == "Killed"
    reload(s, job_processes_max=0)
    i, text = result(s, "many", "n=0; for i in $(seq 60); do sleep 5 & n=$((n + 1)); done; echo $n")
    assert i["state"] == "Succ" and text.split() == ["60"], (i, text)


@test
def a_job_past_its_memory_is_ended_and_says_so(s):
    held(s, "memory")
    reload(s, job_memory_max_bytes="64M")
    i, text = result(s, "memory", "exec python3 -c 'b = bytearray(300 << 20); print(len(b))'")
    assert i["state"] == "StopSchedule" and i["exit_code"] == -9, (i, text)
    assert "memory" in str(s.history(i["id"])).lower() or "oom" in str(s.history(i["id"])).lower(), \
        s.history(i["id"])
    # A child of the shell: its status is the shell's word, the counters of the group are the kernel's.
    big = "python3 -c 'b = bytearray(300 << 20); print(len(b))'"
    for name, script, code in (("memory3", f"{big}; exit $?", 137), ("memory4", f"{big} || exit 7", 7)):
        i, text = result(s, name, script)
        assert (i["state"], i["exit_code"], i["reason"]) == ("StopSchedule", code, "oom"), (i, text)
    i, text = result(s, "memory5", f"{big} || echo went on")
    assert i["state"] == "Succ" and "went on" in text, (i, text)
    for n in range(8):  # in groups that were used before
        i, text = result(s, f"after{n}", "exit 137")
        assert (i["exit_code"], i["reason"]) == (137, "exit"), (i, text)
    i, text = result(s, "memory2", "exec python3 -c 'b = bytearray(10 << 20); print(len(b))'")
    assert i["state"] == "Succ", i
    reload(s)


@test
def a_job_gets_no_more_processor_than_it_may(s):
    held(s, "cpu")
    reload(s, job_cpu_percent_max=20)
    spin = "exec python3 -c 'import time\nt=time.monotonic()\n" \
           "while time.monotonic()-t<2: pass\nprint(time.process_time())'"
    i, text = result(s, "cpu", spin)
    assert i["state"] == "Succ" and float(text) < 1.0, text
    reload(s)


@test
def what_comes_faster_than_the_rate_is_dropped_with_a_mark(s):
    reload(s, output_rate_max_bytes=100000)
    i, text = result(s, "fast", "head -c 5000000 /dev/zero | tr '\\0' x; sleep 1.2; echo; echo last words")
    assert i["state"] == "Succ", i
    assert "bytes were dropped, more than 100000 bytes a second]" in text, text[-300:]
    assert text.endswith("last words\n") and 100000 <= text.count("x") < 2000000, (len(text), text[-100:])
    reload(s)
    i, text = result(s, "fast2", "head -c 5000000 /dev/zero | tr '\\0' x")
    tail = said(s, i, offset=4999990, bytes=100)
    assert tail == "x" * 10, tail


@test
def progress_and_outputs_are_lines_of_any_process_wherever_they_stand(s):
    hold = s.dir / "data/hold"
    task = job(s, "lines", "echo sirdar:output first=1; echo sirdar:output twice=a\n"
               "printf 'sirdar:pro'; sleep 0.3; printf 'gress 40.5 %% of it\\n'; echo sirdar:progress much\n"
               f"while [ ! -e {hold} ]; do sleep 0.05; done\n"
               "head -c 300000 /dev/zero | tr '\\0' y; echo; echo ::output twice=b; printf 'sirdar:output last=z'",
               outputs="[first, twice, last]")
    until("a wrong one is told", lambda: s.brokers["b1"].has(r"line_refused.*much"))
    hold.touch()
    i = over(s, task)
    assert i["state"] == "Succ", i
    one = s.get(f"/api/v1/instances/{i['id']}")
    assert one["outputs"] == {"first": "1", "twice": "b", "last": "z"}, one

@test
def settings_that_need_a_restart_are_named(s):
    b = s.brokers["b1"]
    mark = len(b.text())
    reload(s, loader_alone_ms=70000)
    assert b.text()[mark:].count('need_restart="loader_alone_ms"') == 2, b.text()[mark:]
    reload(s)


@test
def a_broker_of_new_groups_greets_anew_and_its_jobs_run_on(s):
    hold = s.dir / "data/group-hold"
    task = job(s, "stays", f"while [ ! -e {hold} ]; do sleep 0.05; done; exit 3")
    s.wait_state(task, AT, ("Running",))
    reload(s, groups="[default, late]")
    i, _ = result(s, "late", "echo here", group="late")
    assert i["state"] == "Succ"
    hold.touch()
    i = over(s, task)
    assert (i["state"], i["exit_code"]) == ("StopSchedule", 3), i
    reload(s)


@test
def the_cgi_takes_over_what_it_may_and_names_the_rest(s):
    s.cgi_file.write_text("page_rows_max: 2\ntimezone: Asia/Shanghai\n")
    s.cgi.proc.send_signal(signal.SIGHUP)
    until("it is taken over", lambda: s.cgi.has(r'reload.done.*settings=1 need_restart="timezone"'))
    assert s.ask("GET", "/api/v1/instances?limit=3")[0] == 400
    assert s.ask("GET", "/api/v1/instances?limit=2")[0] == 200
    s.cgi_file.write_text("page_rows_max: nonsense\n")
    s.cgi.proc.send_signal(signal.SIGHUP)
    until("it is refused", lambda: s.cgi.has(r"reload.settings.*page_rows_max"))
    s.cgi_file.write_text("")
    s.cgi.proc.send_signal(signal.SIGHUP)
    until("it is as before", lambda: s.ask("GET", "/api/v1/instances?limit=3")[0] == 200)


@test
def the_default_place_of_files_is_reachable_too(s):
    as_root()
    s.add_broker("b2", ("shell:2",), groups="second", files_dir="", **s.job_users(policy=USER))
    st = os.stat(s.dir / "b2")
    place = f"/run/sirdar/files-{st.st_dev:x}-{st.st_ino:x}"
    try:
        i, text = result(s, "place", "#" + "x" * 125000 + "\necho read $SIRDAR_FILES", run_as=USER,
                         group="second")
        assert i["state"] == "Succ" and text.startswith(f"read {place}/"), (i, text)
    finally:
        s.brokers["b2"].kill()
        for pid in s.pids("taskrunner-loader", "b2") + s.pids("jobkeeper", "b2"):
            os.kill(pid, signal.SIGKILL)
        until("it can go", lambda: not os.path.isdir(place) or not os.listdir(place))
        os.rmdir(place)


def site():
    s = Site("policy")
    s.file = s.dir / "b1.yaml"
    s.file.write_text("")
    s.cgi_file = s.dir / "cgi.yaml"
    s.cgi_file.write_text("")
    s.cgi.argv[1:1] = ["-c", s.cgi_file]
    s.base.start()
    s.start_cgi()
    s.add_key("b1")
    from harness import Daemon
    sets = s.broker_sets("b1", ("shell:8",), **s.job_users(policy=f"{USER} bin"))
    argv = s.argv("taskbroker", sets)
    s.brokers["b1"] = Daemon(s, "b1", [argv[0], "-c", s.file, *argv[1:]], r"broker\.keeper_up")
    s.brokers["b1"].start()
    s.wait_broker("b1", ["shell"])
    return s


if __name__ == "__main__":
    sys.exit(main(site))
