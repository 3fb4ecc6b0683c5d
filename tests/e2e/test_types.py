#!/usr/bin/env python3
"""Task types through all real programs: manifests give the API, `sirdar type`, and what a save refuses. TAP."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, main, test, until  # noqa: E402

HEAD = "workflow: w\nproject: types\nstart_date: 2026-03-01\ndefaults: {cycle: day}\ntasks:\n"


def site_with_types():
    site = Site("types", types_dir="/nowhere")
    types = site.dir / "types"
    shutil.copytree(BIN.parent / "types", types)
    site.base_sets["types_dir"] = types
    site.base.argv = site.argv("baseserver", site.base_sets)
    return site.start(types=("shell:2", "noop:2"))


def refused(site, task):
    """The errors of a save of one task, as (path, line, message)."""
    text = HEAD + "  t:\n" + "".join(f"    {line}\n" for line in task.strip().splitlines())
    status, answer = site.ask("POST", "/api/v1/commands", {
        "kind": "apply", "args": {"documents": [{"name": "w.yaml", "text": text}]}})
    return status, str(answer)


def types_of(site):
    return {t["type"]: t for t in site.get("/api/v1/types")["types"]}


@test
def the_api_tells_what_types_declare_and_where_they_run(site):
    shell = types_of(site)["shell"]
    assert shell["declared"] and shell["one_of"] == ["script", "command", "argv"], shell
    assert shell["label"]["zh"] != shell["label"]["en"] != ""
    script = next(p for p in shell["params"] if p["name"] == "script")
    assert script["type"] == "script" and not script["required"] and script["help"]["zh"]
    assert [b["broker"] for b in shell["brokers"]] == ["b1"] and shell["brokers"][0]["state"] == "ready"


@test
def a_save_refuses_wrong_missing_and_doubled_parameters_with_their_place(site):
    status, text = refused(site, "type: noop\nparams: {exit: three}")
    assert status == 400 and "want a whole number" in text and "tasks.t.params.exit" in text, text
    status, text = refused(site, "type: noop\nparams: {verdict: retry}")
    assert status == 400 and "retryable, fatal, infra or not_yet" in text, text
    status, text = refused(site, "type: shell")
    assert status == 400 and "exactly one of the parameters script, command, argv" in text, text
    status, text = refused(site, "type: shell\nparams: {script: ls, command: ls}")
    assert status == 400 and "here are 2" in text, text


@test
def a_manifest_put_there_counts_from_the_next_save_on(site):
    path = site.dir / "types" / "copy.yaml"
    part = path.with_suffix(".new")
    part.write_text("type: copy\nlabel: Copy\nparams:\n"
                    "  - {name: from, required: true, help: Where it is}\n"
                    "  - {name: rate, type: number}\n")
    part.rename(path)
    assert types_of(site)["copy"]["brokers"] == []
    status, text = refused(site, "type: copy\nparams: {fro: /a, rate: 3}")
    assert status == 400 and "no parameter 'fro'" in text and "needs the parameter 'from'" in text, text
    status, text = refused(site, "type: copy\nparams: {from: '$[yyyyMMdd]', rate: 1.5}")
    assert status in (200, 202), text


@test
def a_wrong_manifest_is_left_out_and_said_with_its_place(site):
    path = site.dir / "types" / "bad.yaml"
    part = path.with_suffix(".new")
    part.write_text("type: bad\nparams:\n  - {nme: x}\n")
    part.rename(path)
    answer = site.get("/api/v1/types")
    assert "bad" not in {t["type"] for t in answer["types"]}
    assert any("bad.yaml:3:" in w and "no key 'nme'" in w for w in answer["wrong"]), answer["wrong"]


@test
def check_judges_parameters_by_the_manifests_it_is_given(site):
    path = site.dir / "w.yaml"
    path.write_text(HEAD + "  t: {type: noop, params: {exit: three}}\n")
    site.sirdar("check", "--types", "", str(path))
    done = site.sirdar("check", "--types", str(site.dir / "types"), str(path), expect=1)
    assert "w.yaml:6:34: parameter exit of the task type 'noop' is 'three'" in done.stdout, done.stdout


@test
def check_judges_parameters_by_the_types_the_server_knows(site):
    path = site.dir / "w.yaml"
    kinds = [kind for kind, t in types_of(site).items() if t["declared"]]
    path.write_text(HEAD + "".join(f"  t-{kind}: {{type: {kind}, params: {{verdict: [1]}}}}\n" for kind in kinds))
    done = site.sirdar("check", "--online", str(path), expect=1)
    assert done.stderr == "", done.stderr  # what the API tells of each reads back as its manifest
    assert all(f"the task type '{k}'" in done.stdout for k in ("shell", "noop", "http", "sql")), done.stdout
    path.write_text(HEAD + "  t: {type: noop, params: {verdict: retry}}\n")
    done = site.sirdar("check", "--online", str(path), expect=1)
    assert "retryable, fatal, infra or not_yet" in done.stdout and done.stderr == "", done.stdout + done.stderr
    path.write_text(HEAD + "  t: {type: shell, params: {script: ls}}\n")
    assert "good: 1 workflow, 1 task" in site.sirdar("check", "--online", str(path)).stdout


@test
def type_list_and_show_say_the_same_to_people(site):
    assert "Shell" in site.sirdar("type", "list").stdout
    shown = site.sirdar("type", "show", "noop").stdout
    assert "retryable|fatal" in shown and "b1" in shown, shown
    site.sirdar("type", "show", "nosuch", expect=4)


@test
def a_directory_of_types_that_is_not_there_is_said_at_start_and_in_the_list(site):
    types, away = site.dir / "types", site.dir / "types-away"
    types.rename(away)
    assert "there is no such directory" in site.sirdar("type", "list").stderr
    mark = site.base.log.stat().st_size
    site.base.restart()
    until("it says so at its start", lambda: site.base.has(r"warn types\.wrong .*no such directory", mark))
    away.rename(types)
    until("they are read again", lambda: site.up() and "no such directory" not in str(site.get("/api/v1/types")["wrong"]))


if __name__ == "__main__":
    sys.exit(main(site_with_types))
