"""Checks further options of requests, which operators and tenants set for a provider."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from assistant.core.values.wire_formats import RESPONSES
from assistant.toolkit.bounded_json import is_deeper

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
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def reserved_by(wire_format: str) -> Collection[str]:
    """Return the options that cannot be set for a provider with this wire format."""
    return RESERVED_BY_RESPONSES if wire_format == RESPONSES else RESERVED


class InvalidExtraBody(ValueError):
    """These options cannot be sent; the message says why, for who set them."""


def checked_extra_body(options: object, reserved: Collection[str] = RESERVED) -> Mapping[str, Any]:
    """Return the options of a provider; None is none. Raises `InvalidExtraBody`, also if one is `reserved`."""
    if options is None or options == {}:
        return _NOTHING
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
