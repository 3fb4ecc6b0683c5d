#!/usr/bin/env python3
"""A password in a real OpenBao or Vault (a development server of the program that is installed), signed in by token and by
AppRole; what vault_like.py only imitates. Debian has neither program: without one this is left out, and says so. TAP."""
import json
import os
import shutil
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import B, BIN, Site, Skip, free_port, main, test, until  # noqa: E402

PROGRAM = shutil.which("bao") or shutil.which("vault")
WORD, ROOT = "canary-of-the-real-one", "root-of-the-test"


class Real:
    """A development server: in memory, not sealed, KV version 2 at secret/."""

    def __init__(self, site):
        if not PROGRAM:
            raise Skip("no OpenBao and no Vault is installed: nothing real was asked")
        address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{address}"
        with open(site.dir / "real.log", "wb") as out:
            self.proc = subprocess.Popen([PROGRAM, "server", "-dev", f"-dev-root-token-id={ROOT}", f"-dev-listen-address={address}"],
                                         stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=site.dir,
                                         env={"PATH": os.environ["PATH"], "HOME": str(site.dir)})
        until("it answers", self.up)
        self.call("POST", "secret/data/warehouse", {"data": {"password": WORD}})

    def up(self):
        try:
            return self.call("GET", "sys/health")
        except OSError:
            return None

    def call(self, method, path, body=None):
        ask = urllib.request.Request(f"{self.url}/v1/{path}", method=method, data=json.dumps(body).encode() if body else None,
                                     headers={"X-Vault-Token": ROOT})
        with urllib.request.urlopen(ask, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else True

    def stop(self):
        self.proc.kill()
        self.proc.wait()


def ask_through(s, **sets):
    """A job of a server with those settings asks for the password: -> the value."""
    s.base.stop()
    s.base.argv = s.argv("baseserver", {**s.base_sets, **sets})
    s.base.start()
    until("the cgi is up", lambda: s.up())
    s.command_over(s.command("server-set", server="warehouse", host="h",
                             password={"from": "vault", "path": "secret/data/warehouse", "key": "password"}))
    s.n = getattr(s, "n", 0) + 1
    s.apply(f"workflow: w{s.n}\nproject: dw\nstart_date: 2026-03-01\ndefaults: {{cycle: day, catchup: {{mode: none}}}}\ntasks:\n"
            "  t: {type: odd, outputs: [secret_db_password], params: {do: show, db: warehouse, names: 'secret.db.password'}}\n")
    s.command_over(s.command("run-now", selection={"tasks": [f"dw/w{s.n}/t"], "dates": ["2026-03-01"]}))
    i = s.wait_state(f"dw/w{s.n}/t", "2026-03-01T00:00:00Z", ("Succ", "StopSchedule"), seconds=60)
    assert i["state"] == "Succ", s.history(i["id"])
    return s.get(f"/api/v1/instances/{i['id']}")["outputs"]["secret_db_password"][::-1]


def with_real(s, then):
    real = Real(s)
    try:
        then(real)
    finally:
        real.stop()


def put(path, text):
    path.touch(0o600)
    path.write_text(text)
    return path


@test
def a_job_gets_a_password_of_a_real_vault_by_a_token(s):
    with_real(s, lambda real: check(s, real, vault_auth="token", vault_credential_file=put(s.dir / "t", ROOT + "\n")))


def check(s, real, **sets):
    assert ask_through(s, vault_url=real.url, **sets) == WORD


@test
def a_job_gets_a_password_of_a_real_vault_by_an_approle(s):
    def signed_in(real):
        real.call("POST", "sys/auth/approle", {"type": "approle"})
        real.call("POST", "sys/policies/acl/reads", {"policy": 'path "secret/data/*" { capabilities = ["read"] }'})
        real.call("POST", "auth/approle/role/sirdar", {"token_policies": ["reads"], "token_ttl": "60s"})
        role = real.call("GET", "auth/approle/role/sirdar/role-id")["data"]["role_id"]
        word = real.call("POST", "auth/approle/role/sirdar/secret-id", {"metadata": "{}"})["data"]["secret_id"]
        check(s, real, vault_role=role, vault_credential_file=put(s.dir / "a", word))
    with_real(s, signed_in)


def site():
    s = Site("vault_real", types_dir="/nowhere")
    shutil.copytree(BIN.parent / "types", s.dir / "types")
    (s.dir / "types/odd.yaml").write_text("type: odd\nothers: true\nparams:\n  - {name: db, type: server, help: Where it works}\n")
    (s.dir / "plugins").mkdir()
    shutil.copy(B / "test/plugins/odd.so", s.dir / "plugins")
    s.base_sets.update(types_dir=s.dir / "types")
    s.base.argv = s.argv("baseserver", s.base_sets)
    return s.start(types=("odd:4",), runners_dir=s.dir / "plugins")


main(site)
