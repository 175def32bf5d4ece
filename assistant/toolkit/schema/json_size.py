"""Measures the size of JSON values; stops as soon as a limit is exceeded."""

from __future__ import annotations

from typing import Any


def size_within(value: Any, values: int, characters: int) -> tuple[int, int] | None:
    """Count the values, including `value` itself, and the characters, including names; None above the limits."""
    counted = read = 0
    left = [value]
    while left and counted + len(left) <= values and read <= characters:
        one = left.pop()
        counted += 1
        if isinstance(one, str):
            read += len(one)
        elif isinstance(one, dict):
            left += one.values()
            read += sum(len(name) for name in one if isinstance(name, str))
        elif isinstance(one, list | tuple):
            left += one
    return None if left or read > characters else (counted, read)
