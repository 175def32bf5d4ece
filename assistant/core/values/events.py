"""The events of a run: AG-UI 1.0 as frozen structs, with Python's names here and AG-UI's on the wire.

Source: https://ag-ui.com/spec/1.0/schema.json. Optional fields that are unset are left out, never null.
"""

from __future__ import annotations

from typing import Any, ClassVar, get_args

import msgspec

PROTOCOL_VERSION = "1.0"


class Event(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag_field="type"):
    """One event; `event.type` is its name in AG-UI."""

    type: ClassVar[str]  # set below


class RunStarted(Event, frozen=True, tag="RUN_STARTED"):
    thread_id: str
    run_id: str
    protocol_version: str | None = None


class TextMessageStart(Event, frozen=True, tag="TEXT_MESSAGE_START"):
    message_id: str
    role: str | None = None
    subagent_run_id: str | None = None


class TextMessageContent(Event, frozen=True, tag="TEXT_MESSAGE_CONTENT"):
    message_id: str
    delta: str
    subagent_run_id: str | None = None


class TextMessageEnd(Event, frozen=True, tag="TEXT_MESSAGE_END"):
    message_id: str
    subagent_run_id: str | None = None


class ReasoningStart(Event, frozen=True, tag="REASONING_START"):
    message_id: str
    subagent_run_id: str | None = None


class ReasoningMessageStart(Event, frozen=True, tag="REASONING_MESSAGE_START"):
    message_id: str
    role: str | None = None
    subagent_run_id: str | None = None


class ReasoningMessageContent(Event, frozen=True, tag="REASONING_MESSAGE_CONTENT"):
    message_id: str
    delta: str
    subagent_run_id: str | None = None


class ReasoningMessageEnd(Event, frozen=True, tag="REASONING_MESSAGE_END"):
    message_id: str
    subagent_run_id: str | None = None


class ReasoningEnd(Event, frozen=True, tag="REASONING_END"):
    message_id: str
    subagent_run_id: str | None = None


class CalledTool(msgspec.Struct, frozen=True):
    """`title` is the tool's name for people."""

    title: str


class CallMetadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the start of a call says of its `tool`; None if that has no name for people."""

    tool: CalledTool | None = None


class ToolCallStart(Event, frozen=True, tag="TOOL_CALL_START"):
    tool_call_id: str
    tool_call_name: str
    parent_message_id: str | None = None
    subagent_run_id: str | None = None
    metadata: CallMetadata | None = None


class ToolCallArgs(Event, frozen=True, tag="TOOL_CALL_ARGS"):
    tool_call_id: str
    delta: str
    subagent_run_id: str | None = None


class ToolCallEnd(Event, frozen=True, tag="TOOL_CALL_END"):
    tool_call_id: str
    subagent_run_id: str | None = None


class ToolCallResult(Event, frozen=True, tag="TOOL_CALL_RESULT"):
    message_id: str
    tool_call_id: str
    content: str
    role: str | None = None
    subagent_run_id: str | None = None


class MessagesSnapshot(Event, frozen=True, tag="MESSAGES_SNAPSHOT"):
    """`messages` are AG-UI messages (camelCase dictionaries)."""

    messages: list[dict[str, Any]]


class StateSnapshot(Event, frozen=True, tag="STATE_SNAPSHOT"):
    """`snapshot` is any JSON value, the whole state that client and tools share."""

    snapshot: Any


class StateDelta(Event, frozen=True, tag="STATE_DELTA"):
    """`delta` is a JSON patch (RFC 6902) of the state."""

    delta: list[dict[str, Any]]


class SubagentStarted(Event, frozen=True, tag="SUBAGENT_STARTED"):
    subagent_run_id: str
    name: str
    parent_tool_call_id: str | None = None
    parent_subagent_run_id: str | None = None


class SubagentFinished(Event, frozen=True, tag="SUBAGENT_FINISHED"):
    subagent_run_id: str


class SubagentError(Event, frozen=True, tag="SUBAGENT_ERROR"):
    subagent_run_id: str
    message: str
    code: str | None = None


class Custom(Event, frozen=True, tag="CUSTOM"):
    """An event that AG-UI does not define; docs/websocket.md lists the names in use."""

    name: str
    value: Any
    subagent_run_id: str | None = None


class TokenUsage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Tokens of one model within a run."""

    provider: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


class Interrupt(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A question that a person must answer before the run can continue."""

    id: str
    reason: str
    message: str | None = None
    tool_call_id: str | None = None
    response_schema: dict[str, Any] | None = None
    expires_at: str | None = None
    metadata: dict[str, Any] | None = None


class Success(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag_field="type", tag="success"):
    pending_tool_call_ids: list[str] | None = None


class Interrupted(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag_field="type", tag="interrupt"):
    interrupts: list[Interrupt]


class Cancelled(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag_field="type", tag="cancelled"):
    pass


Outcome = Success | Interrupted | Cancelled


class RunFinished(Event, frozen=True, tag="RUN_FINISHED"):
    thread_id: str
    run_id: str
    outcome: Outcome | None = None
    result: Any = None
    usage: list[TokenUsage] | None = None


class RunError(Event, frozen=True, tag="RUN_ERROR"):
    message: str
    code: str | None = None
    usage: list[TokenUsage] | None = None


encode = msgspec.json.Encoder().encode

AnyEvent = (
    RunStarted
    | TextMessageStart
    | TextMessageContent
    | TextMessageEnd
    | ReasoningStart
    | ReasoningMessageStart
    | ReasoningMessageContent
    | ReasoningMessageEnd
    | ReasoningEnd
    | ToolCallStart
    | ToolCallArgs
    | ToolCallEnd
    | ToolCallResult
    | MessagesSnapshot
    | StateSnapshot
    | StateDelta
    | SubagentStarted
    | SubagentFinished
    | SubagentError
    | Custom
    | RunFinished
    | RunError
)

for _kind in get_args(AnyEvent):
    _kind.type = _kind.__struct_config__.tag
