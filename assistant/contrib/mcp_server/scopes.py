"""Which scope of an API key the MCP server needs, by method."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.services.tenancy.scopes import TOOLS, Rule

# Every request to `/mcp/` needs the scope, whatever its method, and so do notifications.
MCP = Rule((TOOLS,))
MCP_METHODS: Mapping[str, Rule] = dict.fromkeys(
    (
        "initialize",
        "server/discover",
        "ping",
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
    ),
    MCP,
)
