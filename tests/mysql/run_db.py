"""sirdar-db on MariaDB, from SQLite to it and back."""
import contextlib
import itertools
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "dbtool"))
import dbtool  # noqa: E402
import mariadb  # noqa: E402


def tests(server, folder):
    numbers = itertools.count()

    def new_store():
        name = f"db{next(numbers)}"
        server.sql(f"CREATE DATABASE {name}")
        return server.url(name)

    def name_of(url):
        return url.rsplit("/", 1)[1]

    def sql(url, text):
        return server.sql(text, name_of(url))

    @contextlib.contextmanager
    def hold(url):
        client = subprocess.Popen(
            [mariadb.program("mariadb"), "--no-defaults", f"--socket={server.socket}", "-uroot", "-n", "-N", "-B",
             name_of(url)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        client.stdin.write("SELECT 'here';\n")
        client.stdin.flush()
        assert client.stdout.readline() == "here\n"
        try:
            yield
        finally:
            client.communicate()

    def a_whole_installation_goes_to_mariadb_and_back_row_by_row():
        first, there, back = folder.new_store(), new_store(), folder.new_store()
        assert dbtool.db("mock", "--rows", "5000", "--tasks", "90", "--days", "40", first)[0] == 0
        dbtool.sqlite_sql(first, "UPDATE lb_task_event SET note = 'a ''quote'', \\ a slash and ü\n' WHERE number % 97 = 0;"
                                 "INSERT INTO lb_task_data VALUES (4, 1, '{\"a\": \"b\\\\c\"}');"
                                 "INSERT INTO lb_meta VALUES ('x', '')")
        code, one = dbtool.db("copy", first, there)
        assert code == 0, one
        code, two = dbtool.db("copy", there, back)
        assert code == 0, two
        leader = [row for row in dbtool.sums(one) if row[0] != "lb_leader"]
        assert leader == [row for row in dbtool.sums(two) if row[0] != "lb_leader"], (one, two)
        assert dbtool.db("check", there)[0] == dbtool.db("check", back)[0] == 0
        days = server.sql("SELECT COUNT(*) FROM information_schema.PARTITIONS WHERE TABLE_NAME = 'lb_task_event'"
                          f" AND TABLE_SCHEMA = '{name_of(there)}'")
        assert int(days) > 40, days
        assert dbtool.db("copy", first, there)[0] == 73

    def settle():
        while server.sql("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB LIKE 'db%'").strip() != "0":
            time.sleep(0.01)

    there, here = (new_store, sql), (folder.new_store, dbtool.sqlite_sql)
    to, back = dbtool.Copies(here, there, dbtool.SPOIL_MYSQL, settle), dbtool.Copies(there, here, dbtool.SPOIL_SQLITE, settle)
    suite = dbtool.Suite(new_store, sql, hold)
    return dbtool.of_suite(suite) + [(a_whole_installation_goes_to_mariadb_and_back_row_by_row.__name__,
                                      a_whole_installation_goes_to_mariadb_and_back_row_by_row)] + \
        dbtool.of_suite(to, ", to mariadb") + [t for t in dbtool.of_suite(back, ", from mariadb") if "otherwise" in t[0]
                                               or "broke_off" in t[0] or "compare" in t[0]]
