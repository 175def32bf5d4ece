"""Measures the processor time of code relative to a reference that is measured at the same time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

_TEXT = json.dumps(list(range(200_000)))


def _reference() -> float:
    """Return the processor seconds in which this thread parses a JSON text of 1.3 MB."""
    began = time.thread_time()
    json.loads(_TEXT)
    return time.thread_time() - began


@contextmanager
def at_most(times: float) -> Iterator[None]:
    """Fail if the block takes more than `times` the processor time of the reference."""
    began = time.thread_time()
    yield
    taken = time.thread_time() - began
    assert taken <= times * max(_reference() for _ in range(3)), taken
