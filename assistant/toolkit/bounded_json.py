"""Parses untrusted JSON with a bound on its nesting depth.

Parsers raise `RecursionError` at different depths: about 1,000 levels on Python 3.11, 9,000 on 3.13. A value just below
that overflows the first recursive function that handles it, so levels are counted before a text is parsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import Any

# Levels of arrays and objects. Functions that recurse over a JSON value take up to four frames a level, and the
# interpreter allows 1,000 frames in all.
MAX_DEPTH = 100

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS = b"[{]}"
# An opening bracket as +1, a closing one as -1 in a signed byte.
_STEPS = bytes.maketrans(_BRACKETS, b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_END = object()


class TooDeep(ValueError):
    """The JSON has more levels than allowed."""


class TooManyValues(ValueError):
    """The JSON has more values than allowed."""


def check_depth(text: str | bytes, max_depth: int = MAX_DEPTH) -> None:
    """Raise `TooDeep` if a JSON text has more than `max_depth` levels; linear in its length."""
    if may_exceed(text, max_depth) and _depth(text) > max_depth:
        raise TooDeep(f"nested more than {max_depth} levels deep")


def check_shape(text: bytes, *, max_values: int, max_depth: int = MAX_DEPTH) -> None:
    """Check a large JSON text before it is parsed, which can take twenty times its size in memory.

    Looks at one string after another, so that a thread that does it lets others run meanwhile, and stops at the bound.

    Raises:
        TooDeep: it has more than `max_depth` levels.
        TooManyValues: it has more than `max_values` values, empty arrays and objects included.
    """
    values, depth, position = 1, 0, 0
    for end, following in _between_strings(text):
        piece = text[position:end]
        position = following
        values += piece.count(b",") + piece.count(b"[") + piece.count(b"{")
        if values > max_values:
            raise TooManyValues(f"it holds more than {max_values:,} values")
        steps = memoryview(piece.translate(_STEPS, _NO_BRACKETS)).cast("b")
        levels = list(accumulate(steps, initial=depth))
        depth = levels[-1]
        if max(levels) > max_depth:
            raise TooDeep(f"nested more than {max_depth} levels deep")


def _between_strings(text: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each string begins and ends; at last the end of the text, twice."""
    for string in _STRING.finditer(text):
        yield string.span()
    yield len(text), len(text)


def may_exceed(text: str | bytes, max_depth: int = MAX_DEPTH) -> bool:
    """Whether a text has more than `max_depth` opening brackets, so that `check_depth` is needed; much cheaper."""
    if isinstance(text, str):
        return text.count("[") + text.count("{") > max_depth
    return text.count(b"[") + text.count(b"{") > max_depth


def load_json(
    text: str | bytes, *, max_depth: int = MAX_DEPTH, loads: Callable[..., Any] = json.loads, **options: Any
) -> Any:
    """Parse a JSON text with `loads(text, **options)`.

    Raises:
        TooDeep: the text has more than `max_depth` levels.
        ValueError: the text is not JSON.
    """
    brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if brackets > max_depth:
        check_depth(text, max_depth)
    return loads(text, **options)


class BoundedDecoder(json.JSONDecoder):
    """A `JSONDecoder` with the bound, for code that takes a decoder class, such as Django's JSON fields."""

    def decode(self, s: str, *args: Any, **options: Any) -> Any:
        try:
            check_depth(s)
        except TooDeep as exc:
            raise json.JSONDecodeError(str(exc), s, 0) from exc
        return super().decode(s, *args, **options)


def is_deeper(value: Any, max_depth: int = MAX_DEPTH) -> bool:
    """Whether a value of dicts, lists and tuples has more than `max_depth` levels; true of one that contains itself."""
    levels: list[Iterator[Any]] = [iter((value,))]
    while levels:
        item = next(levels[-1], _END)
        if item is _END:
            levels.pop()
        elif isinstance(item, Mapping | list | tuple):
            if len(levels) > max_depth:
                return True
            levels.append(iter(item.values() if isinstance(item, Mapping) else item))
    return False


def _depth(text: str | bytes) -> int:
    """Return the maximum number of open brackets, ignoring those in strings.

    For invalid JSON the count is exact up to the first error, where every parser stops.
    """
    encoded = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    brackets = _STRING.sub(b"", encoded).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0)
