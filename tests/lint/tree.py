#!/usr/bin/env python3
"""What holds of the tree as a whole: READMEs, words, tables, documents made from tables."""
import os
import re
import subprocess
from pathlib import Path

from source import ROOT, Tap, bare, files, text

B = ROOT / os.environ.get("B", "build/gcc")


def without_readme():
    folders = {str(Path(p).parent) for p in files(".c", ".h", ".def", ".py", ".sh", ".proto")}
    own = ("tests/", "docs/", "packaging/", "runners/", "plugins-sdk/")  # their README speaks for what is below
    return [f"{f}: no README.md" for f in sorted(folders)
            if not (ROOT / f / "README.md").is_file() and not f.startswith((".",) + own)
            and not any((ROOT / up / "README.md").is_file() and str(up) not in (".", "lib")
                        for up in Path(f).parents)]


def words():
    table = []
    for line in (ROOT / "tests/lint/words.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, _, homes = line.partition("\t")
            table.append((re.compile(pattern), tuple(homes.split()) + ("tests/lint/words.txt",)))
    binary = (".png", ".ico", ".woff2", ".gz", ".zst", ".db", ".jpg")
    for path in files(""):
        if path.endswith(binary):
            continue
        for i, line in enumerate(text(path).split("\n"), 1):
            for pattern, homes in table:
                if pattern.search(line) and not path.startswith(homes):
                    yield f"{path}:{i}: holds {pattern.search(line).group(0)!r}"


# table -> column of the number that is stored or sent, column of the name
NUMBERED = {"err.def": ("ERR", 1, 0), "frame.def": ("FRAME", 1, 0), "event.def": ("EVENT", 1, 0),
            "reason.def": ("REASON", 1, 0), "report.def": ("REPORT", 1, 0), "state.def": ("STATE", 2, 0)}


def table_rows(name, macro):
    source = bare(text(f"schema/tbl/{name}"), keep_strings=True)
    for m in re.finditer(rf"^{macro}\s*\((.*?)\)\s*$", source, re.M | re.S):
        yield [c.strip() for c in m.group(1).split(",")]


def numbers():
    for name, (macro, number_at, name_at) in NUMBERED.items():
        if not (ROOT / "schema/tbl" / name).is_file():
            continue
        seen = {}
        for row in table_rows(name, macro):
            for key in (("number", row[number_at]), ("name", row[name_at])):
                if key in seen:
                    yield f"schema/tbl/{name}: {key[0]} {key[1]} of {row[name_at]} is taken"
                seen[key] = True
        if not seen:
            yield f"schema/tbl/{name}: no {macro} row was found"


def messages():
    proto = "\n".join(text(p) for p in files(".proto"))
    known = set(re.findall(r"^message\s+(\w+)", proto, re.M))
    folded = {k.lower().replace("_", "") for k in known}
    for row in table_rows("frame.def", "FRAME"):
        if row[2].lower().replace("_", "") not in folded:
            yield f"schema/tbl/frame.def: {row[0]} carries {row[2]}, which no .proto has"


def edges():
    states = {row[0] for row in table_rows("state.def", "STATE")} | {"NONE"}
    events = {row[0] for row in table_rows("event.def", "EVENT")}
    for row in table_rows("edge.def", "EDGE"):
        for word, known in ((row[0], states), (row[1], events), (row[2], states)):
            if word not in known:
                yield f"schema/tbl/edge.def: {word} in EDGE({', '.join(row)}) is not known"


def settings():
    tool = B / "tool/settings"
    if not tool.is_file():
        return [f"{tool} is not built"]
    made = subprocess.run([tool], check=True, capture_output=True, text=True).stdout
    return [] if made == text("docs/settings.md") else \
        ["docs/settings.md is not what the tables say: make docs/settings.md"]


TABLES = ("baseserver", "taskbroker", "cgi", "notifier")
READERS = {"baseserver": "baseserver/", "taskbroker": "broker/", "cgi": "cgi/", "notifier": "notifier/"}


def table_settings(table):
    """Names of a daemon's settings, those of etcd with them where its table includes them."""
    names = [row[0] for row in table_rows(f"param_{table}.def", "PARAM")]
    if "tbl/param_etcd.def" in text(f"schema/tbl/param_{table}.def"):
        names += [row[0] for row in table_rows("param_etcd.def", "PARAM")]
    return names


def params_used():
    """A setting nobody reads is a promise nobody keeps. Only a member of a `struct param_TABLE` counts,
    in the daemon's own code: not a word of a comment or a test, nor another daemon's setting of that name, nor
    where the tables only compare settings with each other."""
    product = {p: bare(text(p)) for p in files(".c", ".h") if p != "lib/util/param_tables.c"}
    for table in TABLES:
        source = {p: code for p, code in product.items() if p.startswith((READERS[table], "lib/"))}
        held = re.compile(rf"struct param_{table}\s*\*?\s*(?:const\s+)?\*?(\w+)\s*[;,)=]")
        holders = {m for code in source.values() for m in held.findall(code)}
        read = set()
        for path, code in source.items():
            own = set(held.findall(code))
            for before, holder, name in re.findall(r"(->|\.)?\b(\w+)(?=(?:->|\.)(\w+)\b)", code):
                if holder in own or (before and holder in holders):
                    read.add(name)
        for name in table_settings(table):
            if name not in read:
                yield f"schema/tbl/param_{table}.def: {name} is read nowhere"


def settings_shown(untested):
    """Every setting has a row in tests/settings.txt: the test that shows what it changes, or why there is none."""
    seen, below = set(), False
    for i, line in enumerate(text("tests/settings.txt").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line == "UNTESTED":
            below = True
            continue
        table, name, rest = line.split(None, 2)
        if (table, name) in seen:
            yield f"tests/settings.txt:{i}: {table} {name} has two rows"
        seen.add((table, name))
        if below:
            untested.append(f"{table} {name}: {rest}")
            continue
        path, test = rest.split()
        shape = rf"^@test\ndef {test}\(" if path.endswith(".py") else rf"^static void {test}\("
        if not (ROOT / path).is_file() or not re.search(shape, text(path), re.M):
            yield f"tests/settings.txt:{i}: {path} has no test {test}"
    have = {(table, name) for table in TABLES for name in table_settings(table)}
    yield from (f"tests/settings.txt: {t} {n} has no row" for t, n in sorted(have - seen))
    yield from (f"tests/settings.txt: {t} {n} is no setting" for t, n in sorted(seen - have))


tap = Tap()
tap.check("every folder has a README", without_readme())
tap.check("no word of words.txt", list(words()))
tap.check("numbers and names of the tables are unique", list(numbers()))
tap.check("every frame's message is in a .proto", list(messages()))
tap.check("edges name states and events that exist", list(edges()))
tap.check("docs/settings.md is made from the tables", settings())
tap.check("every setting is read somewhere", list(params_used()))
untested = []
missing = list(settings_shown(untested))
tap.check(f"every setting names the test that shows it ({len(untested)} have none yet)", missing)
tap.end()
