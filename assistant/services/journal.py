"""The audit of tool calls: a row before a tool runs, its outcome after, one crossing to the database each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from assistant.core.toolbox import PlannedCall, ToolOutcome
from assistant.models import ToolCall
from assistant.services.database import in_database
from assistant.services.leases import RunKey

# What an operator can look up of a single result.
KEPT_CHARACTERS = 200_000


class AuditJournal:
    """Keeps one run's tool calls; a call that waited for approval goes on in the row of the run that asked."""

    def __init__(self, key: RunKey) -> None:
        self._key = key
        self._rows: dict[str, int] = {}

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        self._rows |= await in_database(note_start, key=self._key, batch=batch)
        return {}

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        await in_database(note_outcomes, key=self._key, rows=self._rows, outcomes=outcomes)


@transaction.atomic
def note_start(*, key: RunKey, batch: Sequence[PlannedCall]) -> dict[str, int]:
    """Write down calls that are about to run; returns their rows' ids by call id."""
    approved = [planned.call.id for planned in batch if planned.decision is not None]
    waiting: dict[str, int] = {}
    if approved:
        waiting = dict(
            _of_conversation(key).filter(call_id__in=approved).select_for_update().values_list("call_id", "pk")
        )
    new = [
        ToolCall(
            tenant_id=key.tenant_id,
            run_id=key.pk,
            call_id=planned.call.id,
            name=planned.tool.name,
            arguments=planned.arguments_text,
            rule=planned.rule,
        )
        for planned in batch
        if planned.call.id not in waiting
    ]
    ToolCall.objects.bulk_create(new)
    for planned in batch:
        if planned.call.id in waiting:
            _of_conversation(key).filter(pk=waiting[planned.call.id]).update(
                status=ToolCall.Status.RUNNING, arguments=planned.arguments_text, started_at=timezone.now()
            )
    return waiting | {row.call_id: row.pk for row in new}


@transaction.atomic
def note_outcomes(*, key: RunKey, rows: Mapping[str, int], outcomes: Sequence[ToolOutcome]) -> None:
    """Write down what came of a batch; calls that never ran get their row now."""
    unknown = [outcome for outcome in outcomes if outcome.call.id not in rows]
    declined = dict(
        _of_conversation(key).filter(call_id__in=[outcome.call.id for outcome in unknown]).values_list("call_id", "pk")
        if unknown
        else ()
    )
    known = {**declined, **rows}
    ended = [_row(key, outcome, known.get(outcome.call.id)) for outcome in outcomes]
    ToolCall.objects.filter(tenant_id=key.tenant_id).bulk_update(
        [row for row in ended if row.pk is not None],
        ["status", "rule", "result", "error", "error_id", "duration_ms"],
    )
    ToolCall.objects.bulk_create([row for row in ended if row.pk is None])


def _of_conversation(key: RunKey) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(tenant_id=key.tenant_id, run__conversation_id=key.conversation_id)


def _row(key: RunKey, outcome: ToolOutcome, pk: int | None) -> ToolCall:
    return ToolCall(
        pk=pk,
        tenant_id=key.tenant_id,
        run_id=key.pk,
        call_id=outcome.call.id,
        name=outcome.call.name[:128],
        arguments=outcome.call.arguments,
        status=outcome.status,
        rule=outcome.rule[:300],
        result=(outcome.full or outcome.content)[:KEPT_CHARACTERS],
        error=outcome.error,
        error_id=outcome.error_id,
        duration_ms=outcome.duration_ms,
    )
