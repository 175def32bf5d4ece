"""Parts of a run that clients see begin and end: messages, reasoning, calls, sub-agents."""

from __future__ import annotations

from collections.abc import Mapping

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
