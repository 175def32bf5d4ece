"""What tenants have used since a moment: from sums of days where there are some, else from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, Q, Sum

from assistant.contrib.panel.models import DaySum
from assistant.contrib.panel.reports.days import FAILED
from assistant.contrib.panel.reports.summed_days import summed_days
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import Run, UsageEntry

Rows = Iterable[Mapping[str, Any]]
# Reads the rows of tenants between two moments, of which the second may be open, summed by tenant.
Read = Callable[[TenantFilter, datetime, datetime | None], Rows]


def runs_since(*, tenants: Collection[int], since: datetime, now: datetime) -> Mapping[int, Counter[str]]:
    """Return the `runs` of each tenant, without tests, and how many have `failed`; at most six queries."""
    return _since(TenantFilter(frozenset(tenants)), since, now, ("runs", "failed"), _runs)


def cost_since(*, tenants: Collection[int], since: datetime, now: datetime) -> Mapping[int, Counter[str]]:
    """Return the `cost` of each tenant in millionths; at most six queries."""
    return _since(TenantFilter(frozenset(tenants)), since, now, ("cost",), _costs)


def _since(
    tenants: TenantFilter, since: datetime, now: datetime, columns: Collection[str], read: Read
) -> Mapping[int, Counter[str]]:
    found: dict[int, Counter[str]] = {}
    today = now.astimezone(UTC).date()
    first = since.astimezone(UTC).date()
    if _midnight(first) < since:
        first += timedelta(days=1)
    summed = summed_days(tenants=tenants, zone="UTC", first=first, last=today, today=today)
    if summed is None:
        _add(found, read(tenants, since, None))
        return found
    whole = _midnight(first)
    rest = _midnight(summed.through + timedelta(days=1))
    sums = summed.tenants.rows(DaySum.objects.filter(zone="UTC", day__gte=first, day__lte=summed.through))
    _add(found, sums.order_by().values("tenant_id").annotate(**{name: Sum(name) for name in columns}))
    if since < whole:
        _add(found, read(tenants, since, whole))
    if summed.others is not None:
        _add(found, read(summed.others, whole, rest))
    _add(found, read(tenants, rest, None))
    return found


def _runs(tenants: TenantFilter, begin: datetime, end: datetime | None) -> Rows:
    until = {} if end is None else {"started_at__lt": end}
    rows = tenants.rows(Run.objects.filter(is_test=False, started_at__gte=begin, **until)).order_by()
    return rows.values("tenant_id").annotate(runs=Count("pk"), failed=Count("pk", filter=Q(status__in=FAILED)))


def _costs(tenants: TenantFilter, begin: datetime, end: datetime | None) -> Rows:
    until = {} if end is None else {"created_at__lt": end}
    rows = tenants.rows(UsageEntry.objects.filter(created_at__gte=begin, **until)).order_by()
    return rows.values("tenant_id").annotate(cost=Sum("cost"))


def _add(found: dict[int, Counter[str]], rows: Rows) -> None:
    for row in rows:
        counts = {name: value for name, value in row.items() if name != "tenant_id"}
        found.setdefault(row["tenant_id"], Counter()).update(counts)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
