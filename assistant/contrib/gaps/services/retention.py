"""How long open questions are kept: as long as arguments of tool calls; labels and doubts until they are deleted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from assistant.contrib.gaps.models import OpenQuestion
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for


def register() -> None:
    """Apply a tenant's retention period of tool calls to open questions."""
    keep_for("tool_calls", _questions)


def _questions(tenant: Tenant, until: datetime) -> Iterator[Due]:
    yield Due("open questions", OpenQuestion.objects.filter(tenant=tenant, asked_at__lt=until), delete_rows)
