"""The addresses of the MCP server, which is an ASGI application, below the mount of `assistant.urls`."""

from __future__ import annotations

from django.urls import path

from assistant.asgi.mounts import beside_the_site
from assistant.contrib.mcp_server.addresses import MCP, METADATA, METADATA_PATH, PATH

urlpatterns = [
    path(PATH, beside_the_site, name=MCP),
    path(METADATA_PATH, beside_the_site, name=METADATA),
    path(f"{METADATA_PATH}/{PATH}", beside_the_site, name=METADATA),
]
