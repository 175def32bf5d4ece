"""The end of this process: it is no longer ready, those who are connected are told, and its runs are seen to an end."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

# How long streams may still go on. After 10 s uvicorn cuts them (docs/production.md), in the middle of what they say.
STREAM_SECONDS = 8.0

_listeners: set[Callable[[], object]] = set()
_began_at: float | None = None


def has_begun() -> bool:
    """Whether the process was asked to end."""
    return _began_at is not None


def is_late() -> bool:
    """Whether it was asked so long ago that streams have to end now."""
    return _began_at is not None and time.monotonic() - _began_at >= STREAM_SECONDS


def listen(listener: Callable[[], object]) -> Callable[[], None]:
    """Have `listener` called, in the event loop, when the process is asked to end; returns what takes that back."""
    _listeners.add(listener)
    return lambda: _listeners.discard(listener)


def begin() -> None:
    """The process was asked to end."""
    global _began_at  # noqa: PLW0603 - the process ends once
    if _began_at is None:
        _began_at = time.monotonic()
    for listener in list(_listeners):
        listener()


def notice_signals() -> None:
    """Begin when the process is asked to end, before the server does what it does then (uvicorn: stops listening)."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()

    def end_with(servers_own: Callable[[int, FrameType | None], Any] | int | None) -> Callable[..., None]:
        def end(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(begin)
            if callable(servers_own):
                servers_own(number, frame)

        return end

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end_with(signal.getsignal(number)))


def stop_with_daphne(stop: Callable[[], Awaitable[None]]) -> None:
    """Under daphne, which knows no lifespan: have `stop` awaited before the process ends."""
    reactor = sys.modules.get("twisted.internet.reactor")
    if reactor is None or not reactor.running:
        return
    from twisted.internet.defer import Deferred

    async def end() -> None:
        begin()
        await stop()

    reactor.addSystemEventTrigger("before", "shutdown", lambda: Deferred.fromFuture(asyncio.ensure_future(end())))
