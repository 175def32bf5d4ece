"""What Anthropic answers, and what it refuses.

Sources: https://platform.claude.com/docs/en/build-with-claude/streaming, .../working-with-messages,
.../extended-thinking and .../api/errors
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fake_answers import Answer, Step, event, respond

Body = dict[str, Any]
SIGNATURE = "EqQBCgIYAhIM"
USAGE = {"input_tokens": 5, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 4, "output_tokens": 1}
_TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
_TYPES |= {413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}


def named(payload: dict[str, Any]) -> bytes:
    """Return one event as Anthropic sends it, with its name."""
    return b"event: " + payload["type"].encode() + b"\n" + event(payload)


def start(**usage: Any) -> dict[str, Any]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": []}
    return {"type": "message_start", "message": {**message, "usage": usage or USAGE}}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of one content block."""
    opened = {"type": "content_block_start", "index": index, "content_block": content}
    changes = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [opened, *changes, {"type": "content_block_stop", "index": index}]


def text(index: int, *pieces: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": one} for one in pieces))


def thinking(index: int, said: str, signature: str = SIGNATURE) -> list[dict[str, Any]]:
    deltas = [{"type": "thinking_delta", "thinking": said}, {"type": "signature_delta", "signature": signature}]
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)


def call(index: int, name: str, *pieces: str, call_id: str = "toolu_01", **given: Any) -> list[dict[str, Any]]:
    opened = {"type": "tool_use", "id": call_id, "name": name, "input": {}, **given}
    return block(index, opened, *({"type": "input_json_delta", "partial_json": one} for one in pieces))


def end(reason: str = "end_turn", **usage: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7, **usage}},
        {"type": "message_stop"},
    ]


def stream(*events: dict[str, Any] | Step) -> Answer:
    return Answer([named(one) if isinstance(one, dict) else one for one in events])


def say(said: str = "", *, reasoning: str = "", calls: Sequence[tuple[str, Any]] = (), number: int = 0) -> Answer:
    """Return a whole answer. Calls come with thinking, which has a signature."""
    events = [start(), {"type": "ping"}]
    index = 0
    if reasoning or calls:
        events += thinking(index, reasoning or "I have to look.", f"{SIGNATURE}{number}")
        index += 1
    if said:
        events += text(index, *re.findall(r"\S+\s*", said))
        index += 1
    for at, (name, arguments) in enumerate(calls):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        events += call(index, name, "", written[:3], written[3:], call_id=f"toolu_{number}{at}")
        index += 1
    return stream(*events, *end("tool_use" if calls else "end_turn"))


def failed(status: int, said: str, *, kind: str = "", headers: dict[str, str] | None = None) -> Answer:
    return respond(status, _error(status, said, kind), headers={"request-id": "req_011", **(headers or {})})


def error_event(status: int, said: str) -> bytes:
    return named(_error(status, said, ""))


def _error(status: int, said: str, kind: str) -> dict[str, Any]:
    kind = kind or _TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_011"}


def blocks(body: Body) -> Iterator[dict[str, Any]]:
    for message in body["messages"]:
        yield from message["content"]


def texts(body: Body) -> list[tuple[str, str]]:
    """Return the texts of the messages with their roles."""
    return [(m["role"], b["text"]) for m in body["messages"] for b in m["content"] if b["type"] == "text"]


def given(body: Body) -> list[str]:
    """Return the signatures and ids that came back."""
    found = {"thinking": "signature", "redacted_thinking": "data", "tool_use": "id"}
    return [one[found[one["type"]]] for one in blocks(body) if one["type"] in found]


def problems(body: Body) -> Iterator[str]:
    """Yield what Anthropic would refuse of a request."""
    messages = body["messages"]
    roles = [message["role"] for message in messages]
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: Field required"
    if roles[0] != "user" or roles[-1] != "user":
        yield "messages: first and last message must use the user role"
    if any(one == other for one, other in itertools.pairwise(roles)) or set(roles) - {"user", "assistant"}:
        yield "messages: roles must alternate between user and assistant"
    if any(not one["text"].strip() for one in [*blocks(body), *body.get("system", ())] if one["type"] == "text"):
        yield "messages: text content blocks must be non-empty"
    yield from _calls(body)
    yield from _thinking(body)
    marked = [one for one in [*blocks(body), *body.get("system", ()), *body.get("tools", ())] if "cache_control" in one]
    if len(marked) > 4:
        yield "A maximum of 4 blocks with cache_control may be provided."
    if any(one.get("type") in ("thinking", "redacted_thinking") for one in marked):
        yield "cache_control: Extra inputs are not permitted"
    if len({tool["name"] for tool in body.get("tools", ())}) != len(body.get("tools", ())):
        yield "tools: Tool names must be unique."
    if any(tool["input_schema"].get("type") != "object" for tool in body.get("tools", ())):
        yield "tools.0.custom.input_schema.type: Field required"
    known = {"max_tokens", "messages", "model", "stream", "system", "tools", "tool_choice", "temperature", "thinking"}
    if unknown := set(body) - known - {"top_p", "top_k", "stop_sequences", "output_config", "metadata"}:
        yield f"{min(unknown)}: Extra inputs are not permitted"
    if not 0 <= body.get("temperature", 1) <= 1:
        yield "temperature: range: 0..1"


def _calls(body: Body) -> Iterator[str]:
    waiting: list[str] = []
    seen: set[str] = set()
    for message in body["messages"]:
        results = [one["tool_use_id"] for one in message["content"] if one["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            yield "`tool_use` ids were found without `tool_result` blocks immediately after"
        if [one["type"] for one in message["content"][: len(results)]] != ["tool_result"] * len(results):
            yield "messages: `tool_result` blocks must come first"
        waiting = [one["id"] for one in message["content"] if one["type"] == "tool_use"]
        for one in message["content"]:
            if one["type"] == "tool_use":
                if not re.fullmatch(r"[a-zA-Z0-9_-]+", one["id"]) or one["id"] in seen:
                    yield "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$', and be unique"
                seen.add(one["id"])
                if not isinstance(one["input"], dict):
                    yield "tool_use.input: Input should be a valid dictionary"
                if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", one["name"]):
                    yield "tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
    if seen and not body.get("tools"):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools"


def _thinking(body: Body) -> Iterator[str]:
    for one in blocks(body):
        if one["type"] == "thinking" and not str(one.get("signature", "")).startswith(SIGNATURE):
            yield "messages.1.content.0: Invalid `signature` in `thinking` block"
    for message in body["messages"]:
        kinds = [one["type"] for one in message["content"]]
        if message["role"] == "user" and "thinking" in kinds:
            yield "messages: thinking in a user message"
        if kinds and kinds[-1] in ("thinking", "redacted_thinking"):
            yield "The final block in an assistant message cannot be `thinking`."
    config = body.get("thinking", {})
    if config.get("type") in ("enabled", "adaptive"):
        if body.get("tool_choice", {}).get("type") in ("any", "tool"):
            yield "Thinking may not be enabled when tool_choice forces tool use."
        if {"temperature", "top_k"} & set(body):
            yield "`temperature` may only be set to 1 when thinking is enabled."
        if config["type"] == "enabled" and config["budget_tokens"] >= body["max_tokens"]:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`."
        if config["type"] == "enabled" and _lacks_thinking(body):
            yield "Expected `thinking` or `redacted_thinking`, but found `tool_use`."


def _lacks_thinking(body: Body) -> bool:
    last = body["messages"][-1]
    if last["content"][0]["type"] != "tool_result":
        return False
    return body["messages"][-2]["content"][0]["type"] not in ("thinking", "redacted_thinking")
