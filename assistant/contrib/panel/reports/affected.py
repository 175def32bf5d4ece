"""Who is affected by a change of switches: tenants, calls, approvals and conversations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count

from assistant.models import Conversation, Tenant, ToolCall

CALL_DAYS = 7
# A conversation in which something was said since then is open.
OPEN_HOURS = 24


@dataclass(frozen=True, slots=True)
class Affected:
    """What uses the tools of a tenant.

    Attributes:
        calls: calls of the tools in the last `CALL_DAYS` days.
        waiting: calls of the tools that wait for an approval.
        conversations: conversations of the tenant in which something was said in the last `OPEN_HOURS` hours.
    """

    tenant: Tenant
    calls: int = 0
    waiting: int = 0
    conversations: int = 0


@dataclass(frozen=True, slots=True)
class Sum:
    """The sums over all affected tenants."""

    tenants: int
    calls: int
    waiting: int
    conversations: int


def affected_by(*, tools: Mapping[int, Collection[str]], tenants: Collection[Tenant], now: datetime) -> list[Affected]:
    """Return what uses some tools, by tenant, those with the most calls first; three queries.

    Tests of prompts are left out.

    Args:
        tools: the names of the tools that are changed, by the tenant's id.
        tenants: the rows of these tenants.
    """
    ids = [tenant.pk for tenant in tenants]
    names = {name for some in tools.values() for name in some}
    calls = ToolCall.objects.filter(tenant__in=ids, name__in=names).exclude(run__is_test=True)
    recent = _by_tool(calls.filter(started_at__gte=now - timedelta(days=CALL_DAYS)))
    waiting = _by_tool(calls.filter(status=ToolCall.Status.AWAITING_APPROVAL))
    talks = Conversation.objects.filter(
        tenant__in=ids,
        is_stateless=False,
        is_temporary=False,
        test_tools="",
        updated_at__gte=now - timedelta(hours=OPEN_HOURS),
    )
    open_talks = dict(talks.order_by().values_list("tenant_id").annotate(count=Count("pk")))
    found = [
        Affected(
            tenant,
            sum(recent.get((tenant.pk, name), 0) for name in tools.get(tenant.pk, ())),
            sum(waiting.get((tenant.pk, name), 0) for name in tools.get(tenant.pk, ())),
            open_talks.get(tenant.pk, 0),
        )
        for tenant in tenants
    ]
    return sorted(found, key=lambda one: (-one.waiting, -one.calls, -one.conversations, one.tenant.name))


def sum_of(affected: Collection[Affected]) -> Sum:
    return Sum(
        len(affected),
        sum(one.calls for one in affected),
        sum(one.waiting for one in affected),
        sum(one.conversations for one in affected),
    )


def _by_tool(calls: Any) -> dict[tuple[int, str], int]:
    rows = calls.order_by().values("tenant_id", "name").annotate(count=Count("pk"))
    return {(row["tenant_id"], row["name"]): row["count"] for row in rows}
