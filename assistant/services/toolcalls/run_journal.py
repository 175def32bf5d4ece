"""The audit of a run's tool calls: a row before a batch runs, the outcomes after it, one transaction each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import Q, QuerySet

from assistant.core.conversation.sub_agent_transcripts import SubAgentRun, to_stored
from assistant.core.toolcalls.protocols import PlannedCall, RunTakenOver, ToolOutcome, replayed
from assistant.core.values.messages import ToolCall as Call
from assistant.models import Run, ToolCall
from assistant.models.runs import IS_ACTIVE
from assistant.services import metrics
from assistant.services.db.clock import DatabaseTime
from assistant.services.db.threads import in_database, in_database_with_retry
from assistant.services.limits.quota_ledger import record_quota_reached, reserve_calls
from assistant.services.run_key import RunKey
from assistant.services.tenancy.quotas import NO_QUOTAS, QuotaReached, Quotas
from assistant.services.toolcalls.files import store_files
from assistant.services.toolcalls.later_results import later_results
from assistant.services.toolcalls.midway_questions import to_store
from assistant.services.toolpolicy.catalogue import registry
from assistant.toolkit import Media
from assistant.toolkit.calls.call import MAX_STORED_TOKENS, stored

# The length of a stored text of a model, such as arguments over MCP.
MAX_STORED_CHARACTERS = 200_000
# Statuses of calls that have not begun. Calls with any other status must not run again.
_NOT_BEGUN = frozenset({ToolCall.Status.APPROVED, ToolCall.Status.AWAITING_APPROVAL})
_INTERRUPTED = frozenset({ToolCall.Status.RUNNING, ToolCall.Status.INTERRUPTED, ToolCall.Status.CANCELLED})

_OUTCOME_COLUMNS = (
    "status", "rule", "result", "told", "display", "asked", "questions", "sources", "error", "error_id", "duration_ms",
)  # fmt: skip


def is_held(key: RunKey) -> bool:
    """Return whether this process still has the run, and keep it until the end of the transaction.

    A process that was stopped may go on when another one has long ended its runs.
    """
    held = Run.objects.filter(IS_ACTIVE, pk=key.pk, tenant_id=key.tenant_id, lease_owner=key.owner)
    # An UPDATE that changes nothing: it locks the row, so that no process takes the run over before the calls are
    # recorded.
    return bool(held.update(lease_owner=key.owner))


@dataclass(eq=False)
class AuditJournal:
    """Records one run's tool calls. A call that waited for approval keeps the row of the run that asked.

    Args:
        repeatable: the ids of calls that may run again although they had begun, regardless of their tools.
    """

    key: RunKey
    tenant_slug: str
    quotas: Quotas = NO_QUOTAS
    repeatable: Collection[str] = ()
    _rows: dict[str, int] = field(default_factory=dict, init=False)
    _waiting: set[str] = field(default_factory=set, init=False)
    _recorded: set[str] = field(default_factory=set, init=False)
    _late: dict[str, ToolOutcome] = field(default_factory=dict, init=False)

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        start = partial(record_start, key=self.key, quotas=self.quotas, repeatable=self.repeatable)
        rows, known = await in_database_with_retry(start, batch=batch)
        self._rows |= rows
        self._waiting |= {work.call.id for work in batch if work.tool.waits and work.call.id in rows}
        return known

    async def waited_for(self, calls: Sequence[Call]) -> Mapping[str, ToolOutcome]:
        return await in_database(later_results().known_outcomes, key=self.key, calls=calls)

    async def keep(self, call: Call, media: Sequence[Media]) -> Sequence[Mapping[str, object]]:
        return await in_database(
            store_files, key=self.key, tenant_slug=self.tenant_slug, call_pk=self._rows[call.id], media=media
        )

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        waits = {call_id: self._rows[call_id] for call_id in self._waiting}
        await in_database_with_retry(record_outcomes, key=self.key, rows=self._rows, outcomes=outcomes, waits=waits)
        self._recorded.update([outcome.call.id for outcome in outcomes])
        for call_id in self._recorded.intersection(self._late):
            await self._record_late(self._late.pop(call_id))
        catalogue = registry()
        metrics.counting().count_calls(
            tenant=self.tenant_slug,
            outcomes=outcomes,
            # The name of a call that did not run may be invented by the model.
            is_known=lambda outcome: outcome.call.id in self._rows or outcome.call.name in catalogue,
            is_test=self.key.is_test,
        )

    async def ended_late(self, outcome: ToolOutcome) -> None:
        # What the model read is recorded first, because it would replace the late end.
        if outcome.call.id in self._recorded:
            await self._record_late(outcome)
        else:
            self._late[outcome.call.id] = outcome

    async def _record_late(self, outcome: ToolOutcome) -> None:
        await in_database_with_retry(record_late_outcome, calls=calls_of_run(self.key), outcome=outcome)


def record_start(
    *, key: RunKey, batch: Sequence[PlannedCall], quotas: Quotas = NO_QUOTAS, repeatable: Collection[str] = ()
) -> tuple[dict[str, int], dict[str, ToolOutcome]]:
    """Record and count calls that are about to run; `repeatable` as for `AuditJournal`.

    Returns:
        Their rows' primary keys by call id, and the outcomes of calls that must not run, because they did before or a
        quota refuses them.

    Raises:
        RunTakenOver: another process has taken the run over.
    """
    above: dict[str, ToolOutcome] = {}
    reached = None
    with transaction.atomic():
        if quotas.counted:  # first, because quotas are locked before other rows
            whose = {"tenant_id": key.tenant_id, "user_id": key.user_id}
            taken, reached = reserve_calls(**whose, quotas=quotas, count=len(batch))
            above = above_quota(batch[taken:], reached)
            batch = batch[:taken]
        if not is_held(key):
            raise RunTakenOver(key.run_id)
        rows, known = _begin_calls(key, batch, repeatable)
    if reached is not None:
        record_quota_reached(tenant_id=key.tenant_id, user_id=key.user_id, reached=reached)
    return rows, known | above


def _begin_calls(
    key: RunKey, batch: Sequence[PlannedCall], repeatable: Collection[str]
) -> tuple[dict[str, int], dict[str, ToolOutcome]]:
    """Store that these calls begin; those that have rows, in this run or in the run that asked, did so before."""
    of_conversation = ToolCall.objects.filter(tenant_id=key.tenant_id, run__conversation_id=key.conversation_id)
    here = Q(run_id=key.pk, call_id__in=[work.call.id for work in batch])
    asked = Q(call_id__in=[work.call.id for work in batch if work.decision is not None])
    found = {row.call_id: row for row in of_conversation.filter(here | asked).select_for_update()}
    known = {
        work.call.id: outcome
        for work in batch
        if work.call.id in found
        and (outcome := replayed(work, _outcome_of(found[work.call.id], work, may_repeat=work.call.id in repeatable)))
    }
    new = [
        ToolCall(
            tenant_id=key.tenant_id,
            run_id=key.pk,
            call_id=work.call.id,
            agent=work.agent,
            name=work.tool.name,
            arguments=work.arguments,
            rule=work.admission.rule,
        )
        for work in batch
        if work.call.id not in found
    ]
    ToolCall.objects.bulk_create(new)
    for work in batch:
        if work.call.id in found and work.call.id not in known:
            of_conversation.filter(pk=found[work.call.id].pk).update(
                status=ToolCall.Status.RUNNING, arguments=work.arguments, started_at=DatabaseTime()
            )
    rows = {row.call_id: row.pk for row in (*found.values(), *new)}
    if any(work.tool.waits for work in batch):
        later_results().begin(key=key, batch=batch, rows=rows)
    return rows, known


def above_quota(batch: Sequence[PlannedCall], reached: QuotaReached | None) -> dict[str, ToolOutcome]:
    """Return the outcomes of calls that a quota refuses."""
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


def _outcome_of(row: ToolCall, work: PlannedCall, *, may_repeat: bool) -> ToolOutcome | None:
    """Return the recorded outcome of a call; None if it has not begun, or has none and may run again."""
    if work.tool.waits and (waited := later_results().outcome_of(row, work)) is not None:
        return waited
    if row.status in _NOT_BEGUN or (may_repeat and row.status in _INTERRUPTED):
        return None
    return ToolOutcome(
        work.call,
        "cancelled" if row.status in _INTERRUPTED else row.status,  # type: ignore[arg-type]  # the same statuses as the core's
        row.told or row.result,
        display=row.display,
        error=row.error,
        error_id=row.error_id,
        rule=row.rule,
        duration_ms=row.duration_ms or 0,
        full=row.result if row.told else "",
        agent=row.agent,
        return_direct=work.tool.return_direct,
        sources=tuple(row.sources),
    )


@transaction.atomic
def record_outcomes(
    *, key: RunKey, rows: Mapping[str, int], outcomes: Sequence[ToolOutcome], waits: Mapping[str, int] | None = None
) -> None:
    """Record the outcomes of a batch. Calls that did not run get their row here. `waits`: rows of tools that wait.

    If another process has taken the run over, only calls that were begun here are recorded; it records the others.
    """
    unknown = [outcome.call.id for outcome in outcomes if outcome.call.id not in rows]
    asked = {row.call_id: row for row in _of_conversation(key).filter(call_id__in=unknown)} if unknown else {}
    known = {**{call_id: row.pk for call_id, row in asked.items()}, **rows}
    ended = [
        ToolCall(
            pk=known.get(outcome.call.id),
            tenant_id=key.tenant_id,
            run_id=key.pk,
            call_id=outcome.call.id,
            agent=outcome.agent,
            name=outcome.call.name[:128],
            arguments=outcome.call.arguments,
            told=outcome.content if outcome.full else "",
            display=None if outcome.display is None else bounded_display(outcome.display),
            asked=to_stored(outcome.sub_agents) if outcome.sub_agents else None,
            questions="" if outcome.asked is None else to_store(outcome),
            **outcome_columns(outcome),
        )
        for outcome in outcomes
    ]
    for row in ended:
        if row.call_id in asked and asked[row.call_id].status == ToolCall.Status.EXPIRED:
            row.status = ToolCall.Status.EXPIRED  # not declined: nobody answered
        if row.pk is not None:
            # One update per row: Django takes twenty times as long to compile a `bulk_update`.
            columns = {name: getattr(row, name) for name in _OUTCOME_COLUMNS}
            ToolCall.objects.filter(pk=row.pk, tenant_id=key.tenant_id).update(**columns)
    new = [row for row in ended if row.pk is None]
    if new and is_held(key):
        ToolCall.objects.bulk_create(new)
    if again := [row.pk for row in ended if row.questions and row.pk is not None]:
        # The run that asks is the one that its answer continues, and an earlier one may have begun the call.
        _of_conversation(key).filter(pk__in=again).update(run_id=key.pk)
    if waits:
        later_results().record(key=key, rows=waits, outcomes=outcomes)
    if [outcome for outcome in outcomes if outcome.status == "awaiting_approval"]:
        date_approvals(calls_of_run(key), outcomes)


def record_delegations(*, key: RunKey, asked: Mapping[str, Sequence[SubAgentRun]]) -> None:
    """Record the transcripts of the assistants that calls of a run asked before its process died, by call id."""
    for call_id, transcripts in asked.items():
        calls = calls_of_run(key).filter(call_id=call_id)
        calls.filter(asked__isnull=True).update(asked=to_stored(transcripts))


def calls_of_run(key: RunKey) -> QuerySet[ToolCall]:
    """Return the calls of a run."""
    return ToolCall.objects.filter(tenant_id=key.tenant_id, run_id=key.pk)


def _of_conversation(key: RunKey) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(tenant_id=key.tenant_id, run__conversation_id=key.conversation_id)


# The size of what a tool displays, as JSON, for pages to show again after a reload.
MAX_STORED_DISPLAY_BYTES = 200_000


def outcome_columns(outcome: ToolOutcome) -> dict[str, Any]:
    """Return the columns of a call's row that hold its outcome."""
    result = outcome.full or outcome.content
    return {
        "status": outcome.status,
        "rule": outcome.rule[:300],
        "result": stored(result) if len(result) > MAX_STORED_TOKENS else result,
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


# How a call ended, by the status of its late outcome; else it completed.
_ENDINGS = {"error": "failed", "cancelled": "was stopped", "unknown": "was stopped"}


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
