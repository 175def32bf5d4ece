"""Finds the tool calls without a result with which a turn begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import TurnFailed
from assistant.core.toolcalls.call_limits import CallLimiter
from assistant.core.toolcalls.protocols import Decision
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import (
    Message,
    ToolCall,
    answered_calls,
    last_calls,
    not_superseded,
    unanswered_calls,
)


class OpenCalls(NamedTuple):
    """The calls that a turn begins with.

    Attributes:
        calls: those of the last answer that have no result: they waited for a person, or were cut.
        decisions: the person's, by call id; None if nobody was asked.
        has_earlier_results: whether other calls of the same answer have results.
    """

    calls: tuple[ToolCall, ...]
    decisions: Mapping[str, Decision] | None
    has_earlier_results: bool


def take_up(plan: Plan, transcript: Transcript, limiter: CallLimiter) -> tuple[Sequence[Message], OpenCalls]:
    """Return the conversation with what the run has made so far, and the calls that it goes on with.

    Calls that the run has made before count towards its limits.

    Raises:
        TurnFailed: two calls have the same id.
    """
    made = not_superseded(transcript.messages)
    conversation = (*plan.messages, *made)
    calls = unanswered_calls(conversation)
    if len({call.id for call in calls}) < len(calls):
        raise TurnFailed("Two calls of the conversation have the same id.", "invalid_input")
    for call in answered_calls(made):
        limiter.admit(call, None)
    # Decisions are on calls that the run before this one made.
    is_decided = bool(calls) and all(message.role != "assistant" for message in made)
    has_earlier_results = bool(calls) and len(calls) < len(last_calls(conversation))
    return conversation, OpenCalls(calls, plan.decisions if is_decided else None, has_earlier_results)
