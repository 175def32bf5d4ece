"""Threads that are opened while the connection to Redis breaks: no call fails, and readers get all events."""

from __future__ import annotations

import asyncio
import uuid

import uvloop

from assistant.services.eventlog.log import Position
from tests.services.eventlog.test_log import REDIS_URL, direct_and_relayed_logs, entries, until, write

THREADS = 100
CUTS = 5
CUT_SECONDS = 0.3


async def open_while_it_breaks() -> None:
    line, here, there = await direct_and_relayed_logs()
    await here.start()
    await there.start()
    try:
        threads = [uuid.uuid4().hex for _ in range(THREADS)]
        opening = []
        for thread in threads:
            if len(opening) % (THREADS // CUTS) == 0:
                line.cut()
                await asyncio.sleep(CUT_SECONDS)
                line.mend()
            opening.append(asyncio.create_task(there.open(thread)))
            await asyncio.sleep(0.002)
        views = await asyncio.gather(*opening)
        for thread in threads:
            await write(here, thread, entries(1, 1, 2))
        line.drop()
        for thread in threads:
            await write(here, thread, entries(1, 3, 3))
        await until(lambda: all(view.last == Position(1, 3) for view in views))
    finally:
        await there.close()
        await here.close()
        await line.stop()


if REDIS_URL:

    def test_threads_opened_while_the_connection_breaks_get_all_events() -> None:
        with asyncio.Runner(
            loop_factory=uvloop.new_event_loop
        ) as runner:  # as in servers; uvloop raises errors of its own
            runner.run(open_while_it_breaks())
