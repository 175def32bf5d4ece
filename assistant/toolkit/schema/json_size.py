"""Measures JSON values; stops as soon as a limit is exceeded."""

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


def depth_is_within(value: Any, levels: int) -> bool:
    """Whether objects and lists are nested at most `levels` deep."""
    level = [value]
    for _ in range(levels):
        level = [
            below
            for one in level
            if isinstance(one, dict | list)
            for below in (one.values() if isinstance(one, dict) else one)
            if isinstance(below, dict | list)
        ]
        if not level:
            return True
    return False
