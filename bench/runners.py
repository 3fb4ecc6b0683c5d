#!/usr/bin/env python3
"""What runners cost: 1,000 HTTP requests in flight in one loader (`bench/run http`); a runner that touches files as a
process of its project's user beside one in the loader (`bench/run files`, as root)."""
import asyncio
import os
import resource
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "bench")]
from harness import Site, rss_kb, until  # noqa: E402
from whole import FIGURES, PRODUCTION, SCALE, figure  # noqa: E402


class Silent:
    """Takes requests, answers none before release()."""

    def __init__(self):
        self.held, self.most, self.loop = [], 0, asyncio.new_event_loop()
        self.ready = threading.Event()
        threading.Thread(target=self.loop.run_until_complete, args=(self.serve(),), daemon=True).start()
        self.ready.wait(30)

    async def serve(self):
        server = await asyncio.start_server(self.take, "127.0.0.1", 0, backlog=4096)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await server.serve_forever()

    async def take(self, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        self.held.append(writer)
        self.most = len(self.held)

    def release(self):
        def answer():
            for writer in self.held:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n")
                writer.close()
        self.loop.call_soon_threadsafe(answer)


def http():
    n = int(1000 * SCALE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    web = Silent()
    with Site("bench-http", **PRODUCTION) as s:
        egress = s.dir / "egress.conf"
        egress.write_text("allow 127.0.0.1\n")
        s.env["SIRDAR_EGRESS"] = os.environ["SIRDAR_EGRESS"] = str(egress)
        s.start(types=(f"http:{n}",))
        loader, = s.pids("taskrunner-loader")
        empty = rss_kb(loader)
        s.apply("workflow: many\nproject: bench\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n" +
                "".join(f"  t{i}: {{type: http, cycle: day, catchup: {{mode: all}}, params: {{url: 'http://127.0.0.1:{web.port}/{i}', "
                        "timeout: 1h}}\n" for i in range(n)), **{"from": "2026-03-01"})
        until("all are in flight", lambda: web.most >= n, 120)
        full = rss_kb(loader)
        web.release()
        s.wait_all_over(n=n, seconds=120)
        figure(f"http: RSS of a loader with {n} requests in flight", full / 1024, "MB", 150, "less",
               f"{empty / 1024:.1f} MB with none; {(full - empty) / n:.0f} KB each")


def each_ms(s, group, n):
    """A statement on a SQLite file, n times, one at a time."""
    name = f"files{group}{n}"
    began = time.monotonic()
    s.apply(f"workflow: {name}\nproject: bench\ntimezone: UTC\nstart_date: 2026-03-01\nend_date: 2026-03-01\ntasks:\n" +
            "".join(f"  t{i}: {{type: sql, group: {group}, cycle: day, catchup: {{mode: all}}, params: {{kind: sqlite, database: "
                    f"'{s.dir}/data/{group}.db', sql: 'create table if not exists t (n int); insert into t values (1)'}}}}\n" for i in range(n)),
            **{"from": "2026-03-01"})
    until(f"{n} of {name} are over", lambda: sum(i["task"].startswith(f"bench/{name}/") for i in s.instances(states="Succ")) == n, 300)
    return (time.monotonic() - began) * 1000 / n


def files():
    if os.geteuid() != 0:
        print("# files: needs root, for jobs of another user")
        return
    n = int(200 * SCALE)
    with Site("bench-files", **PRODUCTION) as s:
        s.base.start()
        s.start_cgi()
        (s.dir / "data").chmod(0o1777)
        s.add_broker("inside", types=("sql:1",), groups="inside")
        s.add_broker("apart", types=("sql:1",), groups="apart", job_uids="59040-59049")
        for group in ("inside", "apart"):
            each_ms(s, group, 10)
        inside, apart = each_ms(s, "inside", n), each_ms(s, "apart", n)
        figure("files: a statement on a SQLite file by a process of its project's user", apart, "ms", 60, "less",
               f"{inside:.1f} ms in the loader; {n} attempts, one slot each")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["http"]:
        {"http": http, "files": files}[name]()
    sys.exit(1 if any(not f[3] for f in FIGURES) else 0)
