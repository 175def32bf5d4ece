"""The site with deliberate leaks: its websocket and its MCP server show any row to callers who know its id."""

from __future__ import annotations

import json
from typing import Any

from config.asgi import application as honest  # sets Django up

from channels.generic.websocket import AsyncWebsocketConsumer  # isort: skip
from mcp_types import ReadResourceResult, TextResourceContents  # isort: skip

from assistant.contrib.mcp_server.sources import Source, add_source
from assistant.models import Message
from assistant.models.knowledge import Document
from assistant.services.tenancy.members import Member


class Leak(AsyncWebsocketConsumer):
    """Does not check whose conversation it is."""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        frame = json.loads(text_data or "{}")
        if frame.get("type") == "ping":
            await self.send(json.dumps({"type": "CUSTOM", "name": "pong", "value": {}}))
        thread = frame.get("threadId", "")
        async for message in Message.objects.filter(conversation_id=thread if len(thread) == 36 else None):
            await self.send(json.dumps({"type": "CUSTOM", "name": "said", "value": message.content}))


class LeakyShelf(Source):
    """Does not check whose document it is."""

    def read(self, member: Member, uri: str) -> ReadResourceResult | None:
        found = Document.objects.filter(pk=uri.rpartition("/")[2]).first()
        text = [TextResourceContents(uri=uri, text=found.text)] if found else []
        return ReadResourceResult(contents=text) if text else None


add_source(LeakyShelf())


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The real site, except for its websocket."""
    if scope["type"] != "websocket":
        await honest(scope, receive, send)
        return
    scope["url_route"] = {"kwargs": {}}
    await Leak.as_asgi()(scope, receive, send)
