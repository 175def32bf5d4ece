"""Adds to the conversation those tool calls of a dead run that are in the audit, but not in its last checkpoint.

The audit is written before and after each tool call, checkpoints only every second or so. If the conversation lacked a
call, the model would make it a second time.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assistant.core.conversation.cut_step import NOT_STARTED, end_cut_step
from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import NO_RESULT
from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.json_completion import complete_json
from assistant.core.values.messages import ToolCall as Call
from assistant.core.values.messages import result_id
from assistant.core.values.untrusted import bounded_sources, sources_of
from assistant.models import Conversation, ToolCall
from assistant.services.conversations.paths import shown_path
from assistant.services.conversations.stored_messages import open_calls, recent_messages
from assistant.services.conversations.summaries import summary_of
from assistant.services.run_key import RunKey
from assistant.services.toolcalls.later_results import STOPPED

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
    if row.status == ToolCall.Status.PENDING:
        return STOPPED
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
    return [*transcript.close("interrupted"), *_missing(transcript, audited, known)]


def reconcile_to_go_on(transcript: Transcript, audited: Sequence[AuditedCall]) -> list[Event]:
    """End the step at which a dead run was cut, so that it can go on. Returns the events, which are applied already.

    Calls without a result stay open, and are looked up in the audit when they are taken up. If events are lost, so that
    a call is not known, or not whole, all get the results that the audit has.
    """
    own = [one for one in audited if not one.is_earlier]
    made = {call.id for message in transcript.messages if not message.is_partial for call in message.tool_calls}
    known = {call.id for message in transcript.messages for call in message.tool_calls}
    if is_lossy := any(one.call.id not in made for one in own):
        answered = {message.tool_call_id for message in transcript.messages if message.role == "tool"}
        for one in own:
            if one.call.id in known - answered:
                transcript.record_result(one.call.id, one.result, one.sources)
    ended = end_cut_step(transcript, {one.call.id for one in own})
    return [*ended, *(_missing(transcript, audited, known) if is_lossy else ())]


def _missing(transcript: Transcript, audited: Sequence[AuditedCall], known: Collection[str]) -> list[Event]:
    """Add the calls that are not `known` in a message of their own. Returns the events, which are applied already."""
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
    return added
