"""Runs with many tools: an optional app offers a search for them. Without it all tools are offered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from assistant.core.toolcalls.protocols import Toolset

# Up to this many tools all are offered, without a search.
OFFERED_AT_ONCE = 30
# The name of the tool that searches.
SEARCH_TOOL = "search_tools"
_wrap = ""


def search_with(wrap: str) -> None:
    """Let tools be searched for.

    Args:
        wrap: the dotted name of a function of a toolset that returns one which offers a search above `OFFERED_AT_ONCE`
            tools. It is imported with the first run that may have as many.
    """
    global _wrap  # noqa: PLW0603 - of the whole process
    _wrap = wrap


def searched(toolset: Toolset) -> Toolset:
    """Return a toolset with a search for its tools, if there are many and an app offers one."""
    return cast("Callable[[Toolset], Toolset]", import_string(_wrap))(toolset) if _wrap else toolset
