#!/usr/bin/env python3
"""Whose jobs a machine is given: one that gives projects no users of their own takes trusted projects' jobs only, and
a broker whose peer's document names projects takes theirs only. What waits for that says who can help, and how. TAP."""
import os
import sqlite3
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, Skip, main, test, until  # noqa: E402

AT = "2026-03-01T00:00:00Z"
ENDS = ("Succ", "StopSchedule", "Killed", "Hanged")


def workflow(project, name, type_="shell", script="true", group="", machines=""):
    return f"workflow: {name}\nproject: {project}\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\n" \
           f"tasks:\n  t:\n    type: {type_}\n    cycle: day\n    catchup: {{mode: all}}\n" + \
           (f"    group: {group}\n" if group else "") + (f"    machines: [{machines}]\n" if machines else "") + \
           (f"    params: {{script: '{script}'}}\n" if type_ == "shell" else "")


def job(s, project, name, **how):
    s.apply(workflow(project, name, **how), **{"from": "2026-03-01"})
    return f"{project}/{name}/t"


def waits(s, task, code):
    """Until `why` says so -> its answer."""
    def look():
        for i in s.instances(task):
            answer = s.get(f"/api/v1/instances/{i['id']}/why")
            if answer["code"] == code:
                return answer
        return None
    return until(f"{task} waits: {code}", look, 60)


def ran_on(s, task):
    i = s.wait_state(task, AT, ENDS, 60)
    assert i["state"] == "Succ", i
    return i["broker"]


def marks(s):
    return {p["project"]: (p["trusted"], p["by"]) for p in s.get("/api/v1/projects")["projects"]}


# --- trust

@test
def a_new_project_waits_and_apply_and_why_name_the_command_that_helps(s):
    path = s.dir / "shop.yaml"
    path.write_text(workflow("shop", "first"))
    told = s.sirdar("apply", str(path), "--from", "2026-03-01", "--yes")
    assert "project shop is new and not trusted" in told.stdout + told.stderr, told
    assert "sirdar project trust shop" in told.stdout + told.stderr, told
    why = waits(s, "shop/first/t", "untrusted")
    assert why["line"] == "project shop is not trusted, and b1 does not separate projects", why
    assert "`sirdar project trust shop`" in why["opens"] and "job_uids" in why["opens"] and "administrator" in why["opens"], why
    assert why["gate"] == 10 and "{" not in why["opens"], why
    assert s.instance("shop/first/t", AT)["state"] not in ENDS
    assert marks(s)["shop"] == (False, "setting"), marks(s)
    assert "shop is trusted" in s.sirdar("project", "trust", "shop").stdout
    assert ran_on(s, "shop/first/t") == "b1"
    assert marks(s)["shop"] == (True, "administrator"), marks(s)
    told = s.sirdar("apply", str(path), "--yes")
    assert "not trusted" not in told.stdout + told.stderr, told


@test
def what_is_marked_before_it_has_work_starts_at_once_and_says_nothing(s):
    s.sirdar("project", "trust", "early", "零售")
    path = s.dir / "early.yaml"
    path.write_text(workflow("early", "one"))
    told = s.sirdar("apply", str(path), "--from", "2026-03-01", "--yes")
    assert "trusted" not in told.stdout + told.stderr, told
    ran_on(s, "early/one/t")
    ran_on(s, job(s, "零售", "one"))


@test
def untrust_holds_back_what_has_not_begun_and_nothing_else(s):
    s.sirdar("project", "trust", "left", "beside")
    gate = s.dir / "data" / "go"
    running = job(s, "left", "runs", script=f"until [ -e {gate} ]; do sleep 0.1; done")
    s.wait_state(running, AT, "Running", 60)
    s.sirdar("project", "untrust", "left")
    waits(s, job(s, "left", "late"), "untrusted")
    ran_on(s, job(s, "beside", "goes"))
    gate.touch()
    ran_on(s, running)
    assert s.instance("left/late/t", AT)["state"] not in ENDS
    s.base.restart()
    until("the cgi is back", s.up)
    until("b1 is back", lambda: any(b["name"] == "b1" and b["online"] for b in s.get("/api/v1/brokers")["brokers"]))
    waits(s, "left/late/t", "untrusted")
    assert marks(s)["left"] == (False, "administrator"), marks(s)
    s.sirdar("project", "trust", "left")
    ran_on(s, "left/late/t")


@test
def every_part_of_a_spread_task_asks_for_trust_too(s):
    s.apply(workflow("spread", "wide", type_="noop").replace("cycle: day", "cycle: day\n    dispatch: broadcast"), **{"from": "2026-03-01"})
    waits(s, "spread/wide/t", "untrusted")
    s.sirdar("project", "trust", "spread")
    i = s.wait_state("spread/wide/t", AT, ENDS, 60)
    assert i["state"] == "Succ", i


@test
def a_forecast_names_the_same_gate(s):
    today = time.strftime("%Y-%m-%d", time.gmtime())
    s.apply(workflow("seen", "later").replace("2026-03-01", today), **{"from": today})
    waits(s, "seen/later/t", "untrusted")
    f = s.get("/api/v1/forecast?name=seen/later")
    assert f["instances"] and "project seen is not trusted" in str(f["instances"]), f


@test
def only_an_administrators_session_marks_a_project(s):
    for user, role in (("op2", "operator"), ("boss", "admin")):
        s.ask("POST", "/api/v1/users", {"user": user, "role": role, "password": "a long password 1"})
    for verb in ("trust", "untrust"):
        status, answer = s.as_person("op2", "a long password 1", "POST", f"/api/v1/projects/mine/{verb}", {})
        assert status == 403, (verb, status, answer)
        status, answer = s.as_person("op2", "a long password 1", "POST", "/api/v1/commands",
                                     {"kind": f"project-{verb}", "args": {"project": "mine"}, "request_id": os.urandom(16).hex()})
        assert status == 403, (verb, status, answer)
    assert s.as_person("op2", "a long password 1", "GET", "/api/v1/projects")[0] == 403
    assert "mine" not in marks(s)
    status, answer = s.as_person("boss", "a long password 1", "POST", "/api/v1/projects/mine/trust", {"message": "they are ours"})
    assert status == 200 and marks(s)["mine"] == (True, "administrator"), (status, answer)
    audit = s.get("/api/v1/audit?limit=20")["items"]
    assert any(r["action"] == "save trust" and "mine" in str(r) and r["actor"] == "boss" for r in audit), audit
    for wrong in ("", "a/b", "x" * 100):
        assert s.sirdar("project", "trust", wrong, expect=None).returncode != 0, wrong


@test
def a_machine_that_gives_projects_users_of_their_own_takes_them_all(s):
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")
    task = job(s, "tenant", "apart")
    waits(s, task, "untrusted")
    s.add_broker("apart", types=("shell:8",), job_uids="59100-59110")
    assert ran_on(s, task) == "apart"
    for n in range(3):
        assert ran_on(s, job(s, "tenant", f"more{n}")) == "apart"
    # One that is full or drained is the reason where others may not have it.
    s.sirdar("broker", "drain", "apart", "--yes")
    why = waits(s, job(s, "tenant", "drained"), "broker_not")
    assert "apart: drained" in why["line"], why
    s.sirdar("broker", "undrain", "apart", "--yes")
    ran_on(s, "tenant/drained/t")
    s.brokers["apart"].stop()


@test
def projects_of_before_are_trusted_and_named_until_somebody_looks(s):
    s.sirdar("project", "trust", "veteran")
    ran_on(s, job(s, "veteran", "old"))
    s.base.stop()
    with sqlite3.connect(s.dir / "base" / "sirdar.db") as db:
        db.execute("DROP TABLE lb_trust")
        db.execute("DROP TABLE lb_exposed")
        db.execute("DROP TABLE lb_factor")
        db.execute("DROP TABLE lb_session")  # 0027
        db.execute("ALTER TABLE lb_command DROP COLUMN projects")  # 0028
        for table in ("channel", "oncall", "rule"):  # 0029
            db.execute(f"DROP TABLE lb_{table}")
        db.execute("ALTER TABLE lb_task DROP COLUMN quarantined_us")  # 0023
        for table in ("lb_task_run", "lb_task_run_history"):  # 0024
            for column in ("looks", "kept_number"):
                db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        db.execute("DELETE FROM lb_migration WHERE number >= 22")
        db.execute("PRAGMA user_version = 21")
    db.close()
    s.base.start()
    until("the cgi is let in", s.up)
    assert marks(s)["veteran"] == (True, "upgrade"), marks(s)
    problem = next(p for p in s.get("/api/v1/server")["problems"] if "veteran" in p)
    assert "sirdar project trust NAME" in problem and "untrust" in problem, problem
    until("b1 is back", lambda: any(b["name"] == "b1" and b["online"] for b in s.get("/api/v1/brokers")["brokers"]))
    ran_on(s, job(s, "veteran", "new"))
    waits(s, job(s, "newcomer", "one"), "untrusted")
    old = [name for name, (_, by) in marks(s).items() if by == "upgrade"]
    s.sirdar("project", "untrust", "veteran")
    s.sirdar("project", "trust", *[name for name in old if name != "veteran"])
    assert not s.get("/api/v1/server")["problems"], s.get("/api/v1/server")
    waits(s, job(s, "veteran", "newer"), "untrusted")


@test
def trust_new_projects_trusts_all_but_those_of_which_an_administrator_says_no(s):
    assert s.get("/api/v1/server")["trust_new_projects"] is False
    waits(s, job(s, "anyone", "one"), "untrusted")
    usual, s.base.argv = s.base.argv, s.argv("baseserver", {**s.base_sets, "trust_new_projects": "true"})
    s.sirdar("project", "untrust", "nobody")
    s.base.restart()
    until("the cgi is back", s.up)
    until("b1 is back", lambda: any(b["name"] == "b1" and b["online"] for b in s.get("/api/v1/brokers")["brokers"]))
    assert s.get("/api/v1/server")["trust_new_projects"] is True
    ran_on(s, "anyone/one/t")
    waits(s, job(s, "nobody", "one"), "untrusted")
    s.base.argv = usual
    s.base.restart()
    until("the cgi is back", s.up)


# --- projects of a broker's document

def bind(s, name, *projects):
    s.sirdar("peer", "set", name, "--kind", "broker", *(w for p in projects or ("",) for w in ("--project", p)))


def bound_broker(s, name, *projects):
    s.add_key(name)
    bind(s, name, *projects)
    s.add_broker_of(name, types=("shell:8",), groups=name)
    s.wait_broker(name, ["shell"])


@test
def a_broker_is_given_jobs_of_the_projects_of_its_document_only(s):
    s.sirdar("project", "trust", "mine", "yours", "ours")
    bound_broker(s, "narrow", "mine", "ours")
    assert ran_on(s, job(s, "mine", "here", group="narrow")) == "narrow"
    yours = job(s, "yours", "held", group="narrow")
    why = waits(s, yours, "peer_projects")
    assert why["line"] == "narrow may not be given jobs of project yours: its document has mine, ours", why
    assert "`sirdar peer set narrow --project`" in why["opens"], why
    assert ran_on(s, job(s, "ours", "beside", group="narrow")) == "narrow"  # what may not start holds back nobody
    assert ran_on(s, job(s, "yours", "any")) == "b1"
    mark = s.base.log.stat().st_size
    bind(s, "narrow", "mine", "yours")
    assert ran_on(s, yours) == "narrow"
    waits(s, job(s, "ours", "late", group="narrow"), "peer_projects")
    bind(s, "narrow")
    assert ran_on(s, "ours/late/t") == "narrow"
    assert not s.base.has(r"session\.end .*name=narrow", mark), s.base.tail()  # nobody had to greet anew
    s.brokers["narrow"].stop()


@test
def projects_of_a_broker_hold_for_what_names_the_machine_and_after_a_restart(s):
    s.sirdar("project", "trust", "mine", "yours")
    bound_broker(s, "closed", "mine")
    waits(s, job(s, "yours", "named", machines="closed"), "peer_projects")
    assert ran_on(s, job(s, "mine", "named", machines="closed")) == "closed"
    s.apply(workflow("yours", "parts", machines="closed").replace("cycle: day", "cycle: day\n    dispatch: broadcast"), **{"from": "2026-03-01"})
    until("its part waits", lambda: any("may not be given" in str(s.get(f"/api/v1/instances/{i['id']}/why"))
                                        for i in s.instances("yours/parts/t")), 60)
    s.base.restart()
    until("the cgi is back", s.up)
    s.wait_broker("closed", ["shell"])
    waits(s, "yours/named/t", "peer_projects")
    assert ran_on(s, job(s, "mine", "again", machines="closed")) == "closed"
    assert s.instance("yours/named/t", AT)["state"] not in ENDS
    s.brokers["closed"].stop()


@test
def a_broker_of_some_projects_asks_for_trust_as_others_do(s):
    s.sirdar("project", "trust", "mine")
    bound_broker(s, "both", "mine", "apart")
    why = waits(s, job(s, "apart", "one", group="both"), "untrusted")
    assert "both does not separate" in why["line"], why
    waits(s, job(s, "foreign", "one", group="both"), "peer_projects")
    s.sirdar("project", "trust", "apart")
    assert ran_on(s, "apart/one/t") == "both"
    s.brokers["both"].stop()


@test
def a_liar_about_separation_gets_no_more_than_the_projects_of_its_document(s):
    if os.geteuid() != 0:
        raise Skip("needs root: a broker that says it separates")
    s.add_key("liar")
    bind(s, "liar", "lied")
    s.add_broker_of("liar", types=("shell:8",), groups="liar", job_uids="59200-59210")
    s.wait_broker("liar", ["shell"])
    assert ran_on(s, job(s, "lied", "one", group="liar")) == "liar"
    waits(s, job(s, "secret", "one", group="liar"), "peer_projects")
    s.brokers["liar"].stop()


@test
def no_figure_has_two_rows_though_classes_differ_by_whose_work_they_are(s):
    status, text = s.ask("GET", "/metrics")
    rows = [line.rsplit(" ", 1)[0] for line in (text if isinstance(text, str) else text.decode()).splitlines() if line[:1] not in ("#", "")]
    assert status == 200 and len(rows) > 50, (status, text)
    twice = {r for r in rows if rows.count(r) > 1}
    assert not twice, twice


def make():
    s = Site("trusted", trust_new_projects="false")
    return s.start().believe()


if __name__ == "__main__":
    sys.exit(main(make))
