"""Events as clients get them: one JSON text each, numbered within their run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.services.errors import Refused
from assistant.services.text import format_timestamp
from assistant.toolkit.text import clean_text

_encode = msgspec.json.Encoder().encode
_FINISHED = '{"type":"RUN_FINISHED"'


class FrameEncoder:
    """Makes the frames of one run; encoding an event costs about a microsecond."""

    def __init__(self, *, run_id: str, thread: str) -> None:
        self._tail = f',"metadata":{{"run":{{"id":{_text(run_id)},"thread":{_text(thread)},"seq":'

    def frame(self, event: Event, seq: int) -> str:
        """The frame of an event with its number."""
        return f"{_encode(event)[:-1].decode()}{self._tail}{seq}}}}}}}"


def _text(value: str) -> str:
    return _encode(value).decode()


def bare_frame(event: Event) -> str:
    """The frame of an event that belongs to no run, such as an answer to a ping."""
    return _encode(event).decode()


def refusal_frame(given: Mapping[str, Any], refusal: Refused) -> str:
    """The only event of a run that was not opened, by its input, of which nothing is known to be valid.

    Its metadata says when to ask again, as `resetsAt`, if that is a matter of time.
    """
    # The ids are the client's own words: what is no text in them must not stop the answer.
    numbering = FrameEncoder(run_id=_given_id(given, "runId"), thread=_given_id(given, "threadId"))
    frame = numbering.frame(events.RunError(message=clean_text(str(refusal)), code=refusal.code), 1)
    if refusal.resets_at is None:
        return frame
    return f'{frame.removesuffix("}}")},"resetsAt":{_text(format_timestamp(refusal.resets_at))}}}}}'


def _given_id(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return clean_text(value[:128]) if isinstance(value, str) else ""


def as_mapping(event: Event) -> dict[str, Any]:
    """An event with AG-UI's names, for storing."""
    return msgspec.json.decode(_encode(event), type=dict[str, Any])


def stored_event(stored: Mapping[str, Any]) -> Event:
    """An event that was stored `as_mapping`: databases keep no order of names, and a frame's first is its type."""
    return msgspec.convert(stored, events.AnyEvent)  # type: ignore[no-any-return]


decode_event = msgspec.json.Decoder(events.AnyEvent).decode


def without_cancelled(frame: str) -> str:
    """A frame for a client that names no protocol version: without the outcome that earlier ones do not know."""
    if not frame.startswith(_FINISHED) or '"outcome":{"type":"cancelled"}' not in frame:
        return frame
    event = msgspec.json.decode(frame, type=dict[str, Any])
    del event["outcome"]
    return _encode(event).decode()


def for_earlier_clients(frame: str) -> str:
    """The same for the clients of AG-UI's 0.0 line, which speak SSE: they refuse a whole outcome for a part they do not
    know, and find the calls that are theirs by themselves."""
    frame = without_cancelled(frame)
    if not frame.startswith(_FINISHED) or '"pendingToolCallIds"' not in frame:
        return frame
    event = msgspec.json.decode(frame, type=dict[str, Any])
    event["outcome"].pop("pendingToolCallIds", None)
    return _encode(event).decode()
