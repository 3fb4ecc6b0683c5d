#!/usr/bin/env python3
"""/metrics as Prometheus reads it, what the figures say of work that was done, the dashboards and rules that
use them; and every thread of both daemons stopped in turn: /readyz and /healthz name who stalls. TAP."""
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exposition  # noqa: E402
from harness import ROOT, TESTS, Site, Skip, main, stand_still, test, until  # noqa: E402
from test_gates import folder_of, held, script, workflow  # noqa: E402

TESTS.clear()  # those of test_gates are its own

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17


def metrics(s):
    status, text = s.ask("GET", "/metrics")
    assert status == 200, f"/metrics: {status}"
    return exposition.parse(text.decode())


def table():
    rows = re.findall(r'^METRIC\((\w+), "(\w+)", (\w+), (\w+), "(.*)"\)$',
                      (ROOT / "schema/tbl/metric.def").read_text(), re.M)
    assert len(rows) > 50
    return {"sirdar_" + name: kind.lower() for _, name, kind, _, _ in rows}


def make():
    s = Site("metrics", placement="each", stall_ms=250)
    s.cgi.argv += ["--set", "stall_ms=250", "--set", "request_ms=1000"]
    return s.start()


@test
def every_figure_of_the_table_is_there_and_the_whole_is_well_formed(s):
    s.get("/api/v1/tasks")
    have, want = metrics(s), table()
    assert {n: f.type for n, f in have.items()} == want, set(want.items()) ^ {(n, f.type) for n, f in have.items()}
    n = sum(len(f.samples) for f in have.values())
    assert n < 6000, f"{n} samples"


@test
def work_moves_the_figures_of_gates_attempts_and_hand_over(s):
    folder = folder_of(s, "gates")
    s.sirdar("pool", "set", "narrow", "1")
    workflow(s, "measured", {"up": "type: noop",
                             "down": script(held(folder), needs="[up]", pools="{narrow: 1}", concurrency="8")},
             end="2026-03-03")
    until("two wait for the pool", lambda: metrics(s)["sirdar_gate_waiting"].of(gate="pools") == 2)
    now = metrics(s)
    assert now["sirdar_pool_slots_taken"].of(pool="narrow") == 1 and now["sirdar_pool_waiting"].of(pool="narrow") == 2
    (folder / "go").touch()
    s.wait_all_over("gates/measured*", 6)

    def all_counted():
        m = metrics(s)
        return m if m["sirdar_attempt_seconds"].of("_count", result="ok") == 6 else None
    m = until("six attempts are counted", all_counted)
    assert m["sirdar_gate_wait_seconds"].of("_count", gate="pools") == 2
    assert m["sirdar_gate_wait_seconds"].of("_sum", gate="pools") > 0
    assert m["sirdar_gate_wait_seconds"].of("_count", gate="dependencies") == 6
    assert m["sirdar_events_total"].of(event="grant") == 6
    assert m["sirdar_hand_over_seconds"].of("_count") == 6 and m["sirdar_jobs_sent_total"].of() == 6
    assert m["sirdar_commit_seconds"].of("_count") == m["sirdar_commits_total"].of()
    assert m["sirdar_broker_up"].of(broker="b1") == 1
    assert sum(v for (_, labels), v in m["sirdar_http_requests_total"].samples.items()
               if {("route", "/api/v1/commands"), ("method", "POST")} <= set(labels)) == 2
    assert m["sirdar_http_request_seconds"].of("_count", route="/metrics", method="GET") >= 1


# --- stalls


def threads_of(pid):
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as f:
            found[int(tid)] = f.read().strip()
    return found


class stopped:
    """One thread of a process stands still, the others go on."""

    def __init__(self, tid):
        self.tid = tid

    def __enter__(self):
        if LIBC.ptrace(PTRACE_SEIZE, self.tid, None, None) < 0:
            raise Skip("this machine does not let us stop a thread (ptrace)")
        assert LIBC.ptrace(PTRACE_INTERRUPT, self.tid, None, None) == 0
        os.waitpid(self.tid, 0x40000000)  # __WALL

    def __exit__(self, *_):
        LIBC.ptrace(PTRACE_DETACH, self.tid, None, None)


def says(s, path, status, words):
    def look():
        got, text = s.ask("GET", path)
        text = text.decode() if isinstance(text, bytes) else str(text)
        return text if got == status and words in text else None
    return until(f"{path} answers {status} with {words!r}", look, 60, every=0.05)


@test
def each_thread_of_the_server_that_stalls_makes_readyz_fail_by_its_name(s):
    seen = []
    for tid, name in sorted(threads_of(s.base.pid).items()):
        if tid == s.base.pid or name.startswith("worker"):
            continue
        says(s, "/readyz", 200, "ok")
        with stopped(tid):
            says(s, "/readyz", 503, f"{name} stalls")
            if name == "sorter":
                health = s.ask("GET", "/api/v1/health")
                assert health[0] == 503 and [a for a in health[1]["actors"] if a["name"] == name and not a["ok"]], health
        seen.append(name)
    assert {"ledger", "resolver", "sorter", "instantiator", "maintainer", "commander", "registrar", "params",
            "logkeeper", "forecaster", "lead", "router"} <= set(seen), seen
    says(s, "/readyz", 200, "ok")


@test
def a_server_or_worker_that_stands_still_makes_readyz_fail_and_says_so(s):
    worker = next(t for t, n in threads_of(s.base.pid).items() if n.startswith("worker"))
    with stopped(worker):
        says(s, "/readyz", 503, "baseserver does not answer")
    says(s, "/readyz", 200, "ok")
    stand_still(s.base.pid)
    try:
        says(s, "/readyz", 503, "baseserver does not answer")
        says(s, "/healthz", 200, "ok")
    finally:
        os.kill(s.base.pid, signal.SIGCONT)
    says(s, "/readyz", 200, "ok")


@test
def each_actor_of_the_cgi_that_stalls_makes_healthz_and_readyz_fail_by_its_name(s):
    for name in ("net", "disk", "hash"):
        tid = next(t for t, n in threads_of(s.cgi.pid).items() if n == name)
        with stopped(tid):
            says(s, "/healthz", 503, f"{name} stalls")
            says(s, "/readyz", 503, f"{name} stalls")
        says(s, "/readyz", 200, "ok")


# --- dashboards and rules


WORDS = set("sum max min by rate increase changes time topk histogram_quantile and or on ignoring without".split())


def used(expr):
    """Metrics of a PromQL expression, and the labels it names of each selector and grouping."""
    quoted = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expr)
    groups = re.findall(r"\b(?:by|on|without|ignoring) \(([^)]*)\)", quoted)
    labels = {w.strip() for g in groups for w in g.split(",")}
    labels |= {w for g in re.findall(r"\{([^}]*)\}", quoted) for w in re.findall(r"(\w+)\s*[=!]", g)}
    bare = re.sub(r"\b(?:by|on|without|ignoring) \([^)]*\)|\{[^}]*\}|\[[^\]]*\]", "", quoted)
    return {w for w in re.findall(r"[a-zA-Z_]\w*", bare) if w not in WORDS}, labels


def check_expression(have, where, expr):
    names, labels = used(expr)
    assert expr.count("(") == expr.count(")") and expr.count("{") == expr.count("}"), f"{where}: {expr}"
    known = {"instance", "le", "job"}
    for name in names - {"up"}:
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        f = have.get(name) or have.get(base)
        assert f and (name != base) == (f.type == "histogram"), f"{where}: no metric {name}: {expr}"
        known |= {k for (_, own) in f.samples for k, _ in own} if f.samples else labels
        if f.type == "counter":
            assert re.search(r"(rate|increase)\(" + name, expr), f"{where}: {name} is a counter: {expr}"
    assert names and labels <= known, f"{where}: labels {labels - known}: {expr}"


def all_used():
    """-> (where, expression) of every panel and rule."""
    for path in sorted((ROOT / "packaging/grafana").glob("*.json")):
        board = json.loads(path.read_text())
        assert board["uid"] == path.stem and len({p["id"] for p in board["panels"]}) == len(board["panels"])
        for p in board["panels"]:
            for t in p["targets"]:
                yield f"{path.name}: {p['title']}", t["expr"].replace("$__rate_interval", "5m")
    for expr in re.findall(r"^ +expr: (.*)$", (ROOT / "packaging/prometheus/sirdar.rules.yml").read_text(), re.M):
        yield "sirdar.rules.yml", expr


@test
def every_panel_and_rule_names_metrics_and_labels_that_are_there(s):
    have, seen = metrics(s), set()
    n = 0
    for n, (where, expr) in enumerate(all_used(), 1):
        check_expression(have, where, expr)
        seen |= {re.sub(r"_(bucket|sum|count)$", "", w) for w in used(expr)[0]}
    assert n > 70, n
    assert set(have) <= seen, f"nowhere shown: {sorted(set(have) - seen)}"


@test
def every_alert_has_a_severity_and_a_paragraph_of_the_manual(_):
    rules = (ROOT / "packaging/prometheus/sirdar.rules.yml").read_text()
    manual = (ROOT / "docs/book/en/watch.md").read_text()
    names, links = re.findall(r"alert: (\w+)", rules), re.findall(r'runbook_url: "docs/book/en/watch\.md#(alert-[a-z-]+)"', rules)
    assert len(names) == len(links) == len(set(names)) == len(re.findall(r"severity: (?:critical|warning|info)$", rules, re.M))
    for link in links:
        assert f'<a id="{link}"></a>' in manual, f"{link}: not in docs/book/en/watch.md"


@test
def promtool_finds_nothing_to_say(s):
    if not shutil.which("promtool"):
        raise Skip("no promtool (Debian: prometheus)")
    done = subprocess.run(["promtool", "check", "rules", ROOT / "packaging/prometheus/sirdar.rules.yml"],
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["promtool", "check", "metrics"], input=s.ask("GET", "/metrics")[1],
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["promtool", "check", "metrics"], input=s.ask("GET", "/metrics")[1], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main(make))
