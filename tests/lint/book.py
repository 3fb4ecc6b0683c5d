#!/usr/bin/env python3
"""The manual is a book of two languages in step: the same pages in the same order, sections, commands, tables and
links; each place has one name in the whole book, and each link into the book finds it."""
import re
import subprocess
import sys

import twins
from source import ROOT, Tap, text

HOME = "docs/book"
LANGUAGES = ("en", "zh")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGE = re.compile(r"\]\(([\w-]+\.md)\)")


def contents(lang):
    """Pages in the order of the table of contents."""
    return list(dict.fromkeys(["index.md", *PAGE.findall(text(f"{HOME}/{lang}/index.md"))]))


def read(lang):
    return [page for page in contents(lang) if page in there(lang)]


def there(lang):
    return {p.name for p in (ROOT / HOME / lang).glob("*.md")}


def pages():
    for lang in LANGUAGES:
        listed = set(contents(lang))
        yield from (f"{HOME}/{lang}/index.md: does not list {p}" for p in sorted(there(lang) - listed))
        yield from (f"{HOME}/{lang}/index.md: lists {p}, which is not there" for p in sorted(listed - there(lang)))
    if contents("en") != contents("zh"):
        yield f"{HOME}: the languages list their pages in different orders"


def twin_faults():
    for page in read("en"):
        if page in there("zh"):
            yield from twins.faults(f"{HOME}/en/{page}", f"{HOME}/zh/{page}")


def places(lang):
    """(place, page, line) of every section and every place of its own."""
    for page in read(lang):
        for s in twins.sections(f"{HOME}/{lang}/{page}"):
            yield from ((place, page, s.line) for place in [s.place, *s.places])


def named_once():
    for lang in LANGUAGES:
        seen = {}
        for place, page, line in places(lang):
            if place in seen:
                yield f"{HOME}/{lang}/{page}:{line}: {place} is in {seen[place]} already"
            seen.setdefault(place, page)
        for page in read(lang):
            first = next(iter(twins.sections(f"{HOME}/{lang}/{page}")))
            if first.place != page[:-3] or first.depth != 1:
                yield f"{HOME}/{lang}/{page}: begins with {first.place}, not with `# <a id=\"{page[:-3]}\"></a>`"


def links():
    for lang in LANGUAGES:
        known = {(page, place) for place, page, _ in places(lang)}
        for page in read(lang):
            for to in LINK.findall(text(f"{HOME}/{lang}/{page}")):
                file, _, place = to.partition("#")
                if "/" not in file and ":" not in file and place and (file or page, place) not in known:
                    yield f"{HOME}/{lang}/{page}: nothing is at {to}"


def made():
    """errors.md is what its tables say."""
    done = subprocess.run([sys.executable, ROOT / HOME / "errors.py", "--check"], capture_output=True, text=True)
    return done.stderr.splitlines() if done.returncode else []


def commands():
    """Every command has its place in the table by subject."""
    known = re.findall(r'^(?:COMMAND|VERB)\("([^"]+)"', text("admin-console/cli/commands.def"), re.M)
    return [f"{HOME}/{lang}/commands.md: no `{name}`" for lang in LANGUAGES for name in known if f"`{name}`" not in text(f"{HOME}/{lang}/commands.md")]


tap = Tap()
tap.check("the table of contents lists every page, in both languages alike", list(pages()))
tap.check("each page says the same in both languages", list(twin_faults()))
tap.check("each place has one name in the book, each page its own", list(named_once()))
tap.check("links within the book lead to a place", list(links()))
tap.check("the page of errors is made from the tables", made())
tap.check("every command stands in the table by subject", commands())
tap.end()
