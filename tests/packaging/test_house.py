#!/usr/bin/env python3
"""The house's own tools notice what they are there for: the suite runner and the lints."""
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
results = []


def check(name, good, detail=""):
    results.append(good)
    if not good:
        print("# " + str(detail).replace("\n", "\n# "))
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}", flush=True)


loader = importlib.machinery.SourceFileLoader("suite_runner", str(ROOT / "tests/run"))
runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("suite_runner", loader))
loader.exec_module(runner)

for name, code, text, want in (
        ("counts TAP and its skips", 0, "ok 1 - a\nok 2 - b # SKIP why\n1..2\n", (1, 0, 1)),
        ("counts not ok", 1, "ok 1 - a\nnot ok 2 - b\n", (1, 1, 0)),
        ("prefers a runner's own sum", 0, "ok 1\nunit: 5 passed, 0 failed\n", (5, 0, 0)),
        ("takes the skips of a sum", 0, "lint: 5 passed, 0 failed, 2 skipped\n", (5, 0, 2)),
        ("silence is a failure", 0, "hello\n", (0, 1, 0)),
        ("a bad end is a failure although all was ok", 1, "ok 1\n", (1, 1, 0)),
        ("a limit is a failure although all was ok", None, "ok 1\n", (1, 1, 0)),
        ("only skipped is no failure", 0, "ok 1 # skip no tool\n", (0, 0, 1))):
    got = runner.count(code, text, 5)[:3]
    check("suite runner: " + name, got == want, f"{got}, want {want}")

code, text = runner.run_limited("t", ["sh", "-c", "sleep 1000 & echo $!; wait"], 3)
alive, end = Path(f"/proc/{text.strip() or 'none'}/cmdline"), time.monotonic() + 60


def goes_on():
    """Is the process still there? One that was killed goes when the machine comes to it."""
    try:
        return b"1000" in alive.read_bytes()
    except OSError:
        return False


while goes_on() and time.monotonic() < end:
    time.sleep(0.02)
check("suite runner: nothing of a stopped suite's group goes on", code is None and text.strip() and not goes_on(), text)

tree = Path(tempfile.mkdtemp(prefix="sirdar-house-"))


def lint(script, path, content):
    """What a lint says of a tree in which one file has this content."""
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(ROOT / "tests/lint", tree / "tests/lint")
    shutil.copytree(ROOT / "schema", tree / "schema")
    shutil.copytree(ROOT / "lib", tree / "lib")
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(content)
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    return subprocess.run([tree / "tests/lint" / script], cwd=tree, env=env, capture_output=True,
                          text=True).stdout


for name, script, path, content, said in (
        ("an include that points up", "layers.py", "lib/util/x.c",
         '#include "rt/actor.h"\n', "lib/util may not include lib/rt/actor.h"),
        ("a folder without a layer", "layers.py", "novel/x.c", "int x;\n", "has no row"),
        ("a call away from home", "calls.py", "lib/rt/x.c", "int f(void)\n{\n\treturn system(0);\n}\n",
         "system() has its home elsewhere"),
        ("SQL made by formatting", "calls.py", "lib/store/x.c",
         'void f(void)\n{\n\tsnprintf(a, 9, "DELETE FROM t WHERE "\n\t"i = %d", 1);\n}\n',
         "lib/store/x.c:3: SQL is prepared"),
        ("a function of 71 lines", "shape.py", "lib/util/x.c",
         "void f(void)\n{\n" + "\t;\n" * 69 + "}\n", "f() has 71 lines"),
        ("a file of 801 lines", "shape.py", "lib/util/x.h", "\n" * 801, "801 lines"),
        ("a number taken twice", "tree.py", "schema/tbl/err.def",
         'ERR(A, 1, 5, 0, "a")\nERR(B, 1, 5, 0, "b")\n', "number 1 of B is taken"),
        ("an edge to nowhere", "tree.py", "schema/tbl/edge.def", "EDGE(NONE, CREATE, NOWHERE)\n",
         "NOWHERE in EDGE"),
        ("a place of one machine", "tree.py", "lib/util/x.c", "/* /home/" "me/x */\n", "lib/util/x.c:1: holds")):
    out = lint(script, path, content)
    check("lint sees " + name, said in out, out)

for name, script, path, content, said in (
        ("a member, a comment and a string", "calls.py", "lib/rt/x.c",
         'void f(void)\n{\n\ta->exit(1); /* system() */\n\tg("fork()");\n}\n', "lib/rt/x.c"),
        ("a function of 70 lines", "shape.py", "lib/util/x.c",
         "void f(void)\n{\n" + "\t;\n" * 68 + "}\n", "lib/util/x.c")):
    out = lint(script, path, content)
    check("lint lets pass " + name, said not in out, out)

shutil.rmtree(tree, ignore_errors=True)
print(f"1..{len(results)}")
sys.exit(0 if all(results) else 1)
