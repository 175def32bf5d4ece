"""The reply that `ChatClient` returns for one turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import msgspec

from assistant.client.sent_requests import SentRequest, requests_of
from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.protocol import FailureDetails, ModelError
from assistant.core.toolcalls.protocols import PlannedCall, Status, ToolOutcome, describe_media, replayed
from assistant.core.turn.plan import Plan
from assistant.core.values.citations import Citation
from assistant.core.values.events import Interrupted, RunError
from assistant.core.values.messages import Message, ToolCall, Usage
from assistant.toolkit import Media
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.calls.arguments import decoded_once

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call and its result.

    Attributes:
        arguments: parsed; empty if the model's text was not a JSON object.
        fields: what the model has filled in for the `augmentation` of the tool or the client, as it wrote it.
        result: the text that the model reads; None while there is none.
        error: what went wrong.
        status: the status of the outcome; "pending" for a call that was left to the caller.
        display: a value for people to see, as the tool returned it.
        media: files for people to see.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    result: str | None = None
    error: str | None = None
    status: Status | str = "pending"
    display: Any = None
    media: tuple[Media, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatReply(Generic[T]):
    """The answer to one message.

    Attributes:
        text: the last text of the assistant.
        messages: the whole conversation without the client's system prompt, to pass as `history` next time.
        output: the answer as a value, if a type was requested.
        pending: the calls without a result: they wait for a person's approval, or for the caller to run them.
        needs_approval: whether any of them waits for approval.
        plan: the input of the turn; `ChatClient.execute` needs it to run pending calls.
        requests: what the model was sent, oldest first: the exact bodies, without keys. The newest, if they are many.
        usage_by_model: `usage` by the models' names, those of fallbacks and called assistants among them.
        citations: what the provider itself says that the answers were taken from.
    """

    text: str
    tool_calls: tuple[CalledTool, ...] = ()
    messages: tuple[Message, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = "stop"
    output: T | None = None
    pending: tuple[CalledTool, ...] = ()
    needs_approval: bool = False
    plan: Plan | None = field(default=None, repr=False, compare=False)
    requests: tuple[SentRequest, ...] = field(default=(), repr=False, compare=False)
    usage_by_model: Mapping[str, Usage] = field(default_factory=dict)
    citations: tuple[Citation, ...] = ()

    def with_results(self, results: Sequence[Message], journal: InMemoryJournal) -> ChatReply[T]:
        """Return a copy of the reply in which pending calls have their results."""
        done = {
            call.id: called_tool(ToolCall(call.id, call.name, ""), journal.outcomes.get(call.id))
            for call in self.pending
        }
        calls = tuple(
            replace(done[call.id], arguments=call.arguments, fields=call.fields) if call.id in done else call
            for call in self.tool_calls
        )
        waiting = tuple(call for call in calls if call.result is None)
        needs_approval = any(call.status == "awaiting_approval" for call in waiting)
        messages = (*self.messages, *results)
        return replace(self, tool_calls=calls, messages=messages, pending=waiting, needs_approval=needs_approval)


class RunFailed(Exception):
    """A turn ended with an error.

    Attributes:
        code: one of the run error codes.
        message: a sentence that is safe to show to users.
        reply: what the turn had produced.
        details: the provider's own reason, without keys and prompts; None if no provider failed, or it gave none.
        guardrail: the name of the guardrail that ended the turn; "" if none did.

    `__cause__` is what ended the turn: a provider's `ModelError`, what a tool with `on_error="raise"` raised, or the
    guardrail's `GuardrailTripped`.
    """

    def __init__(
        self,
        code: str,
        message: str,
        reply: ChatReply[Any],
        details: FailureDetails | None = None,
        guardrail: str = "",
    ) -> None:
        super().__init__(message)
        self.guardrail = guardrail
        self.details = details
        self.code = code
        self.message = message
        self.reply = reply


class InMemoryJournal:
    """A `Journal` that keeps the outcome of every call of one turn, by call id.

    Args:
        augmented: the names of the fields of tools with an `augmentation`, by the tools' names.
    """

    def __init__(self, augmented: Mapping[str, frozenset[str]] | None = None) -> None:
        self.augmented = augmented or {}
        self.outcomes: dict[str, ToolOutcome] = {}

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        known = {planned.call.id: replayed(planned, self.outcomes.get(planned.call.id)) for planned in batch}
        return {call_id: outcome for call_id, outcome in known.items() if outcome is not None}

    async def keep(self, call: ToolCall, media: Sequence[Media]) -> Sequence[Mapping[str, Any]]:
        return describe_media(media)

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        self.outcomes.update((outcome.call.id, outcome) for outcome in outcomes)


def reply_of(plan: Plan, sent: Sequence[Message], transcript: Transcript, journal: InMemoryJournal) -> ChatReply[Any]:
    """Return the reply of a turn that has ended.

    Args:
        sent: the conversation before the turn, without the client's system prompt.

    Raises:
        RunFailed: the turn ended with an error.
    """
    produced = transcript.messages
    calls = [call for message in produced for call in message.tool_calls]
    outcomes = journal.outcomes
    augmented = journal.augmented
    calls_made = tuple(called_tool(call, outcomes.get(call.id), augmented.get(call.name)) for call in calls)
    ending = transcript.ending
    reply: ChatReply[Any] = ChatReply(
        text=next((message.content for message in reversed(produced) if message.role == "assistant"), ""),
        tool_calls=calls_made,
        messages=(*sent, *produced),
        usage=sum(transcript.usage.values(), Usage()),
        finish_reason=transcript.finish_reason or "stop",
        output=transcript.output,
        pending=tuple(call for call in calls_made if call.result is None),
        needs_approval=isinstance(getattr(ending, "outcome", None), Interrupted),
        plan=plan,
        requests=requests_of(plan.extensions),
        usage_by_model=_by_model(transcript.usage),
        citations=transcript.citations,
    )
    if isinstance(ending, RunError):
        failure = transcript.failure
        details = failure.details if isinstance(failure, ModelError) else None
        code = ending.code or "internal_error"
        raise RunFailed(code, ending.message, reply, details, transcript.guardrail) from failure
    return reply


def _by_model(usage: Mapping[tuple[str, str], Usage]) -> dict[str, Usage]:
    found: dict[str, Usage] = {}
    for (_provider, model), used in usage.items():
        found[model] = found.get(model, Usage()) + used
    return found


def called_tool(call: ToolCall, outcome: ToolOutcome | None, augmented: frozenset[str] | None = None) -> CalledTool:
    """Return a call with its outcome; without one (None) it is pending.

    Args:
        augmented: the names of arguments that are fields of an `augmentation`.
    """
    try:
        arguments = load_json(decoded_once(call.arguments) or "{}", loads=msgspec.json.decode, type=dict[str, Any])
    except ValueError:
        arguments = {}
    fields = {name: arguments.pop(name) for name in augmented or () if name in arguments}
    if outcome is None or outcome.status == "awaiting_approval":
        status = outcome.status if outcome else "pending"
        return CalledTool(call.id, call.name, arguments, status=status, fields=fields)
    error = None if outcome.status == "ok" else outcome.error or outcome.content or outcome.status
    return CalledTool(
        call.id, call.name, arguments, outcome.content, error, outcome.status, outcome.display, outcome.media, fields
    )
