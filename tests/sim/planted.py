#!/usr/bin/env python3
"""Planted bugs: the patches of tests/sim/planted, and copies of the sources with one of them.

    planted.py check          each patch has its head and still applies; TAP
    planted.py copy NAME DIR  the sources that patch NAME touches, copied below DIR, with its bug

A hunk stands where its lines are: all of them, one after the other, exactly, and once in the
file. Its line numbers are not looked at, so that it moves with the code around it and never lands
at another place. `copy` prints the paths of the sources, as they are in the tree.
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATCHES = ROOT / "tests/sim/planted"
HEAD = re.compile(r"Planted: (.+)\n(?:  (.+)\n)?Breaks: (.+)\nFound by: (.+)\n\n(?=--- )")


class Wrong(Exception):
    """What is wrong with a patch, for a person."""


@dataclass
class Planted:
    name: str
    number: int
    what: str        # the bug, in a line or two
    promises: list   # the invariants that may break, as the simulator names them
    scenario: str    # whose seeds find it; "none": as drawn
    unit_test: list  # program and test that find it instead of a seed; or nothing
    hunks: dict      # path -> [(lines before, lines after)]


def lines_of(body):
    """A hunk's lines -> those of the source, and those with the bug in their place."""
    before = [line[1:] for line in body if line[:1] in (" ", "-", "")]
    after = [line[1:] for line in body if line[:1] in (" ", "+", "")]
    return before, after


def hunks_of(text):
    hunks, path, body = {}, None, None
    for line in text.splitlines():
        if line.startswith("--- "):
            body = None
        elif line.startswith("+++ b/"):
            path, body = line[len("+++ b/"):], None
        elif line.startswith("@@ "):
            body = []
            hunks.setdefault(path, []).append(body)
        elif body is not None:
            body.append(line)
    return {path: [lines_of(body) for body in bodies] for path, bodies in hunks.items()}


def read(path):
    text = path.read_text()
    number, head = re.match(r"(\d{3})-[a-z0-9-]+$", path.stem), HEAD.match(text)
    if not number or not head:
        raise Wrong(f"{path.relative_to(ROOT)} has no such head as tests/sim/README.md asks for")
    what, more, promises, finder = head.groups()
    seeds = re.fullmatch(r"seeds (?:as drawn|of the scenario (\w+))", finder)
    test = re.fullmatch(r"(test_\w+) (\w+)", finder)
    if not seeds and not test:
        raise Wrong(f"planted bug {int(number[1])}: nobody finds it by '{finder}'")
    return Planted(path.stem, int(number[1]), f"{what} {more}" if more else what,
                   promises.split(" or "), seeds and seeds[1] or "none",
                   list(test.groups()) if test else [], hunks_of(text[head.end():]))


def every():
    return [read(path) for path in sorted(PATCHES.glob("*.patch"))]


def place_of(lines, wanted):
    """Index of the one place where `wanted` stands; None: nowhere, or at several places."""
    places = [i for i in range(len(lines) - len(wanted) + 1) if lines[i:i + len(wanted)] == wanted]
    return places[0] if len(places) == 1 else None


def planted_in(bug, path):
    """The text of a source with the bug."""
    source = ROOT / path
    lines = source.read_text().split("\n") if source.is_file() else []
    for before, after in bug.hunks[path]:
        at = place_of(lines, before)
        if at is None:
            raise Wrong(f"planted bug {bug.number} no longer applies to {path}: make it anew "
                        f"(tests/sim/planted/{bug.name}.patch)")
        lines[at:at + len(before)] = after
    return "\n".join(lines)


def copy(bug, folder):
    for path in bug.hunks:
        to = Path(folder) / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(planted_in(bug, path))
        print(path)


def check():
    """-> 1: a patch is wrong. A number is one bug's."""
    bad, numbers = False, {}
    for path in sorted(PATCHES.glob("*.patch")):
        try:
            bug = read(path)
            if numbers.setdefault(bug.number, bug.name) != bug.name:
                raise Wrong(f"{bug.name} has the number of {numbers[bug.number]}")
            if not bug.hunks:
                raise Wrong(f"planted bug {bug.number} changes nothing")
            for source in bug.hunks:
                planted_in(bug, source)
        except Wrong as e:
            print(f"# {e}")
            bad = True
    print(f"{'not ' * bad}ok - the {len(numbers)} planted bugs apply")
    return int(bad)


def main(args):
    if args == ["check"]:
        return check()
    if len(args) == 3 and args[0] == "copy":
        copy(read(PATCHES / f"{args[1]}.patch"), args[2])
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Wrong as e:
        sys.exit(str(e))
