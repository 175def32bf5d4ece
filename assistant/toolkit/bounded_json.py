"""Reads JSON from outside up to a stated depth.

Parsers differ in how deep they read before they raise `RecursionError`: about a thousand levels on Python 3.11, nine
thousand on 3.13. What they let through then overflows the first recursive function that handles it, so the levels are
counted before a text is parsed.
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
    """JSON with more levels than its reader takes."""


def check_depth(text: str | bytes, max_depth: int = MAX_DEPTH) -> None:
    """Raise `TooDeep` if a JSON text has more than `max_depth` levels; linear in its length."""
    if may_exceed(text, max_depth) and _depth(text) > max_depth:
        raise TooDeep(f"nested more than {max_depth} levels deep")


def may_exceed(text: str | bytes, max_depth: int = MAX_DEPTH) -> bool:
    """Whether a text has so many opening brackets that only `check_depth` can tell; a fraction of its cost."""
    if isinstance(text, str):
        return text.count("[") + text.count("{") > max_depth
    return text.count(b"[") + text.count(b"{") > max_depth


def load_json(
    text: str | bytes, *, max_depth: int = MAX_DEPTH, loads: Callable[..., Any] = json.loads, **options: Any
) -> Any:
    """Parse a JSON text by `loads`, which is given the options.

    Raises:
        TooDeep: it has more than `max_depth` levels.
        ValueError: it is not JSON.
    """
    check_depth(text, max_depth)
    return loads(text, **options)


class BoundedDecoder(json.JSONDecoder):
    """The standard library's decoder with the bound, for what takes a decoder's class, as Django's JSON fields do."""

    def decode(self, s: str, *args: Any, **options: Any) -> Any:
        try:
            check_depth(s)
        except TooDeep as exc:
            raise json.JSONDecodeError(str(exc), s, 0) from exc
        return super().decode(s, *args, **options)


def is_deeper(value: Any, max_depth: int = MAX_DEPTH) -> bool:
    """Whether a value of dicts, lists and tuples has more than `max_depth` levels, as one that holds itself has."""
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
    """The most brackets that are open at one place, those in strings not counted.

    Of a text that is not JSON it is exact up to the first mistake, and no parser reads on from there.
    """
    encoded = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    brackets = _STRING.sub(b"", encoded).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0)
