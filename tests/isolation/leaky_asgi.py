"""The site with a websocket that leaks on purpose: it shows any conversation to whoever knows its id."""

from __future__ import annotations

import json
from typing import Any

from config.asgi import application as honest  # sets Django up

from channels.generic.websocket import AsyncWebsocketConsumer  # isort: skip

from assistant.models import Message


class Leak(AsyncWebsocketConsumer):
    """Forgets to ask whose conversation it is."""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        frame = json.loads(text_data or "{}")
        if frame.get("type") == "ping":
            await self.send(json.dumps({"type": "CUSTOM", "name": "pong", "value": {}}))
        async for message in Message.objects.filter(conversation_id=frame.get("threadId")):
            await self.send(json.dumps({"type": "CUSTOM", "name": "said", "value": message.content}))


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The honest site, but for its websocket."""
    if scope["type"] != "websocket":
        await honest(scope, receive, send)
        return
    scope["url_route"] = {"kwargs": {}}
    await Leak.as_asgi()(scope, receive, send)
