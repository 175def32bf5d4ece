"""Keeps the sums of all tenants' days in server processes: one of them each time."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, OuterRef, Q, Subquery, Value
from django.utils import timezone

from assistant.contrib.panel.models import SummedTenant
from assistant.contrib.panel.sums.day_sums import sum_days
from assistant.models import Tenant
from assistant.services.db.threads import in_database
from assistant.services.jobs.recurring import recurs

logger = logging.getLogger(__name__)
# How often sums are compared with their rows, and how many tenants one process claims at once.
EVERY = timedelta(hours=1)
MAX_CLAIMED = 50


@recurs("panel.sum_days", seconds=60.0, is_first_later=True)
async def sum_tenants() -> None:
    """Bring the sums that are due up to date, tenant by tenant."""
    if not settings.ASSISTANT_PANEL_SUMS:
        return
    for tenant_id, zone in await in_database(claim_sums, now=timezone.now()):
        try:
            await in_database(sum_days, tenant_id=tenant_id, zone=zone, now=timezone.now())
        except Exception:
            # The others of the claim would wait an hour; this tenant's days are read live.
            logger.exception("The days of tenant %s in %s have no new sums", tenant_id, zone)


def claim_sums(*, now: datetime) -> list[tuple[int, str]]:
    """Claim the tenants whose sums are due; each with the time zone of the days. No two processes claim the same.

    Reports have days in UTC, as limits count them, in the site's time zone and in the tenant's own.
    """
    due: dict[tuple[int, str], datetime | None] = {}
    for zone in (Value("UTC"), Value(timezone.get_default_timezone_name()), F("timezone")):
        known = SummedTenant.objects.filter(tenant=OuterRef("pk"), zone=OuterRef("of_days")).values("checked_at")
        rows = Tenant.objects.annotate(of_days=zone, checked=Subquery(known[:1]))
        rows = rows.filter(Q(checked=None) | Q(checked__lte=now - EVERY)).order_by(
            F("checked").asc(nulls_first=True), "pk"
        )
        waiting = rows.values_list("pk", "of_days", "checked")[:MAX_CLAIMED]
        due |= {(pk, name): checked for pk, name, checked in waiting}
    # The longest wait first, so that every tenant has its turn where more are due than are claimed.
    oldest = sorted(due, key=lambda key: (due[key] is not None, due[key] or now, key))
    return [key for key in oldest[:MAX_CLAIMED] if _claim(*key, now)]


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
