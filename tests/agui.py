"""Checks recorded runs against AG-UI's schema and the documented order of events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ag_ui.core import Event
from ag_ui_validate.pytest_plugin import assert_valid_agui
from pydantic import TypeAdapter

Frame = dict[str, Any]

_event = TypeAdapter(Event)
ENDINGS = frozenset({"RUN_FINISHED", "RUN_ERROR"})
# Events of a connection that belong to no run.
UNNUMBERED = frozenset({"alarms", "feedback", "pong", "protocol_error"})
# Made on the connection, with the number of the event that closed the block or preceded the rest.
REPEATING = frozenset(
    {
        "message.block",
        "message.details",
        "thread.follow_ups",
        "thread.provider",
        "thread.summary",
        "thread.title",
        "thread.tools",
    }
)

# The opening event, the closing event, the events in between, and the key that they share.
SPANS = (
    ("TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CONTENT", "messageId"),
    ("REASONING_START", "REASONING_END", "", "messageId"),
    ("REASONING_MESSAGE_START", "REASONING_MESSAGE_END", "REASONING_MESSAGE_CONTENT", "messageId"),
    ("TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_ARGS", "toolCallId"),
    ("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "", "subagentRunId"),
)


def custom_name(frame: Frame) -> str:
    """Return the name of a CUSTOM event; "" for others."""
    return str(frame["name"]) if frame["type"] == "CUSTOM" else ""


def seq_of(frame: Frame) -> int:
    """Return the number of an event within its run."""
    return int(frame["metadata"]["run"]["seq"])


def run_of(frame: Frame) -> str:
    """Return the id of the run that an event belongs to; nothing for a connection's own events."""
    return str(frame.get("metadata", {}).get("run", {}).get("id", ""))


def numbered(frames: Sequence[Frame]) -> list[Frame]:
    """Return the numbered events: those of runs, without rendered blocks."""
    return [frame for frame in frames if custom_name(frame) not in UNNUMBERED | REPEATING]


def _nulls(value: Any, path: str) -> list[str]:
    if value is None:
        return [path]
    if isinstance(value, dict):
        # A CUSTOM event's value and JSON Schemas may contain null.
        return [
            hit
            for key, item in value.items()
            if key not in {"value", "responseSchema"}
            for hit in _nulls(item, f"{path}.{key}")
        ]
    if isinstance(value, list):
        return [hit for number, item in enumerate(value) for hit in _nulls(item, f"{path}[{number}]")]
    return []


def check_frame(frame: Frame) -> None:
    """Check one event: AG-UI's model accepts it and knows all its fields, none is null, and it has a number."""
    event = _event.validate_python(frame)
    unknown = set(event.model_extra or {})
    assert not unknown, f"{frame['type']} carries fields AG-UI does not know: {unknown}"
    nulls = _nulls(frame, frame["type"])
    assert not nulls, f"optional fields are left out, never null: {nulls}"
    if custom_name(frame) not in UNNUMBERED:
        run = frame["metadata"]["run"]
        assert set(run) == {"id", "thread", "seq"}, run
        assert isinstance(run["seq"], int) and run["seq"] >= 1, run


def check_spans(frames: Sequence[Frame]) -> None:
    """Check that every delta lies between a START and an END of its id, and nothing is open at RUN_FINISHED."""
    open_spans: set[tuple[str, str]] = set()
    for frame in frames:
        kind = frame["type"]
        for start, end, delta, key in SPANS:
            span = (start, str(frame.get(key, "")))
            if kind == start:
                assert span not in open_spans, f"{span} opened twice"
                open_spans.add(span)
            elif kind in {end, delta} or (kind, start) == ("SUBAGENT_ERROR", "SUBAGENT_STARTED"):
                assert span in open_spans, f"{kind} of {span[1]} outside its span"
                if kind != delta:
                    open_spans.remove(span)
        if kind == "RUN_FINISHED":
            assert not open_spans, f"open at RUN_FINISHED: {open_spans}"


def with_history(events: Sequence[Frame], known: Collection[str]) -> list[Frame]:
    """Return a run's events, preceded by the calls `known` from earlier runs, whose results it may contain."""
    if not known:
        return list(events)
    calls = [{"id": one, "type": "function", "function": {"name": "earlier", "arguments": "{}"}} for one in known]
    told = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "earlier", "role": "assistant", "toolCalls": calls}]}
    return [events[0], told, *events[1:]]


def check_run(frames: Sequence[Frame], *, whole: bool = True, known: Collection[str] = ()) -> None:
    """Check the events of one run that one connection received.

    `whole`: watched from its start to its end. Else it was caught up with, or is still running. `known`: ids of calls
    that earlier runs of the thread told of.
    """
    for frame in frames:
        check_frame(frame)
    events = numbered(frames)
    assert len({run_of(frame) for frame in events}) == 1, "events of one run"
    numbers = [seq_of(frame) for frame in events]
    kinds = [frame["type"] for frame in events]
    assert not ENDINGS & set(kinds[:-1]), f"something follows the end: {kinds}"
    if not whole:
        assert numbers == sorted(numbers), numbers
        return
    if kinds == ["RUN_ERROR"]:
        return  # a refused run has no start
    assert numbers == list(range(1, len(numbers) + 1)), f"numbers have gaps: {numbers}"
    assert kinds[0] == "RUN_STARTED" and events[0].get("protocolVersion") == "1.0", events[0]
    assert kinds.count("RUN_STARTED") == 1 and kinds[-1] in ENDINGS, kinds
    check_spans(events)
    assert_valid_agui(with_history(events, known), max_warnings=0)


def text_of(frames: Sequence[Frame]) -> str:
    """Return the answer's text as a client shows it."""
    return "".join(frame["delta"] for frame in frames if frame["type"] == "TEXT_MESSAGE_CONTENT")
