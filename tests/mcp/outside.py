"""The external MCP server of `outside_app`, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live import START_SECONDS, free_port

ROOT = Path(__file__).resolve().parents[2]


class Outside:
    """A running server; `url` is its MCP endpoint."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self.url = f"{self.origin}/mcp"
        self.process = process

    def be(self, **state: Any) -> None:
        """Change its behaviour, and notify subscribers that its tools have changed."""
        request = urllib.request.Request(f"{self.origin}/control", json.dumps(state).encode(), method="POST")
        urllib.request.urlopen(request, timeout=10).close()

    def calm(self) -> None:
        """Restore the initial behaviour."""
        self.be(
            description="Say it back.",
            hidden=[],
            added=0,
            list_delay=0,
            token="",
            is_older=False,
            is_hasty=False,
            failing=[],
            schemas=[],
            clear=True,
        )

    def log(self) -> list[dict[str, Any]]:
        """Return the calls that it received."""
        with urllib.request.urlopen(f"{self.origin}/log", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@contextmanager
def outside(port: int = 0, app: str = "tests.mcp.outside_app:app") -> Iterator[Outside]:
    """Run it, or another application like it, until the block ends."""
    port = port or free_port()
    command = [sys.executable, "-m", "uvicorn", "--port", str(port), "--no-access-log", app]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        server = Outside(port, process)
        try:
            _wait(server, log)
            yield server
        finally:
            server.kill()


def _wait(server: Outside, log: Any) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            server.log()
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    log.seek(0)
    raise AssertionError(f"the external server did not start:\n{log.read().decode()[-3000:]}")
