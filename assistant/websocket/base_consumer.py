"""Channels' consumer, without the thread that it starts before every message."""

from __future__ import annotations

from typing import Any

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer


class BaseConsumer(AsyncWebsocketConsumer):
    """A consumer that queries the database through `in_database` alone, and is in no group.

    Channels has a thread close old database connections before each message of each client, which takes longer than
    answering most messages. `in_database` closes those of its own threads, and there are no others.
    """

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the method for an ASGI message. Raises `ValueError` if there is none."""
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"There is no handler for messages of type {message['type']}.")
        await handler(message)

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        """The connection is closed."""
        await self.disconnect(message["code"])
        raise StopConsumer

    async def send_frame(self, frame: str) -> None:
        """Send a text, as `send` does, but without its checks: this is called for every token."""
        await self.base_send({"type": "websocket.send", "text": frame})
