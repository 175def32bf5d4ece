"""What a tool's page lists besides its use by tenant: days, calls that wait, the last failures, and changes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate

from assistant.contrib.panel.reports.tool_use import FAILED
from assistant.models import Approval, AuditEntry, ToolCall

DAYS = 30
# Rows of each list; a link leads to the whole list.
LISTED = 10
# Entries of the audit are not indexed by what they are about: those of so many days are read.
CHANGE_DAYS = 90


@dataclass(frozen=True, slots=True)
class ToolDay:
    """A day's calls of a tool, how many of them failed, and how many were refused."""

    date: date
    calls: int = 0
    failed: int = 0
    refused: int = 0


def days_of_tool(*, tool: str, tenants: Collection[int], now: datetime, zone: ZoneInfo) -> list[ToolDay]:
    """Return the last `DAYS` days of a time zone, today last, with one query. Tests of prompts are left out."""
    today = now.astimezone(zone).date()
    first = today - timedelta(days=DAYS - 1)
    begin = datetime.combine(first, time.min, zone)
    calls = ToolCall.objects.filter(tenant__in=tenants, name=tool, started_at__gte=begin).exclude(run__is_test=True)
    counted: Any = (
        calls.order_by()
        .values(day=TruncDate("started_at", tzinfo=zone))
        .annotate(
            calls=Count("pk"),
            failed=Count("pk", filter=Q(status__in=FAILED)),
            refused=Count("pk", filter=Q(status=ToolCall.Status.REFUSED)),
        )
    )
    found = {row["day"]: ToolDay(row["day"], row["calls"], row["failed"], row["refused"]) for row in counted}
    days = [first + timedelta(days=number) for number in range(DAYS)]
    return [found.get(day, ToolDay(day)) for day in days]


def waiting_calls(*, tool: str, tenants: Collection[int]) -> QuerySet[Approval]:
    """Return calls of a tool that wait for an approval, those that wait longest first."""
    rows = Approval.objects.filter(tenant__in=tenants, name=tool, run__is_test=False)
    return rows.select_related("tenant", "run__user").order_by("started_at")[:LISTED]


def last_failures(*, tool: str, tenants: Collection[int]) -> QuerySet[ToolCall]:
    """Return the newest calls of a tool that failed or were refused, of real conversations."""
    bad = (*FAILED, ToolCall.Status.REFUSED)
    rows = ToolCall.objects.filter(tenant__in=tenants, name=tool, status__in=bad).exclude(run__is_test=True)
    return rows.select_related("tenant", "run__conversation__tenant").order_by("-started_at")[:LISTED]


def changes_of_tool(
    *, tool: str, tenants: Collection[int], now: datetime, with_deployment: bool
) -> QuerySet[AuditEntry]:
    """Return the newest entries of the audit about a tool: its switches and settings, and its block for everyone.

    Args:
        with_deployment: those of no tenant too.
    """
    rows = AuditEntry.objects.filter(tenant__in=tenants)
    if with_deployment:
        rows |= AuditEntry.objects.filter(tenant=None)
    about = Q(target=tool) | Q(target__endswith=f": {tool}")
    since = now - timedelta(days=CHANGE_DAYS)
    rows = rows.filter(about, action__startswith="tool", created_at__gte=since)
    return rows.select_related("actor", "tenant").order_by("-created_at", "-pk")[:LISTED]
