"""The state of a run and its messages, for clients that do not follow its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.models import Approval, Assistant, Run
from assistant.models import Message as MessageRow
from assistant.services.conversations.pagination import ClientMessage, client_messages
from assistant.services.run_key import RunKey
from assistant.services.tenancy.members import Member


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A run's state. `text` is the answer so far, complete if `status` is `finished`."""

    id: str
    conversation: str
    assistant: str
    status: str
    text: str
    messages: Sequence[ClientMessage]
    approvals: Sequence[Approval]
    error_code: str
    error_message: str
    model: str
    input_tokens: int
    output_tokens: int
    started_at: datetime
    ended_at: datetime | None


def run_outcome(*, member: Member, key: RunKey) -> RunOutcome:
    """Return the state of a member's own run."""
    own = Run.objects.filter(pk=key.pk, tenant_id=member.tenant_id, user_id=member.user_id)
    run = own.select_related("assistant", "conversation").get()
    rows = MessageRow.objects.filter(run=run, conversation__tenant_id=member.tenant_id)
    messages = client_messages(member=member, rows=rows)
    answers = [one.content for one in messages if one.role == "assistant" and one.content and not one.is_superseded]
    return RunOutcome(
        id=run.run_id,
        conversation=str(run.conversation.client_id),
        assistant=run.assistant.slug,
        status=run.status,
        text="\n\n".join(answers),
        messages=messages,
        approvals=pending_of_run(run=run),
        error_code=run.error_code,
        error_message=run.error_message,
        model=run.model,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        started_at=run.started_at,
        ended_at=run.ended_at,
    )


def pending_of_run(*, run: Run) -> list[Approval]:
    """Return a run's calls that wait for approval, in their order."""
    rows = Approval.objects.filter(tenant_id=run.tenant_id, run=run)
    return list(rows.select_related("run__conversation", "run__assistant").order_by("pk"))


def assistant_of_run(*, key: RunKey) -> str:
    """Return the slug of a run's assistant."""
    return Assistant.objects.get(pk=key.assistant_id, tenant_id=key.tenant_id).slug
