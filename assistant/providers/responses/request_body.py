"""Builds the body of a Responses request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.core.llm.protocol import ModelRequest
from assistant.providers.openai_wire.request_body import encoded, strict_format
from assistant.providers.profiles.profile import Profile
from assistant.providers.responses.history import InputWriter
from assistant.providers.responses.web_search import INCLUDE, MAX_SEARCHES, REQUESTED, WEB_SEARCH
from assistant.toolkit import Tool

ENCRYPTED = "reasoning.encrypted_content"
# Options of chat completions that have another name here, or another place, or are refused.
_RENAMED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
_MOVED = {"reasoning_effort": ("reasoning", "effort"), "verbosity": ("text", "verbosity")}
_REFUSED = frozenset(
    {
        "audio",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "modalities",
        "n",
        "prediction",
        "presence_penalty",
        "random_seed",
        "seed",
        "stop",
        "stream_options",
        "web_search_options",
    }
)


def response_request(
    request: ModelRequest,
    *,
    model: str,
    strict: bool,
    sees_images: bool,
    encrypts: bool,
    profile: Profile,
    extra: Mapping[str, Any],
    origin: str,
) -> bytes:
    """Return the JSON body to send.

    Args:
        strict, small, sees_images, profile, extra, origin: as in `openai_wire.request_body`.
        encrypts: request reasoning in a form that can be sent back.
    """
    writer = InputWriter(request.messages, profile, model, origin, sees_images=sees_images)
    body = {
        **_options({**extra, **request.options}, profile),
        "model": model,
        "input": writer.items(),
        "stream": True,
        "store": False,
    }
    if instructions := writer.instructions():
        body["instructions"] = instructions
    if encrypts:
        body["include"] = [ENCRYPTED]
    if request.tools:
        _add_tools(body, request, strict)
    if request.response_format:
        body["text"] = {**body.get("text", {}), "format": _format(request.response_format, strict)}
    return encoded(body)


def _options(options: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in options.items():
        if name in _REFUSED or name in profile.omitted:
            continue
        if name in _MOVED:
            group, key = _MOVED[name]
            found[group] = {**_group(found.get(group)), key: value}
        elif isinstance(value, dict) and name in ("reasoning", "text"):
            found[name] = {**value, **_group(found.get(name))}
        else:
            found[_RENAMED.get(name, name)] = value
    return found


def _group(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _add_tools(body: dict[str, Any], request: ModelRequest, strict: bool) -> None:
    body["tools"] = [REQUESTED if tool.name == WEB_SEARCH else _tool(tool, strict) for tool in request.tools]
    if any(tool.name == WEB_SEARCH for tool in request.tools):
        body["include"] = [*body.get("include", ()), INCLUDE]
        given = body.get("max_tool_calls")
        body["max_tool_calls"] = min(given, MAX_SEARCHES) if isinstance(given, int) else MAX_SEARCHES
    if choice := request.tool_choice:
        is_mode = choice in ("auto", "none", "required")
        named = REQUESTED if choice == WEB_SEARCH else {"type": "function", "name": choice}
        body["tool_choice"] = choice if is_mode else named


def _tool(tool: Tool, strict: bool) -> dict[str, Any]:
    # Without `strict` the server would try to make the schema a strict one.
    parameters = tool.strict_parameters() if strict else None
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters if parameters is None else parameters,
        "strict": parameters is not None,
    }


def _format(response_format: Mapping[str, Any], strict: bool) -> Mapping[str, Any]:
    response_format = strict_format(response_format, strict)
    described = response_format.get("json_schema")
    if response_format.get("type") != "json_schema" or not isinstance(described, dict):
        return response_format
    return {"type": "json_schema", "strict": False, **described}
