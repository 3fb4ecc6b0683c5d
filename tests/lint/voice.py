#!/usr/bin/env python3
"""Words that people read: no phrase of voice.txt stands in a message, in the console's English, in a manual, man page,
README or the API's reference. Names in code and comments are not judged."""
import re
from pathlib import Path

from source import Tap, files, text

PAGES = (".md", ".yaml", ".1", ".5", ".7", ".8", ".sh", ".ts")
NOT_FOR_PEOPLE = ("tests/", "bench/", "docs/decisions/", "docs/WORK.md", "CHANGELOG.md",
                  # They tell which words other systems have for it.
                  "docs/glossary.md", "docs/migrate", "admin-console/web/tests/", "admin-console/web/src/api/schema.ts")
OTHER_WORDS = re.compile(r"^\| .*\(.*(data time|rerun).*\)")  # the table of terms in the manual's words.md
OTHERS = re.compile(r"docs/book/\w+/from-")  # their tables have the words of other schedulers
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def phrases():
    for line in (Path(__file__).parent / "voice.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern, remedy = line.split("\t")
            yield re.compile(pattern), remedy


def read_by_people(path):
    """(number, text) of the lines, or of the strings in them, that people read."""
    for n, line in enumerate(text(path).split("\n"), 1):
        if path.endswith((".c", ".h", ".def")):
            line = " ".join(STRING.findall(line))
        if not OTHER_WORDS.match(line) and not (OTHERS.match(path) and line.startswith("| ")):
            yield n, line


tap = Tap()
known = list(phrases())
tap.check("what people read has no word that voice.txt replaces",
          [f"{path}:{n}: '{found.group(0)}': say '{remedy}'"
           for path in files(*PAGES, ".c", ".h", ".def") if not path.startswith(NOT_FOR_PEOPLE)
           for n, line in read_by_people(path)
           for pattern, remedy in known for found in [pattern.search(line)] if found])
tap.end()
