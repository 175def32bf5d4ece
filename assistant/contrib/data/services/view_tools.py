"""The tools of exposed viewsets: reading ones like any other, all others ask a person first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import override

from assistant.contrib.data.services.viewsets import Offer, call_view, view_plans
from assistant.toolkit import Change, Tool, ToolContext

# What remains of a call's time when a statement has taken all of its own.
_SPARE_SECONDS = 10


def tools_of_views() -> list[Tool]:
    """Return the tools of all exposed viewsets. Raises `InvalidTool` for an action that does not exist."""
    with override(None):
        return [_tool(offer) for plan in view_plans() for offer in plan.offers]


def _tool(offer: Offer) -> Tool:
    operation = offer.operation
    title = offer.tool.replace("_", " ").capitalize()
    options: dict[str, Any] = {"read_only": operation.is_read, "idempotent": operation.method != "post"}
    if not operation.is_read:
        options |= {
            "requires_approval": True,
            "destructive": operation.method == "delete",
            "preview": partial(_sent, offer),
        }
    return Tool(
        name=offer.tool,
        title=title,
        description=operation.summary or f"{title}.",
        parameters=operation.parameters,
        handler=partial(call_view, offer),
        open_world=False,
        untrusted=offer.exposed.untrusted,
        timeout=2 * settings.ASSISTANT_DATA_SECONDS + _SPARE_SECONDS,
        **options,
    )


def _sent(offer: Offer, arguments: Mapping[str, Any], context: ToolContext) -> Iterator[Change]:
    """Yield what would be sent, for the person who approves it."""
    for name, value in arguments.items():
        if name in offer.operation.places:
            yield Change(name.replace("_", " "), None, value)
