"""Rows of external servers for tests, and an operator who allows their tools."""

from __future__ import annotations

from typing import Any

from assistant.contrib.mcp_servers.models import McpServer, McpTool
from assistant.contrib.mcp_servers.services.health_checks import Examination, examine
from assistant.contrib.mcp_servers.services.tool_listings import decide_tool
from assistant.models import Tenant
from tests.mcp.outside import Outside
from tests.websocket.test_websocket import in_db


async def add_server(tenant: Tenant, outsider: Outside, **fields: Any) -> McpServer:
    """Create an active server whose tools were not listed yet."""
    values = {"name": "crm", "prefix": "crm", "url": outsider.url, "is_active": True, **fields}
    return await McpServer.objects.acreate(tenant=tenant, **values)


async def look(server: McpServer, user_id: int = 0) -> Examination:
    """Press the button that tests the connection."""
    return await examine(tenant_id=server.tenant_id, server_id=server.pk, user_id=user_id)


async def allow(server: McpServer, *names: str, needs_approval: bool = False) -> None:
    """Let these tools in as they are listed now."""
    for row in [row async for row in McpTool.objects.filter(server=server, name__in=names)]:
        await in_db(decide_tool)(
            actor=None,
            tenant_id=server.tenant_id,
            tool_id=row.pk,
            is_allowed=True,
            needs_approval=needs_approval,
            accepts=row.digest,
        )
