"""The simplest consumer: it reads the typed openai client and sends each delta as JSON."""

from __future__ import annotations

from typing import Any

import django
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.urls import path
from openai import AsyncOpenAI

settings.configure(SECRET_KEY="of-nothing", INSTALLED_APPS=["channels"], ALLOWED_HOSTS=["*"])
django.setup()

client = AsyncOpenAI()


class ChatConsumer(AsyncJsonWebsocketConsumer):
    async def receive_json(self, content: dict[str, Any]) -> None:
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": content["text"]}], stream=True
        )
        async for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                await self.send_json({"type": "delta", "text": chunk.choices[0].delta.content})
        await self.send_json({"type": "end"})


application = ProtocolTypeRouter({"websocket": URLRouter([path("ws/", ChatConsumer.as_asgi())])})
