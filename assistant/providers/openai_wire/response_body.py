"""Reads the body of a provider's answer: a stream of events, or one JSON document."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from assistant.core.llm.protocol import Delta, ModelError, TextDelta
from assistant.providers.openai_wire.fast_paths.direct_body import DirectReader, direct_reader
from assistant.providers.openai_wire.sse import BOM, NOT_JSON, TOO_LARGE, StreamReader

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

AFTER_END_SECONDS = 2.0  # for the token counts, which follow the finish reason
DRAIN_SECONDS = 0.1  # for the end of the body after `[DONE]`, so that the connection can be reused
MAX_REPLY_BYTES = 64 * 1024 * 1024
# Content types that are parsed; some servers send none, or a wrong one.
READABLE = (
    "",
    "text/event-stream",
    "application/json",
    "application/x-ndjson",
    "application/octet-stream",
    "text/plain",
)


class ReplyAssembler(Protocol[T_contra]):
    """What puts a reply together from the events of a stream."""

    @property
    def is_ended(self) -> bool:
        """Whether the answer has ended; after that, only the token counts can follow."""

    def feed(self, chunk: T_contra, /) -> None:
        """Add one event. Raises `ModelError` if it reports a failure."""

    def take(self) -> Sequence[Delta]:
        """Return the deltas since `take` was last called."""


class _HttpxReader:
    """Reads through httpx2, whose timeouts limit each wait."""

    def __init__(self, response: httpx2.Response) -> None:
        self._bytes: AsyncGenerator[bytes] = response.aiter_bytes()

    async def read(self) -> bytes:
        """Return the bytes of one read of the socket, decompressed; empty at the end."""
        return await anext(self._bytes, b"")

    async def close(self) -> None:
        await self._bytes.aclose()


class Body(Generic[T]):
    """The body of one answer; `close` it after reading.

    Args:
        response: its body must not have been read.
        reader: parses the events; its `is_done` is set afterwards if the stream was ended by `[DONE]`.
        assembler: gets the chunks of `pass_text`; those that `read` returns are for the caller to feed.
        seconds: how long each read may take.
    """

    def __init__(
        self, response: httpx2.Response, reader: StreamReader[T], assembler: ReplyAssembler[T], *, seconds: float
    ) -> None:
        self._kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._events = reader
        self._assembler = assembler
        self._size = 0
        self._is_over = False
        self._deltas: Sequence[Delta] = ()
        self._source = direct_reader(response, seconds) or _HttpxReader(response)
        self._read_part = self._source.read

    async def read(self) -> list[T] | None:
        """Return the chunks of the next read of the socket; None after the last.

        Raises:
            ModelError: the body is not a stream of events or JSON, or is too large.
        """
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
            await self._read_within(DRAIN_SECONDS)
            self._is_over = True
            return None
        data = await (self._read_within(AFTER_END_SECONDS) if self._assembler.is_ended else self._read_part())
        if not data:
            self._is_over = True
            return events.close()
        return self._chunks(data)

    async def pass_text(self, on_text: Callable[[str], bool]) -> Sequence[Delta]:
        """Pass text to `on_text` as it arrives, until something else arrives, or text for which it returns False.

        Continues where `read` stopped. Returns the deltas that were not passed on; raises what `read` raises.
        """
        source, self._deltas = self._source, ()
        if isinstance(source, DirectReader) and self._may_continue:
            await source.feed(partial(self._pass_text, on_text))
        return self._deltas

    @property
    def _may_continue(self) -> bool:
        """Whether more text can arrive."""
        events = self._events
        return not (self._is_over or events.is_done or events.failure or self._assembler.is_ended)

    def _pass_text(self, on_text: Callable[[str], bool], data: bytes) -> bool:
        for chunk in self._chunks(data):
            self._assembler.feed(chunk)
        deltas = self._assembler.take()
        is_taken = len(deltas) == 1 and isinstance(deltas[0], TextDelta) and on_text(deltas[0].text)
        self._deltas = () if is_taken else deltas
        return not self._deltas and self._may_continue

    def _chunks(self, data: bytes) -> list[T]:
        self._size += len(data)
        if self._size > MAX_REPLY_BYTES:
            raise ModelError(TOO_LARGE)
        return self._events.feed(data)

    async def close(self) -> None:
        """Release the body, even if it was not read to its end."""
        await self._source.close()

    async def _read_within(self, seconds: float) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                return await self._read_part()
        except TimeoutError:
            return b""

    async def _read_whole(self) -> list[T]:
        """Read the answer of a server that does not stream, or that labels its stream as JSON."""
        data = bytearray()
        while part := await self._read_part():
            data += part
            if len(data) > MAX_REPLY_BYTES:
                raise ModelError(TOO_LARGE)
        try:
            chunk = self._events.decoder.read(bytes(data.removeprefix(BOM)))
        except ValueError:
            chunks = [*self._events.feed(bytes(data)), *self._events.close()]
            if not chunks or self._events.failure:
                raise ModelError(NOT_JSON) from None
            return chunks
        self._events.is_done = True
        return [chunk]
