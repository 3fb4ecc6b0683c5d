#!/usr/bin/env python3
"""Includes point down only: layers.txt is the picture of ARCHITECTURE.md, held by this. Calls inside a folder do,
too: among its files no reference goes up, so that there is no circle. The folders that still climb stand in layers.txt
(`up FOLDER N`), whose N only falls. An _impl.h is included only inside its own folder, but for what walls.txt names.

`layers.py --graph FOLDER [MAP]` prints instead what the folder's files and sub-folders use of each other: strata,
upward references, circles (graph.py). MAP, lines `file room`, judges a move before it is made."""
import os
import re
import sys

import graph
from source import ROOT, Tap, bare, files, rows, text

LAYERS = {row[0]: row[1:] for row in rows("layers.txt") if row[0] != "up"}
CLIMBING = {row[1]: int(row[2]) for row in rows("layers.txt") if row[0] == "up"}
WALLS = {(row[0], by) for row in rows("walls.txt") for by in row[1:]}
WHERE = ("lib", "schema", "plugins-sdk/include", ".")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)


def folder_of(path):
    known = [f for f in LAYERS if path == f or path.startswith(f + "/")]
    return max(known, key=len) if known else None


def target_of(path, name):
    if name.endswith((".pb-c.h", ".gen.h")):
        return "schema/" + name
    for where in (os.path.dirname(path),) + WHERE:
        at = os.path.normpath(os.path.join(where, name))
        if (ROOT / at).is_file():
            return at
    return None


def includes_of(path):
    """-> line, file of each include that is in the tree."""
    source = bare(text(path), keep_strings=True)
    for m in INCLUDE.finditer(source):
        at = target_of(path, m.group(1))
        if at:  # else generated, or the compiler's to refuse
            yield source[:m.start()].count("\n") + 1, at


def wall_faults(tree):
    found, used = [], set()
    for path in tree:
        for line, at in includes_of(path):
            if not at.endswith("_impl.h") or os.path.dirname(at) == os.path.dirname(path):
                continue
            used.add((at, path))
            if (at, path) not in WALLS:
                found.append(f"{path}:{line}: {at} is for the files of its own folder")
    return found + [f"walls.txt: {by} no longer includes {at}" for at, by in sorted(WALLS - used)]


def faults_of(path):
    folder = folder_of(path)
    if folder is None:
        return [f"{path}: its folder has no row in layers.txt"]
    found = []
    for line, at in includes_of(path):
        to = folder_of(at)
        allowed = LAYERS[folder]
        if to == folder or "*" in allowed:
            continue
        if not any(to == a or at == a or (to or at).startswith(a + "/") for a in allowed):
            found.append(f"{path}:{line}: {folder} may not include {at}")
    return found


def programs(tree):
    """The topmost folders with .c files of their own: what stands below one is judged with it."""
    own = {os.path.dirname(p) for p in tree if p.endswith(".c") and "*" not in LAYERS.get(folder_of(p), ["*"])}
    return sorted(f for f in own if not any(f.startswith(above + "/") for above in own))


def climbing_faults(folder):
    found, n = graph.climbing(folder, target_of)
    most = CLIMBING.get(folder, 0)
    if n < most:
        return [f"layers.txt: 'up {folder} {most}': {n} are left, write that" if n else
                f"layers.txt: 'up {folder} {most}': none is left, take the row out"]
    return found if n > most else []


if sys.argv[1:2] == ["--graph"]:
    graph.show(*sys.argv[2:3], target_of, *sys.argv[3:4])
    sys.exit(0)
tap = Tap()
tree = files(".c", ".h")
tap.check(f"includes point down only ({len(tree)} files)", [f for p in tree for f in faults_of(p)])
whole = programs(tree)
tap.check(f"no file refers upward inside its folder ({len(whole)} folders, {len(CLIMBING)} of them still do)",
          [x for f in whole for x in climbing_faults(f)] +
          [f"layers.txt: up {f}: no such folder" for f in CLIMBING if f not in whole])
tap.check("an _impl.h is included in its own folder", wall_faults(tree))
tap.check("--graph tells strata, circles and what goes up", graph.faults())
tap.end()
