"""What a tenant has besides conversations, for `assistant_seed`: switches, limits, jobs and the like."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from assistant.core.values.quota_kinds import Windows
from assistant.models import (
    Incident,
    Job,
    QuotaUse,
    Tenant,
    TenantLimits,
    ToolSetting,
)
from assistant.services.jobs.names import PUBLISH_JOB
from assistant.services.toolpolicy import catalogue


def settings_of(chance: random.Random, tenant: Tenant, now: datetime) -> list[Any]:
    """Return a tenant's unsaved rows: switches, limits, a job, an incident."""
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
    if chance.random() < 0.05:
        rows.append(Incident(tenant=tenant, tool="get_customer", description="A foreign row.", created_at=now))
    return rows
