"""How results write numbers, moments, currencies and passages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from babel.numbers import get_currency_precision

from assistant.contrib.receipts.matching.units import words_of

# Fields that say the currency or the unit of what stands beside and below them.
SCOPES = {
    "currency": "currency", "currency_code": "currency", "waehrung": "currency", "währung": "currency",
    "unit": "unit", "einheit": "unit",
}  # fmt: skip
# Objects of a result in which a currency is looked for, and entries of one list.
MAX_OBJECTS = 500
MAX_ENTRIES = 32

_PLAIN_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,12})?")
# As amounts are written for people, with a point or with a comma before their decimals.
_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,12})?")
_WITH_COMMA = re.compile(r"-?(?:\d{1,3}(?:\.\d{3}){1,6}|\d{1,20}),\d{1,2}")
MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?")


def written_number(text: str) -> Decimal | None:
    """Return the number that a string of a result is; None if it is another text."""
    if _PLAIN_NUMBER.fullmatch(text):
        return Decimal(text)
    if _GROUPED.fullmatch(text):
        return Decimal(text.replace(",", ""))
    if _WITH_COMMA.fullmatch(text):
        return Decimal(text.replace(".", "").replace(",", "."))
    return None


def moment_of(text: str) -> datetime | None:
    if not _MOMENT.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


# Words of fields that hold moments, as seconds or milliseconds since 1970: those of this century.
_MOMENTS = frozenset(
    {
        "created", "updated", "modified", "at", "on", "time", "timestamp", "ts", "date", "start", "end", "due",
        "expires", "since", "until", "from", "to", "seen", "paid", "sent", "closed", "opened",
    }
)  # fmt: skip
_SECONDS = (Decimal(946_684_800), Decimal(4_102_444_800))


def counted_moment(field: str, number: Decimal) -> datetime | None:
    """Return the moment that a field holds as a number since 1970, such as `created`; None if it holds none."""
    if number != int(number) or not _MOMENTS & set(words_of(field)):
        return None
    seconds = number / 1000 if number > _SECONDS[1] else number
    return datetime.fromtimestamp(float(seconds), UTC) if _SECONDS[0] <= seconds <= _SECONDS[1] else None


def in_major_units(number: Decimal, code: str) -> Decimal:
    """Return an amount that is written in the smallest unit of its currency, as card payments are: 129 of 12900."""
    return number.scaleb(-get_currency_precision(code.upper()))


def only_currency(value: Any) -> str:
    """Return the currency that a result names, wherever it does; "" if it names none or several."""
    found = set[str]()
    left = [value]
    for _step in range(MAX_OBJECTS):
        if not left:
            break
        one = left.pop()
        if isinstance(one, dict):
            found |= {str(other) for key, other in one.items() if SCOPES.get(key.casefold()) == "currency"}
            left += [other for other in one.values() if isinstance(other, dict | list)]
        elif isinstance(one, list):
            left += [other for other in one[:MAX_ENTRIES] if isinstance(other, dict)]
    return found.pop() if len(found) == 1 else ""


def are_passages(value: list[Any]) -> bool:
    return bool(value) and all(
        isinstance(one, dict)
        and all(isinstance(one.get(key), str) and one.get(key) for key in ("number", "source_id", "source", "text"))
        for one in value
    )


# A key that is the number of a row.
_KEY = re.compile(r"(?=[^\W_]*\W?.*\d)(?=.*[^\W\d_]).{5,}")


def are_rows(value: Mapping[str, Any]) -> bool:
    """Whether an object holds rows by their numbers, such as `HD-2207`, each with the same fields."""
    several = list(value.values())
    if len(several) < 2 or not all(isinstance(one, dict) and one for one in several):
        return False
    return all(map(_KEY.fullmatch, value)) and all(one.keys() == several[0].keys() for one in several)
