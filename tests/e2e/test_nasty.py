#!/usr/bin/env python3
"""Jobs that flood, ignore, fork away, crash and poison: each is dealt with, and the others run. TAP."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Site, gone, main, rss_kb, stand_still, test, until  # noqa: E402

AT = "2026-03-01T00:00:00Z"
NASTY = ROOT / "tests/e2e/nasty"


def job(s, name, what, **keys):
    """One instance of one task; `what` is the script."""
    text = f"workflow: {name}\nproject: nasty\ntimezone: UTC\nstart_date: 2026-03-01\n" \
           f"end_date: 2026-03-01\ntasks:\n  t:\n    type: shell\n    cycle: day\n" \
           f"    catchup: {{mode: all}}\n    params:\n      script: |\n"
    text += "".join(f"        {line}\n" for line in what.splitlines())
    text += "".join(f"    {k}: {v}\n" for k, v in keys.items())
    s.apply(text, **{"from": "2026-03-01"})
    return f"nasty/{name}/t"


def ended(s, task, seconds=60):
    return s.wait_state(task, AT, ("Succ", "StopSchedule", "Killed", "Hanged"), seconds)


def others_run(s):
    s.count = getattr(s, "count", 0) + 1
    assert ended(s, job(s, f"other{s.count}", "echo fine"))["state"] == "Succ"


@test
def a_flood_of_output_is_cut_told_and_costs_no_memory(s):
    task = job(s, "flood", f"{NASTY}/flood.sh 60000000")
    others_run(s)
    i = ended(s, task)
    assert (i["state"], i["exit_code"]) == ("StopSchedule", 7), i
    for name in ("jobkeeper", "taskrunner-loader"):
        for pid in s.pids(name):
            assert rss_kb(pid) < 32 * 1024, f"{name} has {rss_kb(pid)} kB"
    size = sum(f.stat().st_size for f in (s.dir / "joblogs").rglob("*") if f.is_file())
    assert size < 30e6, f"{size} bytes of logs kept"
    assert str(s.log_of(i["id"], lines=1))
    others_run(s)


@test
def a_line_without_end_zeros_and_broken_utf8_are_shown_as_text(s):
    task = job(s, "binary", r"printf '\000\377\376abc\033[31m'; head -c 300000 /dev/zero | tr '\0' y")
    i = ended(s, task)
    assert i["state"] == "Succ", i
    text = until("the log is there", lambda: s.log_of(i["id"]))
    assert "abc" in (text if isinstance(text, str) else text.decode("utf-8", "replace"))[:200]


@test
def a_job_that_ignores_term_is_killed_after_its_grace(s):
    pid = s.dir / "data/deaf"
    task = job(s, "deaf", f"echo $$$$ > {pid}; exec {NASTY}/deaf.sh")
    until("it runs", lambda: pid.exists() and pid.read_text().strip())
    s.sirdar("kill", task, "2026-03-01", "--yes")
    i = ended(s, task)
    assert i["state"] == "Killed", i
    assert gone(int(pid.read_text())), "it lives"


@test
def what_a_job_forked_away_does_not_outlive_it(s):
    mark = s.dir / "data/stray"
    task = job(s, "stray", f"setsid sh -c 'trap \"\" TERM; (echo $$$$ > {mark}; exec sleep 600) &' "
               f"</dev/null >/dev/null 2>&1 &\nwhile [ ! -s {mark} ]; do sleep 0.02; done\nexit 3")
    i = ended(s, task)
    assert (i["state"], i["exit_code"]) == ("StopSchedule", 3), i
    until("the stray is gone", lambda: gone(int(mark.read_text())), 20)


@test
def a_killed_tree_is_dead_down_to_its_last_double_fork(s):
    mark = s.dir / "data/tree"
    mark.mkdir()
    task = job(s, "tree", f"for i in 1 2 3; do setsid sh -c 'echo x > {mark}/$$$$; trap \"\" TERM HUP; "
               f"while :; do sleep 1; done' </dev/null >/dev/null 2>&1 & done\n"
               f"sh -c 'sleep 601 & sleep 602'")
    until("three strays run", lambda: len(os.listdir(mark)) == 3)
    s.sirdar("kill", task, "2026-03-01", "--yes")
    assert ended(s, task)["state"] == "Killed"
    until("all are gone", lambda: all(gone(int(p)) for p in os.listdir(mark)), 20)


@test
def a_job_that_cannot_start_fails_with_a_reason_and_burns_no_machine(s):
    i = ended(s, job(s, "nofile", "exec /no/such/program"))
    assert (i["state"], i["exit_code"]) == ("StopSchedule", 127), i
    text = "workflow: noexec\nproject: nasty\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n" \
           "  t: {type: shell, cycle: day, catchup: {mode: all}, params: {argv: '[\"/no/such\"]'}}\n"
    s.apply(text, **{"from": "2026-03-01"})
    i = ended(s, "nasty/noexec/t")
    assert i["state"] == "StopSchedule" and i["exit_code"] in (126, 127), i
    others_run(s)


@test
def a_hundred_jobs_that_crash_leave_the_loader_alone(s):
    before = s.pids("taskrunner-loader")
    text = "workflow: crash\nproject: nasty\nstart_date: 2026-03-01\nend_date: 2026-03-01 01:39\n" \
           "tasks:\n  t:\n    type: shell\n    cycle: minute\n    catchup: {mode: all, max: 1000}\n" \
           "    params: {script: 'kill -SEGV $$$$'}\n"
    s.apply(text, **{"from": "2026-03-01"})
    rows = s.wait_all_over("nasty/crash/t", 100)
    assert {i["state"] for i in rows} == {"StopSchedule"}, rows[:3]
    assert {i["exit_code"] for i in rows} == {-11}, {i["exit_code"] for i in rows}
    assert s.pids("taskrunner-loader") == before
    others_run(s)


@test
def a_job_may_close_everything_and_change_its_directory(s):
    i = ended(s, job(s, "closed", "cd /; exec 0<&- 1>&- 2>&-\nexit 4"))
    assert (i["state"], i["exit_code"]) == ("StopSchedule", 4), i


@test
def outputs_that_are_too_many_or_too_long_are_refused_and_told_and_cost_only_their_job(s):
    task = job(s, "outputs", "i=0; while [ $i -lt 300 ]; do echo sirdar:output n$i=$i; i=$((i+1)); done\n"
               "printf 'sirdar:output big='; head -c 2000000 /dev/zero | tr '\\0' z; echo\n"
               "echo sirdar:output n0=last; echo sirdar:progress 1e99",
               outputs="[n0, n63, n64, big]")
    i = ended(s, task)
    assert i["state"] == "Succ", i
    kept = s.get(f"/api/v1/instances/{i['id']}")["outputs"]
    assert kept == {"n0": "last", "n63": "63"}, str(kept)[:300]
    until("it is told", lambda: s.brokers["b1"].has(r"line_refused.*too many"))
    for pid in s.pids("taskrunner-loader"):
        assert rss_kb(pid) < 32 * 1024, f"the loader has {rss_kb(pid)} kB"
    others_run(s)


@test
def a_job_whose_jobkeeper_cannot_be_asked_is_hanged_keeps_its_slot_and_ends_when_it_can(s):
    """SEMANTICS 3: grace and ten seconds without a confirmation. The jobkeeper stands still."""
    mark = s.dir / "data/still"
    task = job(s, "still", f"echo $$$$ > {mark}; exec sleep 600")
    until("it runs", lambda: mark.exists() and mark.read_text().strip())
    keeper, = s.pids("jobkeeper")
    stand_still(keeper)
    try:
        s.sirdar("kill", task, "2026-03-01", "--yes", "--grace-ms", "100")
        i = s.wait_state(task, AT, ("Hanged", "Killed"), 60)
        assert i["state"] == "Hanged", i
        assert not gone(int(mark.read_text())), "it was to be alive"
        done = s.sirdar("redo", task, "2026-03-01", "--yes", expect=None)
        assert s.instance(task, AT)["state"] == "Hanged", done
    finally:
        os.kill(keeper, signal.SIGCONT)
    i = s.wait_state(task, AT, ("Killed",), 60)
    assert gone(int(mark.read_text())), "it lives"
    assert [e for e in s.history(i["id"]) if e.get("to") == "Hanged"], s.history(i["id"])
    others_run(s)


@test
def what_a_person_declares_dead_is_killed_for_the_server(s):
    mark = s.dir / "data/declared"
    task = job(s, "declared", f"echo $$$$ > {mark}; exec sleep 600")
    until("it runs", lambda: mark.exists() and mark.read_text().strip())
    keeper, = s.pids("jobkeeper")
    stand_still(keeper)
    try:
        s.sirdar("kill", task, "2026-03-01", "--yes", "--grace-ms", "100")
        s.wait_state(task, AT, ("Hanged",), 60)
        s.sirdar("declare-dead", task, "2026-03-01", "--yes")
        s.wait_state(task, AT, ("Killed",), 60)
    finally:
        os.kill(keeper, signal.SIGCONT)
    until("the jobkeeper ends it after all", lambda: gone(int(mark.read_text())), 60)
    others_run(s)


if __name__ == "__main__":
    sys.exit(main(lambda: Site("nasty", log_job_bytes_max=4 << 20).start(
        ("shell:8",), output_bytes_max=8 << 20)))
