#!/usr/bin/env python3
"""The wholes of whole.py on a MariaDB of our own (every commit flushed to disk), beside what the
database can do alone. `bench/run mysql` starts this.

    bench/mysql.py [NAME...]      fan, chains, tree, handover; none: all
"""
import contextlib
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/mysql")]
import mariadb  # noqa: E402
import whole  # noqa: E402

server, Site = None, whole.Site


class Rows:
    def __init__(self, text):
        self.rows = [tuple(int(w) if w.lstrip("-").isdigit() else w for w in line.split("\t"))
                     for line in text.splitlines()]

    def fetchone(self):
        return self.rows[0]

    def fetchall(self):
        return self.rows

    def __iter__(self):
        return iter(self.rows)


class Database:
    def execute(self, text, values=()):
        for v in values:
            text = text.replace("?", "'" + v + "'", 1)
        return Rows(server.sql(text, "sirdar"))


@contextlib.contextmanager
def connect(_):
    yield Database()


def site(*names, **sets):
    server.sql("CREATE OR REPLACE DATABASE sirdar")
    return Site(*names, store=server.url("sirdar"), **sets)


def alone():
    """What one connection of the database takes: rows of an event's size, 1,000 a commit."""
    server.sql("CREATE OR REPLACE DATABASE alone; CREATE TABLE alone.t (n BIGINT PRIMARY KEY, " +
               ", ".join(f"c{i} BIGINT" for i in range(19)) + ") ENGINE = InnoDB")
    n, rows = 100000, ", ".join(["1795000000000000"] * 19)
    text = []
    for at in range(0, n, 1000):
        text.append("INSERT INTO t VALUES " + ",".join(f"({k}, {rows})" for k in range(at, at + 1000)))
    began = time.monotonic()
    server.sql(";\n".join(text), "alone")
    whole.figure("mariadb alone: rows of an event", n / (time.monotonic() - began), "rows/s")


def main(names):
    global server
    if not mariadb.program("mariadbd"):
        print("mysql: no mariadbd here: packaging/deps.sh test")
        return 0
    whole.connect, whole.Site, whole.RATE = connect, site, 15000
    with mariadb.MariaDB("--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G", sync=True) as server_:
        server = server_
        alone()
        for name in names or ("fan", "chains", "tree", "handover"):
            whole.BENCHES[name]()
    return 0 if all(good for *_, good in whole.FIGURES) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
