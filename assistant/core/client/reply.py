"""What a caller gets back from one turn, when there is no database to look it up in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import msgspec

from assistant.core.conversation.transcript import Transcript
from assistant.core.toolcalls.protocols import PlannedCall, Status, ToolOutcome, describe_media
from assistant.core.toolcalls.replay import replayed
from assistant.core.turn.plan import Plan
from assistant.core.values.events import Interrupted, RunError
from assistant.core.values.messages import Message, ToolCall, Usage
from assistant.toolkit import Media
from assistant.toolkit.bounded_json import load_json

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call as the caller sees it.

    `arguments` are parsed (empty if the model's text was no JSON object); `result` is what the model reads, None while
    there is none; `error` says what went wrong. `status` is "pending" for a call that was left to the caller.
    `display` and `media` are what the tool has for people to see.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    result: str | None = None
    error: str | None = None
    status: Status | str = "pending"
    display: Any = None
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatReply(Generic[T]):
    """The answer to one call.

    `messages` is the whole conversation without the client's system prompt, to pass on as `history`. `pending` are the
    calls that wait: for a person's decision (`needs_approval`), or for the caller to run them.
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

    def with_results(self, results: Sequence[Message], journal: InMemoryJournal) -> ChatReply[T]:
        """The same reply with the results of calls that it had left open."""
        done = {
            call.id: called(ToolCall(call.id, call.name, ""), journal.outcomes.get(call.id)) for call in self.pending
        }
        calls = tuple(
            replace(done[call.id], arguments=call.arguments) if call.id in done else call for call in self.tool_calls
        )
        waiting = tuple(call for call in calls if call.result is None)
        needs_approval = any(call.status == "awaiting_approval" for call in waiting)
        messages = (*self.messages, *results)
        return replace(self, tool_calls=calls, messages=messages, pending=waiting, needs_approval=needs_approval)


class RunFailed(Exception):
    """A turn ended with an error; `code` is one of the run error codes, `reply` holds what there was until then."""

    def __init__(self, code: str, message: str, reply: ChatReply[Any]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reply = reply


class InMemoryJournal:
    """A journal in memory: the outcome of every call of one turn, by call id."""

    def __init__(self) -> None:
        self.outcomes: dict[str, ToolOutcome] = {}

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        known = {work.call.id: replayed(work, self.outcomes.get(work.call.id)) for work in batch}
        return {call_id: outcome for call_id, outcome in known.items() if outcome is not None}

    async def keep(self, call: ToolCall, media: Sequence[Media]) -> Sequence[Mapping[str, Any]]:
        return describe_media(media)

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        self.outcomes.update((outcome.call.id, outcome) for outcome in outcomes)


def reply_of(plan: Plan, sent: Sequence[Message], transcript: Transcript, journal: InMemoryJournal) -> ChatReply[Any]:
    """The reply of a turn that has ended.

    Args:
        sent: the conversation before the turn, without the client's system prompt.

    Raises:
        RunFailed: it ended with an error.
    """
    said = transcript.messages
    calls = [call for message in said for call in message.tool_calls]
    calls_made = tuple(called(call, journal.outcomes.get(call.id)) for call in calls)
    ending = transcript.ending
    reply: ChatReply[Any] = ChatReply(
        text=next((message.content for message in reversed(said) if message.role == "assistant"), ""),
        tool_calls=calls_made,
        messages=(*sent, *said),
        usage=sum(transcript.usage.values(), Usage()),
        finish_reason=transcript.finish_reason or "stop",
        output=transcript.output,
        pending=tuple(call for call in calls_made if call.result is None),
        needs_approval=isinstance(getattr(ending, "outcome", None), Interrupted),
        plan=plan,
    )
    if isinstance(ending, RunError):
        raise RunFailed(ending.code or "internal_error", ending.message, reply)
    return reply


def called(call: ToolCall, outcome: ToolOutcome | None) -> CalledTool:
    """A call as its caller sees it, from what came of it (None: nothing yet)."""
    try:
        arguments = load_json(call.arguments or "{}", loads=msgspec.json.decode, type=dict[str, Any])
    except ValueError:
        arguments = {}
    if outcome is None or outcome.status == "awaiting_approval":
        return CalledTool(call.id, call.name, arguments, status=outcome.status if outcome else "pending")
    error = None if outcome.status == "ok" else outcome.error or outcome.content or outcome.status
    return CalledTool(
        call.id, call.name, arguments, outcome.content, error, outcome.status, outcome.display, outcome.media
    )
