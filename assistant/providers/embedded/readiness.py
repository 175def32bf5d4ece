"""Checks the state of the embedded model's server: loading, ready or absent."""

from __future__ import annotations

import asyncio
from typing import Literal
from urllib.parse import urlsplit

Health = Literal["ready", "loading", "absent"]
_ANSWER_SECONDS = 5.0
_PAUSE_SECONDS = 0.2


async def health(base_url: str) -> Health:
    """Return the state of the server at this address. Its `/health` answers 503 while the weights are loaded."""
    url = urlsplit(base_url)
    writer = None
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(url.hostname, url.port or 80)
            writer.write(f"GET /health HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: close\r\n\r\n".encode())
            words = (await reader.readline()).split()
    except (OSError, TimeoutError):
        return "absent"
    finally:
        if writer is not None:
            writer.close()
    status = words[1] if len(words) > 1 else b""
    return {b"200": "ready", b"503": "loading"}.get(status, "absent")  # type: ignore[return-value]


async def is_ready(base_url: str, *, seconds: float = 60.0, absent_seconds: float = 5.0) -> bool:
    """Wait while the server loads; returns False if it is not ready in time.

    Args:
        base_url: the server's address, with or without `/v1`.
        seconds: how long to wait altogether.
        absent_seconds: how long the server may not answer at all, as while it is restarted.
    """
    loop = asyncio.get_running_loop()
    start = last_seen = loop.time()
    while True:
        state = await health(base_url)
        now = loop.time()
        if state == "ready":
            return True
        if state == "loading":
            last_seen = now
        if now - start >= seconds or now - last_seen >= absent_seconds:
            return False
        await asyncio.sleep(_PAUSE_SECONDS)
