#!/usr/bin/env python3
"""schemathesis over all of /api/v1, from schema/openapi.yaml: what is valid, what is not, and operations in a row
(stateful), against the real programs. HEAVY; it wants schemathesis from PyPI (a venv below build/). The CI's own
generator is test_generated.py. TAP.

    HEAVY=1 tests/e2e/test_schemathesis.py      EXAMPLES=100, SEED=6
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from alert_site import AlertSite  # noqa: E402
from harness import ROOT, TESTS, Skip, main, test  # noqa: E402
from test_gates import script, workflow  # noqa: E402

TESTS.clear()  # those of test_gates are its own
VENV = ROOT / "build/schemathesis"
EXAMPLES, SEED = os.environ.get("EXAMPLES", "25"), os.environ.get("SEED", "6")
# An answer that does not end, and those that would take away what we ask with.
LEFT_OUT = ["/api/v1/events", "/api/v1/logout", "/api/v1/login", "/api/v1/password", "/api/v1/session/proof"]
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def tool():
    """The program; a Skip where there is no registry."""
    exe = VENV / "bin/schemathesis"
    if not exe.exists():
        for argv in ([sys.executable, "-m", "venv", VENV], [VENV / "bin/pip", "install", "-q", "schemathesis>=4,<5"]):
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Skip(f"schemathesis is not to be had: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return exe


def make():
    if not os.environ.get("HEAVY"):
        raise Skip("HEAVY=1")
    tool()
    s = AlertSite("schemathesis")
    s.start()
    workflow(s, "w", {"a": script("echo a"), "b": script("exit 1", needs="[a]")}, project="p")
    s.wait_all_over("p/w*", 2)
    return s


def run(s, phases):
    left = [w for path in LEFT_OUT for w in ("--exclude-path", path)]
    done = subprocess.run([tool(), "run", ROOT / "schema/openapi.yaml", "--url", f"http://127.0.0.1:{s.http}",
                           "--header", f"Authorization: Bearer {s.token}", "--phases", phases, "--checks", CHECKS, "--max-examples", EXAMPLES,
                           "--seed", SEED, "--mode", "all", "--continue-on-failure", "--suppress-health-check", "all", "--warnings", "off",
                           "--request-timeout", "30", "--generation-database", "none", "--no-color", "--max-time", os.environ.get("MAX_S", "600"), *left],
                          capture_output=True, text=True, cwd=s.dir, check=False)
    print("# " + "\n# ".join(done.stdout.splitlines()[-25:]))
    assert s.base.proc.poll() is None and s.cgi.proc.poll() is None, s.logs()
    assert done.returncode == 0, re.sub(r"(?m)^", "  ", done.stdout[-12000:]) + done.stderr[-2000:]


@test
def what_is_valid_and_what_is_not_gets_an_answer_the_description_knows(s):
    run(s, "examples,coverage,fuzzing")


@test
def operations_in_a_row_do_too(s):
    run(s, "stateful")


if __name__ == "__main__":
    sys.exit(main(make))
