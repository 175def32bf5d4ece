"""How long sums and warnings are kept: as long as a tenant's audit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from assistant.contrib.insights.models import DaySum, QualityWarning
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for


def register() -> None:
    """Apply a tenant's retention period of the audit to the rows of this app."""
    keep_for("audit", _sums)


def _sums(tenant: Tenant, until: datetime) -> Iterator[Due]:
    yield Due("sums of days", DaySum.objects.filter(tenant=tenant, day__lt=until.date()), delete_rows)
    warnings = QualityWarning.objects.filter(tenant=tenant, created_at__lt=until)
    yield Due("warnings of quality", warnings, delete_rows)
