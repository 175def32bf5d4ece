"""Between which numbers what an answer shows as a number lies: rounded to its digits, roughly, more or less than it."""

from __future__ import annotations

from decimal import Decimal

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.units import PERCENT
from assistant.contrib.receipts.matching.values import Value


def is_other_reading(value: Value, number: Decimal) -> bool:
    """Whether "1,548" is read as a number with three digits behind the point, which it may be as well."""
    return value.decimals == 0 and not value.is_word and number != int(number)


# A number that is shown, between which numbers what it is rounded from lies, and whether that may be whole.
Range = tuple[Decimal, Decimal, Decimal, bool]
# Of a rough number, how far at most it may be off, as a share of it; and of a share in words, in percent.
ROUGH = Decimal("0.1")
SHARE_SLACK = Decimal("2.5")


def range_of(value: Value, number: Decimal) -> Range:
    """Return what a number of a value may stand for: itself, and what is rounded to it."""
    shown = abs(number)
    half = Decimal(1).scaleb(-value.decimals) / 2
    if is_other_reading(value, number):
        half = Decimal("0.0005")
    elif value.is_word and value.unit == PERCENT:
        half = SHARE_SLACK
    elif value.is_word and words.TIMES.fullmatch(value.text):
        half = shown * ROUGH / 2
    elif value.is_word and value.decimals:
        half = Decimal("0.25")
    elif value.is_word and not value.is_about:
        half = Decimal(0)
    low = shown - half
    high = shown + half
    if value.is_about and shown and not is_other_reading(value, number):
        whole = str(int(shown))
        step = Decimal(10) ** (len(whole) - len(whole.rstrip("0")))
        rough = max(2 * half, min(shown * ROUGH, step / 2))
        low = shown - rough
        high = shown + rough
        if value.side:
            # "Over 600" is said of 640, and not of 590.
            span = max(2 * half, min(2 * shown * ROUGH, step))
            low, high = (shown, shown + span) if value.side > 0 else (shown - span, shown)
    return shown, low, high, bool(value.decimals or value.is_about)
