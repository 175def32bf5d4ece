"""Starts server processes for tests from one process that has imported their packages already.

`python -m tests.server_template` reads orders from its standard input, one JSON object a line, and answers each with a
line. Modules that read the environment or Django's settings are imported after the fork: by the server itself, or, when
an environment is ordered again, once by a helper, a fork that sets Django up and starts all servers of its environment.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

# Slow imports of a server. None starts a thread, opens a connection or reads Django's settings.
PACKAGES = (
    "ag_ui.core", "channels.routing", "cryptography.fernet", "django.contrib.admin.options",
    "django.contrib.auth.hashers", "django.contrib.postgres.fields", "django.core.handlers.asgi",
    "django.core.management", "django.test.signals", "django.views.i18n", "docstring_parser", "drf_spectacular.utils",
    "httpx2", "markdown_it", "mcp.types", "nh3", "openai", "opentelemetry.trace", "prometheus_client", "psycopg",
    "psycopg_pool", "pydantic.json_schema", "pygments.formatters", "pypdf", "redis.asyncio",
    "rest_framework.serializers", "twisted.internet.asyncioreactor", "uvicorn.lifespan.on", "uvicorn.loops.uvloop",
    "uvicorn.main", "uvicorn.protocols.http.httptools_impl", "uvicorn.protocols.websockets.websockets_sansio_impl",
    "whitenoise.middleware", "yaml",
)  # fmt: skip
POLL_SECONDS = 0.01


class Template:
    """The process that servers are forked from; `start` and `exit_code` are safe to call from any thread."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.server_template"]
        self._process = subprocess.Popen(
            command, cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._lock = threading.Lock()

    def start(self, module: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> ForkedProcess:
        """Run `python -m module` with its output in `log`."""
        order = {"module": module, "arguments": list(arguments), "environment": dict(environment), "log": str(log)}
        return ForkedProcess(self, int(self._answer(order)))

    def exit_code(self, pid: int) -> int | None:
        """Return a server's exit code, negative for a signal; None while it runs. It can be read only once."""
        code: int | None = self._answer({"ended": pid})
        return code

    def _answer(self, order: Mapping[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(order) + "\n")
            return json.loads(self._process.stdout.readline())


class ForkedProcess:
    """A server, with those methods of `subprocess.Popen` that the tests use."""

    def __init__(self, template: Template, pid: int) -> None:
        self.pid = pid
        self._template = template
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            self._code = self._template.exit_code(self.pid)
        return self._code

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("server", timeout)
            time.sleep(POLL_SECONDS)
        return code

    def send_signal(self, signal: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal)

    def kill(self) -> None:
        self.send_signal(9)


@cache
def template() -> Template:
    """This process's template; it ends with the process, when its input is closed."""
    return Template()


class Helper:
    """A fork of the template that has set Django up in one environment; `is_ready` says whether that went well."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        (orders, self._orders), (self._answers, answers) = (
            (os.fdopen(source, "rb", buffering=0), os.fdopen(target, "wb", buffering=0))
            for source, target in (os.pipe(), os.pipe())
        )
        if os.fork() == 0:
            self._orders.close()
            self._answers.close()
            said = _set_up(environment)
            answers.write(b"true\n")
            if (order := Loop(orders, answers).serve()) is not None:
                _become(order, said)
            sys.exit()
        orders.close()
        answers.close()
        self.is_ready = bool(self._answers.readline())

    def ask(self, order: Mapping[str, Any]) -> Any:
        self._orders.write(json.dumps(order).encode() + b"\n")
        return json.loads(self._answers.readline())


class Loop:
    """Answers orders: forks a server, or says how one has ended."""

    def __init__(self, orders: IO[bytes], answers: IO[bytes], *, has_helpers: bool = False) -> None:
        self._orders, self._answers, self._has_helpers = orders, answers, has_helpers
        self._ordered: set[str] = set()
        self._helpers: dict[str, Helper] = {}
        self._helper_of: dict[int, Helper] = {}

    def serve(self) -> Mapping[str, Any] | None:
        """Answer until the orders end. In a fork that is to be a server, return its order."""
        while line := self._orders.readline():
            order: dict[str, Any] = json.loads(line)
            answer = self._ended(order) if "ended" in order else self._start(order)
            if answer == 0 and "ended" not in order:
                self._orders.close()
                self._answers.close()
                return order
            self._answers.write(json.dumps(answer).encode() + b"\n")
        return None

    def _start(self, order: Mapping[str, Any]) -> int:
        helper = self._helper(order["environment"]) if self._has_helpers else None
        if helper is None or not helper.is_ready:
            return os.fork()
        pid: int = helper.ask(order)
        self._helper_of[pid] = helper
        return pid

    def _helper(self, environment: Mapping[str, str]) -> Helper | None:
        """Return the environment's helper; none at its first server, because many have only one."""
        name = json.dumps(environment, sort_keys=True)
        if name in self._ordered and name not in self._helpers:
            self._helpers[name] = Helper(environment)
        self._ordered.add(name)
        return self._helpers.get(name)

    def _ended(self, order: Mapping[str, Any]) -> Any:
        pid = order["ended"]
        if pid in self._helper_of:
            return self._helper_of[pid].ask(order)
        found, status = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if found else None


def _set_up(environment: Mapping[str, str]) -> bytes:
    """Set Django up, and return what that printed, which belongs into the log of each server."""
    _enter(environment)
    with tempfile.TemporaryFile() as printed:
        _print_to(printed.fileno())
        import django
        from django.db import connections

        django.setup()
        connections.close_all()
        gc.freeze()
        sys.stdout.flush()
        printed.seek(0)
        return printed.read()


def _enter(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def _print_to(file: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(source, target)
    sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]


def _become(order: Mapping[str, Any], said: bytes = b"") -> None:
    """Turn this fork into the server that was ordered; `said` is what setting Django up has printed."""
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    _print_to(log)
    os.write(log, said)
    sys.argv = [order["module"], *order["arguments"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


def main() -> None:
    for name in PACKAGES:
        importlib.import_module(name)
    # What is imported stays, so the collector of a fork need not look through it, nor copy its pages.
    gc.freeze()
    # Without buffers, because each fork would have copies of them; and on files of their own, because each prints.
    orders, answers = (os.fdopen(os.dup(number), mode, buffering=0) for number, mode in ((0, "rb"), (1, "wb")))
    if (order := Loop(orders, answers, has_helpers=True).serve()) is not None:
        _enter(order["environment"])
        _become(order)


if __name__ == "__main__":
    main()
