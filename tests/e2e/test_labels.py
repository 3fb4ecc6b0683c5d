#!/usr/bin/env python3
"""One name an instance: what a surface prints, every verb and field accepts, and it means the same one. TAP."""
import http.client
import json
import os
import sqlite3
import sys
from urllib.parse import parse_qs, quote, unquote

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import AlertSite  # noqa: E402
from harness import main, test, until  # noqa: E402

# Task: its time, the range that is backfilled, and the labels of all its instances. Clocks are set back in Berlin on
# 27 October 2024 (03:00 to 02:00) and in New York on 3 November; Apia is 14 hours before UTC.
TASKS = {
    "daily": ("cycle: day, timezone: Asia/Shanghai", "2024-10-01", "2024-10-05", [f"2024-10-0{d}" for d in range(1, 6)]),
    "third_day": ("cycle: 3 day, timezone: Pacific/Apia", "2024-10-01", "2024-10-12", None),
    "hourly": ("cycle: hour, timezone: Europe/Berlin", "2024-10-27 00:00", "2024-10-27 05:00",
               ["2024-10-27 00:00", "2024-10-27 01:00", "2024-10-27 02:00 (1)", "2024-10-27 02:00 (2)", "2024-10-27 03:00",
                "2024-10-27 04:00", "2024-10-27 05:00"]),
    "quarters": ("cycle: 15 minute, timezone: America/New_York", "2024-11-03 01:30 (1)", "2024-11-03 01:15 (2)",
                 ["2024-11-03 01:30 (1)", "2024-11-03 01:45 (1)", "2024-11-03 01:00 (2)", "2024-11-03 01:15 (2)"]),
    "weekly": ("cycle: week, timezone: America/New_York", "2024-W40", "2024-W44", [f"2024-W{w}" for w in range(40, 45)]),
    "monthly": ("cycle: month, timezone: Pacific/Apia", "2024-08", "2024-11", ["2024-08", "2024-09", "2024-10", "2024-11"]),
    "yearly": ("cycle: year, timezone: Asia/Kathmandu", "2022", "2023", ["2022", "2023"]),
    "at_two": ('cron: "30 2 * * *", timezone: Europe/Berlin', "2024-10-25", "2024-10-28",
               ["2024-10-25 02:30", "2024-10-26 02:30", "2024-10-27 02:30 (1)", "2024-10-28 02:30"]),
    "seconds": ('cron: "15 0 */6 * * ?", timezone: Asia/Shanghai', "2024-10-01", "2024-10-01",
                [f"2024-10-01 {h:02}:00:15" for h in (0, 6, 12, 18)]),
    "thrice": ('cron: "*/20 0 2 * * ?", timezone: Europe/Berlin', "2024-10-26", "2024-10-27",
               [f"2024-10-{d} 02:00:{s:02}{n}" for d, n in ((26, ""), (27, " (1)")) for s in (0, 20, 40)]),
}


def name(task):
    return f"names/times/{task}"


def document():
    lines = ["workflow: times", "project: names", "start_date: 2022-01-01", "end_date: 2024-12-31", "tasks:"]
    return "\n".join(lines + [f"  {t}: {{type: noop, {row[0]}}}" for t, row in TASKS.items()]) + "\n"


def refused(s, *ask):
    code, said = s.ask(*ask)
    return code, said["error"]


def rows(s, task):
    return sorted(s.instances(name(task)), key=lambda i: i["run_date"])


def ready(s):
    if not s.get("/api/v1/tasks?prefix=names/&limit=50")["items"]:
        s.apply(document(), "times.yaml")
        for task, (_, first, last, _) in TASKS.items():
            s.command("backfill", selection={"tasks": [name(task)], "from": first, "to": last}, dependencies="ignore")
        for task, row in TASKS.items():
            until(f"{task} ran", lambda t=task, r=row: (i := rows(s, t)) and (r[3] is None or len(i) >= len(r[3])) and
                  all(x["state"] == "Succ" for x in i), 120)


@test
def a_label_is_as_coarse_as_the_cycle_in_the_zone_of_the_task(s):
    ready(s)
    for task, (_, first, last, want) in TASKS.items():
        got = [i["label"] for i in rows(s, task)]
        assert got == want if want else got and all(len(x) == 10 for x in got), (task, got, want)


@test
def what_is_printed_is_accepted_back_and_is_the_same_instance(s):
    ready(s)
    asked = 0
    for task in TASKS:
        for i in rows(s, task):
            there = s.get(f"/api/v1/resolve?task={quote(name(task))}&run_date={quote(i['label'])}")
            assert there["id"] == i["id"] and there["label"] == i["label"], (i, there)
            seen = s.command("redo", dry_run=True, selection={"tasks": [name(task)], "dates": [i["label"]]})
            assert seen["total"] == 1 and seen["sample"][0]["id"] == i["id"], (i["label"], seen)
            said = s.command("redo", dry_run=True, selection={"tasks": [name(task)], "from": i["label"], "to": i["label"]})
            assert said["total"] == 1 and said["sample"][0]["label"] == i["label"], (i["label"], said)
            asked += 1
    assert asked > 35, asked


@test
def the_command_line_prints_labels_and_takes_them(s):
    ready(s)
    for task in ("hourly", "monthly", "at_two"):
        printed = s.sirdar("run", "list", name(task), "--limit", "50").stdout
        for i in rows(s, task):
            assert f" {i['label']} " in printed, (i["label"], printed)
            why = json.loads(s.sirdar("why", "--json", name(task), i["label"]).stdout)
            assert why["id"] == i["id"] and why["label"] == i["label"], why


@test
def events_commands_and_forecasts_name_the_same(s):
    ready(s)
    i = rows(s, "hourly")[3]
    events = s.get(f"/api/v1/instances/{i['id']}/events")["items"]
    assert events and {e["label"] for e in events} == {"2024-10-27 02:00 (2)"}, events
    one = s.get(f"/api/v1/instances/{i['id']}")
    assert one["label"] == i["label"], one


@test
def a_label_that_means_two_instances_is_refused_with_both(s):
    ready(s)
    code, said = refused(s, "GET", f"/api/v1/resolve?task={name('hourly')}&run_date={quote('2024-10-27 02:00')}")
    assert code == 400 and "2024-10-27 02:00 (1), which is 2024-10-27T00:00:00Z" in said["message"], said
    assert "2024-10-27 02:00 (2), which is 2024-10-27T01:00:00Z" in said["message"], said
    code, said = refused(s, "GET", f"/api/v1/resolve?task={name('hourly')}&run_date=2024-10-27")
    assert code == 400 and "more than one instance" in said["message"] and "2024-10-27 00:00" in said["message"], said
    code, said = refused(s, "GET", f"/api/v1/resolve?task={name('hourly')}&run_date={quote('2024-10-27 04:00 (2)')}")
    assert code == 400 and "at most once" in said["message"], said
    # The plan has one of the two: it is meant.
    there = s.get(f"/api/v1/resolve?task={name('at_two')}&run_date={quote('2024-10-27 02:30')}")
    assert there["label"] == "2024-10-27 02:30 (1)" and there["live"] is False, there


@test
def a_date_names_every_instance_in_it_and_instants_stay_what_they_are(s):
    ready(s)
    for said, n in (("2024-10-27", 7), ("2024-10-27 02:00", 2), ("2024-10-27T01:00:00Z", 1), ("2024-10-27T02:00:00+01:00", 1)):
        seen = s.command("redo", dry_run=True, selection={"tasks": [name("hourly")], "dates": [said], "states": ["Succ"]})
        assert seen["total"] == n, (said, seen)
    seen = s.command("redo", dry_run=True, selection={"tasks": [name("daily")], "from": "2024-10", "to": "2024-10"})
    assert seen["total"] == 5, seen
    code, said = refused(s, "POST", "/api/v1/commands", {"kind": "redo", "dry_run": True, "args": {
        "selection": {"tasks": [name("quarters")], "dates": ["2024"]}}})
    assert code == 400 and "more than 10000 instances" in said["message"], said


@test
def yesterday_is_the_day_before_in_the_zone_of_the_task(s):
    ready(s)
    s.apply("workflow: now\nproject: names\nstart_date: 2020-01-01\ntasks:\n"
            "  east: {type: noop, cycle: day, timezone: Pacific/Kiritimati}\n"
            "  west: {type: noop, cycle: day, timezone: Pacific/Pago_Pago}\n", "now.yaml")
    seen = s.command("backfill", dry_run=True, selection={"tasks": ["names/now/east", "names/now/west"], "from": "-2d", "to": "-2d"},
                     dependencies="ignore")
    days = {i["task"].rsplit("/", 1)[1]: i["label"] for i in seen["sample"]}
    # 25 hours lie between the two: never the same day.
    assert seen["total"] == 2 and days["east"] > days["west"], seen
    code, said = refused(s, "POST", "/api/v1/commands", {"kind": "redo", "dry_run": True, "args": {
        "selection": {"tasks": ["names/now/east"], "from": "soon", "to": "now"}}})
    assert code == 400 and "'soon' is no date" in said["message"] and "yesterday" in said["hint"], said


@test
def every_verb_of_the_command_line_takes_what_another_printed(s):
    ready(s)
    asked = 0
    for task in TASKS:
        have = rows(s, task)
        for i in have:
            mine = lambda *ask: [x["id"] for x in json.loads(s.sirdar(*ask, "--json").stdout)]
            assert mine("run", "list", name(task), "--date", i["label"]) == [i["id"]], i
            assert mine("run", "list", name(task), "--from", i["label"], "--to", i["label"]) == [i["id"]], i
            asked += 1
        first, last = have[0], have[-1]
        span = f"{first['label']}..{last['label']}"
        assert {x["id"] for x in json.loads(s.sirdar("run", "list", name(task), "--date", span, "--json").stdout)} == {
            i["id"] for i in have}, span
        for verb in ("redo", "backfill"):
            seen = json.loads(s.sirdar(verb, name(task), span, "--dry-run", "--json").stdout)
            assert seen["total"] == len(have), (verb, span, seen)
        printed = s.sirdar("run", "history", name(task), first["label"], "--json").stdout
        assert {e["label"] for e in json.loads(printed)} == {first["label"]}, printed
        s.sirdar("logs", name(task), first["label"], expect=4)  # a noop prints nothing; the instance is found
    assert asked > 35, asked


@test
def what_is_not_there_is_named_as_it_was_asked_for(s):
    ready(s)
    for verb in ("show", "history"):
        said = s.sirdar("run", verb, name("daily"), "2024-11-05", expect=4).stderr
        assert f"{name('daily')} 2024-11-05 has no instance" in said, said


@test
def run_wait_takes_ranges_and_run_start_says_where_its_date_goes(s):
    ready(s)
    assert s.sirdar("run", "wait", name("daily"), "2024-10-02..2024-10-04").stdout.splitlines()[-1] == "3: 3 succeeded"
    assert s.sirdar("run", "wait", name("daily"), "2024-10-01..2024-10-02", "2024-10-04").stdout.splitlines()[-1] == "3: 3 succeeded"
    assert s.sirdar("run", "wait", name("daily"), "-20000d..2024-10-02").stdout.splitlines()[-1] == "2: 2 succeeded"
    assert "--date 2024-10-02" in s.sirdar("run", "start", name("daily"), "2024-10-02", expect=2).stderr


@test
def edges_and_simulate_print_and_take_the_same_labels(s):
    ready(s)
    path = os.path.join(s.dir, "times.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(document())
    for task in TASKS:
        have = rows(s, task)
        span = f"{have[0]['label']}..{have[-1]['label']}"
        for ask in (("--date", span), ("--from", have[0]["label"], "--to", have[-1]["label"])):
            told = json.loads(s.sirdar("simulate", path, *ask, "--json").stdout)
            mine = [(x["label"], x["run_date"]) for x in told if x["task"] == name(task)]
            assert mine == [(i["label"], i["run_date"]) for i in have], (ask, mine)
        for i in have:
            printed = s.sirdar("simulate", path, "--date", i["label"]).stdout
            assert f"{name(task)} " in printed and f" {i['label']} " in printed, (i, printed)


@test
def dates_of_several_zones_in_one_list_are_each_of_their_own(s):
    ready(s)
    for said, want in (("2024-10-01", {"daily", "seconds"}), ("2024-10-03", {"daily"})):
        found = s.get(f"/api/v1/instances?task=names/times/*&from={said}&to={said}&limit=500")["items"]
        assert found and all(i["label"].startswith(said[:len(i["label"])]) for i in found), found
        assert {i["task"].rsplit("/", 1)[1] for i in found} - {"monthly", "weekly"} >= want, (said, found)
        everywhere = s.get(f"/api/v1/instances?from={said}&to={said}&limit=500")["items"]
        assert [i["id"] for i in everywhere] == [i["id"] for i in found], everywhere


@test
def a_word_of_the_command_line_may_be_a_date_that_begins_with_a_minus(s):
    s.apply("workflow: back\nproject: names\nstart_date: 2020-01-01\ntasks:\n"
            "  days: {type: noop, cycle: day, timezone: Asia/Shanghai}\n", "back.yaml")
    for said, n in (("-3d", 1), ("-3d..yesterday", 3), ("yesterday", 1), ("last week", 7)):
        seen = json.loads(s.sirdar("backfill", "names/back/days", said, "--dry-run", "--json").stdout)
        assert seen["total"] == n, (said, seen)
    assert "is not a run date" in s.sirdar("redo", "names/back/days", "soon", "--dry-run", expect=2).stderr
    seen = json.loads(s.sirdar("online", "names/back/days", "--from", "-2d", "--dry-run", "--json").stdout)
    assert seen["online"], seen
    for of in seen["online"]:
        there = s.get(f"/api/v1/resolve?task=names/back/days&run_date={quote(of['first_label'])}")
        assert there["run_date"] == of["first"], (of, there)


def fetched(s, path):
    """Without following: where it leads to, and its headers."""
    c = http.client.HTTPConnection("127.0.0.1", s.http, timeout=60)
    c.request("GET", path, headers={"Authorization": f"Bearer {s.token}"})
    answer = c.getresponse()
    answer.read()
    c.close()
    return answer.status, answer.headers


def of_link(link):
    """What the console reads of a permanent address: the task, the label, the rest."""
    path, _, rest = link.partition("/p/")[2].partition("?")
    parts = [unquote(x) for x in path.split("/")]
    assert len(parts) == 4, link
    return "/".join(parts[:3]), parts[3], parse_qs(rest)


@test
def a_permanent_link_leads_to_the_console_and_names_the_same_instance(s):
    ready(s)
    here = f"http://127.0.0.1:{s.http}"
    for task in TASKS:
        for i in rows(s, task)[:4]:
            for verb in ("why", "run show", "run history", "logs"):
                printed = s.sirdar(*verb.split(), name(task), i["label"], "--web").stdout.strip()
                assert printed.startswith(here + "/p/names/times/"), printed
                assert of_link(printed) == (name(task), i["label"], {}), (verb, i, printed)
            status, headers = fetched(s, printed[len(here):] + "?run=1&attempt=1")
            assert status == 302 and headers["Location"] == "/ui" + printed[len(here):] + "?run=1&attempt=1", dict(headers)
            there = s.get(f"/api/v1/resolve?task={quote(name(task))}&run_date={quote(of_link(printed)[1])}")
            assert there["id"] == i["id"], (i, there)
    said = s.sirdar("logs", name("daily"), rows(s, "daily")[0]["label"], "-g", "1", "-a", "2", "--web").stdout.strip()
    assert said.endswith("/p/names/times/daily/2024-10-01?run=1&attempt=2"), said


FAILING = {"night": ("cycle: hour, timezone: Europe/Berlin", "2024-10-27 02:00..2024-10-27 03:00"),
           "day": ("cycle: day, timezone: Asia/Shanghai", "2024-10-01"),
           "week": ("cycle: week, timezone: America/New_York", "2024-W44"),
           "month": ("cycle: month, timezone: Pacific/Apia", "2024-09..2024-10"),
           "seconds": ('cron: "15 0 */6 * * ?", timezone: Asia/Shanghai', "2024-10-01 06:00:15")}


def fail_all(s):
    lines = ["workflow: bad", "project: names", "start_date: 2024-01-01", "end_date: 2024-12-31",
             "alerts: [{when: [failed], to: ['webhook:hook', 'mail:me@example.org']}]", "tasks:"]
    lines += [f'  {t}: {{type: shell, params: {{script: "echo {t}; exit 3"}}, retry: {{attempts: 1}}, {row[0]}}}'
              for t, row in FAILING.items()]
    s.apply("\n".join(lines) + "\n", "bad.yaml")
    for t, (_, dates) in FAILING.items():
        s.command("backfill", selection={"tasks": [f"names/bad/{t}"], "dates": [dates]}, dependencies="ignore")
    return until("all failed", lambda: (i := [x for t in FAILING for x in s.instances(f"names/bad/{t}")]) and len(i) == 8 and
                 all(x["state"] == "StopSchedule" for x in i) and i, 120)


@test
def alerts_mails_lists_of_alerts_and_their_links_name_the_same(s):
    have = {(i["task"], i["label"]): i for i in fail_all(s)}
    assert ("names/bad/night", "2024-10-27 02:00 (2)") in have and ("names/bad/week", "2024-W44") in have, have
    told = until("all were told", lambda: (a := [x for b in s.web.taken("/hook") for x in b["alerts"]]) and len(a) >= len(have) and a, 60)
    assert {(a["task"], a["label"]) for a in told} == set(have), told
    for a in told:
        task, label, more = of_link(a["link"])
        i = have[task, label]
        assert (a["task"], a["label"]) == (task, label) and a["run_date_text"] == i["run_date"], (a, i)
        assert more == {"run": ["1"], "attempt": ["1"]}, a
        there = s.get(f"/api/v1/resolve?task={quote(task)}&run_date={quote(label)}")
        assert there["id"] == i["id"], (a, there)
    words = until("all were mailed", lambda: (t := "".join(m["Subject"] + "\n" + m.get_content() for _, _, m in s.mail.got)) and
                  all(a["link"] in t for a in told) and t, 60)
    for task, label in have:
        assert f"{task} {label} failed" in words, (task, label, words)
    listed = until("the server has them", lambda: (x := s.get("/api/v1/alerts?workflow=names/bad&limit=50")["items"]) and
                   len(x) == len(have) and x, 60)
    assert {(a["task"], a["label"]) for a in listed} == set(have), listed
    printed = s.sirdar("alert", "list", "--workflow", "names/bad").stdout
    assert all(f" {label} " in printed for _, label in have), printed


@test
def a_log_that_is_fetched_has_the_label_in_its_files_name(s):
    for i in fail_all(s):
        status, headers = fetched(s, f"/api/v1/instances/{i['id']}/log?download=true")
        kept = unquote(headers["Content-Disposition"].partition("filename*=UTF-8''")[2])
        assert status == 200 and kept == f"{i['task']} {i['label']} stdout.log".replace("/", ".").replace(":", "-"), (i, kept)


def stored(s, task):
    with sqlite3.connect(f"file:{s.dir}/base/sirdar.db?mode=ro", uri=True) as db:
        return db.execute("SELECT zone, grain FROM lb_task WHERE task_name = ?", (task,)).fetchone()


@test
def rows_of_an_earlier_release_have_their_labels_from_the_start_on(s):
    """Also where the default zone became another; and no date of these comes due."""
    s.apply("workflow: old\nproject: names\nstart_date: 2024-01-01\nend_date: 2024-02-01\ntasks:\n"
            "  said: {type: noop, cycle: month, timezone: Asia/Shanghai}\n  unsaid: {type: noop, cycle: day}\n", "old.yaml")
    s.command("backfill", selection={"tasks": ["names/old/*"], "from": "2024-01", "to": "2024-01"}, dependencies="ignore")
    have = until("both ran", lambda: (i := s.instances("names/old/said")) and i[0]["state"] == "Succ" and
                 len(s.instances("names/old/unsaid")) == 31 and i)
    assert have[0]["label"] == "2024-01" and stored(s, "names/old/said") == ("Asia/Shanghai", 3), stored(s, "names/old/said")
    s.base.stop()
    with sqlite3.connect(f"{s.dir}/base/sirdar.db") as db:
        db.execute("UPDATE lb_task SET zone = '', grain = 0 WHERE task_name = 'names/old/said'")
    s.base.start()
    until("the row says its zone", lambda: stored(s, "names/old/said") == ("Asia/Shanghai", 3))
    until("lists have the label", lambda: [i["label"] for i in s.instances("names/old/said")] == ["2024-01"])
    assert stored(s, "names/old/unsaid") == ("UTC", 1), stored(s, "names/old/unsaid")
    s.base.stop()
    s.base.argv += ["--set", "timezone=Asia/Tokyo"]
    s.base.start()
    until("the row says the new zone", lambda: stored(s, "names/old/unsaid") == ("Asia/Tokyo", 1))


if __name__ == "__main__":
    sys.exit(main(lambda: AlertSite("labels").start(types=("noop:64", "shell:8"))))
