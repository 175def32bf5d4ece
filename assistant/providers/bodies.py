"""The body of a provider's answer, read by read: a stream of events, or one JSON document."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from assistant.core.assembling import Assembler
from assistant.core.chunks import Chunk
from assistant.core.model import ModelError
from assistant.providers.sse import NOT_JSON, TOO_LARGE, EventReader, decode_chunk

if TYPE_CHECKING:
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


async def body_of(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """An answer's body, read by read of the socket, decompressed.

    Where it comes from aiohttp as it is, aiohttp is asked itself: each token that comes alone would pass through the
    six generators that httpx2 and the openai package put before it.
    """
    source = getattr(getattr(response.stream, "_stream", None), "_aiohttp_response", None)
    if source is None or response.is_stream_consumed or response.headers.get("content-encoding"):
        async with aclosing(response.aiter_bytes()) as body:
            async for data in body:
                yield data
        return
    while data := await source.content.readany():
        yield data


async def read_body(
    body: AsyncGenerator[bytes], content_type: str, reader: EventReader, assembler: Assembler
) -> AsyncGenerator[list[Chunk]]:
    """The chunks of each read of the socket, for the assembler; `reader.is_done` tells afterwards if the end was said.

    Raises `ModelError` for what cannot be an answer.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in READABLE:
        error = ModelError(NOT_JSON)
        error.add_note(f"content type {kind[:60]!r}")
        raise error
    async with aclosing(body):
        if kind == "application/json":
            yield await _whole(body, reader)
            return
        size = 0
        while (data := await _read(body, assembler)) is not None:
            size += len(data)
            if size > MAX_REPLY_BYTES:
                raise ModelError(TOO_LARGE)
            yield reader.feed(data)
            if reader.failure is not None:
                raise reader.failure
            if reader.is_done:
                await _read_soon(body, DRAIN_SECONDS)
                return
    yield reader.close()


async def _read(body: AsyncGenerator[bytes], assembler: Assembler) -> bytes | None:
    return await (_read_soon(body, AFTER_END_SECONDS) if assembler.is_ended else anext(body, None))


async def _read_soon(body: AsyncGenerator[bytes], seconds: float) -> bytes | None:
    try:
        async with asyncio.timeout(seconds):
            return await anext(body, None)
    except TimeoutError:
        return None


async def _whole(body: AsyncGenerator[bytes], reader: EventReader) -> list[Chunk]:
    """The answer of a server that does not stream, or that calls its stream JSON."""
    data = bytearray()
    async for part in body:
        data += part
        if len(data) > MAX_REPLY_BYTES:
            raise ModelError(TOO_LARGE)
    try:
        chunk = decode_chunk(bytes(data))
    except ValueError:
        chunks = [*reader.feed(bytes(data)), *reader.close()]
        if not chunks or reader.failure:
            raise ModelError(NOT_JSON) from None
        return chunks
    reader.is_done = True
    return [chunk]
