#!/usr/bin/env python3
"""Which passwords of target servers a machine was given: listed when first and last, durable before they leave, one row for each
two of them whatever the jobs; and the manual's "A machine was broken into" as it stands there. TAP."""
import os
import re
import secrets
import shutil
import sqlite3
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import B, BIN, RUNNERS, Site, main, test, until  # noqa: E402
from peer import Face  # noqa: E402

CANARY = "canary-of-the-exposed"
ODD = "type: odd\nothers: true\nparams:\n  - {name: db, type: server, help: Where it works}\n"


def outputs(s, name, date="2026-03-01"):
    s.command_over(s.command("run-now", selection={"tasks": [name], "dates": [date]}))
    i = s.wait_state(name, f"{date}T00:00:00Z", ("Succ", "Fail", "StopSchedule"), 60)
    assert i["state"] == "Succ", i
    return s.get(f"/api/v1/instances/{i['id']}")["outputs"]


def rows(s, name):
    return {e["server"]: e for e in s.get(f"/api/v1/peers/{name}/exposed")["secrets"]}


def target(s, name, **more):
    s.command_over(s.command("server-set", server=name, host="h", password=CANARY, **more))


def task(s, name, server, group="default"):
    s.apply(f"workflow: {name}\nproject: dw\nstart_date: 2026-03-01\ndefaults: {{cycle: day, catchup: {{mode: none}}}}\ntasks:\n"
            f"  t: {{type: odd, group: {group}, outputs: [secret_db_password], params: {{do: show, db: {server}, names: secret.db.password}}}}\n",
            name + ".yaml")
    return f"dw/{name}/t"


@test
def what_a_machine_was_given_is_listed_once_and_nothing_of_others(s):
    target(s, "warehouse")
    target(s, "mart")
    assert rows(s, "b1") == {}
    use = task(s, "use", "warehouse")
    assert outputs(s, use) == {"secret_db_password": CANARY[::-1]}
    first = rows(s, "b1")
    assert list(first) == ["warehouse"] and first["warehouse"]["first"] <= first["warehouse"]["last"], first
    for day in range(2, 6):
        outputs(s, use, f"2026-03-0{day}")
    assert rows(s, "b1")["warehouse"]["first"] == first["warehouse"]["first"] and len(rows(s, "b1")) == 1
    outputs(s, task(s, "other", "mart"))
    assert set(rows(s, "b1")) == {"warehouse", "mart"}
    shown = s.sirdar("peer", "exposed", "b1").stdout
    assert re.search(r"warehouse .*20\d\d-", shown) and "mart" in shown and CANARY not in shown, shown
    assert s.ask("GET", "/api/v1/peers/b2/exposed")[0] == 404
    audit = str(s.get("/api/v1/audit?limit=100"))
    assert "b1/warehouse" in audit and "peer:b1" in audit, audit


@test
def it_survives_a_restart_and_is_one_row_for_each_two(s):
    was = rows(s, "b1")
    s.base.restart(hard=True)
    until("the cgi has it again", s.up)
    s.wait_broker("b1", ["odd"])
    assert rows(s, "b1") == was
    outputs(s, "dw/use/t", "2026-03-10")
    now = rows(s, "b1")
    assert set(now) == set(was) and now["warehouse"]["first"] == was["warehouse"]["first"], (now, was)
    s.base.stop()
    with sqlite3.connect(s.dir / "base" / "sirdar.db") as db:
        kept = db.execute("SELECT name, version FROM lb_exposed ORDER BY name").fetchall()
    db.close()
    s.base.start()
    until("the cgi has it again", s.up)
    s.wait_broker("b1", ["odd"])
    assert kept == [("b1/mart", 1), ("b1/warehouse", 1)], kept


@test
def who_was_given_nothing_and_who_is_not_known_are_two_answers(s):
    assert "neither a key nor a document of 'nosuch'" in s.sirdar("peer", "exposed", "nosuch", expect=4).stderr
    assert "nothing was given to it" in s.sirdar("peer", "exposed", "cgi").stderr


@test
def only_administrators_are_shown_what_was_given(s):
    """The command that notes it was readable by everybody who may read commands, its id in the list as well."""
    noted = next(c for c in s.get("/api/v1/commands?limit=100")["items"] if c["kind"] == "peer-exposed")
    assert noted["request_id"].split("/")[-1] in s.get(f"/api/v1/commands/{noted['command']}")["args"]
    assert s.ask("POST", "/api/v1/users", {"user": "dev", "role": "developer", "password": "a long password 1"})[0] == 200
    def as_dev(path):
        return s.as_person("dev", "a long password 1", "GET", path)
    assert as_dev(f"/api/v1/commands/{noted['command']}")[0] == 403
    assert "peer-exposed" not in str(as_dev("/api/v1/commands?limit=100"))


@test
def a_server_that_is_gone_stays_listed(s):
    target(s, "brief")
    outputs(s, task(s, "brief", "brief"))
    task(s, "brief", "mart")
    s.command_over(s.command("server-remove", server="brief"))
    assert "brief" in rows(s, "b1")


@test
def nobody_but_the_server_says_what_was_given(s):
    args = {"peer": "b1", "server": "made-up"}
    status, answer = s.ask("POST", "/api/v1/commands", {"kind": "peer-exposed", "args": args})
    assert status in (400, 403, 404), (status, answer)
    with Face(s) as face:
        assert "may not ask for peer-exposed" in face.command("admin", "peer-exposed", **args)
    assert "made-up" not in rows(s, "b1")


def guide(manual):
    """The commands of the manual's guide, in order."""
    text = (Path(__file__).parents[2] / "docs/book" / manual / "keys.md").read_text()
    return re.findall(r"^    (sirdar .*?)(?: {2,}#.*)?$", "    " + text[text.index("sirdar peer revoke etl-2"):].split("\n\n")[0], re.M)


@test
def the_guide_for_a_machine_that_was_broken_into_runs_as_it_stands_there(s):
    word = s.dir / "word"
    word.touch(0o600)
    s.add_broker("etl-2", ("odd:2",), groups="etl-2", runners_dir=s.dir / "plugins")
    outputs(s, task(s, "hit", "warehouse", group="etl-2"))
    for manual in ("en", "zh"):
        lines, told = guide(manual), []
        assert [line.split()[1:3] for line in lines] == [["peer", "revoke"], ["peer", "exposed"], ["target", "set"], ["peer", "invite"]], lines
        word.write_text("another-" + manual)
        for line in lines:
            told.append(s.sirdar(*line.replace("NAME", "warehouse").replace("FILE", str(word)).split()[1:]).stdout)
        assert "warehouse" in told[1] and "mart" not in told[1], told
        assert s.get("/api/v1/peers/etl-2")["state"] == "revoked"
    assert outputs(s, "dw/use/t", "2026-03-20") == {"secret_db_password": word.read_text()[::-1]}


def site():
    s = Site("exposed", types_dir="/nowhere", secrets_key_file="/nowhere")
    shutil.copytree(BIN.parent / "types", s.dir / "types")
    (s.dir / "types/odd.yaml").write_text(ODD)
    plugins = s.dir / "plugins"
    plugins.mkdir()
    for so in (RUNNERS / "noop.so", B / "test/plugins/odd.so"):
        shutil.copy(so, plugins)
    keys = s.dir / "secrets.keys"
    keys.touch(0o600)
    keys.write_text(f"one:{secrets.token_hex(32)}\n")
    s.base_sets.update(types_dir=s.dir / "types", secrets_key_file=keys)
    s.base.argv = s.argv("baseserver", s.base_sets)
    return s.start(types=("odd:8", "noop:2"), runners_dir=plugins)


if __name__ == "__main__":
    sys.exit(main(site))
