"""Follows a document as somebody does who has one shell open."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.live import free_port

SECONDS = 240


class Reader:
    """Runs blocks in a folder: what one exports lasts, and a server has a free port in place of 8000."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *, probe: str = "/healthz") -> None:
        self.folder = folder
        self.port = free_port()
        self._probe = f"http://127.0.0.1:{self.port}{probe}"
        self._state = folder.parent / "state.sh"
        self._state.write_text("")
        self._environment = {**environment, "PORT": str(self.port)}

    def _start(self, script: str, *, keeps: bool = True) -> subprocess.Popen[str]:
        script = re.sub(r"(127\.0\.0\.1:|--port )8000", rf"\g<1>{self.port}", script)
        after = f"\nexport -p > {self._state}" if keeps else ""
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", f". {self._state}\n{script}{after}"], cwd=self.folder,
            env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True,
        )  # fmt: skip

    def run(self, script: str, *, keeps: bool = True) -> str:
        """Return what a script printed. Raises `AssertionError` with its last words if it fails."""
        process = self._start(script, keeps=keeps)
        told = process.communicate(timeout=SECONDS)[0]
        assert process.returncode == 0, told[-4000:]
        return told

    @contextmanager
    def serving(self, script: str) -> Iterator[subprocess.Popen[str]]:
        """Run a script that serves until it is stopped, once it answers."""
        process = self._start(script, keeps=False)
        try:
            self._wait_for_answer(process)
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=60)

    def _wait_for_answer(self, process: subprocess.Popen[str]) -> None:
        deadline = time.monotonic() + SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(self._probe, timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        raise AssertionError(process.communicate(timeout=60)[0][-4000:])
