#!/usr/bin/env python3
"""Secrets that are kept outside, through all real programs: in files, in the server's environment, printed by a program, in a
vault (vault_like.py says what that is). Told to the lease holder alone, masked in what jobs print, in no log, answer, argument or
file; what cannot be had holds a job back with its reason and burns no attempt. TAP."""
import os
import secrets
import shutil
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import B, BIN, RUNNERS, Site, main, test, until  # noqa: E402
from vault_like import Vault  # noqa: E402

CANARY = "canary-from-the-vault"
FILED, VARIABLE, PRINTED = "canary-of-a-file", "canary-of-a-variable", "canary-of-a-program"
HEAD = "workflow: {}\nproject: dw\nstart_date: 2026-03-01\ndefaults: {{cycle: day, catchup: {{mode: none}}}}\ntasks:\n"
ODD = """type: odd
others: true
params:
  - {name: db, type: server, help: Where it works}
  - {name: key, secret: true, help: A secret}
"""
PROGRAM = """#!/bin/sh
[ "$1" = one/name ] || { echo "secret? no" >&2; exit 3; }
case "$2" in
slow) sleep 600 ;;
leaves) sleep 601 >&- & printf '%s\\n' """ + PRINTED + """ ;;
much) head -c 40000 /dev/zero | tr '\\0' x ;;
none) ;;
*) printf '%s\\n' """ + PRINTED + """ ;;
esac
"""


def site_with_sources():
    site = Site("vault", types_dir="/nowhere")
    shutil.copytree(BIN.parent / "types", site.dir / "types")
    (site.dir / "types/odd.yaml").write_text(ODD)
    plugins = site.dir / "plugins"
    plugins.mkdir()
    for so in (RUNNERS / "noop.so", RUNNERS / "shell.so", B / "test/plugins/odd.so"):
        shutil.copy(so, plugins)
    shutil.copy(RUNNERS / "shell.so", plugins / "plain.so")  # the server has no manifest of that type
    files = site.files = site.dir / "outside"
    files.mkdir(0o700)
    put(files / "word", FILED + "\n")
    put(files / "open", FILED)
    (files / "open").chmod(0o644)
    put(files / "empty", "\n")
    put(site.dir / "program", PROGRAM)
    (site.dir / "program").chmod(0o700)
    put(site.dir / "secret-id", "id-of-the-secret\n")
    site.vault = Vault()
    site.vault.kv["kv/data/warehouse"] = {"password": CANARY, "user": "etl", "none": "", "n": 5}
    site.env.update(SIRDAR_SECRET_WORD=VARIABLE, OTHER_WORD="not for jobs")
    site.base_sets.update(types_dir=site.dir / "types", secret_files_dir=files, secret_env_prefix="SIRDAR_SECRET_",
                          secret_exec=site.dir / "program", secret_timeout_ms=3000, secret_keep_ms=2000, vault_url=site.vault.url,
                          vault_role="role-1", vault_credential_file=site.dir / "secret-id", infra_max=4)
    site.base.argv = site.argv("baseserver", site.base_sets)
    site.start(types=("odd:8", "noop:2", "shell:4", "plain:2"), runners_dir=plugins)
    site.n = 0
    return site


def put(path, text):
    path.touch(0o600)
    path.write_text(text)


def place(s, name, expect=(200, 201, 202), **password):
    answer = s.command("server-set", server=name, host="h", password=password, expect=expect)
    if expect[0] == 200:
        s.command_over(answer)
    return answer


def task_of(s, name, do="show", more=""):
    """A task that asks for the password of that target server, begun."""
    s.n += 1
    s.apply(HEAD.format(f"w{s.n}") + f"  t: {{type: odd, outputs: [secret_db_password], params: {{do: {do}, db: {name}, names: "
            f"'secret.db.password'}}{more}}}\n")
    s.command_over(s.command("run-now", selection={"tasks": [f"dw/w{s.n}/t"], "dates": ["2026-03-01"]}))
    return f"dw/w{s.n}/t"


def told(s, name):
    i = s.wait_state(task_of(s, name), "2026-03-01T00:00:00Z", ("Succ", "StopSchedule"))
    assert i["state"] == "Succ", s.history(i["id"])
    return s.get(f"/api/v1/instances/{i['id']}")["outputs"]["secret_db_password"][::-1]


def held(s, name, words):
    """A task that is held back, with that reason in `why`, in its history and in the server's log: -> its name."""
    task = task_of(s, name)
    i = s.wait_state(task, "2026-03-01T00:00:00Z", ("Failed", "StopSchedule"))
    def why():
        said = s.get(f"/api/v1/instances/{i['id']}/why")  # of a moment: it is tried again meanwhile
        return said if said["code"] in ("secret", "over") and words in said["line"] else None
    assert until("why says it", why)
    assert f"the secret password of target server {name}" in str(s.history(i["id"])) and words in str(s.history(i["id"])), s.history(i["id"])
    assert i["attempt"] == 0 and "started" not in str(s.history(i["id"])), i
    return task


@test
def a_secret_of_a_file_a_variable_a_program_and_a_vault_reaches_the_job(s):
    for name, value, ref in (("in-file", FILED, {"from": "file", "path": "word"}),
                             ("in-env", VARIABLE, {"from": "env", "path": "SIRDAR_SECRET_WORD"}),
                             ("in-exec", PRINTED, {"from": "exec", "path": "one/name", "key": "password"}),
                             ("in-vault", CANARY, {"from": "vault", "path": "kv/data/warehouse", "key": "password"})):
        place(s, name, **ref)
        assert told(s, name) == value, name
        shown = s.get(f"/api/v1/servers/{name}")
        assert shown["has_password"] and {k: v for k, v in shown["password_from"].items() if v} == ref, shown


@test
def what_jobs_print_shows_no_such_secret(s):
    s.apply(HEAD.format("printed") + "  t: {type: shell, params: {script: 'cat $SIRDAR_FILES/in-vault; echo; cat $SIRDAR_FILES/in-file', "
            "secrets: 'in-vault in-file'}}\n")
    s.command_over(s.command("run-now", selection={"tasks": ["dw/printed/t"], "dates": ["2026-03-01"]}))
    i = s.wait_state("dw/printed/t", "2026-03-01T00:00:00Z", ("Succ", "StopSchedule"))
    assert i["state"] == "Succ", s.history(i["id"])
    said = until("its log is there", lambda: str(s.log_of(i["id"])))
    assert said.count("******") == 2 and CANARY not in said and FILED not in said, said


@test
def a_secret_that_cannot_be_had_holds_the_job_back_says_why_and_burns_no_attempt(s):
    s.vault.denied.add("kv/data/secret")
    put(s.dir / "outside/link-target", FILED)
    for name, words, ref in (
            ("gone", "vault answered 404", {"from": "vault", "path": "kv/data/nosuch", "key": "password"}),
            ("kept", "vault answered 403 for kv/data/secret: permission denied", {"from": "vault", "path": "kv/data/secret", "key": "password"}),
            ("keyless", "has no text 'token'", {"from": "vault", "path": "kv/data/warehouse", "key": "token"}),
            ("number", "has no text 'n'", {"from": "vault", "path": "kv/data/warehouse", "key": "n"}),
            ("empty", "its value is empty", {"from": "vault", "path": "kv/data/warehouse", "key": "none"}),
            ("nofile", "No such file", {"from": "file", "path": "nosuch"}),
            ("open", "others may use it", {"from": "file", "path": "open"}),
            ("emptied", "its value is empty", {"from": "file", "path": "empty"}),
            ("foreign", "does not begin with secret_env_prefix", {"from": "env", "path": "OTHER_WORD"}),
            ("noenv", "has no variable", {"from": "env", "path": "SIRDAR_SECRET_NONE"}),
            ("noexec", "ended with exit 3", {"from": "exec", "path": "two"}),
            ("noword", "its value is empty", {"from": "exec", "path": "one/name", "key": "none"}),
            ("flood", "more than 16384 bytes", {"from": "exec", "path": "one/name", "key": "much"})):
        place(s, name, **ref)
        held(s, name, words)


@test
def a_job_that_waited_goes_on_once_its_secret_is_there_and_ends_after_its_tries_if_it_never_is(s):
    late = {"from": "file", "path": "late"}
    place(s, "late", **late)
    task = task_of(s, "late")
    s.wait_state(task, "2026-03-01T00:00:00Z", "Failed")
    put(s.files / "late", FILED)
    assert s.wait_state(task, "2026-03-01T00:00:00Z", "Succ", seconds=90)
    i = s.wait_state("dw/w5/t", "2026-03-01T00:00:00Z", "StopSchedule", seconds=120)
    assert "infra" in str(s.history(i["id"])) and i["attempt"] == 0, s.history(i["id"])


@test
def a_secret_that_only_the_job_asks_for_is_waited_for_as_well(s):
    """Of a type whose manifest the server does not have, it cannot ask ahead; such jobs used up their tries in as many seconds."""
    place(s, "asked", **{"from": "file", "path": "asked"})
    s.apply(HEAD.format("asks") + "  t: {type: plain, params: {secrets: asked, script: 'test -s $SIRDAR_FILES/asked'}}\n")
    s.command_over(s.command("run-now", selection={"tasks": ["dw/asks/t"], "dates": ["2026-03-01"]}))
    i = s.wait_state("dw/asks/t", "2026-03-01T00:00:00Z", ("Failed", "StopSchedule"))
    said = until("why says it", lambda: (w := s.get(f"/api/v1/instances/{i['id']}/why"))["code"] in ("secret", "over") and w)
    assert said["code"] == "secret" and "No such file" in said["line"] and "it is tried again" in said["line"], said
    assert "asked" not in str(s.get("/api/v1/peers/b1/exposed")), "what could not be had was given to nobody"
    put(s.files / "asked", FILED)
    assert s.wait_state("dw/asks/t", "2026-03-01T00:00:00Z", ("Succ", "StopSchedule"), seconds=90)["state"] == "Succ", s.history(i["id"])


@test
def what_is_no_place_of_a_source_is_refused_at_save(s):
    for ref in ({"from": "file", "path": "../key"}, {"from": "file", "path": "/etc/shadow"}, {"from": "file", "path": "a//b"},
                {"from": "file", "path": "a/./b"}, {"from": "file", "path": ".hidden"}, {"from": "file", "path": ""}, {"from": "file"},
                {"from": "file", "path": "a\nb"}, {"from": "env", "path": "A=B"}, {"from": "env", "path": "A", "key": "x"},
                {"from": "exec", "path": "-rf"}, {"from": "exec", "path": "a;b"}, {"from": "exec", "path": "a", "key": "$(id)"},
                {"from": "vault", "path": "kv/data/../../sys/mounts", "key": "x"}, {"from": "vault", "path": "sys/mounts", "key": "x"},
                {"from": "vault", "path": "kv/data/x?list=true", "key": "x"}, {"from": "vault", "path": "kv/data/x\r\nX-Evil: 1", "key": "x"},
                {"from": "vault", "path": "kv/data/%2e%2e", "key": "x"}, {"from": "vault", "path": "kv/data/x"},
                {"from": "elsewhere", "path": "x"}, {"path": "x"}, {"from": "file", "path": "x", "value": CANARY}):
        assert "args.password" in str(place(s, "bad", expect=(400,), **ref)), ref
    assert s.ask("GET", "/api/v1/servers/bad")[0] == 404


@test
def a_workflow_cannot_name_a_place_only_a_target_server_of_its_project(s):
    ref = '{"from": "vault", "path": "kv/data/warehouse", "key": "password"}'
    for params in (f"{{do: x, db: {ref}}}", f"{{do: x, key: {ref}}}", "{do: x, key: 'vault:kv/data/warehouse'}"):
        status, answer = s.ask("POST", "/api/v1/commands", {"kind": "apply", "args": {"documents": [
            {"name": "w.yaml", "text": HEAD.format("bad") + f"  t: {{type: odd, params: {params}}}\n"}]}})
        assert status == 400, (status, answer)
    s.command_over(s.command("server-set", server="private", host="h", projects=["finance"],
                             password={"from": "vault", "path": "kv/data/warehouse", "key": "password"}))
    s.apply(HEAD.format("spy") + "  t: {type: odd, outputs: [secret_private, secret_kv_data_warehouse], params: {do: show, names: "
            "'secret.private secret.kv.data.warehouse', at: 'private kv/data/warehouse'}}\n")
    s.command_over(s.command("run-now", selection={"tasks": ["dw/spy/t"], "dates": ["2026-03-01"]}))
    i = s.wait_state("dw/spy/t", "2026-03-01T00:00:00Z", "Succ")
    assert set(s.get(f"/api/v1/instances/{i['id']}")["outputs"].values()) == {"(none)"}


@test
def a_value_is_kept_for_a_while_and_a_change_is_seen_after_it(s):
    asked = s.vault.times("/v1/kv/data/warehouse")
    told(s, "in-vault")
    s.vault.kv["kv/data/warehouse"]["password"] = CANARY + "-2"
    until("the change is seen", lambda: told(s, "in-vault") == CANARY + "-2")
    assert s.vault.times("/v1/kv/data/warehouse") > asked
    s.vault.kv["kv/data/warehouse"]["password"] = CANARY
    until("it is as it was", lambda: told(s, "in-vault") == CANARY)


@test
def a_token_is_renewed_and_after_its_longest_life_or_its_revocation_the_server_signs_in_anew(s):
    v = s.vault
    v.ttl, v.max_ttl = 3, 5
    v.tokens.clear()  # revoked, all of them
    logins, renewals = v.times("/v1/auth/approle/login"), v.times("/v1/auth/token/renew-self")
    until("it signed in anew", lambda: told(s, "in-vault") == CANARY and v.times("/v1/auth/approle/login") > logins)
    until("it renewed", lambda: told(s, "in-vault") == CANARY and v.times("/v1/auth/token/renew-self") > renewals)
    logins = v.times("/v1/auth/approle/login")
    until("its longest life ended", lambda: told(s, "in-vault") == CANARY and v.times("/v1/auth/approle/login") > logins)
    v.ttl, v.max_ttl = 3600, 7200


@test
def a_vault_that_is_sealed_silent_redirecting_or_too_large_holds_its_jobs_and_nobody_elses(s):
    evil = Vault()
    evil.kv["kv/data/warehouse"] = {"password": "of another host"}
    for n, (bend, words) in enumerate((({"status": 503}, "vault answered 503: it is sealed"), ({"redirect": evil.url}, "a redirect, which is not followed"),
                                       ({"flood": 2 << 20}, "the answer has more than"), ({"hold": threading.Event()}, "vault: "))):
        s.vault.kv[f"kv/data/bent{n}"] = {"password": CANARY}
        place(s, f"bent{n}", **{"from": "vault", "path": f"kv/data/bent{n}", "key": "password"})
        vars(s.vault).update(bend)
        task = held(s, f"bent{n}", words)
        assert told(s, "in-file") == FILED and told(s, "in-env") == VARIABLE  # others go on
        assert s.ask("GET", "/api/v1/health")[0] == 200
        for key in bend:
            setattr(s.vault, key, None)
        for event in bend.values():
            if isinstance(event, threading.Event):
                event.set()
        s.wait_state(task, "2026-03-01T00:00:00Z", "Succ", seconds=120)
    assert not evil.asked


@test
def a_program_that_hangs_is_ended_with_what_it_started(s):
    place(s, "hangs", **{"from": "exec", "path": "one/name", "key": "slow"})
    held(s, "hangs", "took too long")
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"one/name" in p.read_bytes()]


@test
def a_path_that_takes_too_long_pauses_alone(s):
    """It paused all of the program's: a healthy job beside it was told of another's trouble and lost its tries."""
    place(s, "hangs-too", **{"from": "exec", "path": "one/name", "key": "slow"})
    place(s, "well", **{"from": "exec", "path": "one/name", "key": "another"})
    held(s, "hangs-too", "took too long")
    assert told(s, "well") == PRINTED
    assert "took too long" not in str(s.history(s.wait_state(f"dw/w{s.n}/t", "2026-03-01T00:00:00Z", "Succ")["id"]))


@test
def a_program_that_answers_leaves_nothing_of_it_running(s):
    place(s, "leaves", **{"from": "exec", "path": "one/name", "key": "leaves"})
    assert told(s, "leaves") == PRINTED
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if p.read_bytes() == b"sleep\x00601\x00"]


@test
def a_value_of_a_vault_with_a_nul_is_refused_not_cut(s):
    s.vault.kv["kv/data/cut"] = {"password": CANARY + "\u0000rest"}
    place(s, "cut", **{"from": "vault", "path": "kv/data/cut", "key": "password"})
    held(s, "cut", "is no text (UTF-8 without a NUL)")


@test
def no_secret_and_no_credential_is_in_a_log_an_answer_an_argument_or_a_file(s):
    words = [CANARY, FILED, VARIABLE, PRINTED, "id-of-the-secret", *s.vault.tokens]
    answers = str([s.get(p) for p in ("/api/v1/servers", "/api/v1/audit?limit=200", "/api/v1/commands?limit=100")])
    for pid in s.pids("baseserver"):
        answers += Path(f"/proc/{pid}/cmdline").read_text()
    assert not [w for w in words if w in answers]
    kept = {"word", "open", "late", "asked", "link-target", "program", "secret-id"}
    for file in (f for f in s.dir.rglob("*") if f.is_file() and f.name not in kept and ".so" not in f.suffixes):
        data = file.read_bytes()
        assert not [w for w in words if w.encode() in data], file
    assert all(h.get("X-Vault-Request") == "true" for h in s.vault.heads)


@test
def a_password_of_before_stays_and_a_reference_takes_its_place_and_goes(s):
    place(s, "turns", **{"from": "file", "path": "word"})
    assert "from" in str(s.get("/api/v1/servers/turns")["password_from"])
    s.command_over(s.command("server-set", server="turns", host="other"))
    assert told(s, "turns") == FILED
    s.command_over(s.command("server-set", server="turns", password=""))
    one = s.get("/api/v1/servers/turns")
    assert not one["has_password"] and one["password_from"] is None, one


@test
def references_stand_in_documents_and_on_the_command_line(s):
    page = s.dir / "lake.yaml"
    text = "target: lake\nkind: mysql\nhost: h\npassword: {from: vault, path: kv/data/warehouse, key: password}\n"
    page.write_text(text)
    assert "+ target lake" in s.sirdar("apply", str(page)).stdout and told(s, "lake") == CANARY
    assert "0 changed" in s.sirdar("diff", "--exit-code", str(page)).stdout
    page.write_text(text.replace("key: password", "key: user"))
    said = s.sirdar("diff", "--exit-code", str(page), expect=1).stdout
    assert "vault:kv/data/warehouse#password" in said and "vault:kv/data/warehouse#user" in said, said
    exported = s.dir / "exported.yaml"
    exported.write_text("---\n".join(d for d in s.sirdar("export", "--all").stdout.split("---\n") if d.startswith("target: lake")))
    assert "kv/data/warehouse" in exported.read_text() and "0 changed" in s.sirdar("apply", str(exported)).stdout
    s.sirdar("target", "set", "shore", "--password-from", "vault:kv/data/warehouse#password")
    until("it is known", lambda: s.ask("GET", "/api/v1/servers/shore")[0] == 200)
    assert told(s, "shore") == CANARY
    assert any("shore" in line and "vault" in line for line in s.sirdar("target", "list").stdout.splitlines())
    assert "FROM:PATH" in s.sirdar("target", "set", "x", "--password-from", "vault", expect=2).stderr
    page.write_text(text + "password_file: word\n")
    assert "no password beside it" in s.sirdar("check", str(page), expect=1).stdout


def other_server(s, name, refused=None, **sets):
    """A server of its own store with other settings, checked only: -> what it says."""
    argv = s.argv("baseserver", {**s.base_sets, **sets})
    done = s.run([*argv, "--check-config"])
    said = done.stdout + done.stderr
    assert (done.returncode != 0) == bool(refused) and (refused or "") in said, said


@test
def settings_that_would_send_a_token_in_the_clear_or_are_short_are_refused(s):
    other_server(s, "a", "needs https", vault_url="http://vault.example.org")
    other_server(s, "b", "without user", vault_url="https://me:word@vault.example.org")
    other_server(s, "c", "needs vault_role", vault_role="")
    other_server(s, "d", "want approle|kubernetes|token", vault_auth="ldap")
    other_server(s, "e", "one word of plain letters", vault_namespace="a b")
    other_server(s, "g", "control character", vault_namespace="a\r\nX: y")
    other_server(s, "f", vault_url="https://vault.example.org:8200")


def server_with(s, **sets):
    s.base.stop()
    s.base.argv = s.argv("baseserver", {**s.base_sets, **sets})
    s.base.start()
    until("the cgi is up", lambda: s.up())


@test
def a_vault_is_vouched_for_by_its_ca_file_and_asked_where_its_way_in_is_mounted(s):
    pem = s.dir / "vault.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", s.dir / "k.pem", "-out", s.dir / "c.pem", "-days", "30",
                    "-subj", "/CN=vault", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    pem.write_text((s.dir / "k.pem").read_text() + (s.dir / "c.pem").read_text())
    v = Vault(mount="teams/etl", pem=pem)
    v.kv["kv/data/warehouse"] = {"password": CANARY}
    sets = {"vault_url": v.url, "vault_mount": "teams/etl"}
    server_with(s, **sets)
    held(s, "in-vault", "certificate")
    assert not v.asked
    server_with(s, **sets, vault_ca_file=s.dir / "c.pem")
    assert told(s, "in-vault") == CANARY and v.times("/v1/auth/teams/etl/login")


@test
def a_server_signs_in_by_a_service_account_or_a_token_in_a_namespace_too(s):
    v = Vault(role_id="sirdar", namespace="team")
    v.kv["kv/data/warehouse"] = {"password": CANARY}
    v.jwt, s.vault = "eyJ.jwt.of-the-pod", v
    put(s.dir / "jwt", v.jwt)
    (s.dir / "jwt").chmod(0o644)  # as a platform puts it
    for way, sets in (("kubernetes", {"vault_role": "sirdar", "vault_credential_file": s.dir / "jwt"}),
                      ("token", {"vault_credential_file": s.dir / "token"})):
        put(s.dir / "token", v.token_new() + "\n")
        server_with(s, **{"vault_url": v.url, "vault_namespace": "team", "vault_auth": way, **sets})
        assert told(s, "in-vault") == CANARY, way
    assert v.times("/v1/auth/kubernetes/login") and v.times("/v1/auth/token/lookup-self")


main(site_with_sources)
