"""Checks that are too large for the event loop: right, killed at their deadline, and beside the loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assistant.toolkit.schema import process as schema_process
from assistant.toolkit.schema.process import fits, fits_in_process

ROWS = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}


def doubling(levels: int) -> dict[str, Any]:
    parts = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": {**parts, f"a{levels}": {"type": "string"}}}


def children() -> set[str]:
    """The checks that run now, by their process ids."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"toolkit/schema/worker.py" in status.read_bytes():
                found.add(status.parent.name)
        except OSError:
            continue
    return found


async def test_a_large_value_is_checked_in_a_process() -> None:
    rows: list[dict[str, Any]] = [{"n": number} for number in range(30_000)]
    assert await fits(rows, ROWS)
    assert not await fits([*rows, {"n": "x"}], ROWS)


async def test_a_small_value_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_process, "_WORKER", Path("/nowhere"))
    assert await fits([{"n": 1}], ROWS)
    assert not await fits([{"n": "x"}], ROWS)


async def test_a_check_is_killed_at_its_deadline_and_holds_nobody_up() -> None:
    before = children()
    check = asyncio.create_task(fits_in_process("x", doubling(40), 1.0))
    turns = 0
    while not check.done():
        await asyncio.sleep(0)
        turns += 1
    assert not await check
    # Others had their turns on the loop meanwhile.
    assert turns > 100
    assert children() <= before


async def test_a_value_beyond_all_bounds_is_not_even_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_process, "_WORKER", Path("/nowhere"))
    assert not await fits([{"n": 1}] * 400_000, ROWS)
