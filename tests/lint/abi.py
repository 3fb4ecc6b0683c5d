#!/usr/bin/env python3
"""The plugin contract against its releases: plugins-sdk/abi/MAJOR.MINOR.txt has every member and constant of a
release with its place, size and value, MAJOR.MINOR.abi what abidw saw. What a release had may never change; what is new stands in the newest file.

    abi.py            compare       abi.py --write    write the file of the version in the header"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "plugins-sdk/include/sirdar/runner.h"
FOLDER = ROOT / "plugins-sdk/abi"


def members(text):
    """(struct, member) of every struct of the header, in order."""
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for struct, body in re.findall(r"struct (\w+) \{\n(.*?)\n\};", plain, flags=re.S):
        for part in body.split(";"):
            name = re.search(r"\(\*(\w+)\)\s*\(", part) or re.search(r"(\w+)\s*(?:\[[^]]*\])?\s*$", part)
            if name:
                yield struct, name.group(1)


def measured():
    """The contract as the compiler sees it, one line each."""
    text = HEADER.read_text()
    names = [n for n in re.findall(r"^#define (RUNNER_\w+)\s+[^\\\n]", text, flags=re.M)
             if n not in ("RUNNER_ABI_MINOR", "RUNNER_EXPORT", "RUNNER_SIZE_1_0", "RUNNER_SIZE_1_1")]
    lines = [f'P("{s}.{m}", offsetof(struct {s}, {m}), sizeof(((struct {s} *)0)->{m}));'
             for s, m in members(text)]
    lines += [f'C("{n}", {n});' for n in names]
    source = ('#include <sirdar/runner.h>\n#include <stdio.h>\n'
              '#define P(n, o, s) printf("%s at %zu size %zu\\n", n, (size_t)(o), (size_t)(s))\n'
              '#define C(n, v) printf("%s %lld\\n", n, (long long)(v))\n'
              'int main(void) {\n' + "\n".join(lines) + "\nreturn 0;\n}\n")
    with tempfile.TemporaryDirectory() as d:
        path = pathlib.Path(d) / "abi.c"
        path.write_text(source)
        subprocess.run(["gcc", "-std=c99", f"-I{HEADER.parents[1]}", "-o", f"{d}/abi", path], check=True)
        return subprocess.run([f"{d}/abi"], capture_output=True, text=True, check=True).stdout.splitlines()


def plugin(folder):
    """The template, built now, with what a debugger would know."""
    so = f"{folder}/hello.so"
    subprocess.run(["gcc", "-std=c99", "-g", "-O0", "-fPIC", "-shared", "-fvisibility=hidden",
                    f"-I{HEADER.parents[1]}", "-o", so, "plugins-sdk/template/hello.c"], check=True, cwd=ROOT)
    return so


def has_abidiff():
    return shutil.which("abidiff") and platform.machine() == "x86_64"


def changed():
    """What abidiff says of a plugin built now beside one of the release of this minor: the types behind the
    pointers too. None: it cannot be asked here."""
    if not has_abidiff():
        return None
    release = FOLDER / f"{version()}.abi"
    if not release.exists():
        return [f"{release.name} is missing: tests/lint/abi.py --write"]
    with tempfile.TemporaryDirectory() as d:
        done = subprocess.run(["abidiff", release, plugin(d)], capture_output=True, text=True)
    return [f"{release.name}: {line}" for line in done.stdout.splitlines() if line.strip()] if done.returncode else []


def write_seen():
    with tempfile.TemporaryDirectory() as d:
        seen = subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", plugin(d)],
                              capture_output=True, text=True, check=True).stdout
    (FOLDER / f"{version()}.abi").write_text(seen)


def version():
    found = re.findall(r"#define RUNNER_ABI_M(?:AJ|IN)OR (\d+)u", HEADER.read_text())
    return ".".join(found)


def main():
    now, path = measured(), FOLDER / f"{version()}.txt"
    if "--write" in sys.argv:
        path.write_text("\n".join(now) + "\n")
        if has_abidiff():
            write_seen()
        return 0
    bad = []
    for release in sorted(FOLDER.glob(version().split(".")[0] + ".*.txt")):
        bad += [f"{release.name}: `{line}` is no more" for line in release.read_text().splitlines()
                if line not in now]
    if not path.exists():
        bad.append(f"{path.name} is missing: tests/lint/abi.py --write")
    else:
        known = path.read_text().splitlines()
        bad += [f"`{line}` is new: count RUNNER_ABI_MINOR up, then tests/lint/abi.py --write"
                for line in now if line not in known]
    for line in bad:
        print("#", line)
    print("not ok" if bad else "ok", f"1 - the plugin contract is what its releases promised ({len(now)} lines)")
    other = changed()
    for line in other or []:
        print("#", line)
    print("not ok" if other else "ok", "2 - abidiff finds the releases kept"
          + (" # SKIP no abidiff (abigail-tools), or another machine" if other is None else ""))
    return 1 if bad or other else 0


if __name__ == "__main__":
    sys.exit(main())
