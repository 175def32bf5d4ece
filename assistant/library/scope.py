"""Whose rows a tool may touch: read from its context, never from its arguments."""

from __future__ import annotations

from assistant.toolkit import ToolContext, ToolError
from assistant.toolkit.calls.context import UserId


def tenant_of(context: ToolContext) -> int:
    """The tenant's primary key. Raises `ToolError` if the call is for no stored tenant."""
    if not isinstance(context.tenant.id, int):
        raise ToolError("This tool works for a tenant's members only.")
    return context.tenant.id


def user_of(context: ToolContext) -> UserId:
    """The member's primary key. Raises `ToolError` if the call is for no stored user."""
    if context.user.id is None:
        raise ToolError("This tool works for a tenant's members only.")
    return context.user.id
