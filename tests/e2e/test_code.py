#!/usr/bin/env python3
"""Workflows as code through all real programs: parameters and where they come from, outputs between
tasks, diff, apply, export. TAP."""
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

DAY = "2026-03-01"
AT = "2026-03-01T00:00:00Z"


def put(site, name, text):
    path = site.dir / name
    path.write_text(text)
    return str(path)


def flow(name, tasks, head=""):
    return (f"workflow: {name}\nproject: code\nstart_date: {DAY}\nend_date: 2099-01-01\n{head}"
            "defaults: {type: shell, cycle: day, catchup: {mode: none}}\ntasks:\n" + tasks)


def run(site, name, *more):
    site.sirdar("backfill", "--workflow", f"code/{name}", "--date", DAY, "--yes", "--wait", *more)
    rows = site.wait_all_over(f"code/{name}/*", 2)
    assert all(r["state"] == "Succ" for r in rows), rows


def redo(site, task, *more):
    """Of one finished instance; over when its generation has a good end."""
    was = site.instance(task, AT)["generation"]
    site.sirdar("redo", task, DAY, "--yes", "--wait", *more)
    until(f"{task} ran again", lambda: (site.instance(task, AT)["generation"] > was and
                                        site.instance(task, AT)["state"] == "Succ"))


def said(site, task):
    """What it printed, without its outputs: logs may come after the end."""
    row = site.instance(task, AT)
    path = f"/api/v1/instances/{row['id']}/log?generation={row['generation']}&attempt={row['attempt']}"

    def look():
        status, text = site.ask("GET", path)
        text = text.decode() if isinstance(text, bytes) else text
        return text.strip().splitlines() if status == 200 and text else None
    return until(f"{task} printed something", look)


@test
def an_output_reaches_the_child_and_is_shown(s):
    s.sirdar("apply", put(s, "out.yaml", flow("out", """\
  count:
    outputs: [row_count, file]
    params: {script: "echo sirdar:output row_count=42; echo sirdar:output file=a b.csv; echo sirdar:output other=1"}
  report:
    needs: [count]
    params: {script: "echo rows ${count.row_count} of ${file}, ${count.row_count:-none}"}
""")))
    run(s, "out")
    assert said(s, "code/out/report") == ["rows 42 of a b.csv, 42"]
    shown = json.loads(s.sirdar("run", "show", "code/out/count", DAY, "--json").stdout)
    assert shown["outputs"] == {"row_count": "42", "file": "a b.csv"}, shown
    assert "row_count" in s.sirdar("run", "show", "code/out/count", DAY).stdout
    notes = [e["note"] or "" for e in s.history(shown["id"])]
    assert any("'other' not kept" in n for n in notes), notes


@test
def outputs_survive_a_restart_and_a_redo_replaces_them(s):
    s.sirdar("apply", put(s, "again.yaml", flow("again", """\
  count:
    outputs: [n]
    params: {script: "echo sirdar:output n=${word}", word: one}
  report: {needs: [count], params: {script: "echo ${count.n}"}}
""")))
    run(s, "again")
    s.base.restart(hard=True)
    redo(s, "code/again/report")
    assert said(s, "code/again/report") == ["one"]
    redo(s, "code/again/count", "--param", "word=two")
    redo(s, "code/again/report")
    assert said(s, "code/again/report") == ["two"]


@test
def a_missing_output_fails_the_child_with_its_reason_or_gives_the_default(s):
    s.sirdar("apply", put(s, "miss.yaml", flow("miss", """\
  count: {outputs: [n], params: {script: "true"}}
  strict: {needs: [count], retry: {attempts: 3}, params: {script: "echo ${count.n}"}}
  easy: {needs: [count], params: {script: "echo ${count.n:-0 rows}"}}
""")))
    s.sirdar("backfill", "--workflow", "code/miss", "--date", DAY, "--yes")
    row = s.wait_state("code/miss/strict", AT, ["StopSchedule"])
    assert row["reason"] == "params", row
    notes = " ".join(e["note"] or "" for e in s.history(row["id"]))
    assert "${count.n}: the last success of code/miss/count" in notes, notes
    s.wait_state("code/miss/easy", AT, ["Succ"])
    assert said(s, "code/miss/easy") == ["0 rows"]


@test
def names_that_nobody_declares_are_refused_at_save(s):
    bad = put(s, "bad.yaml", flow("bad", """\
  count: {outputs: [row_count], params: {script: "true"}}
  report: {needs: [count], params: {script: "echo ${count.row_cuont}"}}
  other: {params: {script: "echo ${server.dw.host}"}}
  third: {params: {script: "echo ${databse}"}, needs: [count]}
"""))
    done = s.sirdar("apply", bad, expect=1)
    for word in ("count declares no output 'row_cuont'", "${count.row_count}",
                 "no target server of that name"):
        assert word in done.stderr, done.stderr


@test
def parameters_come_from_the_nearest_place_that_has_them(s):
    s.sirdar("apply", put(s, "scopes.yaml", """\
global: {a: global, b: global, c: global, d: global, e: global, f: global, g: global}
---
project: code
parameters: {b: project, c: project, d: project, e: project, f: project, g: project}
---
""" + flow("near", """\
  parent:
    outputs: [d, e, f, g]
    params: {script: "for k in d e f g; do echo sirdar:output $k=output; done"}
  child:
    needs: [parent]
    params: {e: task, f: task, g: task, script: "echo ${a} ${b} ${c} ${d} ${e} ${f} ${g}"}
""", "parameters: {c: workflow, d: workflow, e: workflow, f: workflow, g: workflow}\n")))
    run(s, "near", "--param", "f=instance", "--param", "g=instance")
    assert said(s, "code/near/child") == ["global project workflow output task instance instance"]
    redo(s, "code/near/child", "--param", "g=run")
    assert said(s, "code/near/child") == ["global project workflow output task instance run"]
    shown = json.loads(s.sirdar("run", "show", "code/near/child", DAY, "--json").stdout)
    assert shown["run_parameters"] == {"g": "run"}, shown
    assert shown["instance_parameters"] == {"f": "instance", "g": "instance"}, shown


@test
def parameters_are_set_listed_and_removed_one_by_one(s):
    s.sirdar("param", "set", "--project", "shop", "db=dw", "days=30")
    s.sirdar("param", "set", "zone=eu")
    listed = json.loads(s.sirdar("param", "list", "--project", "shop", "--json").stdout)
    assert {"project": "shop", "name": "days", "value": "30"} in listed, listed
    assert "zone" in s.sirdar("param", "list").stdout
    s.sirdar("apply", put(s, "uses.yaml",
                          "workflow: w\nproject: shop\ntasks:\n  t: {type: shell, cycle: none, "
                          "params: {script: \"echo ${db} ${zone}\"}}\n"))
    refused = s.sirdar("param", "remove", "--project", "shop", "db", expect=1).stderr
    assert "shop/w/t uses a parameter that goes" in refused, refused
    s.sirdar("param", "remove", "--project", "shop", "days")
    listed = json.loads(s.sirdar("param", "list", "--project", "shop", "--json").stdout)
    assert [p["name"] for p in listed] == ["db"], listed


# --- documents in and out

def chance(r, odds, make):
    return make() if r.random() < odds else None


def some(r, **makers):
    """A map with some of these keys."""
    return {k: v for k, v in ((k, chance(r, 0.5, make)) for k, make in makers.items()) if v is not None}


def text_of(r):
    odd = ["plain", "with: colon", "# no comment", "'quoted'", '"double"', "  blanks  ", "two\nlines\n", "- dash", "yes",
           "null", "5", "1e3", "0x1f", "中文 and more", "tab\there", "{braces}", "[1]", "&anchor", "*star", "!tag", "%d", "@at",
           "`tick`", "trailing:", "~", "", "$$PATH", "a" * 300, "\\back", "\u00a0space", "= equals", "| bar", "> fold"]
    return r.choice(odd)


def random_task(r, others):
    task = {"type": r.choice(["shell", "noop"]), **r.choice([
        {"cycle": "day"}, {"cycle": "2 hour"}, {"cron": "0 6 * * *"}, {"cycle": "day", "fire": "end", "offset": "30m"}])}
    if task["type"] == "shell":
        task["params"] = {"script": text_of(r) or "true", **some(
            r, n=lambda: r.randint(0, 9), list=lambda: [1, "1", True], map=lambda: {"a": text_of(r)})}
    task.update(some(
        r, description=lambda: text_of(r) or "x", owner=lambda: "li.wei", priority=lambda: r.randint(1, 10),
        pools=lambda: {"dw_slots": r.randint(1, 5)}, catchup=lambda: {"mode": "latest", "max": 7},
        retry=lambda: {"attempts": 3, "delay": "1m", "backoff": "exponential", "cap": "10m"},
        alive_wait=lambda: "2h", kill_grace=lambda: "90s", late_after=lambda: "15m", expire_after=lambda: "end of local day", concurrency=lambda: 2,
        serial=lambda: r.choice(["ordered", "unordered"]), run_as=lambda: "dw", outputs=lambda: ["row_count"],
        timezone=lambda: "Europe/Berlin", dispatch=lambda: "hash", state=lambda: r.choice(["frozen", "draft"])))
    if others:
        parent = r.choice(others)
        task["needs"] = [r.choice([{"task": parent, "depend": -1}, {
            "task": parent, "window": "[@day-1d, @day)", "strategy": "at_least 2", "on": "done", "pass_after": "2h"}])]
        task["join"] = r.choice(["all", "any", 1])
    return task


def random_document(r, name):
    if r.random() < 0.2:
        step = {"type": "shell", "params": {"script": text_of(r) or "true"}, "timeout": "30s", "retries": 2, "directory": "/srv"}
        return {"pipeline": name, "project": "random", "cron": "0 0 5 * * ? *", "overlap": False, "nodes": ["b1"],
                "steps": [{"name": "one", **step}, {"name": "two", **step, "dependence": "weak"}], "failed": {"type": "noop"}}
    tasks = {}
    for i in range(r.randint(1, 5)):
        tasks[f"t{i}"] = random_task(r, list(tasks))
    doc = {"workflow": name, "project": "random", "start_date": "2026-03-01", "tasks": tasks}
    doc.update(some(
        r, description=lambda: text_of(r) or "x", owner=lambda: "team a", timezone=lambda: "Asia/Shanghai",
        parameters=lambda: {"db": "dw", "days": 30, "text": text_of(r)}, quota=lambda: {"running": 5},
        alerts=lambda: [{"when": ["failed", "late"], "to": ["mail:dw@example.org", "webhook:oncall"]}],
        defaults=lambda: {"priority": 3, "alive_wait": "1h"},
        baselines=lambda: [{"task": "t0", "committed": "08:00", "margin": "30m"}]))
    return doc


@test
def a_project_has_its_quota_and_a_pool_its_slots_as_code(s):
    def pools():
        return {(p["kind"], p["name"]): p["size"] for p in s.get("/api/v1/pools")["pools"]}
    doc = put(s, "quotas.yaml", "project: quotas\nquota: {running: 7}\nparameters: {db: dw}\n---\npool: lake\nslots: 3\n"
              "---\nworkflow: w\nproject: quotas\ntasks:\n  t: {type: noop, cycle: none, pools: {lake: 2}}\n")
    assert "quotas" in s.sirdar("diff", doc).stdout
    s.sirdar("apply", doc)
    assert pools()["project", "quotas"] == 7 and pools()["pool", "lake"] == 3, pools()
    assert "running: 7" in s.sirdar("export", "quotas").stdout
    s.sirdar("quota", "set", "quotas", "9")
    s.sirdar("param", "set", "--project", "quotas", "keep=1")
    out = s.sirdar("export", "quotas").stdout
    assert "running: 9" in out and "db: dw" in out and "keep" in out, out
    everything = s.sirdar("export", "--all").stdout
    assert "pool: lake" in everything and "slots: 3" in everything and "running: 9" in everything
    answer = json.loads(s.sirdar("diff", "--json", put(s, "everything.yaml", everything)).stdout)
    assert all(c["change"] == "same" for c in answer["changes"]), answer
    s.sirdar("apply", put(s, "noquota.yaml", "project: quotas\nparameters: {db: dw}\n"))
    assert ("project", "quotas") not in pools(), pools()
    for text, word in (("project: quotas\nquota: {running: 0}\n", "1 to"), ("pool: lake\n", "slots"),
                       ("pool: lake\nslots: 0\n", "1 to"), ("pool: lake\nslots: 1\nsize: 2\n", "size"),
                       ("project: quotas\n", "quota")):
        bad = s.sirdar("check", put(s, "bad_quota.yaml", text), expect=1)
        assert word in bad.stdout + bad.stderr, (text, bad.stdout, bad.stderr)


@test
def what_is_exported_and_applied_again_changes_nothing(s):
    r = random.Random(20260301)
    project = put(s, "random_project.yaml", "project: random\ndescription: of the test\nparameters: {a: 1, b: 'two: 2'}\n")
    files = [project] + [put(s, f"random{i}.json", json.dumps(random_document(r, f"w{i}"))) for i in range(40)]
    s.sirdar("pool", "set", "dw_slots", "10")
    s.sirdar("apply", *files)
    for again in (files, [put(s, "export.yaml", s.sirdar("export", "random").stdout)]):
        answer = json.loads(s.sirdar("diff", "--json", *again).stdout)
        changed = [c for c in answer["changes"] if c["change"] != "same"]
        assert not changed and len(answer["changes"]) > 80, changed[:3]
        assert s.sirdar("diff", "--exit-code", *again).stdout.endswith(" as before\n")
    first = s.sirdar("export", "random").stdout
    s.sirdar("apply", str(s.dir / "export.yaml"))
    assert s.sirdar("export", "random").stdout == first
    assert "good: 40 workflows" in s.sirdar("check", str(s.dir / "export.yaml")).stdout
    one = s.sirdar("export", "random/w0").stdout
    assert one in first and "---" not in one


@test
def several_files_are_applied_all_or_none_and_prune_retires_the_rest(s):
    a, b = (put(s, f"set_{n}.yaml", f"workflow: {n}\nproject: sets\ntasks:\n  t: {{type: noop, cycle: none}}\n")
            for n in "ab")
    bad = put(s, "set_c.yaml", "workflow: c\nproject: sets\ntasks:\n  t: {type: noop, cycle: none, needs: [nobody]}\n")
    err = s.sirdar("apply", a, b, bad, expect=1).stderr
    assert "set_c.yaml:4:" in err and "sets/c/nobody" in err, err
    s.sirdar("export", "sets", expect=4)
    s.sirdar("apply", a, b)
    assert s.sirdar("diff", "--exit-code", "--prune", "sets", a, expect=1).stdout.count("- workflow sets/b") == 1
    s.sirdar("apply", "--prune", "sets", "--yes", a)
    assert "workflow: b" not in s.sirdar("export", "sets").stdout
    assert s.sirdar("diff", "--exit-code", "--prune", "sets", a).stdout == "0 changed, 2 as before\n"
    changed = put(s, "set_a.yaml", "workflow: a\nproject: sets\ntasks:\n  t: {type: noop, cycle: none, priority: 9}\n")
    answer = json.loads(s.sirdar("diff", "--json", changed).stdout)
    assert {"field": "priority", "before": None, "after": "9"} in \
        [f for c in answer["changes"] for f in c["fields"]], answer


if __name__ == "__main__":
    sys.exit(main(lambda: Site("code").start()))
