"""What every recorded run must keep: AG-UI's schema and the order of events that CONTRACT section 4 promises."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ag_ui.core import Event
from ag_ui_validate.pytest_plugin import assert_valid_agui
from pydantic import TypeAdapter

Frame = dict[str, Any]

_event = TypeAdapter(Event)
ENDINGS = frozenset({"RUN_FINISHED", "RUN_ERROR"})
# What a connection says for itself, outside every run.
UNNUMBERED = frozenset({"pong", "protocol_error"})
# Made on the connection: repeats the number of the event that closed the block, or came before the summary.
REPEATING = frozenset({"message.block", "thread.summary"})

# Event that opens, event that closes, events between, the key they share.
SPANS = (
    ("TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CONTENT", "messageId"),
    ("REASONING_START", "REASONING_END", "", "messageId"),
    ("REASONING_MESSAGE_START", "REASONING_MESSAGE_END", "REASONING_MESSAGE_CONTENT", "messageId"),
    ("TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_ARGS", "toolCallId"),
    ("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "", "subagentRunId"),
)


def custom_name(frame: Frame) -> str:
    """The name of a CUSTOM event, or nothing."""
    return str(frame["name"]) if frame["type"] == "CUSTOM" else ""


def seq_of(frame: Frame) -> int:
    """The number of an event within its run."""
    return int(frame["metadata"]["run"]["seq"])


def run_of(frame: Frame) -> str:
    """The id of the run an event belongs to; nothing for what a connection says for itself."""
    return str(frame.get("metadata", {}).get("run", {}).get("id", ""))


def numbered(frames: Sequence[Frame]) -> list[Frame]:
    """The events that count: without the connection's own and without rendered blocks."""
    return [frame for frame in frames if custom_name(frame) not in UNNUMBERED | REPEATING]


def _nulls(value: Any, path: str) -> list[str]:
    if value is None:
        return [path]
    if isinstance(value, dict):
        # A CUSTOM event's value and JSON Schemas are somebody's data, where null may mean something.
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
    """One event: AG-UI's model takes it, knows all its fields, none is null, and it carries its number."""
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
    """Every delta lies between a START and an END of its id, and nothing is open at RUN_FINISHED."""
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
    """A run as the validator knows its client: with the calls `known` from earlier runs, whose results it may tell."""
    if not known:
        return list(events)
    calls = [{"id": one, "type": "function", "function": {"name": "earlier", "arguments": "{}"}} for one in known]
    told = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "earlier", "role": "assistant", "toolCalls": calls}]}
    return [events[0], told, *events[1:]]


def check_run(frames: Sequence[Frame], *, whole: bool = True, known: Collection[str] = ()) -> None:
    """One connection's events of one run, as they came.

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
        return  # it was refused, so it never started
    assert numbers == list(range(1, len(numbers) + 1)), f"numbers have gaps: {numbers}"
    assert kinds[0] == "RUN_STARTED" and events[0].get("protocolVersion") == "1.0", events[0]
    assert kinds.count("RUN_STARTED") == 1 and kinds[-1] in ENDINGS, kinds
    check_spans(events)
    assert_valid_agui(with_history(events, known), max_warnings=0)


def text_of(frames: Sequence[Frame]) -> str:
    """What a client shows as the answer's text."""
    return "".join(frame["delta"] for frame in frames if frame["type"] == "TEXT_MESSAGE_CONTENT")
