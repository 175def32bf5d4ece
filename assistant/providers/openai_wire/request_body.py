"""Builds the body of a chat-completions request. It is valid for any history."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from assistant.core.llm.protocol import ModelRequest
from assistant.providers.openai_wire.history import wire_messages
from assistant.providers.profiles.profile import Profile
from assistant.providers.small_models import brief
from assistant.toolkit import Tool
from assistant.toolkit.schema.strict import closed, strict_form

_OPENAI = Profile("openai")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def request_body(
    request: ModelRequest,
    *,
    model: str,
    strict: bool,
    small: bool,
    with_usage: bool,
    sees_images: bool = False,
    profile: Profile = _OPENAI,
    extra: Mapping[str, Any] = _NOTHING,
    origin: str = "",
) -> bytes:
    """Return the JSON body to send.

    Args:
        strict: request strict schemas for arguments and typed answers.
        small: send a short list of tools, and worked examples of those that fit (`small_models`).
        with_usage: request token counts, which not every server supports.
        sees_images: send the images that tools returned and users attached.
        profile: what the provider takes.
        extra: further options; those of the same name in `request.options` are used instead.
        origin: stands for the provider's address, whose own state goes back to it.
    """
    request = brief(request) if small else request
    body: dict[str, Any] = {
        **profile.defaults,
        **_named(extra, profile),
        **_named(request.options, profile, omitted=profile.omitted),
        "model": model,
        "messages": wire_messages(request.messages, profile, model, origin=origin, sees_images=sees_images),
        "stream": True,
    }
    if with_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool, strict) for tool in request.tools]
        if request.tool_choice:
            body["tool_choice"] = _choice(request.tool_choice)
    if request.response_format:
        body["response_format"] = strict_format(request.response_format, strict)
    return encoded(body)


def encoded(body: Mapping[str, Any]) -> bytes:
    """Return a request's body as JSON; lone surrogates become question marks."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _named(options: Mapping[str, Any], profile: Profile, omitted: Collection[str] = frozenset()) -> Mapping[str, Any]:
    """Return options under the names that the provider has for them, without those that it refuses."""
    if not profile.renamed and not omitted:
        return options
    return {profile.renamed.get(name, name): value for name, value in options.items() if name not in omitted}


def _tool(tool: Tool, strict: bool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if strict and (parameters := tool.strict_parameters()) is not None:
        function |= {"parameters": parameters, "strict": True}
    return {"type": "function", "function": function}


def strict_format(response_format: Mapping[str, Any], strict: bool) -> Mapping[str, Any]:
    """Return what requests a typed answer, with a strict schema if that is wanted and possible."""
    described = response_format.get("json_schema") if strict and response_format.get("type") == "json_schema" else None
    if not isinstance(described, dict) or "strict" in described:
        return response_format
    schema = strict_form(closed(described.get("schema")))
    return (
        response_format
        if schema is None
        else {**response_format, "json_schema": {**described, "schema": schema, "strict": True}}
    )


def _choice(choice: str) -> str | dict[str, Any]:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}
