"""The audit of tool calls that belong to no run: who called over MCP, with what, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from assistant.core.toolcalls.protocols import PlannedCall, ToolOutcome
from assistant.core.values.messages import ToolCall as Call
from assistant.models import ToolCall
from assistant.services import metrics
from assistant.services.db.threads import in_database
from assistant.services.limits.quota_ledger import record_quota_reached, reserve_calls
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import QuotaReached
from assistant.services.toolcalls.run_journal import KEPT_CHARACTERS, above_quota, ending_of
from assistant.services.toolpolicy.catalogue import registry

# A call that has not ended by then was cut off with its process, or its question was never answered.
CALL_LIFETIME = timedelta(hours=1)


class CallJournal:
    """Keeps the calls that a member makes outside of runs."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._begun: set[str] = set()

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        above = await in_database(note_call_start, member=self._member, batch=batch)
        self._begun |= {planned.call.id for planned in batch if planned.call.id not in above}
        return above

    async def keep(self, call: Call, media: Sequence[object]) -> Sequence[Mapping[str, object]]:
        """The caller gets files within the answer; none is kept to be fetched later."""
        return ()

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        await in_database(note_call_end, member=self._member, outcomes=outcomes)
        catalogue = registry()
        metrics.count_calls(
            tenant=self._member.tenant.slug,
            outcomes=outcomes,
            # A call that did not run may have a name that the model made up.
            is_known=lambda outcome: outcome.call.id in self._begun or outcome.call.name in catalogue,
        )


def note_call_start(*, member: Member, batch: Sequence[PlannedCall]) -> dict[str, ToolOutcome]:
    """Write down calls that are about to run, and count them; one that waited for approval goes on in its row.

    Returns:
        What comes of those that are above a quota, by call id.
    """
    above, reached = _note_call_start(member, batch)
    if reached is not None:
        record_quota_reached(tenant_id=member.tenant_id, user_id=member.user_id, reached=reached)
    return above


@transaction.atomic
def _note_call_start(
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
                "arguments": planned.arguments_text,
                "rule": planned.rule[:300],
                "status": ToolCall.Status.RUNNING,
            },
        )
    return above_quota(batch[taken:], reached), reached


@transaction.atomic
def note_call_end(*, member: Member, outcomes: Sequence[ToolOutcome]) -> None:
    """Write down what came of calls, those that were not run included."""
    for outcome in outcomes:
        ToolCall.objects.update_or_create(
            tenant_id=member.tenant_id,
            user_id=member.user_id,
            run=None,
            call_id=outcome.call.id,
            defaults=ending_of(outcome),
            create_defaults={
                "name": outcome.call.name[:128],
                "arguments": outcome.call.arguments[:KEPT_CHARACTERS],
                **ending_of(outcome),
            },
        )


def settle_approval(*, member: Member, call_id: str, approved: bool) -> bool:
    """Answer a call that waits for its caller's approval. Returns False if it was answered before, or never asked."""
    waiting = _calls_of(member).filter(call_id=call_id, status=ToolCall.Status.AWAITING_APPROVAL)
    status = ToolCall.Status.RUNNING if approved else ToolCall.Status.DECLINED
    return bool(waiting.update(status=status, decided_by_id=member.user_id, decided_at=timezone.now()))


def _calls_of(member: Member) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, run=None)


def expire_calls() -> int:
    """Settle calls outside of runs that will never end, of all tenants: the deployment's own housekeeping."""
    stale = ToolCall.objects.filter(run=None, started_at__lt=timezone.now() - CALL_LIFETIME)
    expired = stale.filter(status=ToolCall.Status.AWAITING_APPROVAL).update(status=ToolCall.Status.EXPIRED)
    return expired + stale.filter(status=ToolCall.Status.RUNNING).update(status=ToolCall.Status.INTERRUPTED)
