"""How long it is kept what a receipt says of results: as long as the results themselves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from assistant.contrib.receipts.models import Receipt
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, keep_for


def register() -> None:
    """Apply a tenant's period of tool calls. Receipts are deleted with their conversation."""
    keep_for("tool_calls", _emptied)


def _emptied(tenant: Tenant, until: datetime) -> Iterator[Due]:
    rows = Receipt.objects.filter(tenant=tenant, created_at__lt=until).exclude(marks=[], actions=[])
    yield Due("receipts emptied", rows, _empty)


def _empty(rows: QuerySet[Any]) -> None:
    # They name fields and addresses of results. The counts stay, for operators.
    rows.update(marks=[], actions=[])
