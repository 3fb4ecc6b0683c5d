#!/usr/bin/env python3
"""Closed segments of the jobs' logs go to a home, a store of objects that speaks as S3 does (s3_server.py: a real one), and are read
from there by any server of the site. What is shown: each side killed in the middle, an absence, a take-over, a wrong secret. TAP."""
import json
import os
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import s3_server  # noqa: E402
from harness import LEASES, TESTS, Daemon, Site, free_port, main, test, until  # noqa: E402
import test_logs  # noqa: E402
from test_logs import ended, once, text_of  # noqa: E402

del TESTS[:]  # those of test_logs: only its words are wanted here
test = test  # noqa: PLW0127


class HomeSite(Site):
    def __init__(self):
        self.s3 = None
        super().__init__("logshome")
        self.s3 = s3_server.S3(self.dir / "s3")
        secrets = self.dir / "secrets"
        secrets.mkdir(0o700)
        self.secret = secrets / "s3"
        self.secret.touch(0o600)
        self.secret.write_text(f"{s3_server.KEY}:{s3_server.SECRET}\n")
        self.home_sets = {"secret_files_dir": secrets, "log_home": self.s3.url(), "log_home_secret": "file:s3",
                          "secret_keep_ms": 1000, "log_segment_ms": 1000, "log_here_ms": 0, "log_home_timeout_ms": 20000}
        self.base_sets.update(self.home_sets)
        self.base.argv = [str(a) for a in self.argv("baseserver", self.base_sets)]

    def close(self):
        if self.s3:
            self.s3.close()
        super().close()

    def here(self, kind="seg"):
        """Segments that are on the server's disk, the open one with them."""
        return sorted((self.dir / "joblogs" / "segments").glob("*." + kind))


def figures(s):
    """Those of the home, without the prefix."""
    status, text = s.ask("GET", "/metrics")
    assert status == 200, status
    text = text.decode() if isinstance(text, bytes) else text
    return {k: float(v) for k, v in re.findall(r"^sirdar_log_home_(\w+) (\S+)$", text, re.M)}


def all_there(s):
    return until("all that is closed is in the home, and only there",
                 lambda: not s.here() and (f := figures(s)).get("waiting_segments") == 0 and f["up"] == 1 and f, 120)


def whole(s):
    """Objects by twos, nothing else."""
    names = s.s3.objects()
    assert names and {n.rsplit(".", 1)[0] + e for n in names for e in (".seg", ".idx")} == set(names), sorted(names)
    return names


def printed(s, name, script):
    return ended(s, once(s, name, script), 120)


def full(s, i):
    """A log of any length, range by range."""
    text = b""
    while True:
        status, more = s.ask("GET", f"/api/v1/instances/{i['id']}/log?offset={len(text)}")
        assert status == 200, (status, more)
        if not more:
            return text.decode()
        text += more


BIG = "head -c 12000000 /dev/urandom | base64 -w 99\necho the end"  # packs to some 12 MB: in parts


@test
def what_is_closed_goes_there_and_reads_the_same_from_there(s):
    small = printed(s, "small", "echo one line; echo bad >&2")
    big = printed(s, "big", BIG)
    until("the big one is whole", lambda: full(s, big).endswith("the end\n"), 120)
    before = full(s, big)
    there = all_there(s)
    assert there["shipped_total"] >= 1 and there["segments"] >= 1, there
    assert sum(len(v) for v in whole(s).values()) > 10_000_000
    assert text_of(s, small) == "one line\n" and text_of(s, small, stream="stderr") == "bad\n"
    assert full(s, big) == before, "another text than before it went"
    assert any((s.dir / "joblogs" / "cache").iterdir()), "nothing was fetched"
    s.base.restart()
    until("it leads again", s.up)
    assert not any((s.dir / "joblogs" / "cache").iterdir()), "what was fetched is forgotten at a start"
    assert text_of(s, small) == "one line\n" and full(s, big) == before


@test
def no_secret_is_in_a_log_or_an_argument(s):
    s.secret.write_text("AKIAWRONG:notthesecretofthis\n")
    i = printed(s, "refused", "echo kept here")
    until("it is told", lambda: any("home of jobs' logs" in p for p in s.get("/api/v1/health")["problems"]), 120)
    assert figures(s)["up"] == 0 and figures(s)["waiting_segments"] >= 1
    assert "home of jobs' logs" in s.sirdar("server", "status").stdout
    assert text_of(s, i) == "kept here\n" and s.here()
    s.secret.write_text(f"{s3_server.KEY}:{s3_server.SECRET}\n")
    all_there(s)
    assert text_of(s, i) == "kept here\n"
    for text in (s.base.text(), json.dumps(s.get("/api/v1/health")), Path(f"/proc/{s.base.pid}/cmdline").read_text()):
        assert "notthesecretofthis" not in text and f":{s3_server.SECRET}" not in text


@test
def while_the_home_is_away_logs_are_kept_and_old_ones_say_why_they_are_not_shown(s):
    old = printed(s, "old", "echo of before")
    all_there(s)
    s.base.restart()  # what was fetched is forgotten
    until("it leads again", s.up)
    s.s3.kill()
    new = printed(s, "new", "echo of the absence")
    until("it waits", lambda: figures(s).get("waiting_segments", 0) >= 1 and figures(s)["up"] == 0, 120)
    assert text_of(s, new) == "of the absence\n"
    status, said = s.ask("GET", f"/api/v1/instances/{old['id']}/log")
    assert status == 503 and "home of logs" in str(said), (status, said)
    s.s3.start()
    all_there(s)
    whole(s)
    assert text_of(s, old) == "of before\n" and text_of(s, new) == "of the absence\n"


@test
def each_side_may_be_killed_in_the_middle(s):
    """The store of objects stands still with a part of an upload in its hands, then one of the two dies by kill -9."""
    texts = {}
    for n, dies in enumerate(("server", "home", "server", "home")):
        all_there(s)
        s.s3.still()
        try:
            i = printed(s, f"middle{n}", f"echo round {n}\n{BIG}")
            until("all of it is here", lambda i=i: full(s, i).endswith("the end\n"), 120)
            texts[n] = i, full(s, i)
            until("it is closed", lambda: s.here("idx"), 60)
            if dies == "server":
                s.base.kill()
            else:
                s.s3.kill()
        finally:
            if s.s3.proc.poll() is None:
                s.s3.go_on()
        if dies == "server":
            s.base.start()
            until("it leads again", s.up)
        else:
            s.s3.start()
    all_there(s)
    whole(s)
    for n, (i, text) in texts.items():
        assert full(s, i) == text, f"round {n}"
    assert not list((s.dir / "joblogs" / "segments").glob("*.tmp"))


@test
def what_is_cut_short_or_gone_there_is_shipped_again_while_it_is_here(s):
    """A store that shows half of an upload, or that loses what it had: what was verified is looked at again at each start."""
    argv = list(s.base.argv)
    all_there(s)
    s.base.argv = [*argv, "--set", "log_here_ms=86400000"]
    s.base.restart()
    until("it leads again", s.up)
    was = set(s.s3.objects())
    i = printed(s, "again", "echo once more")
    names = until("it is there, and here",
                  lambda: (n := set(s.s3.objects()) - was) and figures(s)["waiting_segments"] == 0 and len(n) >= 2 and s.here("idx") and n, 120)
    for name in names:
        (s.s3.folder / s.s3.bucket / "site" / (name + s3_server.OBJECT)).unlink()
    s.base.restart()
    until("it leads again", s.up)
    until("it is there again", lambda: names <= set(s.s3.objects()), 120)
    s.base.argv = argv
    s.base.restart()
    until("it leads again", s.up)
    all_there(s)
    assert text_of(s, i) == "once more\n"


class Sets:
    """The server with other settings for a while."""

    def __init__(self, s, **sets):
        self.s, self.sets = s, sets

    def __enter__(self):
        self.was = list(self.s.base.argv)
        self.s.base.argv = [*self.was, *(w for k, v in self.sets.items() for w in ("--set", f"{k}={v}"))]
        self.s.base.restart()
        until("it leads again", self.s.up)

    def __exit__(self, *_):
        self.s.base.argv = self.was
        self.s.base.restart()
        until("it leads again", self.s.up)


@test
def a_home_over_tls_is_judged_by_log_home_ca_file(s):
    pem = s.dir / "home.pem"
    done = s.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=home",
                  "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out", s.dir / "home.crt"])
    assert done.returncode == 0, done.stderr
    with open(pem, "a") as f:
        f.write((s.dir / "home.crt").read_text())
    home = s3_server.S3(s.dir / "s3tls", pem=pem)
    try:
        with Sets(s, log_home=home.url()):
            printed(s, "untrusted", "echo over tls")
            until("it is told", lambda: figures(s)["up"] == 0, 120)
            assert not home.objects() and s.base.has(r"log\.home_away .*code=AUTH"), s.base.tail()
        with Sets(s, log_home=home.url(), log_home_ca_file=s.dir / "home.crt"):
            printed(s, "trusted", "echo over tls")
            until("it is there", home.objects, 60)
            all_there(s)
            assert home.objects()
    finally:
        home.close()


@test
def a_home_that_does_not_answer_is_away_after_log_home_timeout_ms(s):
    printed(s, "mute", "echo said to nobody")
    s.s3.still()
    try:
        with Sets(s, log_home_timeout_ms=300):
            until("it is told", lambda: figures(s).get("up") == 0 and s.base.has(r"log\.home_away .*code=TIMEOUT"), 120)
    finally:
        s.s3.go_on()
    all_there(s)


@test
def what_waits_is_no_more_than_log_home_wait_bytes_max_and_the_loss_is_told(s):
    all_there(s)
    s.s3.kill()
    with Sets(s, log_home_wait_bytes_max=1 << 20):
        i = printed(s, "much", BIG)
        until("it is lost, and told", lambda: figures(s).get("lost_total", 0) >= 1, 120)
        assert any("log_home_wait_bytes_max" in p for p in s.get("/api/v1/health")["problems"])
        until("its log is none", lambda i=i: s.ask("GET", f"/api/v1/instances/{i['id']}/log")[0] == 404, 60)
    s.s3.start()
    all_there(s)


@test
def what_is_fetched_takes_no_more_than_log_cache_bytes_max(s):
    bound = 16 << 20
    with Sets(s, log_cache_bytes_max=bound):
        rows = [printed(s, f"cached{n}", BIG) for n in range(3)]
        for i in rows:
            until("it is whole", lambda i=i: full(s, i).endswith("the end\n"), 120)
        texts = [full(s, i) for i in rows]
        all_there(s)
        for i, text in zip(rows, texts):
            assert full(s, i) == text
        held = sum(f.stat().st_blocks * 512 for f in (s.dir / "joblogs" / "cache").iterdir())
        assert 0 < held <= bound + (1 << 20), held


@test
def another_server_of_the_site_reads_what_the_first_one_shipped(s):
    """A take-over by a server with a log_dir of its own; then the first one leads again, and reads the second's."""
    one = printed(s, "first", "echo by the first")
    big = printed(s, "firstbig", BIG)
    until("the big one is whole", lambda: full(s, big).endswith("the end\n"), 120)
    text = full(s, big)
    all_there(s)
    for n in range(1100):  # what others have put there, more than a page of the list, comes first
        (s.s3.folder / s.s3.bucket / "site" / f"0000-not-ours-{n:04}{s3_server.OBJECT}").write_text("x")
    dirs = s.dir / "joblogs", s.dir / "joblogs2"
    assert s.base.stop() == 0
    other = Daemon(s, "baseserver2", s.argv("baseserver", {**s.base_sets, "log_dir": dirs[1]}), r"baseserver\.up")
    other.start()
    try:
        until("the second leads", s.up)
        until("it knows what is there", lambda: text_of(s, one) == "by the first\n", 60)
        assert full(s, big) == text
        two = printed(s, "second", "echo by the second")
        until("the second's is there too", lambda: not list((dirs[1] / "segments").glob("*.seg")) and figures(s)["waiting_segments"] == 0, 120)
    finally:
        other.stop()
    s.base.start()
    until("the first leads", s.up)
    until("it reads the second's", lambda: text_of(s, two) == "by the second\n", 60)
    assert text_of(s, one) == "by the first\n" and full(s, big) == text


def make():
    return HomeSite().start()


if __name__ == "__main__":
    sys.exit(main(make))
