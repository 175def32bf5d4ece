"""The external servers' tools of many tenants at once, for pages that show several tenants beside each other."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Count, Prefetch, Q, QuerySet, Value
from django.db.models.functions import Concat

from assistant.contrib.mcp_servers.models import McpServer, McpTool
from assistant.contrib.mcp_servers.services.tools import remote_tool_of
from assistant.mcp_client.remote_tool import SEPARATOR, prefixed
from assistant.services.toolpolicy.outside_tools import OutsideTool, OutsideTools, ToolsByTenant
from assistant.toolkit import Tool

# A server's prefix and the name that it gives its tool.
_Pair = tuple[str, str]


def most_common_tools(
    *, tenants: Collection[int], limit: int, words: str, changes_things: bool, asks: bool
) -> OutsideTools:
    """Return the tools that active external servers of these tenants have, those of most tenants first; three queries.

    Args:
        limit: the number of names to return.
        words: a part of the name or description.
        changes_things: only those that do not say that they only read.
        asks: only those that ask before every call.
    """
    rows = _rows(tenants)
    if words:
        rows = rows.annotate(full_name=Concat("server__prefix", Value(SEPARATOR), "name")).filter(
            Q(full_name__icontains=words) | Q(definition__description__icontains=words)
        )
    if changes_things:
        rows = rows.exclude(definition__is_read_only=True)
    if asks:
        rows = rows.filter(needs_approval=True)
    counted = rows.order_by().values_list("server__prefix", "name").annotate(count=Count("server__tenant"))
    pairs = [(prefix, name) for prefix, name, _ in counted.order_by("-count", "server__prefix", "name")]
    found = _by_tenant(tenants, pairs[:limit])
    return OutsideTools(_one_of_each(found, pairs[:limit]), found, max(0, len(pairs) - limit))


def outside_tools_named(*, tenants: Collection[int], names: Collection[str]) -> OutsideTools:
    """Return the outside tools of these names (`prefix__name`) that the tenants have; three queries."""
    prefixes = {name.partition(SEPARATOR)[0] for name in names if SEPARATOR in name}
    if not prefixes:
        return OutsideTools()
    # Not by the names alone, because long ones are shortened.
    known = _rows(tenants).filter(server__prefix__in=prefixes).order_by().values_list("server__prefix", "name")
    pairs = sorted(pair for pair in known.distinct() if prefixed(*pair) in names)
    found = _by_tenant(tenants, pairs)
    return OutsideTools(_one_of_each(found, pairs), found)


def _rows(tenants: Collection[int]) -> QuerySet[McpTool]:
    return McpTool.objects.filter(
        Q(is_listed=True) | Q(is_allowed=True), server__tenant__in=list(tenants), server__is_active=True
    )


def _by_tenant(tenants: Collection[int], pairs: Collection[_Pair]) -> ToolsByTenant:
    found: dict[int, dict[str, OutsideTool]] = {}
    if not pairs:
        return found
    rows = _rows(tenants).filter(
        server__prefix__in={prefix for prefix, _ in pairs}, name__in={name for _, name in pairs}
    )
    wanted = set(pairs)
    # Not joined: a server's row would be made again for each of its tools.
    servers = McpServer.objects.filter(tenant__in=list(tenants)).defer("headers", "oauth_client_secret")
    for row in rows.prefetch_related(Prefetch("server", servers)).order_by("pk"):
        entry = remote_tool_of(row) if (row.server.prefix, row.name) in wanted else None
        if entry is not None:
            found.setdefault(row.server.tenant_id, {}).setdefault(entry.tool.name, entry)
    return found


def _one_of_each(found: ToolsByTenant, pairs: Collection[_Pair]) -> tuple[Tool, ...]:
    """Return a tool of each pair, in their order; none for a definition that is no longer valid."""
    one: dict[str, Tool] = {}
    for tools in found.values():
        for name, entry in tools.items():
            one.setdefault(name, entry.tool)
    return tuple(one[name] for name in (prefixed(*pair) for pair in pairs) if name in one)
