"""Server processes: started, measured for CPU time and memory, and ended by their own process id."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.peers import ROOT

START_SECONDS = 90.0
SETTLE_SECONDS = 60.0


class Process:
    """A running process. Its standard error goes to the file `log`."""

    def __init__(self, popen: subprocess.Popen[str], log: Path) -> None:
        self.popen = popen
        self.log = log

    def cpu(self) -> float:
        """Return the seconds of CPU time that all its threads have used, user and system."""
        # The id of another process's CPU clock, as clock_getcpuclockid(3) computes it: it counts nanoseconds, while
        # /proc/<pid>/stat counts hundredths of a second.
        return time.clock_gettime((~self.popen.pid << 3) | 2)

    def memory(self) -> int:
        """Return its proportional set size in bytes, which does not count memory shared with other processes."""
        text = Path(f"/proc/{self.popen.pid}/smaps_rollup").read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) * 1024

    def settled_memory(self) -> int:
        """Return `memory` once it no longer grows: a process goes on importing after it has begun to serve."""
        last, deadline = self.memory(), time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            time.sleep(2)
            if self.memory() < last + 2**18:
                break
            last = self.memory()
        return self.memory()

    def unnamed_files(self) -> int:
        """Return the bytes in the files that it holds open and that have no name, as temporary files have none."""
        total = 0
        for entry in Path(f"/proc/{self.popen.pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                if entry.readlink().name.endswith("(deleted)"):
                    total += entry.stat().st_size
        return total

    def read_line(self) -> str:
        """Return the next line of its standard output. Raises `RuntimeError`, with its log, if it has ended."""
        assert self.popen.stdout is not None
        text = self.popen.stdout.readline()
        if not text:
            raise RuntimeError(f"{self.popen.args!r} ended:\n{self.log.read_text(errors='replace')[-3000:]}")
        return text.strip()

    def write_line(self, text: str) -> None:
        """Write a line to its standard input."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(text + "\n")
        self.popen.stdin.flush()

    def wait_for(self, url: str) -> None:
        """Block until a URL answers, with any status.

        Raises:
            RuntimeError: the process ended or took longer than `START_SECONDS`; with its log.
        """
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.popen.poll() is None:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.005)
        raise RuntimeError(f"{self.popen.args!r} does not answer:\n{self.log.read_text(errors='replace')[-3000:]}")


@contextmanager
def started(command: Sequence[str], env: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Run a command in the project's folder until the end of the block; `env` adds to the environment."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **(env or {})}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        log = Path(folder) / "log"
        with log.open("w") as errors:
            popen = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        try:
            yield Process(popen, log)
        finally:
            _end(popen)


def _end(popen: subprocess.Popen[str]) -> None:
    popen.send_signal(signal.SIGTERM)
    try:
        popen.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        popen.kill()
        popen.communicate()
