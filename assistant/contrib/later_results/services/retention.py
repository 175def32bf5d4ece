"""How long results are kept that came later: as long as the calls."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from assistant.contrib.later_results.models import PendingCall
from assistant.models import Tenant, ToolCall
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for

_UNDECIDED = (
    ToolCall.Status.RUNNING,
    ToolCall.Status.AWAITING_APPROVAL,
    ToolCall.Status.APPROVED,
    ToolCall.Status.PENDING,
)


def register() -> None:
    """Apply a tenant's retention period of tool calls to the rows of this app."""
    keep_for("tool_calls", _came)


def _came(tenant: Tenant, until: datetime) -> Iterator[Due]:
    came = PendingCall.objects.filter(tenant=tenant, created_at__lt=until)
    yield Due("results that came later", came.exclude(call__status__in=_UNDECIDED), delete_rows)
