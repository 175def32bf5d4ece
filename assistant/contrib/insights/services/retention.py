"""How long sums and warnings are kept: as long as a tenant's audit. And what an erasure takes from recipients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from datetime import datetime

from assistant.contrib.insights.models import DaySum, QualityWarning, WarningSettings
from assistant.models import Tenant
from assistant.services.privacy.erasure_rules import erase_with
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for


def register() -> None:
    """Apply a tenant's retention period of the audit to the rows of this app, and erasures to recipients."""
    keep_for("audit", _sums)
    erase_with(_remove_recipients)


def _sums(tenant: Tenant, until: datetime) -> Iterator[Due]:
    yield Due("sums of days", DaySum.objects.filter(tenant=tenant, day__lt=until.date()), delete_rows)
    warnings = QualityWarning.objects.filter(tenant=tenant, created_at__lt=until)
    yield Due("warnings of quality", warnings, delete_rows)


def _remove_recipients(names: Collection[str]) -> Counter[str]:
    """Take a person's addresses from those that tenants are warned at; no row is deleted."""
    theirs = {name.lower() for name in names}
    for row in WarningSettings.objects.exclude(emails=[]):
        remaining = [address for address in row.emails if str(address).lower() not in theirs]
        if remaining != row.emails:
            WarningSettings.objects.filter(pk=row.pk, tenant=row.tenant_id).update(emails=remaining)
    return Counter()
