"""A server that speaks the Responses wire format: its answers, and what it demands of requests."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from openai.types.responses import ResponseInputParam
from pydantic import TypeAdapter

from tests.fake_answers import Answer, Recorded, Script, Step, event, respond

Body = dict[str, Any]
PATH = "/v1/responses"
USAGE = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 18,
}
_numbers = itertools.count(1)
_input = TypeAdapter(ResponseInputParam)
# Of `ResponseCreateParams`, those that this product may send.
PARAMETERS = {
    "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model", "reasoning",
    "service_tier", "store", "stream", "temperature", "text", "tool_choice", "tools", "top_p",
}  # fmt: skip


def says(text: str, *, phase: str = "", item_id: str = "") -> Body:
    part = {"type": "output_text", "text": text, "annotations": []}
    body = {"type": "message", "id": item_id or f"msg_{next(_numbers)}", "role": "assistant", "content": [part]}
    return {**body, "status": "completed", **({"phase": phase} if phase else {})}


def refuses(text: str) -> Body:
    return {**says(""), "content": [{"type": "refusal", "refusal": text}]}


def calls(name: str, arguments: Any = "{}", *, call_id: str = "", **more: Any) -> Body:
    number = next(_numbers)
    call = {"type": "function_call", "id": f"fc_{number}", "call_id": call_id or f"call_{number}", "name": name}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {**call, "arguments": text, "status": "completed", **more}


def thinks(summary: str = "", *, encrypted: str | None = "gAAAA") -> Body:
    number = next(_numbers)
    parts = [{"type": "summary_text", "text": summary}] if summary else []
    item = {"type": "reasoning", "id": f"rs_{number}", "summary": parts}
    return item if encrypted is None else {**item, "encrypted_content": f"{encrypted}{number}"}


def searches(query: str, *urls: str, status: str = "completed") -> Body:
    sources = [{"type": "url", "url": url} for url in urls]
    action = {"type": "search", "query": query, "sources": sources}
    return {"type": "web_search_call", "id": f"ws_{next(_numbers)}", "status": status, "action": action}


def ended(*items: Body, status: str = "completed", **more: Any) -> Body:
    """Return the response that the last event has."""
    return {
        "id": "resp_1",
        "object": "response",
        "status": status,
        "model": "fake",
        "output": list(items),
        "error": None,
        "incomplete_details": None,
        "usage": USAGE,
        **more,
    }


def ending(*items: Body, status: str = "completed", **more: Any) -> Body:
    """Return the last event."""
    return {"type": f"response.{status}", "response": ended(*items, status=status, **more)}


def events_of(index: int, item: Body) -> Iterator[Body]:
    """Yield the events of one item, its text or arguments in pieces."""
    at = {"output_index": index, "item_id": item["id"]}
    empty: Body = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
    opened = item if item["type"] == "web_search_call" else {**item, **empty, "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": index, "item": opened}
    if item["type"] == "message":
        for part in item["content"]:
            kind = "refusal" if part["type"] == "refusal" else "output_text"
            text = part["refusal" if kind == "refusal" else "text"]
            yield {"type": "response.content_part.added", **at, "content_index": 0, "part": part}
            for start in range(0, len(text), 4):
                yield {"type": f"response.{kind}.delta", **at, "content_index": 0, "delta": text[start : start + 4]}
            yield {"type": f"response.{kind}.done", **at, "content_index": 0, "text": text}
    if item["type"] == "function_call":
        for start in range(0, len(item["arguments"]), 5):
            delta = item["arguments"][start : start + 5]
            yield {"type": "response.function_call_arguments.delta", **at, "delta": delta}
        yield {"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]}
    if item["type"] == "reasoning":
        for number, part in enumerate(item["summary"]):
            yield {"type": "response.reasoning_summary_part.added", **at, "summary_index": number, "part": part}
            yield {"type": "response.reasoning_summary_text.delta", **at, "delta": part["text"]}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def streamed(*items: Body, end: Body | None = None) -> list[Body]:
    """Return all events of a response with these items."""
    middle = itertools.chain.from_iterable(events_of(index, item) for index, item in enumerate(items))
    return [{"type": "response.created", "response": ended(status="in_progress")}, *middle, end or ending(*items)]


def sse(*payloads: Any) -> bytes:
    return b"".join(
        payload if isinstance(payload, bytes) else b"event: " + payload["type"].encode() + b"\n" + event(payload)
        for payload in payloads
    )


def answer(*items: Body, end: Body | None = None, before: Sequence[Step] = ()) -> Answer:
    return Answer([*before, sse(*streamed(*items, end=end))])


class ResponsesServer:
    """The rule of a fake provider: answers from a list, then with "Fine."; refuses requests that are not valid.

    Attributes:
        refused: why requests were refused.
        bodies: those that were accepted.
    """

    def __init__(self, *answers: Answer | Script | Sequence[Body]) -> None:
        self._answers = list(answers)
        self._reasoning: dict[str, Body] = {}
        self._led_to: dict[str, str] = {}
        self.refused: list[str] = []
        self.bodies: list[Body] = []

    def __call__(self, request: Recorded) -> Answer:
        body = request.json
        if problems := [*self._problems(request.path, body)]:
            self.refused += problems
            return respond(400, {"error": {"message": problems[0], "type": "invalid_request_error"}})
        self.bodies.append(body)
        following = self._answers.pop(0) if self._answers else [says("Fine.")]
        if isinstance(following, Answer):
            return following
        if callable(following):
            return following(request)
        for item, then in itertools.pairwise(following):
            if item["type"] == "reasoning":
                self._reasoning[item["id"]] = item
                self._led_to[then["id"]] = item["id"]
        return answer(*following)

    def _problems(self, path: str, body: Body) -> Iterator[str]:
        if path != PATH:
            yield f"There is nothing at {path}."
            return
        _input.validate_python(body["input"], strict=False)
        if unknown := set(body) - PARAMETERS:
            yield f"Unknown parameter: {min(unknown)!r}."
        if body.get("store") is not False:
            yield "This server must not store anything."
        for tool in body.get("tools", ()):
            if tool["type"] == "function" and not isinstance(tool.get("strict"), bool):
                yield "Missing required parameter: 'tools[0].strict'."
        yield from self._problems_of_items(body["input"])

    def _problems_of_items(self, items: Sequence[Body]) -> Iterator[str]:
        called: list[str] = []
        answered: list[str] = []
        for before, item, after in zip([None, *items], items, [*items[1:], None], strict=False):
            kind = item.get("type", "message")
            if kind == "function_call":
                called.append(item["call_id"])
                if not isinstance(json.loads(item["arguments"]), dict):
                    yield "Arguments must be a JSON object."
            if kind == "function_call_output":
                answered.append(item["call_id"])
                if item["call_id"] not in called:
                    yield f"No tool call found for function call output with call_id {item['call_id']}."
            if kind == "reasoning":
                given = self._reasoning.get(item["id"])
                if given is None or given["encrypted_content"] != item.get("encrypted_content"):
                    yield f"Item {item['id']!r} not found. Items are not persisted when `store` is set to false."
                if after is None or after.get("type") == "reasoning" or after.get("role") == "user":
                    yield f"Item {item['id']!r} of type 'reasoning' was provided without its required following item."
            needed = self._led_to.get(item.get("id", ""))
            if needed and (before or {}).get("id") != needed:
                yield f"Item {item['id']!r} was provided without its required 'reasoning' item: {needed!r}."
        if len(set(called)) != len(called) or sorted(called) != sorted(answered):
            yield "No tool output found for function call."
