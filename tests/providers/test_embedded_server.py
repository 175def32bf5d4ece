"""The process of the embedded model's server: restarted when it dies, and never left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from assistant.providers.embedded.server import EmbeddedServer

# Ends when standard input closes, like `assistant_local_model serve --until-stdin-closes`.
PATIENT = [sys.executable, "-c", "import sys; sys.stdin.read()"]
STUBBORN = [sys.executable, "-c", "import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: 0)\ntime.sleep(600)"]
SECONDS = 30.0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_server_that_dies_is_started_again() -> None:
    with EmbeddedServer(PATIENT, 1) as server:
        first = server.process.pid
        os.kill(first, signal.SIGKILL)
        until(lambda: server.process.pid != first and server.is_running)
    assert not server.is_running


def test_stopping_ends_the_process_and_starts_no_other() -> None:
    server = EmbeddedServer(PATIENT, 1)
    process = server.process
    server.stop()
    server.stop()
    assert (process.poll() is not None, server.process) == (True, process)


def test_a_process_that_ignores_termination_is_killed() -> None:
    server = EmbeddedServer(STUBBORN, 1)
    server.stop()
    assert server.process.poll() is not None


def test_a_killed_parent_leaves_no_server_behind() -> None:
    script = (
        "import sys, time\n"
        "from assistant.providers.embedded.server import EmbeddedServer\n"
        f"print(EmbeddedServer({PATIENT!r}, 1).process.pid, flush=True)\n"
        "time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    until(lambda: not is_alive(child))


def test_the_address_is_one_that_openai_clients_take() -> None:
    with EmbeddedServer(PATIENT, 8123) as server:
        assert server.base_url == "http://127.0.0.1:8123/v1"
