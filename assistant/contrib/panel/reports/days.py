"""Runs, failures and cost by day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, Q, Sum
from django.db.models.functions import TruncDate

from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.core.values.pricing import MILLIONTHS
from assistant.models import Run, UsageEntry

FAILED = (Run.Status.FAILED, Run.Status.INTERRUPTED)
DAYS = 30


@dataclass(frozen=True, slots=True)
class Day:
    """A day's runs, how many of them failed or were interrupted, and the cost by the providers' prices."""

    date: date
    runs: int = 0
    failed: int = 0
    cost: float = 0.0

    @property
    def failed_share(self) -> float | None:
        """The failed runs in per cent; None without runs."""
        return 100 * self.failed / self.runs if self.runs else None


def by_day(*, tenants: TenantFilter, first: date, last: date, zone: ZoneInfo) -> list[Day]:
    """Return each day from `first` to `last`, both included, as days of a time zone. Two queries.

    Tests of prompts are no runs here; what they cost counts.
    """
    begin, end = datetime.combine(first, time.min, zone), datetime.combine(last + timedelta(days=1), time.min, zone)
    started = tenants.rows(Run.objects.filter(is_test=False, started_at__gte=begin, started_at__lt=end))
    used = tenants.rows(UsageEntry.objects.filter(created_at__gte=begin, created_at__lt=end))
    runs = _rows(
        started.order_by()
        .values(day=TruncDate("started_at", tzinfo=zone))
        .annotate(runs=Count("pk"), failed=Count("pk", filter=Q(status__in=FAILED)))
    )
    costs = _rows(used.order_by().values(day=TruncDate("created_at", tzinfo=zone)).annotate(cost=Sum("cost")))
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    return [
        Day(
            day,
            runs.get(day, {}).get("runs", 0),
            runs.get(day, {}).get("failed", 0),
            costs.get(day, {}).get("cost", 0) / MILLIONTHS,
        )
        for day in days
    ]


def _rows(rows: Any) -> Mapping[date, Mapping[str, Any]]:
    return {row["day"]: row for row in rows}


def total(days: Sequence[Day]) -> Day:
    """Return the sums of several days, under the last one's date."""
    return Day(
        days[-1].date, sum(day.runs for day in days), sum(day.failed for day in days), sum(day.cost for day in days)
    )
