#!/usr/bin/env python3
"""Each dangerous call has one home (calls.txt); SQL is never made by formatting (S11)."""
import re

from source import Tap, bare, files, rows, text

HOMES = {row[0]: [] if row[1] == "-" else row[1:] for row in rows("calls.txt")}
CALL = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(map(re.escape, HOMES)) + r")\s*\(")
FORMAT = re.compile(r"\b(?:s?n?printf|asprintf|vsnprintf|buf_printf|mem_fmt|sqlite3_v?mprintf|"
                    r"sqlite3_v?snprintf)\s*\(")
SQL = re.compile(r'\b(?:SELECT\s|INSERT\s+(?:OR\s+\w+\s+)?INTO\b|UPDATE\s+\w+\s+SET\b|'
                 r'DELETE\s+FROM\b|CREATE\s+(?:TABLE|INDEX)\b|DROP\s+TABLE\b|ORDER\s+BY\b)')


def line_of(source, at):
    return source[:at].count("\n") + 1


def misplaced(path):
    source = bare(text(path))
    for m in CALL.finditer(source):
        if not any(path.startswith(home) for home in HOMES[m.group(1)]):
            yield f"{path}:{line_of(source, m.start())}: {m.group(1)}() has its home elsewhere"


def arguments(source, at):
    """The text of a call's arguments; `at` is just after its open parenthesis."""
    depth, end = 1, at
    while end < len(source) and depth:
        depth += {"(": 1, ")": -1}.get(source[end], 0)
        end += 1
    return source[at:end]


def formatted_sql(path):
    source, blanked = bare(text(path), keep_strings=True), bare(text(path))
    for m in FORMAT.finditer(blanked):
        call = source[m.end():m.end() + len(arguments(blanked, m.end()))]
        literal = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', call))
        if SQL.search(literal) and "%" in literal:
            yield f"{path}:{line_of(source, m.start())}: SQL is prepared, never formatted"


tap = Tap()
tree = files(".c", ".h")
tap.check("dangerous calls are at home", [f for p in tree for f in misplaced(p)])
tap.check("SQL is never formatted",
          [f for p in tree if not p.startswith(("tests/", "bench/")) for f in formatted_sql(p)])
tap.end()
