"""Waits a bounded time for a check of the database that may hang, and never has two of them at work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from django.db import connection, connections

T = TypeVar("T")

# A database that is unreachable without a refusal, such as behind a firewall, or that stops in mid-conversation.
CONNECT_SECONDS = 5
UNANSWERED_MILLISECONDS = 10_000


class SingleFlight(Generic[T]):
    """A check that all who ask at the same time share. Belongs to one event loop.

    Args:
        check: runs in a thread of its own with a database connection of its own.
    """

    def __init__(self, check: Callable[[], T]) -> None:
        self._check = check
        self._flight: asyncio.Future[T] | None = None
        self._ends_waiting_at = 0.0

    async def outcome(self, seconds: float) -> T | None:
        """Return what the check says, None if it takes longer. Later callers wait no longer than the first."""
        loop = asyncio.get_running_loop()
        if self._flight is None or self._flight.done():
            self._flight, self._ends_waiting_at = loop.create_future(), loop.time() + seconds
            # A daemon, which does not hold up the end of the process. Threads of an executor do.
            threading.Thread(target=self._fly, args=(loop, self._flight), name="readiness", daemon=True).start()
        flight = self._flight
        await asyncio.wait([flight], timeout=max(0.0, self._ends_waiting_at - loop.time()))
        return flight.result() if flight.done() else None

    def _fly(self, loop: asyncio.AbstractEventLoop, flight: asyncio.Future[T]) -> None:
        _bound_waiting()
        try:
            outcome = self._check()
        except Exception as exc:
            _land(loop, flight.set_exception, exc)
        else:
            _land(loop, flight.set_result, outcome)
        finally:
            connections.close_all()


def _land(loop: asyncio.AbstractEventLoop, settle: Callable[..., None], value: object) -> None:
    with suppress(RuntimeError):  # the loop has ended meanwhile, and nobody waits any more
        loop.call_soon_threadsafe(settle, value)


def _bound_waiting() -> None:
    """Have this thread's connection give up, unless the project says when: otherwise libpq may wait for hours."""
    if connection.vendor == "postgresql":
        bounds = {"connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": UNANSWERED_MILLISECONDS}
        options = {**bounds, **connection.settings_dict["OPTIONS"]}
        connection.settings_dict = {**connection.settings_dict, "OPTIONS": options}
