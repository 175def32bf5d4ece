"""The body of a provider's answer, read by read: a stream of events, or one JSON document."""

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

AFTER_END_SECONDS = 2.0  # how long the token counts may follow the end of the answer
DRAIN_SECONDS = 0.1  # how long the end of the body may follow `[DONE]`, so that the connection can be used again
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
    """Reads through all that httpx2 and the openai package put before the socket; they bound each wait."""

    def __init__(self, response: httpx2.Response) -> None:
        self._bytes: AsyncGenerator[bytes] = response.aiter_bytes()

    async def read(self) -> bytes:
        """What one read of the socket gave, decompressed; nothing at the end."""
        return await anext(self._bytes, b"")

    async def close(self) -> None:
        await self._bytes.aclose()


class _AiohttpReader:
    """Reads from aiohttp itself: each token that comes alone would pass through six generators else."""

    def __init__(self, response: aiohttp.ClientResponse, seconds: float) -> None:
        self._content = response.content
        self._idle_timer = IdleTimer(seconds, self._break_off)
        if response.connection is not None and response.connection.protocol is not None:
            # Its own limit is a timer that is made anew for every read.
            response.connection.protocol.read_timeout = None

    async def read(self) -> bytes:
        """What one read of the socket gave; nothing at the end."""
        self._idle_timer.begin()
        data = await self._content.readany()
        self._idle_timer.end()
        return data

    async def flow(self, take: Callable[[bytes], bool]) -> None:
        """Give `take` what each read gives, right where it arrives, until `take` wants no more or nothing comes.

        The task that waits here is not woken for it, and nothing between here and its first frame is gone through: that
        costs more than all that is done with a token. Raises what a read and what `take` raise.
        """
        flow = _Flow(self._idle_timer, self._content.readany, take)
        try:
            await flow.over
        finally:
            flow.stop()

    def _break_off(self) -> None:
        self._content.set_exception(TimeoutError())

    async def close(self) -> None:
        self._idle_timer.close()


class _Flow:
    """Reads one after the other without a task: each goes on where the future that it waits for is done.

    Args:
        idle_timer: bounds each wait.
        read: a read, which waits for nothing but futures of the event loop.
        take: wants more if it returns True; runs in the caller's context.

    `over` is done when there is no more, `take` wants no more, or one of them has failed.
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
        """Go on until a read waits."""
        failure: BaseException | None = None
        if self.over.done() and waited is not None and not waited.cancelled():
            waited.exception()  # nobody is left to ask for it
        try:
            while not self.over.done():  # it may be cancelled at any time, with the task that waits for it
                if self._reading is None:
                    self._idle_timer.begin()
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
        except BaseException as exc:  # else whoever waits would wait for ever
            failure = exc
        if self.over.done():
            return
        if failure is None:
            self.over.set_result(None)
        else:
            self.over.set_exception(failure)

    def stop(self) -> None:
        """Wait no more."""
        self._idle_timer.end()
        if self._reading is not None:
            self._reading.close()
        if not self.over.cancel() and not self.over.cancelled():
            self.over.exception()  # whoever was cancelled in the same moment does not ask for it


def _source_of(response: httpx2.Response, seconds: float) -> _AiohttpReader | _HttpxReader:
    source = getattr(getattr(response.stream, "_stream", None), "_aiohttp_response", None)
    if source is None or response.is_stream_consumed or response.headers.get("content-encoding"):
        return _HttpxReader(response)
    return _AiohttpReader(source, seconds)


class Body:
    """The body of one answer: `read` it, for the assembler, and `close` it.

    Args:
        response: whose body has not been read.
        reader: takes events apart; its `is_done` tells afterwards if the end was said.
        seconds: to wait for each read.
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
        """The chunks of the next read of the socket; None after the last. Raises `ModelError` for what is no answer."""
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
        """Let `on_text` take the answer's text as it arrives, until something else comes: returns the deltas of that.

        Goes on from where `read` has come to. Raises what that raises.
        """
        source, self._deltas = self._source, ()
        if isinstance(source, _AiohttpReader) and self._is_flowing:
            await source.flow(partial(self._pass_text, on_text))
        return self._deltas

    @property
    def _is_flowing(self) -> bool:
        """Whether more of a stream is to come."""
        events = self._events
        return not (self._is_over or events.is_done or events.failure or self._assembler.is_ended)

    def _pass_text(self, on_text: Callable[[str], bool], data: bytes) -> bool:
        for chunk in self._chunks(data):
            self._assembler.feed(chunk)
        deltas = self._assembler.take()
        is_heard = len(deltas) == 1 and isinstance(deltas[0], TextDelta) and on_text(deltas[0].text)
        self._deltas = () if is_heard else deltas
        return not self._deltas and self._is_flowing

    def _chunks(self, data: bytes) -> list[Chunk]:
        self._size += len(data)
        if self._size > MAX_REPLY_BYTES:
            raise ModelError(TOO_LARGE)
        return self._events.feed(data)

    async def close(self) -> None:
        """Let go of it, wherever it has been read to."""
        await self._source.close()

    async def _read_soon(self, seconds: float) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                return await self._more()
        except TimeoutError:
            return b""

    async def _read_whole(self) -> list[Chunk]:
        """The answer of a server that does not stream, or that calls its stream JSON."""
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
