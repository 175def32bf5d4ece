"""How a tool is used: calls, failures and durations by tenant."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q

from assistant.models import Tenant, ToolCall

USE_DAYS = 7
# Durations are read of at most so many calls of all tenants together, the newest.
MAX_DURATIONS = 10_000
FAILED = (ToolCall.Status.ERROR, ToolCall.Status.UNKNOWN, ToolCall.Status.TIMEOUT, ToolCall.Status.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tenant's calls of a tool in the last `USE_DAYS` days.

    Attributes:
        failed: calls that failed, timed out, were interrupted or whose outcome is unknown. refused: by a rule.
        p95_ms: 95 % of the calls that ran took at most so long; None if none did.
    """

    tenant: Tenant
    calls: int
    failed: int
    refused: int
    p95_ms: int | None
    last_at: datetime | None

    @property
    def failed_share(self) -> float:
        return 100 * self.failed / self.calls if self.calls else 0.0


def use_of_tool(*, tool: str, tenants: Collection[Tenant], now: datetime) -> list[ToolUse]:
    """Return the use of a tool by the tenants that called it, those with the most calls first; two queries.

    Calls of tests of prompts are left out.
    """
    by_id = {tenant.pk: tenant for tenant in tenants}
    since = now - timedelta(days=USE_DAYS)
    calls = ToolCall.objects.filter(tenant__in=list(by_id), name=tool, started_at__gte=since).exclude(run__is_test=True)
    sums = (
        calls.order_by()
        .values_list("tenant_id")
        .annotate(
            calls=Count("pk"),
            failed=Count("pk", filter=Q(status__in=FAILED)),
            refused=Count("pk", filter=Q(status=ToolCall.Status.REFUSED)),
            last_at=Max("started_at"),
        )
    )
    durations: dict[int, list[int]] = {}
    ran = calls.filter(duration_ms__isnull=False).order_by("-started_at")
    for tenant_id, milliseconds in ran.values_list("tenant_id", "duration_ms")[:MAX_DURATIONS]:
        durations.setdefault(tenant_id, []).append(milliseconds or 0)
    found = [
        ToolUse(by_id[tenant_id], count, failed, refused, percentile(durations.get(tenant_id, ()), 95), last_at)
        for tenant_id, count, failed, refused, last_at in sums
    ]
    return sorted(found, key=lambda one: (-one.calls, one.tenant.name))


def percentile(values: Collection[int], share: int) -> int | None:
    """Return the smallest value that `share` per cent of the values do not exceed; None without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)] if ordered else None
