"""An ASGI application that is made anew for each request, by the settings of the moment."""

from typing import Any

from django.core.asgi import get_asgi_application

from assistant.routing import with_assistant


async def application(scope: Any, receive: Any, send: Any) -> None:
    await with_assistant(get_asgi_application())(scope, receive, send)
