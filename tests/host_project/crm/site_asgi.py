"""The site with the assistant beside it, and a websocket of its own."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_settings")
site = get_asgi_application()

from assistant.routing import with_assistant  # noqa: E402


async def echo(scope, receive, send):
    """The project's own websocket."""
    while True:
        message = await receive()
        if message["type"] == "websocket.connect":
            await send({"type": "websocket.accept"})
        elif message["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message["text"]})
        else:
            return


application = with_assistant(site, websockets=echo)
