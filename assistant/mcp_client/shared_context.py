"""What an external server is told of a call's context, if somebody has allowed it; secrets never are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

import msgspec

from assistant.toolkit import ToolContext

# The key of `_meta` under which a server receives a call's context.
META_KEY = "tenant-assistant/context"
CONTEXT_KEYS: Mapping[str, Callable[[ToolContext], Any]] = {
    "tenant.id": lambda context: context.tenant.id,
    "tenant.slug": lambda context: context.tenant.slug,
    "tenant.name": lambda context: context.tenant.name,
    "tenant.timezone": lambda context: context.tenant.timezone,
    "user.id": lambda context: str(context.user.id) if isinstance(context.user.id, UUID) else context.user.id,
    "user.username": lambda context: context.user.username,
    "assistant": lambda context: context.assistant,
    "thread_id": lambda context: context.thread_id,
    "run_id": lambda context: context.run_id,
    "tool_call_id": lambda context: context.tool_call_id,
    "idempotency_key": lambda context: context.idempotency_key,
}
# Before the name of a value in `context.extra`.
EXTRA = "extra."
MAX_EXTRA = 10_000


def meta_of(context: ToolContext, keys: Iterable[str]) -> dict[str, Any] | None:
    """Return the `_meta` of a call: the values of the context that are allowed, or None.

    Args:
        keys: names in `CONTEXT_KEYS`, or `extra.` and the name of a value in `context.extra`; others are passed over.

    Raises:
        ValueError: a value of `context.extra` is not JSON, or longer than `MAX_EXTRA`.
    """
    values: dict[str, Any] = {}
    for key in keys:
        name = key.removeprefix(EXTRA)
        if key in CONTEXT_KEYS:
            values[key] = CONTEXT_KEYS[key](context)
        elif key.startswith(EXTRA) and name in context.extra:
            values[key] = _as_json(name, context.extra[name])
    return {META_KEY: values} if values else None


def _as_json(name: str, value: Any) -> Any:
    try:
        encoded = msgspec.json.encode(value)
    except TypeError:
        raise ValueError(f"The value {name!r} of the context is not JSON, so no server can be told it.") from None
    if len(encoded) > MAX_EXTRA:
        raise ValueError(f"The value {name!r} of the context has more than {MAX_EXTRA} bytes of JSON.")
    return msgspec.json.decode(encoded)
