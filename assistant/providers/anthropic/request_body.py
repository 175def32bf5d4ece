"""Builds the body of an Anthropic request. It is valid for any history and any options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assistant.core.llm.protocol import ModelRequest
from assistant.providers.anthropic.history import (
    ask_for_citations,
    called_names,
    lacks_thinking,
    mark_cached,
    wire_conversation,
)
from assistant.providers.native.request_parts import schema_of, whole_number
from assistant.providers.openai_wire.request_body import encoded
from assistant.toolkit import Tool
from assistant.toolkit.schema.strict import closed

# Anthropic requires a limit; models have their own below it, which they name in a refusal.
MAX_TOKENS = 16_384
# The least that manual thinking can be given.
MIN_BUDGET = 1_024
SAMPLING = frozenset({"temperature", "top_p", "top_k"})
# Options of chat completions that have no counterpart.
_UNKNOWN = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "modalities",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "seed",
        "store",
        "top_logprobs",
        "user",
        "verbosity",
    }
)
_LIMIT = re.compile(r"max_tokens: \d+ > (\d+)")
_PLAIN_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}


def request_body(
    request: ModelRequest,
    *,
    model: str,
    strict: bool,
    sees_images: bool,
    extra: Mapping[str, Any],
    changes: frozenset[str],
    origin: str,
) -> bytes:
    """Return the JSON body to send.

    Args:
        strict: request strict schemas for arguments.
        sees_images: send the images that tools returned and users attached.
        extra: further options; those of the same name in `request.options` are used instead.
        changes: what this model has refused before, as `change_for` names it.
        origin: of the provider, as `origin_of` returns it.
    """
    system, wire = wire_conversation(
        request.messages, model, origin, sees_images=sees_images, with_state="state" not in changes
    )
    tools = [_tool(tool, strict and "strict" not in changes) for tool in request.tools]
    body: dict[str, Any] = {**extra, **_options(request.options), "model": model, "messages": wire, "stream": True}
    body["max_tokens"] = _limit(body, changes)
    choice = _choice(request.tool_choice) if tools else {}
    if not tools and (called := called_names(wire)):  # calls are refused without a definition of any tool
        tools = [{"name": name, "input_schema": _PLAIN_SCHEMA} for name in called]
        choice = {"type": "none"}
    if request.tools and request.options.get("parallel_tool_calls") is False:
        choice = choice or {"type": "auto"}
        if choice["type"] != "none":
            choice["disable_parallel_tool_use"] = True
    if not request.response_format and "citations" not in changes:  # a typed answer can have none
        ask_for_citations(wire)
    if "cache" not in changes:
        mark_cached(system, tools, wire)
    body |= {name: value for name, value in {"system": system, "tools": tools, "tool_choice": choice}.items() if value}
    output = dict(body.get("output_config") or {})
    if request.options.get("reasoning_effort") in ("low", "medium", "high"):
        output.setdefault("effort", request.options["reasoning_effort"])
    if request.response_format and (schema := schema_of(request.response_format)) is not None:
        output["format"] = {"type": "json_schema", "schema": closed(schema)}
    if output:
        body["output_config"] = output
    _settle_thinking(body, wire)
    if "sampling" in changes:
        for name in SAMPLING:
            body.pop(name, None)
    return encoded(body)


def change_for(reason: str, request: ModelRequest, *, is_typed_by_tool: bool) -> str:
    """Return what to change so that a refused request may be accepted; "" if nothing can help."""
    if found := _LIMIT.search(reason):
        return f"limit {found[1]}"
    if request.response_format and re.search(r"output_config|output_format|json_schema|structured output", reason):
        return "format"
    if is_typed_by_tool and re.search(r"\btools?\b|tool_choice", reason):
        return "tools"
    if re.search(r"signature|thinking.{0,40}block|block.{0,40}thinking", reason):
        return "state"
    if "cache_control" in reason:
        return "cache"
    if re.search(r"\bcitations?\b", reason):
        return "citations"
    if re.search(r"temperature|top_p|top_k", reason):
        return "sampling"
    return "strict" if re.search(r"\bstrict\b", reason) else ""


def _limit(body: Mapping[str, Any], changes: frozenset[str]) -> int:
    wanted = whole_number(body.get("max_tokens")) or MAX_TOKENS
    return min([wanted, *(int(one.removeprefix("limit ")) for one in changes if one.startswith("limit "))])


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in options.items() if name not in _UNKNOWN and value is not None}
    if (limit := found.pop("max_completion_tokens", None)) is not None:
        found.setdefault("max_tokens", limit)
    if (stop := found.pop("stop", None)) is not None:
        found["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if isinstance(temperature := found.get("temperature"), int | float):
        found["temperature"] = min(temperature, 1.0)
    return found


def _settle_thinking(body: dict[str, Any], wire: list[dict[str, Any]]) -> None:
    """Make the other options fit thinking, and leave thinking out where this request cannot have it."""
    thinking = body.get("thinking")
    if not isinstance(thinking, Mapping) or thinking.get("type") == "disabled":
        return
    is_manual = thinking.get("type") == "enabled"
    is_forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
    if is_forced or (is_manual and lacks_thinking(wire)):
        body["thinking"] = {"type": "disabled"}
        return
    for name in SAMPLING:
        body.pop(name, None)
    budget = whole_number(thinking.get("budget_tokens"))
    if is_manual and budget >= body["max_tokens"]:
        if body["max_tokens"] > MIN_BUDGET:
            body["thinking"] = {**thinking, "budget_tokens": max(MIN_BUDGET, body["max_tokens"] // 2)}
        else:
            body["thinking"] = {"type": "disabled"}


def _tool(tool: Tool, strict: bool) -> dict[str, Any]:
    wire: dict[str, Any] = {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
    if strict and (parameters := tool.strict_parameters()) is not None:
        wire |= {"input_schema": parameters, "strict": True}
    return wire


def _choice(choice: str | None) -> dict[str, Any]:
    if not choice:
        return {}
    kinds = {"auto": "auto", "none": "none", "required": "any"}
    return {"type": kinds[choice]} if choice in kinds else {"type": "tool", "name": choice}
