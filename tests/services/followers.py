"""Followers of a log that ask for nothing but what is in it."""

from __future__ import annotations

import asyncio

from assistant.following import Follower, Send
from assistant.services.eventlog import ThreadLog


async def _never(*_: object) -> object:
    raise AssertionError("nothing is to be asked for")


def follower_of(log: ThreadLog, send: Send, *, speaks_outcomes: bool = True) -> Follower:
    """A follower that finds in the log all that it needs."""
    return Follower(
        thread="t",
        log=log,
        send=send,
        refresh=_never,  # type: ignore[arg-type]
        settle=_never,  # type: ignore[arg-type]
        summary=_never,  # type: ignore[arg-type]
        gate=asyncio.Semaphore(),
        renders=False,
        speaks_outcomes=speaks_outcomes,
    )
