"""What this app answers runs about calls whose results come later."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from assistant.contrib.later_results.extension import ComesLater
from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services import pending_calls, waits
from assistant.contrib.later_results.services.stopping import stop_waiting
from assistant.core.toolcalls.protocols import PlannedCall, ToolOutcome
from assistant.core.values.messages import ToolCall as Call
from assistant.models import Conversation, Run, ToolCall
from assistant.services.run_key import RunKey
from assistant.services.runs.run_input import RunInput
from assistant.services.toolcalls.later_results import LaterResults, Waits
from assistant.toolkit.context import UserId


class KeptResults(LaterResults):
    """Keeps what calls wait for, and what has come, in rows."""

    def extensions(self, *, key: RunKey, tenant: str) -> Iterator[ComesLater]:
        yield ComesLater(key, tenant)

    def begin(self, *, key: RunKey, batch: Iterable[PlannedCall], rows: Mapping[str, int]) -> None:
        pending_calls.begin_waits(key=key, batch=batch, rows=rows)

    def record(self, *, key: RunKey, rows: Mapping[str, int], outcomes: Sequence[ToolOutcome]) -> None:
        pending_calls.record_waits(key=key, rows=rows, outcomes=outcomes)

    def known_outcomes(self, *, key: RunKey, calls: Sequence[Call]) -> Mapping[str, ToolOutcome]:
        return pending_calls.known_outcomes(key=key, calls=calls)

    def outcome_of(self, row: ToolCall, work: PlannedCall) -> ToolOutcome | None:
        return pending_calls.outcome_of_call(row, work)

    def waits_of(self, run_input: RunInput, open_calls: Collection[str], conversation: Conversation) -> Waits:
        return waits.read_waits(run_input, open_calls, conversation)

    def give_to(self, run: Run, taken: Waits) -> None:
        PendingCall.objects.filter(pk__in=taken.rows, tenant_id=run.tenant_id).update(run=run)

    def give_up(self, conversation: Conversation) -> None:
        tenant_id = conversation.tenant_id
        own = PendingCall.objects.filter(tenant_id=tenant_id, call__run__conversation=conversation)
        pending_calls.cancel_waits(own, tenant_id=tenant_id)
        # Nor do runs continue whose results have come and are not used yet.
        came = PendingCall.objects.filter(tenant_id=tenant_id).values("run")
        runs = Run.objects.filter(tenant_id=tenant_id, conversation=conversation, pk__in=came)
        runs.filter(status=Run.Status.WAITING).update(status=Run.Status.CANCELLED)

    def stop(self, *, tenant_id: int, user_id: UserId, run_id: str, assistant_id: int | None) -> list[str]:
        waiting = pending_calls.waiting_runs(tenant_id=tenant_id, user_id=user_id, run_id=run_id)
        return stop_waiting(waiting, tenant_id, assistant_id)
