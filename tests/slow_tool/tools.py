"""Tools that tests need: one never ends, others forget their tenant, find, draw, break, count, wait or are set."""

from __future__ import annotations

import asyncio
import base64
import itertools
from datetime import timedelta
from typing import Literal

from pydantic import BaseModel, Field

from assistant.models import Assistant
from assistant.toolkit import Media, Pending, ToolContext, ToolResult, tool


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


@tool(enabled_by_default=True, read_only=True)
def find_parcel(number: int) -> dict[str, float | int | str]:
    """Find a parcel."""
    return {"number": number, "weight_kg": 12.5, "url": f"https://parcels.example/{number}"}


@tool(read_only=True)
def find_box(number: int) -> dict[str, float | int | str]:
    """Find a box, whose address has no origin: that is the site's."""
    return {"number": number, "weight_kg": 12.5, "url": f"/boxes/{number}/"}


_numbers = itertools.count(1)


@tool(enabled_by_default=True, read_only=True, idempotent=True)
def count_calls(about: str) -> str:
    """Tell how often this was called."""
    return f"{about}: {next(_numbers)}"


class PaySettings(BaseModel):
    """What a tenant can set."""

    currency: Literal["EUR", "USD"] = Field("EUR", description="What is paid in.")
    most: int = Field(100, ge=1, le=1000, description="What one payment may be.")
    is_careful: bool = True
    greeting: str = Field("Hello", max_length=20)
    payees: list[str] = []
    rate: float | None = None


@tool(config=PaySettings, secrets=["bank_key", "pin"], enabled_by_default=True)
def pay_out(context: ToolContext) -> str:
    """Pay out."""
    secrets = [name for name in ("bank_key", "pin") if name in context.secrets]
    return f"{context.config.model_dump_json()} {secrets}"


@tool(title="Ask outside", enabled_by_default=True, read_only=True, waits=True)
def ask_outside(context: ToolContext) -> Pending:
    """Ask somebody outside, who answers later."""
    assert context.callback.url.endswith(f"/{context.callback.token}/")
    return Pending(timedelta(days=3), note="somebody outside")
