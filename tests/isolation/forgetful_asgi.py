"""The site that never looks again whether those who are there are still welcome."""

from config.asgi import application  # sets Django up

from assistant.services.connections import open_connections  # isort: skip

__all__ = ["application"]

open_connections.without_access = lambda present: []
