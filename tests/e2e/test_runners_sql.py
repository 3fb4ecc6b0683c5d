#!/usr/bin/env python3
"""The runners that speak SQL, each job run alone against a real MariaDB and PostgreSQL, started here on
loopback, and SQLite files. TAP."""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Skip, main, test, until  # noqa: E402
from runner_alone import Alone  # noqa: E402
import databases  # noqa: E402
import mariadb  # noqa: E402


def make():
    if not mariadb.program("mariadbd"):
        raise Skip("no mariadbd: packaging/deps.sh test")
    site = Alone("runners-sql")
    try:
        site.my = mariadb.MariaDB("--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M", flush=0)
        site.closers.append(site.my.close)
        site.my.sql("CREATE DATABASE d; CREATE USER 'job'@'%' IDENTIFIED BY 'my'; GRANT ALL ON d.* TO 'job'@'%'")
        site.pg = databases.Postgres()
        site.closers.append(site.pg.close)
        site.lite = str(site.dir / "lite.db")
        sqlite3.connect(site.lite).close()
        site.secrets = {"mypw": "my", "pgpw": "pg"}
        site.at = {"mariadb": {"kind": "mariadb", "port": site.my.port, "user": "job", "password": "mypw", "database": "d"},
                   "postgresql": {"kind": "postgresql", "port": site.pg.port, "user": "postgres", "password": "pgpw",
                                  "database": "postgres"},
                   "sqlite": {"kind": "sqlite", "database": site.lite}}
    except BaseException:
        site.close()
        raise
    return site


def run(site, runner, where, *words, **params):
    return site.run(runner, {**site.at[where], **params}, *words, secrets=site.secrets)


def sql(site, where, text, *words, **params):
    return run(site, "sql", where, *words, sql=text, **params)


def rows(site, kind, text):
    done = sql(site, kind, text, log_rows=100000)
    assert done.ok, done
    return [line.split(",") for line in done.out.splitlines()[1:]]


@test
def sql_statements_run_in_order_and_their_counts_are_outputs(site):
    for kind in site.at:
        done = sql(site, kind, "CREATE TABLE one (a INT, b VARCHAR(20)); INSERT INTO one VALUES (1, 'x'), (2, 'y,z'), (3, NULL);"
                   "SELECT a AS first, b FROM one ORDER BY a; UPDATE one SET b = 'w' WHERE a > 1", first_row="true")
        assert done.ok, (kind, done)
        assert done.out == 'first,b\n1,x\n2,"y,z"\n3,\n', (kind, done)
        want = {"rows": "3", "affected": "5", "statements": "4", "first": "1", "b": "x"}
        assert done.outputs == want, (kind, done)
        assert "statement 2: 3 rows affected" in done.err, (kind, done)


@test
def sql_a_list_of_statements_has_progress_and_session_variables(site):
    for kind, session, ask in (("mariadb", {"sql_mode": "ANSI", "wait_timeout": 77}, 'SELECT @@wait_timeout AS "v"'),
                               ("postgresql", {"work_mem": "77kB"}, "SHOW work_mem"),
                               ("sqlite", {"cache_size": 77}, "PRAGMA cache_size")):
        done = run(site, "sql", kind, session=session, statements=[ask, "SELECT 1"])
        assert done.ok and "77" in done.out.splitlines()[1], (kind, done)
        assert ("500", "1 of 2 statements") in done.progress and done.progress[-1][0] == "1000", done
    done = run(site, "sql", "mariadb", session={"a b": 1}, sql="SELECT 1")
    assert "session: 'a b' is no name" in done.err, done


@test
def sql_a_transaction_is_all_or_nothing(site):
    for kind in site.at:
        assert sql(site, kind, "CREATE TABLE tx (a INT)").ok
        statements = ["INSERT INTO tx VALUES (1)", "INSERT INTO nowhere VALUES (1)"]
        done = run(site, "sql", kind, statements=statements, transaction="true")
        assert done.status == 1 and "statement 2: " in done.err and "nowhere" in done.err, (kind, done)
        assert rows(site, kind, "SELECT count(*) FROM tx") == [["0"]], kind
        assert not run(site, "sql", kind, statements=statements).ok
        assert rows(site, kind, "SELECT count(*) FROM tx") == [["1"]], kind


@test
def sql_a_result_becomes_a_csv_file_that_is_whole_or_absent(site):
    path = site.dir / "out.csv"
    for kind in site.at:
        numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
        done = sql(site, kind, numbers + "SELECT i, 'a\"b' AS t, NULL AS e FROM n", csv_file=str(path), csv_delimiter="tab",
                   csv_null="\\N")
        text = path.read_text()
        assert done.ok and done.outputs["rows"] == "900" and done.out == "", (kind, done)
        assert text.startswith('i\tt\te\n1\t"a""b"\t\\N\n') and text.count("\n") == 901, (kind, text[:100])
        path.unlink()
        done = sql(site, kind, numbers + "SELECT i FROM n", csv_file=str(path), csv_max=100)
        assert "more than 100 bytes" in done.err and not done.ok, (kind, done)
        done = sql(site, kind, "SELECT 1; SELECT 2", csv_file=str(path))
        assert "csv_file takes one result, and statement 2 gives a second" in done.err, (kind, done)
        assert not list(site.dir.glob("out.csv*")), kind
    done = sql(site, "sqlite", "SELECT 1", csv_file="/no/such/folder/x.csv")
    assert "/no/such/folder/x.csv: cannot be made: No such file or directory" in done.err, done


@test
def sql_a_kill_cancels_the_statement_on_the_server(site):
    running = {"mariadb": lambda: site.my.sql("SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(600)%' "
                                              "AND id <> connection_id()"),
               "postgresql": lambda: site.pg.sql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' "
                                                 "AND state = 'active' AND pid <> pg_backend_pid()")}
    texts = {"mariadb": "SELECT SLEEP(600)", "postgresql": "SELECT pg_sleep(600)",
             "sqlite": "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"}
    for kind, text in texts.items():
        job = site.start("sql", {**site.at[kind], "sql": text}, "--kill-after", "0.5", secrets=site.secrets)
        done = site.end(job, 30)
        assert done.status == 1 and "exit code -15" in done.err and "could not be" not in done.err, (kind, done)
        if kind in running:
            until("the server has ended it", lambda k=kind: running[k]().strip() == "0", 30)


@test
def sql_what_is_wrong_is_said_in_one_sentence(site):
    for params, words in (
            ({"kind": "oracle"}, "parameter kind is 'oracle', want one of mysql, mariadb, postgresql, sqlite"),
            ({"kind": ""}, "want parameter server (a target server), or kind"),
            ({"server": "warehouse"}, "parameter server: there is no target server 'warehouse'"),
            ({"sql": ""}, "want exactly one of the parameters sql, statements"),
            ({"sql": "SELECT 1", "statements": ["SELECT 1"]}, "want exactly one of the parameters"),
            ({"port": "many"}, "parameter port is 'many'"),
            ({"csv_delimiter": "::"}, "parameter csv_delimiter is '::'"),
            ({"csv_file": "out.csv"}, "want a path from the root")):
        done = run(site, "sql", "mariadb", **{"sql": "SELECT 1", **params})
        assert done.status == 1 and done.fatal and words in done.err, (params, done)
    for kind, params, words in (("mariadb", {"password": "pgpw"}, "connect: 1045 Access denied"),
                                ("postgresql", {"password": "mypw"}, "connect: "),
                                ("mariadb", {"port": 1}, "connect: 2002 "), ("postgresql", {"port": 1}, "connect: "),
                                ("mariadb", {"tls": "on"}, "connect: the server offers no TLS"),
                                ("sqlite", {"database": "/no/such"}, "connect: /no/such: unable to open"),
                                ("mariadb", {"sql": "SELEC 1"}, "statement 1: 1064 "),
                                ("postgresql", {"sql": "SELEC 1"}, "statement 1: 42601 "),
                                ("sqlite", {"sql": "SELEC 1"}, 'statement 1: near "SELEC"'),
                                ("postgresql", {"sql": "COPY one FROM STDIN"}, "COPY with the client is not supported")):
        done = run(site, "sql", kind, **{"sql": "SELECT 1", **params})
        assert done.status == 1 and not done.fatal and words in done.err, (kind, params, done)


@test
def sql_a_target_server_gives_what_the_task_does_not_say(site):
    keys = {f"server.{k}": v for k, v in site.at["mariadb"].items() if k != "password"}
    done = site.run("sql", {"server": "warehouse", **keys, "sql": "SELECT 1"}, secrets={"server.password": "my"})
    assert done.ok and done.out == "1\n1\n", done


if __name__ == "__main__":
    sys.exit(main(make))
