"""Tools that tests need: one never ends, one forgets its tenant, one draws, one breaks, one counts."""

from __future__ import annotations

import asyncio
import base64
import itertools

from assistant.models import Assistant
from tools import Media, ToolResult, tool


@tool(enabled_by_default=True, timeout=300)
async def wait_for_ever() -> str:
    """Wait until something happens."""
    await asyncio.sleep(300)
    return "It happened."


@tool(enabled_by_default=True)
def leak_a_row(slug: str) -> Assistant:
    """Return the first assistant of any tenant."""
    return Assistant.objects.select_related("tenant").filter(tenant__slug=slug)[0]


# A red pixel.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


@tool(enabled_by_default=True)
def draw_a_chart() -> ToolResult:
    """Draw a chart of the sales."""
    files = (
        Media(PIXEL, "image/png", name="sales.png", description="a red dot"),
        Media(b"a,b", "text/csv", "sales.csv"),
    )
    return ToolResult("Sales rose.", display={"rise": "4%"}, media=files)


@tool(enabled_by_default=True)
def break_down() -> str:
    """Break down."""
    raise RuntimeError("out of machine oil")


_numbers = itertools.count(1)


@tool(enabled_by_default=True, read_only=True, idempotent=True)
def count_calls(about: str) -> str:
    """Tell how often this was called."""
    return f"{about}: {next(_numbers)}"
