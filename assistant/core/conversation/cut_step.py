"""Ends the step at which a run's process died, so that the run can go on with the same step in another process."""

from __future__ import annotations

from collections.abc import Collection

from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import SUPERSEDED, cut_message
from assistant.core.values.events import Event, ToolCallResult
from assistant.core.values.messages import Message, result_id

NOT_STARTED = "Not run: the server stopped first."


def end_cut_step(transcript: Transcript, begun: Collection[str]) -> list[Event]:
    """End what is open, send the results that are known, and mark what follows the last complete step as superseded.

    A step with tool calls is complete once one of them has begun or has a result: its message was complete then. A text
    alone never counts as complete, since it is not known whether more of it was to come.

    Args:
        begun: the ids of the calls that are in the audit.

    Returns:
        The events of these changes; they have been applied to the transcript already.
    """
    ended = [*transcript.end_parts("interrupted"), *transcript.send_recorded_results()]
    for message in _after_last_step(transcript, begun):
        cut: list[Event] = [
            ToolCallResult(result_id(call.id), call.id, NOT_STARTED, role="tool") for call in message.tool_calls
        ]
        cut.append(cut_message(message.id, SUPERSEDED))
        for event in cut:
            transcript.apply(event)
        ended += cut
    return ended


def _after_last_step(transcript: Transcript, begun: Collection[str]) -> list[Message]:
    """Return the assistant's messages after the last complete step that are not superseded already."""
    after: list[Message] = []
    for message in reversed(transcript.messages):
        if message.is_superseded:
            continue
        if message.role != "assistant" or any(call.id in begun for call in message.tool_calls):
            break
        after.append(message)
    return after[::-1]
