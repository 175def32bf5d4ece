"""Records how calls ended that were not waited for."""

from __future__ import annotations

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.models import ToolCall
from assistant.services.run_key import RunKey
from assistant.toolkit.calls.results import stored


def record_late_outcome(*, key: RunKey, outcome: ToolOutcome) -> None:
    """Add the outcome to the row of a call that timed out or was cancelled; what the model read stays."""
    calls = ToolCall.objects.filter(
        tenant_id=key.tenant_id,
        run_id=key.pk,
        call_id=outcome.call.id,
        status__in=(ToolCall.Status.TIMEOUT, ToolCall.Status.CANCELLED),
    )
    ending = {"error": "failed", "cancelled": "was stopped"}.get(outcome.status, "completed")
    for row in calls.only("pk", "result", "told", "error"):
        calls.filter(pk=row.pk).update(
            told=row.told or row.result,
            result=stored(outcome.full or outcome.content),
            error=f"{row.error or row.result} It {ending} after {outcome.duration_ms / 1000:.3g} seconds.".lstrip(),
            duration_ms=outcome.duration_ms,
        )
