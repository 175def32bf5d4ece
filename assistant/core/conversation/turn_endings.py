"""Endings: of the parts of a run that clients see, and of a turn without a complete answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from assistant.core.llm.protocol import ModelError
from assistant.core.values import events
from assistant.core.values.asked import Asked, interrupt_id
from assistant.core.values.events import Event
from assistant.core.values.messages import Reply, ToolCall
from assistant.toolkit import ToolError
from assistant.toolkit.schema.form import form_of
from assistant.toolkit.translation import gettext, gettext_noop

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


# The fields that AG-UI clients can fill in: the built-in approval of assistant-ui handles only a schema without
# `additionalProperties` that requires `approved` alone. Other fields are refused although the schema does not forbid
# them.
APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object", "description": "Arguments to use in place of the model's."},
        "reason": {"type": "string", "description": "Why not; the model reads it."},
        "response": {"type": "string", "description": "The result in the tool's place, which is then not run."},
    },
    "required": ["approved"],
}
ANSWER_FIELDS = tuple(APPROVAL_SCHEMA["properties"])


# Finish reasons after which an answer cannot be repaired: the error's sentence and code.
UNFINISHED = {
    "length": (gettext_noop("The model used up its limit of tokens before its answer was whole."), "limit_reached"),
    "content_filter": (gettext_noop("The provider's content filter cut the answer short."), "provider_error"),
    "refusal": (gettext_noop("The model refused to answer."), "provider_error"),
}
# How often a model may repair an answer that is not accepted.
REPAIRS = 2


class GuardrailTripped(Exception):
    """Raised by a guardrail to end the turn; the text is a sentence for the user.

    Attributes:
        guardrail: the guardrail's name.
    """

    guardrail = ""


class TurnFailed(Exception):
    """The turn cannot continue; `code` is one of the run error codes, the text is safe to show to users."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class AnswerRefused(ToolError):
    """An answer that is not accepted.

    Attributes:
        failed: the sentence with which the turn fails if the model may not answer again. The exception's own text is
            what the model reads.
    """

    def __init__(self, told: str, failed: str) -> None:
        super().__init__(told)
        self.failed = failed


def ask_person(call: ToolCall, asked: Asked | None, seconds: float, warning: str = "") -> events.Interrupt:
    """Return the interrupt that asks a person to approve a call, or the question of the call's tool.

    Args:
        asked: what is known of the tool.
        seconds: until it expires; 0 for never.
        warning: what the person should know, as a sentence.
    """
    question = asked.question if asked is not None else None
    title = asked.title if asked is not None else call.name
    schema = APPROVAL_SCHEMA if question is None else question.schema
    fields = asked.parameters if question is None and asked is not None else schema
    about: dict[str, Any] = {"title": title, "form": [field.as_json() for field in form_of(fields)]}
    if asked is not None and asked.changes:
        about["changes"] = list(asked.changes)
    wish = gettext("The assistant wants to use “%(tool)s”.") % {"tool": title}
    sentence = " ".join(filter(None, (wish, warning, gettext("Is that all right?"))))
    expires_at = datetime.now(UTC) + timedelta(seconds=seconds) if seconds else None
    return events.Interrupt(
        id=interrupt_id(call.id, 1 if asked is None else len(asked.answers) + 1),
        reason="tool_call" if question is None else "input_required",
        message=sentence if question is None else question.text,
        tool_call_id=call.id,
        response_schema=schema,
        metadata=about,
        expires_at=expires_at.isoformat(timespec="seconds") if expires_at else None,
    )


# Finish reasons of answers without calls that were cut short.
CUT_SHORT = frozenset({"length", "content_filter"})


def cut_short(reply: Reply, message_id: str) -> Event:
    """Return the `message.cut` event of an answer without calls that is empty or was cut short.

    Raises:
        TurnFailed: the model reached its token limit before it wrote any text.
        ModelError: the answer is empty, or the provider withheld it.
    """
    if reply.finish_reason not in CUT_SHORT:
        raise ModelError(gettext_noop("The model gave an empty answer."), kind="empty")
    if not reply.text:
        if reply.finish_reason == "length":
            raise TurnFailed(gettext("The model used up its limit of tokens before it answered."), "limit_reached")
        raise ModelError(gettext_noop("The provider's content filter withheld the answer."))
    return cut_message(message_id, reply.finish_reason)
