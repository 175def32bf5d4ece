"""Times of day, lengths of time and shares as people say them: "half past four", "Viertelstunde", "a third of"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

# Words with which a time of day, a length or a share may begin, beside numbers.
BEGINNINGS = frozenset(
    {
        "half", "quarter", "an", "a", "one", "halb", "halbe", "halben", "viertel", "viertelstunde", "dreiviertel",
        "dreiviertelstunde", "anderthalb", "eineinhalb", "ein", "eins",
    }
)  # fmt: skip
_HOURS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "ein": 1, "eins": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12, "dreizehn": 13, "vierzehn": 14,
    "fünfzehn": 15, "sechzehn": 16, "siebzehn": 17, "achtzehn": 18, "neunzehn": 19, "zwanzig": 20,
}  # fmt: skip
_MINUTES = {
    "five": 5, "ten": 10, "quarter": 15, "twenty": 20, "twenty-five": 25, "half": 30,
    "fünf": 5, "zehn": 10, "viertel": 15, "zwanzig": 20,
}  # fmt: skip
_LENGTHS = {
    r"half[ -]an[ ]hour": 30, r"three[ -]quarters[ ]of[ ]an[ ]hour": 45, r"(?:a[ ])?quarter[ ]of[ ]an[ ]hour": 15,
    r"an[ ]hour[ ]and[ ]a[ ]half": 90, r"halben?[ ]Stunde": 30, r"Viertelstunde": 15,
    r"Dreiviertelstunde": 45, r"(?:anderthalb|eineinhalb)[ ]Stunden": 90,
}  # fmt: skip
_SHARES = {
    r"(?:a|one)[ -]third[ ]of": "33", r"two[ -]thirds[ ]of": "67", r"(?:a|one)[ ]quarter[ ]of": "25",
    r"three[ -]quarters[ ]of": "75", r"ein[ ]Drittel": "33", r"zwei[ ]Drittel": "67", r"ein[ ]Viertel": "25",
    r"drei[ ]Viertel": "75",
}  # fmt: skip
_HOUR = r"(?:\d{1,2}(?![\d.,:])|(?:" + "|".join(sorted(_HOURS, key=len, reverse=True)) + r")\b)"

# To be part of the pattern of all values. A number of minutes "to" an hour is a range, but behind "at".
PATTERN = rf"""
    (?P<past>\b(?P<pm>half|quarter|twenty-five|twenty|ten|five)[ ]past[ ](?P<ph>{_HOUR}))
    |(?P<to>(?:\b(?P<tq>quarter)|(?<=\bat[ ])(?P<tn>twenty-five|twenty|ten|five))[ ]to[ ](?P<tohour>{_HOUR}))
    |(?P<halb>\b(?:(?P<bm>fünf|zehn)[ ](?P<bs>vor|nach)[ ])?halb[ ](?P<bh>{_HOUR}))
    |(?P<dreiviertel>\b(?:dreiviertel|drei[ ]viertel)[ ](?P<vh>{_HOUR})(?=[ ]Uhr|[.,;:!?)\n]|$))
    |(?P<nach>\b(?P<nm>viertel|zwanzig|zehn|fünf)[ ](?P<ns>vor|nach)[ ](?P<nh>{_HOUR})
        (?![ ](?:Minuten?|Stunden?|Tagen?|Wochen?|Monaten?|Jahren?)\b))
    |(?P<oclock>\b(?P<oh>{"|".join(_HOURS)})[ ](?:o['’]clock\b|Uhr\b))
    |(?P<length>\b(?:{"|".join(_LENGTHS)})\b)
    |(?P<part>\b(?:{"|".join(_SHARES)})\b(?![ ](?:an?[ ])?(?:hour|hours|Stunden?|nach|vor)\b))
    """
_KINDS = ("past", "to", "halb", "dreiviertel", "nach", "oclock")
_AFTERNOON = re.compile(
    r"[ ](?:p\.?m\b|in the (?:afternoon|evening)|at night|nachmittags|abends|am (?:Nachmittag|Abend))", re.IGNORECASE
)
_MORNING = re.compile(r"[ ](?:a\.?m\b|in the morning|morgens|früh\b|vormittags|am (?:Morgen|Vormittag))", re.IGNORECASE)


def minutes_of(match: re.Match[str], text: str) -> tuple[int, bool] | None:
    """Return the time of day that a match says, in minutes, and whether it may be twelve hours later; None if none."""
    kind = next((kind for kind in _KINDS if match[kind] is not None), "")
    match kind:
        case "past":
            minutes = _hour(match["ph"]) * 60 + _MINUTES[match["pm"].casefold()]
        case "to":
            minutes = _hour(match["tohour"]) * 60 - _MINUTES[(match["tq"] or match["tn"]).casefold()]
        case "halb":
            minutes = _hour(match["bh"]) * 60 - 30 + _signed(match["bm"], match["bs"])
        case "dreiviertel":
            minutes = _hour(match["vh"]) * 60 - 15
        case "nach":
            minutes = _hour(match["nh"]) * 60 + _signed(match["nm"], match["ns"])
        case "oclock":
            minutes = _hour(match["oh"]) * 60
        case _:
            return None
    if minutes > 24 * 60:
        return None
    if minutes >= 13 * 60 or _MORNING.match(text, match.end()):
        return minutes, False
    if _AFTERNOON.match(text, match.end()):
        return minutes % 720 + 720, False
    return minutes % 720, True


def length_of(match: re.Match[str]) -> Decimal | None:
    """Return the length of time that a match says, in minutes; None if it says none."""
    found = _said(_LENGTHS, match["length"])
    return None if found is None else Decimal(found)


def share_of(match: re.Match[str]) -> Decimal | None:
    """Return the share that a match says, in percent without decimals; None if it says none."""
    found = _said(_SHARES, match["part"])
    return None if found is None else Decimal(found)


def _said(known: Mapping[str, int | str], text: str | None) -> int | str | None:
    if text is None:
        return None
    return next(found for pattern, found in known.items() if re.fullmatch(pattern, text, re.IGNORECASE))


def _hour(text: str) -> int:
    return int(text) if text.isdigit() else _HOURS[text.casefold()]


def _signed(minutes: str | None, side: str | None) -> int:
    number = _MINUTES[minutes.casefold()] if minutes else 0
    return -number if side is not None and side.casefold() == "vor" else number
