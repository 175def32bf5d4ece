"""Tools for callers over MCP: one tells its context, the others run long, fail, or ask first."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from assistant.toolkit import ToolContext, tool
from tests.mcp.served import rows

ROWS = rows.TOOLS


@dataclass(frozen=True)
class Circumstances:
    """Whose call it is, by the context alone."""

    tenant: str
    username: str
    extra: list[str]
    secret: str


@tool(enabled_by_default=True, read_only=True, secrets=["token"])
def who_am_i(context: ToolContext, note: str = "") -> Circumstances:
    """Tell whose call this is."""
    secret = context.secrets.get("token", "")
    return Circumstances(context.tenant.slug, context.user.username, sorted(context.extra), secret)


@tool(enabled_by_default=True, timeout=300)
async def wait_for_ever(context: ToolContext) -> str:
    """Say that it has begun, and wait."""
    await context.report_progress(0, 1, "begun")
    await asyncio.sleep(300)
    return "It happened."


@tool(enabled_by_default=True, timeout=300)
async def wait_for_file(path: str, context: ToolContext) -> str:
    """Say that it has begun, and wait for a file."""
    await context.report_progress(0, 2, "begun")
    while not Path(path).exists():
        await asyncio.sleep(0.02)
    await context.report_progress(1, 2, "found")
    return "It is there."


@tool(enabled_by_default=True, timeout=0.2)
async def take_too_long() -> str:
    """Wait longer than it may."""
    await asyncio.sleep(300)
    return "It happened."


@tool(enabled_by_default=True)
async def count_to(number: int, context: ToolContext) -> list[int]:
    """Count, and say so."""
    for done in range(1, min(number, 3) + 1):
        await context.report_progress(done, number, f"at {done}")
    return list(range(1, number + 1))


@tool(enabled_by_default=True)
def count_rows(number: int) -> list[int]:
    """Count, from a source that is cut."""
    return iter(range(number))  # type: ignore[return-value]


@tool(enabled_by_default=True)
def break_down() -> str:
    """Fail in a way that nobody meant."""
    raise RuntimeError("the password is hunter2")


@tool(enabled_by_default=True, requires_approval=True)
def erase(what: str) -> str:
    """Erase something."""
    return f"Erased {what}."


@tool(enabled_by_default=True, timeout=60)
async def nap(seconds: float) -> str:
    """Sleep for a moment."""
    await asyncio.sleep(seconds)
    return "Slept."
