"""Keeps the sums of all tenants' days in server processes: one of them each time, and nothing during a run."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from assistant.contrib.insights.models import DaySum, SummedTenant
from assistant.contrib.insights.services.day_sums import sum_day
from assistant.contrib.insights.services.releases import record_release
from assistant.contrib.insights.services.warnings import record_warnings, send_warnings
from assistant.models import Feedback, Run, Tenant
from assistant.services.db.threads import in_database
from assistant.services.jobs.recurring import recurs

# How often a tenant with new runs is summed, and how many tenants one process claims at once.
EVERY = timedelta(minutes=10)
MAX_TENANTS = 20
# Runs end and are rated after their day, too: so many days are made anew once an hour.
OPEN_DAYS = 3
# The days of runs that were rated later are made anew, unless rows are gone.
MAX_RATED = 1_000
# Whether this process has recorded its release.
_begun: list[bool] = []


@recurs("insights.sum", seconds=60.0, is_first_later=True)
async def sum_tenants() -> None:
    """Make the sums of the tenants that are due, tenant by tenant, and send the warnings that are due."""
    if not settings.ASSISTANT_INSIGHTS_FROM_SERVER:
        return
    if not _begun:
        # Once in a process: while others still run the release before, the two do not take turns.
        _begun.append(await in_database(record_release))
    for tenant_id, last in await in_database(claim_tenants, now=timezone.now()):
        for day, keeps_larger in await in_database(due_days, tenant_id=tenant_id, last=last, now=timezone.now()):
            await in_database(sum_day, tenant_id=tenant_id, day=day, keeps_larger=keeps_larger)
        await in_database(record_warnings, tenant_id=tenant_id, now=timezone.now())
    await send_warnings()


def claim_tenants(*, now: datetime) -> list[tuple[int, datetime | None]]:
    """Claim the tenants with runs of the last days that were summed too long ago; each with when that was.

    No two processes claim the same.
    """
    recent = Run.objects.filter(tenant=OuterRef("pk"), started_at__gte=now - timedelta(days=OPEN_DAYS))
    fresh = SummedTenant.objects.filter(tenant=OuterRef("pk"), summed_at__gt=now - EVERY)
    found = Tenant.objects.filter(Exists(recent)).exclude(Exists(fresh)).order_by("pk")
    ids = list(found.values_list("pk", flat=True)[:MAX_TENANTS])
    summed = dict(SummedTenant.objects.filter(tenant__in=ids).values_list("tenant_id", "summed_at"))
    return [(pk, summed.get(pk)) for pk in ids if _claim(pk, summed.get(pk), now)]


def _claim(tenant_id: int, last: datetime | None, now: datetime) -> bool:
    if last is not None:
        return bool(SummedTenant.objects.filter(tenant_id=tenant_id, summed_at=last).update(summed_at=now))
    try:
        with transaction.atomic():
            SummedTenant.objects.create(tenant_id=tenant_id, summed_at=now)
    except IntegrityError:
        return False
    return True


def due_days(*, tenant_id: int, last: datetime | None, now: datetime) -> list[tuple[date, bool]]:
    """Return the days of a tenant to sum, and of each whether it keeps larger sums.

    Today; once an hour the days before it that are still open; and those of runs that were rated since. Without earlier
    sums, all days with runs.
    """
    today = now.astimezone(UTC).date()
    if last is None:
        return [(day, True) for day in days_with_runs(tenant_id=tenant_id)]
    if last.replace(minute=0, second=0, microsecond=0) == now.replace(minute=0, second=0, microsecond=0):
        return [(today, False)]
    open_days = {today - timedelta(days=number) for number in range(OPEN_DAYS)}
    rated = Feedback.objects.filter(tenant_id=tenant_id, created_at__gte=last - timedelta(hours=1))
    times = rated.filter(message__run__isnull=False).values_list("message__run__started_at", flat=True)[:MAX_RATED]
    earlier = {at.astimezone(UTC).date() for at in times if at is not None} - open_days
    return [*((day, False) for day in sorted(open_days)), *((day, True) for day in sorted(earlier))]


def days_with_runs(*, tenant_id: int, first: date | None = None) -> list[date]:
    """Return the days (UTC) on which runs of a tenant began, or that have sums, from `first` on."""
    started = Run.objects.filter(tenant_id=tenant_id, is_test=False)
    stored = DaySum.objects.filter(tenant_id=tenant_id)
    if first is not None:
        started = started.filter(started_at__gte=datetime(first.year, first.month, first.day, tzinfo=UTC))
        stored = stored.filter(day__gte=first)
    days = {moment.date() for moment in started.order_by().datetimes("started_at", "day", tzinfo=UTC)}
    return sorted(days | set(stored.order_by().values_list("day", flat=True).distinct()))
