"""Starts server processes for tests from one process that has imported their packages already.

`python -m tests.server_template` reads orders from its standard input, one JSON object a line, and answers each with a
line. Modules that read the environment or Django's settings are imported by the servers themselves, after the fork.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

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


def _become(order: Mapping[str, Any]) -> None:
    """Turn this fork into the server that was ordered."""
    os.environ.clear()
    os.environ.update(order["environment"])
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
    sys.argv = [order["module"], *order["arguments"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


def _ended(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def main() -> None:
    for name in PACKAGES:
        importlib.import_module(name)
    # What is imported stays, so the collector of a fork need not look through it, nor copy its pages.
    gc.freeze()
    # Without a buffer, because each fork would have a copy of it.
    with open(0, "rb", buffering=0, closefd=False) as orders:
        while line := orders.readline():
            order = json.loads(line)
            answer = _ended(order["ended"]) if "ended" in order else os.fork()
            if answer == 0 and "ended" not in order:
                break
            print(json.dumps(answer), flush=True)
        else:
            return
    _become(order)


if __name__ == "__main__":
    main()
