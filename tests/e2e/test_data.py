#!/usr/bin/env python3
"""What jobs and callers say is data: outputs of parents and parameters in scripts, commands, lists
and SQL, through all real programs. TAP."""
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Late, Site, main, test, until  # noqa: E402

DAY = "2026-03-01"
AT = "2026-03-01T00:00:00Z"
NASTY = "x.csv; echo PWNED $(echo PWNED) `echo PWNED` '\"\\ *  é"


def workflow(name, tasks, parameters=None, **more):
    head = {"workflow": name, "project": "data", "timezone": "UTC", "start_date": DAY, "end_date": DAY}
    if parameters:
        head["parameters"] = parameters
    head["defaults"] = {"type": "shell", "cycle": "day"}
    head["tasks"] = tasks
    return "".join(f"{k}: {json.dumps(v, ensure_ascii=False)}\n" for k, v in {**head, **more}.items())


def up(site, name, value):
    """A task with one output, whatever it is."""
    file = site.dir / name
    file.write_text(value)
    return {"params": {"script": f'printf "sirdar:output name=%s\\n" "$(cat {file})"'}, "outputs": ["name"]}


def child(**params):
    return {"needs": ["up"], "params": params}


def log_after(site, task, *wanted):
    """What it printed, once all that is wanted is there: a log comes after the end is told."""
    site.wait_state(task, AT, ["Succ"], 60)
    path = f"/api/v1/instances/{site.instance(task, AT)['id']}/log?"
    seen = {}

    def look():
        seen["text"] = site.ask("GET", path)[1]
        seen["text"] = seen["text"].decode() if isinstance(seen["text"], bytes) else str(seen["text"])
        return all(w in seen["text"] for w in wanted) or None
    try:
        until(f"{task} printed {wanted}", look, 30)
    except Late:
        raise AssertionError(f"{task} printed {seen['text']}, want {wanted}") from None
    return seen["text"]


def refused(s, text, status=400, **more):
    """What the save of it is refused with: message and hint."""
    answer = s.command("apply", documents=[{"name": "x.yaml", "text": text}], expect=(status,), **more)
    return json.dumps(answer, ensure_ascii=False)


@test
def an_output_is_data_in_a_script_and_a_command(s):
    s.apply(workflow("script", {
        "up": up(s, "up", "x.csv; echo PWNED"),
        "down": child(script="echo got:${up.name}:\necho \"quoted:${up.name}:\"\nset -- ${up.name}\necho $# words"),
        "command": child(command="echo got:${up.name}:")}), **{"from": DAY})
    text = log_after(s, "data/script/down", "got:x.csv; echo PWNED:", "quoted:x.csv; echo PWNED:", "1 words")
    assert "\nPWNED" not in text, text
    log_after(s, "data/script/command", "got:x.csv; echo PWNED:")


@test
def every_metacharacter_reaches_the_program_as_it_is(s):
    s.apply(workflow("nasty", {
        "up": up(s, "nasty", NASTY),
        "sh": child(script="printf '<%s><%s>' ${up.name} \"${up.name}\""),
        "bash": child(script="#!/bin/bash\nx=${up.name}\n[[ $x == ${up.name} ]] && printf '<%s>' \"$(printf %s \"${up.name}\")\""),
        "argv": child(argv=["printf", "<%s>", "${up.name}", "a${up.name}"])}), **{"from": DAY})
    log_after(s, "data/nasty/sh", f"<{NASTY}><{NASTY}>")
    log_after(s, "data/nasty/bash", f"<{NASTY}>")
    log_after(s, "data/nasty/argv", f"<{NASTY}><a{NASTY}>")


@test
def a_parameter_given_for_one_run_is_data(s):
    s.apply(workflow("given", {"t": {"params": {"script": "printf '<%s>' ${who} \"${who}\""}}},
                     {"who": "nobody"}), **{"from": DAY})
    log_after(s, "data/given/t", "<nobody><nobody>")
    s.command("redo", selection={"tasks": ["data/given/t"], "dates": [DAY]}, params={"who": "a\nb; echo PWNED"})
    log_after(s, "data/given/t", "<a\nb; echo PWNED><a\nb; echo PWNED>")


@test
def dates_stay_text(s):
    s.apply(workflow("dates", {"t": {"params": {"script": "echo '$[yyyyMMdd] ${biz_date}'; cat <<E\n$[yyyy]\nE"}}}),
            **{"from": DAY})
    log_after(s, "data/dates/t", "20260301 2026-02-28", "\n2026\n")


@test
def a_value_that_no_quotes_make_data_is_refused_with_the_cure(s):
    for script, where, cure in (
            ("${up.name}\n", "line 1, column 1: ${up.name} stands for the whole script", "raw: true"),
            ("echo '${up.name}'", "line 1, column 7: ${up.name} stands in single quotes", '"${up.name}"'),
            ("cat <<E\nx ${up.name}\nE", "line 2, column 3: ${up.name} stands in a heredoc", "VALUE=${up.name} on a line"),
            ("echo `echo ${up.name}`", "between backticks", "$(...) with ${up.name}"),
            ("echo $((1 + ${up.name}))", "where the shell computes", "VALUE=${up.name}"),
            ("eval \"echo ${up.name}\"", "run as code once more", "an argument"),
            ("bash -c \"echo ${up.name}\"", "run as code once more", "an argument"),
            ("#!/usr/bin/python3\nprint(${up.name})", "another language", "SIRDAR_PARAM_NAME")):
        text = refused(s, workflow("no", {"up": up(s, "no", "x"), "down": child(script=script)}))
        for want in (where, cure):
            assert json.dumps(want, ensure_ascii=False)[1:-1] in text, (want, text)


@test
def what_ran_a_value_for_an_attacker_is_refused_with_the_cure(s):
    """Each of these did, on the release before: by hand, as a parent's output or a parameter of a redo."""
    x = "${up.name}"
    code, name, piped = "run as code once more", "where the name of a program stands", "its like reads it as code"
    for script, where in (
            (f'ssh HOST "rm {x}"', code), (f"ssh {x} ls", code), (f"{x} {x}", name), (f"exec {x}", name), (f"\\eval {x}", code),
            (f'e"va"l {x}', code), (f"'sh' -c {x}", code), (f"S=sh; $S -c {x}", code), (f"env {x} bash", name), (f"echo {x} | sh", piped),
            (f"bash <<< {x}", piped), (f"cat <<E | sh\n{x}\nE", "in a heredoc"), (f"awk \"/{x}/\" f", code), (f"sed \"s/x/{x}/\" f", code),
            (f"perl -e {x}", code), (f"python3 -c \"print({x})\"", code), (f"python3 {x}", code), (f"find . -exec {x} \\;", name),
            (f"find . -exec sh -c {x} \\;", code), (f"ls | xargs sh -c {x}", code), (f"echo {x} | xargs sh -c 'y'", piped),
            (f"bash <(echo {x})", code), (f"{{ echo {x}; }} | sudo sh", piped), (f". {x}", code), (f"timeout 5 su -c {x} etl", code)):
        text = refused(s, workflow("no", {"up": up(s, "no", "x"), "down": child(script=script)}))
        assert where in text and "unsafe_value" in text and '"hint": "write ' in text, (script, text)


@test
def a_command_without_a_shell_takes_values_as_words_alone(s):
    for argv, where in ((["sh", "-c", "echo ${up.name}"], "word 3: ${up.name} stands where it is run as code"),
                        (["${up.name}", "x"], "word 1: ${up.name} stands where the name of a program"),
                        (["env", "A=1", "${up.name}"], "word 3"), (["sudo", "-u", "etl", "bash", "-ec", "${up.name}"], "word 6"),
                        (["ssh", "host", "ls ${up.name}"], "word 3"), (["python3", "-c", "print(${up.name})"], "word 3"),
                        ('["echo", "${up.name}"]', "values stand in a text")):
        text = refused(s, workflow("no", {"up": up(s, "no", "x"), "down": child(argv=argv)}))
        assert where in text, (argv, text)
    s.apply(workflow("words", {"up": up(s, "words", "$(echo PWNED)"),
                               "t": child(argv=["sh", "-c", "printf '<%s>' \"$1\"", "sh", "${up.name}"])}), **{"from": DAY})
    log_after(s, "data/words/t", "<$(echo PWNED)>")


@test
def a_value_makes_no_variable_of_its_own(s):
    for environment in ({"BASH_ENV": "${up.name}"}, {"LD_PRELOAD": "x${up.name}"}, "A=1\nPATH=${up.name}:/bin"):
        text = refused(s, workflow("no", {"up": up(s, "no", "x"), "down": child(script="true", environment=environment)}))
        assert "which says what programs run" in text, text
    head = {"up": up(s, "lines", "x\\nBASH_ENV=/tmp/x"),
            "map": child(script="echo \"<$A>\"", environment={"A": "${up.name}"}),
            "lines": child(script="echo \"<$A>\"", environment="A=${up.name}"),
            "dir": child(script="pwd", directory="/${up.name}")}
    head["up"]["params"]["script"] = "printf 'sirdar:output name=x\\n'"
    s.apply(workflow("lines", head), **{"from": DAY})
    log_after(s, "data/lines/map", "<x>")
    log_after(s, "data/lines/lines", "<x>")
    s.apply(workflow("breaks", {n: {"params": t["params"]} for n, t in (
        ("map", child(script="echo \"<$A>\"", environment={"A": "${who}"})), ("lines", child(script="true", environment="A=${who}")),
        ("dir", child(script="pwd", directory="/${who}")))}, {"who": "tmp"}), **{"from": DAY})
    for task, place in (("map", "environment"), ("lines", "environment"), ("dir", "directory")):
        s.wait_state(f"data/breaks/{task}", AT, ["Succ"], 60)
        s.command("redo", selection={"tasks": [f"data/breaks/{task}"], "dates": [DAY]}, params={"who": "x\nBASH_ENV=/tmp/x"})
        i = s.wait_state(f"data/breaks/{task}", AT, ["StopSchedule"], 60)
        said = json.dumps(s.history(i["id"]))
        assert f"parameter {place}: the value of ${{who}} has a line break" in said, said


@test
def everyday_scripts_are_taken(s):
    """What people write; with values in it."""
    x = "${up.name}"
    scripts = [f"set -euo pipefail\nfor f in \"/data/{x}\"/*.csv; do gzip -9 \"$f\"; done", f"mkdir -p /data/{x} && cd /data/{x}",
               f"python3 load.py --day $[yyyyMMdd] --file {x}", f"$SPARK_HOME/bin/spark-submit --conf a={x} job.py {x}",
               f"if [ \"{x}\" = none ]; then exit 0; fi", f"case {x} in *.csv) ;; *) exit 1;; esac", f"curl -fsS \"https://h/{x}?d=1\" | jq .",
               f"echo {x} | tee -a log | wc -l", f"printf '%s\\n' {x} | while read -r line; do echo \"$line\"; done",
               f"awk -v want={x} '$1 == want' f", f"grep -c -e {x} f || true", f"psql -v day={x} -f load.sql", f"nohup timeout 60 ./run.sh {x} > {x}.log 2>&1 &",
               f"sudo -u etl ./load {x}", f"env TZ=UTC A={x} date", f"export A={x} B=\"{x}\"; ./run", f"A={x} ./run", f"find /data -name {x} -exec rm {{}} \\;",
               f"x=$(basename {x} .csv); echo \"$x\"", f"tar czf {x}.tgz -C /data {x}", f"ssh host 'cat > /in/x' < {x}", f"scp {x} host:/in/",
               f"[[ {x} == *.csv ]] && echo yes", f"bash ./steps/load.sh {x}", f"sh -c 'echo \"$1\"' sh {x}", f"xargs -n 1 rm -- <<< {x}",
               f"f() {{ echo \"$1\"; }}\nf {x}", f"docker run --rm -e A={x} image python3 /app/x.py {x}", f"test -f {x} || exit 2 # {x}",
               f"while ! nc -z {x} 22; do sleep 1; done", f"python3 - {x} <<'E'\nimport sys\nprint(sys.argv[1])\nE", f"a=({x} b); echo \"${{a[0]}}\"".replace("${a", "$${a"),
               f"java -Dx={x} -jar app.jar {x}", f"hive -f q.sql --hivevar d={x}", f"rsync -a \"/data/{x}/\" host:/x/", f"sed 's/a/b/' {x} > y", f"sort {x} | uniq -c | head -n 5"]
    tasks = {f"t{i}": child(script=script) for i, script in enumerate(scripts)}
    answer = s.command("apply", documents=[{"name": "x.yaml", "text": workflow("everyday", {"up": up(s, "every", "x"), **tasks})}], dry_run=True)
    assert answer, answer


@test
def a_comment_may_hold_anything(s):
    s.apply(workflow("comment", {"up": up(s, "comment", "x"),
                                 "down": child(script="# it's '${up.name}\necho good")}), **{"from": DAY})
    log_after(s, "data/comment/down", "good")


@test
def a_task_that_says_raw_is_spliced_as_before(s):
    s.apply(workflow("raw", {"up": up(s, "raw", "x; echo SPLICED"),
                             "down": {**child(script="echo '${up.name}'\necho ${up.name}"), "raw": True}}),
            **{"from": DAY})
    log_after(s, "data/raw/down", "x; echo SPLICED", "\nSPLICED")


@test
def a_value_is_bound_in_sql(s):
    file = s.dir / "work.sqlite"
    value = "x'); DROP TABLE t; --\\ ${sirdar_data_1}"
    where = {"kind": "sqlite", "database": str(file)}
    s.apply(workflow("sql", {
        "up": up(s, "sql", value),
        "one": {**child(sql="CREATE TABLE t (a, b); INSERT INTO t VALUES (${up.name}, 1)", **where), "type": "sql"},
        "list": {"needs": ["up", "one"], "type": "sql", "params": {
            **where, "statements": ["INSERT INTO t VALUES (${up.name}, 2)", "UPDATE t SET b = b + 1 WHERE a = ${up.name}"]}}}),
        **{"from": DAY})
    log_after(s, "data/sql/list")
    with sqlite3.connect(file) as db:
        assert db.execute("SELECT a, b FROM t ORDER BY b").fetchall() == [(value, 2), (value, 3)]
    for sql, said in (("SELECT '${up.name}'", "stands in quotes"), ("SELECT * FROM t_${up.name}", "as a part of a word"),
                      ('SELECT "${up.name}"', "in a quoted name"), ("SELECT 1 -- ${up.name}", "in a comment")):
        text = refused(s, workflow("no", {"up": up(s, "no", "x"), "down": {**child(sql=sql, **where), "type": "sql"}}))
        assert said in text, (said, text)


@test
def raw_needs_the_right_unsafe(s):
    word = "a long enough password"
    s.ask("POST", "/api/v1/users", {"user": "dev", "password": word, "role": "developer", "projects": ["data"]})
    dev = s.ask("POST", "/api/v1/login", {"user": "dev", "password": word, "name": "dev-1"})[1]["token"]
    document = workflow("rawdev", {"t": {"params": {"script": "echo ${who}"}, "raw": True}}, {"who": "x"})
    own, s.token = s.token, dev
    try:
        text = refused(s, document, 403)
        assert "data/rawdev/t says `raw`" in text and "--right unsafe" in text, text
        text = refused(s, document, 403, unsafe_within=["data"])
        assert "--right unsafe" in text, text
        s.token = own
        s.ask("POST", "/api/v1/users", {"user": "dev", "rights": ["unsafe"]})
        s.token = dev
        s.apply(document)
    finally:
        s.token = own


@test
def what_an_earlier_release_saved_runs_on_and_is_named(s):
    s.apply(workflow("old", {"t": {"params": {"script": "echo ${who}"}}}, {"who": "x; echo SPLICED"}), **{"from": DAY})
    log_after(s, "data/old/t", "x; echo SPLICED")
    assert s.get("/api/v1/workflows/data/old")["unsafe_splices"] == []
    assert s.get("/api/v1/workflows/data/raw")["unsafe_splices"] == ["data/raw/down"]
    document = s.get("/api/v1/workflows/data/old")["document"]
    assert "values:" not in document, document
    s.base.stop()
    with sqlite3.connect(s.dir / "base/sirdar.db") as db:
        changed = db.execute("UPDATE lb_workflow SET body = replace(body, '# values: data\n', '') WHERE name = 'data/old'")
        assert changed.rowcount > 0
    s.base.start()
    until("the face follows", s.up)
    assert s.base.has(r"workflow.unsafe_splices workflow=data/old tasks=1 first=data/old/t"), s.base.tail()
    assert s.get("/api/v1/workflows/data/old")["unsafe_splices"] == ["data/old/t"]
    s.command("redo", selection={"tasks": ["data/old/t"], "dates": [DAY]})
    log_after(s, "data/old/t", "\nSPLICED")
    s.apply(document)
    assert s.get("/api/v1/workflows/data/old")["unsafe_splices"] == [], "saved anew it is data"


if __name__ == "__main__":
    main(lambda: Site("data").start(types=("shell:8", "noop:8", "sql:2")))
