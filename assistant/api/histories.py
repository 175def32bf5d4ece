"""Reads bodies of clients that send their whole history with each request: as large as uploads, in bounded work.

Of a large body only one member may be long, the history. It is looked through, and parsed as far as it is needed, in a
thread, two at a time in a process. Small bodies, which are nearly all, are parsed at once.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from django.http import HttpRequest

from assistant.api.authentication import HttpRefusal
from assistant.api.parsers import MAX_BODY, NOT_JSON, check_texts, parse_object, too_large
from assistant.services.runs.run_input import ROLES_AT_END
from assistant.services.text import JSONOutOfBounds, read_json
from assistant.toolkit.bounded_json import TooDeep, TooManyValues, check_shape
from assistant.toolkit.per_loop import PerLoop

# Of the part of a history that is parsed. Texts count as one, however long they are.
MAX_VALUES = 200_000
# Bodies that are parsed at once; the others wait where Django has stored them.
MAX_AT_ONCE = 2
T = TypeVar("T")

_turns: PerLoop[asyncio.Semaphore] = PerLoop(lambda: asyncio.Semaphore(MAX_AT_ONCE))


@dataclass(frozen=True, slots=True)
class HistoryBody:
    """The parsed body of a request.

    Attributes:
        mark: JSON that is the same for each repetition of the request, for `Idempotency-Key`.
    """

    values: dict[str, Any]
    mark: Mapping[str, Any]
    is_large: bool

    async def parsed(self, parse: Callable[[dict[str, Any]], T]) -> T:
        """Return what `parse` makes of the values, in a thread for a large body. Raises what it raises."""
        if not self.is_large:
            return parse(self.values)
        async with _turns.get():
            return await asyncio.to_thread(parse, self.values)


async def history_body_of(request: HttpRequest, read: Callable[[bytes], dict[str, Any]]) -> HistoryBody:
    """Return the body of a request as a JSON object.

    Args:
        read: parses a large one: `with_whole` or `with_skimmed` for the name of its history.

    Raises:
        HttpRefusal: it is not a JSON object, cannot be stored, or is out of bounds.
    """
    beginning = request.read(MAX_BODY + 1)
    if len(beginning) <= MAX_BODY:
        values = parse_object(beginning)
        check_texts(values)
        return HistoryBody(values, values, is_large=False)
    async with _turns.get():
        return await asyncio.to_thread(_read_large, request, beginning, read)


def _read_large(request: HttpRequest, beginning: bytes, read: Callable[[bytes], dict[str, Any]]) -> HistoryBody:
    most: int = settings.ASSISTANT_MAX_UPLOAD_BYTES
    body = beginning + request.read(max(0, most + 1 - len(beginning)))
    if len(body) > most:
        raise too_large(most)
    try:
        values = read(body)
    except JSONOutOfBounds as exc:
        raise HttpRefusal(400, "invalid_input", f"The body {exc}.") from None
    except (TooDeep, TooManyValues) as exc:
        raise HttpRefusal(400, "invalid_input", f"The history cannot be read: {exc}.") from None
    except msgspec.ValidationError as exc:
        raise HttpRefusal(400, "invalid_input", f"The body is not as it should be: {str(exc)[:300]}.") from None
    except (ValueError, RecursionError):
        raise HttpRefusal(400, "invalid_input", NOT_JSON) from None
    check_texts(values)
    return HistoryBody(values, {"sha256": hashlib.sha256(body).hexdigest()}, is_large=True)


def with_whole(name: str) -> Callable[[bytes], dict[str, Any]]:
    """Return a reader that parses a body with all of its history, the member `name`, which the model is sent."""

    def read(body: bytes) -> dict[str, Any]:
        values, history = _split(body, name)
        check_shape(history, max_values=MAX_VALUES)
        return {**values, name: msgspec.json.decode(history)}

    return read


def with_skimmed(name: str) -> Callable[[bytes], dict[str, Any]]:
    """Return a reader that parses the end of a history of AG-UI's messages, and of others only their ids and roles.

    The end is the messages after the last one with another role than `ROLES_AT_END`, and in any case the last message.
    """

    def read(body: bytes) -> dict[str, Any]:
        values, history = _split(body, name)
        heads = msgspec.json.decode(history, type=list[_Head])
        end = max((n for n, head in enumerate(heads, 1) if head.role not in ROLES_AT_END), default=0)
        end = min(end, len(heads) - 1)
        last = b"[%b]" % b",".join(map(bytes, msgspec.json.decode(history, type=list[msgspec.Raw])[end:]))
        check_shape(last, max_values=MAX_VALUES)
        before = [{"id": head.id, "role": head.role} for head in heads[:end]]
        return {**values, name: [*before, *read_json(last)]}

    return read


class _Head(msgspec.Struct, gc=False):
    """What is read of a message that is not needed. Both fields are required, so that each takes room in the body."""

    id: str
    role: str


@cache
def _holder(name: str) -> type[msgspec.Struct]:
    """Return what takes one member of an object as it is written, and skips the others."""
    return msgspec.defstruct("Holder", [(name, msgspec.Raw, msgspec.Raw(b"null"))])


def _split(body: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """Parse a JSON object but for its member `name`, and return that as it is written.

    Raises:
        HttpRefusal: 413, what is beside the member is too large.
        ValueError, RecursionError: the body is no JSON object of bounded depth.
    """
    history = bytes(getattr(msgspec.json.decode(body, type=_holder(name)), name))
    if len(body) - len(history) > MAX_BODY:
        raise too_large(MAX_BODY, beside=name)
    members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return {key: read_json(bytes(value)) for key, value in members.items() if key != name}, history
