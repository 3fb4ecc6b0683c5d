#!/usr/bin/env python3
"""Where a newcomer stumbled: what the command line and the server say of slips, and what they take without a word. TAP."""
import json
import os
import re
import sqlite3
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Site, main, test, until  # noqa: E402

OK, REFUSED, USAGE, NOT_FOUND = 0, 1, 2, 4
DATE = "2026-03-01"


def file_of(s, name, text):
    (s.dir / f"{name}.yaml").write_text(text)
    return f"{name}.yaml"


def flow(name, tasks, more=""):
    return (f"project: new\nworkflow: {name}\nstart_date: 2026-01-01\n{more}defaults: {{type: shell, cycle: day, catchup: {{mode: none}}, "
            f"retry: {{attempts: 1}}}}\ntasks:\n{tasks}")


@test
def parameters_that_param_set_made_are_known_to_check_online(s):
    s.sirdar("param", "set", "region=north", "--project", "new")
    good = file_of(s, "params", flow("params", '  a: {params: {script: "echo ${region}"}}\n'))
    slip = file_of(s, "slip", flow("slip", '  a: {params: {script: "echo ${regoin}"}}\n'))
    assert "region" in s.sirdar("check", good, expect=REFUSED).stdout
    assert "good: 1 workflow" in s.sirdar("check", "--online", good).stdout
    assert "regoin" in s.sirdar("check", "--online", slip, expect=REFUSED).stdout
    s.sirdar("apply", "--yes", good)


@test
def machines_and_groups_that_nobody_has_are_warned_of(s):
    path = file_of(s, "places", flow("places", '  a: {group: etI, params: {script: "true"}}\n  b: {machines: [b1, b7], params: {script: "true"}}\n'
                                     '  c: {group: default, params: {script: "true"}}\n'
                                     '  d: {group: later, state: draft, params: {script: "true"}}\n'))
    for done in (s.sirdar("check", "--online", path), s.sirdar("apply", "--yes", path)):
        said = done.stdout
        assert re.search(r"places.yaml:\d+:\d+: warning: no machine is in the group 'etI'", said), said
        assert "there is no machine 'b7'" in said and "'b1'" not in said and "default" not in said and "later" not in said, said
    assert "warning" not in s.sirdar("check", path).stdout
    answer = json.loads(s.sirdar("apply", "--yes", "--json", path).stdout)
    assert [w["code"] for w in answer["warnings"]] == ["unknown_group", "unknown_machine"], answer


@test
def one_mistake_has_one_form(s):
    path = file_of(s, "form", flow("form", "  a: {priority: 99, params: {script: 'true'}}\n"))
    checked = s.sirdar("check", path, expect=REFUSED).stdout.splitlines()[0]
    applied = s.sirdar("apply", "--yes", path, expect=REFUSED).stderr.splitlines()[0]
    assert checked == applied and re.match(r"form.yaml:\d+:\d+: \S", checked), (checked, applied)


@test
def the_only_run_of_a_task_needs_no_date(s):
    s.apply(flow("one", '  a: {params: {script: "echo once ${city} ${town}"}}\n  b: {params: {script: "true"}}\n', "parameters: {city: 0, town: 0}\n"))
    s.sirdar("backfill", "new/one/a", DATE, "--yes", "--wait")
    for words in (("logs",), ("why",), ("run", "show"), ("run", "history")):
        done = s.sirdar(*words, "new/one/a")
        assert "new/one/a has one run, '2026-03-01'" in done.stderr and done.stdout, (words, done)
        assert s.sirdar(*words, "new/one/a", DATE).stdout == done.stdout, words
    assert "has no run" in s.sirdar("why", "new/one/b", expect=NOT_FOUND).stderr
    assert "new/one/c" in s.sirdar("why", "new/one/c", expect=NOT_FOUND).stderr
    s.sirdar("backfill", "new/one/a", "2026-03-02", "--yes", "--wait")
    done = s.sirdar("logs", "new/one/a", expect=USAGE)
    assert "which run date of new/one/a? The last are '2026-03-02' and '2026-03-01'" in done.stderr, done


@test
def help_of_a_command_is_that_commands(s):
    for words, want in ((("run",), "run start"), (("run", "start"), "--no-op"), (("check",), "--online")):
        said = s.sirdar("help", *words).stdout
        assert want in said and "audit verify" not in said, (words, said[:500])
    assert "audit verify" in s.sirdar("help").stdout
    assert "no command 'chek'" in s.sirdar("help", "chek", expect=USAGE).stderr


@test
def a_word_that_is_no_state_is_told_which_there_are(s):
    words = "waiting, queued, running, succeeded, retrying, failed, killing, killed, hanged, skipped"
    for done in (s.sirdar("run", "list", "--state", "due", expect=USAGE), s.sirdar("redo", "new/one/a", "--state", "failed,due", expect=USAGE)):
        assert f"'due' is not a state: {words}" in done.stderr, done
    for word in ("failed", "queued", "succeeded", "due"):
        status, answer = s.ask("GET", f"/api/v1/instances?states={word}")
        assert status == 400 and f"'{word}' is not a state" in answer["error"]["message"] and "StopSchedule (failed)" in answer["error"]["message"], answer
    for word in ("Failed", "StopSchedule", "Running", "running", "KILLED", "Killing"):
        assert s.ask("GET", f"/api/v1/instances?states={word}")[0] == 200, word


@test
def a_parameter_said_twice_is_refused(s):
    for words in (("redo", "new/one/a", DATE, "--yes"), ("run", "start", "new/one")):
        done = s.sirdar(*words, "--param", "city=1", "--param", "city=2", expect=USAGE)
        assert "--param city is said twice: 1 and 2" in done.stderr, done
    s.sirdar("redo", "new/one/a", DATE, "--yes", "--param", "city=1", "--param", "city=1", "--param", "town=2", "--dry-run")


@test
def a_duration_beyond_what_its_runner_takes_is_refused_when_it_is_checked(s):
    long = file_of(s, "long", flow("long", "  a: {type: sensor, params: {watch: file, path: /x, give_up: 9999d}}\n"))
    for done in (s.sirdar("check", long, expect=REFUSED).stdout, s.sirdar("check", "--online", long, expect=REFUSED).stdout,
                 s.sirdar("apply", "--yes", long, expect=REFUSED).stderr):
        assert "give_up" in done and "at most 3650d" in done, done
    fits = file_of(s, "fits", flow("fits", "  a: {type: sensor, params: {watch: file, path: /x, give_up: 3650d, every: 7d}}\n"))
    s.sirdar("check", fits)


@test
def a_draft_of_an_unknown_type_is_not_put_in_force_without_a_word(s):
    path = file_of(s, "typo", flow("typo", '  a: {type: shel, state: draft, params: {script: "true"}}\n  b: {state: draft, params: {script: "true"}}\n'))
    s.sirdar("apply", "--yes", path)
    done = s.sirdar("online", "new/typo/a", "--yes", expect=REFUSED)
    assert "new/typo/a is a draft of a task type 'shel' that is not there" in done.stderr and "sirdar type list" in done.stderr, done
    s.sirdar("online", "new/typo/b", "--yes")


@test
def a_drain_of_a_type_that_nothing_has_is_refused(s):
    answer = s.command("plugin-drain", type="shel", expect=(404,))
    assert "no broker and no task has a type 'shel'" in answer["error"]["message"], answer
    s.sirdar("plugin", "drain", "shel", expect=NOT_FOUND)
    assert "shel" not in [p["type"] for p in json.loads(s.sirdar("plugin", "list", "--json").stdout)]


@test
def recipients_that_nobody_is_are_warned_of(s):
    s.sirdar("channel", "set", "told", "--kind", "file")
    s.sirdar("user", "set", "ann", "--role", "viewer")
    s.sirdar("group", "add", "team", "--role", "viewer")
    done = s.sirdar("rule", "set", "r", "--when", "failed", "--to", "webhook:nowhere", "--to", "user:nobody", "--to", "oncall:never",
                    "--to", "file:told", "--to", "user:ann", "--to", "user:team", "--to", "mail:a@example.org", "--to", "bell:console",
                    "--project", "new")
    said = re.findall(r"warning: (\S+):", done.stderr)
    assert said == ["webhook:nowhere", "user:nobody", "oncall:never"] and "no notifier is connected" in done.stderr, done
    done = s.sirdar("oncall", "set", "week", "--person", "user:ann", "--person", "user:bob")
    assert re.findall(r"warning: (\S+):", done.stderr) == ["user:bob"], done


@test
def what_a_list_a_diff_and_a_refusal_say_is_so(s):
    assert "no failures" in (done := s.sirdar("failures", "ffffffff", expect=NOT_FOUND)).stderr or not done.stdout, done
    assert "Task" not in done.stdout, done
    path = file_of(s, "lines", flow("lines", "  a:\n    params:\n      script: |\n        echo one\n        echo two\n"))
    s.sirdar("apply", "--yes", path)
    file_of(s, "lines", flow("lines", "  a:\n    params:\n      script: |\n        echo one\n        echo three\n"))
    said = s.sirdar("diff", path).stdout.splitlines()
    assert "    - tasks.a.params.script:" in said or any(x.endswith("script:") for x in said), said
    assert "    -   echo two" in said and "    +   echo three" in said, said
    answer = s.command("redo", selektion={}, expect=(400,))["error"]
    assert "within" not in json.dumps(answer) and "selection" in json.dumps(answer), answer
    done = s.sirdar("run", "list", "--date", "2026-02-30", expect=REFUSED)
    assert "2026-02 has 28 days" in done.stderr, done
    done = s.sirdar("backfill", "new/lines/a", "2026-02-30", "--yes", expect=USAGE)
    assert "2026-02 has 28 days" in done.stderr, done
    answer = s.command("run-start", selection={"workflow": "new/lines"}, date="2026-02-30", expect=(400,))["error"]
    assert "2026-02 has 28 days" in answer["message"] and answer["hint"].startswith("for example "), answer
    s.apply(flow("cron", '  a: {cron: "*/7 3 * * *", params: {script: "true"}}\n', "").replace("cycle: day, ", ""))
    assert "*/7 3 * * *" in s.sirdar("task", "show", "new/cron/a").stdout
    assert s.ask("GET", "/api/v1/graph/new/cron")[1]["tasks"][0]["cron"] == "*/7 3 * * *"


@test
def a_draft_is_called_one_and_what_it_takes_out_of_force_too(s):
    path = file_of(s, "draft", flow("draft", '  a: {params: {script: "true"}}\n'))
    s.sirdar("apply", "--yes", "--draft", path)
    row = [x for x in s.sirdar("workflow", "list").stdout.splitlines() if "new/draft" in x]
    assert row[0].split()[2:4] == ["yes", "no"] and "Draft" in s.sirdar("workflow", "list").stdout, row
    said = s.sirdar("why", "new/draft/a", "2026-03-01").stdout
    assert "draft" in said and "backfill" not in said, said
    done = s.sirdar("apply", "--yes", path).stdout
    assert "first run" in done, done
    done = s.sirdar("apply", "--yes", "--draft", path).stdout
    assert "nothing of it runs any more" in done, done
    past = s.sirdar("apply", "--yes", file_of(s, "past", flow("past", '  a: {catchup: {mode: all}, params: {script: "true"}}\n')), "--from", "-3d").stdout
    assert "come due" in past and "first run" not in past and "next run" in past, past
    cold = s.sirdar("apply", "--yes", file_of(s, "cold", flow("cold", '  a: {state: frozen, params: {script: "true"}}\n'))).stdout
    assert "first run" not in cold and "frozen" in cold, cold


@test
def a_total_that_is_not_counted_yet_is_no_number(s):
    with sqlite3.connect(s.dir / "base/sirdar.db") as db:
        (last,) = db.execute("SELECT max(id) FROM lb_command").fetchone()
        was = db.execute("SELECT total FROM lb_command WHERE id = ?", (last,)).fetchone()
        db.execute("UPDATE lb_command SET total = 4294967295 WHERE id = ?", (last,))
    [row] = [x for x in s.ask("GET", "/api/v1/commands")[1]["items"] if x["command"] == str(last)]
    assert row["total"] is None and "4294967295" not in s.sirdar("command", "list").stdout, row
    with sqlite3.connect(s.dir / "base/sirdar.db") as db:
        db.execute("UPDATE lb_command SET total = ? WHERE id = ?", (*was, last))


@test
def columns_of_a_later_page_stand_below_their_titles(s):
    long = "a_name_that_is_longer_than_all_before_it"
    s.apply(flow("pages", f'  a: {{params: {{script: "true"}}}}\n  b: {{params: {{script: "true"}}}}\n  {long}: {{params: {{script: "true"}}}}\n  c: {{params: {{script: "true"}}}}\n'))
    at, rows = None, 0
    for line in s.sirdar("task", "list", "new/pages/", "--limit", "1", "--all").stdout.splitlines():
        if line.startswith("Task "):
            at = line.index("State")
        else:
            rows += 1
            assert line[at:].startswith("online ") and line[at - 1] == " ", (at, line)
    assert rows == 4, rows


@test
def an_address_with_a_blank_is_refused(s):
    for url in ("https://a.example.org/x y", "https://a.example.org/\t"):
        (s.dir / "url").touch(0o600)
        (s.dir / "url").write_text(url + "\n")
        done = s.sirdar("channel", "set", "spaced", "--kind", "webhook", "--url-file", "url", expect=REFUSED)
        assert "no blanks" in done.stderr and "example" not in done.stderr, done


@test
def of_two_passwords_on_standard_input_the_wrong_one_is_named(s):
    word = "a long password of boss"
    s.sirdar("user", "set", "boss", "--role", "admin", "--password", stdin=word + "\n")
    (s.dir / "boss").touch(0o600)
    s.sirdar("login", "--user", "boss", "--token-file", "boss", "--server", f"http://127.0.0.1:{s.http}", stdin=word + "\n")
    eve = ("user", "set", "eve", "--role", "viewer", "--password", "--token-file", "boss")
    done = s.sirdar(*eve, expect=5, stdin=f"{word}\nthe new password\n")
    s.sirdar(*eve, stdin=f"the new password\n{word}\n")
    assert "that was the password of boss" in done.stderr and "stands last" in done.stderr, done


@test
def an_alert_list_without_a_notifier_says_that_nobody_is_told(s):
    assert "nobody is told" in s.sirdar("alert", "list").stderr


if __name__ == "__main__":
    sys.exit(main(lambda: Site("stumbles", types_dir=BIN.parent / "types").start()))
