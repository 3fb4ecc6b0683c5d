#!/usr/bin/env python3
"""Whose process a runner is that touches files of jobs (sql over SQLite and to files, transfer, check, sensor), where
projects are separated: its project's user's, by a broker of root and by a launcher. TAP."""
import json
import os
import signal
import socket
import sqlite3
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import databases  # noqa: E402
from harness import BIN, Daemon, Site, Skip, main, test, until  # noqa: E402
from lent import BROKER, Lent, as_user, missing as lent_missing, place, status  # noqa: E402

AT = "2026-03-01T00:00:00Z"
ENDS = ("Succ", "StopSchedule", "Killed", "Hanged")
TYPES = ("sql:4", "transfer:2", "check:2", "sensor:4", "shell:4")
FIRST, LAST = 59020, 59029
ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
TIMES = iter(range(1000))


def apply(s, group, project, type_, keys=(), /, **params):
    """-> the task's name. All of a test's tasks are new."""
    name = f"w{next(TIMES)}"
    text = f"workflow: {name}\nproject: {project}\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n" \
           f"  t:\n    type: {type_}\n    group: {group}\n    cycle: day\n    catchup: {{mode: all}}\n" \
           + "".join(f"    {k}: {v}\n" for k, v in dict(keys).items()) + "    params:\n"
    text += "".join(f"      {key}: {json.dumps(str(value))}\n" for key, value in params.items())
    s.apply(text, **{"from": "2026-03-01"})
    return f"{project}/{name}/t"


def over(s, task, seconds=60):
    return s.wait_state(task, AT, ENDS, seconds)


def done(s, *args, **more):
    task = apply(s, *args, **more)
    i = over(s, task)
    assert i["state"] == "Succ", (task, s.history(i["id"]), s.log_of(i["id"]))
    return s.get(f"/api/v1/instances/{i['id']}")


def failed(s, *args, **more):
    """-> all that is told of it."""
    i = over(s, apply(s, *args, **more))
    assert i["state"] != "Succ", i
    return str(s.history(i["id"]))


def run_sql(s, group, project, file, sql, how=done, keys=(), **more):
    return how(s, group, project, "sql", keys, kind="sqlite", database=file, sql=sql, **more)


def log_of(s, i, **more):
    text = s.log_of(i["id"], **more)
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def user_of(s, group):
    """-> the number that project one has there."""
    return int(log_of(s, done(s, group, "one", "shell", script="id -u")))


def own(s, group, project="one"):
    """A directory that only this project may look into, on that broker."""
    path = s.dir / "data" / f"{group}-{project}-{next(TIMES)}"
    done(s, group, project, "shell", script=f"mkdir -m 700 {path}")
    return path


def runs(s, group, project="one"):
    """-> a process of a runner of that broker, of that project's user."""
    uid = user_of(s, group)

    def look():
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
                if b"--run-one" in words and status(pid)["Uid"].split()[0] == str(uid) and b"sql" in words:
                    return pid
            except OSError:
                continue
        return None
    return until("a runner's process", look, 60)


def each(function):
    """For a broker of root, and for one that is not, with a launcher."""
    for group in ("uid", "lent"):
        def one(s, group=group):
            if group == "lent" and not s.lent:
                raise Skip(lent_missing())
            function(s, group)
        one.__name__ = f"{function.__name__}__{'by_a_launcher' if group == 'lent' else 'of_root'}"
        one.__doc__ = function.__doc__
        test(one)
    return function


@each
def a_file_that_a_runner_makes_is_its_projects_and_its_words_are_the_jobs(s, group):
    folder, uid = own(s, group), user_of(s, group)
    i = run_sql(s, group, "one", folder / "a.db", "create table t (n int); insert into t values (7); select n as n, n * 2 as m from t",
                keys={"outputs": "[n, m, rows]"}, first_row="true")
    assert os.stat(folder / "a.db").st_uid == uid >= 1000, (os.stat(folder / "a.db"), uid)
    assert i["outputs"] == {"n": "7", "m": "14", "rows": "1"}, i["outputs"]
    assert "n,m\n7,14\n" in log_of(s, i) and "1 rows affected" in log_of(s, i, stream="stderr"), log_of(s, i)
    i = run_sql(s, group, "one", folder / "a.db", "select n from t", csv_file=folder / "a.csv")
    assert (folder / "a.csv").read_text() == "n\n7\n" and os.stat(folder / "a.csv").st_uid == uid
    i = done(s, group, "one", "transfer", {"outputs": "[rows]"}, source_kind="sqlite", source_database=folder / "a.db", table="t",
             target_kind="sqlite", target_database=folder / "a.db", to_table="t", mode="append")
    assert i["outputs"] == {"rows": "1"}, i
    told = failed(s, group, "one", "check", kind="sqlite", database=folder / "a.db", table="t", rules='[{"rows": "> 5"}]')
    assert "1 of 1 rules are broken" in told, told
    done(s, group, "one", "sensor", watch="file", path=folder / "a.csv")
    assert not os.path.exists(f"{s.dir}/{group}-files") or not os.listdir(f"{s.dir}/{group}-files")


@each
def a_file_of_another_project_or_of_the_broker_opens_for_nobody_else(s, group):
    folder = own(s, group)
    run_sql(s, group, "one", folder / "a.db", "create table t (n int)")
    shut = run_sql(s, group, "two", folder / "a.db", "select * from t", how=failed)
    assert "unable to open" in shut or "cannot be made" in shut, shut
    state = s.lent.state if group == "lent" else s.dir / group
    for path in (f"{state}/keeper.journal", f"{s.dir}/{group}.key", f"{s.dir}/base/sirdar.db", f"{state}/new.db"):
        before = os.path.exists(path) and os.stat(path)
        run_sql(s, group, "two", path, "create table x (n int)", how=failed)
        mine = own(s, group, "two") / "x.db"
        run_sql(s, group, "two", mine, f"attach '{path}' as k; create table k.x (n int)", how=failed)
        run_sql(s, group, "two", mine, "select 1 as a", how=failed, csv_file=path)
        assert (os.path.exists(path) and os.stat(path).st_mtime_ns) == (before and before.st_mtime_ns) or "journal" in path or "sirdar.db" in path, path
    assert sqlite3.connect(folder / "a.db").execute("select count(*) from t").fetchone() == (0,)
    i = s.instance(apply(s, group, "two", "sensor", watch="file", path=folder / "a.db", every="1h"), AT) or {}
    assert i.get("state") != "Succ", i


@each
def a_task_that_names_its_user_touches_files_as_that_one(s, group):
    text = run_sql(s, group, "one", s.dir / "data/not.db", "select 1", how=failed, keys={"run_as": "root"})
    assert "may not run jobs as root" in text and not (s.dir / "data/not.db").exists(), text
    run_sql(s, group, "lined", f"{own(s, group, 'lined')}/x.db", "create table x (n int)", keys={"run_as": "nobody"})


@each
def a_kill_and_a_time_limit_end_its_process(s, group):
    task = apply(s, group, "one", "sql", kind="sqlite", database=":memory:", sql=ENDLESS)
    pid = runs(s, group)
    i = s.instance(task, AT)
    s.command_over(s.command("kill", selection={"tasks": [task], "dates": [AT]}))
    assert over(s, task)["state"] == "Killed" and "told to stop" in str(s.history(i["id"])), s.history(i["id"])
    until("it is gone", lambda: not os.path.exists(f"/proc/{pid}"))
    task = apply(s, group, "one", "sql", {"alive_wait": "2s"}, kind="sqlite", database=":memory:", sql=ENDLESS)
    i = over(s, task)
    assert i["state"] == "StopSchedule" and "ran longer than 2 s" in str(s.get(f"/api/v1/instances/{i['id']}")), s.get(f"/api/v1/instances/{i['id']}")


@each
def a_loader_that_is_killed_leaves_the_work_to_its_process_and_the_next_one_hears_how_it_ends(s, group):
    folder = own(s, group)
    run_sql(s, group, "one", folder / "l.db", "create table t (n int)")
    lock = sqlite3.connect(folder / "l.db", isolation_level=None)
    lock.execute("begin immediate")
    task = apply(s, group, "one", "sql", {"outputs": "[n]"}, kind="sqlite", database=folder / "l.db", first_row="true",
                 sql="insert into t values (1); select count(*) as n from t")
    pid = runs(s, group)
    loader = s.pids("taskrunner-loader", f"name={group}")
    loader = [p for p in loader if b"sql" in open(f"/proc/{p}/cmdline", "rb").read().split(b"\0")]
    assert len(loader) == 1, loader
    mark = len(s.brokers[group].text())
    os.kill(loader[0], signal.SIGKILL)
    until("another loader has it", lambda: s.brokers[group].has(r"loader\.adopted", mark), 60)
    assert os.path.exists(f"/proc/{pid}")
    lock.execute("rollback")
    i = over(s, task)
    i = s.get(f"/api/v1/instances/{i['id']}")
    assert i["state"] == "Succ" and i["outputs"] == {"n": "1"} and i["attempt"] == 1, (i, s.history(i["id"]))
    assert sqlite3.connect(folder / "l.db").execute("select n from t").fetchall() == [(1,)]


@each
def what_rows_say_is_never_taken_for_the_runners_word(s, group):
    value = "sirdar:end 0 2 9 0 word\n::output n=2\nsirdar:set n=3\n a=b\\c"
    text = "||char(10)||".join(f"'{line}'" for line in value.split("\n"))
    i = run_sql(s, group, "one", ":memory:", f"select {text} as v, 1 as n", keys={"outputs": "[v, n]"}, first_row="true")
    assert i["outputs"] == {"v": value, "n": "1"}, i["outputs"]
    i = run_sql(s, group, "one", ":memory:", "select 'sirdar:set n=2' as n union all select 'sirdar:end 0 2 9 0 x'",
                keys={"outputs": "[n]"}, csv_header="false")
    assert "outputs" not in i and " sirdar:end 0 2 9" in log_of(s, i), (i, s.log_of(i["id"]))


@test
def a_log_that_is_not_kept_whole_takes_no_output_with_it(s):
    s.add_broker("small", types=("sql:4",), groups="small", job_uids="59010-59019", work_dir=s.dir / "small-work", output_bytes_max=65536)
    rows = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000) select i from n"
    i = run_sql(s, "small", "one", ":memory:", rows, keys={"outputs": "[rows]"}, log_rows="100000")
    assert i["outputs"] == {"rows": "50000"} and "the rest of its log is not kept" in log_of(s, i), i
    task = apply(s, "small", "one", "sql", {"outputs": "[v]"}, kind="sqlite", database=":memory:", first_row="true", log_rows="0",
                 sql="select replace(printf('%.40000c', 'x'), 'x', char(10)) as v")  # twice as long where it is told
    until("its end is told as not kept", lambda: s.instance(task, AT) and "is not kept" in str(s.history(s.instance(task, AT)["id"])), 60)
    assert s.instance(task, AT)["state"] != "Succ", s.instance(task, AT)
    s.command_over(s.command("kill", selection={"tasks": [task], "dates": [AT]}))


@each
def a_verdict_of_its_runner_counts_as_if_it_worked_in_the_loader(s, group):
    i = over(s, apply(s, group, "one", "sql", {"retry": "{attempts: 5, delay: 0s}"}, kind="sqlite", database=":memory:", sql="attach 'file:x' as y"))
    assert i["state"] == "StopSchedule" and i["attempt"] == 1 and "is kept from jobs" in str(s.history(i["id"])), (i, s.history(i["id"]))
    folder = own(s, group)
    task = apply(s, group, "one", "sensor", watch="file", path=folder / "late", every="1s")
    until("it has looked", lambda: s.instance(task, AT) and "0 of 1 files are there" in str(s.history(s.instance(task, AT)["id"])), 60)
    done(s, group, "one", "shell", script=f"touch {folder}/late")
    i = over(s, task)
    assert i["state"] == "Succ" and i["attempt"] == 1, (i, s.history(i["id"]))


class Hold:
    """Accepts, and never answers."""
    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.held = self.socket.getsockname()[1], []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            self.held.append(self.socket.accept()[0])


@each
def its_password_is_in_no_argument_variable_or_file_and_it_dials_where_the_machine_allows(s, group):
    folder, word, hold = own(s, group), "word" + os.urandom(12).hex(), Hold()
    (s.dir / "word").touch(0o600)
    (s.dir / "word").write_text(word)
    s.sirdar("target", "set", f"db{group}", "--kind", "postgresql", "--host", "127.0.0.1", "--port", str(hold.port), "--user", "u",
             "--database", "d", "--password-file", str(s.dir / "word"))
    until("it is known", lambda: s.ask("GET", f"/api/v1/servers/db{group}")[0] == 200)
    (s.dir / "egress.conf").write_text("")
    text = failed(s, group, "one", "sql", server=f"db{group}", sql="select 1", csv_file=folder / "x.csv")
    assert "is a loopback address" in text and not hold.held, text
    (s.dir / "egress.conf").write_text("allow 127.0.0.1\n")
    task = apply(s, group, "one", "sql", server=f"db{group}", sql="select 1", csv_file=folder / "x.csv")
    pid = runs(s, group)
    until("it has dialed", lambda: hold.held, 60)
    for name in ("cmdline", "environ"):
        assert word.encode() not in open(f"/proc/{pid}/{name}", "rb").read()
    files = next(w[13:] for w in open(f"/proc/{pid}/environ", encoding="ascii").read().split("\0") if w.startswith("SIRDAR_FILES="))
    assert os.path.isdir(files) and os.listdir(files) == [], os.listdir(files)
    assert status(pid)["Seccomp"] == "2" and status(pid)["NoNewPrivs"] == "1", status(pid)
    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    assert not [x for x in links if str(s.dir) in x and "x.csv" not in x], links
    s.command_over(s.command("kill", selection={"tasks": [task], "dates": [AT]}))
    assert over(s, task)["state"] == "Killed"


@each
def a_test_of_a_target_opens_no_file_as_the_brokers_user(s, group):
    folder = own(s, group)
    folder.chmod(0o777)
    victim, body = folder / "precious", {"project": "one", "group": group}
    victim.write_text("a file of somebody else\n")
    databases.hot(folder / "hot.db", victim)
    before = sorted(os.listdir(folder))
    code, answer = s.ask("POST", "/api/v1/servers", {"server": f"hot{group}", "kind": "sqlite", "database": str(folder / "hot.db")})
    assert code in (200, 201, 202), answer
    one = until("a broker tries", lambda: (a := s.ask("POST", f"/api/v1/servers/hot{group}/test", body)[1]["test"])["outcome"] != "nobody" and a)
    assert sorted(os.listdir(folder)) == before, (one, os.listdir(folder))
    assert one["outcome"] == "other" and "as its project's user" in one["text"], one


def add_lent(s):
    why = lent_missing()
    if why:
        return None
    s.add_key("lent")
    for path in (s.dir / "lent", s.dir / "lent-work"):
        place(path, BROKER, 0o700)
    os.chown(s.dir / "lent.key", BROKER, BROKER)
    k = Lent(str(BIN / "jobkeeper"), str(s.dir / "lent-lent"), lines="lined: nobody\n")
    sets = s.broker_sets("lent", TYPES, groups="lent", work_dir=s.dir / "lent-work", keeper_dir=k.state)
    for unwanted in ("jobs_as_root", "files_dir"):
        sets.pop(unwanted, None)
    d = s.brokers["lent"] = Daemon(s, "lent", as_user(BROKER, *s.argv("taskbroker", sets)), r"broker\.keeper_up")
    d.start()
    s.wait_broker("lent", [t.split(":")[0] for t in TYPES])
    return k


def make():
    if os.geteuid() != 0:
        raise Skip("needs root: jobs of other users")
    s = Site("files")
    (s.dir / "secrets.key").touch(0o600)
    (s.dir / "secrets.key").write_text("one:" + os.urandom(32).hex() + "\n")
    s.base_sets.update(secrets_key_file=s.dir / "secrets.key", types_dir=BIN.parent / "types")
    s.base = Daemon(s, "baseserver", s.argv("baseserver", s.base_sets), r"baseserver\.up")
    (s.dir / "egress.conf").write_text("")
    s.env["SIRDAR_EGRESS"] = str(s.dir / "egress.conf")
    s.base.start()
    s.start_cgi()
    (s.dir / "data").chmod(0o1777)
    (s.dir / "users").write_text("lined: nobody\n")
    s.add_broker("uid", types=TYPES, groups="uid", job_users_file=s.dir / "users", job_uids=f"{FIRST}-{LAST}", work_dir=s.dir / "uid-work")
    s.lent = add_lent(s)
    return s


if __name__ == "__main__":
    sys.exit(main(make))
