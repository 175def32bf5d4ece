"""What a case is: one turn with a server that answers as a named one does, and what comes of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.fake_answers import Answer, Script, chunk, reply, stream
from tests.providers.quirks import end, piece

SUM = '{"expression": "6*7"}'
CALL = piece(SUM, name="calculate", id="call_1", type="function")
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
FINE = reply("Fine.")


@dataclass(frozen=True)
class Case:
    """One turn with a server.

    Attributes:
        answers: to the turn's requests, in order; a request beyond them is answered "Fine.".
        text: what the user reads; "" if the turn fails.
        is_sum: the tool `calculate` runs once, with `SUM`, and the server reads its result.
        error: part of the sentence with which the turn fails.
        returned: texts that the server finds in later requests, since it gave them for itself.
    """

    name: str
    answers: tuple[Answer | Script, ...]
    text: str = "Fine."
    is_sum: bool = False
    error: str = ""
    kind: str = "openai"
    model: str = "gpt-4.1"
    returned: tuple[str, ...] = field(default=())


def called(name: str, *payloads: Any, finish: str | None = "tool_calls", **more: Any) -> Case:
    """A turn whose first answer calls `calculate`."""
    last = () if finish is None else (end(finish),)
    return Case(name, (stream(*payloads, *last), FINE), is_sum=True, **more)


def said(name: str, *payloads: Any, text: str = "Hi", done: bool = True, **more: Any) -> Case:
    return Case(name, (stream(*payloads, done=done),), text, **more)


def failed(name: str, answer: Answer, error: str, **more: Any) -> Case:
    return Case(name, (answer,) * 3, "", error=error, **more)


def whole(**body: Any) -> Answer:
    """A response that is one JSON document."""
    return Answer([json.dumps(body).encode()], content_type="application/json")


def choice(**fields: Any) -> dict[str, Any]:
    return chunk(choices=[{"index": 0, **fields}])


def details(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return chunk({"reasoning_details": list(entries), **more})
