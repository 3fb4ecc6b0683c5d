#!/usr/bin/env python3
"""Sizes: a function has at most 70 lines (aim 40) and six parameters, a file 800 (aim 400), a line 100 columns. A .c, .ts or
.vue of more than 80 lines opens with its model. What does not yet stands in heads.txt and params.txt, which only shrink; a
function that a header declares is never in params.txt, for its callers are many. (Sizes of .ts and .vue are eslint's:
admin-console/web/eslint.config.js.)"""
import re

from source import Tap, bare, files, rows, text

FUNCTION_MAX, FUNCTION_AIM, FILE_MAX, FILE_AIM, COLUMNS_MAX, TAB = 70, 40, 800, 400, 100, 8
HEAD_FROM, HEADED = 80, (".c", ".ts", ".vue")
PARAMS_MAX = 6
ARGS = r"(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))"
FUNCTION = re.compile(r"^(?![#\s}])(?:[^\n;{}()]*?[ *])?(\w+)" + ARGS + r"(?:[^;{}]*;|\s*\n\{)", re.M)


def functions(source):
    """-> name, first line, lines from brace to brace; the house style has both at column 0."""
    lines = bare(source).split("\n")
    start = None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
        elif line.startswith("}") and start is not None:
            head = "\n".join(lines[max(0, start - 8):start])
            names = re.findall(r"(\w+)\s*\(", head[head.rfind("\n}") + 1:])
            yield (names[0] if names else "?"), start + 1, i - start + 1
            start = None


def parameters(args):
    """How many have a name in `(a, b, ...)`: the tail of a printf is none that one keeps in order."""
    depth, n = 0, 1
    for c in args[1:-1]:
        depth += (c in "([") - (c in ")]")
        n += c == "," and depth == 0
    return n - args.rstrip(") \n").endswith("...")


def headed(path, source):
    """A component's head is the first line of its script."""
    return (source.split("\n", 1)[-1] if path.endswith(".vue") else source).startswith("/*")


long_functions, long_files, long_lines, headless = [], [], [], set()
wide, wide_in_headers = set(), []
functions_n = over_aim = files_over_aim = 0
tree = files(".c", ".h")
for path in tree:
    source = text(path)
    n = source.count("\n")
    files_over_aim += n > FILE_AIM
    if n > FILE_MAX:
        long_files.append(f"{path}: {n} lines, at most {FILE_MAX}")
    for name, line, size in functions(source):
        functions_n += 1
        over_aim += size > FUNCTION_AIM
        if size > FUNCTION_MAX:
            long_functions.append(f"{path}:{line}: {name}() has {size} lines, at most {FUNCTION_MAX}")
    for name, args in FUNCTION.findall(bare(source)):
        if parameters(args) > PARAMS_MAX and not name.isupper():  # a macro is judged where it is written
            wide.add((path, name))
            if path.endswith(".h") and not path.startswith("tests/"):
                wide_in_headers.append(f"{path}: {name}() has {parameters(args)} parameters, at most {PARAMS_MAX}: a struct")
    for i, line in enumerate(source.split("\n"), 1):
        if len(line.expandtabs(TAB)) > COLUMNS_MAX:
            long_lines.append(f"{path}:{i}: {len(line.expandtabs(TAB))} columns, at most {COLUMNS_MAX}")

for path in files(*HEADED):
    source = text(path)
    if source.count("\n") > HEAD_FROM and not headed(path, source):
        headless.add(path)

tap = Tap()
tap.check(f"no function over {FUNCTION_MAX} lines "
          f"({over_aim} of {functions_n} over {FUNCTION_AIM})", long_functions)
tap.check(f"no file over {FILE_MAX} lines ({files_over_aim} of {len(tree)} over {FILE_AIM})",
          long_files)
known = {row[0] for row in rows("heads.txt")}
tap.check(f"a .c, .ts or .vue of more than {HEAD_FROM} lines opens with its model ({len(known)} do not yet)",
          [f"{path}: say what it holds, the rule that keeps it right, what it does not do" for path in sorted(headless - known)] +
          [f"heads.txt: take {path} out" for path in sorted(known - headless)])
known = {tuple(row[:2]) for row in rows("params.txt")}
tap.check(f"no function with more than {PARAMS_MAX} parameters ({len(known)} in .c files still have)", wide_in_headers +
          [f"{path}: {name}() has more than {PARAMS_MAX} parameters: a struct" for path, name in sorted(wide - known)
           if not path.endswith(".h") or path.startswith("tests/")] +
          [f"params.txt: take {path} {name} out" for path, name in sorted(known - wide)])
tap.check(f"no line over {COLUMNS_MAX} columns", long_lines)
tap.end()
