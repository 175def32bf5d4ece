"""Runs, failures and cost by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, Q, Sum
from django.db.models.functions import TruncDate

from assistant.contrib.panel.models import DaySum
from assistant.contrib.panel.reports.summed_days import summed_days
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


def by_day(*, tenants: TenantFilter, first: date, today: date, zone: ZoneInfo) -> list[Day]:
    """Return each day from `first` to `today`, both included, as days of a time zone.

    Days that are over are read from their sums, where there are some. At most seven queries. Tests of prompts are no
    runs here; what they cost counts.
    """
    found: dict[date, Counter[str]] = {}
    summed = summed_days(tenants=tenants, zone=zone.key, first=first, last=today, today=today)
    begin = first
    if summed is not None:
        begin = summed.through + timedelta(days=1)
        sums = summed.tenants.rows(DaySum.objects.filter(zone=zone.key, day__gte=first, day__lte=summed.through))
        by_sum = sums.order_by().values("day")
        _add(found, by_sum.annotate(runs=Sum("runs"), failed=Sum("failed"), cost=Sum("cost")))
        if summed.others is not None:
            _merge(found, counted_days(tenants=summed.others, first=first, last=summed.through, zone=zone))
    _merge(found, counted_days(tenants=tenants, first=begin, last=today, zone=zone))
    days = [first + timedelta(days=number) for number in range((today - first).days + 1)]
    counts = [(day, found.get(day, Counter())) for day in days]
    return [Day(day, count["runs"], count["failed"], count["cost"] / MILLIONTHS) for day, count in counts]


def counted_days(*, tenants: TenantFilter, first: date, last: date, zone: ZoneInfo) -> dict[date, Counter[str]]:
    """Return the columns of `DaySum` for the days from `first` to `last` that have rows. Two queries."""
    begin = datetime.combine(first, time.min, zone)
    end = datetime.combine(last + timedelta(days=1), time.min, zone)
    found: dict[date, Counter[str]] = {}
    started = tenants.rows(Run.objects.filter(started_at__gte=begin, started_at__lt=end)).order_by()
    counted = Q(is_test=False)
    _add(
        found,
        started.values(day=TruncDate("started_at", tzinfo=zone)).annotate(
            runs=Count("pk", filter=counted),
            failed=Count("pk", filter=counted & Q(status__in=FAILED)),
            run_rows=Count("pk"),
        ),
    )
    used = tenants.rows(UsageEntry.objects.filter(created_at__gte=begin, created_at__lt=end)).order_by()
    by_use = used.values(day=TruncDate("created_at", tzinfo=zone))
    _add(found, by_use.annotate(cost=Sum("cost"), usage_rows=Count("pk")))
    return found


def _add(found: dict[date, Counter[str]], rows: Iterable[Mapping[str, Any]]) -> None:
    for row in rows:
        counts = {name: value for name, value in row.items() if name != "day"}
        found.setdefault(row["day"], Counter()).update(counts)


def _merge(found: dict[date, Counter[str]], more: Mapping[date, Counter[str]]) -> None:
    for day, counts in more.items():
        found.setdefault(day, Counter()).update(counts)


def total(days: Sequence[Day]) -> Day:
    """Return the sums of several days, under the last one's date."""
    return Day(
        days[-1].date, sum(day.runs for day in days), sum(day.failed for day in days), sum(day.cost for day in days)
    )
