#!/usr/bin/env python3
"""test_ha.py on a MariaDB server of the test's own: there the lease is a row, judged by those who
wait with their own clock. TAP."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "mysql")]
import mariadb  # noqa: E402
import test_ha  # noqa: E402
from harness import Skip, main  # noqa: E402


class MysqlPair(test_ha.Pair):
    """The database goes with the site."""
    lock_is_lease = False
    elects = "lease"
    earnest = {"flush": 0}  # what survives: test_mysql.py

    def __init__(self):
        if not mariadb.program("mariadbd"):
            raise Skip("no mariadbd: packaging/deps.sh test")
        self.database = mariadb.MariaDB(**self.earnest)
        self.database.sql("CREATE DATABASE sirdar")
        super().__init__("ha-mysql", store=self.database.url("sirdar", timeout=3))

    def close(self):
        try:
            super().close()
        finally:
            self.database.close()


if __name__ == "__main__":
    sys.exit(main(lambda: test_ha.make(MysqlPair)))
