#!/usr/bin/env python3
"""What the daemons trust on their machine, and what they leave there for others: a kernel that has
no clone3, files and directories of strangers, modes of what they write, words in a process list.
TAP."""
import os
import re
import shutil
import stat
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, RUNNERS, Daemon, Site, Skip, free_port, main, test, until  # noqa: E402
from without_call import CLONE3  # noqa: E402

AT = "2026-03-01T00:00:00Z"
WITHOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_call.py")


def job(s, name, script, **keys):
    text = f"workflow: {name}\nproject: trust\ntimezone: UTC\nstart_date: 2026-03-01\n" \
           f"end_date: 2026-03-01\ntasks:\n  t:\n    type: {keys.pop('type', 'shell')}\n    cycle: day\n" \
           "    catchup: {mode: all}\n"
    text += "".join(f"    {k}: {v}\n" for k, v in keys.items())
    text += "    params:\n      script: |\n" + "".join(f"        {line}\n" for line in script.splitlines())
    s.apply(text, **{"from": "2026-03-01"})
    return f"trust/{name}/t"


def said(s, name, script, **keys):
    """What it prints, once it is over and has succeeded."""
    i = s.wait_state(job(s, name, script, **keys), AT, ("Succ", "StopSchedule", "Killed", "Hanged"), 60)
    assert i["state"] == "Succ", (i, s.history(i["id"]))
    text = s.log_of(i["id"])
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def add_broker(s, name, before=(), types=("shell:4",), **sets):
    """A broker of a group of its own; `before`: words before its program."""
    s.add_key(name)
    sets = s.broker_sets(name, types, groups=name, **sets)
    argv = s.argv("taskbroker", sets)
    d = s.brokers[name] = Daemon(s, name, [*before, *argv], r"broker\.keeper_up")
    return d.start()


# --- a kernel without clone3

SHAPE = """umask; ulimit -c; ls /proc/self/fd | wc -l; id -u
grep -E '^(Sig(Blk|Ign|Cgt)|NoNewPrivs|Groups)' /proc/self/status
read -r pid name state parent group session rest </proc/self/stat
[ "$pid" = "$session" ] && echo its own session
sed 's/[0-9a-f]\\{16\\}/TOKEN/' /proc/self/cgroup
"""


def brokers_with_and_without(s):
    if "b-without" in s.brokers:
        return
    sets = s.job_users(trust="nobody")
    add_broker(s, "b-with", **sets)
    add_broker(s, "b-without", [sys.executable, WITHOUT, CLONE3], **sets)
    for name in ("b-with", "b-without"):
        s.wait_broker(name, ["shell"])


def where_clone3_is_unknown_a_job_runs_in_the_same_shape(s, name, **keys):
    brokers_with_and_without(s)
    kinds = {n: s.brokers[n].has(r"keeper\.ready.* cgroup=(\S+)")[1] for n in ("b-with", "b-without")}
    assert [bool(re.match("off", k)) for k in kinds.values()] in ([True] * 2, [False] * 2), kinds
    shapes = [said(s, f"{name}-{w}", SHAPE, group=f"b-{w}", **keys).replace(f"b-{w}", "BROKER")
              for w in ("with", "without")]
    # The two keepers have a group each, and jobs in it.
    shapes = [re.sub(r"keeper-[^/\n]*|sirdar-[^/\n]*", "KEEPER", t) for t in shapes]
    assert shapes[0] == shapes[1] and "its own session" in shapes[0], shapes


@test
def where_the_kernel_knows_no_clone3_a_job_starts_in_the_same_shape(s):
    where_clone3_is_unknown_a_job_runs_in_the_same_shape(s, "own")


@test
def where_the_kernel_knows_no_clone3_a_job_of_another_user_starts_in_the_same_shape(s):
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")
    where_clone3_is_unknown_a_job_runs_in_the_same_shape(s, "other", run_as="nobody")


@test
def where_the_kernel_knows_no_clone3_a_program_that_is_not_there_is_told_as_such(s):
    brokers_with_and_without(s)
    s.apply("workflow: none\nproject: trust\ntimezone: UTC\nstart_date: 2026-03-01\n"
            "end_date: 2026-03-01\ntasks:\n  t:\n    type: shell\n    cycle: day\n"
            "    catchup: {mode: all}\n    group: b-without\n    retry: {attempts: 1}\n"
            "    params: {argv: [/nonexistent/program]}\n", **{"from": "2026-03-01"})
    i = s.wait_state("trust/none/t", AT, ("Succ", "StopSchedule", "Hanged"), 60)
    assert "/nonexistent/program" in str(s.history(i["id"])), s.history(i["id"])


# --- plugins, and what else decides what a daemon does

STRANGER = 65534


def plugins(s, name):
    """A directory of plugins with `noop` in it, below one of its own."""
    d = s.dir / f"lib-{name}" / "runners"
    d.mkdir(parents=True)
    shutil.copy(RUNNERS / "noop.so", d / "noop.so")
    return d


def broker_row(s, name):
    return next((b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == name), None)


def refused(s, name, runners, *words, kind="noop"):
    """The type is refused on that broker; the list of brokers says why, with all the words."""
    add_broker(s, name, types=(f"{kind}:1",), runners_dir=runners)

    def look():
        row = broker_row(s, name)
        return row and next((t for t in row["types"] if t["type"] == kind and t["state"] == "refused"), None)
    text = str(until(f"{name} refuses {kind}", look))
    assert all(w in text for w in words), (words, text)
    listed = s.sirdar("broker", "list").stdout
    assert words[0] in listed, listed
    i = s.wait_state(job(s, f"why-{name}", "true", group=name, type=kind), AT, "DependenceFinish")
    why = until("it says why", lambda: s.get(f"/api/v1/instances/{i['id']}/why"))
    assert words[0] in str(why), why
    s.brokers[name].stop()


@test
def a_plugin_that_others_may_write_is_refused_and_the_broker_list_says_why(s):
    d = plugins(s, "written")
    add_broker(s, "p-good", types=("noop:1",), runners_dir=d)
    s.wait_broker("p-good", ["noop"])
    (d / "noop.so").chmod(0o777)
    refused(s, "p-file", d, str(d / "noop.so"), "anyone may write this file", "chmod go-w")
    (d / "noop.so").chmod(0o755)
    d.chmod(0o777)
    refused(s, "p-dir", d, f"{d}:", "anyone may write this directory", "chmod go-w")
    d.chmod(0o755)
    d.parent.chmod(0o777)
    refused(s, "p-above", d, f"{d.parent}:", "anyone may write this directory")
    d.parent.chmod(0o1777)
    add_broker(s, "p-sticky", types=("noop:1",), runners_dir=d)
    s.wait_broker("p-sticky", ["noop"])


@test
def a_plugin_of_a_stranger_or_behind_a_strangers_link_is_refused(s):
    if os.geteuid() != 0:
        raise Skip("needs root: files of other users")
    d = plugins(s, "strange")
    os.chown(d / "noop.so", STRANGER, 0)
    refused(s, "p-strange", d, str(d / "noop.so"), "belongs to user 65534", "chown root")
    os.chown(d / "noop.so", 0, 0)
    (d / "noop.so").chmod(0o775)
    refused(s, "p-group", d, str(d / "noop.so"), "group 0 may write this file", "chmod g-w")
    elsewhere = plugins(s, "elsewhere")
    elsewhere.parent.chmod(0o777)
    (d / "noop.so").unlink()
    (d / "noop.so").symlink_to(elsewhere / "noop.so")
    refused(s, "p-link", d, f"{elsewhere.parent}:", "anyone may write this directory")
    elsewhere.parent.chmod(0o755)
    os.chown(d / "noop.so", STRANGER, 0, follow_symlinks=False)
    refused(s, "p-link2", d, str(d / "noop.so"), "this link belongs to user 65534")


@test
def a_manifest_and_a_guests_program_are_judged_like_plugins(s):
    d = plugins(s, "guest")
    shutil.copy(RUNNERS / "foreign.so", d / "foreign.so")
    (d / "odd.py").write_text("pass\n")
    (d / "odd.yaml").write_text("type: odd\nrunner: foreign\nguest:\n  command: [python3, odd.py]\n")
    (d / "odd.yaml").chmod(0o666)
    refused(s, "g-manifest", d, str(d / "odd.yaml"), "anyone may write this file", kind="odd")
    (d / "odd.yaml").chmod(0o644)
    (d / "odd.py").chmod(0o666)
    refused(s, "g-program", d, str(d / "odd.py"), "anyone may write this file", kind="odd")


@test
def settings_and_secrets_in_a_place_of_others_are_refused_at_start(s):
    d = s.dir / "etc"
    d.mkdir()
    (d / "c.yaml").write_text("log_level: info\n")
    shutil.copy(s.dir / "keys", d / "keys")
    (d / "keys").chmod(0o600)

    def says(*argv):
        done = s.run([BIN / "baseserver", *argv])
        assert done.returncode != 0, done
        return done.stderr + done.stdout
    (d / "c.yaml").chmod(0o666)
    text = says("-c", d / "c.yaml")
    assert str(d / "c.yaml") in text and "anyone may write this file" in text, text
    (d / "c.yaml").chmod(0o644)
    d.chmod(0o777)
    text = says("-c", d / "c.yaml")
    assert f"{d}:" in text and "chmod go-w" in text, text
    sets = {**s.base_sets, "state_dir": s.dir / "other", "keys_file": d / "keys",
            "listen": f"127.0.0.1:{free_port()}"}
    text = says(*s.argv("baseserver", sets)[1:])
    assert f"{d}:" in text and "anyone may write this directory" in text, text


# --- what is left for others to read

def open_to_others(root, except_=()):
    """What below root others than the owner may use, as MODE PATH."""
    found = []
    for folder, _, files in os.walk(root):
        for path in [Path(folder), *(Path(folder) / f for f in files)]:
            st = path.lstat()
            if st.st_mode & 0o077 and not stat.S_ISLNK(st.st_mode) and path.name not in except_:
                found.append(f"{st.st_mode & 0o7777:04o} {path.relative_to(root.parent)}")
    return found


@test
def whatever_the_umask_nobody_else_may_use_what_the_daemons_keep(_):
    old = os.umask(0)
    s = Site("umask")
    try:
        s.add_key("bell", "notifier")
        s.start()
        (s.dir / "channels.yaml").touch(0o600)
        (s.dir / "channels.yaml").write_text("channels: {}\n")
        sets = {"server": f"127.0.0.1:{s.port}", "store": f"sqlite:{s.dir}/base", "name": "bell",
                "key_file": s.dir / "bell.key", "state_dir": s.dir / "bell",
                "channels_file": s.dir / "channels.yaml"}
        bell = s.brokers["bell"] = Daemon(s, "sirdar-notifier", s.argv("sirdar-notifier", sets), r"ready|up")
        bell.start()
        hold = s.dir / "hold"
        task = job(s, "mask", f"echo out; umask; while [ ! -e {hold} ]; do sleep 0.05; done",)
        i = s.wait_state(task, AT, "Running")
        until("its output is there", lambda: list((s.dir / "b1" / "logs").iterdir()))
        roots = [s.dir / d for d in ("base", "b1", "cgi", "bell", "joblogs")]
        assert all(r.is_dir() for r in roots), roots
        found = [f for r in roots for f in open_to_others(r)]
        hold.touch()
        s.wait_state(task, AT, "Succ")
        until("its log has come", lambda: "out" in str(s.log_of(i["id"])))
        found += [f for r in roots for f in open_to_others(r)]
        assert not found, found
        for name in ("sirdar.db", "sirdar.db-wal", "sirdar.db-shm"):
            if (s.dir / "base" / name).exists():
                (s.dir / "base" / name).chmod(0o644)
        (s.dir / "base").chmod(0o755)
        s.base.restart(hard=True)
        found = open_to_others(s.dir / "base")
        assert not found and s.base.has("state.closed.* mode=0755"), (found, s.base.tail())
        s.base.stop()
        copy = s.run([BIN / "sirdar-db", "copy", f"sqlite:{s.dir}/base", f"sqlite:{s.dir}/copied"])
        found = open_to_others(s.dir / "copied")
        assert copy.returncode == 0 and not found, (found, copy)
    finally:
        os.umask(old)
        s.close()


@test
def the_text_of_a_script_stands_in_no_process_list(s):
    brokers_with_and_without(s)
    hold, word = s.dir / "data" / "hold-words", "word" + os.urandom(8).hex()
    for name, lead in (("plain", ""), ("bang", "#!/bin/sh\n")):
        task = job(s, f"words-{name}", f"{lead}w={word}\ntouch {hold}-{name}-runs\nwhile [ ! -e {hold}-{name} ]; do sleep 0.05; done\n"
                   "exit 0", group="b-with")
        until("it runs", Path(f"{hold}-{name}-runs").exists)
        seen = []
        for p in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen += [p] if word.encode() in p.read_bytes() else []
            except OSError:
                pass
        Path(f"{hold}-{name}").touch()
        s.wait_state(task, AT, "Succ")
        assert not seen, seen


def site():
    s = Site("trust")
    s.base.start()
    s.start_cgi()
    return s


if __name__ == "__main__":
    sys.exit(main(site))
