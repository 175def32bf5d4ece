"""Asks the process that has AgentDojo's suites."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.peers import python_of
from benchmarks.processes import started

PATIENCE_SECONDS = 120.0
_SCRIPT = Path(__file__).with_name("suites.py")
_local = threading.local()


@contextmanager
def suites_process() -> Iterator[int]:
    """Run the process until the end of the block, in the environment of `requirements-dojo.txt`; yields its port."""
    with started([python_of("dojo"), str(_SCRIPT)], {"PYTHONPATH": ""}) as process:
        yield int(process.read_line())


def ask(port: int, op: str, **fields: Any) -> dict[str, Any]:
    """Send one request of `suites.py`, on the thread's own connection, and return the answer."""
    stream = getattr(_local, "stream", None)
    if stream is None or _local.port != port:
        connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        stream, _local.port = connection.makefile("rwb"), port
        _local.stream = stream
    stream.write(json.dumps({"op": op, **fields}).encode() + b"\n")
    stream.flush()
    answer: dict[str, Any] = json.loads(stream.readline())
    return answer
