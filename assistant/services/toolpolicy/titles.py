"""The names of tools for people."""

from __future__ import annotations

from collections.abc import Collection

from assistant.services.mcp_servers.tools import remote_tools
from assistant.services.toolpolicy import catalogue


def titles_of(*, tenant_id: int, names: Collection[str]) -> dict[str, str]:
    """Return the titles of those of a tenant's tools that have one, by name; with a query only for outside tools."""
    known = catalogue.registry()
    tools = [known.get(name) for name in names if name in known]
    if len(tools) < len(names):
        tools += [
            remote.tool for remote in remote_tools(tenant_id=tenant_id, user_id=None) if remote.tool.name in names
        ]
    return {tool.name: title for tool in tools if (title := tool.title.strip())}
