#!/usr/bin/env python3
"""The runners of clusters against the real things, HEAVY=1: a Trino, a Hadoop with YARN, a HiveServer2, Spark; each
started here on loopback (counterparts.py), each job a task under the server. TAP."""
import json
import os
import re
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, Skip, main, test, until  # noqa: E402
import counterparts  # noqa: E402

HEAD = "project: real\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\n"
DAY = "2026-03-01T00:00:00Z"
TYPES = ("presto:4", "mapreduce:4", "spark:4", "hive:4")
OVER = ("Succ", "StopSchedule", "Killed")


def make():
    counterparts.need()
    site = Site("real")
    site.env["SIRDAR_EGRESS"] = str(site.dir / "egress.conf")
    (site.dir / "egress.conf").write_text("allow 127.0.0.1\n")
    site.here = {}
    close = site.close

    def close_all():
        for name in list(site.here):
            end(site, name)
        close()
    site.close = close_all
    return site.start(types=TYPES)


def have(site, name, start):
    """A counterpart, started by the first who asks; one that is not to be had is asked for once."""
    if name not in site.here:
        try:
            site.here[name] = start()
        except Skip as e:
            site.here[name] = e
        site.link = None  # that took long: the cgi has closed it
    if isinstance(site.here[name], Skip):
        raise site.here[name]
    return site.here[name]


def end(site, name):
    found = site.here.pop(name, None)
    if hasattr(found, "close"):
        found.close()


def task(site, name, kind, params, seconds=300, states=OVER, more=""):
    """A task of one date -> its instance; states None: not waited for."""
    site.apply(f"workflow: {name}\n{HEAD}tasks:\n  t: {{type: {kind}, cycle: day, catchup: {{mode: all}}, {more}"
               f"params: {json.dumps(params)}}}\n", **{"from": "2026-03-01"})
    return site.wait_state(f"real/{name}/t", DAY, states, seconds) if states else None


def now(site, name):
    return site.instance(f"real/{name}/t", DAY)


def printed(site, instance, stream="stdout"):
    status, text = site.ask("GET", f"/api/v1/instances/{instance['id']}/log?stream={stream}") if instance else (404, "")
    return "" if status == 404 else text if isinstance(text, str) else bytes(text).decode("utf-8", "replace")


def log(site, instance, stream="stdout", words=None):
    def look():
        text = printed(site, instance, stream)
        return text if words is None or words in text else None
    return until(f"its log has {words!r}", look, 60)


def why(site, instance):
    return str(site.history(instance["id"]))


def progress(site, name, seconds=300):
    """What its progress was, as often as it changed, until it is over."""
    seen = []

    def look():
        i = now(site, name)
        permille = site.get(f"/api/v1/instances/{i['id']}").get("progress_permille") if i else None
        if permille is not None and permille not in seen:
            seen.append(permille)
        return i and i["state"] in OVER
    until(f"{name} is over", look, seconds, every=0.1)
    return seen


def kill(site, name, seconds=240):
    """With a grace: where it is a client that tells them elsewhere, a JVM has to start for it (runners/spark/README.md)."""
    site.sirdar("kill", f"real/{name}/t", "2026-03-01", "--yes", "--grace-ms", "120000")
    i = site.wait_state(f"real/{name}/t", DAY, ("Hanged", *OVER), seconds)
    assert i["state"] == "Killed", (i, why(site, i))
    return i


# --- Trino

LONG = "SELECT count(*), sum(length(l.comment)) FROM lineitem l JOIN orders o ON l.orderkey = o.orderkey"


def trino(site):
    return have(site, "trino", lambda: counterparts.Trino(site.dir))


def presto(site, sql, **more):
    return {"host": "127.0.0.1", "port": trino(site).port, "catalog": "tpch", "schema": "tiny", "user": "ada", "sql": sql, **more}


@test
def trino_rows_become_a_file_and_outputs(site):
    path = site.dir / "data" / "nations.csv"
    i = task(site, "rows", "presto", presto(site, "SELECT nationkey, name FROM nation ORDER BY nationkey", csv_file=str(path), first_row="true"))
    assert i["state"] == "Succ", why(site, i)
    lines = path.read_text().splitlines()
    assert lines[:2] == ["nationkey,name", "0,ALGERIA"] and len(lines) == 26, lines
    i = task(site, "write", "presto", presto(site, "CREATE TABLE memory.default.c AS SELECT custkey, acctbal FROM customer"))
    assert i["state"] == "Succ", why(site, i)
    i = task(site, "read", "presto", presto(site, "SELECT count(*) AS n, max(custkey) AS most, ARRAY[1, 2] AS two, 9007199254740993 AS big "
                                                  "FROM memory.default.c"))
    assert i["state"] == "Succ" and '1500,1500,"[1,2]",9007199254740993' in log(site, i, words="1500"), log(site, i)


@test
def trino_a_long_statement_has_its_progress(site):
    task(site, "slow", "presto", presto(site, LONG, schema="sf1"), states=None)
    seen = progress(site, "slow")
    assert now(site, "slow")["state"] == "Succ" and "6001215," in log(site, now(site, "slow"), words="6001215"), seen
    assert [p for p in seen if 0 < p < 1000], seen
    print(f"# Trino: progress of a join of 6,001,215 rows: {seen} permille")


@test
def trino_a_statement_that_fails_fails_with_its_words(site):
    for name, sql, words in (("syntax", "SELEKT 1", "SYNTAX_ERROR"), ("table", "SELECT * FROM nothing", "TABLE_NOT_FOUND"),
                             ("zero", "SELECT 1 / (nationkey - nationkey) FROM nation", "DIVISION_BY_ZERO")):
        i = task(site, name, "presto", presto(site, sql), more="retry: {attempts: 1}, ")
        assert i["state"] == "StopSchedule" and words in why(site, i), why(site, i)


def running(t, text):
    return [q for q in t.queries(text) if q["state"] == "RUNNING"]


@test
def trino_a_kill_cancels_the_statement_there(site):
    t = trino(site)
    sql = "SELECT count(*) AS killed FROM tpch.sf100.lineitem l, tpch.sf100.orders o WHERE l.orderkey < o.custkey"
    task(site, "kill", "presto", presto(site, sql), states=None)
    until("it runs there", lambda: running(t, "AS killed"), 120)
    kill(site, "kill")
    query = until("it is over there", lambda: [q for q in t.queries("AS killed") if q["state"] == "FAILED"], 60)[0]
    assert query["errorCode"]["name"] == "USER_CANCELED", query["errorCode"]
    print(f"# Trino: the killed statement is {query['state']} {query['errorCode']['name']}")


@test
def trino_a_killed_loader_leaves_no_second_statement(site):
    t = trino(site)
    sql = "SELECT count(*) AS orphan FROM tpch.sf100.lineitem l, tpch.sf100.orders o WHERE l.orderkey < o.custkey"
    task(site, "orphan", "presto", presto(site, sql), states=None)
    first = until("it runs there", lambda: running(t, "AS orphan"), 120)[0]["queryId"]
    for pid in site.pids("taskrunner-loader", "presto"):
        os.kill(pid, signal.SIGKILL)
    most, states = 0, {}

    def look():
        nonlocal most, states
        states = {q["queryId"]: q["state"] for q in t.queries("AS orphan")}
        most = max(most, sum(s not in ("FAILED", "FINISHED") for s in states.values()))
        return [q for q, s in states.items() if q != first and s == "RUNNING"]
    second = until("the next attempt runs", look, 180, every=0.05)[0]
    assert most == 1 and states[first] == "FAILED", (most, states)
    print(f"# Trino: {first} of the killed loader {states[first]}, then {second} {states[second]}; at most {most} at once")
    kill(site, "orphan")


@test
def trino_is_over(site):
    end(site, "trino")


# --- Hadoop: first without a cluster, in the client's own process; then on YARN

def hadoop(site):
    return have(site, "hadoop", lambda: counterparts.Hadoop(site.dir))


def words(site, copies=1):
    folder = site.dir / f"words{copies}"
    if not folder.exists():
        folder.mkdir()
        for n in range(copies):
            (folder / f"{n}.txt").write_text("one two two three three three\n" * 1000)
    return folder


def mapreduce(site, program, conf, args):
    h = hadoop(site)
    return {"jar": str(h.examples), "class": program, "conf": conf, "args": [str(a) for a in args], "environment": h.environment()}


@test
def hadoop_counts_words_in_the_clients_own_process(site):
    out = site.dir / "data" / "counted"
    i = task(site, "count", "mapreduce", mapreduce(site, "wordcount", {"fs.defaultFS": "file:///"}, [words(site), out]))
    assert i["state"] == "Succ", (why(site, i), printed(site, i, "stderr"))
    assert (out / "part-r-00000").read_text().split() == ["one", "1000", "three", "3000", "two", "2000"]
    i = task(site, "again", "mapreduce", mapreduce(site, "wordcount", {"fs.defaultFS": "file:///"}, [words(site), out]), more="retry: {attempts: 1}, ")
    assert i["state"] == "StopSchedule" and "already exists" in log(site, i, "stderr", "already exists"), why(site, i)


@test
def hadoop_progress_is_the_jobs_and_a_kill_ends_it(site):
    out = site.dir / "data" / "counted2"
    task(site, "many", "mapreduce", mapreduce(site, "wordcount", {"fs.defaultFS": "file:///"}, [words(site, 40), out]), states=None)
    seen = progress(site, "many")
    assert now(site, "many")["state"] == "Succ" and [p for p in seen if 0 < p < 1000], seen
    print(f"# MapReduce in local mode: progress {seen} permille")
    task(site, "sleepy", "mapreduce", mapreduce(site, "pi", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(site.dir / "tmp")}, [200, 20000000]), states=None)
    until("it has begun", lambda: "Running job" in printed(site, now(site, "sleepy"), "stderr"), 120)
    kill(site, "sleepy")


def yarn(site):
    h = hadoop(site)
    return have(site, "yarn", lambda: counterparts.Yarn(h))


ON_YARN = {"mapreduce.framework.name": "yarn"}


@test
def yarn_runs_a_job_whose_number_is_known(site):
    y, out = yarn(site), site.dir / "data" / "counted3"
    task(site, "far", "mapreduce", mapreduce(site, "wordcount", ON_YARN, [words(site, 4), out]), states=None)
    seen = progress(site, "far", 600)
    i = now(site, "far")
    assert i["state"] == "Succ", (why(site, i), printed(site, i, "stderr"))
    assert (out / "part-r-00000").read_text().split() == ["one", "4000", "three", "12000", "two", "8000"]
    number = re.search(r"application_\d+_\d+", log(site, i, words="application_id=")).group(0)
    assert y.apps()[number] == ("FINISHED", "SUCCEEDED"), y.apps()
    assert [p for p in seen if 0 < p < 1000], seen
    print(f"# YARN: {number} {y.apps()[number]}, progress {seen} permille")


def running_app(y):
    return until("it runs there", lambda: [n for n, (state, _) in y.apps().items() if state == "RUNNING"], 300)[0]


@test
def yarn_a_kill_ends_the_application_there(site):
    y = yarn(site)
    task(site, "farkill", "mapreduce", mapreduce(site, "pi", ON_YARN, [8, 2000000000]), states=None)
    app = running_app(y)
    kill(site, "farkill")
    until("it is killed there", lambda: y.apps()[app] == ("KILLED", "KILLED"), 120)
    print(f"# YARN: {app} of a killed task is {y.apps()[app]}")


@test
def yarn_what_a_lost_machine_left_is_killed_before_the_next_attempt_begins(site):
    """The jobkeeper is killed: its jobs die with it, without a word to YARN; the attempt is lost."""
    y = yarn(site)
    task(site, "farlost", "mapreduce", mapreduce(site, "pi", ON_YARN, [8, 2000000000]), states=None)
    first = running_app(y)
    for pid in site.pids("jobkeeper"):
        os.kill(pid, signal.SIGKILL)
    second = until("the next attempt runs", lambda: [n for n, (state, _) in y.apps().items() if state == "RUNNING" and n != first], 300)[0]
    assert y.apps()[first] == ("KILLED", "KILLED"), y.apps()
    print(f"# YARN: {first} of the lost attempt {y.apps()[first]}, then {second}")
    kill(site, "farlost")


# --- Spark: in one process, then on YARN

def spark(site):
    return have(site, "spark", lambda: counterparts.Spark(site.dir))


SUM = """import sys, time
from pyspark.sql import SparkSession
s = SparkSession.builder.getOrCreate()
print('sum', s.range(1000).groupBy().sum().collect()[0][0], *sys.argv[1:], flush=True)
"""


def submit(site, name, text, **more):
    s = spark(site)
    path = s.dir / f"{name}.py"
    path.write_text(text)
    conf = {"spark.ui.enabled": "false", **more.pop("conf", {})}
    return {"application": str(path), "program": str(s.submit), "environment": {**s.environment(), **more.pop("environment", {})}, "conf": conf, **more}


@test
def spark_runs_a_script_in_its_own_process(site):
    i = task(site, "sum", "spark", submit(site, "sum", SUM, master="local[1]", args=["two words"]))
    assert i["state"] == "Succ" and "sum 499500 two words" in log(site, i, words="sum"), (why(site, i), printed(site, i, "stderr"))
    i = task(site, "bad", "spark", submit(site, "bad", "raise SystemExit(7)\n", master="local[1]"), more="retry: {attempts: 1}, ")
    assert i["state"] == "StopSchedule" and i["exit_code"] == 7, i


def on_yarn(site, name, text):
    h = hadoop(site)
    yarn(site)
    s = spark(site)
    path = f"{s.home}/bin:{h.environment()['PATH']}"
    opens = " ".join(counterparts.OPEN)
    conf = {"spark.yarn.jars": f"local:{s.home}/jars/*", "spark.executor.instances": "1", "spark.executor.memory": "512m", "spark.driver.memory": "512m",
            "spark.yarn.am.memory": "512m", "spark.yarn.am.extraJavaOptions": opens, "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.yarn.submit.file.replication": "1"}
    return submit(site, name, text, master="yarn", conf=conf,
                  environment={"HADOOP_CONF_DIR": str(h.conf), "PATH": path, "PYSPARK_PYTHON": sys.executable})


@test
def spark_on_yarn_has_its_number_and_a_kill_ends_it_there(site):
    y = yarn(site)
    i = task(site, "sumfar", "spark", on_yarn(site, "sumfar", SUM), seconds=600)
    assert i["state"] == "Succ", (why(site, i), printed(site, i, "stderr")[-3000:])
    number = re.search(r"application_\d+_\d+", log(site, i, words="application_id=")).group(0)
    assert "sum 499500" in log(site, i) and y.apps()[number] == ("FINISHED", "SUCCEEDED"), y.apps()
    # of a driver here its own end is the application's, and YARN calls that FINISHED: one that runs there has to be told
    far = {**on_yarn(site, "sparkkill", SUM + "time.sleep(600)\n"), "deploy_mode": "cluster"}
    task(site, "sparkkill", "spark", far, states=None)
    app = running_app(y)
    kill(site, "sparkkill")
    until("it is killed there", lambda: y.apps()[app][1] == "KILLED", 120)
    print(f"# Spark on YARN: {number} {y.apps()[number]}; of a killed task {app} {y.apps()[app]}")


@test
def hadoop_is_over(site):
    end(site, "yarn")


# --- HiveServer2, by Hive's beeline: Apache Hive's own, and Spark's

def hive_server(site, kind):
    return have(site, kind, lambda: counterparts.HiveServer(site.dir) if kind == "hive" else counterparts.ThriftServer(spark(site)))


def hive(site, kind, sql, **more):
    t, s = hive_server(site, kind), spark(site)
    return {"host": "127.0.0.1", "port": t.port, "database": "default", "user": "ada", "sql": sql, "program": str(s.beeline), "environment": s.environment(), **more}


def rows_of_hive(site, kind):
    sql = ("CREATE TABLE t (a INT, b STRING);\nINSERT INTO t VALUES (1, 'x'), (2, '$${hivevar:word}');\nSELECT count(*) AS n, max(b) AS most FROM t;\n")
    i = task(site, f"{kind}rows", "hive", hive(site, kind, sql, hivevars={"word": "yes"}))
    assert i["state"] == "Succ", (why(site, i), printed(site, i, "stderr"))
    assert re.search(r"\| 2 +\| yes +\|", log(site, i, words="most")), log(site, i)


def error_of_hive(site, kind, words):
    i = task(site, f"{kind}bad", "hive", hive(site, kind, "SELECT * FROM nothing;\nSELECT 'later';\n"), more="retry: {attempts: 1}, ")
    assert i["state"] == "StopSchedule" and printed(site, i, "stderr"), (why(site, i), printed(site, i))
    assert words in log(site, i, "stderr", "nothing") and "later" not in printed(site, i), printed(site, i, "stderr")


def kill_of_hive(site, kind, sql, mark):
    t = hive_server(site, kind)
    task(site, f"{kind}kill", "hive", hive(site, kind, sql), states=None)
    until("it runs there", lambda: mark in t.server.text(), 120)
    kill(site, f"{kind}kill")

    def cancelled():
        return [line for line in t.server.text().split(mark, 1)[1].splitlines() if re.search("[Cc]ancel|CANCEL|Closing operation", line)]
    print(f"# HiveServer2 of {kind}: {until('it is cancelled there', cancelled, 60)[0][-160:]}")


@test
def hive_of_apache_gives_rows(site):
    rows_of_hive(site, "hive")


@test
def hive_of_apache_ends_at_the_first_statement_that_fails(site):
    error_of_hive(site, "hive", "Table not found 'nothing'")


@test
def hive_of_apache_cancels_the_statement_of_a_killed_task(site):
    kill_of_hive(site, "hive", "SELECT java_method('java.lang.Thread', 'sleep', cast(600001 + a AS bigint)) FROM t;\n", "600001")


@test
def hive_of_apache_is_over(site):
    end(site, "hive")


@test
def hive_of_spark_gives_rows(site):
    rows_of_hive(site, "thrift")


@test
def hive_of_spark_ends_at_the_first_statement_that_fails(site):
    error_of_hive(site, "thrift", "TABLE_OR_VIEW_NOT_FOUND")


@test
def hive_of_spark_cancels_the_statement_of_a_killed_task(site):
    kill_of_hive(site, "thrift", "SELECT count(*) FROM range(3000000) a CROSS JOIN range(3000000) b WHERE a.id * b.id % 7 = 3;\n", "a.id * b.id")


@test
def hive_of_spark_is_over(site):
    end(site, "thrift")


if __name__ == "__main__":
    sys.exit(main(make))
