#!/usr/bin/env python3
"""Names in any script, everywhere they travel: documents, the API's paths and arguments, the command line,
logs, history, jobs' environment, metrics, export and back, the seeds' interfaces; what looks the same, mixes
scripts or cannot be seen is refused with its reason. TAP."""
import json
import os
import random
import re
import subprocess
import sys
import unicodedata
from urllib.parse import quote

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, main, test, until  # noqa: E402

DATE = "2026-03-01"
LOAD, SUM = "零售/日报/装载", "零售/日报/汇总"
REPORT = f"""workflow: 日报
project: 零售
start_date: {DATE}
end_date: {DATE}
defaults: {{type: shell, cycle: day, timezone: UTC, catchup: {{mode: all}}}}
tasks:
  装载:
    outputs: [rows]
    params: {{script: 'echo "sirdar:output rows=7"'}}
  汇总:
    needs: [装载]
    params:
      script: |
        echo "共 ${{装载.rows}} 行"
        env | grep '^SIRDAR' | sort
"""
SEEDS = {"chin_project": "种子", "jarvis2_project": "jarvis", "crontab_project": "定时", "ects_project": "ects"}


def path(name):
    return quote(name)


def day(s, task):
    return s.wait_state(task, f"{DATE}T00:00:00Z", "Succ", 60)


def refused(s, text):
    """The errors of an apply that is refused, all of them."""
    status, answer = s.ask("POST", "/api/v1/workflows", {"request_id": os.urandom(8).hex(),
                                                         "documents": [{"name": "名.yaml", "text": text}]})
    assert status == 400, (status, answer)
    return answer["error"]["details"]["errors"] if "details" in answer["error"] else answer["error"]


@test
def a_long_wrong_value_in_chinese_is_answered_with_its_place(s):
    for key, value in (("title", "汇" * 67), ("cycle", "每天" * 40), ("start_date", "三月" * 40), ("cron", "x" + "汇" * 60)):
        task = f"{{type: noop, {key}: {value}}}"
        answer = s.command("apply", expect=(400,), documents=[
            {"name": "长.yaml", "text": f"workflow: 长\nproject: 零售\ntasks:\n  a: {task}\n"}])
        [error] = answer["error"]["details"]["errors"][:1]
        assert error["line"] == 4 and key in json.dumps(error), answer
        assert "is not text" not in str(answer), answer


@test
def a_workflow_in_chinese_runs_and_is_found_by_its_name(s):
    s.apply(REPORT, **{"from": DATE})
    one = day(s, SUM)
    assert one["task"] == SUM, one
    log = s.log_of(one["id"])
    log = log.decode() if isinstance(log, bytes) else log
    assert "共 7 行" in log, log
    assert s.history(one["id"]), "history"
    assert s.get(f"/api/v1/tasks/{path(SUM)}")["task"] == SUM
    assert s.get(f"/api/v1/workflows/{path('零售/日报')}")["name"] == "零售/日报"
    for route in ("graph", "runs", "grid", "lineage"):
        assert s.ask("GET", f"/api/v1/{route}/{path('零售/日报')}")[0] in (200, 400), route
    assert [t["task"] for t in s.get(f"/api/v1/tasks?prefix={quote('零售/日报', safe='')}")["items"]] == sorted([SUM, LOAD])
    assert {i["task"] for i in s.instances("零售/日报/*")} == {SUM, LOAD}
    redo = s.command("redo", selection={"instances": [{"task": SUM, "run_date": DATE}]})
    s.command_over(redo)
    until("it ran again", lambda: s.get(f"/api/v1/instances/{one['id']}")["generation"] > one["generation"]
          and s.get(f"/api/v1/instances/{one['id']}")["state"] == "Succ", 60)
    why = s.get(f"/api/v1/instances/{one['id']}/why")
    assert why, why
    assert SUM in json.dumps(s.get(f"/api/v1/links/{path(SUM)}"), ensure_ascii=False)


@test
def a_path_is_decoded_once(s):
    assert s.ask("GET", f"/api/v1/tasks/{quote(quote(SUM))}")[0] == 404
    assert s.ask("GET", f"/api/v1/tasks/{quote(SUM)}%25")[0] == 404
    assert s.ask("GET", "/api/v1/tasks/%E6%B1%27")[0] in (400, 404)  # half a letter
    assert s.ask("GET", f"/api/v1/tasks/{quote(SUM, safe='')}")[0] == 200  # slashes too


@test
def the_command_line_takes_and_shows_them(s):
    for more in ({}, {"LC_ALL": "C", "LANG": "C"}):
        env = dict(s.env, SIRDAR_TOKEN_FILE=str(s.dir / "token"), **more)
        out = subprocess.run([str(BIN / "sirdar"), "task", "list"], capture_output=True, env=env, timeout=60)
        rows = out.stdout.decode().splitlines()
        assert any(SUM in r for r in rows), rows
        # a column begins at one place for all, letters of two cells counted as two
        at = {sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in r[:re.search(r"shell", r).start()])
              for r in rows if "shell" in r}
        assert len(at) == 1, rows
    assert "succeeded" in s.sirdar("why", SUM, DATE).stdout
    assert SUM in s.sirdar("run", "show", SUM, DATE).stdout
    assert "共 7 行" in s.sirdar("logs", SUM, DATE).stdout
    assert s.sirdar("task", "show", SUM).stdout
    s.sirdar("redo", SUM, DATE, "--yes", "--message", "再来")
    until("it ran", lambda: s.instance(SUM, f"{DATE}T00:00:00Z")["state"] == "Succ", 60)


@test
def export_and_apply_give_the_same_back(s):
    out = s.sirdar("export", "零售/日报").stdout
    assert "workflow: 日报" in out and "汇总:" in out and "needs:" in out, out
    before = s.get(f"/api/v1/workflows/{path('零售/日报')}")["version"]
    (s.dir / "导出.yaml").write_text(out, encoding="utf-8")
    s.sirdar("check", "导出.yaml")
    s.sirdar("apply", "导出.yaml")
    assert s.get(f"/api/v1/workflows/{path('零售/日报')}")["version"] == before


@test
def names_are_kept_in_one_normal_form(s):
    s.apply("workflow: cafe\u0301\nproject: 零售\ntasks:\n  が集計: {type: noop, cycle: none}\n"
            "  b: {type: noop, cycle: none, needs: [{task: が集計, depend: 1}]}\n")
    assert s.get(f"/api/v1/tasks/{path('零售/café/が集計')}")["task"] == "零售/café/が集計"
    # whoever asks in the other form means the same
    assert s.get(f"/api/v1/tasks/{path(unicodedata.normalize('NFD', '零售/café/が集計'))}")["task"] == "零售/café/が集計"
    run = s.command("run-now", selection={"tasks": [unicodedata.normalize("NFD", "零售/café/が集計")]}, off_plan=True)
    assert s.command_over(run)["state"] == "done"


@test
def what_looks_the_same_as_a_name_in_force_is_refused_and_names_it(s):
    one = "tasks: {a: {type: noop, cycle: none}}\n"
    s.apply("workflow: Load\nproject: alike\n" + one)
    for text, other in (("workflow: load\nproject: alike\n" + one, "alike/Load"),
                        ("workflow: Ｌｏａｄ\nproject: alike\n" + one, "alike/Load"),
                        ("workflow: w\nproject: Alike\n" + one, "alike"),
                        ("workflow: w\nproject: alike\ntasks: {ＡＢ: {type: noop, cycle: none}, ab: {type: noop, cycle: none}}\n",
                         "alike/w/ＡＢ")):
        found = json.dumps(refused(s, text), ensure_ascii=False)
        assert "look the same" in found and f"'{other}'" in found, (text, found)
    s.apply("workflow: load\nproject: other\n" + one)  # another project's names are its own


@test
def a_project_that_looks_like_another_comes_into_being_in_no_way(s):
    one = "tasks: {a: {type: noop, cycle: none}}\n"
    s.apply("workflow: w\nproject: twin\n" + one)
    told = s.command("quota-set", project="Twin", running=5, expect=(400,))
    assert "'Twin' and 'twin' look the same" in json.dumps(told, ensure_ascii=False), told
    for project in ("Twin", "ｔｗｉｎ"):
        for words in (("quota", "set", project, "5"), ("param", "set", "--project", project, "a=1")):
            done = s.sirdar(*words, expect=1)
            assert f"'{project}' and 'twin' look the same" in done.stderr, (words, done.stderr)
        found = json.dumps(refused(s, f"project: {project}\nquota: {{running: 3}}\n"), ensure_ascii=False)
        assert "look the same" in found and "'twin'" in found, found
    # in force by its quota alone, or by its document alone, it is one as well
    s.sirdar("quota", "set", "bare", "5")
    s.sirdar("param", "set", "--project", "paper", "a=1")
    for project in ("Bare", "Paper"):
        found = json.dumps(refused(s, f"workflow: w\nproject: {project}\n" + one), ensure_ascii=False)
        assert f"'{project}' and '{project.lower()}' look the same" in found, found
    s.sirdar("quota", "set", "bare", "6")  # itself is not another
    s.sirdar("param", "set", "--project", "paper", "a=2")
    s.sirdar("quota", "set", "Bare", "0")  # to take away what is not there makes nothing


@test
def the_command_line_takes_a_project_in_either_form_of_its_letters(s):
    s.sirdar("param", "set", "--project", unicodedata.normalize("NFD", "café"), "a=1")
    assert "a" in s.sirdar("param", "list", "--project", "café").stdout
    s.sirdar("quota", "set", unicodedata.normalize("NFD", "café"), "5")
    assert "café" in s.sirdar("pool", "list").stdout


@test
def what_is_no_name_is_told_why_with_its_place(s):
    long = "汇" * 22
    found = refused(s, f"workflow: w\nproject: p\ntasks:\n  pаy: {{type: noop, cycle: none}}\n  a\u200bb: {{type: noop, cycle: none}}\n"
                       f"  {long}: {{type: noop, cycle: none}}\n  c: {{type: noop, cycle: none, needs: [{'x' * 70}]}}\n")
    told = {e["line"]: e["message"] for e in found}
    assert "mixes letters of Latin and Cyrillic" in told[4], told
    assert "U+200B is not allowed: it cannot be seen" in told[5], told
    assert "it has 66 bytes, at most 64 are allowed" in told[6], told
    assert "it has 70 bytes, at most 64 are allowed" in told[7], told


@test
def a_project_in_chinese_has_a_quota_people_and_parameters(s):
    s.command_over(s.command("quota-set", project="零售", running=5))
    assert "零售" in json.dumps(s.get("/api/v1/pools"), ensure_ascii=False)
    s.command_over(s.command("group-set", group="shop", role="viewer", projects=["零售"]))
    s.apply("project: 零售\nparameters: {region: 华东}\n")
    assert "华东" in s.sirdar("param", "list", "--project", "零售").stdout
    for kind, args in (("quota-set", {"project": "汇" * 22, "running": 5}), ("pool-set", {"pool": "池", "size": 5}),
                       ("apply", {"documents": [{"name": "f", "text": "global: {a: b}"}], "prune": ["a b"]})):
        status, answer = s.ask("POST", "/api/v1/commands", {"kind": kind, "args": args, "request_id": os.urandom(8).hex()})
        assert status == 400 and "is not a name: " in answer["error"]["message"], (kind, status, answer)


@test
def the_seeds_keep_the_names_that_people_give(s):
    ask = {"Authorization": f"Bearer {s.token}"}
    import test_seeds as seeds
    job = {"name": "每晚清理", "command": "echo 好", "cronExpr": "0 0 1 1 *"}
    assert seeds.cron(s, "POST", "/job/save", form={"job": json.dumps(job)}) is None
    assert seeds.cron(s, "GET", "/job/list") == [job]
    assert s.get(f"/api/v1/tasks/{path('定时/每晚清理/每晚清理')}")["task"] == "定时/每晚清理/每晚清理"
    odd = {**job, "name": "每晚 清理!"}
    assert seeds.cron(s, "POST", "/job/save", form={"job": json.dumps(odd)}) is None
    assert sorted(j["name"] for j in seeds.cron(s, "GET", "/job/list")) == sorted([job["name"], odd["name"]])
    status, answer = seeds.ask(s, "POST", "/api/job/submit", {}, headers=ask)
    assert status in (200, 400), answer


@test
def a_job_that_a_former_release_named_keeps_its_name(s):
    import test_seeds as seeds
    former = "_.5cb37237a2"  # what 1.x made of 每日汇总
    doc = {"workflow": former, "project": "定时", "description": "每日汇总",
           "tasks": {former: {"type": "shell", "cron": "0 0 1 1 *", "catchup": {"mode": "none"}, "params": {"script": "echo 1"}}}}
    s.apply(json.dumps(doc, ensure_ascii=False))
    job = {"name": "每日汇总", "command": "echo 2", "cronExpr": "30 0 1 1 *"}
    was = seeds.cron(s, "POST", "/job/save", form={"job": json.dumps(job)})
    assert was and was["command"] == "echo 1", was  # the old one
    assert "echo 2" in json.dumps(s.get(f"/api/v1/workflows/{path('定时/' + former)}"), ensure_ascii=False)
    assert s.ask("GET", f"/api/v1/tasks/{path('定时/每日汇总/每日汇总')}")[0] == 404
    assert [j for j in seeds.cron(s, "GET", "/job/list") if j["name"] == "每日汇总"] == [job]
    seeds.cron(s, "POST", "/job/delete", form={"name": "每日汇总"})
    seeds.cron(s, "POST", "/job/save", form={"job": json.dumps(job)})  # the next one is called as people call it
    assert s.ask("GET", f"/api/v1/tasks/{path('定时/每日汇总/每日汇总')}")[0] == 200


def draw(dice):
    """A text of some letters, of one block more often than not."""
    block = dice.choice((0x40, 0x60, 0xc0, 0x370, 0x410, 0x5d0, 0x620, 0x900, 0xe00, 0x3040, 0x30a0, 0x4e00, 0x6c00, 0x9f00, 0xac00, 0xd700,
                         0xff20, 0x20000, 0x1100, 0x3100, 0x2000, 0x1f600))
    text = "".join(chr(dice.randrange(0x110000) if dice.random() < 0.02 else block + dice.randrange(48)) for _ in range(dice.randint(1, 8)))
    return "".join(c for c in text if not 0xd800 <= ord(c) < 0xe000)


@test
def every_name_that_is_taken_survives_and_none_that_is_refused_harms(s):
    dice, taken, refusals = random.Random(int(os.environ.get("SEED", "7"))), set(), 0
    for _ in range(20):
        names = {draw(dice) for _ in range(40)} - {""}
        while names:
            text = json.dumps({"workflow": "乱", "project": "随机", "tasks": {
                n: {"type": "noop", "cycle": "none"} for n in sorted(names | taken)}})
            status, answer = s.ask("POST", "/api/v1/commands", {
                "kind": "apply", "request_id": os.urandom(8).hex(), "args": {"documents": [{"name": "f", "text": text}]}})
            if status in (200, 201, 202):
                taken |= {unicodedata.normalize("NFC", n) for n in names}
                break
            assert status == 400, (status, answer)
            errors = answer["error"]["details"]["errors"]
            assert errors and all(e["code"] in ("wrong_name", "alike_name", "key", "twice", "yaml", "syntax") or e["message"]
                                  for e in errors), errors
            refusals += len(errors)
            named = {n for n in names if any(e["path"].endswith("." + n) or f"/{unicodedata.normalize('NFC', n)}'" in e["message"]
                                             or e["path"].endswith("." + unicodedata.normalize("NFC", n)) for e in errors)}
            names = names - named if named else set()
    assert len(taken) > 20 and refusals > 20, (len(taken), refusals)
    s.base.restart(hard=True)
    until("it leads again", s.up, 60)
    out = s.sirdar("export", "随机/乱").stdout
    version = s.get(f"/api/v1/workflows/{path('随机/乱')}")["version"]
    for name in taken:
        full = "随机/乱/" + name
        assert s.get(f"/api/v1/tasks/{path(full)}")["task"] == full, name
    (s.dir / "乱.yaml").write_text(out, encoding="utf-8")
    s.sirdar("apply", "乱.yaml")
    assert s.get(f"/api/v1/workflows/{path('随机/乱')}")["version"] == version


def site():
    s = Site("names")
    s.cgi.argv += [w for k, v in SEEDS.items() for w in ("--set", f"{k}={v}")]
    s.start()
    return s


if __name__ == "__main__":
    sys.exit(main(site))
