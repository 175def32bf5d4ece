"""The audit of tool calls outside of runs, such as those over MCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from assistant.core.toolcalls.protocols import PlannedCall, ToolOutcome
from assistant.core.values.messages import ToolCall as Call
from assistant.models import Tenant, ToolCall
from assistant.services import metrics
from assistant.services.db.clock import DatabaseTime, clock_watch
from assistant.services.db.threads import in_database, in_database_with_retry
from assistant.services.jobs.recurring import recurs
from assistant.services.limits.quota_ledger import record_quota_reached, reserve_calls
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import QuotaReached
from assistant.services.toolcalls.approvers import check_approver
from assistant.services.toolcalls.midway_questions import to_store
from assistant.services.toolcalls.run_journal import (
    MAX_STORED_CHARACTERS,
    above_quota,
    date_approvals,
    outcome_columns,
    record_late_outcome,
)
from assistant.services.toolpolicy.catalogue import registry

# A call that has not ended after this time has lost its process, or nobody has approved or declined it.
CALL_LIFETIME = timedelta(hours=1)


class CallJournal:
    """Records the calls that a member makes outside of runs."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._begun: set[str] = set()
        self._recorded: set[str] = set()
        self._late: dict[str, ToolOutcome] = {}

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        above = await in_database(record_call_start, member=self._member, batch=batch)
        self._begun |= {planned.call.id for planned in batch if planned.call.id not in above}
        return above

    async def keep(self, call: Call, media: Sequence[object]) -> Sequence[Mapping[str, object]]:
        """Store nothing: the answer itself contains the files."""
        return ()

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        await in_database(record_call_end, member=self._member, outcomes=outcomes)
        self._recorded.update([outcome.call.id for outcome in outcomes])
        for call_id in self._recorded.intersection(self._late):
            await self._record_late(self._late.pop(call_id))
        catalogue = registry()
        metrics.counting().count_calls(
            tenant=self._member.tenant.slug,
            outcomes=outcomes,
            # The name of a call that did not run may be invented by the model.
            is_known=lambda outcome: outcome.call.id in self._begun or outcome.call.name in catalogue,
        )

    async def ended_late(self, outcome: ToolOutcome) -> None:
        # What the caller read is recorded first, because it would replace the late end.
        if outcome.call.id in self._recorded:
            await self._record_late(outcome)
        else:
            self._late[outcome.call.id] = outcome

    async def _record_late(self, outcome: ToolOutcome) -> None:
        await in_database_with_retry(record_late_outcome, calls=calls_of(self._member), outcome=outcome)


def record_call_start(*, member: Member, batch: Sequence[PlannedCall]) -> dict[str, ToolOutcome]:
    """Record and count calls that are about to run. A call that waited for approval keeps its row.

    Returns:
        The outcomes of the calls that a quota refuses, by call id.
    """
    above, reached = _record_call_start(member, batch)
    if reached is not None:
        record_quota_reached(tenant_id=member.tenant_id, user_id=member.user_id, reached=reached)
    return above


@transaction.atomic
def _record_call_start(
    member: Member, batch: Sequence[PlannedCall]
) -> tuple[dict[str, ToolOutcome], QuotaReached | None]:
    taken, reached = reserve_calls(
        tenant_id=member.tenant_id, user_id=member.user_id, quotas=member.quotas, count=len(batch)
    )
    for planned in batch[:taken]:
        ToolCall.objects.update_or_create(
            tenant_id=member.tenant_id,
            user_id=member.user_id,
            run=None,
            call_id=planned.call.id,
            defaults={
                "name": planned.tool.name,
                "arguments": planned.arguments,
                "rule": planned.admission.rule[:300],
                "status": ToolCall.Status.RUNNING,
            },
        )
    return above_quota(batch[taken:], reached), reached


@transaction.atomic
def record_call_end(*, member: Member, outcomes: Sequence[ToolOutcome]) -> None:
    """Record the outcomes of calls, including those that did not run."""
    for outcome in outcomes:
        columns = {**outcome_columns(outcome), "questions": to_store(outcome)}
        ToolCall.objects.update_or_create(
            tenant_id=member.tenant_id,
            user_id=member.user_id,
            run=None,
            call_id=outcome.call.id,
            defaults=columns,
            create_defaults={
                "name": outcome.call.name[:128],
                "arguments": outcome.call.arguments[:MAX_STORED_CHARACTERS],
                **columns,
            },
        )
    date_approvals(calls_of(member), outcomes)


def settle_approval(*, member: Member, call_id: str, approved: bool) -> bool:
    """Approve or decline a call that waits for its caller's approval. Return False if it is not waiting for one.

    Raises:
        OwnApproval: it is approved, and the tenant wants approvals by others, whom nobody can ask outside of a run.
    """
    waiting = calls_of(member).filter(call_id=call_id, status=ToolCall.Status.AWAITING_APPROVAL, questions="")
    if approved:
        by_others = Tenant.objects.filter(pk=member.tenant_id, approvals_by_others=True).exists()
        check_approver(by_others=by_others, asked_by=member.user_id, decided_by=member.user_id)
    status = ToolCall.Status.RUNNING if approved else ToolCall.Status.DECLINED
    return bool(waiting.update(status=status, decided_by_id=member.user_id, decided_at=timezone.now()))


def calls_of(member: Member) -> QuerySet[ToolCall]:
    """Return the calls that a member made outside of runs."""
    return ToolCall.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, run=None)


@recurs("direct_calls.expire", seconds=60.0)
def expire_calls() -> int:
    """Mark calls outside of runs that will never end as expired or interrupted, for all tenants; return how many."""
    lifetime = CALL_LIFETIME.total_seconds()
    # A jump of the database's clock makes no call older.
    oldest = DatabaseTime(-lifetime - clock_watch.jumped_forward(lifetime))
    stale = ToolCall.objects.filter(run=None, started_at__lt=oldest)
    waiting = stale.filter(status=ToolCall.Status.AWAITING_APPROVAL)
    expired = waiting.update(status=ToolCall.Status.EXPIRED, questions="")
    return expired + stale.filter(status=ToolCall.Status.RUNNING).update(status=ToolCall.Status.INTERRUPTED)
