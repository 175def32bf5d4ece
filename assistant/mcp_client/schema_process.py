"""Checks values that are too large for the event loop, each in a child process with a deadline."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from assistant.toolkit.per_loop import PerLoop
from assistant.toolkit.processes.child import ChildFailed, ChildLimits, run_in_child
from assistant.toolkit.schema.bounds import JsonSchema
from assistant.toolkit.schema.check import TooCostly, checker_of
from assistant.toolkit.schema.json_size import size_within

# Of one check, including the wait for a free slot; and how many run at once per server process.
DEADLINE_SECONDS = 5.0
MAX_PROCESSES = 2
# Larger values are rejected unchecked.
MAX_VALUES = 300_000
MAX_CHARACTERS = 4 * 1024**2
# Of one check's process, in bytes.
MAX_MEMORY = 1024**3
MAX_OUTPUT = 100
_WORKER = Path(__file__).with_name("schema_worker.py")

_slots = PerLoop(lambda: asyncio.Semaphore(MAX_PROCESSES))


async def fits(value: Any, schema: JsonSchema) -> bool:
    """Whether a JSON value matches a schema; false if the check takes longer than `DEADLINE_SECONDS`.

    Raises:
        InvalidSchema: the schema is invalid or beyond the limits.
    """
    checker = checker_of(schema)
    try:
        return checker.fits(value)
    except TooCostly:
        if size_within(value, MAX_VALUES, MAX_CHARACTERS) is None:
            return False
        return await fits_in_process(value, checker.prepared, DEADLINE_SECONDS)


async def fits_in_process(value: Any, prepared: JsonSchema, seconds: float) -> bool:
    """Check a value in a child process, which is killed after `seconds`; false if it was, or if it failed."""
    task = json.dumps({"schema": prepared, "value": value}).encode()
    try:
        async with asyncio.timeout(seconds), _slots.get():
            return await run_in_child(_WORKER, task, ChildLimits(seconds, MAX_MEMORY, MAX_OUTPUT)) == b"fits"
    except (TimeoutError, ChildFailed):
        return False
