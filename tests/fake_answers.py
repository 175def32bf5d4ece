"""The answers of a fake provider: functions that turn a recorded request into the bytes of a response."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


class Gate:
    """A point in a response where the provider waits until the test calls `release`."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def release(self) -> None:
        self.opened.set()

    def wait_reached(self, timeout: float = 10) -> None:
        """Block until the provider waits at the gate; in async code use `asyncio.to_thread`."""
        assert self.reached.wait(timeout), "the provider never came to the gate"


class Cut:
    """The connection is closed here, without the end that HTTP requires."""


class Silence:
    """Nothing more is sent, and the connection stays open until the client closes it."""


Step = bytes | float | Gate | Cut | Silence


@dataclass
class Recorded:
    """One request that the provider received; header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    disconnected: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def json(self) -> Any:
        return json.loads(self.body or b"{}")

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.json.get("messages") or [])

    @property
    def last_text(self) -> str:
        """The text of the last message."""
        content = self.messages[-1].get("content") if self.messages else ""
        if isinstance(content, list):
            return "".join(part.get("text", "") for part in content)
        return content or ""

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.json.get("tools") or []]


@dataclass
class Answer:
    """The response to one request: bytes, pauses in seconds, gates, `Cut` and `Silence`, in order."""

    steps: list[Step]
    status: int = 200
    content_type: str | None = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


Script = Callable[[Recorded], Answer]
_numbers = itertools.count(1)
# What is before a passage of a file, or of a search.
_NUMBER_BEFORE = re.compile(r'^\[(\d+)\]$|"number": ?"([\d.]+)"', re.MULTILINE)
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def event(payload: Any) -> bytes:
    """Return one server-sent event; a string is sent unchanged."""
    text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return b"data: " + text.encode() + b"\n\n"


def chunk(
    delta: dict[str, Any] | None = None, *, finish: str | None = None, model: str = "fake", **extra: Any
) -> dict[str, Any]:
    """Return one `chat.completion.chunk`; keyword arguments add or replace top-level fields."""
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    return {**head, "choices": [choice], **extra}


def whole(text: str, calls: Sequence[dict[str, Any]], finish: str, usage: dict[str, Any] | None) -> Answer:
    """Return the response to a request that did not ask for a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = list(calls)
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "fake",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage or USAGE,
    }
    return Answer([json.dumps(body).encode()], content_type="application/json")


def citing(*texts: str) -> Script:
    """Return an answer that says each of these texts, and behind it the number under which the request gives it."""

    def script(request: Recorded) -> Answer:
        told = "\n".join(str(message.get("content") or "") for message in request.messages)
        numbers = [_NUMBER_BEFORE.findall(told[: told.index(text)])[-1] for text in texts]
        said = [f"{text} [{number}]" for text, number in zip(texts, map("".join, numbers), strict=True)]
        return reply("\n\n".join(said))(request)

    return script


def reply(
    text: str = "",
    *,
    chunks: Iterable[str | Gate] | None = None,
    delay: float = 0.0,
    calls: Sequence[tuple[str, Any]] = (),
    ids: Sequence[str] = (),
    reasoning: str = "",
    finish: str | None = None,
    usage: dict[str, Any] | None = None,
) -> Script:
    """Return a correct response: text word by word (or in `chunks`, which may contain gates), then tool calls.

    `delay` is the pause between chunks in seconds; a call's arguments are a JSON value, or a string sent unchanged.
    """
    pieces = list(chunks) if chunks is not None else _words(text)
    wire = [_call(number, name, value, ids) for number, (name, value) in enumerate(calls)]
    reason = finish or ("tool_calls" if calls else "stop")

    def script(request: Recorded) -> Answer:
        if not request.json.get("stream"):
            return whole("".join(p for p in pieces if isinstance(p, str)), wire, reason, usage)
        steps: list[Step] = [event(chunk({"role": "assistant", "content": ""}))]
        if reasoning:
            steps.append(event(chunk({"reasoning_content": reasoning})))
        for piece in pieces:
            if delay:
                steps.append(delay)
            steps.append(piece if isinstance(piece, Gate) else event(chunk({"content": piece})))
        for number, call in enumerate(wire):
            steps += [event(chunk({"tool_calls": [part]})) for part in _in_pieces(number, call)]
        steps.append(event(chunk(finish=reason)))
        if (request.json.get("stream_options") or {}).get("include_usage"):
            steps.append(event(chunk(choices=[], usage=usage or USAGE)))
        return Answer([*steps, event("[DONE]")])

    return script


def _words(text: str) -> list[str | Gate]:
    words = text.split(" ")
    return [word if last else word + " " for word, last in zip(words, [*[False] * (len(words) - 1), True], strict=True)]


def _call(number: int, name: str, arguments: Any, ids: Sequence[str]) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    call_id = ids[number] if number < len(ids) else f"call_{next(_numbers)}"
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _in_pieces(number: int, call: dict[str, Any]) -> Iterable[dict[str, Any]]:
    arguments = call["function"]["arguments"]
    yield {"index": number, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
    for start in range(0, len(arguments), 8):
        yield {"index": number, "function": {"arguments": arguments[start : start + 8]}}


def respond(status: int, body: Any = None, *, headers: dict[str, str] | None = None) -> Answer:
    """Return an HTTP response with any status; `body` is JSON, or a string that is sent as text/html."""
    if isinstance(body, str):
        return Answer([body.encode()], status=status, content_type="text/html", headers=headers or {})
    error = {"error": {"message": f"scripted {status}", "type": "fake_error", "code": None}}
    content = json.dumps(error if body is None else body).encode()
    return Answer([content], status=status, content_type="application/json", headers=headers or {})


def raw(*steps: Step, content_type: str | None = "text/event-stream") -> Answer:
    """Return a response with exactly these steps as its body."""
    return Answer(list(steps), content_type=content_type)


def stream(*payloads: Any, done: bool = True) -> Answer:
    """Return a stream with an event for each payload (a step is used as it is), and `[DONE]` unless `done` is false."""
    steps = [p if isinstance(p, bytes | float | Gate | Cut | Silence) else event(p) for p in payloads]
    return Answer([*steps, event("[DONE]")] if done else steps)


def echo(request: Recorded) -> Answer:
    """Return the response if nothing is scripted: the text of the last message."""
    return reply(f"You said: {request.last_text}")(request)
