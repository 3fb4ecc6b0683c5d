#!/usr/bin/env python3
"""The runners that speak SQL, each job run alone against a real MariaDB and PostgreSQL, started here on
loopback, and SQLite files. TAP."""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, Skip, main, test, until  # noqa: E402
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
        site.my.sql("CREATE DATABASE d CHARACTER SET utf8mb4; CREATE USER 'job'@'%' IDENTIFIED BY 'my'; GRANT ALL ON d.* TO 'job'@'%'")
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


def run(site, runner, where, /, *words, **params):
    return site.run(runner, {**site.at[where], **params}, *words, secrets=site.secrets)


def sql(site, where, text, /, *words, **params):
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
        assert "statement 2: csv_file takes one result, and there is a second" in done.err, (kind, done)
        assert not list(site.dir.glob("out.csv*")), kind
    done = sql(site, "sqlite", "SELECT 1", csv_file="/no/such/folder/x.csv")
    assert "/no/such/folder/x.csv: cannot be made: No such file or directory" in done.err, done


@test
def sql_a_kill_cancels_the_statement_on_the_server(site):
    running = {"mariadb": lambda: site.my.sql("SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(600)%' "
                                              "AND id <> connection_id()"),
               "postgresql": lambda: site.pg.sql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' "
                                                 "AND state = 'active' AND pid <> pg_backend_pid()")}
    # The server was asked: a connection that is only cut leaves a statement behind.
    asked = {"mariadb": lambda: int(site.my.sql("SHOW GLOBAL STATUS LIKE 'Com_kill'").split()[1]),
             "postgresql": lambda: (site.pg.dir / "log").read_text().count("canceling statement due to user request")}
    texts = {"mariadb": "SELECT SLEEP(600)", "postgresql": "SELECT pg_sleep(600)",
             "sqlite": "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"}
    for kind, text in texts.items():
        before = asked.get(kind, int)()
        for after in ("0.5", "4", "20"):  # on a slow machine it begins late
            job = site.start("sql", {**site.at[kind], "sql": text}, "--kill-after", after, secrets=site.secrets)
            done = site.end(job, 60)
            assert done.status == 1 and "exit code -15" in done.err and "could not be" not in done.err, (kind, done)
            if kind == "sqlite" or asked[kind]() > before:
                break
        else:
            raise AssertionError(f"{kind} was never asked to cancel: {done}")
        if kind in running:
            until("the server has ended it", lambda k=kind: running[k]().strip() == "0", 30)


@test
def sql_the_machine_decides_which_addresses_may_be_reached(site):
    sockets = {"mariadb": str(site.my.socket), "postgresql": str(site.pg.dir)}
    jobs = {"sql": {"sql": "SELECT 1"}, "sensor": {"watch": "sql", "sql": "SELECT 1"},
            "check": {"table": "x", "rules": [{"rows": "> 3"}]},
            "transfer": {"csv_file": str(site.dir / "egress.csv"), "query": "SELECT 1 AS x"}}

    def end(runner, kind, **where):
        prefix = "source_" if runner == "transfer" else ""
        at = {prefix + name: value for name, value in dict(site.at[kind], **where).items()}
        return site.run(runner, {**at, **jobs[runner]}, secrets=site.secrets)

    try:
        site.egress("")
        for kind in sockets:
            port = site.at[kind]["port"]
            for runner in jobs:
                done = end(runner, kind)
                assert done.status == 1 and done.fatal, (runner, kind, done)
                assert f"127.0.0.1:{port} is a loopback address" in done.err, (runner, kind, done)
                assert f"wants \"allow 127.0.0.1 {port}\" in this machine's egress file, /" in done.err, (runner, kind, done)
            at_home = "a local socket" if kind == "mariadb" else "a loopback"
            for host, what in (("localhost", at_home), ("169.254.169.254", "a metadata"), ("10.1.2.3", "a private"),
                               ("::ffff:127.0.0.1", "a loopback"), ("fe80::1%lo", "a link-local"),
                               (sockets[kind], "a local socket")):
                done = end("sql", kind, host=host)
                assert done.status == 1 and done.fatal and what in done.err, (kind, host, done)
        done = end("sql", "postgresql", host="@abstract")
        assert done.fatal and "a local socket without a path: no line of this machine's egress file allows one" in done.err, done
        site.egress(f"allow {site.my.dir}\nallow {site.pg.dir}\n")  # a folder, and what is in it
        for kind, host in sockets.items():
            assert end("sql", kind, host=host).ok, (kind, end("sql", kind, host=host))
        site.egress("allow everything\n")
        done = end("sql", "mariadb")
        assert "verdict infra" in done.err and "egress.conf:1: that is no address" in done.err, done
    finally:
        site.egress("allow 127.0.0.1\n")


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
def sql_what_a_killed_loader_left_is_ended_before_the_next_attempt_begins(site):
    sleeping = {"mariadb": ("SELECT SLEEP(601)", lambda: site.my.sql("SELECT count(*) FROM information_schema.processlist "
                                                                    "WHERE info LIKE '%SLEEP(601)%' AND id <> connection_id()")),
                "postgresql": ("SELECT pg_sleep(601)", lambda: site.pg.sql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
                                                                           "'%pg_sleep(601)%' AND state = 'active' AND pid <> pg_backend_pid()"))}
    for kind, (text, count) in sleeping.items():
        name = {"sirdar.work_id": "sirdar-7-2-0-9"}
        job = site.start("sql", {**site.at[kind], "sql": text, **name}, secrets=site.secrets)
        until("it runs there", lambda: count().strip() == "1", 60)
        job.kill()
        job.communicate()
        assert count().strip() == "1", kind  # the server has noticed nothing
        assert run(site, "sql", kind, sql="SELECT 1", **{"sirdar.work_id": "sirdar-7-2-1-9"}).ok and count().strip() == "1", kind
        done = run(site, "sql", kind, sql="SELECT 1", **name, **{"sirdar.work_again": "1"})
        assert done.ok and "an earlier attempt works there" in done.err, (kind, done)
        until("it is ended there", lambda: count().strip() == "0", 60)


@test
def sql_a_target_server_gives_what_the_task_does_not_say(site):
    keys = {f"server.{k}": v for k, v in site.at["mariadb"].items() if k != "password"}
    done = site.run("sql", {"server": "warehouse", **keys, "sql": "SELECT 1"}, secrets={"server.password": "my"})
    assert done.ok and done.out == "1\n1\n", done


# --- check

GOOD = "INSERT INTO q VALUES (1, 'a', 5), (2, NULL, 7), (3, 'c', NULL), (3, 'd', 90)"


@test
def check_rules_that_hold_succeed_and_broken_ones_block_or_warn(site):
    for where in site.at:
        assert sql(site, where, "CREATE TABLE q (id INT, name VARCHAR(9), n INT); " + GOOD).ok
        done = run(site, "check", where, table="q", rules=[
            {"rows": "> 3", "name": "count"}, {"null_rate": "name", "max": 0.25}, {"unique": ["id", "name"]},
            {"range": "n", "min": 0, "max": 90}, {"sql": "SELECT max(id) FROM q", "expect": "= 3"},
            {"unique": "id", "where": "id < 3"}])
        assert done.ok and done.outputs == {"count": "4", "blocked": "0", "warned": "0"}, (where, done)
        done = run(site, "check", where, table="q", where="id > 1", rules=[
            {"rows": "= 9"}, {"null_rate": "name"}, {"unique": "id"}, {"range": "n", "max": 50}, {"sql": "SELECT 1"}])
        assert done.status == 1 and "5 of 5 rules are broken; rows: found 3, want = 9" in done.err, (where, done)
        assert "BLOCK rule 2, null_rate name: found 0.33" in done.err and done.outputs["blocked"] == "5", (where, done)
        done = run(site, "check", where, table="q", level="warn", rules=[{"unique": "id"}, {"rows": "> 0", "level": "block"}])
        assert done.ok and "WARN  rule 1" in done.err and done.outputs["warned"] == "1", (where, done)
        assert "1 of 2 rules warn" in done.err, done


@test
def check_rules_that_are_none_are_refused_with_their_number(site):
    for rules, words in (([], "parameter rules: want 1 to"), ("nothing", "parameter rules: want a list of maps"),
                         ([{"rows": "> 0"}, {"size": 1}], "rule 2: want exactly one of rows, null_rate, unique, range, sql"),
                         ([{"rows": "> 0", "level": "shout"}], "rule 1: level is 'shout', want block or warn"),
                         ([{"range": "n"}], "rule 1: range: want min, max, or both")):
        done = run(site, "check", "sqlite", table="q", rules=rules)
        assert done.status == 1 and done.fatal and words in done.err, (rules, done)
    done = run(site, "check", "sqlite", rules=[{"rows": "> 0"}])
    assert "rule 1: of which table" in done.err, done
    done = run(site, "check", "mariadb", table="nowhere", rules=[{"rows": "> 0"}])
    assert done.status == 1 and "rule 1: 1146 " in done.err, done


# --- sensor

@test
def sensor_a_row_or_a_partition_of_a_table_is_waited_for(site):
    for where in site.at:
        assert sql(site, where, "CREATE TABLE s (dt VARCHAR(10), n INT)").ok
        for params in ({"table": "s", "columns": {"dt": "d'1", "n": 7}}, {"sql": "SELECT n FROM s"},
                       {"sql": "SELECT count(*) FROM s"}, {"sql": "SELECT max(n) FROM s"}):
            done = run(site, "sensor", where, watch="sql", **params)
            assert done.not_yet, (where, params, done)
        assert sql(site, where, "INSERT INTO s VALUES ('d''1', 7)").ok
        for params in ({"table": "s", "columns": {"dt": "d'1", "n": 7}}, {"sql": "SELECT n FROM s"}):
            done = run(site, "sensor", where, watch="sql", **params)
            assert done.ok and done.outputs["value"] in ("1", "7"), (where, params, done)
        assert run(site, "sensor", where, watch="sql", table="s", columns={"n": 8}).not_yet
    done = run(site, "sensor", "mariadb", watch="sql", sql="SELECT 1", port=1)
    assert done.status == 1 and "2002" in done.err, done
    assert run(site, "sensor", "mariadb", watch="sql", sql="SELECT 1", port=1, on_error="wait").not_yet


# --- transfer

def both(site, source, target, **params):
    ends = {f"source_{k}": v for k, v in site.at[source].items()}
    ends.update({f"target_{k}": v for k, v in (site.at[target] if target else {}).items()})
    return {**ends, **params}


def carry(site, source, target, *words, **params):
    return site.run("transfer", both(site, source, target, **params), *words, secrets=site.secrets)


NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
ODD = "('it''s'), ('tab\tnew\nline'), ('\\ back'), (NULL), (''), ('\u4e2d\u6587')"


def odd(where):
    """Texts that need care; a backslash is special in MySQL's own texts."""
    return ODD.replace("\\", "\\\\") if where == "mariadb" else ODD


@test
def transfer_replaces_a_table_elsewhere_whatever_is_in_its_texts(site):
    for source, target in (("mariadb", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "mariadb")):
        for where in (source, target):
            assert sql(site, where, "DROP TABLE IF EXISTS t; CREATE TABLE t (v VARCHAR(40))").ok
        done = sql(site, source, f"INSERT INTO t VALUES {odd(source)}")
        assert done.ok, done
        assert sql(site, target, "INSERT INTO t VALUES ('old')").ok
        for _ in range(2):  # running it again changes nothing
            done = carry(site, source, target, table="t", to_table="t", chunk=2, count="true")
            assert done.ok and done.outputs == {"rows": "6"}, (source, target, done)
            ask = "SELECT v FROM t ORDER BY v IS NULL, v"
            assert rows(site, target, "SELECT count(*) FROM t") == [["6"]]
            for value in ("it''s", "tab\tnew\nline", "\\\\ back" if target == "mariadb" else "\\ back", "", "\u4e2d\u6587"):
                got = rows(site, target, f"SELECT count(*) FROM t WHERE v = '{value}'")
                assert got == [["1"]], (source, target, value, got, sql(site, target, ask))
        left = carry(site, source, target, table="t", to_table="nowhere")
        assert left.status == 1 and "target: " in left.err and "nowhere" in left.err, left
        left = carry(site, source, target, query="SELECT nothing FROM t", to_table="t")
        assert left.status == 1 and "source: " in left.err, left
        assert rows(site, target, "SELECT count(*) FROM t") == [["6"]]


# What people have columns for: where it is declared as what (None: not there), three values of it as each writes them, and
# how each tells that the first one is there. The servers' own zones are not UTC, nor the same.
EPOCH = "1774747800.25"  # 2026-03-29 01:30:00.25 UTC; in many zones that hour is strange
BIG = 300000
TYPES = [
    ("boolean", {"mariadb": "BOOLEAN", "postgresql": "BOOLEAN", "sqlite": "BOOLEAN"}, "TRUE;FALSE;NULL",
     {"mariadb": "v = 1", "postgresql": "v", "sqlite": "v = 1 AND typeof(v) = 'integer'"}),
    ("a bit", {"mariadb": "BIT(1)", "postgresql": "BOOLEAN", "sqlite": "BOOLEAN"}, "TRUE;FALSE;NULL",
     {"mariadb": "v = 1", "postgresql": "v", "sqlite": "v = 1"}),
    ("a boolean as a number", {"mariadb": "TINYINT", "postgresql": "BOOLEAN", "sqlite": "INTEGER"}, "TRUE;FALSE;NULL",
     {"mariadb": "v = 1", "postgresql": "v", "sqlite": "v = 1"}),
    ("an instant", {"mariadb": "TIMESTAMP(6) NULL", "postgresql": "TIMESTAMPTZ", "sqlite": "DATETIME"},
     {"mariadb": f"FROM_UNIXTIME({EPOCH});FROM_UNIXTIME(86400);NULL", "postgresql": f"to_timestamp({EPOCH});to_timestamp(86400);NULL",
      "sqlite": "'2026-03-29 01:30:00.25+00:00';'1970-01-02 00:00:00+00:00';NULL"},
     {"mariadb": f"UNIX_TIMESTAMP(v) = {EPOCH}", "postgresql": f"extract(epoch FROM v) = {EPOCH}",
      "sqlite": "strftime('%s', v) = '1774747800'"}),
    ("date and time", {"mariadb": "DATETIME(6)", "postgresql": "TIMESTAMP", "sqlite": "DATETIME"},
     "'2026-03-29 02:30:00.125';'1066-10-14 09:00:00';NULL", {k: "v = '2026-03-29 02:30:00.125'" for k in ("mariadb", "postgresql")}),
    ("date", {"mariadb": "DATE", "postgresql": "DATE", "sqlite": "DATE"}, "'2028-02-29';'0999-01-01';NULL",
     {k: "v = '2028-02-29'" for k in ("mariadb", "postgresql", "sqlite")}),
    ("time", {"mariadb": "TIME(6)", "postgresql": "TIME", "sqlite": "TIME"}, "'23:59:59.5';'00:00:00';NULL",
     {k: "v = '23:59:59.5'" for k in ("mariadb", "postgresql")}),
    ("number with a scale", {"mariadb": "DECIMAL(20,4)", "postgresql": "NUMERIC(20,4)", "sqlite": "TEXT"},
     {"mariadb": "1234567890123456.7891;-0.0001;NULL", "postgresql": "1234567890123456.7891;-0.0001;NULL",
      "sqlite": "'1234567890123456.7891';'-0.0001';NULL"},
     {"mariadb": "v = 1234567890123456.7891", "postgresql": "v = 1234567890123456.7891", "sqlite": "v = '1234567890123456.7891'"}),
    ("price", {"mariadb": "DECIMAL(10,2)", "postgresql": "NUMERIC(10,2)", "sqlite": "DECIMAL(10,2)"}, "12345678.25;-0.5;NULL",
     {k: "v = 12345678.25" for k in ("mariadb", "postgresql", "sqlite")}),
    ("large integer", {"mariadb": "BIGINT", "postgresql": "BIGINT", "sqlite": "INTEGER"}, "9223372036854775807;-1;NULL",
     {k: "v = 9223372036854775807" for k in ("mariadb", "postgresql", "sqlite")}),
    ("double", {"mariadb": "DOUBLE", "postgresql": "DOUBLE PRECISION", "sqlite": "REAL"}, "0.1;-2.5e-7;NULL",
     {k: "v = 0.1" for k in ("mariadb", "postgresql", "sqlite")}),
    ("bytes", {"mariadb": "LONGBLOB", "postgresql": "BYTEA", "sqlite": "BLOB"},
     {"mariadb": "X'00ff275c0a80';X'';NULL", "postgresql": "decode('00ff275c0a80', 'hex');decode('', 'hex');NULL",
      "sqlite": "X'00ff275c0a80';X'';NULL"},
     {"mariadb": "v = X'00ff275c0a80'", "postgresql": "v = decode('00ff275c0a80', 'hex')", "sqlite": "v = X'00ff275c0a80'"}),
    ("uuid", {"mariadb": "CHAR(36)", "postgresql": "UUID", "sqlite": "TEXT"},
     "'6f1e2b9c-0d4a-4c11-9f00-00ff275c0a80';'00000000-0000-0000-0000-000000000000';NULL",
     {k: "v = '6f1e2b9c-0d4a-4c11-9f00-00ff275c0a80'" for k in ("mariadb", "postgresql", "sqlite")}),
    ("uuid as bytes", {"mariadb": "BINARY(16)", "postgresql": "UUID", "sqlite": "BLOB"},
     {"mariadb": "X'6f1e2b9c0d4a4c119f0000ff275c0a80';X'00000000000000000000000000000000';NULL",
      "postgresql": "'6f1e2b9c-0d4a-4c11-9f00-00ff275c0a80';'00000000-0000-0000-0000-000000000000';NULL",
      "sqlite": "X'6f1e2b9c0d4a4c119f0000ff275c0a80';X'00000000000000000000000000000000';NULL"},
     {"mariadb": "hex(v) = '6F1E2B9C0D4A4C119F0000FF275C0A80'", "postgresql": "v = '6f1e2b9c-0d4a-4c11-9f00-00ff275c0a80'",
      "sqlite": "hex(v) = '6F1E2B9C0D4A4C119F0000FF275C0A80'"}),
    ("json", {"mariadb": "JSON", "postgresql": "JSON", "sqlite": "TEXT"}, "'{\"a\": [1, null, \"\u4e2d\"]}';'[]';NULL",
     {"mariadb": "JSON_VALUE(v, '$.a[0]') = 1", "postgresql": "v ->> 'a' = '[1, null, \"\u4e2d\"]'", "sqlite": "v LIKE '{\"a\": [1,%'"}),
    ("large text", {"mariadb": "LONGTEXT", "postgresql": "TEXT", "sqlite": "TEXT"},
     {"mariadb": f"REPEAT('\u4e2d\u00e9', {BIG});'';NULL", "postgresql": f"repeat('\u4e2d\u00e9', {BIG});'';NULL",
      "sqlite": f"replace(hex(zeroblob({BIG // 2})), '0', '\u4e2d\u00e9');'';NULL"},
     {"mariadb": f"CHAR_LENGTH(v) = {2 * BIG}", "postgresql": f"char_length(v) = {2 * BIG}", "sqlite": f"length(v) = {2 * BIG}"}),
]


def far_zones(site):
    """The databases' own zones, none of them UTC: a runner that relies on them is wrong."""
    site.my.sql("SET GLOBAL time_zone = '+08:00'")
    site.pg.sql("ALTER ROLE postgres SET TimeZone = 'America/New_York'; ALTER ROLE postgres SET DateStyle = 'SQL, DMY'; ALTER ROLE postgres SET bytea_output = 'escape'")


@test
def transfer_carries_what_columns_hold_there_and_back_between_all_three(site):
    far_zones(site)
    for what, declared, values, checks in TYPES:
        for source in site.at:
            mine = (values if isinstance(values, str) else values[source]).split(";")
            if source == "mariadb":
                mine = [v.replace("\\", "\\\\") for v in mine]
            for target in site.at:
                if source == target == "sqlite":
                    continue  # one file cannot be both
                case = (what, source, target)
                for where, tables in ((source, ("here", "back")), (target, ("there",))):
                    for table in tables:
                        done = sql(site, where, f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id INT, v {declared[where]})")
                        assert done.ok, (case, done)
                done = sql(site, source, "INSERT INTO here VALUES " + ", ".join(f"({i}, {v})" for i, v in enumerate(mine)))
                assert done.ok, (case, done)
                done = carry(site, source, target, table="here", to_table="there")
                assert done.ok and done.outputs == {"rows": "3"}, (case, done)
                if target in checks:
                    got = rows(site, target, f"SELECT id FROM there WHERE {checks[target]}")
                    assert got == [["0"]], (case, got, sql(site, target, "SELECT * FROM there").out[:300])
                assert rows(site, target, "SELECT id FROM there WHERE v IS NULL") == [["2"]], case
                done = carry(site, target, source, table="there", to_table="back")
                assert done.ok, (case, done)
                if source in checks:
                    got = rows(site, source, f"SELECT id FROM back WHERE {checks[source]}")
                    assert got == [["0"]], (case, got, sql(site, source, "SELECT * FROM back").out[:300])
                if source != "sqlite":  # there a text of an instant may be another text of the same one
                    got = rows(site, source, "SELECT count(*) FROM here h JOIN back b ON h.id = b.id WHERE " +
                               ("h.v <=> b.v" if source == "mariadb" else "h.v::text IS NOT DISTINCT FROM b.v::text"))
                    assert got == [["3"]], (case, got, sql(site, source, "SELECT * FROM back").out[:300])


@test
def transfer_refuses_what_cannot_be_carried_by_column_and_type(site):
    for source, here, value, target, there, *words in (
            ("postgresql", "TIMESTAMPTZ", "now()", "mariadb", "DATE", "column v", "timestamptz", "date"),
            ("mariadb", "DATETIME", "'2026-03-01 10:00:00'", "postgresql", "DATE", "column v", "datetime", "date"),
            ("postgresql", "TIMETZ", "'10:00:00+02'", "mariadb", "TIME", "column v", "timetz", "time"),
            ("mariadb", "POINT", "POINT(1, 2)", "postgresql", "TEXT", "column v", "geometry", "text"),
            ("postgresql", "BYTEA", "decode('00ff', 'hex')", "mariadb", "LONGTEXT", "column v", "bytea", "text", "its bytes are no text"),
            # an overlong NUL, a surrogate, a number above Unicode's last: SQLite itself would take them as text
            ("mariadb", "BLOB", "X'E08080'", "sqlite", "TEXT", "column v", "binary", "TEXT", "its bytes are no text"),
            ("mariadb", "BLOB", "X'EDA080'", "sqlite", "TEXT", "column v", "binary", "TEXT", "its bytes are no text"),
            ("mariadb", "BLOB", "X'F4908080'", "sqlite", "TEXT", "column v", "binary", "TEXT", "its bytes are no text"),
            ("postgresql", "BYTEA", "decode('00ff', 'hex')", "postgresql", "UUID", "column v", "bytea", "uuid", "16 bytes"),
            ("mariadb", "DECIMAL(20,4)", "1234567890123456.7891", "sqlite", "NUMERIC", "column v", "decimal", "NUMERIC", "take TEXT"),
            ("sqlite", "TEXT", "CAST(X'610062' AS TEXT)", "postgresql", "TEXT", "column v", "TEXT", "text", "NUL"),
            ("postgresql", "INT", "7", "mariadb", "BLOB", "column v", "integer", "binary")):
        assert sql(site, source, f"DROP TABLE IF EXISTS no; CREATE TABLE no (v {here}); INSERT INTO no VALUES ({value})").ok, here
        done = sql(site, target, f"DROP TABLE IF EXISTS nowhere; CREATE TABLE nowhere (v {there})")
        assert done.ok, done
        done = carry(site, source, target, table="no", to_table="nowhere")
        assert done.status == 1 and all(w in done.err for w in words), (words, done)
        assert rows(site, target, "SELECT count(*) FROM nowhere") == [["0"]]


@test
def transfer_appends_what_is_new_and_goes_on_where_a_broken_run_ended(site):
    for source, target in (("mariadb", "postgresql"), ("postgresql", "mariadb")):
        for where, more in ((source, ""), (target, ", CHECK (id <> 777)")):
            assert sql(site, where, f"DROP TABLE IF EXISTS a; CREATE TABLE a (id INT, v INT{more})").ok
        assert sql(site, source, ("INSERT INTO a " + NUMBERS if source == "mariadb" else NUMBERS + "INSERT INTO a ") +
                   "SELECT i, i FROM n").ok
        how = {"table": "a", "to_table": "a", "mode": "append", "watermark": "id", "chunk": 100, "mark_name": "m"}
        done = carry(site, source, target, **how)
        assert done.status == 1 and "target: " in done.err, done  # the row 777 is not taken
        assert rows(site, target, "SELECT count(*), max(id) FROM a") == [["700", "700"]]
        assert sql(site, source, "DELETE FROM a WHERE id = 777").ok
        done = carry(site, source, target, **how)
        assert done.ok and done.outputs == {"rows": "199", "watermark": "900"}, done
        assert "continues after id = 700" in done.err, done
        assert carry(site, source, target, **how).outputs["rows"] == "0"
        assert rows(site, target, "SELECT count(*), count(DISTINCT id) FROM a") == [["899", "899"]]


@test
def transfer_writes_a_csv_file_and_a_kill_leaves_nothing_of_it(site):
    path = site.dir / "t.csv"
    for where in site.at:
        done = carry(site, where, None, query=NUMBERS.replace("900", "3") + "SELECT i, 'x,y' AS t FROM n", csv_file=str(path))
        assert done.ok and path.read_text() == 'i,t\n1,"x,y"\n2,"x,y"\n3,"x,y"\n', (where, done)
        path.unlink()
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    for where in ("postgresql", "sqlite"):
        done = carry(site, where, None, "--kill-after", "0.5", query=endless, csv_file=str(path))
        assert "exit code -15" in done.err and not list(site.dir.glob("t.csv*")), (where, done)


@test
def a_csv_file_replaces_nothing_but_a_plain_file(site):
    """As root it replaced devices: /dev/full became a file of two lines."""
    pipe, link, folder, old = (site.dir / name for name in ("pipe.csv", "link.csv", "folder.csv", "old.csv"))
    os.mkfifo(pipe)
    link.symlink_to(site.dir / "elsewhere.csv")
    folder.mkdir()
    old.write_text("old")
    for path, words in ((pipe, "a pipe"), (link, "a link"), (folder, "a directory")):
        done = carry(site, "sqlite", None, query="SELECT 1 AS i", csv_file=str(path))
        assert not done.ok and f"{path.name}: is {words}, no plain file" in done.err, done
    assert pipe.is_fifo() and link.is_symlink() and folder.is_dir() and not list(site.dir.glob("*.part-*"))
    assert carry(site, "sqlite", None, query="SELECT 1 AS i", csv_file=str(old)).ok and old.read_text() == "i\n1\n"


@test
def transfer_parameters_that_do_not_fit_are_refused(site):
    for params, words in (({"to_table": "t"}, "want exactly one of the parameters table, query"),
                          ({"table": "t"}, "want exactly one of the parameters to_table, csv_file"),
                          ({"table": "t", "csv_file": "/x", "mode": "append"}, "a csv_file is always made anew"),
                          ({"table": "t", "to_table": "t", "watermark": "id"}, "watermark goes with to_table and mode append"),
                          ({"table": "t", "to_table": "t", "chunk": 0}, "parameter chunk is '0', want a number from 1 to 100000"),
                          ({"table": "t", "to_table": "t", "source_kind": "db2"}, "parameter source_kind is 'db2'")):
        done = carry(site, "sqlite", "sqlite", **params)
        assert done.status == 1 and done.fatal and words in done.err, (params, done)


# --- under the server

@test
def target_servers_give_a_task_what_it_needs_and_its_values_come_back(site):
    assert sql(site, "mariadb", "CREATE TABLE sold (id INT); INSERT INTO sold VALUES (1), (2), (3)").ok
    assert sql(site, "postgresql", "CREATE TABLE sold (id INT)").ok
    keys = site.dir / "secrets.keys"
    keys.touch(0o600)
    keys.write_text("one:" + "7" * 64 + "\n")
    with Site("targets-sql", types_dir=BIN.parent / "types", secrets_key_file=keys) as s:
        s.env["SIRDAR_EGRESS"] = str(site.dir / "egress.conf")
        s.start(types=("sql:2", "transfer:2", "check:2"))
        for name, where in (("shop", "mariadb"), ("house", "postgresql")):
            word = s.dir / name
            word.touch(0o600)
            word.write_text(site.secrets[site.at[where]["password"]] + "\n")
            at = site.at[where]
            s.sirdar("target", "set", name, "--kind", at["kind"], "--host", "127.0.0.1", "--port", str(at["port"]), "--user", at["user"],
                     "--database", at["database"], "--password-file", str(word))
        s.apply("""workflow: w
project: p
timezone: UTC
start_date: 2026-03-01
end_date: 2026-03-01
defaults: {cycle: day, catchup: {mode: all}}
tasks:
  carry: {type: transfer, outputs: [rows], params: {source: shop, table: sold, target: house, to_table: sold}}
  sum: {type: sql, needs: [{task: carry, depend: 1}], outputs: [total], params: {server: house, first_row: true,
        sql: "SELECT sum(id) AS total FROM sold WHERE id <= ${carry.rows}"}}
  good: {type: check, needs: [{task: carry, depend: 1}], params: {server: house, table: sold, rules: [{rows: "= ${carry.rows}"}, {unique: [id]}]}}
""", **{"from": "2026-03-01"})
        for name in ("carry", "sum", "good"):
            i = s.wait_state(f"p/w/{name}", "2026-03-01T00:00:00Z", ("Succ", "Fail", "Failed", "StopSchedule"), 60)
            assert i["state"] == "Succ", (name, i, s.log_of(i["id"]))
            if name == "sum":
                assert s.get(f"/api/v1/instances/{i['id']}")["outputs"] == {"total": "6"}, i
        try:  # the loader judges as sirdar-runner-run does, and keeps its own link
            site.egress("")
            s.apply("""workflow: barred
project: p
timezone: UTC
start_date: 2026-03-01
end_date: 2026-03-01
tasks:
  t: {type: sql, cycle: day, catchup: {mode: all}, params: {server: house, sql: "SELECT 1"}}
""", **{"from": "2026-03-01"})
            i = s.wait_state("p/barred/t", "2026-03-01T00:00:00Z", ("Succ", "Fail", "Failed", "StopSchedule"), 60)
            assert i["state"] != "Succ" and "is a loopback address" in str(s.get(f"/api/v1/instances/{i['id']}/events")), i
        finally:
            site.egress("allow 127.0.0.1\n")


if __name__ == "__main__":
    sys.exit(main(make))
