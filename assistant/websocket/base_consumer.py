"""Channels' consumer without its use of a thread before every message."""

from __future__ import annotations

from typing import Any

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer


class BaseConsumer(AsyncWebsocketConsumer):
    """A consumer that queries the database only through `in_database`, and joins no group.

    Before each message, Channels closes old database connections in a thread, which takes longer than answering most
    messages. It is not needed: all connections belong to the threads of `in_database`, which closes them.
    """

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the method for an ASGI message. Raises `ValueError` if there is none."""
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"There is no handler for messages of type {message['type']}.")
        await handler(message)

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        """Call `disconnect` after the connection was closed, and stop the consumer."""
        await self.disconnect(message["code"])
        raise StopConsumer

    async def send_frame(self, frame: str) -> None:
        """Send a text frame like `send`, without its checks, because this is called for every token."""
        await self.base_send({"type": "websocket.send", "text": frame})
