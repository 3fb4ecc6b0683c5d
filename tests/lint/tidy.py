#!/usr/bin/env python3
"""clang-tidy and cppcheck over what we ship. A file that was clean and whose text, headers and
settings did not change is not looked at again (build/lint holds the proof).

The analyzer of clang walks the paths of a function until all is seen or a number of states is
reached; it goes first where it has not been. Nearly all of its time goes into the last of its
225,000 states: CI gives it 50,000 (a third of the time), HEAVY=1 all."""
import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from source import ROOT, Tap, files

B = os.environ.get("B", "build/gcc")
SHIPPED = ("lib/", "baseserver/", "broker/", "cgi/", "notifier/", "admin-console/cli/", "runners/", "plugins-sdk/")
FLAGS = ["-D_GNU_SOURCE", '-DSIRDAR_VERSION="x"', "-Ilib", "-Ischema", "-Iplugins-sdk/include", "-I.",
         f"-I{B}/gen"]
PROOF = ROOT / "build/lint"
STATES = [] if os.environ.get("HEAVY") else [f"--extra-arg={word}" for word in (
    "-Xclang", "-analyzer-config", "-Xclang", "max-nodes=50000")]


def fingerprint(tool, path):
    """Of the tool's settings, the file and all it includes (as the build's .d file says)."""
    h = hashlib.sha256()
    deps = {path, ".clang-tidy", "tests/lint/tidy.py"}
    made = ROOT / B / (path[:-2] + ".d")
    if made.is_file():
        deps |= set(re.findall(r"[\w./-]+\.(?:c|h|def)\b", made.read_text()))
    else:
        deps |= set(files(".h", ".def"))
    for dep in sorted(deps):
        if (ROOT / dep).is_file():
            h.update(dep.encode() + b"\0" + (ROOT / dep).read_bytes())
    full = "" if STATES or tool != "clang-tidy" else "-full"
    return PROOF / f"{tool}{full}-{h.hexdigest()[:32]}"


def tidy(path):
    out = subprocess.run(["clang-tidy", "--quiet", *STATES, path, "--", "-std=gnu11", *FLAGS], cwd=ROOT,
                         capture_output=True, text=True)
    found = [l.replace(str(ROOT) + "/", "") for l in out.stdout.splitlines()
             if re.search(r": (?:warning|error):", l)]
    return found or ([f"{path}: {out.stderr.strip()[-300:]}"] if out.returncode else [])


def cppcheck(path):
    out = subprocess.run(["cppcheck", "--quiet", "--std=c11", "--enable=warning,performance,portability",
                          "--inline-suppr", "--max-configs=1", "--error-exitcode=1",
                          "--suppress=missingInclude", "--suppress=missingIncludeSystem",
                          "--suppress=unknownMacro", "--suppress=*:build/*", "--suppress=normalCheckLevelMaxBranches",
                          "--suppress=varFuncNullUB",  # ours take a format: the compiler checks them
                          "--template={file}:{line}: {severity}: {message} [{id}]",
                          "-D__x86_64__", *FLAGS, path], cwd=ROOT, capture_output=True, text=True)
    return out.stderr.splitlines() if out.returncode else []


def clean(tool, function, tree):
    def one(path):
        proof = fingerprint(tool, path)
        if proof.is_file():
            return []
        faults = function(path)
        if not faults:
            proof.touch()
        return faults
    PROOF.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sorted({fault for faults in pool.map(one, tree) for fault in faults})


tap = Tap()
tree = [p for p in files(".c") if p.startswith(SHIPPED)]
for tool, function in (("clang-tidy", tidy), ("cppcheck", cppcheck)):
    name = f"{tool} finds nothing in {len(tree)} files"
    if shutil.which(tool):
        tap.check(name, clean(tool, function, tree))
    else:
        tap.skip(name, "not installed")
tap.end()
