"""What the audit knows of a dead run's tool calls, so that the conversation says it too.

The audit is written before a tool runs and when it has ended, checkpoints of the answer only now and then. Without
this a call between the two would be forgotten, and the model would make it a second time.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.core.conversation.transcript import NO_RESULT, Transcript, result_id
from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.json_completion import complete_json
from assistant.core.values.messages import ToolCall as Call
from assistant.models import Conversation, ToolCall
from assistant.services.conversations.stored_messages import open_calls, recent_messages
from assistant.services.run_key import RunKey

NOT_BEGUN = "Not run: the server stopped first."
_UNKNOWN = frozenset({ToolCall.Status.RUNNING, ToolCall.Status.INTERRUPTED, ToolCall.Status.CANCELLED})


@dataclass(frozen=True, slots=True)
class AuditedCall:
    """A call as the audit has it; `result` is what the model is to read. `is_earlier`: an earlier run had made it."""

    call: Call
    result: str
    is_earlier: bool


def audited_calls(*, key: RunKey) -> list[AuditedCall]:
    """The calls of a run, and those of an earlier run that this one was to go on with, in their order."""
    rows = ToolCall.objects.filter(tenant_id=key.tenant_id, run__conversation_id=key.conversation_id, agent="")
    conversation = Conversation.objects.get(pk=key.conversation_id, tenant_id=key.tenant_id)
    earlier = open_calls(recent_messages(conversation=conversation))
    found = {row.call_id: row for row in rows.filter(call_id__in=list(earlier))}
    told = [AuditedCall(call, _result(found.get(call_id)), True) for call_id, call in earlier.items()]
    own = rows.filter(run_id=key.pk).order_by("pk")
    return [*told, *(AuditedCall(Call(row.call_id, row.name, row.arguments), _result(row), False) for row in own)]


def _result(row: ToolCall | None) -> str:
    if row is None or row.status in (ToolCall.Status.APPROVED, ToolCall.Status.AWAITING_APPROVAL):
        return NOT_BEGUN
    if row.status in _UNKNOWN:
        return NO_RESULT["interrupted"]
    return row.told or row.result or row.error


def reconcile(transcript: Transcript, audited: Sequence[AuditedCall]) -> list[Event]:
    """End what a dead run had open, and add the calls that its checkpoint did not know yet.

    Returns:
        The events of all that, which the transcript has taken in.
    """
    told = {message.tool_call_id for message in transcript.messages if message.role == "tool"}
    known = {call.id for message in transcript.messages for call in message.tool_calls}
    for one in audited:
        if one.call.id in told:
            continue
        if one.is_earlier:
            transcript.expect_results([one.call])
        if one.is_earlier or one.call.id in known:
            transcript.record_result(one.call.id, one.result)
    closing = transcript.close("interrupted")
    missing = [one for one in audited if not one.is_earlier and one.call.id not in known]
    message_id = uuid.uuid4().hex
    added: list[Event] = []
    for one in missing:
        added += [
            events.ToolCallStart(one.call.id, one.call.name, message_id),
            events.ToolCallArgs(one.call.id, complete_json(one.call.arguments) or "{}"),
            events.ToolCallEnd(one.call.id),
        ]
    added += [events.ToolCallResult(result_id(one.call.id), one.call.id, one.result, role="tool") for one in missing]
    for event in added:
        transcript.apply(event)
    return [*closing, *added]
