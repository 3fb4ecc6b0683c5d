#!/usr/bin/env python3
"""A zoo of bad plugins (tests/plugins/zoo.c): only the guilty job or its loader suffers, the reason is shown,
three crashes or hangs are a quarantine. Bad jobs of good plugins: test_nasty.py, test_policy.py. TAP."""
import os
import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, RUNNERS, Site, gone, main, rss_kb, test, until  # noqa: E402

AT = "2026-03-01T00:00:00Z"
PLUGINS = BIN.parent / "test" / "plugins"
OVER = ("Succ", "StopSchedule", "Killed", "Hanged")


def zoo_site():
    s = Site("zoo")
    s.runners = s.dir / "runners"
    s.runners.mkdir()
    for so in ("noop.so", "shell.so"):
        shutil.copy(RUNNERS / so, s.runners)
    for name in ("zoo", "quarry"):
        install(s, "zoo", name)
    s.start(("noop:8", "shell:4", "zoo:8"), runners_dir=s.runners, loader_call_ms=2000)
    s.add_broker("b2", ("quarry:4",), runners_dir=s.runners, loader_call_ms=2000, loader_crash_max=3)
    return s


def install(s, plugin, name):
    part = s.runners / f".{name}.new"
    shutil.copy(PLUGINS / f"{plugin}.so", part)
    part.chmod(0o644)
    part.rename(s.runners / f"{name}.so")


def job(s, what, kind="zoo", **keys):
    """One instance of one task that does `what`."""
    s.count = getattr(s, "count", 0) + 1
    name = f"{kind}{s.count}"
    key = "script" if kind == "shell" else "do"
    params = f"{{{key}: '{what}'}}" if what else "{}"
    more = "".join(f", {k}: {v}" for k, v in keys.items())
    s.apply(f"workflow: {name}\nproject: zoo\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\n"
            f"tasks:\n  t: {{type: {kind}, cycle: day, catchup: {{mode: all}}, params: {params}{more}}}\n",
            **{"from": "2026-03-01"})
    return f"zoo/{name}/t"


def ended(s, task, seconds=60):
    return s.wait_state(task, AT, OVER, seconds)


def has_logged(s, i, words):
    try:
        return words in str(s.log_of(i["id"]))
    except AssertionError:  # nothing yet
        return False


def inside(s, what):
    """A job of which execute() has been entered."""
    task = job(s, what)
    i = s.wait_state(task, AT, ("Running",), 60)
    until("execute() runs", lambda: has_logged(s, i, "inside"))
    return task


def others_run(s):
    for kind in ("noop", "shell"):
        assert ended(s, job(s, "" if kind == "noop" else "echo fine", kind))["state"] == "Succ"


def zoo_works(s):
    assert ended(s, job(s, "nothing"))["state"] == "Succ"


def loader(s, kind):
    pids = [p for p in s.pids("taskrunner-loader")
            if f"\0--type\0{kind}\0" in Path(f"/proc/{p}/cmdline").read_text()]
    return pids[0] if pids else None


def shown(s, kind):
    return s.sirdar("type", "show", kind, expect=None).stdout


def crashes(s, what, words):
    """The job takes its loader down: it is lost (and held, so that it crashes one only); `words` say why."""
    noop, mark = loader(s, "noop"), len(s.brokers["b1"].text())
    task = job(s, what, on_lost="hold")
    i = s.wait_state(task, AT, ("Hanged",), 60)
    until(f"the broker says: {words}", lambda: words in s.brokers["b1"].text()[mark:])
    s.sirdar("declare-dead", task, "2026-03-01", "--yes")
    zoo_works(s)
    others_run(s)
    assert loader(s, "noop") == noop, "another type's loader was started anew"


@test
def a_segfault_takes_its_own_loader_only_and_is_named(s):
    crashes(s, "segv", "ended by signal 11 (SIGSEGV)")


@test
def an_abort_takes_its_own_loader_only_and_is_named(s):
    crashes(s, "abort", "ended by signal 6 (SIGABRT)")


@test
def an_exit_in_a_plugin_is_a_crash_too(s):
    crashes(s, "exit", "exit 3, which nobody asked for")


@test
def a_plugin_that_closes_every_descriptor_loses_its_own_loader_only(s):
    was = loader(s, "zoo")
    task = job(s, "close", on_lost="hold")
    until("its loader is gone", lambda: gone(was), 60)
    s.wait_state(task, AT, ("Hanged",), 60)
    s.sirdar("declare-dead", task, "2026-03-01", "--yes")
    zoo_works(s)
    others_run(s)


@test
def a_kill_that_hangs_ends_the_loader_with_the_reason_and_the_others_go_on(s):
    task = inside(s, "hang_kill")
    s.sirdar("kill", task, "2026-03-01", "--yes", "--grace-ms", "100")
    i = ended(s, task)
    assert i["state"] in ("Killed", "Hanged"), i
    until("the broker says it", lambda: s.brokers["b1"].has(r"kill\(\) did not come back within 2000 ms"), 60)
    i = s.wait_state(task, AT, ("Killed",), 60)
    zoo_works(s)
    others_run(s)


@test
def a_job_told_to_stop_while_it_is_prepared_is_not_executed(s):
    task = job(s, "prepare_long")
    i = s.wait_state(task, AT, ("Running",), 60)
    until("prepare() runs", lambda: has_logged(s, i, "preparing"), 60)
    s.sirdar("kill", task, "2026-03-01", "--yes", "--grace-ms", "600000")
    i = ended(s, task)
    assert i["state"] == "Killed" and not has_logged(s, i, "inside"), i
    zoo_works(s)


@test
def a_job_that_hangs_is_hanged_and_its_declared_death_ends_the_loader(s):
    task = inside(s, "hang")
    s.sirdar("kill", task, "2026-03-01", "--yes", "--grace-ms", "100")
    s.wait_state(task, AT, ("Hanged",), 60)
    zoo_works(s)  # beside it, in the same loader
    was = loader(s, "zoo")
    s.sirdar("declare-dead", task, "2026-03-01", "--yes")
    s.wait_state(task, AT, ("Killed",), 60)
    until("the loader ended", lambda: gone(was), 90)
    until("the broker says it", lambda: s.brokers["b1"].has("the runner did not stop zoo/.* when it was told to"))
    zoo_works(s)
    others_run(s)


@test
def threads_late_writes_and_leaks_harm_nobody_else(s):
    for what in ("thread", "late_write", "late_log", "leak", "descriptor", "fork"):
        assert ended(s, job(s, what))["state"] in OVER
    was = loader(s, "zoo")
    os.kill(was, signal.SIGKILL)  # what writes late may hit the next job of the same plugin
    until("it is gone", lambda: gone(was))
    zoo_works(s)
    others_run(s)


@test
def wrong_answers_are_the_jobs_failure_with_a_text(s):
    for what, words in (("lie", "started no process"), ("lines", "'note': 'one'")):
        task = job(s, what)
        i = until("it has an instance", lambda: s.instance(task, AT))
        until(f"{what} is told", lambda: words in str(s.history(i["id"])))
    assert ended(s, job(s, "answer"))["state"] in OVER
    zoo_works(s)


@test
def a_flood_to_the_log_and_huge_outputs_cost_no_memory(s):
    flood, outputs = job(s, "flood"), job(s, "outputs")
    others_run(s)
    assert ended(s, flood, 120)["state"] == "Succ"
    i = ended(s, outputs)
    assert i["state"] == "Succ" and "237 outputs were refused" in str(s.history(i["id"])), s.history(i["id"])
    assert rss_kb(loader(s, "zoo")) < 32 * 1024, rss_kb(loader(s, "zoo"))


@test
def a_file_that_is_replaced_or_cut_while_it_is_loaded_changes_nothing_there(s):
    was, path = loader(s, "zoo"), s.runners / "zoo.so"
    path.write_bytes(b"\x7fELF and then nothing")  # in place, as nobody should
    zoo_works(s)
    assert loader(s, "zoo") == was
    os.kill(was, signal.SIGKILL)
    until("refused, with the file's name", lambda: "refused" in shown(s, "zoo") and "zoo.so" in shown(s, "zoo"))
    others_run(s)
    install(s, "zoo", "zoo")
    s.brokers["b1"].proc.send_signal(signal.SIGHUP)
    zoo_works(s)


@test
def wrong_files_are_refused_in_words_and_a_task_of_them_says_why_it_waits(s):
    bad = {"wrong_major": "speaks ABI 2, this broker 1", "missing_symbol": "undefined symbol: nobody_has_this",
           "open_fails": "open() answered -7"}
    for name in bad:
        install(s, name, name)
    s.add_broker("b3", [f"{name}:1" for name in bad], wait=False, runners_dir=s.runners)
    for name, words in bad.items():
        until(f"{name} is refused", lambda: words in shown(s, name), 60)
    task = job(s, "", "wrong_major")
    why = until("it says why", lambda: (lambda t: t if "speaks ABI 2" in t else None)(
        s.sirdar("why", task, "2026-03-01").stdout))
    assert "wrong_major" in why, why


@test
def three_crashes_are_a_quarantine_that_is_shown_and_ends_when_asked(s):
    guilty = job(s, "segv", "quarry")  # lost, and tried again
    until("it is in quarantine", lambda: "quarantined" in shown(s, "quarry"), 60)
    assert "3 crashes in ten minutes, the last: ended by signal 11 (SIGSEGV)" in shown(s, "quarry")
    task = job(s, "nothing", "quarry")
    until("the task says why", lambda: "quarantined" in s.sirdar("why", task, "2026-03-01").stdout)
    others_run(s)
    s.brokers["b2"].proc.send_signal(signal.SIGHUP)  # as `enable` does
    assert ended(s, task)["state"] == "Succ"


if __name__ == "__main__":
    sys.exit(main(zoo_site))
