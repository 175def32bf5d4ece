"""The shutdown of this process: it is no longer ready, listeners close their connections, runs get time to finish."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

from assistant.services.listeners import Listeners

# How long event streams may continue during a shutdown. uvicorn cuts them off after 10 s (docs/production.md).
MAX_STREAM_SECONDS = 8.0

_listeners = Listeners[[]]()
_began_at: float | None = None


def is_shutting_down() -> bool:
    """Return whether the process was asked to end."""
    return _began_at is not None


def must_end_streams() -> bool:
    """Return whether event streams have to end now: the process was asked to end `MAX_STREAM_SECONDS` ago."""
    return _began_at is not None and time.monotonic() - _began_at >= MAX_STREAM_SECONDS


def add_listener(listener: Callable[[], object]) -> Callable[[], None]:
    """Call `listener` in the event loop when the process is asked to end; return a function that removes it."""
    return _listeners.add(listener)


def begin() -> None:
    """Mark the process as shutting down and call the listeners."""
    global _began_at  # noqa: PLW0603 - a process ends once
    if _began_at is None:
        _began_at = time.monotonic()
    _listeners.call()


def handle_signals() -> None:
    """Call `begin` on SIGTERM and SIGINT, before the server's own handler (uvicorn's closes its listening socket).

    Does nothing outside the main thread, where signal handlers cannot be set.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()

    def end_with(server_handler: Callable[[int, FrameType | None], Any] | int | None) -> Callable[..., None]:
        def end(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(begin)
            if callable(server_handler):
                server_handler(number, frame)

        return end

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end_with(signal.getsignal(number)))


def stop_with_daphne(stop: Callable[[], Awaitable[None]]) -> None:
    """Await `stop` before the process ends if daphne runs it, which has no ASGI lifespan. Else do nothing."""
    reactor = sys.modules.get("twisted.internet.reactor")
    if reactor is None or not reactor.running:
        return
    from twisted.internet.defer import Deferred

    async def end() -> None:
        begin()
        await stop()

    reactor.addSystemEventTrigger("before", "shutdown", lambda: Deferred.fromFuture(asyncio.ensure_future(end())))
