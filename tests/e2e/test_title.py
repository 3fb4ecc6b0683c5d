#!/usr/bin/env python3
"""What people see besides the id of a workflow or a task: `title`, through all real programs. TAP."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

TEXT = """workflow: sales
project: shop
title: 零售 · 日报 (🛒 daily)
timezone: UTC
start_date: 2026-03-01
end_date: 2026-03-03
defaults: {type: noop, cycle: day, catchup: {mode: all}}
tasks:
  load:
    title: %s
  sum:
    needs: [load]
"""


def tasks(s):
    return {t["task"]: t for t in s.get("/api/v1/tasks?prefix=shop/sales")["items"]}


def rows(s):
    return sorted((i["id"], i["state"], i["ended"]) for i in s.instances("shop/sales/*"))


@test
def titles_stand_besides_the_ids_wherever_these_are_listed_and_come_back_whole(s):
    s.apply(TEXT % "Load « the till »", **{"from": "2026-03-01"})
    s.wait_all_over("shop/sales/*", 6)
    have = tasks(s)
    assert have["shop/sales/load"]["title"] == "Load « the till »" and have["shop/sales/sum"]["title"] == "", have
    assert {t["workflow_title"] for t in have.values()} == {"零售 · 日报 (🛒 daily)"}, have
    flows = {w["name"]: w for w in s.get("/api/v1/workflows")["items"]}
    assert flows["shop/sales"]["title"] == "零售 · 日报 (🛒 daily)", flows
    graph = json.dumps(s.get("/api/v1/graph/shop/sales"), ensure_ascii=False)
    assert "Load « the till »" in graph, graph
    assert "Load « the till »" in s.sirdar("task", "list", "shop/sales").stdout
    assert "零售 · 日报 (🛒 daily)" in s.sirdar("workflow", "list").stdout
    assert "Load « the till »" in s.sirdar("task", "show", "shop/sales/load").stdout
    assert s.ask("GET", "/api/v1/tasks/Load")[0] == 404  # ids are what one types
    assert s.apply(TEXT % "\u2764\ufe0f a heart in colour") and tasks(s)["shop/sales/load"]["title"][1] == "\ufe0f"
    s.apply(TEXT % "Load « the till »")
    text = s.sirdar("export", "shop/sales").stdout
    path = s.dir / "again.yaml"
    path.write_text(text)
    assert "零售 · 日报 (🛒 daily)" in text and "Load « the till »" in text, text
    assert s.sirdar("check", path).returncode == 0


@test
def a_title_alone_is_an_edit_that_plans_and_runs_nothing_anew(s):
    was, before = tasks(s), rows(s)
    s.apply(TEXT % "Read the till")
    now = tasks(s)
    assert now["shop/sales/load"]["title"] == "Read the till", now
    assert now["shop/sales/load"]["version"] == was["shop/sales/load"]["version"] + 1, now
    for key in ("planned_through", "begins", "state", "start", "end"):
        assert now["shop/sales/load"][key] == was["shop/sales/load"][key], key
    assert rows(s) == before
    s.apply((TEXT % "Read the till").replace("title: 零售 · 日报 (🛒 daily)\n", "").replace("    title: Read the till\n", "    type: noop\n"))
    assert {w["title"] for w in s.get("/api/v1/workflows")["items"] if w["name"] == "shop/sales"} == {""}
    assert {t["title"] for t in tasks(s).values()} == {""}
    assert rows(s) == before
    s.apply(TEXT % "Back")
    s.base.restart()
    until("the server is up again", s.up)
    assert tasks(s)["shop/sales/load"]["title"] == "Back"
    s.sirdar("freeze", "shop/sales/load")  # a change of the row by the server that read it anew
    assert tasks(s)["shop/sales/load"]["title"] == "Back" and tasks(s)["shop/sales/load"]["frozen"]


@test
def a_title_that_is_no_line_of_text_is_refused_with_its_place(s):
    path = s.dir / "bad.yaml"
    for title, says in (('"a\\tb"', "U+0009 has no place in one line"), ('"a\\nb"', "U+000A has no place in one line"),
                        ('"a\\u202Eb"', "U+202E has no place in one line"), ('" "', "nothing of it can be seen"),
                        ("[x]", "title is a list"), ("x" * 201, "at most 200 bytes"),
                        *((f'"a\\u{p}b"', f"U+{p} has no place in one line") for p in (
                            "200B", "200D", "200F", "FEFF", "00AD", "061C", "2060", "3164")), ('""', "want one line of text")):
        path.write_text(TEXT % title)
        done = s.sirdar("check", path, expect=None)
        said = done.stdout + done.stderr
        assert done.returncode and "bad.yaml:10:12: " in said and says in said and "tasks.load.title" in said, (title, done)


PROJECT = "project: shop\ntitle: %s\n"


def projects(s):
    return {d["name"]: d for d in s.get("/api/v1/parameters")["items"]}


@test
def a_title_alone_is_a_document_of_a_project_and_stays_with_all_that_changes_it(s):
    s.apply(PROJECT % "零售 · the shop", "p.yaml")
    assert projects(s)["parameters/shop"]["title"] == "零售 · the shop", projects(s)
    path = s.dir / "p.yaml"
    alert = "alerts:\n  - {when: [failed], to: ['oncall:d']}\nsilences:\n  - {until: 2099-01-01T00:00:00Z, reason: move}\n"
    path.write_text(PROJECT % "零售 · the shop" + alert)
    s.sirdar("apply", str(path))
    s.sirdar("param", "set", "--project", "shop", "db=dw")  # each of these writes the document anew
    s.sirdar("quota", "set", "shop", "7")
    s.sirdar("param", "remove", "--project", "shop", "db")
    have = projects(s)["parameters/shop"]
    assert have["title"] == "零售 · the shop", have
    for words in ("title: 零售 · the shop", "oncall:d", "reason: move", "running: 7"):
        assert words in have["document"], (words, have)
    s.base.restart()
    until("the server is up again", s.up)
    assert projects(s)["parameters/shop"]["title"] == "零售 · the shop"
    text = s.sirdar("export", "shop").stdout
    assert "title: 零售 · the shop" in text, text
    s.sirdar("param", "set", "lake=east")
    assert projects(s)["parameters"]["title"] == "", projects(s)


@test
def what_is_wrong_with_the_whole_of_a_document_is_said_without_a_path(s):
    path = s.dir / "p.yaml"
    path.write_text("project: shop\n")
    for verb in ("check", "apply"):
        done = s.sirdar(verb, str(path), expect=None)
        said = done.stdout + done.stderr
        assert done.returncode and "p.yaml:1:1: a document of a project needs a `title`, `parameters`" in said, said
    path.write_text(PROJECT % '"a\\u200Bb"')
    done = s.sirdar("apply", str(path), expect=None)
    assert done.returncode and "p.yaml:2:8: 'a" in done.stderr and "(title)" in done.stderr and "U+200B has no place" in done.stderr, done


if __name__ == "__main__":
    sys.exit(main(lambda: Site("title").start(("noop:16",))))
