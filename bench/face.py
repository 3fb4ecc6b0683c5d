#!/usr/bin/env python3
"""The HTTP face under wrk, each figure beside that of a handler that does nothing, on the same machine at the
same time: GET of one instance, of a thousand in turn, of a page of 100 (also while instances change); event
streams held, their memory, and the scheduler's hand-over meanwhile.

    bench/run face            all
    bench/face.py get|page|sse

Wants wrk. The client takes its share of the processors: the figure of /healthz says how much is left.
"""
import os
import re
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/e2e"))
from harness import Site, rss_kb, seconds_of, until  # noqa: E402

SECONDS = int(os.environ.get("SECONDS", "4"))
STREAMS = int(os.environ.get("STREAMS", "10000"))
PAIRS, EACH = int(os.environ.get("PAIRS", "4")), int(os.environ.get("EACH", "15"))
DAYS = 1000


def wrk(s, path, lua=None, connections=64):
    argv = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "-H", f"Authorization: Bearer {s.token}"]
    if lua:
        script = s.dir / "wrk.lua"
        script.write_text(lua)
        argv += ["-s", str(script)]
    out = subprocess.run([*argv, f"http://127.0.0.1:{s.http}{path}"], capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in out and "Socket errors" not in out, out
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        word = f.read().rsplit(")", 1)[1].split()
    return (int(word[11]) + int(word[12])) / os.sysconf("SC_CLK_TCK")


def line(what, value, limit, more=""):
    print(f"{what:<46} {value:>10} {limit:>14}  {more}", flush=True)


def filled():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # the cgi holds two of each connection
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    s = Site("face")
    s.cgi.argv += ["--set", "connections_max=20000", "--set", "connections_per_address_max=20000", "--set", "events_max=20000"]
    s.start(types=("noop:64",))
    line("idle RSS of the cgi", f"{rss_kb(s.cgi.pid) / 1024:.1f} MB", "<= 15 MB")
    s.apply("workflow: w\nproject: p\ntimezone: UTC\nstart_date: 2026-01-01\ntasks:\n  t: {type: noop, cron: '0 * * * *', concurrency: 64, "
            "catchup: {mode: none}}\n  u: {type: noop, cycle: none}\n")
    s.command_over(s.command("backfill", selection={"tasks": ["p/w/t"], "from": "2026-01-01", "to": "2026-02-11"}))
    s.wait_all_over("p/w/t", n=DAYS, seconds=120)
    s.ids = [i["id"] for i in s.instances("p/w/t")][:DAYS]
    return s


def in_turn(paths):
    """A script of wrk: its own cost is why the trivial handler is asked with one too."""
    return ("local paths, n, all = {%s}, 0, {}\ninit = function()\n for i = 1, #paths do all[i] = wrk.format('GET', paths[i]) end\n"
            "end\nrequest = function()\n n = n %% #paths + 1\n return all[n]\nend\n" % ",".join(f"'{p}'" for p in paths))


def gets(s):
    for what, paths in (("GET of one instance", s.ids[7:8]), ("GET of 1,000 instances in turn", s.ids)):
        paths = [f"/api/v1/instances/{i}" for i in paths]
        trivial = wrk(s, "/healthz", in_turn(["/healthz"] * len(paths)) if len(paths) > 1 else None)
        line("/healthz: the limit of a trivial handler", f"{trivial:,.0f}/s", "")
        before, rate = cpu_s(s.cgi.pid), wrk(s, paths[0], in_turn(paths) if len(paths) > 1 else None)
        line(what, f"{rate:,.0f}/s", ">= 30,000/s", f"{rate / trivial:.2f} of the trivial one, cgi "
             f"{(cpu_s(s.cgi.pid) - before) / SECONDS * 100:.0f} % of a processor")


def pages(s):
    trivial = wrk(s, "/healthz")
    for what, path in (("GET of a page of 100", "/api/v1/instances?limit=100"),
                       ("the same, newest first, of a task", "/api/v1/instances?limit=100&order=desc&task=p/w/t")):
        rate = wrk(s, path)
        size = len(str(s.get(path)))
        line(what, f"{rate:,.0f}/s", ">= 3,000/s", f"{rate / trivial:.2f} of the trivial one, {size // 1024} KiB each")


def handover(s, n=40):
    """A command a second: from it to the end of the no-op that it starts, median in ms."""
    took = []
    for _ in range(n):
        began = time.time()
        s.command("run-now", selection={"tasks": ["p/w/u"]}, off_plan=True)
        rows = until("it has started", lambda b=began: [i for i in s.instances("p/w/u", order="desc", limit=1)
                                                        if i["state"] == "Succ" and seconds_of(i["ended"]) >= b], 30)
        took.append((seconds_of(rows[0]["ended"]) - seconds_of(rows[0]["effective_due"])) * 1000)
        time.sleep(max(0, 1.01 - (time.time() - began)))
    return sorted(took)[len(took) // 2]


def open_streams(s):
    # they are elsewhere, as far as that can be had on one machine
    clients = subprocess.Popen(["nice", "-n", "19", s.dir / "streams", str(s.http), str(STREAMS), "/api/v1/events?states=Succ"],
                               env={**os.environ, "SIRDAR_TOKEN": s.token},
                               stdout=subprocess.PIPE, text=True)
    until("the streams are open", lambda: held(s) >= STREAMS, 120, every=0.2)
    return clients


def close_streams(s, clients):
    clients.terminate()
    clients.wait()
    until("the streams are gone", lambda: held(s) == 0, 60, every=0.2)


def streams(s):
    """By turns with none: a machine that others use changes from minute to minute."""
    before, pairs, used, served, told, took = rss_kb(s.cgi.pid), [], 0, 0, 0, 0
    subprocess.run(["cc", "-O2", "-o", s.dir / "streams", os.path.join(os.path.dirname(os.path.abspath(__file__)), "streams.c")], check=True)
    for _ in range(PAIRS):
        quiet = handover(s, EACH)
        clients = open_streams(s)
        cpu, base, seen, began = cpu_s(s.cgi.pid), cpu_s(s.base.pid), messages(s), time.monotonic()
        pairs.append((handover(s, EACH), quiet))
        took += time.monotonic() - began
        used, served, told = used + cpu_s(s.cgi.pid) - cpu, served + cpu_s(s.base.pid) - base, told + messages(s) - seen
        most = rss_kb(s.cgi.pid)
        close_streams(s, clients)
    line(f"{STREAMS:,} event streams, 1 event/s each", f"{most / 1024:.0f} MB", "<= 200 MB",
         f"{before / 1024:.0f} MB before; {told / took / STREAMS:.2f} events/s each, {used / told * 1e6:.1f} us of the cgi an event, "
         f"{used / took * 100:.0f} % of a processor; baseserver {served / took * 100:.1f} %")
    busy, quiet = (sorted(p[k] for p in pairs)[len(pairs) // 2] for k in (0, 1))
    ratio = sorted(p[0] / p[1] for p in pairs)[len(pairs) // 2]
    line("hand-over p50 meanwhile", f"{busy:.2f} ms", f"<= {1.5 * quiet:.2f} ms",
         f"{quiet:.2f} ms without; {ratio:.2f} times, pairs " + ", ".join(f"{a / b:.2f}" for a, b in pairs))


def messages(s):
    return int(re.search(r"^sirdar_cgi_stream_messages_total (\d+)", s.ask("GET", "/metrics")[1].decode(), re.M).group(1))


def held(s):
    text = s.ask("GET", "/metrics")[1].decode()
    return int(re.search(r"^sirdar_cgi_streams (\d+)", text, re.M).group(1))


def main():
    parts = {"get": gets, "page": pages, "sse": streams}
    chosen = [parts[n] for n in sys.argv[1:]] or list(parts.values())
    with filled() as s:
        for part in chosen:
            part(s)
    return 0


if __name__ == "__main__":
    sys.exit(main())
