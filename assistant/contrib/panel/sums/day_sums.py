"""Makes the sums of a tenant's days, and compares them with the rows: of deleted runs nothing stays in them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Count, Min
from django.db.models.functions import TruncDate

from assistant.contrib.panel.models import DaySum, SpendSum, SummedTenant
from assistant.contrib.panel.reports.days import counted_days
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.contrib.panel.sums.spend_sums import sum_spend
from assistant.models import Run, UsageEntry
from assistant.models.runs import IS_ACTIVE

# A day has sums so long after its end: what was begun before it is stored by then.
SETTLED = timedelta(hours=1)
# Sums of so many days are stored at once.
STEP = timedelta(days=7)


def sum_days(*, tenant_id: int, zone: str, now: datetime) -> None:
    """Bring the sums of a tenant's days up to date: those of new days, and of days of which rows were deleted since.

    A day in which a run began that has not ended yet is left for later, with all days after it. Nothing is done for a
    tenant that was deleted meanwhile.
    """
    row = SummedTenant.objects.filter(tenant=tenant_id, zone=zone).first()
    if row is None:
        return
    through = _last_day(tenant_id, ZoneInfo(zone), now)
    if row.through is not None:
        changed = _changed_days(tenant_id, ZoneInfo(zone), row.through)
        # A run's usage may be of the day after, too.
        for day in sorted({*changed, *(day + timedelta(days=1) for day in changed)}):
            _replace(tenant_id, zone, day, min(day, row.through))
    begin = _first_day(tenant_id, ZoneInfo(zone)) if row.through is None else row.through + timedelta(days=1)
    if begin is None:
        begin = through
    while begin <= through:
        last = min(begin + STEP, through)
        with transaction.atomic():
            _replace(tenant_id, zone, begin, last)
            SummedTenant.objects.filter(pk=row.pk, tenant=tenant_id).update(through=last)
        begin = last + timedelta(days=1)


def _replace(tenant_id: int, zone: str, first: date, last: date) -> None:
    only = TenantFilter(frozenset({tenant_id}))
    found = counted_days(tenants=only, first=first, last=last, zone=ZoneInfo(zone)) if first <= last else {}
    with transaction.atomic():
        DaySum.objects.filter(tenant=tenant_id, zone=zone, day__gte=first, day__lte=last).delete()
        DaySum.objects.bulk_create(
            [DaySum(tenant_id=tenant_id, zone=zone, day=day, **counts) for day, counts in found.items()], batch_size=500
        )
        if zone == "UTC":
            gone = SpendSum.objects.filter(tenant=tenant_id, day__gte=first, day__lte=last).exclude(day__in=found)
            gone.delete()
            for day in found:
                sum_spend(tenant_id=tenant_id, day=day)


def _last_day(tenant_id: int, zone: ZoneInfo, now: datetime) -> date:
    """Return the last day that is over, and of which all runs have ended."""
    over = (now - SETTLED).astimezone(zone).date() - timedelta(days=1)
    first = Run.objects.filter(IS_ACTIVE, tenant=tenant_id).aggregate(at=Min("started_at"))["at"]
    return over if first is None else min(over, first.astimezone(zone).date() - timedelta(days=1))


def _first_day(tenant_id: int, zone: ZoneInfo) -> date | None:
    """Return the first day of which there are rows."""
    runs = Run.objects.filter(tenant=tenant_id).order_by("started_at").values_list("started_at", flat=True)
    usage = UsageEntry.objects.filter(tenant=tenant_id).order_by("created_at").values_list("created_at", flat=True)
    return min((at.astimezone(zone).date() for at in (*runs[:1], *usage[:1])), default=None)


def _changed_days(tenant_id: int, zone: ZoneInfo, through: date) -> set[date]:
    """Return the days whose numbers of rows are not those of their sums. Read from indexes alone."""
    end = datetime.combine(through + timedelta(days=1), time.min, zone)
    runs = Run.objects.filter(tenant=tenant_id, started_at__lt=end).order_by()
    usage = UsageEntry.objects.filter(tenant=tenant_id, created_at__lt=end).order_by()
    there = {
        *((day, "run_rows", count) for day, count in _numbers(runs, "started_at", zone)),
        *((day, "usage_rows", count) for day, count in _numbers(usage, "created_at", zone)),
    }
    summed: set[tuple[date, str, int]] = set()
    for row in DaySum.objects.filter(tenant=tenant_id, zone=zone.key).values("day", "run_rows", "usage_rows"):
        summed |= {(row["day"], name, row[name]) for name in ("run_rows", "usage_rows") if row[name]}
    return {day for day, _name, _count in there ^ summed}


def _numbers(rows: Any, at: str, zone: ZoneInfo) -> Iterable[tuple[date, int]]:
    found: Iterable[tuple[date, int]] = rows.values_list(TruncDate(at, tzinfo=zone)).annotate(count=Count("*"))
    return found
