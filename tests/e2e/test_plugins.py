#!/usr/bin/env python3
"""The life of a runner plugin: registered, run, the next version, back, refused, quarantined, drained. TAP."""
import hashlib
import os
import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exposition  # noqa: E402
from harness import B, RUNNERS, Site, main, test, until  # noqa: E402

ODD = B / "test/plugins/odd.so"
HEAD = "workflow: {}\nproject: plug\nstart_date: 2026-03-01\ndefaults: {{cycle: day, catchup: {{mode: none}}}}\ntasks:\n"


def site_with_plugins():
    site = Site("plugins", types_dir="")
    site.plugins = site.dir / "plugins"
    site.plugins.mkdir()
    shutil.copy(ODD, site.plugins / "odd.so")
    for so in ("noop.so", "foreign.so"):
        shutil.copy(RUNNERS / so, site.plugins)
    guest(site, "", "guest: {command: [python3, words.py]}\n")
    site.start(types=("odd:8", "noop:2", "words:2"), runners_dir=site.plugins, loader_crash_max=2, loader_restart_ms=20,
               loader_call_ms=500)
    site.apply(HEAD.format("w") + "".join(f"  {name}: {{type: odd, params: {{do: {do}}}}}\n" for name, do in
                                          (("run", "x"), ("long", "kill")))
               + f"  crash: {{type: odd, params: {{do: crash, file: {site.dir}/crash}}}}\n"
               + f"  process: {{type: odd, params: {{do: hold, file: {site.dir}/hold}}}}\n"
               + f"  stuck: {{type: odd, params: {{do: kill-stuck}}}}\n"
               + f"  words: {{type: words, outputs: [version]}}\n"
               + f"  hold: {{type: words, outputs: [version], params: {{file: {site.dir}/hold-words}}}}\n")
    return site


def build(site, version, name=None):
    """A plugin of another version: the same code with another text in it. -> its sha256"""
    code = ODD.read_bytes()
    assert code.count(b"0.1-odd\0") == 1 and len(version) == 7
    code = code.replace(b"0.1-odd\0", version.encode() + b"\0")
    (site.plugins / f"odd-{name or version}.so").write_bytes(code)
    return hashlib.sha256(code).hexdigest()


GUEST = """import json, os, time
to = os.fdopen(4, "w", buffering=1)
def say(**m):
    print(json.dumps(m), file=to)
for line in os.fdopen(3):
    m = json.loads(line)
    if m["op"] == "hello":
        say(op="hello", protocol=1)
    elif m["op"] == "ping":
        say(op="pong", n=m["n"])
    elif m["op"] == "run":
        while os.path.exists(m["params"].get("file", "/nonexistent")):
            time.sleep(0.05)
        say(op="output", job=m["job"], name="version", value="VERSION")
        say(op="done", job=m["job"])
"""


def guest(site, version, text=None):
    """A version of the type `words`, made of a manifest and a program. -> the manifest's sha256"""
    program = GUEST.replace("VERSION", version).encode()
    dash = f"-{version}" if version else ""
    (site.plugins / f"words{dash}.py").write_bytes(program)
    manifest = "type: words\nothers: true\nrunner: foreign\n" + (text or (
        f"version: {version}\nguest: {{command: [python3, words-{version}.py]}}\n"
        f"files: {{words-{version}.py: {hashlib.sha256(program).hexdigest()}}}\n"))
    (site.plugins / f"words{dash}.yaml").write_text(manifest)
    return hashlib.sha256(manifest.encode()).hexdigest()


def runner(site, kind="odd"):
    return next(t for t in site.get("/api/v1/types")["types"] if t["type"] == kind)["brokers"][0]


def plugin(site):
    return next(p for p in site.get("/api/v1/plugins")["plugins"] if p["type"] == "odd")


def runs(site, version, kind="odd"):
    return until(f"{version} runs", lambda: (lambda r: r if r["version"] == version and r["state"] == "ready" else None)(
        runner(site, kind)))


def run(site, task, date, states="Succ", **more):
    site.command_over(site.command("run-now", selection={"tasks": [f"plug/w/{task}"], "dates": [date]}, **more))
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


@test
def a_rollback_of_the_first_version_goes_to_the_types_own_file_and_back(s):
    s.sirdar("plugin", "rollback", "odd")
    runs(s, "0.1-odd")
    assert (plugin(s)["enabled"], plugin(s)["former"]) == (None, "1.0-odd")
    run(s, "run", "2026-02-01", off_plan=True)
    refused = s.sirdar("plugin", "rollback", "odd", "--own", expect=None)
    assert refused.returncode != 0 and "runs from its own file" in refused.stderr, refused.stderr
    s.base.restart(hard=True)  # a server that begins anew tells the same
    until("the server answers", lambda: s.ask("GET", "/api/v1/types")[0] == 200)
    runs(s, "0.1-odd")
    s.sirdar("plugin", "rollback", "odd")
    runs(s, "1.0-odd")
    s.sirdar("plugin", "register", "odd", "1.5-odd", "--sha256", build(s, "1.5-odd"))
    s.sirdar("plugin", "enable", "odd", "1.5-odd")
    runs(s, "1.5-odd")
    s.sirdar("plugin", "rollback", "odd", "--own")  # past the version before
    runs(s, "0.1-odd")
    s.sirdar("plugin", "drain", "odd")
    until("it is drained", lambda: runner(s)["state"] != "ready")
    s.sirdar("plugin", "enable", "odd")  # ends the drain of the own file, too
    runs(s, "0.1-odd")
    s.sirdar("plugin", "rollback", "odd")
    runs(s, "1.5-odd")
    s.sirdar("plugin", "enable", "odd", "1.0-odd")
    runs(s, "1.0-odd")
    s.sirdar("plugin", "remove", "odd", "1.5-odd")
    until("one loader is left", lambda: loaders(s) == {("1.0-odd", "ready"): 0})


def loaders(site, kind="odd"):
    """(version, state) -> jobs, of all loaders of the type."""
    odd = next(t for t in site.get("/api/v1/types")["types"] if t["type"] == kind)
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
    status, text = s.ask("GET", "/metrics")  # two loaders of a type are one sample: a scraper refuses the whole else
    assert status == 200 and exposition.parse(text.decode())["sirdar_runner_ready"].of(broker="b1", type="odd") == 1


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
    (s.dir / "crash").touch()
    s.command("run-now", selection={"tasks": ["plug/w/crash"], "dates": ["2026-03-01"]})
    r = until("it is quarantined", lambda: (lambda r: r if r["state"] == "quarantined" else None)(runner(s)))
    assert "crashes in ten minutes" in r["text"] and "SIGKILL" in r["text"], r
    shown = s.sirdar("broker", "list").stdout
    assert "odd(quarantined)" in shown and f"b1: task type odd is quarantined: {r['text']}\n" in shown, shown
    (s.dir / "crash").unlink()
    s.sirdar("plugin", "release", "odd", "--broker", "b1")
    runs(s, "1.0-odd")
    shown = s.sirdar("broker", "list").stdout
    assert "quarantined" not in shown, shown


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


def crash(s, month):
    (s.dir / "crash").touch()
    s.command("run-now", selection={"tasks": ["plug/w/crash"], "dates": [f"{month}-02", f"{month}-03"]})


def hang(s, month):
    """Two jobs, one after the other, whose kill() does not come back."""
    def stuck():
        return s.brokers["b1"].text().count('broker.loader_ended type=odd how="exit 70"')
    for nth, date in enumerate((f"{month}-02", f"{month}-03"), 1):
        until("a loader is there", lambda: runner(s)["state"] == "ready")
        i = start(s, "stuck", date)
        until("execute() runs", lambda: s.ask("GET", f"/api/v1/instances/{i['id']}/log?")[1] in ("inside\n", b"inside\n"))
        s.command("kill", selection={"tasks": ["plug/w/stuck"], "dates": [date]})
        until("it has ended", lambda: stuck() == nth)


def a_bad_version(s, version, misbehave, month, why):
    start(s, "long", f"{month}-01")
    s.sirdar("plugin", "register", "odd", version, "--sha256", build(s, version))
    s.sirdar("plugin", "enable", "odd", version)
    runs(s, version)
    misbehave(s, month)
    r = until("it is quarantined", lambda: (lambda r: r if r["state"] == "quarantined" else None)(runner(s)))
    assert r["version"] == version and "in ten minutes" in r["text"] and why in r["text"], r
    shown = s.sirdar("plugin", "show", "odd").stdout
    assert "quarantined" in shown and why in shown and "draining" in shown, shown
    assert state(s, "long", f"{month}-01")["state"] == "Running"
    (s.dir / "crash").unlink(missing_ok=True)
    s.sirdar("plugin", "rollback", "odd")
    runs(s, "1.0-odd")
    run(s, "run", f"{month}-02")
    kill(s, "long", f"{month}-01")
    until("it is over", lambda: set(loaders(s)) == {("1.0-odd", "ready")})
    for date in ("2026-03-01", f"{month}-02", f"{month}-03") if misbehave is crash else ():
        s.wait_state("plug/w/crash", f"{date}T00:00:00Z", "Succ")


@test
def a_new_version_that_crashes_is_quarantined_by_name_and_rolled_back_while_the_former_drains(s):
    a_bad_version(s, "4.0-odd", crash, "2026-04", "SIGKILL")


@test
def a_new_version_that_hangs_is_quarantined_by_name_and_rolled_back_while_the_former_drains(s):
    a_bad_version(s, "5.0-odd", hang, "2026-05", "did not come back")


@test
def a_version_that_does_not_even_open_leaves_the_one_before_at_work_until_it_is_released(s):
    (s.dir / "odd-open-crashes").touch()
    s.sirdar("plugin", "register", "odd", "6.0-odd", "--sha256", build(s, "6.0-odd"))
    s.sirdar("plugin", "enable", "odd", "6.0-odd")
    r = until("the reason is shown", lambda: (lambda r: r if "6.0-odd is quarantined" in r["text"] else None)(runner(s)))
    assert r["version"] == "1.0-odd" and r["state"] == "ready" and "SIGKILL" in r["text"], r
    run(s, "run", "2026-06-01")
    (s.dir / "odd-open-crashes").unlink()
    s.sirdar("plugin", "release", "odd")
    runs(s, "6.0-odd")
    assert runner(s)["text"] == ""
    s.sirdar("plugin", "rollback", "odd")
    runs(s, "1.0-odd")


def outputs(s, task, date):
    i = s.instance(f"plug/w/{task}", f"{date}T00:00:00Z")
    return s.get(f"/api/v1/instances/{i['id']}")["outputs"]


@test
def versions_of_a_type_made_of_a_manifest_have_their_life_too(s):
    for version in ("1.1", "2.0"):
        s.sirdar("plugin", "register", "words", version, "--sha256", guest(s, version))
    s.sirdar("plugin", "enable", "words", "1.1")
    runs(s, "1.1", "words")
    (s.dir / "hold-words").touch()
    start(s, "hold", "2026-03-01")
    s.sirdar("plugin", "enable", "words", "2.0")
    runs(s, "2.0", "words")
    run(s, "words", "2026-03-01")
    assert outputs(s, "words", "2026-03-01") == {"version": "2.0"}
    assert loaders(s, "words").keys() == {("2.0", "ready"), ("1.1", "draining")}
    (s.dir / "hold-words").unlink()
    s.wait_state("plug/w/hold", "2026-03-01T00:00:00Z", "Succ")
    assert outputs(s, "hold", "2026-03-01") == {"version": "1.1"}
    s.sirdar("plugin", "rollback", "words")
    runs(s, "1.1", "words")


@test
def a_program_that_is_not_what_its_manifest_says_is_refused(s):
    (s.plugins / "words-2.0.py").write_text("changed")
    s.sirdar("plugin", "enable", "words", "2.0")
    r = until("the reason is shown", lambda: (lambda r: r if "words-2.0.py has the sha256" in r["text"] else None)(
        runner(s, "words")))
    assert r["version"] == "1.1" and r["state"] == "ready", r
    s.sirdar("plugin", "register", "words", "3.0", "--sha256", guest(
        s, "3.0", "version: 3.0\nguest: {command: [python3, words-3.0.py]}\n"))
    s.sirdar("plugin", "enable", "words", "3.0")
    until("all of it must be named", lambda: "has no sha256 of words-3.0.py" in runner(s, "words")["text"])
    run(s, "words", "2026-03-02")
    assert outputs(s, "words", "2026-03-02") == {"version": "1.1"}


@test
def the_log_level_of_one_types_loaders_changes_while_they_work(s):
    def debug(kind):
        return s.brokers["b1"].has(f"taskrunner-loader debug job.begun type={kind}")
    run(s, "run", "2026-07-01")
    assert not debug("odd")
    s.sirdar("log-level", "debug", "--type", "odd")
    dates = (f"2026-{month:02}-{day:02}" for month in range(7, 11) for day in range(2, 29))
    until("its loader says more", lambda: run(s, "run", next(dates)) and debug("odd"))
    run(s, "words", "2026-07-02")
    assert not debug("words")
    s.sirdar("log-level", "info", "b1", "--type", "odd")


@test
def a_version_is_tried_on_one_broker_before_it_goes_everywhere(s):
    s.add_broker("b2", types=("odd:2",), runners_dir=s.plugins, loader_crash_max=2)
    def versions():
        odd = next(t for t in s.get("/api/v1/types")["types"] if t["type"] == "odd")
        return {b["broker"]: b["version"] for b in odd["brokers"] if b["state"] == "ready"}
    until("both run the same", lambda: versions() == {"b1": "1.0-odd", "b2": "1.0-odd"})
    s.sirdar("plugin", "enable", "odd", "2.0-odd", "--broker", "b2")
    until("one tries it", lambda: versions() == {"b1": "1.0-odd", "b2": "2.0-odd"})
    run(s, "run", "2026-08-01")
    s.sirdar("plugin", "enable", "odd", "2.0-odd", "--everywhere")
    until("all have it", lambda: versions() == {"b1": "2.0-odd", "b2": "2.0-odd"})
    s.sirdar("plugin", "rollback", "odd")
    until("all are back", lambda: versions() == {"b1": "1.0-odd", "b2": "1.0-odd"})


@test
def what_is_enabled_stays_registered_and_others_go(s):
    s.command("plugin-remove", type="odd", version="1.0-odd", expect=(409,))
    s.command("plugin-register", type="odd", version="1.0-odd", sha256="1" * 64, expect=(409,))
    s.command("plugin-enable", type="odd", version="nosuch", expect=(404,))
    s.sirdar("plugin", "remove", "odd", "3.0-odd")
    until("it is gone", lambda: "3.0-odd" not in [v["version"] for v in plugin(s)["versions"]])
    assert "plugin-enable" in str(s.get("/api/v1/audit?action=plugin-enable")["items"])


main(site_with_plugins)
