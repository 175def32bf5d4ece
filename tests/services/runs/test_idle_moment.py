"""Optional work of a run waits until no run of its process waits for its first token."""

from __future__ import annotations

import asyncio

from assistant.services.runs.run_task import IdleMoments


async def test_work_waits_for_the_last_run_that_waits() -> None:
    moments = IdleMoments()
    await moments.wait()
    moments.begin(1)
    moments.begin(2)
    waiting = asyncio.create_task(moments.wait())
    moments.end(1)
    moments.end(1)
    await asyncio.sleep(0)
    assert not waiting.done()
    moments.end(2)
    await waiting
