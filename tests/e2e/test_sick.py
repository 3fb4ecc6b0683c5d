#!/usr/bin/env python3
"""A machine on which nothing starts, beside one that is well and alone: its queue waits and is not burnt,
people are told, and all ends well once it is mended. TAP."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TESTS, Site, main, test, until  # noqa: E402
from test_life import script, workflow  # noqa: E402

TESTS.clear()
MANY = 200


def tasks(n, text="true", **more):
    return {f"t{i}": script(text, **more) for i in range(n)}


def starts(s, name):
    """What the server says of the starts of shell jobs there; "": they are well."""
    b = next(b for b in s.get("/api/v1/brokers")["brokers"] if b["name"] == name)
    return next(t["starts"] for t in b["types"] if t["type"] == "shell")


def all_succ(s, task, n, seconds=120):
    rows = s.wait_all_over(task, n, seconds)
    bad = [i for i in rows if i["state"] != "Succ"]
    assert not bad, (len(bad), bad[:3])
    return rows


def places(s, name):
    return s.dir / (name + "-work")


@test
def beside_a_well_machine_one_without_its_work_dir_takes_nothing_from_the_queue(s):
    shutil.rmtree(places(s, "sick"))
    workflow(s, "beside", tasks(MANY, "sleep 0.05"))
    all_succ(s, "e2e/beside/*", MANY)
    until("the sick one is told", lambda: "sick-work" in starts(s, "sick"), 60)
    assert starts(s, "well") == ""
    assert "sick-work" in s.sirdar("broker", "list").stdout


@test
def alone_it_keeps_its_queue_waiting_with_a_word_until_it_is_mended(s):
    s.brokers["well"].stop()
    workflow(s, "alone", tasks(MANY))
    until("the sick one is told", lambda: "sick-work" in starts(s, "sick"), 60)

    def why():
        said = [s.get(f"/api/v1/instances/{i['id']}/why") for i in s.instances("e2e/alone/*", limit=5)]
        return [w for w in said if w["code"] == "starts_fail"]
    line = until("why names it", why, 60)[0]["line"]
    assert "sick" in line and "sick-work" in line, line
    # Long enough that each would have been given up for its failures of machines.
    until("it was tried many times", lambda: len(s.brokers["sick"].text().split("job.not_started")) > 60, 120)
    rows = s.instances("e2e/alone/*")
    assert not [i for i in rows if i["state"] == "StopSchedule"], rows
    places(s, "sick").mkdir()
    all_succ(s, "e2e/alone/*", MANY)
    until("it is well again", lambda: starts(s, "sick") == "", 60)
    figures = s.ask("GET", "/metrics")[1].decode()
    assert 'sirdar_starts_ok{broker="sick",type="shell"} 1' in figures, figures[-3000:]


@test
def a_job_that_starts_nowhere_holds_back_no_other(s):
    workflow(s, "poison", {"bad": script("true", run_as="nobody-here", priority=10), **tasks(20, "sleep 0.1")})
    all_succ(s, "e2e/poison/t*", 20)
    bad = s.instances("e2e/poison/bad")[0]
    if bad["state"] not in ("StopSchedule", "Killed"):  # what it says of machines is no other test's
        s.sirdar("kill", "--id", bad["id"], "--yes", "--wait")
    s.wait_all_over("e2e/poison/bad", 1)


@test
def few_descriptors_beside_a_well_machine_burn_nothing(s):
    workflow(s, "well", tasks(MANY))  # alone it takes them all, and so is well when it begins to be sick
    all_succ(s, "e2e/well/*", MANY)
    until("the sick one is well", lambda: starts(s, "sick") == "", 60)
    s.brokers["well"].start()
    s.wait_broker("well", ["shell"])
    keeper = s.pids("jobkeeper", f"{s.dir / 'sick'}\0")[0]
    used = len(os.listdir(f"/proc/{keeper}/fd"))
    subprocess.run(["prlimit", "--pid", str(keeper), f"--nofile={used + 1}:"], check=True)
    mark = len(s.base.text())
    workflow(s, "few", tasks(MANY, "sleep 0.05"))
    all_succ(s, "e2e/few/*", MANY)
    # It starts some of its jobs, so what is said of it may be over when the last one ends.
    assert s.base.has(r'broker\.starts broker=sick type=shell state=failing text="[^"]*open files', mark), s.base.tail()


@test
def a_machine_that_fails_for_another_cause_than_before_says_so(s):
    s.brokers["well"].stop()
    keeper = s.pids("jobkeeper", f"{s.dir / 'sick'}\0")[0]
    workflow(s, "cause", tasks(MANY, "sleep 0.05"))  # with so few descriptors some of them start
    until("it is told", lambda: "open files" in starts(s, "sick"), 60)
    shutil.rmtree(places(s, "sick"))
    subprocess.run(["prlimit", "--pid", str(keeper), "--nofile=1024:"], check=True)
    until("the other cause is told", lambda: "sick-work" in starts(s, "sick"), 60)
    places(s, "sick").mkdir()
    all_succ(s, "e2e/cause/*", MANY)


@test
def a_machine_at_jobs_max_is_full_and_not_sick(s):
    """More slots of its types than it may run: what it cannot take waits at the server and counts as no failure."""
    for b in list(s.brokers.values()):
        b.stop()
    s.add_broker("full", types=("shell:16", "http:2"), jobs_max=3, work_dir=s.dir / "work")
    mark = len(s.base.text())
    workflow(s, "full", tasks(60, "sleep 0.02"))
    all_succ(s, "e2e/full/*", 60)
    assert not s.base.has(r"broker\.starts broker=full", mark), s.base.tail()
    back = [e for i in s.instances("e2e/full/*") for e in s.history(i["id"]) if e["event"] == "return"]
    assert not back, (len(back), back[:2])


def make():
    s = Site("sick", start_pause_ms=50, start_pause_max_ms=400)
    s.base.start()
    s.start_cgi()
    for name in ("well", "sick"):
        places(s, name).mkdir()
        s.add_broker(name, types=("shell:16",), work_dir=places(s, name), **s.job_users(e2e="nobody nobody-here"))
    return s


if __name__ == "__main__":
    sys.exit(main(make))
