"""Servers that take only what one kind of provider takes, and refuse every other request as that kind does."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tests.fake_answers import Answer, Recorded, Script, chunk, reply, respond, stream

Body = dict[str, Any]
Check = Callable[[Body], Iterable[str]]
SIGNATURE = "c2lnbmF0dXJl"
REASONING = "The user wants the time."


def calls_of(body: Body) -> Iterator[tuple[Body, Body]]:
    """Yield each call of the request with its message."""
    for message in body["messages"]:
        for call in message.get("tool_calls") or ():
            yield message, call


def _double(number: str) -> float:
    """Return a number as servers hold it. Raises `ValueError` for one that none can."""
    if math.isinf(found := float(number)):
        raise ValueError(number)
    return found


def any_kind(body: Body) -> Iterator[str]:
    """What every server may demand."""
    messages = body["messages"]
    if any(message["role"] in ("system", "developer") for message in messages[1:]):
        yield "System message must be at the beginning."
    ids = [call["id"] for _, call in calls_of(body)]
    if len(set(ids)) != len(ids):
        yield "Duplicate tool call id."
    open_ids: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                yield "A tool message answers no call."
            else:
                open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            yield "A call has no result."
        open_ids = [call["id"] for call in message.get("tool_calls") or ()]
    for _, call in calls_of(body):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"]):
            yield "Invalid function name."
        try:
            is_object = isinstance(json.loads(call["function"]["arguments"], parse_float=_double), dict)
        except ValueError:
            is_object = False
        if not is_object:
            yield "Arguments must be a JSON object."


def _reasons(body: Body) -> Iterator[str]:
    if any(message["role"] == "system" for message in body["messages"]):
        yield "Unsupported value: 'messages[0].role' does not support 'system' with this model."
    if {"max_tokens", "temperature"} & set(body):
        yield "Unsupported parameter."


def _gemini(body: Body) -> Iterator[str]:
    for message in body["messages"]:
        if message.get("tool_calls"):
            extra = message["tool_calls"][0].get("extra_content") or {}
            if not extra.get("google", {}).get("thought_signature"):
                yield "Function call is missing a thought_signature."
        elif not message["content"]:
            yield "Unable to submit request because it must have a text parameter."


def _content_is_text(body: Body) -> Iterator[str]:
    if any(not isinstance(message["content"], str) for message in body["messages"]):
        yield "content: expected a string."


def _alternating(body: Body) -> Iterator[str]:
    roles = [message["role"] for message in body["messages"]]
    if any(one == "user" == other for one, other in itertools.pairwise(roles)):
        yield "Conversation roles must alternate."


def _mistral(body: Body) -> Iterator[str]:
    yield from _content_is_text(body)
    yield from _alternating(body)
    roles = [message["role"] for message in body["messages"]]
    if ("tool", "user") in set(itertools.pairwise(roles)):
        yield "Unexpected role 'user' after role 'tool'"
    if any(not re.fullmatch(r"[a-zA-Z0-9]{9}", call["id"]) for _, call in calls_of(body)):
        yield "Tool call id has to be a-z, A-Z, 0-9, with a length of 9."
    yield from _known_fields(body)


def _known_fields(body: Body) -> Iterator[str]:
    for message in body["messages"]:
        if unknown := set(message) - {"role", "content", "tool_calls", "tool_call_id"}:
            yield f"property {min(unknown)!r} is unsupported"
    for _, call in calls_of(body):
        if set(call) != {"id", "type", "function"}:
            yield "a call has unsupported properties"


def _reasoning(body: Body) -> Iterator[str]:
    if any(not message.get("reasoning_content") for message, _ in calls_of(body)):
        yield "Missing `reasoning_content` field in the assistant message."


def _deepseek(body: Body) -> Iterator[str]:
    yield from _content_is_text(body)
    yield from _reasoning(body)


def _kimi(body: Body) -> Iterator[str]:
    yield from _reasoning(body)
    for _, call in calls_of(body):
        if not re.fullmatch(rf"functions\.{re.escape(call['function']['name'])}:\d+", call["id"]):
            yield "Invalid tool call id."


def _minimax(body: Body) -> Iterator[str]:
    if not body.get("reasoning_split"):
        yield "The reasoning would be in the text."
    for message, call in calls_of(body):
        details: list[Body] = message.get("reasoning_details") or [{}]
        is_own = call["id"].startswith("call_function_")
        if is_own and [one.get("text") for one in details] != [REASONING]:
            yield "The reasoning of a call is missing."


def _template(body: Body) -> Iterator[str]:
    yield from _content_is_text(body)
    yield from _alternating(body)


def _anthropic(body: Body) -> Iterator[str]:
    if any(not re.fullmatch(r"[a-zA-Z0-9_-]+", call["id"]) for _, call in calls_of(body)):
        yield "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if any(not message.get("tool_calls") and not str(message["content"]).strip() for message in body["messages"]):
        yield "text content blocks must be non-empty"


# By kind: a model of it, and what it demands.
KINDS: dict[str, tuple[str, Check]] = {
    "openai": ("o4-mini", _reasons),
    "azure": ("o4-mini", _reasons),
    "gemini": ("gemini-3-pro-preview", _gemini),
    "mistral": ("mistral-large-latest", _mistral),
    "deepseek": ("deepseek-reasoner", _deepseek),
    "kimi": ("kimi-k2-thinking", _kimi),
    "minimax": ("MiniMax-M3", _minimax),
    "qwen": ("Qwen/Qwen3.5-35B", _content_is_text),
    "vllm": ("google/gemma-3-27b-it", _template),
    "llama.cpp": ("gemma-3", _template),
    "ollama": ("llama3.3", _template),
    "groq": ("openai/gpt-oss-120b", _known_fields),
    "anthropic-compatible": ("claude-sonnet-4-5", _anthropic),
}


class PickyServer:
    """The rule of a fake provider that is of one kind: answers from a list, then with "Fine."

    Attributes:
        refused: why requests were refused.
        bodies: those that were accepted.
    """

    def __init__(self, kind: str, *answers: Answer | Script) -> None:
        self._check = KINDS[kind][1]
        self._answers = list(answers)
        self.refused: list[str] = []
        self.bodies: list[Body] = []

    def __call__(self, request: Recorded) -> Answer:
        if problems := [*any_kind(request.json), *self._check(request.json)]:
            self.refused += problems
            return respond(400, {"error": {"message": problems[0], "type": "invalid_request_error"}})
        self.bodies.append(request.json)
        answer = self._answers.pop(0) if self._answers else reply("Fine.")
        return answer if isinstance(answer, Answer) else answer(request)


def called(
    arguments: str = "{}",
    *,
    call_id: str = "call_1",
    reasoning: str = "",
    field: str = "reasoning_content",
    before: Sequence[dict[str, Any]] = (),
    **extra: Any,
) -> Answer:
    """Return an answer with one call of `current_time`, with what a provider gives beside it."""
    call = {"index": 0, "id": call_id, "type": "function", "function": {"name": "current_time", "arguments": arguments}}
    deltas: list[dict[str, Any]] = [{field: reasoning}] if reasoning else []
    deltas.append({"tool_calls": [{**call, **extra}]})
    return stream(*(chunk(delta) for delta in (*before, *deltas)), chunk(finish="tool_calls"))


def given_by(kind: str, number: int = 0) -> Answer:
    """Return a call as this kind of provider makes it, with all that it wants back."""
    match kind:
        case "gemini":
            google = {"google": {"thought_signature": f"{SIGNATURE}{number}"}}
            return called(call_id=f"function-call-{number}", extra_content=google)
        case "mistral":
            return called(call_id=f"D681Pevk{number}")
        case "kimi":
            return called(call_id=f"functions.current_time:{number}", reasoning=REASONING)
        case "deepseek":
            return called(call_id=f"call_00_{number}", reasoning=REASONING)
        case "groq" | "ollama" | "vllm":
            return called(call_id=f"chatcmpl-tool-{number}", reasoning=REASONING, field="reasoning")
        case "minimax":
            entry = {"type": "reasoning.text", "id": "r-1", "format": "MiniMax-response-v1", "index": 0}
            pieces = (REASONING[:9], REASONING[9:])
            details = [{"reasoning_details": [{**entry, "text": text}]} for text in pieces]
            return called(call_id=f"call_function_{number}", before=details)
        case "anthropic-compatible":
            return called(call_id=f"toolu_01{number}")
        case _:
            return called(call_id=f"call_{number}abc")
