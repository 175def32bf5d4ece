"""Checks further options of requests, which operators and tenants set for a provider."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

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
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class InvalidExtraBody(ValueError):
    """These options cannot be sent; the message says why, for who set them."""


def checked_extra_body(options: object) -> Mapping[str, Any]:
    """Return the options of a provider; None is none. Raises `InvalidExtraBody`."""
    if options is None or options == {}:
        return _NOTHING
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise InvalidExtraBody("The options must be a JSON object.")
    if reserved := sorted(RESERVED & set(options)):
        raise InvalidExtraBody(f"These options cannot be set here: {', '.join(reserved)}.")
    if is_deeper(options, MAX_LEVELS):
        raise InvalidExtraBody(f"The options may have at most {MAX_LEVELS} levels.")
    try:
        size = len(msgspec.json.encode(dict(options)))
    except (TypeError, ValueError):  # a value that is not JSON, or a lone surrogate
        raise InvalidExtraBody("The options must be JSON.") from None
    if size > MAX_BYTES:
        raise InvalidExtraBody(f"The options may have at most {MAX_BYTES // 1024} KiB together.")
    return MappingProxyType(dict(options))
