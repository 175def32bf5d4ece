"""What our websocket consumers are made of: Channels' own, without its way into a thread before every message."""

from __future__ import annotations

from typing import Any

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer


class LeanConsumer(AsyncWebsocketConsumer):
    """A consumer that reaches the database by `services.database.in_database` alone, and is in no group.

    Channels asks a thread to close the database's old connections before each message of each client, which takes
    longer than to answer most of them; `in_database` closes those of its own threads, and there are no others.
    """

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Hand a message of the server's to its method. Raises `ValueError` if there is none."""
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"There is no handler for messages of type {message['type']}.")
        await handler(message)

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        """The connection is closed."""
        await self.disconnect(message["code"])
        raise StopConsumer

    async def send_frame(self, frame: str) -> None:
        """Send a text; what `send` comes to in the end, for what is called for each token."""
        await self.base_send({"type": "websocket.send", "text": frame})
