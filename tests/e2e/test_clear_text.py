#!/usr/bin/env python3
"""Servers that ask for the password in clear text, or by a key of their own: no job tells them, unless TLS proved who they
are. Each job run alone; the servers are Python's (redirected.py), and real ones for who still gets in. TAP."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Skip, main, test, until  # noqa: E402
from runner_alone import Alone  # noqa: E402
import databases  # noqa: E402
import mariadb  # noqa: E402
import redirected  # noqa: E402

SECRET = "canary-of-the-redirected"
# As long as a digest of MD5, the first message of SCRAM (with TLS bound to it, too) and its last one.
ODD = [SECRET + "x" * (n - len(SECRET)) for n in (35, 49, 75, 103)]
SHOWN = ("mysql_clear_password", "dialog", "caching_sha2_password", "sha256_password")


def make():
    if not mariadb.program("mariadbd"):
        raise Skip("no mariadbd: packaging/deps.sh test")
    site = Alone("clear-text")
    try:
        site.tls = redirected.certificate(str(site.dir))
        site.my = mariadb.MariaDB("--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M", flush=0)
        site.closers.append(site.my.close)
        site.pg = databases.Postgres()
        site.closers.append(site.pg.close)
    except BaseException:
        site.close()
        raise
    return site


def params(runner, kind, port, user="job", database="d", **more):
    at = {"kind": kind, "host": "127.0.0.1", "port": port, "user": user, "password": "word", "database": database, **more}
    if runner in ("sql", "sensor"):
        return {**at, "sql": "SELECT 1", **({"watch": "sql"} if runner == "sensor" else {})}
    if runner == "check":
        return {**at, "table": "t", "rules": [{"rows": "> 0"}]}
    return {**{f"source_{k}": v for k, v in at.items()}, "query": "SELECT 1"}


def job(site, server, kind, runner="sql", secret=SECRET, **more):
    before = server.ended
    done = site.run(runner, {**params(runner, kind, server.port, **more), **more}, secrets={"word": secret})
    until("it is gone", lambda: server.ended > before)
    return done


def kept(server, done, secret=SECRET):
    assert server.asked, (server.ask, done)
    assert secret.encode() not in server.got and secret not in done.err + done.out, (server.ask, server.got, done)
    assert not done.ok and "verify" in done.err and "tls" in done.err and "not sent" in done.err, (server.ask, done)
    server.close()


@test
def a_server_of_mysql_that_asks_for_the_password_as_it_is_does_not_get_it(s):
    for ask in SHOWN:
        for early in (False, True):
            for tls in ("off", "on"):
                server = redirected.MySQL(ask, s.tls if tls == "on" else None, early)
                done = job(s, server, "mysql", tls=tls)
                kept(server, done)


@test
def nor_does_one_that_hides_that_it_has_tls(s):
    for tls in ("on", "verify"):
        server = redirected.MySQL("mysql_clear_password")
        done = job(s, server, "mysql", tls=tls)
        assert not done.ok and SECRET.encode() not in server.got, (tls, server.got, done)
        server.close()
        server = redirected.PostgreSQL("clear")
        done = job(s, server, "postgresql", tls=tls)
        assert not done.ok and SECRET.encode() not in server.got, (tls, server.got, done)
        server.close()


@test
def a_server_of_postgresql_that_asks_for_the_password_as_it_is_does_not_get_it(s):
    for ask in ("clear", "scram", "both"):
        for secret in (SECRET, *ODD):
            for tls, cert in (("off", None), ("off", s.tls), ("on", s.tls)):
                server = redirected.PostgreSQL(ask, cert)
                done = job(s, server, "postgresql", secret=secret, tls=tls)
                assert SECRET.encode() not in server.got, (ask, len(secret), tls, bool(cert), server.got, done)
                kept(server, done, secret)


@test
def whoever_answers_at_an_address_that_is_said_to_be_trusted_is_told(s):
    for server, kind in ((redirected.MySQL("mysql_clear_password"), "mysql"), (redirected.PostgreSQL("clear"), "postgresql")):
        server.bye = True
        done = job(s, server, kind, tls="trusted")
        assert SECRET.encode() in server.got, (kind, server.got, done)
        server.close()


@test
def neither_do_checks_transfers_and_sensors_tell_it(s):
    for runner in ("check", "transfer", "sensor"):
        for server, kind in ((redirected.MySQL("mysql_clear_password"), "mariadb"), (redirected.PostgreSQL("clear"), "postgresql")):
            more = {"csv_file": str(s.dir / "x.csv")} if runner == "transfer" else {}
            kept(server, job(s, server, kind, runner, **more))


@test
def who_proved_by_tls_to_be_the_target_is_told(s):
    for server, kind in ((redirected.MySQL("mysql_clear_password", s.tls), "mysql"), (redirected.PostgreSQL("clear", s.tls), "postgresql")):
        server.bye = True
        done = job(s, server, kind, tls="verify", ca_file=s.tls[0])
        assert SECRET.encode() in server.got, (kind, server.got, done)
        server.close()
        server = type(server)(server.ask, s.tls)
        done = job(s, server, kind, tls="verify")
        assert not done.ok and SECRET.encode() not in server.got, (kind, done)
        server.close()


@test
def passwords_of_every_length_get_in_by_a_challenge(s):
    for secret in ("short", *ODD):
        s.my.sql(f"CREATE OR REPLACE USER 'job'@'%' IDENTIFIED BY '{secret}'")
        s.pg.sql(f"DROP ROLE IF EXISTS job; SET password_encryption = 'scram-sha-256'; CREATE ROLE job LOGIN PASSWORD '{secret}'")
        for kind, port, base in (("mariadb", s.my.port, "information_schema"), ("postgresql", s.pg.port, "postgres")):
            done = s.run("sql", params("sql", kind, port, database=base), secrets={"word": secret})
            assert done.ok, (kind, len(secret), done)


@test
def md5_and_a_servers_own_tls_get_in_as_before(s):
    data = s.pg.dir / "data"
    hba = data / "pg_hba.conf"
    before = hba.read_text()
    cert, key = (open(f).read() for f in s.tls)
    for name, text in (("server.crt", cert), ("server.key", key)):
        (data / name).write_text(text)
        (data / name).chmod(0o600)
        if s.pg.user:
            shutil.chown(data / name, s.pg.user)
    s.pg.sql("ALTER SYSTEM SET ssl = on")
    for method, encryption in (("md5", "md5"), ("scram-sha-256", "scram-sha-256"), ("password", "md5")):
        hba.write_text(f"host all job 127.0.0.1/32 {method}\n" + before)
        for secret in (SECRET, ODD[0]):
            s.pg.sql(f"SET password_encryption = '{encryption}'; ALTER ROLE job PASSWORD '{secret}'; SELECT pg_reload_conf()")
            until("the file is read", lambda: s.pg.sql("SELECT count(*) FROM pg_hba_file_rules WHERE auth_method = '%s' AND user_name = '{job}'" % method).strip() == "1"
                  and s.pg.sql("SHOW ssl").strip() == "on")
            for tls in ("off", "on", "verify"):
                done = s.run("sql", params("sql", "postgresql", s.pg.port, database="postgres", tls=tls, ca_file=s.tls[0]), secrets={"word": secret})
                shows = method == "password" and tls != "verify"
                # A digest of MD5 is as long as such a password: without a proof who asks, it may be that.
                doubt = method == "md5" and secret == ODD[0] and tls != "verify"
                assert done.ok == (not shows and not doubt), (method, tls, len(secret), done)
                assert done.ok or "verify" in done.err, done


if __name__ == "__main__":
    sys.exit(main(make))
