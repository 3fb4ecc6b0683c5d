#!/usr/bin/env python3
"""Traces: what a job is told of its own (TRACEPARENT), by the formula of lib/wire/trace.h; and the spans that the
notifier sends to an OTLP/HTTP collector of our own: run, instances, attempts as one tree. TAP."""
import hashlib
import http.server
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import FAST, AlertSite  # noqa: E402
from harness import TESTS, main, test, until  # noqa: E402
from test_gates import script, workflow  # noqa: E402

TESTS.clear()  # those of test_gates are its own
SECRET = "canary-of-the-collector"
DATE = 1772323200  # 2026-03-01


class Collector:
    """OTLP/HTTP with JSON, as strict as a real one about what it takes; `status` is what it answers."""

    def __init__(self):
        self.spans, self.bodies, self.headers, self.status, self.service = {}, [], [], 200, "sirdar"
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.headers.append((self.path, dict(self.headers)))
                if outer.status == 200:
                    outer.take(json.loads(body))
                self.send_response(outer.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, body):
        assert set(body) == {"resourceSpans"}
        for r in body["resourceSpans"]:
            resource = attributes(r["resource"])
            assert resource["service.name"] == self.service and resource["service.version"], resource
            for scope in r["scopeSpans"]:
                assert scope["scope"]["name"] == "sirdar-notifier"
                for s in scope["spans"]:
                    self.check(s)
                    self.spans[s["spanId"]] = s
        self.bodies.append(body)

    @staticmethod
    def check(s):
        assert re.fullmatch("[0-9a-f]{32}", s["traceId"]) and re.fullmatch("[0-9a-f]{16}", s["spanId"]), s
        assert isinstance(s["startTimeUnixNano"], str) and int(s["startTimeUnixNano"]) > 1e18, s
        assert int(s["endTimeUnixNano"]) >= int(s["startTimeUnixNano"]), s
        assert s["kind"] in (1, 5) and s["status"]["code"] in (0, 1, 2) and s["name"], s
        for e in s.get("events", []):
            assert e["name"] and int(e["timeUnixNano"]) > 1e18, e

    def close(self):
        self.server.shutdown()


def attributes(of):
    got = {}
    for a in of["attributes"]:
        (kind, value), = a["value"].items()
        assert (kind, type(value)) in (("stringValue", str), ("intValue", str)), a
        got[a["key"]] = int(value) if kind == "intValue" else value
    return got


def digest(*lines, size):
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()[:2 * size]


def make():
    s = AlertSite("traces")
    s.collector = Collector()
    (s.dir / "headers").touch(0o600)
    (s.dir / "headers").write_text(f"Authorization: Bearer {SECRET}\nX-Tenant: dw\n")
    s.trace_sets = {**FAST, "traces_url": s.collector.url, "traces_every_ms": 50, "traces_header_file": s.dir / "headers"}
    s.notifier = s.make(**s.trace_sets)
    s.env["SIRDAR_EGRESS"] = str(s.dir / "egress.conf")
    (s.dir / "egress.conf").write_text("allow 127.0.0.1\n")
    s.start()
    s.add_broker("b2", types=("http:2",))
    return s


def named(s, kind, **want):
    return [x for x in s.collector.spans.values()
            if (kind == "attempt") == (x["name"] == "attempt") and want.items() <= attributes(x).items()]


@test
def a_job_is_told_its_traceparent_and_it_is_the_formula_of_the_header(s):
    workflow(s, "told", {"job": script('echo "$TRACEPARENT $SIRDAR_FENCE_TOKEN"')}, project="tr")
    i = s.wait_state("tr/told/job", "2026-03-01T00:00:00Z", "Succ")

    def said():
        text = s.log_of(i["id"])
        return (text.decode() if isinstance(text, bytes) else text).split()
    parent, token = until("the log is there", said)
    trace = digest("run", "tr/told", DATE, size=16)
    assert parent == f"00-{trace}-{digest('attempt', 'tr/told/job', DATE, 0, token, size=8)}-01", parent


@test
def a_request_of_the_http_runner_carries_it_too(s):
    workflow(s, "asks", {"call": f"type: http\nparams: {{url: '{s.web.url('/traced')}', method: post, body: '{{}}'}}"}, project="tr")
    got = until("the request came", lambda: [g for g in s.web.got if g[0] == "/traced"])[0]
    trace = digest("run", "tr/asks", DATE, size=16)
    headers = {k.lower(): v for k, v in dict(got[1]).items()}
    assert headers["traceparent"].startswith(f"00-{trace}-"), headers


@test
def what_ended_reaches_the_collector_as_one_tree_with_times_and_ends(s):
    workflow(s, "tree", {"up": script("true"), "down": script("exit 3", needs="[up]", retry="{attempts: 2, delay: 1s}")}, project="tr")
    s.wait_state("tr/tree/down", "2026-03-01T00:00:00Z", "StopSchedule")
    trace = digest("run", "tr/tree", DATE, size=16)

    def whole():
        spans = [x for x in s.collector.spans.values() if x["traceId"] == trace]
        return spans if len(spans) == 6 else None
    spans = until("run, two instances, three attempts", whole)
    run, = [x for x in spans if "parentSpanId" not in x]
    assert run["spanId"] == digest("run span", "tr/tree", DATE, size=8) and run["name"] == "tr/tree"
    assert run["status"]["code"] == 2 and attributes(run)["sirdar.failed"] == 1, run
    up, down = (next(x for x in spans if attributes(x).get("sirdar.task") == f"tr/tree/{t}") for t in ("up", "down"))
    assert down["spanId"] == digest("instance", "tr/tree/down", DATE, 0, 1, size=8)
    assert (up["status"]["code"], down["status"]["code"]) == (1, 2)
    assert up["parentSpanId"] == down["parentSpanId"] == run["spanId"]
    assert [e["name"] for e in up["events"]] == ["create", "satisfy", "grant", "started", "exit-ok"], up["events"]
    tries = sorted((x for x in spans if x.get("parentSpanId") == down["spanId"]), key=lambda x: int(x["startTimeUnixNano"]))
    assert [attributes(x)["sirdar.attempt"] for x in tries] == [1, 2]
    assert all(x["status"]["code"] == 2 and attributes(x)["sirdar.exit_code"] == 3 for x in tries), tries
    for inner, outer in [(x, down) for x in tries] + [(up, run), (down, run)]:
        assert int(outer["startTimeUnixNano"]) <= int(inner["startTimeUnixNano"]), (inner, outer)
        assert int(inner["endTimeUnixNano"]) <= int(outer["endTimeUnixNano"]), (inner, outer)
    path, headers = s.collector.headers[-1]
    assert path == "/v1/traces" and headers["Authorization"] == f"Bearer {SECRET}" and headers["X-Tenant"] == "dw"
    assert SECRET not in s.notifier.text()


@test
def a_collector_that_is_away_loses_nothing_also_over_a_restart(s):
    s.collector.status = 503
    workflow(s, "away", {"job": "type: noop"}, project="tr", end="2026-03-20")
    s.wait_all_over("tr/away*", 20)
    until("the notifier noticed", lambda: s.notifier.has(r"traces\.untaken.*status=503"))
    s.notifier.kill()
    s.notifier.start()
    until("it tries again", lambda: s.notifier.text(s.notifier.mark).count("traces.untaken") > 0)
    s.collector.status = 200

    def all_there():
        return len([x for x in s.collector.spans.values() if attributes(x).get("sirdar.task") == "tr/away/job"]) == 20
    until("all twenty arrive", all_there, 60)


@test
def what_a_collector_refuses_is_counted_and_told_and_nothing_stops(s):
    s.collector.status = 400
    workflow(s, "bad", {"job": "type: noop"}, project="tr")
    until("it is told", lambda: s.notifier.has(r"traces\.refused status=400 spans=\d+ in_all=\d+"))
    s.collector.status = 200
    workflow(s, "good", {"job": "type: noop"}, project="tr")
    until("the next one arrives", lambda: [x for x in s.collector.spans.values() if attributes(x).get("sirdar.task") == "tr/good/job"])


def other(s, **sets):
    """The notifier with other settings than it has in these tests."""
    s.notifier.stop()
    s.notifier = s.make(**{**s.trace_sets, **sets}).start()


def of_task(s, task):
    return [x for x in s.collector.spans.values() if attributes(x).get("sirdar.task") == task]


@test
def traces_are_of_traces_service_and_traces_permille_of_the_runs(s):
    s.notifier.stop()
    s.collector.service = "nightly"
    other(s, traces_service="nightly", traces_permille=500)
    workflow(s, "half", {"job": "type: noop"}, project="tr", end="2026-03-20")
    s.wait_all_over("tr/half*", 20)
    dates = [DATE + 86400 * n for n in range(20)]
    traces = {digest("run", "tr/half", d, size=16) for d in dates}
    want = {x for x in traces if int(x[:8], 16) % 1000 < 500}
    assert 0 < len(want) < 20
    until("all of them arrive", lambda: {x["traceId"] for x in of_task(s, "tr/half/job")} >= want)
    workflow(s, "fence", {"job": "type: noop"}, project="tr", end="2026-03-20")  # what comes after shows that no more comes
    last = {digest("run", "tr/fence", d, size=16) for d in dates}
    last = {x for x in last if int(x[:8], 16) % 1000 < 500}
    until("later ones arrive", lambda: {x["traceId"] for x in of_task(s, "tr/fence/job")} >= last)
    assert {x["traceId"] for x in of_task(s, "tr/half/job")} == want
    s.collector.service = "sirdar"
    other(s)


@test
def what_ended_is_sent_every_traces_every_ms(s):
    other(s, traces_every_ms=600000)
    workflow(s, "seldom", {"job": "type: noop"}, project="tr")
    s.wait_all_over("tr/seldom*", 1)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        assert not of_task(s, "tr/seldom/job")
    other(s)
    until("it arrives", lambda: of_task(s, "tr/seldom/job"))


@test
def who_is_farther_behind_than_traces_behind_max_passes_over_what_is_oldest(s):
    s.notifier.stop()
    workflow(s, "long", {f"job{n}": "type: noop" for n in range(10)}, project="tr", end="2026-03-31")
    s.wait_all_over("tr/long*", 310)
    other(s, traces_behind_max=1000)
    until("it is told", lambda: s.notifier.has(r"traces\.lost events=\d+", s.notifier.mark))
    other(s)


if __name__ == "__main__":
    sys.exit(main(make))
