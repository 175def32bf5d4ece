"""Outside MCP servers' tools as tools of ours. Knows nothing of tenants, rows or Django."""

from assistant.mcp.client.connecting import connect
from assistant.mcp.client.definitions import OnTools, ToolDefinition
from assistant.mcp.client.endpoint import Command, Endpoint, OAuthClient
from assistant.mcp.client.errors import RemoteFailure
from assistant.mcp.client.pool import SessionPool
from assistant.mcp.client.wrapping import remote_tool

__all__ = [
    "Command",
    "Endpoint",
    "OAuthClient",
    "OnTools",
    "RemoteFailure",
    "SessionPool",
    "ToolDefinition",
    "connect",
    "remote_tool",
]
