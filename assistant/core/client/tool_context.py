"""Makes the `ToolContext` of a turn from the values that a program passes to `ChatClient`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, cast

from assistant.toolkit import TenantInfo, ToolContext, UserInfo

Info = TypeVar("Info", TenantInfo, UserInfo)


def context_of(values: Mapping[str, Any], thread_id: str, run_id: str) -> ToolContext:
    """Return the context of one turn.

    Args:
        values: `tenant` and `user` may be `TenantInfo` and `UserInfo`, or mappings of their fields; all others become
            `context.extra`.
    """
    extra = dict(values)
    return ToolContext(
        tenant=_info(TenantInfo, "tenant", extra),
        user=_info(UserInfo, "user", extra),
        thread_id=thread_id,
        run_id=run_id,
        extra=extra,
    )


def _info(kind: type[Info], name: str, extra: dict[str, Any]) -> Info:
    """Take the tenant or the user out of `extra`; a mapping with further keys also stays there."""
    given = extra.get(name)
    if isinstance(given, kind):
        return cast("Info", extra.pop(name))
    if not isinstance(given, Mapping):
        return kind()
    known = {field.name for field in fields(kind)}
    if given.keys() <= known:
        del extra[name]
    return kind(**{key: value for key, value in given.items() if key in known})
