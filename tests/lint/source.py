"""What the lints share: the tree's files, C text without comments and strings, TAP."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def files(*suffixes):
    """Paths of the tree (tracked or about to be), relative to its root, sorted."""
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                             capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        skip = ("build/", "var/", ".git/", "node_modules/")
        out = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file()]
        out = [p for p in out if not p.startswith(skip)]
    return sorted(p for p in set(out) if p.endswith(suffixes) and (ROOT / p).is_file())


def text(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def bare(source, keep_strings=False):
    """C text with comments (and the insides of strings) blanked; lines stay where they are."""
    def blank(m):
        s = m.group(0)
        if s[0] == "/":
            return re.sub(r"[^\n]", " ", s)
        return s if keep_strings else s[0] + " " * (len(s) - 2) + s[0]
    return TOKENS.sub(blank, source)


def rows(name):
    """Lines of a table of this folder: fields, comments left out."""
    for line in (Path(__file__).parent / name).read_text().splitlines():
        line = line.split("#")[0].split()
        if line:
            yield line


class Tap:
    def __init__(self):
        self.n = self.bad = 0

    def check(self, name, faults):
        self.n += 1
        for fault in faults:
            print(f"# {fault}")
        print(f"{'not ok' if faults else 'ok'} {self.n} - {name}", flush=True)
        self.bad += bool(faults)

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {why}", flush=True)

    def end(self):
        print(f"1..{self.n}")
        sys.exit(1 if self.bad else 0)
