#!/usr/bin/env python3
"""The runners that speak to the world: http; each job run alone, against real counterparts on
loopback. TAP."""
import base64
import json
import os
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Site, main, test, until  # noqa: E402
from runner_alone import Alone, Web  # noqa: E402


def make():
    site = Alone("runners")
    site.web = Web()
    site.closers.append(site.web.close)
    on = site.web.on
    on["/json"] = lambda *_: (200, {"Content-Type": "application/json", "ETag": '"v7"'},
                              json.dumps({"status": "ok", "data": {"rows": [3, 12], "a/b": True}}))
    on["/echo"] = lambda h, body: (201, {}, f"{h.command} {h.path} {body.decode()}")
    on["/away"] = lambda *_: (302, {"Location": "/json"}, "")
    on["/loop"] = lambda *_: (302, {"Location": "/loop"}, "")
    on["/inside"] = lambda *_: (302, {"Location": "http://127.0.0.2:9/secret"}, "")
    on["/metadata"] = lambda *_: (302, {"Location": "http://169.254.169.254/latest"}, "")
    on["/file"] = lambda *_: (302, {"Location": "file:///etc/passwd"}, "")
    on["/broken"] = lambda *_: (500, {}, "it broke")
    on["/long"] = lambda *_: (200, {}, "x" * 5000)
    on["/hold"] = lambda *_: site.web.hold.wait(120) and None
    return site


def http(site, path, *words, secrets=None, env=None, **params):
    url = path if "://" in path else site.web.url + path
    return site.run("http", {"url": url, **params}, *words, secrets=secrets, env=env)


@test
def http_an_answer_is_checked_and_its_values_are_outputs(site):
    done = http(site, "/json", expect_json=["/status = ok", "data.rows[1] > 11", "/data/a~1b = true", "$.data"],
                outputs={"rows": "/data/rows/1", "tag": "header etag", "code": "status", "all": "data"})
    assert done.ok and '"status"' in done.out, done
    assert done.outputs == {"rows": "12", "tag": '"v7"', "code": "200",
                            "all": '{"rows":[3,12],"a/b":true}'}, done


@test
def http_what_is_sent_is_what_the_task_says_also_in_small_letters(site):
    done = http(site, "/echo?x=1", method="post", body="hello", headers={"X-One": "1", "Content-Type": "text/plain"},
                user="ada", password="pw", secrets={"pw": "s:ecret"})
    method, path, headers, body = site.web.got[-1]
    assert done.ok and done.out == "POST /echo?x=1 hello\n", done
    assert (method, body, headers["X-One"], headers["Content-Type"]) == ("POST", b"hello", "1", "text/plain")
    assert base64.b64decode(headers["Authorization"][6:]) == b"ada:s:ecret", headers
    assert "s:ecret" not in done.err + done.out, done


@test
def http_an_answer_that_is_not_as_expected_fails_with_what_was_found(site):
    for path, params, words in (
            ("/broken", {}, "status 500, want 200-299"),
            ("/json", {"expect_status": "201,204-206"}, "status 200, want 201,204-206"),
            ("/json", {"expect_json": ["/status = done"]}, "/status is 'ok', want = 'done'"),
            ("/json", {"expect_json": ["/nothing"]}, "there is no /nothing"),
            ("/json", {"expect_text": "finished"}, "does not contain 'finished'"),
            ("/json", {"outputs": {"a": "/none"}}, "outputs: a: the answer has no /none"),
            ("/echo", {"expect_json": ["/a"]}, "the answer is no JSON"),
            ("/long", {"answer_max": 1000}, "longer than 1000 bytes"),
            ("/hold", {"timeout": "300ms"}, "timed out")):
        done = http(site, path, **params)
        assert done.status == 1 and not done.fatal and words in done.err, (path, params, done)
    assert http(site, "/broken", expect_status="500").ok


@test
def http_bad_parameters_are_refused_with_one_clear_sentence(site):
    for params, words in (
            ({"method": "fetch"}, "parameter method is 'fetch', want one of GET, POST"),
            ({"timeout": "soon"}, "parameter timeout is 'soon', want a duration"),
            ({"redirects": "99"}, "parameter redirects is '99', want a number from 0 to 20"),
            ({"expect_status": "ok"}, "parameter expect_status is 'ok'"),
            ({"tls_verify": "perhaps"}, "parameter tls_verify is 'perhaps', want true or false"),
            ({"headers": {"X": "a\r\nHost: b"}}, "parameter headers: 'X' is not a header"),
            ({"headers": "X"}, "parameter headers: want a map"),
            ({"bearer": "none"}, "parameter bearer: this task has no secret 'none'"),
            ({"url": ""}, "parameter url is missing"),
            ({"url": "file:///etc/passwd"}, "file")):
        done = site.run("http", {"url": site.web.url + "/json", **params})
        assert done.status == 1 and done.fatal and words in done.err, (params, done)


@test
def http_redirects_are_followed_and_counted_and_credentials_stay_at_home(site):
    assert http(site, "/away").ok and "1 redirects" in http(site, "/away").err
    assert "more than 5 redirects" in http(site, "/loop").err
    assert http(site, "/away", redirects=0, expect_status="302").ok
    other = Web()
    site.closers.append(other.close)
    other.on["/there"] = lambda *_: (200, {}, "there")
    site.web.on["/out"] = lambda *_: (307, {"Location": other.url + "/there"}, "")
    done = http(site, "/out", bearer="b", headers={"X-Key": "k", "Accept": "text/x"}, secrets={"b": "token"})
    assert done.ok, done
    headers = other.got[-1][2]
    assert "Authorization" not in headers and "X-Key" not in headers and headers["Accept"] == "text/x", headers
    assert site.web.got[-1][2]["Authorization"] == "Bearer token"


@test
def http_the_machine_decides_which_addresses_may_be_reached(site):
    port = site.web.port
    for url in (f"http://127.0.0.2:{port}/", "http://10.1.2.3/", "http://192.168.0.1/", "http://[::1]/",
                f"http://[::ffff:127.0.0.2]:{port}/", "http://169.254.169.254/latest", "http://0.0.0.0/",
                "http://[fe80::1]/", "http://[fd00::1]/", "http://2130706434/", "http://0x7f.2/",
                "http://100.64.1.1/", f"http://[64:ff9b::7f00:2]:{port}/",
                site.web.url + "/inside", site.web.url + "/metadata"):
        done = http(site, url)
        assert done.status == 1 and done.fatal and "in this machine's egress file, /" in done.err, (url, done)
    assert "file" in http(site, "/file").err and "root:" not in http(site, "/file").out
    # A proxy of the environment is not asked: it would connect for us.
    done = http(site, "/json", env={"http_proxy": "http://127.0.0.9:1"})
    assert done.ok, done


@test
def http_a_policy_that_is_wrong_or_missing_lets_nothing_through(site):
    try:
        for text, words in (("allow 127.0.0.1\nallow everything\n", "egress.conf:2: that is no address"),
                            ("permit 127.0.0.1\n", "egress.conf:1: want allow or deny"),
                            ("allow 127.0.0.0/40\n", "egress.conf:1:"),
                            ("allow 127.0.0.1 99999\n", "want a port")):
            site.egress(text)
            done = http(site, "/json")
            assert done.status == 1 and "verdict infra" in done.err and words in done.err, (text, done)
        assert "cannot be read" in http(site, "/json", env={"SIRDAR_EGRESS": "/no/such"}).err
        site.egress("allow 127.0.0.1\n")
        etc = site.dir / "etc"
        etc.mkdir()
        (etc / "egress.conf").write_text("allow 127.0.0.1\n")
        (site.dir / "link.conf").symlink_to(etc / "egress.conf")
        for spoilt, mode in ((etc / "egress.conf", 0o646), (etc, 0o757), (site.dir, 0o777)):
            was = spoilt.stat().st_mode & 0o7777
            spoilt.chmod(mode)
            for name in ("etc/egress.conf", "link.conf"):
                said = http(site, "/json", env={"SIRDAR_EGRESS": str(site.dir / name)}).err
                assert f"{spoilt}: others may write it" in said, (spoilt, said)
            spoilt.chmod(was)
        assert http(site, "/json", env={"SIRDAR_EGRESS": str(site.dir / "link.conf")}).ok
        site.egress(f"# of a port\nallow 127.0.0.0/8 {site.web.port}\n")
        assert http(site, "/json").ok and "loopback" in http(site, "http://127.0.0.1:1/").err
        site.egress("deny 127.0.0.1\nallow 127.0.0.0/8\n")
        assert "denied" in http(site, "/json").err
        site.egress("")  # a name is judged by what it resolves to
        assert "is a loopback address" in http(site, f"http://localhost:{site.web.port}/json").err
        site.egress("allow 0.0.0.0/0\n")  # the metadata address wants a rule of its own
        assert "metadata" in http(site, "http://169.254.169.254/").err
    finally:
        site.egress("allow 127.0.0.1\n")


@test
def http_a_certificate_is_checked_unless_the_task_says_not_to(site):
    key, cert = site.dir / "key.pem", site.dir / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    web = Web()
    site.closers.append(web.close)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    web.server.socket = context.wrap_socket(web.server.socket, server_side=True)
    web.on["/"] = lambda *_: (200, {}, "safe")
    url = f"https://127.0.0.1:{web.port}/"
    assert "ertificate" in http(site, url).err
    assert http(site, url, ca_file=str(cert)).ok and http(site, url, tls_verify="false").ok


@test
def http_a_job_that_is_told_to_stop_stops_at_once(site):
    job = site.start("http", {"url": site.web.url + "/hold", "timeout": "1h"}, "--kill-after", "0.5")
    done = site.end(job, 30)
    assert done.status == 1 and "exit code -15" in done.err, done


# --- sensor

@test
def sensor_files_are_there_when_they_are_enough_large_and_old(site):
    folder = site.dir / "in"
    folder.mkdir()
    pattern = str(folder / "*.csv")

    def look(**params):
        return site.run("sensor", {"watch": "file", "path": pattern, **params})
    done = look(every="90s")
    assert done.not_yet and "0 of 1 files are there" in done.err, done
    (folder / "a.csv").write_text("12345")
    (folder / "b.csv").write_text("123")
    done = look(min_count=2)
    assert done.ok and done.outputs["files"] == "2" and done.outputs["bytes"] == "8", done
    assert "b.csv is too small" in look(min_size=4).err and look(min_count=3).not_yet
    assert look(min_age="1h").not_yet
    for name in "ab":
        os.utime(folder / f"{name}.csv", (1, 1))
    assert look(min_age="1h30m").ok
    (folder / "dt=2026-03-01/hour=01").mkdir(parents=True)
    table = {"watch": "partition", "path": str(folder), "partition": "dt=2026-03-01/hour=01"}
    assert site.run("sensor", table).ok and site.run("sensor", {**table, "partition": "dt=2026-03-02"}).not_yet
    assert site.run("sensor", {**table, "marker": "_SUCCESS"}).not_yet
    (folder / "dt=2026-03-01/hour=01/_SUCCESS").touch()
    assert site.run("sensor", {**table, "marker": "_SUCCESS"}).ok


@test
def sensor_an_answer_is_waited_for_and_what_cannot_be_asked_fails(site):
    params = {"watch": "http", "url": site.web.url + "/json", "expect_json": ["/status = ok"]}
    assert site.run("sensor", params).ok
    done = site.run("sensor", {**params, "expect_json": ["/status = done"]})
    assert done.not_yet and "/status is 'ok'" in done.err, done
    assert site.run("sensor", {**params, "url": site.web.url + "/nothing"}).not_yet
    assert site.run("sensor", {**params, "url": "http://127.0.0.1:1/"}).status == 1
    assert site.run("sensor", {**params, "url": "http://127.0.0.1:1/", "on_error": "wait"}).not_yet
    done = site.run("sensor", {**params, "url": "http://10.0.0.1/", "on_error": "wait"})
    assert done.status == 1 and done.fatal, done


@test
def sensor_bad_parameters_are_refused_and_waiting_has_an_end(site):
    for params, words in (({"watch": "stars"}, "parameter watch is 'stars', want one of file, http, sql, partition"),
                          ({"watch": "file"}, "parameter path is missing, or no path from the root"),
                          ({"watch": "file", "path": "/x", "every": "often"}, "parameter every is 'often', want a duration"),
                          ({"watch": "partition", "path": "/x", "partition": "../y"}, "parameter partition is missing, or has dots"),
                          ({"watch": "sql", "kind": "sqlite", "database": ":memory:"}, "want exactly one of the parameters sql, table")):
        done = site.run("sensor", params)
        assert done.status == 1 and done.fatal and words in done.err, (params, done)
    done = site.run("sensor", {"watch": "file", "path": "/no/such", "give_up": "1s"})  # due in 1970
    assert done.status == 1 and done.fatal and "given up: 0 of 1 files" in done.err, done


@test
def sensor_one_that_waits_holds_no_slot(site):
    with Site("sensor") as s:
        s.start(types=("sensor:1",))
        s.apply("workflow: w\nproject: p\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\n"
                "defaults: {type: sensor, cycle: day, catchup: {mode: all}}\ntasks:\n" +
                "".join(f"  {n}: {{params: {{watch: file, path: {s.dir}/{n}, every: 100ms}}}}\n" for n in ("first", "second")),
                **{"from": "2026-03-01"})
        at = "2026-03-01T00:00:00Z"
        # Both look, by turns, on the one slot.
        for n in ("first", "second"):
            until(f"{n} has looked twice", lambda n=n: looks(s, f"p/w/{n}", at) >= 2, 60)
        (s.dir / "second").touch()
        s.wait_state("p/w/second", at, "Succ", 60)
        (s.dir / "first").touch()
        s.wait_state("p/w/first", at, "Succ", 60)
        assert s.instance("p/w/first", at)["attempt"] == 1


def looks(s, task, at):
    """How often an instance has looked and found nothing."""
    return (s.instance(task, at) or {"looks": 0})["looks"]


# --- presto, against a server that speaks the documented protocol

class Trino:
    """POST /v1/statement, nextUri, stats, DELETE. A statement is named by its text."""

    def __init__(self, web):
        self.web, self.cancelled, self.busy = web, [], 1
        web.on["/v1/statement"] = self.begin
        for n in range(4):
            web.on[f"/v1/page/{n}"] = self.page
        web.on["/v1/wait"] = self.wait

    @staticmethod
    def answer(page):
        return 200, {"Content-Type": "application/json"}, json.dumps(page)

    def stats(self, state, done, **more):
        return {"stats": {"state": state, "completedSplits": done, "totalSplits": 10, "processedRows": 7 * done}, "id": "q_1", **more}

    def begin(self, handler, body):
        self.sql, self.headers = body.decode(), dict(handler.headers)
        if self.busy:  # the server wants the same again
            self.busy -= 1
            return 503, {}, "busy"
        if "wait" in self.sql:
            return self.answer(self.stats("RUNNING", 1, nextUri=self.web.url + "/v1/wait"))
        if "astray" in self.sql:
            return self.answer(self.stats("RUNNING", 1, nextUri="http://127.0.0.3:1/v1/page/0"))
        if "wrong" in self.sql:
            return self.answer(self.stats("FAILED", 0, error={"message": "line 1:1: mismatched input", "errorName": "SYNTAX_ERROR",
                                                              "errorType": "USER_ERROR"}))
        return self.answer(self.stats("QUEUED", 0, nextUri=self.web.url + "/v1/page/0"))

    def page(self, handler, _):
        n = int(handler.path[-1])
        more = {"nextUri": f"{self.web.url}/v1/page/{n + 1}"} if n < 3 else {}
        if 1 <= n:
            more["columns"] = [{"name": "id"}, {"name": "name"}]
        if n == 1:
            more["data"] = [[9007199254740993, "a,b"], [2, None]]
        if n == 2:
            more["data"] = [[3, ["x"]]]
        return self.answer(self.stats("RUNNING" if n < 3 else "FINISHED", 3 * n, **more))

    def wait(self, handler, _):
        if handler.command == "DELETE":
            self.cancelled.append("q_1")
            self.web.hold.set()
            return 204, {}, ""
        self.web.hold.wait(60)
        return self.answer(self.stats("RUNNING", 1, nextUri=self.web.url + "/v1/wait"))


def killed(run, is_seen):
    """A job that is told to stop once it has begun, on a slow machine too."""
    for after in ("0.7", "4", "20"):
        got = run(after)
        if is_seen(got):
            break
    return got


def presto(site, text, *words, **params):
    web = Web()
    site.closers.append(web.close)
    trino = Trino(web)
    done = site.run("presto", {"host": "127.0.0.1", "port": web.port, "sql": text, **params}, *words)
    return done, trino


@test
def presto_pages_are_followed_and_numbers_stay_what_they_are(site):
    done, trino = presto(site, "SELECT 1", catalog="hive", schema="s", user="ada", session={"a": "b"}, first_row="true")
    assert done.ok and done.out == 'id,name\n9007199254740993,"a,b"\n2,\n3,"[""x""]"\n', done
    assert done.outputs == {"query_id": "q_1", "rows": "3", "id": "9007199254740993", "name": "a,b"}, done
    assert ("600", "RUNNING, 6 of 10 splits, 42 rows read") in done.progress, done.progress
    assert trino.sql == "SELECT 1" and trino.busy == 0
    assert {k: v for k, v in trino.headers.items() if k.startswith("X-")} == {
        "X-Trino-User": "ada", "X-Trino-Source": "sirdar", "X-Trino-Catalog": "hive", "X-Trino-Schema": "s", "X-Trino-Session": "a=b"}
    assert "X-Presto-User" in presto(site, "SELECT 1", dialect="presto")[1].headers


@test
def presto_errors_are_the_servers_words_and_a_kill_cancels_there(site):
    done, _ = presto(site, "wrong")
    assert done.status == 1 and "USER_ERROR SYNTAX_ERROR: line 1:1: mismatched input" in done.err, done
    done, _ = presto(site, "astray")
    assert done.fatal and "next page is on another server" in done.err, done
    done, trino = killed(lambda after: presto(site, "wait", "--kill-after", after), lambda got: got[1].cancelled)
    assert "exit code -15" in done.err and trino.cancelled == ["q_1"], done
    done = site.run("presto", {"host": "127.0.0.1", "port": 1, "sql": "x"})
    assert done.status == 1 and "Failed to connect" in done.err, done
    for params, words in (({"sql": ""}, "parameter sql is missing"), ({"host": ""}, "want parameter server"),
                          ({"password": "p"}, "a password goes over TLS only"), ({"dialect": "sql"}, "parameter dialect is 'sql'")):
        done = site.run("presto", {"host": "127.0.0.1", "sql": "x", **params}, secrets={"p": "x"})
        assert done.fatal and words in done.err, (params, done)


WORK = {"sirdar.work_id": "sirdar-1-2-0-3"}
AGAIN = {**WORK, "sirdar.work_again": "1"}


@test
def presto_an_earlier_attempt_is_cancelled_before_its_statement_is_begun_again(site):
    done, trino = presto(site, "SELECT 1", **WORK)
    assert done.ok and trino.headers["X-Trino-Client-Tags"] == "sirdar-1-2-0-3", trino.headers
    web = Web()
    site.closers.append(web.close)
    trino, told = Trino(web), []
    left = {"q_0": "RUNNING", "q_other": "RUNNING", "q_old": "FAILED"}
    tags = {"q_0": ["x", "sirdar-1-2-0-3"], "q_other": ["sirdar-1-2-0-4"], "q_old": ["sirdar-1-2-0-3"]}

    def delete(handler, _):
        told.append(handler.path.split("/")[-1])
        assert not hasattr(trino, "sql")  # nothing was begun yet
        left.pop(told[-1])
        return 204, {}, ""
    web.on["/v1/query"] = lambda *_: trino.answer([{"queryId": q, "state": s, "session": {"clientTags": tags[q]}} for q, s in left.items()])
    for q in tags:
        web.on[f"/v1/query/{q}"] = delete
    ask = {"host": "127.0.0.1", "port": web.port, "sql": "SELECT 1", **AGAIN}
    done = site.run("presto", ask)
    assert done.ok and told == ["q_0"] and "an earlier attempt runs there as q_0: cancelled" in done.err, (told, done)
    web.on["/v1/query"] = lambda *_: (403, {}, "no")
    job = site.start("presto", ask, "--kill-after", "1")
    begun = len(web.got)
    done = site.end(job)
    assert not any(method == "POST" for method, *_ in web.got[begun:]) and "exit code -15" in done.err, done


# --- clients of clusters: stand-ins that say what the real ones say

CLIENTS = {
    "spark-submit": """echo "24/01/01 INFO Client: Submitted application application_1700000000000_0042" >&2""",
    "hadoop": """echo "INFO mapreduce.Job: Running job: job_1700000000000_0042" >&2
echo "INFO mapreduce.Job:  map 50% reduce 10%" >&2""",
    "beeline": """echo "INFO  : Status: Running (Executing on YARN cluster with App id application_1700000000000_0042)" >&2
while [ $# -gt 0 ]; do case $1 in -f) cat "$2" ;; -w) echo "password $(cat "$2" | wc -c)" ;; esac; shift; done"""}


def clients(site, body="exit 0"):
    folder = site.dir / f"clients{site.jobs}"
    folder.mkdir(exist_ok=True)
    for name, says in {**CLIENTS, "yarn": ""}.items():
        path = folder / name
        last = "" if name == "yarn" else f"echo over\n{body}"
        path.write_text(f"#!/bin/sh\n[ $# = 0 ] || printf '<%s>' \"$@\" >>{folder}/{name}.args\n{says}\n{last}\n")
        path.chmod(0o755)
    return folder, {"PATH": f"{folder}:/usr/bin:/bin", "TMPDIR": str(folder)}


JOBS = {
    "spark": ({"application": "/jobs/a b.py", "args": ["1", "two words"], "master": "yarn", "conf": {"a.b": "c d"}, "name": "n"},
              "<--master><yarn><--name><n><--conf><a.b=c d></jobs/a b.py><1><two words>"),
    "mapreduce": ({"jar": "x.jar", "class": "Count", "conf": {"q": "etl"}, "args": ["/in", "/out"]},
                  "<jar><x.jar><Count><-Dq=etl></in></out>"),
    "hive": ({"sql": "SELECT 1;\n", "host": "hs2", "database": "d", "user": "u", "password": "pw", "hivevars": {"day": "1"}},
             "<-u><jdbc:hive2://hs2:10000/d><-n><u><--hivevar><day=1>")}
PROGRAMS = {"spark": "spark-submit", "mapreduce": "hadoop", "hive": "beeline"}


@test
def clients_get_their_words_and_the_applications_number_is_an_output(site):
    for runner, (params, words) in JOBS.items():
        folder, env = clients(site)
        done = site.run(runner, {**params, "environment": env}, secrets={"pw": "s:ecret"})
        args = (folder / f"{PROGRAMS[runner]}.args").read_text()
        assert done.ok and args.startswith(words), (runner, args, done)
        assert "over" in done.out and "sirdar:output application_id=application_1700000000000_0042" in done.out, (runner, done)
        assert "s:ecret" not in args + done.out + done.err, (runner, args, done)
        assert not list(folder.glob("sirdar-client*")), runner
        if runner == "mapreduce":
            assert "sirdar:progress 30 map 50%, reduce 10%" in done.out, done
        if runner == "hive":
            assert "SELECT 1;" in done.out and "password 7" in done.out, done


@test
def clients_that_fail_give_their_status_and_bad_parameters_are_refused(site):
    _, env = clients(site, "exit 7")
    for runner, (params, _) in JOBS.items():
        done = site.run(runner, {**params, "environment": env}, secrets={"pw": "x"})
        assert done.status == 1 and "exit code 7" in done.err, (runner, done)
    for runner, params, words in (("spark", {}, "parameter application is missing"), ("mapreduce", {}, "parameter jar is missing"),
                                  ("hive", {"sql": "x"}, "want parameter server, url or host"), ("hive", {"host": "h"}, "parameter sql is missing"),
                                  ("spark", {"application": "x", "conf": "y"}, "parameter conf: want a map")):
        done = site.run(runner, params)
        assert done.status == 1 and done.fatal and words in done.err, (runner, done)


@test
def clients_that_are_told_to_stop_have_their_application_killed(site):
    for runner, (params, _) in JOBS.items():
        folder, env = clients(site, "exec sleep 600")
        yarn = folder / "yarn.args"
        done = killed(lambda after: site.run(runner, {**params, "environment": env}, "--kill-after", after,
                                                secrets={"pw": "x"}),
                      lambda _: yarn.exists())
        assert yarn.read_text() == "<application><-kill><application_1700000000000_0042>", (runner, done)
        assert "exit code -15" in done.err and not list(folder.glob("sirdar-client*")), (runner, done)


@test
def clients_kill_an_earlier_attempt_on_yarn_before_they_begin(site):
    for runner, (params, option) in {"spark": (JOBS["spark"][0], "<--conf><spark.yarn.tags=sirdar-1-2-0-3>"),
                                     "mapreduce": ({"jar": "x.jar", "conf": {"mapreduce.framework.name": "yarn"}},
                                                   "<-Dmapreduce.job.tags=sirdar-1-2-0-3>")}.items():
        folder, env = clients(site)
        (folder / "yarn").write_text(f"""#!/bin/sh
printf '<%s>' "$@" >>{folder}/yarn.args; echo >>{folder}/yarn.args
[ "$2" = -kill ] && : >{folder}/killed
[ -e {folder}/killed ] || printf 'application_1_0007\tname\n'
""")
        done = site.run(runner, {**params, **AGAIN, "environment": env})
        asked = (folder / "yarn.args").read_text().splitlines()
        assert done.ok and "an earlier attempt runs as application_1_0007: killing it" in done.err, done
        assert asked[1] == "<application><-kill><application_1_0007>" and len(asked) == 3, asked
        assert all("<-appTags><sirdar-1-2-0-3>" in a for a in (asked[0], asked[2])), asked
        assert option in (folder / f"{PROGRAMS[runner]}.args").read_text(), runner
        (folder / "yarn").write_text("#!/bin/sh\nexit 1\n")
        (folder / f"{PROGRAMS[runner]}.args").unlink()
        done = site.run(runner, {**params, **AGAIN, "environment": env})
        assert "exit code 75" in done.err and not (folder / f"{PROGRAMS[runner]}.args").exists(), done


if __name__ == "__main__":
    sys.exit(main(make))
