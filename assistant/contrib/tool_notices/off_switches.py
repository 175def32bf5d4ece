"""The off switches with a reason that hold for tenants, their assistants and the whole deployment."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from assistant.models import ToolSetting
from assistant.services.toolpolicy.blocks import Block, active_reason, read_blocks


def read_tenants_blocks(tenants: Collection[int]) -> dict[int, dict[tuple[int | None, str], Block]]:
    """Return the off switches of tenants and their assistants that have a reason, by assistant (None) and tool."""
    rows = ToolSetting.objects.filter(tenant__in=tenants).annotate(active=active_reason()).exclude(active="")
    found: dict[int, dict[tuple[int | None, str], Block]] = {tenant: {} for tenant in tenants}
    columns = ("tenant_id", "assistant_id", "tool", "reason", "until")
    for tenant, assistant, tool, reason, until in rows.order_by("pk").values_list(*columns):
        found[tenant][assistant, tool] = Block(reason, until, "tenant" if assistant is None else "assistant")
    return found


def blocks_for(*, tenant_id: int, assistant_id: int | None) -> Mapping[str, Block]:
    """Return the tools that are off for a tenant's assistant with a reason: the deployment's first; two queries."""
    of_tenant = read_tenants_blocks([tenant_id])[tenant_id]
    layers = [
        {tool: block for (owner, tool), block in of_tenant.items() if owner == whose}
        for whose in dict.fromkeys((assistant_id, None))
    ]
    return {tool: block for layer in (*layers, read_blocks()) for tool, block in layer.items()}
