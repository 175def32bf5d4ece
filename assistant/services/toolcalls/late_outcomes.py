"""Records how calls ended that were not waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from django.db.models import QuerySet

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.models import ToolCall
from assistant.toolkit.calls.results import stored

# How a call ended, by the status of its late outcome; else it completed.
_ENDINGS = {"error": "failed", "cancelled": "was stopped", "unknown": "was stopped"}


class LateEnds:
    """The late ends of a journal's calls. What the model read is recorded first, because it would replace them.

    Args:
        record: adds a late outcome to the row of its call.
    """

    def __init__(self, record: Callable[[ToolOutcome], Awaitable[None]]) -> None:
        self._record = record
        self._waiting: dict[str, ToolOutcome] = {}
        self._recorded: set[str] = set()

    async def add(self, outcome: ToolOutcome) -> None:
        """Record a late outcome, as soon as what the model read is recorded."""
        if outcome.call.id in self._recorded:
            await self._record(outcome)
        else:
            self._waiting[outcome.call.id] = outcome

    async def after(self, outcomes: Sequence[ToolOutcome]) -> None:
        """Record the late ends of calls whose outcomes were just recorded."""
        self._recorded.update(outcome.call.id for outcome in outcomes)
        for call_id in self._recorded.intersection(self._waiting):
            await self._record(self._waiting.pop(call_id))


def record_late_outcome(*, calls: QuerySet[ToolCall], outcome: ToolOutcome) -> None:
    """Add the outcome to the row of a call that timed out or was cancelled; what the model read stays.

    Args:
        calls: the calls of the same run, or those of a member outside of runs.
    """
    unwaited = calls.filter(call_id=outcome.call.id, status__in=(ToolCall.Status.TIMEOUT, ToolCall.Status.CANCELLED))
    ending = _ENDINGS.get(outcome.status, "completed")
    unknown = " Whether it took effect is not known." if outcome.status == "unknown" else ""
    for row in unwaited.only("pk", "result", "told", "error"):
        said = f"{row.error or row.result} It {ending} after {outcome.duration_ms / 1000:.3g} seconds.{unknown}"
        unwaited.filter(pk=row.pk).update(
            told=row.told or row.result,
            result=stored(outcome.full or outcome.content),
            error=said.lstrip(),
            duration_ms=outcome.duration_ms,
        )
