"""Optional apps add rows to a tenant's retention periods."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from assistant.models import Incident, Retention, Tenant
from assistant.services.privacy import retention_rules
from assistant.services.privacy.retention import apply_retention
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for
from tests.base import Cast
from tests.services.privacy.test_retention import age


def resolved(tenant: Tenant, until: datetime) -> Iterator[Due]:
    yield Due("solved", Incident.objects.filter(tenant=tenant, created_at__lt=until, is_resolved=True), delete_rows)


def test_rows_of_a_rule_are_deleted_when_the_period_of_their_kind_is_over(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_rules, "_rules", [])
    keep_for("tool_calls", resolved)
    for tenant in (cast.acme, cast.globex):
        for days in (5, 20):
            age(Incident.objects.create(tenant=tenant, tool="refund", description="", is_resolved=True), days)
    Retention.objects.create(tenant=cast.acme, tool_calls=10)
    assert apply_retention(tenant=cast.acme, dry_run=True) == {"solved": 1}
    assert apply_retention(tenant=cast.acme) == {"solved": 1}
    assert apply_retention(tenant=cast.globex) == {}
    assert Incident.objects.filter(created_at__lt=timezone.now() - timedelta(days=10)).get().tenant == cast.globex
    assert Incident.objects.count() == 3
