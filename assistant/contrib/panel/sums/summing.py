"""Keeps the sums of all tenants' days in server processes: one of them each time."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Value
from django.utils import timezone

from assistant.contrib.panel.models import SummedTenant
from assistant.contrib.panel.sums.day_sums import sum_days
from assistant.models import Tenant
from assistant.services.db.threads import in_database
from assistant.services.jobs.recurring import recurs

# How often sums are compared with their rows, and how many tenants one process claims at once.
EVERY = timedelta(hours=1)
MAX_CLAIMED = 50


@recurs("panel.sum_days", seconds=60.0, is_first_later=True)
async def sum_tenants() -> None:
    """Bring the sums that are due up to date, tenant by tenant."""
    if not settings.ASSISTANT_PANEL_SUMS:
        return
    for tenant_id, zone in await in_database(claim_sums, now=timezone.now()):
        await in_database(sum_days, tenant_id=tenant_id, zone=zone, now=timezone.now())


def claim_sums(*, now: datetime) -> list[tuple[int, str]]:
    """Claim the tenants whose sums are due; each with the time zone of the days. No two processes claim the same.

    Reports have days in UTC, as limits count them, in the site's time zone and in the tenant's own.
    """
    found: dict[tuple[int, str], None] = {}
    for zone in (Value("UTC"), Value(timezone.get_default_timezone_name()), F("timezone")):
        rows = Tenant.objects.annotate(of_days=zone)
        fresh = SummedTenant.objects.filter(tenant=OuterRef("pk"), zone=OuterRef("of_days"), checked_at__gt=now - EVERY)
        due = rows.exclude(Exists(fresh)).order_by("pk").values_list("pk", "of_days")
        found |= dict.fromkeys(due[:MAX_CLAIMED])
    return [key for key in list(found)[:MAX_CLAIMED] if _claim(*key, now)]


def _claim(tenant_id: int, zone: str, now: datetime) -> bool:
    known = SummedTenant.objects.filter(tenant=tenant_id, zone=zone)
    if known.filter(checked_at__lte=now - EVERY).update(checked_at=now):
        return True
    if known.exists():
        return False
    try:
        with transaction.atomic():
            SummedTenant.objects.create(tenant_id=tenant_id, zone=zone, checked_at=now)
    except IntegrityError:
        return False
    return True
