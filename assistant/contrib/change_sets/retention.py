"""How long ended change sets of tenants are kept: as long as a tenant's audit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from assistant.contrib.change_sets.models import AppliedChange, ChangeSet
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for


def register() -> None:
    """Apply a tenant's retention period of the audit to the rows of this app."""
    keep_for("audit", _ended)


def _ended(tenant: Tenant, until: datetime) -> Iterator[Due]:
    changes = AppliedChange.objects.filter(tenant=tenant, is_in_force=False, ended_at__lt=until)
    yield Due("applied changes", changes, delete_rows)
    sets = ChangeSet.objects.filter(tenant=tenant, state=ChangeSet.State.ENDED, ended_at__lt=until)
    yield Due("change sets", sets, delete_rows)
