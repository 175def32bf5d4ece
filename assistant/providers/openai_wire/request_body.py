"""Builds the body of a chat-completions request, with checked further options. It is valid for any history."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.wire_formats import RESPONSES
from assistant.providers.openai_wire.history import wire_messages
from assistant.providers.profiles.profile import Profile
from assistant.toolkit import Tool
from assistant.toolkit.bounded_json import is_deeper, load_json
from assistant.toolkit.schema.strict import closed, strict_form

# Of all options together, as JSON.
MAX_BYTES = 8 * 1024
MAX_LEVELS = 10
# What a request contains anyway, and what would change the form of the answer.
RESERVED = frozenset(
    {
        "contents",
        "function_call",
        "functions",
        "messages",
        "model",
        "n",
        "response_format",
        "stream",
        "stream_options",
        "system",
        "systemInstruction",
        "system_instruction",
        "toolConfig",
        "tool_choice",
        "tool_config",
        "tools",
    }
)
# The same of Responses, and what would have the provider store the conversation.
RESERVED_BY_RESPONSES = RESERVED | {
    "background",
    "conversation",
    "include",
    "input",
    "instructions",
    "previous_response_id",
    "prompt",
    "store",
}
_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


def reserved_by(wire_format: str) -> Collection[str]:
    """Return the options that cannot be set for a provider with this wire format."""
    return RESERVED_BY_RESPONSES if wire_format == RESPONSES else RESERVED


class InvalidExtraBody(ValueError):
    """These options cannot be sent; the message says why, for who set them."""


def checked_extra_body(options: object, reserved: Collection[str] = RESERVED) -> Mapping[str, Any]:
    """Return the options of a provider; None is none. Raises `InvalidExtraBody`, also if one is `reserved`."""
    if options is None or options == {}:
        return _NO_FIELDS
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise InvalidExtraBody("The options must be a JSON object.")
    if found := sorted({*options}.intersection(reserved)):
        raise InvalidExtraBody(f"These options cannot be set here: {', '.join(found)}.")
    if is_deeper(options, MAX_LEVELS):
        raise InvalidExtraBody(f"The options may have at most {MAX_LEVELS} levels.")
    try:
        size = len(msgspec.json.encode(dict(options)))
    except (TypeError, ValueError):  # a value that is not JSON, or a lone surrogate
        raise InvalidExtraBody("The options must be JSON.") from None
    if size > MAX_BYTES:
        raise InvalidExtraBody(f"The options may have at most {MAX_BYTES // 1024} KiB together.")
    return MappingProxyType(dict(options))


_OPENAI = Profile("openai")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def request_body(
    request: ModelRequest,
    *,
    model: str,
    strict: bool,
    with_usage: bool,
    sees_images: bool = False,
    profile: Profile = _OPENAI,
    extra: Mapping[str, Any] = _NOTHING,
    origin: str = "",
) -> bytes:
    """Return the JSON body to send.

    Args:
        strict: request strict schemas for arguments and typed answers.
        with_usage: request token counts, which not every server supports.
        sees_images: send the images that tools returned and users attached.
        profile: what the provider takes.
        extra: further options; those of the same name in `request.options` are used instead.
        origin: stands for the provider's address, whose own state goes back to it.
    """
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
    """Return a request's body as JSON; lone surrogates become question marks, and `msgspec.Raw` is JSON already."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body, ensure_ascii=False, default=_value_of).encode("utf-8", "replace")


def _value_of(value: msgspec.Raw) -> Any:
    return load_json(bytes(value).decode())


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
