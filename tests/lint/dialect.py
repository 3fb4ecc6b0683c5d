#!/usr/bin/env python3
"""One dialect: what the formatter cannot see.

A pointer is asked with `if (p)` and `if (!p)`; `p != NULL` is for where a truth value is stored or
handed on. `sizeof` of an object has no parentheses. A function that a room's _impl.h declares is
noun__verb, and nobody outside the headers of insides is. A static function's name of one word stands
in one file only: with two, a debugger, a profile and grep cannot tell them apart. SHARED is how many
do all the same (IMPORT() calls each format's make()); it only shrinks."""
import re
from collections import defaultdict

from source import Tap, bare, files, text

FOLDERS = ("lib/", "baseserver/", "broker/", "cgi/", "runners/", "notifier/", "dbtool/",
           "plugins-sdk/", "admin-console/cli/")
SHARED = 1
ASKED = re.compile(r"== NULL\b|(?:\b(?:if|while) \(|&& |\|\| )[\w>.\[\]()*-]+ != NULL\b|!= NULL (?:&&|\|\||\?)")
SIZED = re.compile(r"\bsizeof\((?!struct |union |enum |unsigned\b|const |char\b|int\b|long\b|void\b|bool\b|double\b|float\b|short\b)"
                   r"[*&]*([a-z]\w*)(?:(?:->|\.)\w+|\[[^\]]*\])*\)")
STATIC = re.compile(r"^static [^;{}=]*?\b(\w+)\([^;{}]*\)\n\{", re.M)
DECLARED = re.compile(r"^(?!typedef|#)[a-z][^;{}()#]*?\b(\w+)\([^;{}]*\);", re.M)

tree = [p for p in files(".c", ".h") if p.startswith(FOLDERS)]
pointers, sizes, insides, words = [], [], [], defaultdict(list)
public = {m for p in tree if p.endswith(".h") and not p.endswith("_impl.h")
          for m in DECLARED.findall(bare(text(p)))}
for path in tree:
    source = bare(text(path))
    for n, line in enumerate(source.split("\n"), 1):
        if ASKED.search(line):
            pointers.append(f"{path}:{n}: {line.strip()}")
        m = not line.startswith("#") and not line.endswith("\\") and SIZED.search(line)
        if m and not m.group(1).endswith("_t"):
            sizes.append(f"{path}:{n}: {line.strip()}")
    if path.endswith("_impl.h"):
        insides += [f"{path}: {name}() wants the room's noun and two underscores" for name in DECLARED.findall(source)
                    if "__" not in name and name not in public and not name.isupper()]
    elif path.endswith(".h"):
        insides += [f"{path}: {name}() is an inside: its home is an _impl.h" for name in DECLARED.findall(source)
                    if "__" in name and not name.startswith("__")]
    if path.endswith(".c"):
        for name in STATIC.findall(source):
            if "_" not in name:
                words[name].append(path)
shared = {name: where for name, where in words.items() if len(where) > 1}

tap = Tap()
tap.check("a pointer is asked with p and !p", pointers)
tap.check("sizeof of an object has no parentheses", sizes)
tap.check("insides are noun__verb, and only they", insides)
tap.check(f"static names of one word are of one file (at most {SHARED} are not)",
          [f"{name}(): {' '.join(where)}" for name, where in sorted(shared.items())] if len(shared) > SHARED else [])
tap.end()
