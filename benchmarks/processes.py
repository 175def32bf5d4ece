"""Processes that are measured: started, asked for their CPU time and memory, and ended by their own number."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers import ROOT

_TICKS = os.sysconf("SC_CLK_TCK")
START_SECONDS = 90.0


class Process:
    """A running process; what it prints beside its answers is in `log`."""

    def __init__(self, popen: subprocess.Popen[str], log: Path) -> None:
        self.popen = popen
        self.log = log

    def cpu(self) -> float:
        """Seconds of CPU that it has used, all threads, user and system."""
        # The command's name, in brackets, may hold anything; utime and stime are fields 14 and 15.
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> int:
        """Bytes of memory that are its own: proportional set size, without what other processes share."""
        text = Path(f"/proc/{self.popen.pid}/smaps_rollup").read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) * 1024

    def line(self) -> str:
        """The next line of its standard output. Raises `RuntimeError`, with its log, if it has ended."""
        assert self.popen.stdout is not None
        text = self.popen.stdout.readline()
        if not text:
            raise RuntimeError(f"{self.popen.args!r} ended:\n{self.log.read_text(errors='replace')[-3000:]}")
        return text.strip()

    def say(self, text: str) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(text + "\n")
        self.popen.stdin.flush()

    def wait_for(self, url: str) -> None:
        """Block until an HTTP address answers. Raises `RuntimeError`, with its log, when it ends or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.popen.poll() is None:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except urllib.error.HTTPError:
                return  # whatever it answers: it is there
            except OSError:
                time.sleep(0.005)
        raise RuntimeError(f"{self.popen.args!r} does not answer:\n{self.log.read_text(errors='replace')[-3000:]}")


@contextmanager
def started(command: Sequence[str], env: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Run a command in the project's folder until the end of the block."""
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
