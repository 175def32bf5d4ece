"""The Django app of the MCP server."""

from __future__ import annotations

from assistant.asgi.mounts import mount
from assistant.contrib.mcp_server.addresses import MCP, METADATA
from assistant.optional_apps import OptionalApp


class McpServerConfig(OptionalApp):
    name = "assistant.contrib.mcp_server"
    label = "assistant_mcp_server"
    verbose_name = "Assistant: MCP server"
    packages = {"mcp": "mcp"}
    for_programs = ("/mcp/", "/.well-known/")

    def register(self) -> None:
        from assistant.services.jobs import jobs

        jobs.handled_in("assistant.contrib.mcp_server.direct_journal")
        # It is an ASGI application, because Django views are not told that a client has disconnected.
        mount(self.label, names=(MCP, METADATA), module="assistant.contrib.mcp_server.asgi", prefix="mcp/")
