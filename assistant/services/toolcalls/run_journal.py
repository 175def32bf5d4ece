"""The audit of tool calls: a row before a tool runs, its outcome after, one crossing to the database each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from assistant.core.conversation.sub_agent_transcripts import SubAgentRun, to_stored
from assistant.core.toolcalls.protocols import PlannedCall, ToolOutcome
from assistant.core.toolcalls.replay import replayed
from assistant.core.values.messages import ToolCall as Call
from assistant.models import ToolCall
from assistant.services import metrics
from assistant.services.db.prepared_writes import PreparedInsert, PreparedUpdate
from assistant.services.db.threads import in_database, in_database_with_retry
from assistant.services.limits.quota_ledger import record_quota_reached, reserve_calls
from assistant.services.run_key import RunKey
from assistant.services.tenancy.quotas import NO_QUOTAS, QuotaReached, Quotas
from assistant.services.toolcalls.files import keep_files
from assistant.services.toolpolicy.catalogue import registry
from assistant.toolkit import Media

# What an operator can look up of a single result.
KEPT_CHARACTERS = 200_000
# What a page is shown again after a reload, as JSON.
KEPT_DISPLAY_BYTES = 200_000
# Rows of calls that have not begun; all others have, and none of them runs twice unseen.
_NOT_BEGUN = frozenset({ToolCall.Status.APPROVED, ToolCall.Status.AWAITING_APPROVAL})
_CUT_OFF = frozenset({ToolCall.Status.RUNNING, ToolCall.Status.INTERRUPTED, ToolCall.Status.CANCELLED})

_CALLS = PreparedInsert(ToolCall)
_TOLD = ("status", "rule", "result", "told", "display", "asked", "error", "error_id", "duration_ms")


def _call(*, pk: int, tenant_id: int) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(pk=pk, tenant_id=tenant_id)


# One update of many rows would save a way to the database, and costs Django twenty times as long to write.
_ENDING = PreparedUpdate(_call, *_TOLD, pk=int, tenant_id=int)


class AuditJournal:
    """Keeps one run's tool calls; a call that waited for approval goes on in the row of the run that asked."""

    def __init__(self, key: RunKey, tenant_slug: str, quotas: Quotas = NO_QUOTAS) -> None:
        self._key = key
        self._quotas = quotas
        self._tenant_slug = tenant_slug
        self._rows: dict[str, int] = {}

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        rows, known = await in_database_with_retry(note_start, key=self._key, batch=batch, quotas=self._quotas)
        self._rows |= rows
        return known

    async def keep(self, call: Call, media: Sequence[Media]) -> Sequence[Mapping[str, object]]:
        return await in_database(
            keep_files, key=self._key, tenant_slug=self._tenant_slug, call_pk=self._rows[call.id], media=media
        )

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        await in_database_with_retry(note_outcomes, key=self._key, rows=self._rows, outcomes=outcomes)
        catalogue = registry()
        metrics.count_calls(
            tenant=self._tenant_slug,
            outcomes=outcomes,
            # A call that did not run may have a name that the model made up.
            is_known=lambda outcome: outcome.call.id in self._rows or outcome.call.name in catalogue,
        )


def note_start(
    *, key: RunKey, batch: Sequence[PlannedCall], quotas: Quotas = NO_QUOTAS
) -> tuple[dict[str, int], dict[str, ToolOutcome]]:
    """Write down calls that are about to run, and count them.

    Returns:
        Their rows' ids by call id, and the outcomes of those that must not run: they did before, or are above a quota.
    """
    rows, known, reached = _note_start(key, batch, quotas)
    if reached is not None:
        record_quota_reached(tenant_id=key.tenant_id, user_id=key.user_id, reached=reached)
    return rows, known


@transaction.atomic
def _note_start(
    key: RunKey, batch: Sequence[PlannedCall], quotas: Quotas
) -> tuple[dict[str, int], dict[str, ToolOutcome], QuotaReached | None]:
    # Before any other row is locked.
    taken, reached = reserve_calls(tenant_id=key.tenant_id, user_id=key.user_id, quotas=quotas, count=len(batch))
    above = above_quota(batch[taken:], reached)
    batch = batch[:taken]
    found = {row.call_id: row for row in _rows_of(key, batch).select_for_update()}
    known = {
        work.call.id: outcome
        for work in batch
        if work.call.id in found and (outcome := replayed(work, _outcome_of(found[work.call.id], work)))
    }
    new = [
        ToolCall(
            tenant_id=key.tenant_id,
            run_id=key.pk,
            call_id=work.call.id,
            agent=work.agent,
            name=work.tool.name,
            arguments=work.arguments_text,
            rule=work.rule,
        )
        for work in batch
        if work.call.id not in found
    ]
    _CALLS.insert_all(new)
    for work in batch:
        if work.call.id in found and work.call.id not in known:
            _of_conversation(key).filter(pk=found[work.call.id].pk).update(
                status=ToolCall.Status.RUNNING, arguments=work.arguments_text, started_at=timezone.now()
            )
    return {row.call_id: row.pk for row in (*found.values(), *new)}, known | above, reached


def above_quota(batch: Sequence[PlannedCall], reached: QuotaReached | None) -> dict[str, ToolOutcome]:
    """What comes of calls that a quota does not let run."""
    sentence = str(reached)
    return {
        work.call.id: ToolOutcome(
            work.call,
            "refused",
            f"Not run: {sentence}",
            error=sentence,
            rule="A quota of tool calls is used up.",
            agent=work.agent,
            quota=sentence,
        )
        for work in batch
    }


def _rows_of(key: RunKey, batch: Sequence[PlannedCall]) -> QuerySet[ToolCall]:
    """What was written of these calls before: in this run, or in the one that asked for their approval."""
    asked = [work.call.id for work in batch if work.decision is not None]
    here = Q(run_id=key.pk, call_id__in=[work.call.id for work in batch])
    return _of_conversation(key).filter(here | Q(call_id__in=asked))


def _outcome_of(row: ToolCall, work: PlannedCall) -> ToolOutcome | None:
    """What came of a call before; None if it had not begun."""
    if row.status in _NOT_BEGUN:
        return None
    return ToolOutcome(
        work.call,
        "cancelled" if row.status in _CUT_OFF else row.status,  # type: ignore[arg-type]  # a status of the core's
        row.told or row.result,
        display=row.display,
        error=row.error,
        error_id=row.error_id,
        rule=row.rule,
        duration_ms=row.duration_ms or 0,
        full=row.result if row.told else "",
        agent=row.agent,
        return_direct=work.tool.return_direct,
    )


@transaction.atomic
def note_outcomes(*, key: RunKey, rows: Mapping[str, int], outcomes: Sequence[ToolOutcome]) -> None:
    """Write down what came of a batch; calls that never ran get their row now."""
    unknown = [outcome.call.id for outcome in outcomes if outcome.call.id not in rows]
    asked = {row.call_id: row for row in _of_conversation(key).filter(call_id__in=unknown)} if unknown else {}
    known = {**{call_id: row.pk for call_id, row in asked.items()}, **rows}
    ended = [_row(key, outcome, known.get(outcome.call.id)) for outcome in outcomes]
    for row in ended:
        if row.call_id in asked and asked[row.call_id].status == ToolCall.Status.EXPIRED:
            row.status = ToolCall.Status.EXPIRED  # nobody has said no
        if row.pk is not None:
            _ENDING.update(to={name: getattr(row, name) for name in _TOLD}, pk=row.pk, tenant_id=key.tenant_id)
    _CALLS.insert_all([row for row in ended if row.pk is None])


def note_asked(*, key: RunKey, asked: Mapping[str, Sequence[SubAgentRun]]) -> None:
    """Write down, by call id, what was said by the assistants that a dead run's own calls had asked."""
    for call_id, said in asked.items():
        calls = ToolCall.objects.filter(tenant_id=key.tenant_id, run_id=key.pk, call_id=call_id)
        calls.filter(asked__isnull=True).update(asked=to_stored(said))


def _of_conversation(key: RunKey) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(tenant_id=key.tenant_id, run__conversation_id=key.conversation_id)


def _row(key: RunKey, outcome: ToolOutcome, pk: int | None) -> ToolCall:
    return ToolCall(
        pk=pk,
        tenant_id=key.tenant_id,
        run_id=key.pk,
        call_id=outcome.call.id,
        agent=outcome.agent,
        name=outcome.call.name[:128],
        arguments=outcome.call.arguments,
        told=outcome.content if outcome.full or len(outcome.content) > KEPT_CHARACTERS else "",
        display=_kept(outcome.display),
        asked=to_stored(outcome.sub_agents),
        **ending_of(outcome),
    )


def ending_of(outcome: ToolOutcome) -> dict[str, Any]:
    """The columns of a call's row that say how it ended and what it brought."""
    return {
        "status": outcome.status,
        "rule": outcome.rule[:300],
        "result": (outcome.full or outcome.content)[:KEPT_CHARACTERS],
        "error": outcome.error,
        "error_id": outcome.error_id,
        "duration_ms": outcome.duration_ms,
    }


def _kept(display: object) -> object:
    """What a page is to show, unless it is too much to be kept."""
    return None if display is None or len(msgspec.json.encode(display)) > KEPT_DISPLAY_BYTES else display
