"""Bounds of text and JSON from clients, and the format of timestamps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.utils.translation import get_language_bidi, gettext

from assistant.toolkit.bounded_json import TooDeep, load_json

MAX_TEXT = 200_000
# Databases and encoders hold integers of 64 bits, which have at most MAX_DIGITS characters.
INTEGERS = range(-(2**63), 2**63)
MAX_DIGITS = 20
TOO_LARGE = "holds a number beyond 64 bits"


def format_timestamp(moment: datetime) -> str:
    """Return a UTC datetime in ISO 8601, in whole seconds."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


class JSONOutOfBounds(ValueError):
    """Valid JSON that is not accepted. The message continues a sentence such as "The body ..."."""


def read_json(text: str | bytes) -> Any:
    """Parse a client's JSON.

    Raises:
        JSONOutOfBounds: it is nested too deeply, or holds a number that does not fit into 64 bits.
        ValueError: it is not valid JSON; NaN and Infinity are not.
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


def isolated(name: str) -> str:
    """Return a name for a sentence, whose direction moves nothing around it in languages from right to left."""
    return f"\u2068{name}\u2069" if get_language_bidi() else name


def listed(names: Iterable[str]) -> str:
    """Return names one after another, divided as the reader's language divides them; "" for none."""
    found = ""
    for name in names:
        found = gettext("%(names)s, %(name)s") % {"names": found, "name": name} if found else name
    return found


def in_one_sentence(parts: Iterable[str]) -> str:
    """Return parts of a sentence one after another, divided by what is a semicolon in the reader's language."""
    found = ""
    for part in parts:
        found = gettext("%(parts)s; %(part)s") % {"parts": found, "part": part} if found else part
    return found
