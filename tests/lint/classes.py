#!/usr/bin/env python3
"""The console's class names: whole words, each used. A class of three letters or fewer is refused where a style or a
template names it; a class that no template and no script names (or whose stem none puts words to: 'state-' + kind) has to go."""
import re

from source import Tap, files, text

ROOM, LETTERS_MIN = "admin-console/web/src/", 4
STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.S)
COMMENT = re.compile(r"/\*.*?\*/|<!--.*?-->", re.S)


def selectors(css):
    """-> what stands before each brace that is a selector."""
    return (head for head in re.findall(r"([^{};]+)\{", css) if not head.strip().startswith("@"))


short, defined, words = [], {}, set()
for path in (p for p in files(".css", ".vue", ".ts") if p.startswith(ROOM)):
    whole = COMMENT.sub(" ", text(path))
    styles = whole if path.endswith(".css") else "".join(STYLE.findall(whole)) if path.endswith(".vue") else ""
    code = "" if path.endswith(".css") else STYLE.sub(" ", whole)
    here = {name for head in selectors(styles) for name in re.findall(r"\.(-?[A-Za-z_][\w-]*)", head)}
    for name in here:
        defined.setdefault(name, path)
    static = {name for names in re.findall(r'\sclass="([^"]*)"', code) for name in names.split()}
    short += [f"{path}: .{name}" for name in sorted(here | static) if len(name) < LETTERS_MIN]
    words.update(re.findall(r"[A-Za-z_][\w-]*", code))

tap = Tap()
tap.check(f"no class of the console has fewer than {LETTERS_MIN} letters ({len(defined)} classes)", short)
tap.check("a template or a script names each class",
          [f"{path}: nobody names .{name}" for name, path in sorted(defined.items(), key=lambda x: x[1])
           if name not in words and name[:name.rfind("-") + 1] not in words])
tap.end()
