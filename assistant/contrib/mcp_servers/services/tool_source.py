"""Hands the tools of tenants' external servers to the policy, which decides on them as on this deployment's own."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from django.db.models import Exists

from assistant.contrib.mcp_servers.models import McpServer, McpTool

if TYPE_CHECKING:
    from assistant.services.toolpolicy.outside_tools import OutsideTool, OutsideTools
    from assistant.toolkit.context import UserId


class McpTools:
    """The source of outside tools (`assistant.services.toolpolicy.outside_tools.ToolSource`).

    It is registered with the app; what asks servers is imported when a tenant has any.
    """

    def has_tools(self, *, tenant_id: int) -> Any:
        return Exists(McpServer.objects.filter(tenant_id=tenant_id, is_active=True))

    def tools_of(self, *, tenant_id: int, user_id: UserId | None) -> list[OutsideTool]:
        from assistant.contrib.mcp_servers.services.tools import remote_tools

        return remote_tools(tenant_id=tenant_id, user_id=user_id)

    def most_common(
        self, *, tenants: Collection[int], limit: int, words: str, changes_things: bool, asks: bool
    ) -> OutsideTools:
        from assistant.contrib.mcp_servers.services.tools_by_tenant import most_common_tools

        return most_common_tools(tenants=tenants, limit=limit, words=words, changes_things=changes_things, asks=asks)

    def named(self, *, tenants: Collection[int], names: Collection[str]) -> OutsideTools:
        from assistant.contrib.mcp_servers.services.tools_by_tenant import outside_tools_named

        return outside_tools_named(tenants=tenants, names=names)

    def knows(self, name: str) -> bool:
        from assistant.mcp_client.remote_tool import prefixed

        rows = McpTool.objects.filter(server__is_active=True).values_list("server__prefix", "name")
        return any(prefixed(prefix, own) == name for prefix, own in rows.iterator())

    def keeps(self, *, tenant_id: int, names: Collection[str]) -> set[str]:
        from assistant.mcp_client.remote_tool import prefixed

        rows = McpTool.objects.filter(server__tenant_id=tenant_id).values_list("server__prefix", "name")
        return {prefixed(prefix, own) for prefix, own in rows.iterator()}.intersection(names)

    def refresh(self, tenant_id: int) -> None:
        from assistant.contrib.mcp_servers.services.health_checks import refresh_stale_listings

        refresh_stale_listings(tenant_id)
