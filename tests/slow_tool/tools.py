"""Tools that misbehave: one never ends, one forgets its tenant."""

from __future__ import annotations

import asyncio

from assistant.models import Assistant
from tools import tool


@tool(enabled_by_default=True, timeout=300)
async def wait_for_ever() -> str:
    """Wait until something happens."""
    await asyncio.sleep(300)
    return "It happened."


@tool(enabled_by_default=True)
def leak_a_row(slug: str) -> Assistant:
    """Return the first assistant of any tenant."""
    return Assistant.objects.select_related("tenant").filter(tenant__slug=slug)[0]
