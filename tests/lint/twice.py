#!/usr/bin/env python3
"""Code that stands twice: runs of six or more equal lines in the C of the product, and in the console's .ts and .vue.

A line counts without its comments and outer blanks; empty lines, lone punctuation, lone closing tags, includes, imports and
`#undef` are passed over, so a run may reach over them. Two places begin a run where their lines are
equal and the lines before them are not; a run that stands in more than PLACES_MAX places is an
idiom, no copy. Each pair of places counts once. A limit is the figure of the last change: who makes it
smaller lowers it, nobody raises it."""
import re
from collections import defaultdict

from source import Tap, bare, files, text

LINES, PLACES_MAX = 6, 8
FOLDERS = ("lib/", "baseserver/", "broker/", "cgi/", "runners/", "notifier/", "dbtool/",
           "plugins-sdk/", "admin-console/cli/")
TREES = (("the C", 8, FOLDERS, (".c", ".h")), ("the console", 1, ("admin-console/web/src/",), (".ts", ".vue")))
PASSED_OVER = re.compile(r"#include|#undef|import |\} from |(</[\w-]+>?|>)+$")


def code(path):
    """-> (line number, line) of what counts."""
    for n, line in enumerate(bare(text(path), keep_strings=True).split("\n"), 1):
        line = " ".join(line.split())
        if any(c.isalnum() for c in line) and not PASSED_OVER.match(line):
            yield n, line


def pairs(tree):
    """-> (a, first, last, b, first) of each pair of places that share a run."""
    lines = {path: list(code(path)) for path in tree}
    windows = defaultdict(list)
    for path, of in lines.items():
        for i in range(len(of) - LINES + 1):
            windows[tuple(line for _, line in of[i:i + LINES])].append((path, i))
    for places in windows.values():
        if not 2 <= len(places) <= PLACES_MAX:
            continue
        for k, (a, i) in enumerate(places):
            for b, j in places[k + 1:]:
                if a == b and j < i + LINES or i and j and lines[a][i - 1][1] == lines[b][j - 1][1]:
                    continue
                n = LINES
                while (i + n < len(lines[a]) and j + n < len(lines[b])
                       and lines[a][i + n][1] == lines[b][j + n][1] and (a != b or i + n < j)):
                    n += 1
                yield a, lines[a][i][0], lines[a][i + n - 1][0], b, lines[b][j][0], n


tap = Tap()
for name, limit, folders, suffixes in TREES:
    found = sorted(pairs([p for p in files(*suffixes) if p.startswith(folders)]), key=lambda p: -p[5])
    tap.check(f"{name}: at most {limit} runs of {LINES} equal lines stand twice ({len(found)})",
              [f"{a}:{first}-{last} stands again at {b}:{at} ({n} lines)" for a, first, last, b, at, n in found]
              if len(found) > limit else [])
tap.end()
