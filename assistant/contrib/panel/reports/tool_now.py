"""What happens with tools now, for the board's cells: calls of the last hour, how many failed, and who waits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q

from assistant.contrib.panel.reports.tool_use import FAILED
from assistant.models import Approval, ToolCall

SPAN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ToolNow:
    """Of a tool of a tenant or of one of its assistants: calls, failed and refused ones, and those that wait.

    Attributes:
        assistant_id: None for the whole tenant.
    """

    tenant_id: int
    assistant_id: int | None
    tool: str
    calls: int
    failed: int
    refused: int
    waiting: int


def tools_now(*, tenants: Collection[int], now: datetime, by_assistant: bool) -> list[ToolNow]:
    """Return what was called in the last `SPAN` or waits for an approval; two queries. Tests are left out.

    Args:
        by_assistant: of each assistant too, besides the whole tenants.
    """
    calls = ToolCall.objects.filter(tenant__in=tenants, started_at__gte=now - SPAN).exclude(run__is_test=True)
    sums = calls.order_by().values_list("tenant_id", "run__assistant_id", "name")
    counted = sums.annotate(
        calls=Count("pk"),
        failed=Count("pk", filter=Q(status__in=FAILED)),
        refused=Count("pk", filter=Q(status=ToolCall.Status.REFUSED)),
    )
    waiting = Approval.objects.filter(tenant__in=tenants, run__is_test=False).order_by()
    waits = waiting.values_list("tenant_id", "run__assistant_id", "name").annotate(waiting=Count("pk"))
    found: dict[tuple[int, int | None, str], list[int]] = {}

    def add(tenant: int, assistant: int | None, tool: str, *figures: int) -> None:
        for owner in dict.fromkeys((None, assistant) if by_assistant else (None,)):
            before = found.get((tenant, owner, tool), (0, 0, 0, 0))
            found[tenant, owner, tool] = [one + more for one, more in zip(before, figures, strict=True)]

    for tenant, assistant, tool, count, failed, refused in counted:
        add(tenant, assistant, tool, count, failed, refused, 0)
    for tenant, assistant, tool, count in waits:
        add(tenant, assistant, tool, 0, 0, 0, count)
    return [ToolNow(*key, *figures) for key, figures in found.items()]
