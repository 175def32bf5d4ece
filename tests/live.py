"""Real server processes for tests: the site under uvicorn or daphne, on the database and Redis of the test run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection

from assistant.core.values.frame_sizes import HTTP_PROTOCOL, MAX_SERVER_FRAME
from tests.server_template import ForkedProcess, template

KINDS = ("uvicorn", "daphne")
START_SECONDS = 90.0
STOP_SECONDS = 15.0


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_database_url() -> str:
    """Return the URL of the test run's database, for another process."""
    config: dict[str, Any] = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{config['NAME']}"
    secret = quote(config["PASSWORD"] or "", safe="")
    user = quote(config["USER"] or "", safe="") + (f":{secret}" if secret else "")
    return f"postgres://{user}@{config['HOST'] or '127.0.0.1'}:{config['PORT'] or 5432}/{config['NAME']}"


class Server:
    """One running server process; `url` is its origin, `log` what it has printed so far."""

    def __init__(self, kind: str, port: int, process: ForkedProcess | subprocess.Popen[bytes], log_path: Path) -> None:
        self.kind = kind
        self.url = f"http://127.0.0.1:{port}"
        self.process = process
        self._log_path = log_path

    @property
    def log(self) -> str:
        return self._log_path.read_text(errors="replace")

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        self.process.kill()
        self.process.wait(STOP_SECONDS)

    def stop(self, timeout: float = STOP_SECONDS) -> int:
        """Ask it to end, as a service manager does, and return the exit code. Kill it after `timeout` seconds."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

    def wait_ready(self, path: str = "/healthz") -> None:
        """Block until it answers. Raises `AssertionError` with its log when it ends or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(self.url + path, timeout=5) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.05)
        raise AssertionError(f"{self.kind} did not start:\n{self.log[-4000:]}")


def _arguments(kind: str, port: int, application: str) -> list[str]:
    if kind == "worker":
        return ["assistant_worker", "--port", str(port)]
    if kind == "daphne":
        return ["-b", "127.0.0.1", "-p", str(port), application]
    return [
        "--host", "127.0.0.1", "--port", str(port), "--http", HTTP_PROTOCOL,
        "--ws", "websockets-sansio", "--ws-max-size", str(MAX_SERVER_FRAME),
        "--ws-per-message-deflate", "false", "--no-access-log", application,
    ]  # fmt: skip


def _start(
    kind: str, arguments: list[str], environment: dict[str, str], folder: Path, log_path: Path
) -> ForkedProcess | subprocess.Popen[bytes]:
    """Fork a server of this checkout from the template, which saves most imports; start another project's directly."""
    kind = "django" if kind == "worker" else kind
    if folder == settings.BASE_DIR:
        return template().start(kind, arguments, environment, log_path)
    with log_path.open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", kind, *arguments],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


@contextmanager
def serve(
    kind: str = "uvicorn",
    *,
    env: Mapping[str, str] | None = None,
    application: str = "config.asgi:application",
    folder: Path = settings.BASE_DIR,
    health: str = "/healthz",
    options: Sequence[str] = (),
) -> Iterator[Server]:
    """Run the site in a process of its own; `env` adds to its environment. Another project has its own `folder`.

    `options` are added to those of the server's command, and override them.

    Needs rows that are committed: use it with the `transactional_db` fixture.
    """
    shared.stop_unless_lent()
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "TEST_DATABASE_URL": test_database_url(),
        "TEST_REDIS_URL": settings.ASSISTANT_REDIS_URL,
        "PYTHONUNBUFFERED": "1",
        **(env or {}),
    }
    with tempfile.TemporaryDirectory(prefix="tenant-assistant-server-") as scratch:
        log_path = Path(scratch) / "server.log"
        log_path.touch()
        arguments = [*_arguments(kind, port, application), *options]
        process = _start(kind, arguments, environment, folder, log_path)
        server = Server(kind, port, process, log_path)
        try:
            server.wait_ready(health)
            yield server
        finally:
            server.stop()


class SharedServer:
    """A server that is started by the first test that needs it, and stays for the next ones.

    It ends before a server of another kind or of a test's own is started: each process does the jobs and goes on with
    the dead runs of the database that it serves, so it would take those away from the server that a test watches.
    """

    def __init__(self) -> None:
        self._running = ExitStack()
        self._server: Server | None = None
        self._environment: Mapping[str, str] = {}
        self._is_lent = False

    @contextmanager
    def lend(self, kind: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
        """Give a test the server of a kind, with more in its environment.

        It is not ended before the test is, whatever else the test starts.
        """
        wanted, own = env or {}, self._server
        if own is None or own.kind != kind or self._environment != wanted or own.process.poll() is not None:
            own = self._running.enter_context(serve(kind, env=wanted))
            self._server, self._environment = own, wanted
        self._is_lent = True
        try:
            yield own
        finally:
            self._is_lent = False

    def stop_unless_lent(self) -> None:
        if not self._is_lent:
            self._server = None
            self._running.close()


shared = SharedServer()
