"""The process: descriptor 3 tells, 4 is told. One thread reads, each job has a thread of its own."""
from __future__ import annotations

import io
import json
import os
import platform
import sys
import threading
import traceback
from queue import SimpleQueue
from typing import Any, Callable, Dict, Optional, Union

from ._job import Cancelled, Failure, Job, NotYet, Result

VERSION = "1.0"
PROTOCOL = 1
FD_IN, FD_OUT = 3, 4
SIGTERM = 15

Run = Callable[[Job], Union[None, int, Result]]


class _Link:
    """Whole lines, from any thread."""

    def __init__(self, fd_in: int, fd_out: int) -> None:
        self.incoming = io.BufferedReader(io.FileIO(fd_in, "r"), 1 << 16)
        self._fd = fd_out
        self._mu = threading.Lock()
        self._encode = json.JSONEncoder(separators=(",", ":")).encode

    def send(self, message: dict) -> None:
        line = self._encode(message).encode() + b"\n"
        with self._mu:
            while line:
                line = line[os.write(self._fd, line):]


class _Stream(io.TextIOBase):
    """sys.stdout and sys.stderr while several jobs may run: what a job's thread prints is its own."""

    def __init__(self, plain: Any, name: str, current: threading.local) -> None:
        self._plain, self._name, self._current = plain, name, current

    def write(self, text: str) -> int:
        job: Optional[Job] = getattr(self._current, "job", None)
        if job is None:
            return int(self._plain.write(text))
        if text:
            job._write(text, self._name)
        return len(text)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        self._plain.flush()

    def fileno(self) -> int:
        return int(self._plain.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"


def _end_of(run: Run, job: Job) -> Result:
    try:
        got = run(job)
    except Cancelled:
        return Result(-SIGTERM, text="stopped when it was told to")
    except NotYet as e:
        return Result(0, e.verdict, str(e), int(e.retry_after * 1000))
    except Failure as e:
        return Result(1, e.verdict, str(e))
    except SystemExit as e:  # what a script would have ended with
        if e.code is None or isinstance(e.code, int):
            return Result(int(e.code or 0) & 255)
        print(e.code, file=sys.stderr)
        return Result(1)
    except BaseException as e:  # noqa: BLE001
        if job.cancelled:
            return Result(-SIGTERM, text="stopped when it was told to")
        traceback.print_exc()
        return Result(1, text=f"{type(e).__name__}: {e}")
    if isinstance(got, Result):
        return got
    return Result(got or 0)


class _Server:
    def __init__(self, run: Run, name: str, version: str, concurrency: int, link: _Link) -> None:
        self.run, self.name, self.version, self.concurrency, self.link = run, name, version, concurrency, link
        self.jobs: Dict[int, Job] = {}
        self.idle: "SimpleQueue[Optional[Job]]" = SimpleQueue()
        self.current = threading.local()
        self.threads = 0

    def hello(self, message: dict) -> None:
        if message.get("protocol") != PROTOCOL:
            sys.exit(f"sirdar_runner: the broker speaks protocol {message.get('protocol')}, this SDK {PROTOCOL}")
        self.link.send({"op": "hello", "protocol": PROTOCOL, "name": self.name, "version": self.version,
                        "sdk": f"python/{VERSION} {platform.python_version()}", "concurrency": self.concurrency})

    def work(self) -> None:
        while True:
            job = self.idle.get()
            if job is None:
                return
            self.current.job = job if self.concurrency > 1 else None
            end = _end_of(self.run, job)
            self.current.job = None
            self.done(job, end)

    def done(self, job: Job, end: Result) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        self.jobs.pop(job.id, None)
        message: Dict[str, Any] = {"op": "done", "job": job.id}
        if end.exit_code:
            message["exit_code"] = end.exit_code
        if end.verdict != "code":
            message["verdict"] = end.verdict
        if end.text:
            message["text"] = end.text[:2000]
        if end.retry_after_ms:
            message["retry_after_ms"] = end.retry_after_ms
        self.link.send(message)

    def take(self, message: dict) -> None:
        job = Job(message, self.link.send)
        self.jobs[job.id] = job
        if self.threads < min(self.concurrency, len(self.jobs)):
            self.threads += 1
            threading.Thread(target=self.work, name=f"job-{self.threads}", daemon=True).start()
        self.idle.put(job)

    def kill(self, message: dict) -> None:
        job = self.jobs.get(message["job"])
        if job is not None:
            job._stop.set()

    def ping(self, message: dict) -> None:
        self.link.send({"op": "pong", "n": message["n"]})

    def listen(self) -> None:
        take = {"hello": self.hello, "run": self.take, "kill": self.kill, "ping": self.ping}
        for line in self.link.incoming:
            message = json.loads(line)
            if message["op"] == "bye":
                break
            take[message["op"]](message)


def serve(run: Run, *, name: str = "", version: str = "", concurrency: int = 1) -> None:
    """Take jobs until the broker is gone. With `concurrency` above 1, `run` is called from as many
    threads at a time. Never returns to a process that the broker did not start: it ends with 64."""
    if os.environ.get("SIRDAR_GUEST") is None:
        print("This is a runner of Sirdar; a broker starts it, or: sirdar-runner-run TYPE.yaml --job job.yaml",
              file=sys.stderr)
        sys.exit(64)
    for fd in (FD_IN, FD_OUT):
        os.set_inheritable(fd, False)  # programs that a job starts must not hold them
    server = _Server(run, name, version, max(1, concurrency), _Link(FD_IN, FD_OUT))
    if concurrency > 1:
        sys.stdout = _Stream(sys.stdout, "out", server.current)  # type: ignore[assignment]
        sys.stderr = _Stream(sys.stderr, "err", server.current)  # type: ignore[assignment]
    try:
        server.listen()
    finally:
        sys.stdout.flush()
        os._exit(0 if sys.exc_info()[0] is None else 1)
