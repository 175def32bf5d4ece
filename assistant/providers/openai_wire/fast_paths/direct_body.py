"""Reads a response's body directly from aiohttp, without the layers of httpx2."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from assistant.core.values.deadline import IdleTimer
from assistant.toolkit.fast_paths import is_used

if TYPE_CHECKING:
    import aiohttp
    import httpx2

# The name of this fast path.
DIRECT_BODY = "direct body"


class DirectReader:
    """Reads a response's body directly from aiohttp.

    Args:
        seconds: how long each read may take; after that it raises `TimeoutError`.
    """

    def __init__(self, response: aiohttp.ClientResponse, seconds: float) -> None:
        self._content = response.content
        self._idle_timer = IdleTimer(seconds, self._time_out)
        if response.connection is not None and response.connection.protocol is not None:
            # aiohttp's own timeout creates a timer for every read.
            response.connection.protocol.read_timeout = None

    async def read(self) -> bytes:
        """Return the bytes of one read of the socket; empty at the end."""
        self._idle_timer.start()
        data = await self._content.readany()
        self._idle_timer.since = None
        return data

    async def feed(self, take: Callable[[bytes], bool]) -> None:
        """Call `take` with the bytes of each read as they arrive, until it returns False or the body ends.

        The calling task is not woken for each read: to wake it, and to run all generators between it and this reader,
        costs more than everything else that is done with a token. Raises what a read or `take` raises.
        """
        read_loop = ReadLoop(self._idle_timer, self._content.readany, take)
        try:
            await read_loop.finished
        finally:
            read_loop.stop()

    def _time_out(self) -> None:
        self._content.set_exception(TimeoutError())

    async def close(self) -> None:
        self._idle_timer.close()


class ReadLoop:
    """Runs reads one after the other without a task; each continues in the callback of the future it waits for.

    Args:
        idle_timer: limits each wait.
        read: one read, which awaits nothing but futures of the event loop.
        take: called with the bytes of each read, in the caller's context; returns whether to read on.

    `finished` is done when the body has ended, `take` has returned False, or one of them has failed.
    """

    def __init__(
        self,
        idle_timer: IdleTimer,
        read: Callable[[], Coroutine[Any, Any, bytes]],
        take: Callable[[bytes], bool],
    ) -> None:
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle_timer = idle_timer
        self._read = read
        self._take = take
        self._context = contextvars.copy_context()
        self._reading: Coroutine[Any, Any, bytes] | None = None
        self._step()

    def _step(self, waited: asyncio.Future[Any] | None = None) -> None:
        """Continue until a read waits."""
        failure: BaseException | None = None
        if self.finished.done() and waited is not None and not waited.cancelled():
            waited.exception()  # retrieved, so that asyncio does not log it
        try:
            while not self.finished.done():  # it is cancelled together with the task that waits for it
                if self._reading is None:
                    self._idle_timer.start()
                    self._reading = self._read()
                try:
                    waits_for = self._reading.send(None)
                except StopIteration as ended:
                    self._reading = None
                    if ended.value and self._take(ended.value):
                        continue
                    break
                waits_for.add_done_callback(self._step, context=self._context)
                return
        except BaseException as exc:  # without this `finished` would never be done
            failure = exc
        if self.finished.done():
            return
        if failure is None:
            self.finished.set_result(None)
        else:
            self.finished.set_exception(failure)

    def stop(self) -> None:
        """Stop reading."""
        self._idle_timer.since = None
        if self._reading is not None:
            self._reading.close()
        if not self.finished.cancel() and not self.finished.cancelled():
            self.finished.exception()  # retrieved, in case the waiting task was cancelled meanwhile


def direct_reader(response: httpx2.Response, seconds: float) -> DirectReader | None:
    """Return a reader of the body that bypasses httpx2, or None if the body has to be read through it.

    Args:
        seconds: how long each read may take.
    """
    source = getattr(getattr(response.stream, "_stream", None), "_aiohttp_response", None)
    if source is None or response.is_stream_consumed or response.headers.get("content-encoding"):
        return None
    return DirectReader(source, seconds) if is_used(DIRECT_BODY) else None
