"""Reads a response that is not a stream, within a bound."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from assistant.core.llm.protocol import ModelError
from assistant.providers.openai_wire.sse import NOT_JSON, TOO_LARGE
from assistant.toolkit.bounded_json import load_json

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 2 * 2**20


async def read_json(response: httpx2.Response) -> Any:
    """Return the body as JSON values, and close the response. Raises `ModelError`."""
    content = b""
    try:
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                content += chunk
                if len(content) > MAX_BYTES:
                    raise ModelError(TOO_LARGE)
    finally:
        await response.aclose()
    try:
        return load_json(content.decode())
    except ValueError:
        raise ModelError(NOT_JSON) from None
