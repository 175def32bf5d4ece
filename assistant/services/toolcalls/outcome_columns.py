"""The columns of a call's row that hold its outcome."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from django.db.models import QuerySet

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.models import ToolCall
from assistant.services.db.clock import DatabaseTime
from assistant.toolkit.calls.results import stored

# The size of what a tool displays, as JSON, for pages to show again after a reload.
MAX_STORED_DISPLAY_BYTES = 200_000


def outcome_columns(outcome: ToolOutcome) -> dict[str, Any]:
    """Return the columns of a call's row that hold its outcome."""
    return {
        "status": outcome.status,
        "rule": outcome.rule[:300],
        "result": stored(outcome.full or outcome.content),
        "sources": list(outcome.sources),
        "error": outcome.error,
        "error_id": outcome.error_id,
        "duration_ms": outcome.duration_ms,
    }


def date_approvals(calls: QuerySet[ToolCall], outcomes: Iterable[ToolOutcome]) -> None:
    """Set, by the database's clock, when approval was requested for those of `calls` that wait for it.

    Approvals expire by that clock, and the host's may be a day behind.
    """
    waiting = [outcome.call.id for outcome in outcomes if outcome.status == "awaiting_approval"]
    if waiting:
        calls.filter(call_id__in=waiting).update(started_at=DatabaseTime())


def bounded_display(display: object) -> object:
    """Return what a tool displays, or None if it is too large to store."""
    return None if display is None or len(msgspec.json.encode(display)) > MAX_STORED_DISPLAY_BYTES else display
