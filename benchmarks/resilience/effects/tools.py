"""A payment is a line in a file outside the database, which no rollback undoes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from assistant.toolkit import ToolContext, tool


@tool(timeout=60)
async def pay(cents: int, before: int, after: int, context: ToolContext) -> str:
    """Pay an amount after `before` milliseconds, and return `after` milliseconds later."""
    return await _pay(cents, before, after, context)


async def _pay(cents: int, before: int, after: int, context: ToolContext) -> str:
    await asyncio.sleep(before / 1000)
    write_payment(f"{context.idempotency_key} {cents}\n")
    await asyncio.sleep(after / 1000)
    return f"Paid {cents} cents."


@tool
def repeat(text: str) -> str:
    """Say something again."""
    return text


def write_payment(line: str) -> None:
    """Append with one system call, so that a killed process leaves a whole line or none."""
    ledger = os.open(Path(os.environ["RESILIENCE_LEDGER"]), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(ledger, line.encode())
    finally:
        os.close(ledger)


@tool(timeout=60, requires_approval=True)
async def pay_if_approved(cents: int, before: int, after: int, context: ToolContext) -> str:
    """Pay an amount that somebody has approved."""
    return await _pay(cents, before, after, context)
