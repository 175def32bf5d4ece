"""Adds to the conversation those tool calls of a dead run that are in the audit, but not in its last checkpoint.

The audit is written before and after each tool call, checkpoints only every second or so. If the conversation lacked a
call, the model would make it a second time.
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
from assistant.core.values.untrusted import bounded_sources, sources_of
from assistant.models import Conversation, ToolCall
from assistant.services.conversations.paths import shown_path
from assistant.services.conversations.stored_messages import open_calls, recent_messages
from assistant.services.conversations.summaries import summary_of
from assistant.services.run_key import RunKey

NOT_STARTED = "Not run: the server stopped first."
_UNKNOWN = frozenset({ToolCall.Status.RUNNING, ToolCall.Status.INTERRUPTED, ToolCall.Status.CANCELLED})


@dataclass(frozen=True, slots=True)
class AuditedCall:
    """A call from the audit.

    `result` is what the model reads, `sources` where untrusted text in it came from. `is_earlier` says that an earlier
    run made the call.
    """

    call: Call
    result: str
    is_earlier: bool
    sources: tuple[str, ...] = ()


def audited_calls(*, key: RunKey) -> list[AuditedCall]:
    """Return the calls of an earlier run that this run continued, and then the calls of this run, in their order."""
    rows = ToolCall.objects.filter(tenant_id=key.tenant_id, run__conversation_id=key.conversation_id, agent="")
    conversation = Conversation.objects.get(pk=key.conversation_id, tenant_id=key.tenant_id)
    path = shown_path(conversation, is_active=True)
    earlier = open_calls(recent_messages(conversation=conversation, path=path))
    found = {row.call_id: row for row in rows.filter(call_id__in=list(earlier))}
    continued = [
        AuditedCall(call, _result(row := found.get(call_id)), True, _sources(row)) for call_id, call in earlier.items()
    ]
    own = rows.filter(run_id=key.pk).order_by("pk")
    return [
        *continued,
        *(AuditedCall(Call(row.call_id, row.name, row.arguments), _result(row), False, _sources(row)) for row in own),
    ]


def _sources(row: ToolCall | None) -> tuple[str, ...]:
    if row is None:
        return ()
    # A result may be in the log although its outcome was not stored: whether it is trusted is not known then.
    return tuple(row.sources) or ((row.name,) if row.status in _UNKNOWN else ())


def earlier_sources(*, key: RunKey) -> tuple[str, ...]:
    """Return where untrusted text in the conversation before the run came from."""
    conversation = Conversation.objects.get(pk=key.conversation_id, tenant_id=key.tenant_id)
    path = shown_path(conversation, is_active=True)
    _, summarised = summary_of(conversation, path)
    return bounded_sources((*summarised, *sources_of(recent_messages(conversation=conversation, path=path))))


def _result(row: ToolCall | None) -> str:
    if row is None or row.status in (ToolCall.Status.APPROVED, ToolCall.Status.AWAITING_APPROVAL):
        return NOT_STARTED
    if row.status in _UNKNOWN:
        return NO_RESULT["interrupted"]
    return row.told or row.result or row.error


def reconcile(transcript: Transcript, audited: Sequence[AuditedCall]) -> list[Event]:
    """Close a dead run's open messages and calls, and add the calls that its checkpoint does not have.

    Returns:
        The events of these changes; they have been applied to the transcript already.
    """
    answered = {message.tool_call_id for message in transcript.messages if message.role == "tool"}
    known = {call.id for message in transcript.messages for call in message.tool_calls}
    for one in audited:
        if one.call.id in answered:
            continue
        if one.is_earlier:
            transcript.expect_results([one.call])
        if one.is_earlier or one.call.id in known:
            transcript.record_result(one.call.id, one.result, one.sources)
    closing = transcript.close("interrupted")
    missing = [one for one in audited if not one.is_earlier and one.call.id not in known]
    message_id = uuid.uuid4().hex
    added: list[Event] = []
    for one in missing:
        transcript.mark_result(one.call.id, one.sources)
        added += [
            events.ToolCallStart(one.call.id, one.call.name, message_id),
            events.ToolCallArgs(one.call.id, complete_json(one.call.arguments) or "{}"),
            events.ToolCallEnd(one.call.id),
        ]
    added += [events.ToolCallResult(result_id(one.call.id), one.call.id, one.result, role="tool") for one in missing]
    for event in added:
        transcript.apply(event)
    return [*closing, *added]
