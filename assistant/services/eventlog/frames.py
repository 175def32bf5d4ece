"""Frames: events as the JSON texts that clients receive, numbered within their run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from assistant.core.values import events
from assistant.core.values.events import PROTOCOL_VERSION, Event, ToolCallStart
from assistant.services.errors import Refused
from assistant.services.text import format_timestamp
from assistant.toolkit.text import clean_text

_encode = msgspec.json.Encoder().encode
# Of a client's id that is repeated in a refusal.
MAX_ID = 200
_FINISHED = '{"type":"RUN_FINISHED"'


class FrameEncoder:
    """Encodes the events of one run, each in about a microsecond."""

    def __init__(self, *, run_id: str, thread: str) -> None:
        self._run = f'"run":{{"id":{_encode(run_id).decode()},"thread":{_encode(thread).decode()},"seq":'
        self._tail = f',"metadata":{{{self._run}'

    def frame(self, event: Event, seq: int) -> str:
        """Return the frame of an event with the number `seq`."""
        begun = _encode(event)[:-1].decode()
        if type(event) is ToolCallStart and event.metadata is not None:  # the only event that has metadata of its own
            return f"{begun[:-1]}{',' if event.metadata.tool else ''}{self._run}{seq}}}}}}}"
        return f"{begun}{self._tail}{seq}}}}}}}"


def bare_frame(event: Event) -> str:
    """Return the frame of an event that belongs to no run, such as the answer to a ping."""
    return _encode(event).decode()


def refused_start(given: Mapping[str, Any]) -> str:
    """Return the `RUN_STARTED` frame of a run that was refused, for streams, which begin with one."""
    run_id, thread = _given_id(given, "runId"), _given_id(given, "threadId")
    return FrameEncoder(run_id=run_id, thread=thread).frame(events.RunStarted(thread, run_id, PROTOCOL_VERSION), 1)


def refusal_frame(given: Mapping[str, Any], refusal: Refused, seq: int = 1) -> str:
    """Return the `RUN_ERROR` frame of a run that was refused.

    Args:
        given: the client's input, not validated.
        refusal: its `resets_at`, if any, is in the frame's metadata as `resetsAt`.
    """
    # The ids come from the client, and may contain what is not valid text.
    encoder = FrameEncoder(run_id=_given_id(given, "runId"), thread=_given_id(given, "threadId"))
    frame = encoder.frame(events.RunError(message=clean_text(str(refusal)), code=refusal.code), seq)
    if refusal.resets_at is None:
        return frame
    return f'{frame.removesuffix("}}")},"resetsAt":{_encode(format_timestamp(refusal.resets_at)).decode()}}}}}'


def _given_id(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return clean_text(value[:MAX_ID]) if isinstance(value, str) else ""


def as_mapping(event: Event) -> dict[str, Any]:
    """Return an event with AG-UI's names, for storing as JSON."""
    return msgspec.json.decode(_encode(event), type=dict[str, Any])


def stored_event(stored: Mapping[str, Any]) -> Event:
    """Return the event whose mapping `as_mapping` returned.

    A frame starts with its type, but databases do not keep the order of names. Encoding the event restores it.
    """
    return msgspec.convert(stored, events.AnyEvent)  # type: ignore[no-any-return]


decode_event = msgspec.json.Decoder(events.AnyEvent).decode


def with_thread(frame: str, thread: str) -> str:
    """Return the frame of a run's event with another threadId, for clients that know the thread by that one."""
    event = msgspec.json.decode(frame, type=dict[str, Any])
    event["metadata"]["run"]["thread"] = thread
    if "threadId" in event:
        event["threadId"] = thread
    return _encode(event).decode()


def without_cancelled(frame: str) -> str:
    """Return the frame without the outcome `cancelled`, for clients that send no protocol version."""
    if not frame.startswith(_FINISHED) or '"outcome":{"type":"cancelled"}' not in frame:
        return frame
    event = msgspec.json.decode(frame, type=dict[str, Any])
    del event["outcome"]
    return _encode(event).decode()


def for_earlier_clients(frame: str) -> str:
    """Return the frame for SSE clients of AG-UI 0.0, also without `pendingToolCallIds`.

    They reject an outcome with a field that they do not know, and find their tool calls by themselves.
    """
    frame = without_cancelled(frame)
    if not frame.startswith(_FINISHED) or '"pendingToolCallIds"' not in frame:
        return frame
    event = msgspec.json.decode(frame, type=dict[str, Any])
    event["outcome"].pop("pendingToolCallIds", None)
    return _encode(event).decode()
