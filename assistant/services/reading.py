"""Reads one run's events to their end, wherever the run is worked on; a reader that goes away ends only this."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from assistant.services.database import in_database
from assistant.services.eventlog import Entry, Position
from assistant.services.leases import RunKey
from assistant.services.pictures import run_ending
from assistant.services.runs import get_runs


async def run_entries(*, key: RunKey, after: int = 0, patience: float = 15.0) -> AsyncGenerator[Entry | None]:
    """The run's events after number `after`, to its end; None whenever nothing has come for `patience` seconds.

    Of a run whose events are no longer in the log, only its end is told.
    """
    log = await get_runs().log.open(key.thread)
    position = Position(key.number, after)
    with log.watching() as changed:
        while True:
            changed.clear()
            for entry in log.read(position):
                if entry.number != key.number:
                    return
                yield entry
                position = entry.position
                if entry.is_end:
                    return
            if not log.holds(Position(key.number, 0)):
                ending = await in_database(run_ending, key=key)
                if ending is not None:
                    yield Entry(key.number, *ending)
                    return
            try:
                async with asyncio.timeout(patience):
                    await changed.wait()
            except TimeoutError:
                yield None


async def wait_for_end(*, key: RunKey) -> None:
    """Wait until a run has ended and is stored."""
    async for _ in run_entries(key=key):
        pass
