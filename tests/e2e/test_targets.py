#!/usr/bin/env python3
"""Target servers through all real programs: set, used, sealed, told to the lease holder alone, a gate, removed. TAP."""
import json
import os
import secrets
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import B, BIN, RUNNERS, Daemon, Site, main, test, until  # noqa: E402

CANARY = "canary-of-the-target"
TOKEN = "canary-of-the-token"
HEAD = "workflow: {}\nproject: {}\nstart_date: 2026-03-01\ndefaults: {{cycle: day, catchup: {{mode: none}}}}\ntasks:\n"
SHOWN = ("db_kind", "db_host", "db_port", "db_user", "db_database", "db_extra_schema", "db_password", "secret_db_password",
         "secret_other")
ODD = """type: odd
others: true
params:
  - {name: db, type: server, help: Where it works}
  - {name: key, secret: true, help: A secret}
"""


def key(name):
    return f"{name}:{secrets.token_hex(32)}\n"


def site_with_targets():
    site = Site("targets", types_dir="/nowhere", secrets_key_file="/nowhere")
    shutil.copytree(BIN.parent / "types", site.dir / "types")
    (site.dir / "types/odd.yaml").write_text(ODD)
    plugins = site.dir / "plugins"
    plugins.mkdir()
    for so in (RUNNERS / "noop.so", RUNNERS / "sql.so", B / "test/plugins/odd.so"):
        shutil.copy(so, plugins)
    site.keys = site.dir / "secrets.keys"
    site.keys.touch(0o600)
    site.keys.write_text(key("one"))
    outside = site.dir / "outside"
    outside.mkdir(0o700)
    site.base_sets.update(types_dir=site.dir / "types", secrets_key_file=site.keys, secret_files_dir=outside, secret_env_prefix="SIRDAR_SECRET_")
    site.base.argv = site.argv("baseserver", site.base_sets)
    return site.start(types=("odd:8", "noop:2", "sql:2"), runners_dir=plugins)


def workflow(name, *lines, project="dw"):
    return HEAD.format(name, project) + "".join(f"  {line}\n" for line in lines)


def refused(s, text):
    status, answer = s.ask("POST", "/api/v1/commands", {
        "kind": "apply", "args": {"documents": [{"name": "w.yaml", "text": text}]}})
    assert status == 400, (status, answer)
    return str(answer)


def outputs(s, task, date="2026-03-01"):
    s.command_over(s.command("run-now", selection={"tasks": [task], "dates": [date]}))
    i = s.wait_state(task, f"{date}T00:00:00Z", ("Succ", "Fail"))
    assert i["state"] == "Succ", i
    return s.get(f"/api/v1/instances/{i['id']}")["outputs"]


@test
def a_target_server_is_made_by_the_command_line_and_its_password_is_never_told(s):
    word = s.dir / "word"
    word.touch(0o600)
    word.write_text(CANARY + "\n")
    s.sirdar("target", "set", "warehouse", "--kind", "mysql", "--host", "db.example.org", "--port", "3306", "--user", "etl",
             "--database", "sales", "--extra", "schema=raw", "--password-file", str(word))
    one = until("it is listed", lambda: [t for t in s.get("/api/v1/servers")["servers"]] or None)[0]
    assert one["host"] == "db.example.org" and one["port"] == 3306 and one["extra"] == {"schema": "raw"}, one
    assert one["has_password"] and one["key"] == "one", one
    assert "db.example.org:3306/sales" in s.sirdar("target", "list").stdout
    word.chmod(0o644)
    assert "others may use it" in s.sirdar("target", "set", "x", "--password-file", str(word), expect=2).stderr


@test
def a_task_uses_it_by_name_and_only_who_holds_the_lease_has_the_password(s):
    s.apply(workflow("use", "t: {type: odd, outputs: [" + ", ".join(SHOWN) + "], params: {do: show, db: warehouse, names: 'db.kind db.host db.port db.user db.database "
                     "db.extra.schema db.password secret.db.password secret.other'}}",
                     "named: {type: odd, outputs: [secret_warehouse, secret_db_password], params: {do: show, key: warehouse, names: 'secret.warehouse secret.db.password'}}",
                     "none: {type: odd, outputs: [secret_warehous, secret_db_password], params: {do: show, names: "
                     "'secret.warehous secret.db.password', at: '${server.warehouse.host}'}}"))
    assert outputs(s, "dw/use/t") == {
        "db_kind": "mysql", "db_host": "db.example.org", "db_port": "3306", "db_user": "etl", "db_database": "sales",
        "db_extra_schema": "raw", "db_password": "(none)", "secret_db_password": CANARY[::-1], "secret_other": "(none)"}
    assert outputs(s, "dw/use/named") == {"secret_warehouse": CANARY[::-1], "secret_db_password": "(none)"}
    assert outputs(s, "dw/use/none") == {"secret_warehous": "(none)", "secret_db_password": "(none)"}


@test
def unknown_servers_and_secrets_are_refused_at_save_with_their_place(s):
    assert "the target server 'nosuch' is unknown" in refused(s, workflow("bad", "t: {type: odd, params: {db: nosuch}}"))
    assert "tasks.t.params.key" in refused(s, workflow("bad", "t: {type: odd, params: {key: 'warehouse, nosuch'}}"))
    assert "without macros" in refused(s, workflow("bad", "t: {type: odd, params: {db: '${run_date}'}}"))
    assert "no target server of that name" in refused(s, workflow("bad", "t: {type: odd, params: {at: '${server.nosuch.host}'}}"))
    s.command_over(s.command("server-set", server="open", host="h"))
    assert "has no password" in refused(s, workflow("bad", "t: {type: odd, params: {key: open}}"))


@test
def a_server_of_some_projects_is_refused_to_others(s):
    s.command_over(s.command("server-set", server="private", host="h", projects=["finance"], password=CANARY))
    assert "is not for this project" in refused(s, workflow("bad", "t: {type: odd, params: {db: private}}"))
    s.apply(workflow("use", "t: {type: odd, params: {db: private}}", project="finance"))
    s.command_over(s.command("server-set", server="private", projects=["sales"]))
    s.command_over(s.command("run-now", selection={"tasks": ["finance/use/t"], "dates": ["2026-03-01"]}))
    i = s.wait_state("finance/use/t", "2026-03-01T00:00:00Z", ("Fail", "StopSchedule"))
    assert "is not for this project" in str(s.get(f"/api/v1/instances/{i['id']}/events")), i


@test
def the_sql_runner_works_where_its_target_server_says(s):
    s.sirdar("target", "set", "file", "--kind", "sqlite", "--database", str(s.dir / "work.db"))
    until("it is known", lambda: s.ask("GET", "/api/v1/servers/file")[0] == 200)
    s.apply(workflow("sql", "t: {type: sql, outputs: [n], params: {server: file, first_row: 'true', "
                     "sql: 'CREATE TABLE x (a INT); INSERT INTO x VALUES (7); SELECT a AS n FROM x'}}"))
    assert outputs(s, "dw/sql/t") == {"n": "7"}
    assert "the target server 'nofile' is unknown" in refused(s, workflow("bad", "t: {type: sql, params: {server: nofile, sql: x}}"))


@test
def files_of_jobs_stay_out_of_what_is_the_brokers_own(s):
    name = next(iter(s.brokers))
    state, at_home = s.dir / name, s.dir / "apart"
    at_home.mkdir()
    (at_home / "way").symlink_to(state)
    (at_home / "leaf.db").symlink_to(state / "leaf.db")
    home = str(at_home / "own.db")
    before = (s.dir / f"{name}.key").read_bytes()
    tries = [{"database": f"{where}/x.db", "sql": "CREATE TABLE x (a)"}
             for where in (state, s.dir / "plugins", at_home / "way", f"{at_home}/../{name}")]
    tries += [{"database": str(at_home / "leaf.db"), "sql": "CREATE TABLE x (a)"}]
    tries += [{"database": f"{home}{n}", "sql": sql} for n, sql in enumerate((  # one each: they run side by side
        f"ATTACH '{state}/x.db' AS y; CREATE TABLE y.x (a)", f"ATTACH '{at_home}/leaf.db' AS y; CREATE TABLE y.x (a)",
        f"ATTACH 'file:{state}/x.db' AS y; CREATE TABLE y.x (a)", f"ATTACH '{at_home}/' || 'way/x.db' AS y; CREATE TABLE y.x (a)",
        f"VACUUM INTO '{state}/x.db'", f"VACUUM INTO '{at_home}/way/x.db'", f"PRAGMA temp_store_directory = '{state}'"))]
    tries += [{"database": home, "sql": "SELECT 1", "csv_file": str(path)} for path in (
        state / "x.csv", at_home / "way/x.csv", s.dir / "plugins/noop.so", s.dir / f"{name}.key")]
    tasks = [f"t{i}: {{type: sql, params: {json.dumps({'kind': 'sqlite', **params})}}}" for i, params in enumerate(tries)]
    s.apply(workflow("kept", *tasks))
    s.command_over(s.command("run-now", selection={"tasks": [f"dw/kept/t{i}" for i in range(len(tries))], "dates": ["2026-03-01"]}))
    for i, params in enumerate(tries):
        ended = s.wait_state(f"dw/kept/t{i}", "2026-03-01T00:00:00Z", ("Succ", "Fail", "StopSchedule"))
        said = str(s.get(f"/api/v1/instances/{ended['id']}/events"))
        words = ("kept from jobs", "not authorized", "leaf.db: unable to open", "leaf.db: cannot be made")
        assert ended["state"] != "Succ" and any(w in said for w in words), (params, said)
    assert not [f for f in [*state.rglob("*"), *(s.dir / "plugins").iterdir()] if f.name.startswith(("x.", "leaf."))]
    assert (s.dir / f"{name}.key").read_bytes() == before
    s.apply(workflow("free", "t: {type: sql, params: " + json.dumps({"kind": "sqlite", "database": home, "csv_file": str(at_home / "o.csv"), "sql":
                     f"ATTACH '{at_home}/two.db' AS y; CREATE TABLE y.x (a); ATTACH ':memory:' AS z; VACUUM INTO '{at_home}/three.db'; SELECT 7 AS n"})
                     + "}"))
    s.command_over(s.command("run-now", selection={"tasks": ["dw/free/t"], "dates": ["2026-03-01"]}))
    ended = s.wait_state("dw/free/t", "2026-03-01T00:00:00Z", ("Succ", "Fail", "StopSchedule"))
    assert ended["state"] == "Succ", s.get(f"/api/v1/instances/{ended['id']}/events")
    assert (at_home / "o.csv").read_text() == "n\n7\n" and (at_home / "three.db").exists()


@test
def the_settings_of_a_broker_and_a_file_of_addresses_that_is_not_there_yet_are_its_own_too(s):
    """A job made the egress file, with `allow` lines of its own; and wrote over the file of -c."""
    home, egress = s.dir / "later", s.dir / "later/egress.conf"
    home.mkdir()
    s.add_key("filed")
    sets = s.broker_sets("filed", ("sql:2",))
    settings = home / "broker.yaml"
    settings.write_text("".join(f"{k}: {json.dumps(str(v).split(',') if k in ('types', 'server') else v if isinstance(v, int) else str(v))}\n"
                                for k, v in sets.items()))
    before = settings.read_text()
    argv = ["/usr/bin/env", f"SIRDAR_EGRESS={egress}", BIN / "taskbroker", "-c", settings]
    broker = s.brokers["filed"] = Daemon(s, "filed", argv, r"broker\.keeper_up").start()
    s.wait_broker("filed", ["sql"])
    params = {"kind": "sqlite", "database": str(s.dir / "filed.db"), "sql": "SELECT 'allow 127.0.0.1' AS a", "csv_header": False}
    tasks = [f"t{i}: {{type: sql, machines: [filed], params: {json.dumps({**params, 'csv_file': str(path)})}}}"
             for i, path in enumerate((egress, settings, home / "free.csv"))]
    s.apply(workflow("filed", *tasks))
    s.command_over(s.command("run-now", selection={"tasks": [f"dw/filed/t{i}" for i in range(3)], "dates": ["2026-03-01"]}))
    ended = [s.wait_state(f"dw/filed/t{i}", "2026-03-01T00:00:00Z", ("Succ", "Fail", "StopSchedule")) for i in range(3)]
    for one in ended[:2]:
        assert one["state"] != "Succ" and "kept from jobs" in str(s.get(f"/api/v1/instances/{one['id']}/events")), one
    assert ended[2]["state"] == "Succ" and not egress.exists() and settings.read_text() == before
    broker.stop()


@test
def a_server_has_more_secrets_by_name_and_each_is_told_by_its_own(s):
    word = s.dir / "word-of-the-token"
    word.touch(0o600)
    word.write_text(TOKEN + "\n")
    s.sirdar("target", "set", "warehouse", "--secret", "token", "--secret-file", str(word))
    s.sirdar("target", "set", "warehouse", "--secret-from", "api=env:SIRDAR_SECRET_API", "--secret-from", "old=file:old")
    s.sirdar("target", "set", "warehouse", "--no-secret", "old")
    one = s.get("/api/v1/servers/warehouse")
    assert [(x["name"], x["key"], (x["from"] or {}).get("path")) for x in one["secrets"]] == [
        ("token", "one", None), ("api", None, "SIRDAR_SECRET_API")], one
    assert one["has_password"] and "token api=env" in s.sirdar("target", "list").stdout
    s.apply(workflow("more", "t: {type: odd, outputs: [secret_warehouse_token, secret_db_token, secret_db_nosuch, secret_db_password], params: {do: show, "
                     "db: warehouse, key: 'warehouse.token', names: 'secret.warehouse.token secret.db.token secret.db.nosuch secret.db.password'}}",
                     "no: {type: odd, outputs: [secret_warehouse_token], params: {do: show, key: warehouse, names: 'secret.warehouse.token'}}",
                     "tell: {type: odd, params: {do: tell, key: warehouse.token}}"))
    assert outputs(s, "dw/more/t") == {"secret_warehouse_token": TOKEN[::-1], "secret_db_token": TOKEN[::-1],
                                       "secret_db_nosuch": "(none)", "secret_db_password": CANARY[::-1]}
    assert outputs(s, "dw/more/no") == {"secret_warehouse_token": "(none)"}
    s.command_over(s.command("run-now", selection={"tasks": ["dw/more/tell"], "dates": ["2026-03-01"]}))
    told = s.wait_state("dw/more/tell", "2026-03-01T00:00:00Z", ("Fail", "StopSchedule"))
    said = str(s.log_of(told["id"])) + str(s.get(f"/api/v1/instances/{told['id']}/events"))
    assert "******" in said and TOKEN not in said, said
    given = {e["server"] for e in s.get(f"/api/v1/peers/{next(iter(s.brokers))}/exposed")["secrets"]}
    assert {"warehouse", "warehouse.token"} <= given and "warehouse.api" not in given, given


@test
def secrets_that_are_not_there_too_many_or_misnamed_are_refused(s):
    assert "has no secret of that name" in refused(s, workflow("bad", "t: {type: odd, params: {key: warehouse.nosuch}}"))
    assert "names more than 32 secrets" in refused(s, workflow("bad", "t: {type: odd, params: {key: '" + "warehouse " * 33 + "'}}"))
    s.apply(workflow("many", "t: {type: odd, params: {key: '" + "warehouse " * 32 + "'}}"))
    for name in ("password", "a.b", "x" * 61, ""):
        assert "is no name of one" in str(s.command("server-set", server="warehouse", secrets={name: "v"}, expect=(400,))), name
    s.command_over(s.command("server-set", server="many", secrets={f"s{i}": f"value-{i}" for i in range(16)}))
    assert "at most 16" in str(s.command("server-set", server="many", secrets={"one-more": "value"}, expect=(429,)))
    s.command_over(s.command("server-set", server="many", secrets={"s0": "", "one-more": "value"}))
    assert len(s.get("/api/v1/servers/many")["secrets"]) == 16


@test
def a_password_that_logs_will_not_hide_is_kept_and_that_is_said(s):
    word = s.dir / "short"
    word.touch(0o600)
    word.write_text("abc\n")
    assert "logs of jobs will not hide it" in s.sirdar("target", "set", "brief", "--password-file", str(word)).stderr
    assert "secret has less than 4 bytes" in s.sirdar("target", "set", "brief", "--secret", "pin", "--secret-file", str(word)).stderr
    word.write_text("abcd\n")
    assert not s.sirdar("target", "set", "brief", "--password-file", str(word)).stderr


@test
def its_slots_are_a_gate_that_why_names(s):
    s.command_over(s.command("server-set", server="narrow", host="h", concurrency=1))
    s.apply(workflow("gate", "t: {type: odd, params: {do: stuck, db: narrow}}", "u: {type: odd, params: {do: x, db: narrow}}"))
    s.command_over(s.command("run-now", selection={"tasks": ["dw/gate/t"], "dates": ["2026-03-01"]}))
    s.wait_state("dw/gate/t", "2026-03-01T00:00:00Z", "Running")
    s.command_over(s.command("run-now", selection={"tasks": ["dw/gate/u"], "dates": ["2026-03-01"]}))
    i = s.wait_state("dw/gate/u", "2026-03-01T00:00:00Z", "DependenceFinish")

    def why():
        w = s.get(f"/api/v1/instances/{i['id']}/why")
        return w if w["code"] == "server_full" else None
    assert until("why names the server", why)["args"]["server"] == "narrow"
    s.command_over(s.command("server-set", server="narrow", concurrency=0))
    s.wait_state("dw/gate/u", "2026-03-01T00:00:00Z", "Succ")
    s.command("kill", selection={"tasks": ["dw/gate/t"], "states": ["Running"]}, grace_ms=1)


@test
def the_password_is_sealed_at_rest_and_in_no_log_audit_or_answer(s):
    files = [f for f in s.dir.rglob("*") if f.is_file() and f.name not in ("word", "word-of-the-token", "secrets.keys") and ".so" not in f.suffix]
    assert files
    # What the job itself gave out is the job's: its outputs are in the store.
    s.base.stop()
    s.base.start()
    until("the cgi is up", lambda: s.up())
    assert CANARY not in str(s.get("/api/v1/servers")) + str(s.get("/api/v1/audit?limit=200")) + str(s.get("/api/v1/commands?limit=100"))
    for file in files:
        assert file.suffix != ".log" or not any(c in file.read_text(errors="replace") for c in (CANARY, TOKEN)), file
    assert TOKEN not in str(s.get("/api/v1/servers")) + str(s.get("/api/v1/audit?limit=200")) + str(s.get("/api/v1/commands?limit=100"))
    assert "(not kept)" in str(s.get("/api/v1/audit?action=server-set")["items"])


@test
def after_a_restart_and_with_another_key_the_password_is_still_told(s):
    s.keys.write_text(key("two") + s.keys.read_text())
    assert s.get("/api/v1/servers/warehouse")["key"] == "one"
    assert outputs(s, "dw/use/t", "2026-03-02")["secret_db_password"] == CANARY[::-1]
    s.sirdar("target", "rekey")
    until("sealed with the first key", lambda: s.get("/api/v1/servers/warehouse")["key"] == "two")
    s.keys.write_text(s.keys.read_text().splitlines()[0] + "\n")
    assert outputs(s, "dw/use/t", "2026-03-03")["secret_db_password"] == CANARY[::-1]
    assert outputs(s, "dw/more/t", "2026-03-03")["secret_db_token"] == TOKEN[::-1]


@test
def a_key_file_that_others_may_read_is_refused(s):
    s.keys.chmod(0o640)
    answer = s.command("server-set", server="late", password="x", expect=(200, 201, 202, 409))
    assert "others may use it" in str(answer) + str(s.get("/api/v1/commands?limit=1")), answer
    s.keys.chmod(0o600)


@test
def a_server_in_use_stays_and_one_out_of_use_goes(s):
    s.command("server-remove", server="nosuch", expect=(404,))
    assert "uses the target server warehouse" in str(s.command("server-remove", server="warehouse", expect=(409,)))
    s.sirdar("target", "remove", "open")
    until("it is gone", lambda: "open" not in [t["server"] for t in s.get("/api/v1/servers")["servers"]])
    assert s.ask("GET", "/api/v1/servers/open")[0] == 404


@test
def target_servers_are_documents_of_apply_diff_export_and_check(s):
    folder = s.dir / "docs"
    (folder / "secrets").mkdir(parents=True)
    (folder / "secrets/lake").write_text(f"{CANARY}-lake\n")
    (folder / "secrets/lake").chmod(0o600)
    page = folder / "lake.yaml"
    text = ("# where the lake is\ntarget: lake\nkind: postgresql\nhost: lake.lan\nport: 5432\nuser: etl\nconcurrency: 3\n"
            "extra: {schema: public}\nprojects: [retail]\npassword_file: secrets/lake\n---\n" + HEAD.format("docs", "retail")
            + "  t: {type: odd, params: {db: lake, do: x}}\n")
    page.write_text(text)
    assert "good: 1 workflow" in s.sirdar("check", "--types", "", str(page)).stdout
    assert "+ target lake" in s.sirdar("apply", str(page)).stdout
    kept = s.get("/api/v1/servers/lake")
    assert kept["has_password"] and kept["extra"] == {"schema": "public"} and kept["projects"] == ["retail"], kept
    assert "0 changed" in s.sirdar("apply", str(page)).stdout and "0 changed" in s.sirdar("diff", "--exit-code", str(page)).stdout
    page.write_text(text.replace("port: 5432\n", "").replace("lake.lan", "lake2.lan"))
    said = s.sirdar("diff", "--exit-code", str(page), expect=1).stdout
    assert "~ target lake" in said and "- port: 5432" in said and "+ host: lake2.lan" in said, said
    assert s.get("/api/v1/servers/lake")["host"] == "lake.lan"
    s.sirdar("apply", str(page))
    kept = s.get("/api/v1/servers/lake")
    assert kept["host"] == "lake2.lan" and not kept["port"] and kept["has_password"], kept


@test
def exported_targets_have_no_password_and_applying_them_changes_nothing(s):
    before = s.get("/api/v1/servers/lake")["version"]
    exported = s.sirdar("export", "--all").stdout
    assert "target: lake" in exported and CANARY not in exported and "sealed" not in exported, exported
    page = s.dir / "docs/all.yaml"
    page.write_text("---\n".join(d for d in exported.split("---\n") if d.startswith("target:")))
    assert " 0 changed" in " " + s.sirdar("apply", str(page)).stdout
    assert s.get("/api/v1/servers/lake")["version"] == before
    s.sirdar("apply", "--passwords", s.dir / "docs/lake.yaml")
    assert s.get("/api/v1/servers/lake")["version"] > before


@test
def what_is_wrong_in_a_target_document_has_its_place(s):
    page = s.dir / "docs/wrong.yaml"
    page.write_text("pool: p\nslots: 1\n---\ntarget: lake\npassword: secret\nhots: x\nport: many\n")
    for command in ("apply", "check"):
        done = s.sirdar(command, str(page), expect=1)
        said = done.stdout + done.stderr
        assert "wrong.yaml:5:1: a document has no password in it" in said and "wrong.yaml:6:1" in said, said
        assert "wrong.yaml:7:7: port wants a whole number" in said, said


main(site_with_targets)
