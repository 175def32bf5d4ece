"""Checks of values that are too large for the event loop, each in a process that is killed at its deadline."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from assistant.toolkit.schema.bounds import JsonSchema
from assistant.toolkit.schema.check import TooCostly, checker_of
from assistant.toolkit.schema.json_size import size_within

# Seconds for a check, its turn included, and how many run at once in one process of the server.
DEADLINE = 5.0
MAX_PROCESSES = 2
# A larger value is not checked at all.
MAX_VALUES = 300_000
MAX_CHARACTERS = 4 * 1024**2
_WORKER = Path(__file__).with_name("worker.py")
# The environment of the child; what else is set may be secret.
_PASSED_ON = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT")

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def fits(value: Any, schema: JsonSchema) -> bool:
    """Whether a JSON value fits a schema; what cannot be checked within `DEADLINE` does not.

    Raises:
        InvalidSchema: the schema is beyond the bounds, or none.
    """
    checker = checker_of(schema)
    try:
        return checker.fits(value)
    except TooCostly:
        if size_within(value, MAX_VALUES, MAX_CHARACTERS) is None:
            return False
        return await fits_in_process(value, checker.prepared, DEADLINE)


async def fits_in_process(value: Any, prepared: JsonSchema, seconds: float) -> bool:
    """The same in a child process, which is killed after so many seconds."""
    turn = _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MAX_PROCESSES))
    try:
        async with asyncio.timeout(seconds), turn:
            return await _ask(json.dumps({"schema": prepared, "value": value}).encode())
    except TimeoutError:
        return False


async def _ask(task: bytes) -> bool:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(_WORKER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )
    try:
        said, _ = await child.communicate(task)
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    return said == b"fits"
