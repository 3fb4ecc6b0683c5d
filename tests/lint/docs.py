#!/usr/bin/env python3
"""Documents name files that exist: links of every page, paths of docs/requirements.md; man pages
and the Makefile's help say what there is; commands are those of `sirdar`; what stands in two languages is alike."""
import re
from pathlib import Path

import twins
from source import ROOT, Tap, files, text

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:lib|baseserver|broker|cgi|notifier|runners|plugins-sdk|admin-console|schema|tests|bench|"
                  r"docs|packaging)/[\w./*-]+)`")


def links():
    for page in files(".md"):
        for target in LINK.findall(text(page)):
            if not re.match(r"[a-z]+:", target) and not (ROOT / page).parent.joinpath(target).exists():
                yield f"{page}: {target} does not exist"


def paths():
    pages = ["docs/requirements.md", "docs/semantics-walk.md", "docs/LIMITS.md",
             "docs/life-of-an-instance.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"]
    for page in pages + [p for p in files(".md") if p.startswith("docs/decisions/")]:
        for target in PATH.findall(text(page)):
            if not list(ROOT.glob(target)):
                yield f"{page}: {target} does not exist"


def requirements():
    for i, line in enumerate(text("docs/requirements.md").splitlines(), 1):
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and not set(line) <= set("|-") and not cells[2]:
            yield f"docs/requirements.md:{i}: say what shows it, or open"
        if line.startswith("|") and re.search(r"\bopen\b(?! \(|, issue)", cells[-1]):
            yield f"docs/requirements.md:{i}: open: say of which issue"


NAMED = re.compile(r"`(tests/[\w./-]+\.(?:c|py|txt))`(?:: ([^;|`]+))?")


def walk():
    """Each row of the walk names tests that are there (`file`: name, name), or is open."""
    page = "docs/semantics-walk.md"
    for line in [row for row in text(page).splitlines() if row.startswith("|")][2:]:
        shown = line.strip("| ").split(" | ")[-1]
        if not NAMED.search(shown) and "open (" not in shown:
            yield f"{page}: neither a test nor open: {line}"
        for file, names in NAMED.findall(shown):
            source = text(file) if (ROOT / file).is_file() else ""
            for name in names.strip().split(", ") if names else []:
                one = re.escape(name)
                if not re.search(rf"\b{one}\(|check\(f?\"{one}", source) and f'"{name}' not in source:
                    yield f"{page}: {file} has no test '{name}'"


PLACES = re.compile(r"`([\w./*-]+/[\w.*-]+\.\w+)`: (`\w+`(?:, `\w+`)*)")


def is_in(name, file):
    """A function is defined there; other names need only stand there."""
    if file.endswith(".c"):
        return re.search(rf"^\w[^\n;{{]*\b{name}\([^;{{]*\)\n\{{", text(file), re.M)
    return re.search(rf"\b{name}\b", text(file))


def places(page, words):
    for file, names in PLACES.findall(words):
        if not (ROOT / file).is_file():
            yield f"{page}: {file} does not exist"
        else:
            yield from (f"{page}: {file} has no {n}" for n in re.findall(r"\w+", names) if not is_in(n, file))


def life():
    """Each step of the newcomer's page names a file and the function to stop at."""
    page = "docs/life-of-an-instance.md"
    for row in re.findall(r"^\| .* \|$", text(page), re.M):
        if not PLACES.search(row) and not re.match(r"\| (step|what happened) \|", row):
            yield f"{page}: no place to stop at: {row}"
    yield from places(page, text(page))


def glossary():
    """Thirty words, each with a meaning in both languages, and used in the manuals of both."""
    page = "docs/glossary.md"
    rows = [[c.strip() for c in row.strip("|").split("|")]
            for row in text(page).splitlines() if row.startswith("|")][2:]
    english, chinese = ("\n".join(text(p) for p in files(".md") if p.startswith(f"docs/book/{lang}/")) for lang in ("en", "zh"))
    english = english.lower()
    for row in rows:
        if len(row) != 5 or not all(row):
            yield f"{page}: not five cells: {row[0]}"
        elif not re.search(rf"\b{row[0]}", english):
            yield f"{page}: docs/book/en does not use '{row[0]}'"
        elif row[2] not in chinese:
            yield f"{page}: docs/book/zh does not use '{row[2]}'"
    words = [row[0] for row in rows]
    if len(words) != 30 or len(set(words)) != 30:
        yield f"{page}: {len(set(words))} words, not thirty"


def questions():
    """Each row of CONTRIBUTING.md names its place and a page that leads there, which README.md links to."""
    page, found = "CONTRIBUTING.md", 0
    linked = {target.rstrip("/") for target in LINK.findall(text("README.md"))}
    for row in re.findall(r"^\| .*\? \|.*$", text(page), re.M):
        found += 1
        question, place, way = (c.strip() for c in row.strip("| ").split(" | "))
        through = LINK.findall(way)
        if len(through) != 1 or through[0] not in linked:
            yield f"{page}: {question}: README.md does not link to {way}"
        elif not PLACES.search(place):
            yield f"{page}: {question}: no place"
        else:
            yield from (f"{page}: {question}: {through[0]} does not name {file}"
                        for file, _ in PLACES.findall(place) if f"`{file}`" not in text(through[0]))
    if found < 20:
        yield f"{page}: {found} questions, not twenty"
    yield from places(page, text(page))


def help_lines():
    makefile = text("Makefile")
    phony = set(" ".join(re.findall(r"^\.PHONY:(.*)$", makefile, re.M)).split()) - {"all", "help", "unit",
                                                                                    "lint"}
    told = set(re.findall(r"^#: make (\S+)", makefile, re.M))
    return [f"Makefile: {t} has no #: line" for t in sorted(phony - told)]


def manuals():
    for program in ("baseserver.8", "taskbroker.8", "taskrunner-loader.8", "jobkeeper.8",
                    "sirdar-cgi.8", "sirdar-notifier.8", "sirdar.1", "sirdar-db.8",
                    "sirdar-runner-run.1", "sirdar-runner-conformance.1", "sirdar-python-job.1"):
        page = Path("docs/man") / program
        if not (ROOT / page).is_file():
            yield f"{page} misses"
        elif not re.search(r"^\.TH ", text(str(page)), re.M):
            yield f"{page} has no title"


COMMAND = re.compile(r"(?:^|[`\s;(])sirdar ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")


def commands():
    """Whoever copies a command of a page finds it: `sirdar run list` is one, `sirdar list` is none."""
    known = {tuple(name.split()) for name in re.findall(r'^(?:COMMAND|VERB)\("([^"]+)"', text("admin-console/cli/commands.def"), re.M)}
    pages = [p for p in files(".md") if p.startswith("docs/") or "/" not in p]
    for page in pages:
        for s in twins.sections(page):
            shown = [line for code in s.code for line, _ in code] + sorted(f"`{n}" for n in s.names)
            for one, two in (m for line in shown for m in COMMAND.findall(line)):
                if (one,) not in known and (one, two) not in known and (two or (one,) not in {k[:1] for k in known}):
                    yield f"{page}: section {s.place}: no command `sirdar {one} {two}`"


def liveness():
    """Each state of an instance and of a loader has a row."""
    rows = {name.strip() for row in re.findall(r"^\| ([\w, ]+) \|", text("docs/liveness.md"), re.M)
            for name in row.split(",")}
    states = re.findall(r'^STATE\(\w+, *"(\w+)"', text("schema/tbl/state.def"), re.M)
    types = [t.lower() for t in re.findall(r"\bTYPE_([A-Z]+) = \d", text("broker/taskbroker/broker.h"))]
    assert states and types
    return [f"docs/liveness.md: no row for {s}" for s in states + types if s not in rows]


tap = Tap()
tap.check("links of the documents lead somewhere", list(links()))
tap.check("paths in the documents exist", list(paths()))
tap.check("every row of docs/requirements.md is answered", list(requirements()))
tap.check("the walk through the rules names tests that are there", list(walk()))
tap.check("the life of an instance stops at functions that are there", list(life()))
tap.check("twenty questions are answered two opens from the README", list(questions()))
tap.check("every state says who works on it and what bounds it", liveness())
tap.check("make help tells every target", help_lines())
tap.check("every program has a man page", list(manuals()))
tap.check("commands in the documents exist", list(commands()))
tap.check("the thirty words are in the manual, in both languages", list(glossary()))
tap.check("the README in Chinese has no command of its own", list(twins.borrowed("README.md", "README.zh-CN.md")))
tap.end()
