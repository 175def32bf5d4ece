"""Runs the embedded model's server as a child process: starts it, restarts it when it dies, and stops it."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess  # nosec B404
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

logger = logging.getLogger(__name__)

DEFAULT_PORT = 8011
ROOT = Path(__file__).resolve().parents[3]
_STOP_SECONDS = 5.0
_MAX_RESTARTS = 5
_FIRST_PAUSE_SECONDS = 0.5


class EmbeddedServer:
    """A running server, which is restarted up to five times when its process dies.

    It ends with the `with` block, by `stop()`, or with this process, however that ends: the server reads from a pipe
    that closes then.
    """

    def __init__(self, command: Sequence[str], port: int, *, environment: Mapping[str, str] | None = None) -> None:
        self.port = port
        self._command = list(command)
        self._environment = dict(environment or os.environ)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process = self._spawn()
        self._watcher = threading.Thread(target=self._watch, name="embedded-model", daemon=True)
        self._watcher.start()

    @property
    def base_url(self) -> str:
        """The address for OpenAI clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The current server process."""
        return self._process

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process and wait for it. May be called twice."""
        self._stopping.set()
        with self._lock:
            self._end()
        self._watcher.join(_STOP_SECONDS)

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def _spawn(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, cwd=ROOT, env=self._environment, stdin=subprocess.PIPE)  # noqa: S603  # nosec B603

    def _end(self) -> None:
        process = self._process
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _close_pipe(process)

    def _watch(self) -> None:
        for restart in range(_MAX_RESTARTS + 1):
            status = self._process.wait()
            if self._stopping.is_set():
                return
            if restart == _MAX_RESTARTS:
                logger.error("The embedded model's server exited with status %s, and is not restarted any more", status)
                return
            logger.warning("The embedded model's server exited with status %s; restarting it", status)
            if self._stopping.wait(_FIRST_PAUSE_SECONDS * 2**restart):
                return
            with self._lock:
                if self._stopping.is_set():
                    return
                _close_pipe(self._process)
                self._process = self._spawn()


def start_server(port: int | None = None, *, read_ahead: bool = True) -> EmbeddedServer:
    """Start `assistant_local_model serve`; wait for it with `is_ready(server.base_url)`.

    Args:
        port: where to listen on 127.0.0.1; default 8011, or any free port if that is taken.
        read_ahead: process the assistants' tools and prompts before the first request.
    """
    chosen = port or _free_port(DEFAULT_PORT)
    serve = ["assistant_local_model", "serve", "--port", str(chosen), "--until-stdin-closes"]
    if not read_ahead:
        serve.append("--no-read-ahead")
    return EmbeddedServer([sys.executable, str(ROOT / "manage.py"), *serve], chosen)


def _free_port(preferred: int) -> int:
    for port in (preferred, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise OSError("no port is free on 127.0.0.1")


def _close_pipe(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
