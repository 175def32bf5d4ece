"""The site that never looks again whether those who are there are still welcome."""

from config.asgi import application  # sets Django up

from assistant.services import presence  # isort: skip

__all__ = ["application"]

presence.unwelcome = lambda present: []
