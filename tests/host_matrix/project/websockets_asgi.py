"""The chat rooms of Channels' tutorial, at its addresses, beside the assistant."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "websockets_settings")
site = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.generic.websocket import AsyncJsonWebsocketConsumer  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.urls import path  # noqa: E402

from assistant.routing import with_assistant  # noqa: E402


class Room(AsyncJsonWebsocketConsumer):
    """Tells everybody in a room what one of them says."""

    async def connect(self):
        self.room = self.scope["url_route"]["kwargs"]["room"]
        await self.channel_layer.group_add(self.room, self.channel_name)
        await self.accept()

    async def receive_json(self, content, **kwargs):
        await self.channel_layer.group_send(self.room, {"type": "say", "message": content["message"]})

    async def say(self, event):
        await self.send_json({"message": event["message"], "room": self.room})


rooms = URLRouter([path("ws/chat/<str:room>/", Room.as_asgi())])
websockets = AllowedHostsOriginValidator(AuthMiddlewareStack(rooms))
application = with_assistant(ProtocolTypeRouter({"http": site, "websocket": websockets}))
