#!/usr/bin/env python3
"""The first start of an installation: the server has its administrator before anybody can greet it. The password it drew stands in one
file that its user and root alone read, and nowhere else; who signs in with it changes it, and the file is gone. TAP."""
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import OWN_HASH, Daemon, Site, free_port, main, test, until  # noqa: E402
from test_first_admin import admin, ask, bearer, good, session, signs_in  # noqa: E402
from harness import TESTS  # noqa: E402

TESTS[:] = []  # those of test_first_admin: only what it asks with is wanted here
OTHER = "another long enough word"
CONFLICT = 78


def kept(s):
    return s.dir / "base/first-password"


def everywhere(s, word):
    """The files in which the word stands, of all that the programs wrote, the store included."""
    return sorted(str(p.relative_to(s.dir)) for p in s.dir.rglob("*") if p.is_file() and word.encode() in p.read_bytes())


@test
def the_server_has_its_administrator_before_a_face_is_there(s):
    word = s.first_password()
    assert re.fullmatch(r"[a-zA-Z2-9]{24}", word), word
    assert kept(s).stat().st_mode & 0o777 == 0o600 and kept(s).stat().st_uid == os.geteuid()
    log = s.base.text()
    assert log.index("kind=user-set actor=") < log.index("session.greeted"), "somebody greeted first"
    assert everywhere(s, word) == ["base/first-password"], everywhere(s, word)
    for pid in s.ours():
        for part in ("cmdline", "environ"):
            assert word.encode() not in Path(f"/proc/{pid}/{part}").read_bytes(), (pid, part)


@test
def who_reads_it_signs_in_as_administrator_at_any_face(s):
    word = s.first_password()
    s.second = s.second_cgi()
    for port in (s.http, s.second):
        _, answer = ask(s, "GET", "/api/v1/session", port=port, **session(s, word, port))
        assert (answer["user"], answer["role"]) == ("admin", "admin"), answer
    assert signs_in(s, "a wrong long word")[0] == 401
    rows = ask(s, "GET", "/api/v1/audit?limit=100", **session(s, word))[1]["items"]
    made = next(r for r in rows if r["action"] == "user-set" and '"user":"admin"' in r["detail"])
    assert made["actor"].endswith(" (first start)") and word not in str(rows) and "argon2" not in str(rows), made
    assert not ask(s, "GET", "/api/v1/alerts", **session(s, word))[1].get("items")


@test
def a_face_has_no_administrator_of_its_own_and_makes_no_tokens(s):
    for place in ("cgi", "cgi2"):
        assert not (s.dir / place / "password").exists()
    assert not s.cgi.has("Password") and not s.cgi.has(r"admin\.own")
    for option in ("--make-token", "--make-app"):
        done = s.run([*s.cgi.argv, option, "early", "admin"])
        assert done.returncode == CONFLICT and not done.stdout and "baseserver -c FILE admin token NAME" in done.stderr, done
    # Files that somebody brings along let nobody in either: the server has its administrator.
    s.cgi.stop()
    (s.dir / "cgi/password").touch(0o600)
    (s.dir / "cgi/password").write_text(OWN_HASH + "\n")
    (s.dir / "cgi/tokens/sly").touch(0o600)
    (s.dir / "cgi/tokens/sly").write_text("admin " + "ab" * 32 + " 1 0 -\n")
    s.cgi.start()
    until("the face has the server", s.up)
    assert signs_in(s, "the own word of a cgi")[0] == 401
    s.cgi.stop()
    (s.dir / "cgi/password").unlink()
    (s.dir / "cgi/tokens/sly").unlink()
    s.cgi.start()
    until("the face has the server", s.up)


@test
def what_a_face_says_of_an_administrator_counts_for_nothing_from_the_first_moment(s):
    row = ask(s, "GET", "/api/v1/peers/cgi", **bearer(s.token))[1]
    assert row["asserts"] == "directory", row


@test
def a_restart_draws_no_other_and_says_that_it_is_in_force_yet(s):
    word, mark = s.first_password(), s.base.log.stat().st_size
    s.base.restart()
    assert s.base.has(r"warn admin\.first .*first-password", mark), s.base.tail()
    assert kept(s).read_text().strip() == word and word not in s.base.text()
    until("the face has the server", s.up)
    session(s, word)


@test
def the_file_goes_with_the_password(s):
    word = s.first_password()
    head = session(s, word)
    assert ask(s, "POST", "/api/v1/users", {"user": "admin", "mail": "a@example.org"}, **head)[0] == 200
    assert kept(s).exists(), "an address is no password"
    assert ask(s, "POST", "/api/v1/password", {"old": word, "new": OTHER}, **head)[0] == 200
    until("the file is gone", lambda: not kept(s).exists())
    assert signs_in(s, word)[0] == 401
    mark = s.base.log.stat().st_size
    s.base.restart()
    assert not s.base.has(r"admin\.(first|of_faces)", mark) and not kept(s).exists(), s.base.tail()
    until("the face has the server", s.up)
    session(s, OTHER)


@test
def a_file_that_lies_there_of_a_former_password_is_removed_at_the_start(s):
    s.base.stop()
    kept(s).touch(0o600)
    kept(s).write_text("whatever\n")
    s.base.start()
    assert not kept(s).exists()
    until("the face has the server", s.up)
    session(s, OTHER)


@test
def a_server_that_died_before_its_administrator_was_stored_draws_another_password(s):
    """As a crash between the file and the commit leaves it; other things may have been committed."""
    s.base.stop()
    with sqlite3.connect(s.dir / "base/sirdar.db") as db:
        db.execute("DELETE FROM lb_user")
    db.close()
    kept(s).touch(0o600)
    kept(s).write_text("of the former start\n")
    s.base.start()
    until("admin is made", lambda: s.base.has(r"info admin\.first ", s.base.mark))
    word = kept(s).read_text().strip()
    assert word != "of the former start", word
    until("the face has the server", s.up)
    session(s, word)


@test
def where_the_file_cannot_be_written_nobody_is_made_and_the_log_says_how(s):
    sets = {**s.base_sets, "state_dir": s.dir / "three", "store": f"sqlite:{s.dir}/three", "listen": f"127.0.0.1:{free_port()}"}
    (s.dir / "three").mkdir(0o700)
    (s.dir / "three/first-password").mkdir()  # in its place
    d = s.brokers["three"] = Daemon(s, "three", s.argv("baseserver", sets), r"baseserver\.up").start()
    assert d.has(r"error admin\.first_failed .*admin password admin"), d.tail()
    done = subprocess.run([str(a) for a in (*s.argv("baseserver", sets), "admin", "password", "admin")], input=OTHER + "\n", capture_output=True, text=True, env=s.env, timeout=300)
    assert done.returncode == 0, done
    assert d.stop() == 0
    (s.dir / "three/first-password").rmdir()


@test
def a_standby_makes_none_and_the_leader_keeps_its_file_to_itself(s):
    sets = {**s.base_sets, "store": f"sqlite:{s.dir}/base", "state_dir": s.dir / "two", "name": "two", "listen": f"127.0.0.1:{free_port()}"}
    d = s.brokers["two"] = Daemon(s, "two", s.argv("baseserver", sets), r"standby\.waits").start()
    s.base.stop()
    until("the other one leads", lambda: d.has(r"baseserver\.up"), 120)
    assert not (s.dir / "two/first-password").exists() and not d.has(r"admin\.(first|of_faces)"), d.tail()
    assert d.stop() == 0
    s.base.start()
    until("the face has the server", s.up)


@test
def a_token_of_the_socket_works_before_anybody_ever_signed_in(s):
    token = admin(s, "token", "script").stdout.strip()
    until("the cgi knows it", lambda: good(s, token))


class Fresh(Site):
    def start(self, **_):
        self.base.start()
        self.start_cgi()
        return self


if __name__ == "__main__":
    sys.exit(main(lambda: Fresh("first").start()))
