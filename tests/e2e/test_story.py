#!/usr/bin/env python3
"""One person, one morning, by the command line and a webhook alone: a workflow by hand is run with parameters, fails, the cause is
read, it is mended and done again; and whoever is on call is told with a link to the very attempt. TAP."""
import json
import os
import re
import sys
from urllib.parse import parse_qs, unquote, urlsplit

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import AlertSite  # noqa: E402
from harness import http_quote, main, test, until  # noqa: E402

FAILED = 7
FLOW = """project: shop
workflow: report
parameters: {{city: Berlin}}
alerts: [{{when: [failed], to: [webhook:team]}}]
defaults: {{type: shell, cycle: none, retry: {{attempts: {attempts}, delay: 0s}}}}
tasks:
  make: {{params: {{script: "{script}"}}}}
  send: {{needs: [{{task: make, depend: 1}}], params: {{script: "echo sent for ${{city}}"}}}}
"""
WRONG = "echo reading ${city}; cat /nonexistent/${city}.csv"
RIGHT = "echo reading ${city}"


def write(s, script, attempts=2):
    (s.dir / "report.yaml").write_text(FLOW.format(script=script, attempts=attempts))


def messages(s):
    return [a for path, _, body, _, _ in s.web.got if path == "/team" for a in body["alerts"]]


@test
def it_is_run_by_hand_with_parameters_and_fails(s):
    write(s, WRONG)
    s.sirdar("apply", "--yes", "report.yaml")
    done = s.sirdar("run", "start", "shop/report", "--date", "2026-03-31", "--param", "city=Lyon", "--wait", expect=FAILED)
    assert re.search(r"shop/report/make 2026-03-31 00:00.* failed", done.stdout) and "1 waiting" in done.stdout, done
    s.label = s.instances("shop/report/make")[0]["label"]


@test
def the_cause_is_read_in_one_look(s):
    said = s.sirdar("failures", "--workflow", "shop/report").stdout
    assert "Lyon.csv" in said and "No such file" in said and "shop/report/make" in said, said
    for words in (("why", "shop/report"), ("why", "shop/report/make", s.label), ("why", "shop/report/make")):
        said = s.sirdar(*words).stdout
        assert "No such file" in said and "Lyon.csv" in said, (words, said)
    assert "reading Lyon" in s.sirdar("logs", "shop/report/make", s.label).stdout


@test
def who_is_on_call_was_told_with_a_link_to_the_very_attempt(s):
    until("the webhook has it", lambda: messages(s), 120)
    said = messages(s)
    assert [(a["event"], a["task"], a["attempt"]) for a in said] == [("failed", "shop/report/make", 2)], said
    link = urlsplit(said[0]["link"])
    query = parse_qs(link.query)
    assert f"{link.scheme}://{link.netloc}" == f"http://127.0.0.1:{s.http}" and query["attempt"] == ["2"], said[0]["link"]
    # What it names is that attempt (that its page opens: tests/link.test.ts of the console).
    start, task, label = re.fullmatch(r"/(p)/(.+/.+/.+)/([^/]+)", unquote(link.path)).groups()
    found = s.get(f"/api/v1/resolve?task={http_quote(task)}&run_date={http_quote(label)}")
    one = s.instances("shop/report/make")[0]
    assert start == "p" and (task, label, found["id"]) == ("shop/report/make", s.label, one["id"]), (link, found, one)
    log = s.log_of(found["id"], attempt=query["attempt"][0], generation=query.get("run", ["1"])[0], stream="stderr")
    assert "Lyon.csv: No such file" in str(log), log
    # The command line prints the same address.
    web = s.sirdar("logs", "shop/report/make", s.label, "--attempt", "2", "--web").stdout.strip()
    assert urlsplit(web).path == link.path and parse_qs(urlsplit(web).query)["attempt"] == ["2"], (web, said[0]["link"])


@test
def it_is_mended_and_done_again_with_the_parameters_of_the_run(s):
    write(s, RIGHT)
    said = s.sirdar("apply", "--yes", "report.yaml").stdout
    assert "~ task shop/report/make" in said, said
    done = s.sirdar("redo", "shop/report/make", s.label, "--yes", "--wait")
    assert "1 succeeded" in done.stdout, done
    s.sirdar("run", "wait", "shop/report", s.label)
    assert "reading Lyon" in s.sirdar("logs", "shop/report/make", s.label).stdout
    assert "sent for Lyon" in s.sirdar("logs", "shop/report/send", s.label).stdout
    assert "succeeded" in s.sirdar("why", "shop/report").stdout or "nothing" in s.sirdar("why", "shop/report").stdout


@test
def what_went_well_told_nobody(s):
    until("nothing waits", s.nothing_waits, 60)
    assert len(messages(s)) == 1, messages(s)
    causes = json.loads(s.sirdar("failures", "--workflow", "shop/report", "--json").stdout)
    assert [(c["failed"], c["well"]) for c in causes] == [(0, 1)], causes


def make_site():
    s = AlertSite("story")
    s.notifier = s.make(console_url=f"http://127.0.0.1:{s.http}", group_ms=0, retry_min_ms=50, retry_max_ms=400, send_ms=20000)
    return s.start()


if __name__ == "__main__":
    sys.exit(main(make_site))
