"""Text and JSON from outside: cleaned, bounded, and moments as errors name them."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from assistant.toolkit.bounded_json import TooDeep, load_json

MAX_TEXT = 200_000
# What 64 bits hold, databases and encoders included; and how many characters that is, at most.
INTEGERS = range(-(2**63), 2**63)
MAX_DIGITS = 20
TOO_LARGE = "holds a number beyond 64 bits"


def format_timestamp(moment: datetime) -> str:
    """A moment as errors name it, in UTC."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


class JSONOutOfBounds(ValueError):
    """JSON that is valid, and not taken; the text says what it does or has."""


def read_json(text: str | bytes) -> Any:
    """A client's JSON.

    Raises `ValueError` for what is none, NaN and Infinity included; `JSONOutOfBounds` for what is nested too deeply, or
    holds a number that does not fit into 64 bits.
    """
    try:
        return load_json(text, parse_constant=_refuse_constant, parse_int=_parse_int, parse_float=_parse_float)
    except TooDeep as exc:
        raise JSONOutOfBounds("is nested too deeply") from exc


def _parse_int(text: str) -> int:
    if len(text) <= MAX_DIGITS and (number := int(text)) in INTEGERS:
        return number
    raise JSONOutOfBounds(TOO_LARGE)


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JSONOutOfBounds(TOO_LARGE)
    return number


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
