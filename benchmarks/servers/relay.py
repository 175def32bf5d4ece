"""The lower bound: a bare ASGI websocket that relays the provider's bytes, one frame for each read, unparsed."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

URL = urlsplit(os.environ["OPENAI_BASE_URL"])


async def application(
    scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]], send: Callable[[Any], Awaitable[None]]
) -> None:
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await _relay(message["text"], send)


async def _relay(prompt: str, send: Callable[[Any], Awaitable[None]]) -> None:
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": prompt}]}).encode()
    reader, writer = await asyncio.open_connection(URL.hostname, URL.port)
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    tail = b""
    while b"[DONE]" not in tail and (data := await reader.read(65536)):
        tail = (tail + data)[-16:] if len(data) < 16 else data[-64:]
        await send({"type": "websocket.send", "text": data.decode()})
    writer.close()
