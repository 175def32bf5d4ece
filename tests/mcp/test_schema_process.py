"""Checks in a child process: results, deadline, and no blocking of the event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assistant.mcp_client import schema_process
from assistant.mcp_client.schema_process import fits, fits_in_process

ROWS = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}


def doubling(levels: int) -> dict[str, Any]:
    parts = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": {**parts, f"a{levels}": {"type": "string"}}}


def children() -> set[str]:
    """Return the process ids of the running checks."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"mcp_client/schema_worker.py" in status.read_bytes():
                found.add(status.parent.name)
        except OSError:
            continue
    return found


async def test_a_large_value_is_checked_in_a_process() -> None:
    rows: list[dict[str, Any]] = [{"n": number} for number in range(30_000)]
    assert await fits(rows, ROWS)
    assert not await fits([*rows, {"n": "x"}], ROWS)


async def test_a_small_value_needs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_process, "_WORKER", Path("/nowhere"))
    assert await fits([{"n": 1}], ROWS)
    assert not await fits([{"n": "x"}], ROWS)


async def test_a_check_is_killed_at_its_deadline_without_blocking_the_loop() -> None:
    before = children()
    check = asyncio.create_task(fits_in_process("x", doubling(40), 1.0))
    turns = 0
    while not check.done():
        await asyncio.sleep(0)
        turns += 1
    assert not await check
    # Other tasks ran on the event loop meanwhile.
    assert turns > 100
    assert children() <= before


async def test_a_value_beyond_the_bounds_is_rejected_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_process, "_WORKER", Path("/nowhere"))
    assert not await fits([{"n": 1}] * 400_000, ROWS)
