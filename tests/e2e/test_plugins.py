#!/usr/bin/env python3
"""The life of a runner plugin: registered, run, the next version, back, refused, quarantined, drained. TAP."""
import hashlib
import os
import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import B, RUNNERS, Site, main, test, until  # noqa: E402

ODD = B / "test/plugins/odd.so"
HEAD = "workflow: {}\nproject: plug\nstart_date: 2026-03-01\ndefaults: {{cycle: day, catchup: {{mode: none}}}}\ntasks:\n"


def site_with_plugins():
    site = Site("plugins", types_dir="")
    site.plugins = site.dir / "plugins"
    site.plugins.mkdir()
    shutil.copy(ODD, site.plugins / "odd.so")
    shutil.copy(RUNNERS / "noop.so", site.plugins)
    site.start(types=("odd:8", "noop:2"), runners_dir=site.plugins, loader_crash_max=2, loader_restart_ms=20)
    site.apply(HEAD.format("w") + "".join(f"  {name}: {{type: odd, params: {{do: {do}}}}}\n" for name, do in
                                          (("run", "x"), ("long", "kill"), ("crash", "crash")))
               + f"  process: {{type: odd, params: {{do: hold, file: {site.dir}/hold}}}}\n")
    return site


def build(site, version, name=None):
    """A plugin of another version: the same code with another text in it. -> its sha256"""
    code = ODD.read_bytes()
    assert code.count(b"0.1-odd\0") == 1 and len(version) == 7
    code = code.replace(b"0.1-odd\0", version.encode() + b"\0")
    (site.plugins / f"odd-{name or version}.so").write_bytes(code)
    return hashlib.sha256(code).hexdigest()


def runner(site):
    odd = next(t for t in site.get("/api/v1/types")["types"] if t["type"] == "odd")
    return odd["brokers"][0]


def plugin(site):
    return next(p for p in site.get("/api/v1/plugins")["plugins"] if p["type"] == "odd")


def runs(site, version):
    return until(f"{version} runs", lambda: (lambda r: r if r["version"] == version and r["state"] == "ready" else None)(runner(site)))


def run(site, task, date, states="Succ"):
    site.command_over(site.command("run-now", selection={"tasks": [f"plug/w/{task}"], "dates": [date]}))
    return site.wait_state(f"plug/w/{task}", f"{date}T00:00:00Z", states)


@test
def a_registered_version_runs_from_its_own_file(s):
    run(s, "run", "2026-03-01")
    assert runner(s)["version"] == "0.1-odd"
    s.sirdar("plugin", "register", "odd", "1.0-odd", "--sha256", build(s, "1.0-odd"))
    s.sirdar("plugin", "enable", "odd", "1.0-odd")
    runs(s, "1.0-odd")
    run(s, "run", "2026-03-02")
    assert "1.0-odd  enabled" in s.sirdar("plugin", "list").stdout


def loaders(site):
    """(version, state) -> jobs, of all loaders of the type."""
    odd = next(t for t in site.get("/api/v1/types")["types"] if t["type"] == "odd")
    return {(b["version"], b["state"]): b["running"] for b in odd["brokers"]}


def loader_words(site):
    """pid -> its command line, of the loaders of the type."""
    return {pid: words for pid in site.pids("taskrunner-loader") if "odd" in (words := command_line(pid))}


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except FileNotFoundError:
        return []


def state(site, task, date):
    return site.instance(f"plug/w/{task}", f"{date}T00:00:00Z")


def start(site, task, date):
    return run(site, task, date, "Running")


def kill(site, task, date):
    site.command("kill", selection={"tasks": [f"plug/w/{task}"], "dates": [date]})
    i = site.wait_state(f"plug/w/{task}", f"{date}T00:00:00Z", ("Succ", "Fail", "StopSchedule"))
    assert i["infra"] == 0 and i["attempt"] == 1, i


@test
def the_next_version_works_beside_the_one_whose_jobs_still_run(s):
    start(s, "long", "2026-03-01")
    s.sirdar("plugin", "register", "odd", "2.0-odd", "--sha256", build(s, "2.0-odd"))
    s.sirdar("plugin", "enable", "odd", "2.0-odd")
    runs(s, "2.0-odd")
    run(s, "run", "2026-03-03")
    assert state(s, "long", "2026-03-01")["state"] == "Running"
    until("both are counted", lambda: loaders(s) == {("2.0-odd", "ready"): 0, ("1.0-odd", "draining"): 1})
    shown = [line.split() for line in s.sirdar("plugin", "show", "odd").stdout.splitlines()]
    assert ["2.0-odd", "enabled", "b1", "ready", "0"] in shown, shown
    assert ["1.0-odd", "before", "b1", "draining", "1"] in [line[:5] for line in shown], shown


@test
def a_rollback_while_jobs_of_both_versions_run_starts_a_third_loader(s):
    start(s, "long", "2026-03-02")
    s.sirdar("plugin", "rollback", "odd")
    runs(s, "1.0-odd")
    assert plugin(s)["enabled"] == "1.0-odd" and plugin(s)["former"] == "2.0-odd"
    run(s, "run", "2026-03-04")
    until("three loaders", lambda: loaders(s) == {
        ("1.0-odd", "ready"): 0, ("1.0-odd", "draining"): 1, ("2.0-odd", "draining"): 1})
    kill(s, "long", "2026-03-01")
    until("the first is over", lambda: loaders(s) == {("1.0-odd", "ready"): 0, ("2.0-odd", "draining"): 1})


@test
def a_former_version_outlives_broker_and_server_and_ends_with_its_last_job(s):
    s.brokers["b1"].kill()
    s.base.restart(hard=True)
    s.brokers["b1"].start()
    until("the server answers", lambda: s.ask("GET", "/api/v1/types")[0] == 200)
    runs(s, "1.0-odd")
    until("it is found again", lambda: loaders(s).get(("2.0-odd", "draining")) == 1)
    run(s, "run", "2026-03-08")
    assert state(s, "long", "2026-03-02")["state"] == "Running"
    kill(s, "long", "2026-03-02")
    until("it is over", lambda: loaders(s) == {("1.0-odd", "ready"): 0})
    assert len(list(s.dir.glob("**/loader.odd*.lock"))) == 1


@test
def processes_of_a_former_version_whose_loader_dies_are_seen_to_their_end(s):
    (s.dir / "hold").touch()
    start(s, "process", "2026-03-01")
    s.sirdar("plugin", "enable", "odd", "2.0-odd")
    runs(s, "2.0-odd")
    until("it drains", lambda: loaders(s).get(("1.0-odd", "draining")) == 1)
    for pid in [pid for pid, words in loader_words(s).items() if "1.0-odd" in words]:
        os.kill(pid, signal.SIGKILL)
    until("another sees to them", lambda: "heir-of" in str(loader_words(s)))
    assert state(s, "process", "2026-03-01")["state"] == "Running"
    (s.dir / "hold").unlink()
    i = s.wait_state("plug/w/process", "2026-03-01T00:00:00Z", "Succ")
    assert i["infra"] == 0 and i["attempt"] == 1, i
    until("it is over", lambda: loaders(s) == {("2.0-odd", "ready"): 0})
    s.sirdar("plugin", "rollback", "odd")
    runs(s, "1.0-odd")


@test
def a_file_that_is_not_what_was_registered_is_refused_and_the_one_that_runs_stays(s):
    build(s, "3.0-odd")
    s.sirdar("plugin", "register", "odd", "3.0-odd", "--sha256", "0" * 64)
    s.sirdar("plugin", "enable", "odd", "3.0-odd")
    said = until("the reason is shown", lambda: (lambda r: r if "sha256" in r["text"] else None)(runner(s)))
    assert "registered is 000" in said["text"] and said["version"] == "1.0-odd" and said["state"] == "ready", said
    run(s, "run", "2026-03-05")
    s.sirdar("plugin", "register", "odd", "9.9-odd", "--sha256", build(s, "8.8-odd", "9.9-odd"))
    s.sirdar("plugin", "enable", "odd", "9.9-odd")
    until("the name inside counts", lambda: "says it is version 8.8-odd" in runner(s)["text"])
    s.sirdar("plugin", "enable", "odd", "1.0-odd")
    runs(s, "1.0-odd")


@test
def a_broker_that_comes_back_runs_what_is_enabled(s):
    s.brokers["b1"].stop()
    s.brokers["b1"].start()
    runs(s, "1.0-odd")
    run(s, "run", "2026-03-06")


@test
def a_plugin_that_crashes_is_quarantined_with_the_reason_until_it_is_released(s):
    s.command("run-now", selection={"tasks": ["plug/w/crash"], "dates": ["2026-03-01"]})
    r = until("it is quarantined", lambda: (lambda r: r if r["state"] == "quarantined" else None)(runner(s)))
    assert "crashes in ten minutes" in r["text"] and "SIGKILL" in r["text"], r
    s.command_over(s.command("skip", selection={"tasks": ["plug/w/crash"], "dates": ["2026-03-01"]}))
    s.sirdar("plugin", "release", "odd", "--broker", "b1")
    runs(s, "1.0-odd")


@test
def a_drained_type_starts_nothing_and_goes_on_when_enabled(s):
    s.sirdar("plugin", "drain", "odd")
    until("it is drained", lambda: runner(s)["state"] == "stopped" and runner(s)["text"] == "drained")
    s.command_over(s.command("run-now", selection={"tasks": ["plug/w/run"], "dates": ["2026-03-07"]}))
    i = s.wait_state("plug/w/run", "2026-03-07T00:00:00Z", "DependenceFinish")
    w = until("why says so", lambda: (lambda w: w if "drained" in str(w) else None)(s.get(f"/api/v1/instances/{i['id']}/why")))
    assert w["gate"] in (9, 10), w
    s.sirdar("plugin", "enable", "odd")
    s.wait_state("plug/w/run", "2026-03-07T00:00:00Z", "Succ")


@test
def the_log_level_of_one_types_loaders_is_a_command(s):
    s.sirdar("log-level", "debug", "--type", "odd")
    s.sirdar("log-level", "info", "b1", "--type", "odd")
    over = [c for c in s.get("/api/v1/commands?limit=2")["items"]]
    assert all(c["kind"] == "log-level" and c["state"] in ("done", "running", "queued") for c in over), over


@test
def what_is_enabled_stays_registered_and_others_go(s):
    s.command("plugin-remove", type="odd", version="1.0-odd", expect=(409,))
    s.command("plugin-register", type="odd", version="1.0-odd", sha256="1" * 64, expect=(409,))
    s.command("plugin-enable", type="odd", version="nosuch", expect=(404,))
    s.sirdar("plugin", "remove", "odd", "3.0-odd")
    until("it is gone", lambda: "3.0-odd" not in [v["version"] for v in plugin(s)["versions"]])
    assert "plugin-enable" in str(s.get("/api/v1/audit?action=plugin-enable")["items"])


main(site_with_plugins)
