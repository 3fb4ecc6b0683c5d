#!/usr/bin/env python3
"""Two suites build the console in one tree at the same time, and one of them cannot. build.sh is the real one, in a tree
of its own; npm and npx are stand-ins that say when they are at work and wait to be let go."""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import console  # noqa: E402

NPM = """#!/bin/sh
mkdir "$BUSY" || { echo "another npm is at work" >&2; exit 1; }
mkdir -p node_modules
while [ ! -e "$GO" ]; do sleep 0.05; done
rmdir "$BUSY"
"""
NPX = """#!/bin/sh
mkdir "$BUSY" || { echo "another vite is at work" >&2; exit 1; }
mkdir -p "$OUT" && echo hello >"$OUT/index.html"
rmdir "$BUSY"
echo built >>"$BUILT"
"""


def make_tree(root):
    web = root / "admin-console/web"
    (root / "docs").mkdir(parents=True)
    (root / "bin").mkdir()
    for folder in ("src", "public"):
        (web / folder).mkdir(parents=True)
    for name in ("index.html", "package-lock.json", "vite.config.ts", "../../docs/book/en/index.md", "../../docs/book/zh/index.md"):
        (web / name).parent.mkdir(parents=True, exist_ok=True)
        (web / name).write_text("")
    (web / "build.sh").write_bytes((ROOT / "admin-console/web/build.sh").read_bytes())
    for name, text in (("npm", NPM), ("npx", NPX)):
        (root / "bin" / name).write_text(text)
        (root / "bin" / name).chmod(0o755)
    (web / "build.sh").chmod(0o755)
    return web


def until(what, holds):
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def programs_of(pid):
    """-> the names of the processes that it started."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return {Path(f"/proc/{c}/comm").read_text().strip() for c in children}
    except OSError:
        return set()


def at_once(root):
    web = make_tree(root)
    env = dict(os.environ, PATH=f"{root}/bin:{os.environ['PATH']}", BUSY=str(root / "busy"), GO=str(root / "go"), BUILT=str(root / "built"))
    start = lambda: subprocess.Popen([str(web / "build.sh")], env=env, stderr=subprocess.PIPE, text=True)  # noqa: E731
    one = start()
    until("the first is at work", (root / "busy").exists)
    two = start()
    until("the second waits, or ended", lambda: "flock" in programs_of(two.pid) or two.poll() is not None)
    (root / "go").touch()
    for build in (one, two):
        said = build.communicate()[1]
        assert build.returncode == 0, said
    assert (root / "built").read_text() == "built\n", "the second built again what the first had done"


def not_built(root):
    (root / "build.sh").write_text("#!/bin/sh\necho 'no such module' >&2\nexit 1\n")
    (root / "build.sh").chmod(0o755)
    console.WEB, os.environ["CHROMIUM"] = root, "sh"
    assert console.main("develop", None) == 1, "journeys of a console that is not there pass"


for tried in (at_once, not_built):
    with tempfile.TemporaryDirectory() as made:
        tried(Path(made))
