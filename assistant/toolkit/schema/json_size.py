"""How large and how deep a JSON value is, found without going through more of it than is allowed."""

from __future__ import annotations

from typing import Any


def size_within(value: Any, values: int, characters: int) -> tuple[int, int] | None:
    """How many values a JSON value holds, itself counted, and characters, those of names too; None if it is more."""
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
    """Whether its objects and lists are within each other on at most so many levels."""
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
