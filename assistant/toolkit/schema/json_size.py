"""Measures the size of JSON values; stops as soon as a limit is exceeded."""

from __future__ import annotations

from typing import Any


def size_within(value: Any, values: int, characters: int) -> tuple[int, int] | None:
    """Count the values, including `value` itself, and the characters of strings and names.

    Args:
        values: the maximum number of values.
        characters: the maximum number of characters.

    Returns:
        Both counts; None if one exceeds its maximum.
    """
    value_count = character_count = 0
    pending = [value]
    while pending and value_count + len(pending) <= values and character_count <= characters:
        item = pending.pop()
        value_count += 1
        if isinstance(item, str):
            character_count += len(item)
        elif isinstance(item, dict):
            pending += item.values()
            character_count += sum(len(name) for name in item if isinstance(name, str))
        elif isinstance(item, list | tuple):
            pending += item
    return None if pending or character_count > characters else (value_count, character_count)
