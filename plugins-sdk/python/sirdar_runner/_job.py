"""One job: what it was given, what it may say."""
from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, TypeVar, Union, overload

T = TypeVar("T")
Send = Callable[[dict], None]


class Failure(Exception):
    """A job that did not succeed; raise one of the four below."""

    verdict = "retry"


class Retry(Failure):
    """Trying again may help."""


class Fatal(Failure):
    """Trying again cannot help."""

    verdict = "fatal"


class Infrastructure(Failure):
    """Not the job's fault; burns no attempt."""

    verdict = "infra"


class NotYet(Failure):
    """A sensor: ask again, not before `retry_after` seconds."""

    verdict = "not_yet"

    def __init__(self, text: str = "", retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class Cancelled(Exception):
    """The job was told to stop: from check() and pause()."""


@dataclass
class Result:
    """An end in full, for those who return more than an exit code."""

    exit_code: int = 0
    verdict: str = "code"  # code, retry, fatal, infra, not_yet
    text: str = ""
    retry_after_ms: int = 0


class Job:
    """Its methods may be called from any thread while `run` has not returned."""

    def __init__(self, message: Mapping[str, Any], send: Send) -> None:
        self._send = send
        self._stop = threading.Event()
        self.id: int = message["job"]
        self.type: str = message.get("type", "")
        self.task: str = message.get("task", "")
        self.task_id: int = message.get("task_id", 0)
        self.token: int = int(message.get("token", "0"))  # fence: larger is newer
        self.run_date: int = message.get("run_date", 0)  # seconds since 1970 UTC
        self.due_us: int = message.get("due_us", 0)
        self.part: int = message.get("part", 0)
        self.generation: int = message.get("generation", 0)
        self.attempt: int = message.get("attempt", 0)
        self.budget_ms: int = message.get("budget_ms", 0)  # 0: no limit
        self.grace_ms: int = message.get("grace_ms", 0)  # from cancelled to force
        self.timezone: str = message.get("timezone", "")
        self.params: Mapping[str, str] = message.get("params", {})
        self._secrets: Mapping[str, str] = message.get("secrets", {})

    # --- what it was given

    @overload
    def param(self, name: str) -> str: ...
    @overload
    def param(self, name: str, default: T) -> Union[str, T]: ...
    @overload
    def param(self, name: str, default: T, kind: Callable[[str], T]) -> T: ...

    def param(self, name, default=..., kind=str):  # type: ignore[no-untyped-def]
        """A parameter, read by `kind` (int, float, json.loads). One that misses and has no default, or
        cannot be read, is Fatal."""
        if name not in self.params:
            if default is ...:
                raise Fatal(f"parameter {name} is missing")
            return default
        try:
            return kind(self.params[name])
        except ValueError as e:
            raise Fatal(f"parameter {name} is '{self.params[name][:80]}', want {getattr(kind, '__name__', kind)}: {e}") from e

    def param_json(self, name: str, default: Any = ...) -> Any:
        """A list or a map."""
        return self.param(name, default, json.loads)

    def secret(self, name: str, default: Optional[str] = None) -> str:
        """A secret, by the name of the parameter that names it, or by its own."""
        for key in (self.params.get(name), name):
            if key is not None and key in self._secrets:
                return self._secrets[key]
        if default is not None:
            return default
        raise Fatal(f"secret {name} is not given to this task")

    # --- what it may say

    def progress(self, permille: int, text: Optional[str] = None) -> None:
        message = {"op": "progress", "job": self.id, "permille": max(0, min(1000, int(permille)))}
        self._send(message if text is None else {**message, "text": text})

    def output(self, name: str, value: Any) -> None:
        """A value for the job's children; a repeated name replaces."""
        self._send({"op": "output", "job": self.id, "name": name, "value": str(value)})

    def log(self, text: str, stream: str = "out") -> None:
        """A line of the job's log. print() does as well, from the job's own thread."""
        self._write(text if text.endswith("\n") else text + "\n", stream)

    def _write(self, text: str, stream: str) -> None:
        for at in range(0, len(text), 100000):
            self._send({"op": "log", "job": self.id, "stream": stream, "text": text[at:at + 100000]})

    @property
    def cancelled(self) -> bool:
        """Should it stop? Look in long loops."""
        return self._stop.is_set()

    def check(self) -> None:
        """Raise Cancelled once it should stop."""
        if self._stop.is_set():
            raise Cancelled()

    def pause(self, seconds: float) -> None:
        """sleep(), but Cancelled as soon as it should stop."""
        if self._stop.wait(seconds):
            raise Cancelled()
