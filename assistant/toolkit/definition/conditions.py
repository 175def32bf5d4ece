"""Whether tools are offered in a context, and with which description: `needs_context`, `available` and `describe`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from assistant.toolkit.calls.gate import Answer, HandedIn, ask_all, ask_here
from assistant.toolkit.context import ToolContext
from assistant.toolkit.errors import InvalidTool
from assistant.toolkit.logs import log_extra

if TYPE_CHECKING:
    from assistant.toolkit.definition.tool import Tool

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offer:
    """Whether a tool is offered.

    Attributes:
        tool: the tool that was asked.
        offered: the tool with its description for the context; None if it is not offered.
        missing: the key that the context lacks; empty if it has all.
        answers: what its functions have answered.
    """

    tool: Tool
    offered: Tool | None
    missing: str = ""
    answers: Sequence[Answer] = ()


async def offers_of(tools: Iterable[Tool], context: ToolContext) -> list[Offer]:
    """Ask tools whether they are offered. A tool whose functions give no answer is not, and the log says why."""
    every = list(tools)
    offers = [_offer_without_asking(tool, context) for tool in every]
    asked = [position for position, offer in enumerate(offers) if offer is None]
    if asked:
        answers = await ask_all([_functions(every[position], context) for position in asked])
        for position, given in zip(asked, answers, strict=True):
            offers[position] = _concluded(every[position], given, context)
    return [offer for offer in offers if offer is not None]


async def offered_tools(
    tools: Iterable[Tool], context: ToolContext, known: Mapping[str, Offer] | None = None
) -> list[Tool]:
    """Return the tools that are offered, with their descriptions for the context.

    Args:
        known: what tools have answered already, by their names; they are not asked again.
    """
    every = list(tools)
    if not known and not any(tool.has_conditions for tool in every):
        return every
    known = known or {}
    asked = await offers_of((tool for tool in every if tool.name not in known), context)
    offers = {**known, **{offer.tool.name: offer for offer in asked}}
    return [offered for tool in every if (offered := offers[tool.name].offered) is not None]


def offer_here(tool: Tool, context: ToolContext) -> Offer:
    """Ask a tool in this thread, for code without an event loop."""
    offer = _offer_without_asking(tool, context)
    return _concluded(tool, ask_here(_functions(tool, context)), context) if offer is None else offer


def _offer_without_asking(tool: Tool, context: ToolContext) -> Offer | None:
    """Return the offer, if no function has to be asked."""
    if not tool.has_conditions:
        return Offer(tool, tool)
    missing = next((key for key in tool.needs_context if key not in context.extra), None)
    if missing is not None:
        return Offer(tool, None, missing)
    return Offer(tool, tool) if tool.available is None and tool.describe is None else None


def _functions(tool: Tool, context: ToolContext) -> list[HandedIn]:
    pairs = (("available", tool.available, bool), ("describe", tool.describe, str))
    return [
        HandedIn(function, (context,), option, tool.name, kind)
        for option, function, kind in pairs
        if function is not None
    ]


def _concluded(tool: Tool, answers: Sequence[Answer], context: ToolContext) -> Offer:
    consequence = f"The check whether tool {tool.name} is available failed, so it is not offered"
    last = answers[-1]
    if last.problem:
        last.report(consequence, context)
        return Offer(tool, None, answers=answers)
    if last.asked.option == "available":
        return Offer(tool, tool if last.value else None, answers=answers)
    try:
        return Offer(tool, _with_description(tool, str(last.value)), answers=answers)
    except InvalidTool:
        logger.exception("%s: its describe gave no description", consequence, extra=log_extra(context))
        return Offer(tool, None, answers=answers)


# A tool mostly gives the description that it gave before, and a new one would be checked as a definition is.
@lru_cache(maxsize=256)
def _with_description(tool: Tool, description: str) -> Tool:
    return tool.replace(description=description)
