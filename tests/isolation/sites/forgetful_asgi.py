"""The site without its checks of open connections: those that lost access stay open."""

from config.asgi import application  # sets Django up

from assistant.services.connections import open_connections  # isort: skip

__all__ = ["application"]

open_connections.without_access = lambda present: []
