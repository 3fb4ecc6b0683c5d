#!/usr/bin/env python3
"""What a runner author does: copy the template, build it with the installed kit, run it alone, run it
under the server; and what sirdar-runner-run says of good and bad plugins. TAP."""
import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, RUNNERS, Site, Skip, main, test  # noqa: E402

RUN = BIN / "sirdar-runner-run"
CONFORMANCE = BIN / "sirdar-runner-conformance"
BAD = BIN.parent / "test" / "plugins"


def kit_site():
    """The kit as `make install` leaves it, below the site."""
    site = Site("sdk")
    kit = site.dir / "kit"
    for d in ("include/sirdar", "lib/sirdar/runners", "lib/pkgconfig"):
        (kit / d).mkdir(parents=True)
    shutil.copy(ROOT / "plugins-sdk/include/sirdar/runner.h", kit / "include/sirdar")
    text = (ROOT / "packaging/sirdar-sdk.pc.in").read_text()
    (kit / "lib/pkgconfig/sirdar-sdk.pc").write_text(text.replace("@prefix@", str(kit))
                                                     .replace("@version@", "0"))
    site.kit = kit
    for so in ("noop.so", "shell.so"):
        shutil.copy(RUNNERS / so, kit / "lib/sirdar/runners")
    return site.start(types=("noop:1",), runners_dir=kit / "lib/sirdar/runners")


def alone(site, plugin, job=None, *words):
    argv = [RUN, plugin, *words]
    if job is not None:
        (site.dir / "job.yaml").write_text(job)
        argv += ["--job", site.dir / "job.yaml"]
    return site.run(argv)


def make(site, *words):
    done = site.run(["make", "-C", site.dir / "mine", *words],
                    PKG_CONFIG_PATH=str(site.kit / "lib/pkgconfig"), MAKEFLAGS="")
    assert done.returncode == 0, done.stdout + done.stderr


@test
def a_copied_template_builds_runs_alone_and_then_under_the_server(site):
    shutil.copytree(ROOT / "plugins-sdk/template", site.dir / "mine")
    make(site)
    done = alone(site, site.dir / "mine/hello.so", "params: {times: 1}\n")
    assert done.returncode == 0 and done.stdout == "hello 1\n", done
    assert "# progress 1000" in done.stderr and "# output said=1" in done.stderr, done.stderr
    make(site, "install")
    site.add_broker("b2", types=("hello:2",), runners_dir=site.kit / "lib/sirdar/runners")
    site.apply("workflow: w\nproject: sdk\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\n"
               "tasks:\n  t: {type: hello, cycle: day, catchup: {mode: all}, params: {times: 1}}\n",
               **{"from": "2026-03-01"})
    site.wait_state("sdk/w/t", "2026-03-01T00:00:00Z", "Succ", 60)


@test
def the_template_in_cplusplus_builds_runs_and_keeps_every_promise(site):
    shutil.rmtree(site.dir / "mine", ignore_errors=True)
    shutil.copytree(ROOT / "plugins-sdk/template-cpp", site.dir / "mine")
    make(site)
    so = site.dir / "mine/hello.so"
    done = alone(site, so, "params: {times: 1}\n")
    assert done.returncode == 0 and done.stdout == "hello 1\n" and "# output said=1" in done.stderr, done
    done = alone(site, so, "params: {times: nine}\n")
    assert done.returncode == 1 and "verdict fatal: stoul" in done.stderr, done
    status, broken, skipped, report = conformance(site, so, "params: {times: 2}\n", "params: {times: 1000}\n")
    assert status == 0 and not broken and skipped <= {"drain", "left", "inline"}, report


@test
def valgrind_finds_what_a_job_leaves_behind(site):
    if not shutil.which("valgrind") or "gcc-" in str(BIN):
        raise Skip("no valgrind, or a build of a sanitizer")
    done = alone(site, BAD / "zoo.so", "params: {do: leak}\n", "--valgrind")
    assert done.returncode == 99 and "definitely lost" in done.stderr, done


@test
def parameters_fail_the_job_with_the_runners_own_words(site):
    done = alone(site, BAD / "hello.so", "params: {times: nine}\n")
    assert done.returncode == 1 and "verdict fatal: times is 'nine', want 1..1000" in done.stderr, done


@test
def a_process_gets_its_parameters_and_its_status_is_the_jobs(site):
    done = alone(site, RUNNERS / "shell.so", "params: {script: 'echo $word; exit 7', word: hi}\n")
    assert done.returncode == 1 and done.stdout == "hi\n" and "exit code 7" in done.stderr, done


@test
def a_job_that_is_told_to_stop_stops_alone_or_with_force(site):
    done = alone(site, BAD / "hello.so", "params: {times: 1000}\n", "--kill-after", "0.3")
    assert done.returncode == 1 and "exit code -15" in done.stderr, done
    done = alone(site, RUNNERS / "shell.so", "timeout: 300ms\ngrace: 200ms\n"
                 f"params: {{script: \"trap '' TERM; touch {site.dir}/deaf; while :; do sleep 0.1; done\"}}\n")
    deaf = (site.dir / "deaf").exists()  # else TERM was there first
    assert "told to stop (timeout)" in done.stderr, done
    assert f"exit code {-9 if deaf else -15}" in done.stderr, done


@test
def a_job_told_to_stop_while_it_is_prepared_is_not_executed(site):
    done = alone(site, BAD / "zoo.so", "grace: 600s\nparams: {do: prepare_long}\n", "--kill-after", "0.1")
    assert done.returncode == 1 and "exit code -15" in done.stderr and "killed before" in done.stderr, done
    assert done.stdout == "preparing\n", done


@test
def a_sensor_that_is_not_yet_satisfied_ends_with_its_own_status(site):
    done = alone(site, RUNNERS / "noop.so", "params: {verdict: not_yet}\n")
    assert done.returncode == 75 and "# not yet" in done.stderr, done


@test
def bad_plugins_are_refused_in_the_loaders_words(site):
    for name, words in (("wrong_major", "speaks ABI"), ("no_entry", "no symbol runner_entry"),
                        ("missing_member", "required member"), ("open_fails", "open() answered")):
        done = alone(site, BAD / f"{name}.so")
        assert done.returncode == 78 and words in done.stderr, done
    done = alone(site, BAD / "open_crashes.so")
    assert done.returncode < 0, done  # it died with the plugin, as a loader does


@test
def a_jobs_file_that_is_wrong_is_refused_with_its_place(site):
    done = alone(site, RUNNERS / "noop.so", "params: {}\ntimout: 5s\n")
    assert done.returncode == 78 and "job.yaml:2:1: a job has no key 'timout'" in done.stderr, done


# --- sirdar-runner-conformance

def conformance(site, plugin, job="", longer=None, name="conformance", limit=60):
    """Exit status, the promises that were broken, those not met, the report."""
    words = [CONFORMANCE, plugin, "--limit", str(limit)]
    for option, text in (("--job", job), ("--long", longer)):
        if text:
            path = site.dir / f"{name}{option}.yaml"
            path.write_text(text)
            words += [option, path]
    done = site.run(words)
    promises = re.findall(r"^(ok|not ok) \d+ - (\w+): (.*)$", done.stdout, re.M)
    assert done.returncode not in (0, 1) or len(promises) == 26, done
    return (done.returncode, {p for ok, p, _ in promises if ok == "not ok"},
            {p for _, p, text in promises if text.endswith("# SKIP not met")}, done.stdout)


@test
def our_own_runners_and_the_template_keep_every_promise(site):
    for plugin, job, longer, not_met in (
            (RUNNERS / "noop.so", "params: {text: hi, output: 'a=b'}\n", "params: {sleep_ms: 600000}\n",
             {"drain", "left"}),
            (RUNNERS / "shell.so", "params: {script: 'exit 3'}\n", "params: {script: 'sleep 600'}\n",
             {"drain"}),
            (BAD / "hello.so", "params: {times: 2}\n", "params: {times: 1000}\n",
             {"drain", "left", "inline"}),
            (BAD / "newer_minor.so", "", None, {"drain", "left", "inline", "calls", "kill"})):
        status, broken, skipped, report = conformance(site, plugin, job, longer)
        assert status == 0 and not broken and skipped <= not_met, report


@test
def every_runner_that_is_built_keeps_its_promises_without_parameters(site):
    for so in sorted(RUNNERS.glob("*.so")):
        if so.stem == "foreign":  # opens with a manifest only
            continue
        status, broken, _, report = conformance(site, so, name=so.stem)
        assert status == 0 and not broken, f"{so.stem}: {report}"


ZOO = {"exit": "alive", "abort": "alive", "segv": "alive", "hang": "kill", "leak": "memory",
       "descriptor": "descriptors", "close": "manners", "thread": "threads", "late_write": "freed",
       "late_log": "freed", "answer": "answers", "lie": "answers", "verdict": "result", "lines": "result",
       "wipe": "newer", "write": "lent", "beyond": "lent", "copy": "calls", "twice": "calls",
       "share": "parallel", "umask": "manners", "signal": "manners", "fork": "children", "left": "left"}
FILES = {"exports_more": "exports", "size_lies": "size", "inline_blocks": "inline", "mute": "params",
         "entry_opens": "entry", "wrong_major": "major", "short_struct": "size", "missing_member": "members",
         "missing_symbol": "file", "no_entry": "file", "null_entry": "file", "open_fails": "open",
         "open_crashes": "alive"}


@test
def every_bad_plugin_is_caught_by_the_promise_it_breaks(site):
    def one(word):
        if word in FILES:
            return conformance(site, BAD / f"{word}.so", name=word)
        head = "" if word == "left" else "timeout: 300ms\ngrace: 300ms\n"
        text = f"params: {{do: {word}, seconds: '%s'}}\n"
        return conformance(site, BAD / "zoo.so", head + text % 0, head + text % 60, word)
    bad = {**ZOO, **FILES}
    with ThreadPoolExecutor(4) as pool:
        for word, (status, broken, _, report) in zip(bad, pool.map(one, bad)):
            assert status == 1 and bad[word] in broken, f"{word}: {report}"


@test
def a_plugin_that_hangs_in_kill_is_caught_by_the_limit(site):
    # So that nothing else runs into it: kill() is the first thing that waits.
    status, broken, _, report = conformance(site, BAD / "zoo.so", "timeout: 1ms\nparams: {do: hang_kill}\n",
                                            limit=2)
    assert status == 1 and broken == {"kill"} and "kill() after 2 s" in report, report


if __name__ == "__main__":
    sys.exit(main(kit_site))
