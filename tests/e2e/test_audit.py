#!/usr/bin/env python3
"""The audit: every change is a row, each row proves the ones before it. TAP."""
import hashlib
import os
import re
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402

FIELDS = ("id", "at_us", "actor", "action", "object", "detail")


def pool(s, name, size, **more):
    s.command_over(s.command("pool-set", pool=name, size=size, **more))


def rows(s):
    found, cursor = [], ""
    while True:
        page = s.get(f"/api/v1/audit?order=asc&limit=50{cursor}")
        found += page["items"]
        if not page["cursor"]:
            return found
        cursor = f"&cursor={page['cursor']}"


def anchor(s):
    return re.search(r"^anchor (\d+:[0-9a-f]{64})$", s.sirdar("audit", "verify").stdout, re.M)[1]


def tampered(s, statement, *args):
    """The database changed by hand while nobody is there; undone by the function returned."""
    s.base.stop()
    path = s.dir / "base" / "sirdar.db"
    with sqlite3.connect(path) as db:
        before = db.execute("SELECT * FROM lb_action ORDER BY id").fetchall()
        db.execute(statement, args)
    db.close()
    s.base.start()
    until("the cgi is up", lambda: s.up())

    def undo():
        s.base.stop()
        with sqlite3.connect(path) as db:
            db.execute("DELETE FROM lb_action")
            marks = ",".join("?" * len(before[0]))
            db.executemany(f"INSERT INTO lb_action VALUES ({marks})", before)
        db.close()
        s.base.start()
        until("the cgi is up", lambda: s.up())
    return undo


@test
def who_did_what_is_told(s):
    pool(s, "lake", 3)
    s.command("pool-set", pool="bad name", size=1, expect=(400, 422))
    s.apply("workflow: w\nproject: audit\ntasks:\n  t: {type: noop, cycle: none}\n")
    found = [r for r in rows(s) if r["actor"].startswith("token:test-")]  # others are the brokers'
    assert [r["action"] for r in found] == ["pool-set", "save pool", "apply", "save workflow"], found
    assert found[1]["object"] == "lake" and '"size":3' in found[0]["detail"].replace(" ", ""), found
    assert [r["id"] for r in s.get("/api/v1/audit?action=apply")["items"]] == [found[2]["id"]]
    assert s.get("/api/v1/audit?actor=nobody")["items"] == []
    assert "save workflow" in s.sirdar("audit", "list", "--action", "save workflow").stdout


@test
def the_chain_is_what_the_manual_says(s):
    before = ""
    for row in rows(s):
        h = hashlib.blake2b(digest_size=32)
        for field in (before, *(row[k] for k in FIELDS)):
            b = field.encode()
            h.update(b"%d:" % len(b) + b)
        before = h.hexdigest()
        assert row["hash"] == before, row


@test
def the_chain_goes_on_over_kills_and_restarts(s):
    for i in range(4):
        pool(s, f"p{i}", 1 + i)
        s.base.restart(hard=i % 2 == 0)
        until("the cgi is up", lambda: s.up())
    out = s.sirdar("audit", "verify").stdout
    assert f"{len(rows(s))} rows" in out and len(rows(s)) >= 12, out


@test
def the_servers_log_has_an_anchor_for_each(s):
    told = re.findall(r"audit\.anchor.* id=(\d+) hash=([0-9a-f]{64})", s.base.text())
    have = {r["id"]: r["hash"] for r in rows(s)}
    assert told and told[-1] == (max(have, key=int), have[max(have, key=int)]), told[-1]
    s.sirdar("audit", "verify", *(w for i, h in told for w in ("--anchor", f"{i}:{h}")))


@test
def a_changed_row_is_found(s):
    undo = tampered(s, "UPDATE lb_action SET actor = 'somebody' WHERE id = 3")
    done = s.sirdar("audit", "verify", expect=1)
    assert "row 3" in done.stderr and "changed" in done.stderr, done.stderr
    undo()
    s.sirdar("audit", "verify")


@test
def a_row_taken_out_is_found(s):
    undo = tampered(s, "DELETE FROM lb_action WHERE id = 4")
    done = s.sirdar("audit", "verify", expect=1)
    assert "row 5" in done.stderr and "missing" in done.stderr, done.stderr
    undo()


@test
def a_row_slipped_in_is_found(s):
    undo = tampered(s, "INSERT INTO lb_action SELECT max(id) + 1, 0, 'a', 'b', 'c', 'd', '' FROM lb_action")
    done = s.sirdar("audit", "verify", expect=1)
    assert "has no hash" in done.stderr, done.stderr
    undo()


@test
def an_end_cut_off_is_found_by_an_anchor(s):
    known = anchor(s)
    undo = tampered(s, "DELETE FROM lb_action WHERE id = (SELECT max(id) FROM lb_action)")
    s.sirdar("audit", "verify")  # by itself the rest is whole
    done = s.sirdar("audit", "verify", "--anchor", known, expect=1)
    assert "taken away" in done.stderr, done.stderr
    undo()
    s.sirdar("audit", "verify", "--anchor", known)


@test
def an_anchor_of_another_past_is_found(s):
    row = anchor(s).split(":")[0]
    done = s.sirdar("audit", "verify", "--anchor", f"{row}:{'0' * 64}", expect=1)
    assert "anchor" in done.stderr, done.stderr
    done = s.sirdar("audit", "verify", "--anchor", "7", expect=2)
    assert "ID:HASH" in done.stderr, done.stderr


@test
def a_viewer_may_not_read_it(s):
    admin, s.token = s.token, s.make_token("viewer", "--role", "viewer")
    until("the face knows it", s.up)
    status, answer = s.ask("GET", "/api/v1/audit")[:2]
    s.token = admin
    assert status == 403, (status, answer)


if __name__ == "__main__":
    sys.exit(main(lambda: Site("audit").start()))
