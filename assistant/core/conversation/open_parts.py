"""Parts of a run that clients see begin and end: messages, reasoning, calls, sub-agents; and how they are cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from assistant.core.values import events
from assistant.core.values.events import Event

Start = (
    events.TextMessageStart
    | events.ReasoningStart
    | events.ReasoningMessageStart
    | events.ToolCallStart
    | events.SubagentStarted
)

# The type of the event that begins a part, by the event that ends it.
START_OF: Mapping[type[Event], str] = {
    events.TextMessageEnd: "TEXT_MESSAGE_START",
    events.ReasoningEnd: "REASONING_START",
    events.ReasoningMessageEnd: "REASONING_MESSAGE_START",
    events.ToolCallEnd: "TOOL_CALL_START",
    events.SubagentFinished: "SUBAGENT_STARTED",
    events.SubagentError: "SUBAGENT_STARTED",
}

# The reason of `message.cut` for a message that later ones replace.
SUPERSEDED = "superseded"
CloseReason = Literal["cancelled", "interrupted", "error", "limit"]

# By reason, what the model reads in place of the result of a call that has none.
NO_RESULT: Mapping[str, str] = {
    "cancelled": "Cancelled by the user before there was a result.",
    "interrupted": "Interrupted before there was a result; whether the tool took effect is not known.",
    "error": "No result: the run ended with an error first.",
    "limit": "Not run: the run had reached a limit.",
}


def result_id(call_id: str) -> str:
    """Return the id of the message that holds a call's result; one call has one."""
    return f"{call_id}-result"


def cut_message(message_id: str, reason: str) -> events.Custom:
    """Return the event that marks an ended message as incomplete, as not of the requested type, or as superseded."""
    return events.Custom("message.cut", {"messageId": message_id, "reason": reason})


def end_of(start: Start, message: str, code: str) -> Event:
    """The event that ends a part; `message` and `code` say why a sub-agent ended without an answer."""
    match start:
        case events.TextMessageStart():
            return events.TextMessageEnd(start.message_id, start.subagent_run_id)
        case events.ReasoningStart():
            return events.ReasoningEnd(start.message_id, start.subagent_run_id)
        case events.ReasoningMessageStart():
            return events.ReasoningMessageEnd(start.message_id, start.subagent_run_id)
        case events.ToolCallStart():
            return events.ToolCallEnd(start.tool_call_id, start.subagent_run_id)
        case _:
            return events.SubagentError(start.subagent_run_id, message, code)
