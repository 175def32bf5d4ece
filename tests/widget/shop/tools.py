"""A tool of a tenant's own product, which must know its end user."""

from __future__ import annotations

from typing import Any

from tools import ToolContext, tool


@tool(enabled_by_default=True)
def who_is_asking(context: ToolContext) -> dict[str, Any]:
    """Tell who is asking."""
    return dict(context.extra["end_user"])
