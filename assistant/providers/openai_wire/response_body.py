"""Reads the body of a provider's answer: a stream of events, or one JSON document."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.core.llm.protocol import Delta, ModelError, TextDelta
from assistant.core.values.idle_timer import IdleTimer
from assistant.providers.openai_wire.chunks import Chunk
from assistant.providers.openai_wire.reply_assembler import Assembler
from assistant.providers.openai_wire.sse import NOT_JSON, TOO_LARGE, EventReader, decode_chunk

if TYPE_CHECKING:
    import aiohttp
    import httpx2

AFTER_END_SECONDS = 2.0  # for the token counts, which follow the finish reason
DRAIN_SECONDS = 0.1  # for the end of the body after `[DONE]`, so that the connection can be reused
MAX_REPLY_BYTES = 64 * 1024 * 1024
READABLE = (
    "",
    "text/event-stream",
    "application/json",
    "application/x-ndjson",
    "application/octet-stream",
    "text/plain",
)


class _HttpxReader:
    """Reads through httpx2, whose timeouts limit each wait."""

    def __init__(self, response: httpx2.Response) -> None:
        self._bytes: AsyncGenerator[bytes] = response.aiter_bytes()

    async def read(self) -> bytes:
        """The bytes of one read of the socket, decompressed; empty at the end."""
        return await anext(self._bytes, b"")

    async def close(self) -> None:
        await self._bytes.aclose()


class _AiohttpReader:
    """Reads from aiohttp directly; through httpx2 each token would pass through six generators."""

    def __init__(self, response: aiohttp.ClientResponse, seconds: float) -> None:
        self._content = response.content
        self._idle_timer = IdleTimer(seconds, self._time_out)
        if response.connection is not None and response.connection.protocol is not None:
            # aiohttp's own timeout creates a timer for every read.
            response.connection.protocol.read_timeout = None

    async def read(self) -> bytes:
        """The bytes of one read of the socket; empty at the end."""
        self._idle_timer.start()
        data = await self._content.readany()
        self._idle_timer.stop()
        return data

    async def flow(self, take: Callable[[bytes], bool]) -> None:
        """Call `take` with the bytes of each read as they arrive, until it returns False or the body ends.

        The calling task is not woken for each read: waking it, and running all generators above, costs more than
        everything else done with a token. Raises what a read or `take` raises.
        """
        flow = _Flow(self._idle_timer, self._content.readany, take)
        try:
            await flow.over
        finally:
            flow.stop()

    def _time_out(self) -> None:
        self._content.set_exception(TimeoutError())

    async def close(self) -> None:
        self._idle_timer.close()


class _Flow:
    """Runs reads one after the other without a task; each continues in the callback of the future it waits for.

    Args:
        idle_timer: limits each wait.
        read: one read, which awaits nothing but futures of the event loop.
        take: called with the bytes of each read, in the caller's context; returns whether to read on.

    `over` is done when the body has ended, `take` has returned False, or one of them has failed.
    """

    def __init__(
        self,
        idle_timer: IdleTimer,
        read: Callable[[], Coroutine[Any, Any, bytes]],
        take: Callable[[bytes], bool],
    ) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle_timer = idle_timer
        self._read = read
        self._take = take
        self._context = contextvars.copy_context()
        self._reading: Coroutine[Any, Any, bytes] | None = None
        self._step()

    def _step(self, waited: asyncio.Future[Any] | None = None) -> None:
        """Continue until a read waits."""
        failure: BaseException | None = None
        if self.over.done() and waited is not None and not waited.cancelled():
            waited.exception()  # retrieved, so that asyncio does not log it
        try:
            while not self.over.done():  # it is cancelled together with the task that waits for it
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
        except BaseException as exc:  # without this `over` would never be done
            failure = exc
        if self.over.done():
            return
        if failure is None:
            self.over.set_result(None)
        else:
            self.over.set_exception(failure)

    def stop(self) -> None:
        """Stop reading."""
        self._idle_timer.stop()
        if self._reading is not None:
            self._reading.close()
        if not self.over.cancel() and not self.over.cancelled():
            self.over.exception()  # retrieved, in case the waiting task was cancelled meanwhile


def _source_of(response: httpx2.Response, seconds: float) -> _AiohttpReader | _HttpxReader:
    source = getattr(getattr(response.stream, "_stream", None), "_aiohttp_response", None)
    if source is None or response.is_stream_consumed or response.headers.get("content-encoding"):
        return _HttpxReader(response)
    return _AiohttpReader(source, seconds)


class Body:
    """The body of one answer; `close` it after reading.

    Args:
        response: its body must not have been read.
        reader: parses the events; its `is_done` is set afterwards if the stream was ended by `[DONE]`.
        assembler: gets the chunks of `flow`; those that `read` returns are for the caller to feed.
        seconds: how long each read may take.
    """

    def __init__(self, response: httpx2.Response, reader: EventReader, assembler: Assembler, *, seconds: float) -> None:
        self._kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._events = reader
        self._assembler = assembler
        self._size = 0
        self._is_over = False
        self._deltas: Sequence[Delta] = ()
        self._source = _source_of(response, seconds)
        self._more = self._source.read

    async def read(self) -> list[Chunk] | None:
        """The chunks of the next read of the socket; None after the last. Raises `ModelError` if one is unreadable."""
        if self._is_over:
            return None
        if self._kind not in READABLE:
            error = ModelError(NOT_JSON)
            error.add_note(f"content type {self._kind[:60]!r}")
            raise error
        if self._kind == "application/json":
            self._is_over = True
            return await self._read_whole()
        events = self._events
        if events.failure is not None:
            raise events.failure
        if events.is_done:
            await self._read_soon(DRAIN_SECONDS)
            self._is_over = True
            return None
        data = await (self._read_soon(AFTER_END_SECONDS) if self._assembler.is_ended else self._more())
        if not data:
            self._is_over = True
            return events.close()
        return self._chunks(data)

    async def flow(self, on_text: Callable[[str], bool]) -> Sequence[Delta]:
        """Pass the answer's text to `on_text` as it arrives, until there is anything else; returns the deltas of that.

        Continues where `read` stopped, and raises what `read` raises.
        """
        source, self._deltas = self._source, ()
        if isinstance(source, _AiohttpReader) and self._is_flowing:
            await source.flow(partial(self._pass_text, on_text))
        return self._deltas

    @property
    def _is_flowing(self) -> bool:
        """Whether the stream continues."""
        events = self._events
        return not (self._is_over or events.is_done or events.failure or self._assembler.is_ended)

    def _pass_text(self, on_text: Callable[[str], bool], data: bytes) -> bool:
        for chunk in self._chunks(data):
            self._assembler.feed(chunk)
        deltas = self._assembler.take()
        is_taken = len(deltas) == 1 and isinstance(deltas[0], TextDelta) and on_text(deltas[0].text)
        self._deltas = () if is_taken else deltas
        return not self._deltas and self._is_flowing

    def _chunks(self, data: bytes) -> list[Chunk]:
        self._size += len(data)
        if self._size > MAX_REPLY_BYTES:
            raise ModelError(TOO_LARGE)
        return self._events.feed(data)

    async def close(self) -> None:
        """Release the body, even if it was not read to its end."""
        await self._source.close()

    async def _read_soon(self, seconds: float) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                return await self._more()
        except TimeoutError:
            return b""

    async def _read_whole(self) -> list[Chunk]:
        """Read the answer of a server that does not stream, or that labels its stream as JSON."""
        data = bytearray()
        while part := await self._more():
            data += part
            if len(data) > MAX_REPLY_BYTES:
                raise ModelError(TOO_LARGE)
        try:
            chunk = decode_chunk(bytes(data))
        except ValueError:
            chunks = [*self._events.feed(bytes(data)), *self._events.close()]
            if not chunks or self._events.failure:
                raise ModelError(NOT_JSON) from None
            return chunks
        self._events.is_done = True
        return [chunk]
