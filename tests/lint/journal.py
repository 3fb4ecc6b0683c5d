#!/usr/bin/env python3
"""Everything of a commit has its place in the journal's record.

lib/store/journal/rows.c has a table for each struct that a struct store_batch points to. Each member of these structs is
a field of its table (FIELD and its like), or said to be none (NO_FIELD); of a union any one member will do. Columns of
event_cols.def and instance_cols.def are fields by themselves: what has no column has a NO_FIELD."""
import re

from source import Tap, bare, text

ROWS = "lib/store/journal/rows.c"
HEADERS = ("lib/store/store.h", "lib/sched/instance.h")
TAKEN = re.compile(r"\b(?:\w+_)?FIELD\(\s*struct (\w+),\s*([\w.]+)(?:,\s*(\w+))?\s*[,)]")
DECLARED = re.compile(r"[\w\s*]*?[\s*](\w+(?:\[[^\]]*\])*(?:\s*,\s*\*?\w+(?:\[[^\]]*\])*)*)\s*;")


def body_of(source, name):
    """The text between the braces of `struct name {`."""
    start = re.search(rf"\bstruct {name} \{{", source)
    if not start:
        return None
    depth, at = 1, start.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        at += 1
    return source[start.end():at - 1]


def members(body):
    """-> of each member the names by which it may be called: one, or those of a union."""
    for union in re.findall(r"\bunion \{([^}]*)\}", body):
        yield [name for names in members(union) for name in names]
    for line in re.sub(r"\bunion \{[^}]*\};", "", body).split(";"):
        found = DECLARED.match(line.strip() + ";")
        for name in re.split(r"\s*,\s*", found.group(1)) if found else ():
            yield [re.sub(r"\W.*", "", name.lstrip("*"))]


def taken():
    """struct -> members that have a field or need none; images and events count for what they hold."""
    source, of = bare(text(ROWS), keep_strings=True), {}
    for struct, member, length in TAKEN.findall(source):
        if struct == "image_row":
            struct, member = "instance", member.removeprefix("inst.")
        of.setdefault(struct, set()).update({member.split(".")[0], length})
    columns = bare(text("lib/store/instance_cols.def"))
    of.setdefault("instance", set()).update(
        c.split(".")[0] for c in re.findall(r"^COL\(\w+,\s*([\w.]+)", columns, re.M))
    arrays = re.findall(r"\bARRAY\(\w+, (\w+)\)", source)
    of["store_batch"] = {"epoch", "at_us", "first", "last", "events", "n_events"} | \
        {m for a in arrays + ["live", "done", "reopened"] for m in (a, f"n_{a}")}
    return of


def forgotten():
    headers = "\n".join(bare(text(path)) for path in HEADERS)
    of = taken()
    structs = {m for m in re.findall(r"\bconst struct (\w+) \*", body_of(headers, "store_batch"))}
    for struct in sorted(structs | {"instance", "transition", "store_batch"}):
        found = list(members(body_of(headers, struct) or ""))
        if not found:
            yield f"{HEADERS[0]}: struct {struct} was not understood"
        for names in found:
            if not of.get(struct, set()) & set(names):
                yield f"{ROWS}: struct {struct}, member {'/'.join(names)}: has no field, nor a NO_FIELD that says why"


if __name__ == "__main__":
    tap = Tap()
    tap.check("each member of a commit is in the journal's record", list(forgotten()))
    tap.end()
