"""What a tenant has besides conversations, for `assistant_seed`: switches, limits, servers, jobs and the like."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from assistant.core.values.quota_kinds import Windows
from assistant.mcp_client import ToolDefinition
from assistant.models import (
    Incident,
    Job,
    McpServer,
    McpTool,
    QuotaUse,
    Tenant,
    TenantLimits,
    ToolSetting,
)
from assistant.services.jobs.names import PUBLISH_JOB
from assistant.services.toolpolicy import catalogue

OUTSIDE_TOOLS = ("find_person", "add_note", "list_deals", "close_deal")


def settings_of(chance: random.Random, tenant: Tenant, now: datetime) -> list[Any]:
    """Return a tenant's unsaved rows: switches, limits, an external server, a job, an incident."""
    rows: list[Any] = [
        ToolSetting(tenant=tenant, tool=tool.name, policy=chance.choice(("on", "on", "ask", "off")))
        for tool in catalogue.registry()
        if chance.random() < 0.5
    ]
    if chance.random() < 0.4:
        rows.append(TenantLimits(tenant=tenant, tenant_messages_per_day=100, tenant_cost_per_month=10))
        at = Windows.at(now)
        used = {"day_messages": chance.randrange(101), "month_cost": chance.randrange(10_000_000)}
        rows.append(QuotaUse(tenant=tenant, minute_at=at.minute, day_at=at.day, month_at=at.month, **used))
    state = chance.choice(("done", "done", "failed", "waiting"))
    ended = None if state == "waiting" else now - timedelta(hours=3)
    problem = "The version was deleted." if state == "failed" else ""
    due = now + timedelta(days=1) if state == "waiting" else now - timedelta(hours=3)
    rows.append(Job(tenant=tenant, name=PUBLISH_JOB, key="0", due_at=due, state=state, problem=problem, ended_at=ended))
    server = McpServer(tenant=tenant, name="crm", prefix="crm", url="https://crm.example.com/mcp", is_active=True)
    rows.append(server)
    for name in OUTSIDE_TOOLS:
        definition = ToolDefinition(name, description=f"{name.replace('_', ' ').capitalize()}.")
        state_of, digest = definition.to_state(), definition.digest
        accepted = {"accepted": state_of, "accepted_digest": digest, "is_allowed": True}
        rows.append(McpTool(server=server, name=name, definition=state_of, digest=digest, **accepted))
    if chance.random() < 0.05:
        rows.append(Incident(tenant=tenant, tool="get_customer", description="A foreign row.", created_at=now))
    return rows
