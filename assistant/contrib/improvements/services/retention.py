"""How long cases are kept: as long as arguments and results of tool calls. Annotations go with their conversation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from assistant.contrib.improvements.models import ProblemCase
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for


def register() -> None:
    """Apply a tenant's retention period of tool calls to cases."""
    keep_for("tool_calls", _cases)


def _cases(tenant: Tenant, until: datetime) -> Iterator[Due]:
    yield Due("cases of problems", ProblemCase.objects.filter(tenant=tenant, at__lt=until), delete_rows)
