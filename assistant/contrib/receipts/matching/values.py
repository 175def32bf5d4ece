"""Finds the values that a text names: numbers with units, dates, times, identifiers and addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Literal

from assistant.contrib.receipts.matching import spoken, words
from assistant.contrib.receipts.matching.units import (
    DAY,
    MINUTE,
    NO_UNIT,
    PERCENT,
    Unit,
    currency_before,
    unit_after,
)

Kind = Literal["number", "date", "weekday", "time", "identifier", "email", "name"]


# The largest small number.
MAX_SMALL = 20


@dataclass(frozen=True, slots=True)
class Value:
    """A value that a text names.

    Attributes:
        start, end: where it stands in the text.
        numbers: what the number may be: "1.234" is two of them.
        decimals: the digits shown behind the point; -3 for thousands.
        is_about: whether the text calls the number a rough one.
        side: 1 if the text says that it is more, -1 if less, 0 if neither.
        day: a date; its year is 1 if the text names none.
        grain: what of the date the text names.
        slack: by how many days a rough date may be off.
        minutes: the time of day in minutes.
        is_half_day: whether the time may as well be twelve hours later: "half past four".
        token: an identifier, address or name as it is compared.
        is_word: whether a number is written as a word.
    """

    kind: Kind
    start: int
    end: int
    text: str
    numbers: tuple[Decimal, ...] = ()
    decimals: int = 0
    unit: Unit = NO_UNIT
    is_about: bool = False
    side: int = 0
    day: date | None = None
    grain: Literal["day", "month", "no year"] = "day"
    slack: int = 0
    weekday: int = -1
    minutes: int = -1
    is_half_day: bool = False
    token: str = ""
    is_word: bool = False

    @property
    def times(self) -> tuple[int, ...]:
        """The times of day that it may be, in minutes."""
        if self.minutes < 0:
            return ()
        return (self.minutes, self.minutes + 720) if self.is_half_day else (self.minutes,)

    @property
    def is_small_count(self) -> bool:
        """Whether it is a small whole number without a unit, of which many are found by chance."""
        return self.kind == "number" and self.unit is NO_UNIT and not self.decimals and self.numbers[0] <= MAX_SMALL


_NUMBER = r"\d{1,3}(?:[.,'\u00a0\u202f ]\d{3})+(?:[.,]\d{1,6})?(?!\d)|\d+(?:[.,]\d{1,12})?"


@cache
def _pattern() -> re.Pattern[str]:
    month = words.alternatives(words.months())
    # Each group is a kind; the first that fits at a place is taken.
    return re.compile(
        rf"""
        (?P<email>[\w.+%-]+@[\w-]+(?:\.[\w-]+)+)
        |(?P<uuid>\b[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\b)
        |(?P<phone>(?<![\w+])\+\d{{1,3}}(?:[ \u00a0/()-]{{0,2}}\d){{6,14}}(?![\w]))
        |(?P<iso>(?<![\w.-])(?P<iy>\d{{4}})-(?P<im>\d\d)-(?P<id>\d\d)
            (?:[T ](?P<ih>\d\d):(?P<imin>\d\d)(?::\d\d(?:\.\d+)?)?
            (?P<zone>Z|[+-]\d\d:?\d\d)?)?(?![\w-]))
        |(?P<dotted>(?<![\w.])(?P<dd>\d{{1,2}})\.[ ]?(?P<dm>\d{{1,2}})\.(?:[ ](?=\d{{4}}))?
            (?P<dy>\d{{4}}|\d\d)(?![\w.]\d|\d))
        |(?P<slashed>(?<![\w/])(?P<s1>\d{{1,2}})/(?P<s2>\d{{1,2}})/(?P<sy>\d{{4}}|\d\d)(?![\w/]))
        |(?P<national>(?<![\w+.,/-])0\d{{1,5}}(?:[ \u00a0/()-]{{1,2}}\d{{2,9}}){{1,4}}(?![\w]|[.,]\d))
        |(?P<dayfirst>(?<![\w.,])(?P<fd>\d{{1,2}})(?:st|nd|rd|th|\.)?[ \u00a0](?:of[ ])?
            (?P<fm>{month})\b(?:\.?,?[ \u00a0](?P<fy>\d{{4}}))?)
        |(?P<monthfirst>\b(?P<mm>{month})\b\.?[ \u00a0](?P<md>\d{{1,2}})(?:st|nd|rd|th)?
            (?![\w:]|[.,]\d|[ \u00a0]?(?:%|percent\b))
            (?:,?[ \u00a0](?P<my>\d{{4}})\b)?)
        |(?P<monthyear>\b(?P<om>{month})\b\.?,?[ \u00a0](?P<oy>\d{{4}})\b)
        |{spoken.PATTERN}
        |(?P<time>(?<![\w:.,])(?P<th>\d{{1,2}}):(?P<tm>\d\d)(?::\d\d)?
            (?:[ \u00a0]?(?P<half>[ap])(?:m\b|\.m\b\.?))?(?![\w:])(?:[ ]Uhr)?)
        |(?P<hour>(?<![\w:.,])(?P<hh>\d{{1,2}})[ \u00a0]?(?P<hhalf>[ap])(?:m\b|\.m\b\.?))
        |(?P<clock>(?<![\w:.,])(?P<ch>\d{{1,2}})(?:[ ]?o['’]clock\b|(?=[ ]in[ ]the[ ](?:morning|afternoon|evening)\b)))
        |(?P<uhr>(?<![\w:.,])(?P<uh>\d{{1,2}})(?:[.:](?P<um>\d\d))?[ \u00a0]Uhr\b)
        |(?P<relative>\b(?:{words.alternatives(words.RELATIVE)})\b)
        |(?P<weekday>\b(?:{words.alternatives(words.weekdays())})\b)
        |(?P<hash>\#\d[\w-]*)
        |(?P<ident>(?<![\w.€$£-])(?=[\w/-]*\d)(?=[\w/-]*[^\W\d])[^\W_][\w]*(?:[-/_][\w]+)*(?![\w]))
        |(?P<version>(?<![\w.])(?!\d{{1,3}}(?:\.\d{{3}})+(?!\.?\d))\d+(?:\.\d+){{2,}}(?![\w.]\d))
        |(?P<number>(?<![\w])(?<!\w[.,])(?:(?<![\d\w])[-−](?=\d))?(?:{_NUMBER})(?!\ufe0f?\u20e3))
        |(?P<numword>\b(?:{words.alternatives(words.NUMBERS)})\b)
        """,
        re.VERBOSE | re.IGNORECASE,
    )


_PACE = re.compile(
    r"((?:[ \u00a0](?:min(?:utes)?|Minuten))?)(?:[ \u00a0](?:per|a|pro)[ \u00a0]|/)(?:km|kilomet\w+|mile|mi)\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\d{1,3}(?:st|nd|rd|th)$", re.IGNORECASE)
_GLUED = re.compile(r"(\d+(?:[.,]\d+)?)([a-zäöüµ]+[²³23]?)$", re.IGNORECASE)
_MAGNITUDE = re.compile(rf"[\s\u00a0]?({words.alternatives(words.MAGNITUDES)})(?![\w])", re.IGNORECASE)
_DAY_FOLLOWS = re.compile(r"(?:\b(?:am|dem|den|der|bis|vom|zum|ab|seit)|tag,|woch,)\s*$", re.IGNORECASE)
# Of a number that is the upper half of a fraction.
_FRACTION = re.compile(
    r"[ -](?:thirds?|quarters?|fifths?|sixths?|eighths?|tenths?|twelfths?|drittel\w*|viertel\w*|fünftel\w*)\b",
    re.IGNORECASE,
)
_HALF = re.compile(r"p\.?m", re.IGNORECASE)
_RANGE = re.compile(r"\.?\s*(?:to|bis|and|und|or|oder|[–—-])\s*$", re.IGNORECASE)


_TOKEN = re.compile(r"\S+")
_SIGNS = re.compile(r"[\d@]")
_LETTERS = re.compile(r"[^\W\d_]+")
# Of one run of characters without a blank: what is behind them in it is not looked at.
MAX_TOKEN = 200


@cache
def _words() -> frozenset[str]:
    return frozenset((*words.months(), *words.weekdays(), *words.NUMBERS, *words.RELATIVE, *spoken.BEGINNINGS))


def values_in(text: str, now: datetime, most: int = 10_000) -> list[Value]:
    """Return the values of a text, in its order, but for names.

    Args:
        now: the moment of the run in the tenant's timezone, for relative dates.
        most: how many values are looked for.
    """
    found: list[Value] = []
    place = 0
    pattern = _pattern()
    for token in _TOKEN.finditer(text):
        if token.end() <= place or not _may_begin_value(token[0]):
            continue
        if len(found) >= most:
            break
        place = max(place, token.start())
        end = min(token.end(), token.start() + MAX_TOKEN)
        while place < end:
            match = pattern.match(text, place)
            if match is None:
                place += 1
                continue
            value = _spoken(text, match)
            if value is None:
                value = None if _FRACTION.match(text, match.end()) else _value(text, match, now)
            if value is None:
                place = match.end()
                continue
            place = max(value.end, match.start() + 1)
            if found and (value.unit is not NO_UNIT or value.kind in ("date", "time")):
                _share_unit(text, found, value)
            found.append(value)
    return found


def _spoken(text: str, match: re.Match[str]) -> Value | None:
    """Return the time, the length of time or the share that words say; None if they say none, or a rough one."""
    start, end = match.span()
    shown = match[0]
    if (time := spoken.minutes_of(match, text)) is not None:
        return Value("time", start, end, shown, minutes=time[0], is_half_day=time[1])
    for number, unit in ((spoken.length_of(match), MINUTE), (spoken.share_of(match), PERCENT)):
        if number is not None:
            is_rough = words.ABOUT.search(text, max(0, start - 24), start)
            is_word = unit == PERCENT
            return None if is_rough else Value("number", start, end, shown, (number,), unit=unit, is_word=is_word)
    return None


def _may_begin_value(token: str) -> bool:
    """Return whether a run of characters has a digit, or a word that dates and numbers are written with."""
    if _SIGNS.search(token, 0, MAX_TOKEN):
        return True
    return any(word in _words() for word in _LETTERS.findall(token[:MAX_TOKEN].casefold()))


def _share_unit(text: str, found: list[Value], value: Value) -> None:
    """Make the first number of a range what the second is: "8 to 10 weeks", "3-5 May", "22 bis 6 Uhr"."""
    before = found[-1]
    if before.kind != "number" or before.unit is not NO_UNIT or before.is_word or before.decimals:
        return
    if not _RANGE.fullmatch(text, before.end, value.start):
        return
    number = int(before.numbers[0])
    if value.kind == "number":
        # Who writes the sign before the second number writes it before the first.
        if not value.text[0].isdigit():
            return
        found[-1] = replace(before, unit=value.unit)
    elif value.kind == "time" and number <= 24:
        is_afternoon = value.minutes >= 720 and number < value.minutes // 60 - 12 + 1 and _HALF.search(value.text)
        found[-1] = replace(before, kind="time", numbers=(), minutes=number * 60 + 720 * bool(is_afternoon))
    elif value.day is not None and value.grain != "month" and 1 <= number < value.day.day and value.text[0].isdigit():
        found[-1] = replace(before, kind="date", numbers=(), day=value.day.replace(day=number), grain=value.grain)


def _value(text: str, match: re.Match[str], now: datetime) -> Value | None:
    kind = match.lastgroup
    start, end = match.span()
    shown = match[0]
    for group in ("email", "uuid", "phone", "national", "hash", "version", "ident"):
        if match[group] is not None:
            return _identifier(text, start, end, shown, group)
    if match["number"] is not None:
        return _number(text, start, end, now)
    if match["numword"] is not None:
        return _word_number(text, start, end, now)
    if match["weekday"] is not None:
        return Value("weekday", start, end, shown, weekday=words.weekdays()[shown.casefold()])
    if match["relative"] is not None:
        days = words.RELATIVE[shown.casefold()]
        # "Morgen" is also the morning.
        if shown == "Morgen":
            return None
        return Value("date", start, end, shown, day=now.date() + timedelta(days=days))
    if kind is None:
        return None
    return _time(match, start, end, shown) or _date(match, start, end, shown)


def _identifier(text: str, start: int, end: int, shown: str, group: str) -> Value | None:
    if group == "email":
        shown = shown.rstrip(".")
        return Value("email", start, start + len(shown), shown, token=shown.casefold())
    if group == "phone":
        return Value("identifier", start, end, shown, token="+" + re.sub(r"\D", "", shown))
    if group == "national":
        digits = re.sub(r"\D", "", shown)
        return Value("identifier", start, end, shown, token=digits) if len(digits) >= 7 else None
    if group == "hash":
        return Value("identifier", start, end, shown, token=shown[1:].casefold())
    if group == "ident":
        if _ORDINAL.fullmatch(shown):
            return None
        if glued := _GLUED.fullmatch(shown):
            number = _glued(text, start, glued)
            if number is not None:
                return number
        # "24-hour" and "4-person" are numbers in front of a word.
        head = re.match(r"\d+(?=-[^\W\d]{3,})", shown)
        if head:
            unit = unit_after(text, start + head.end())
            return Value(
                "number", start, start + head.end(), head[0], (Decimal(head[0]),), unit=unit[0] if unit else NO_UNIT
            )
    return Value("identifier", start, end, shown, token=shown.casefold())


def _glued(text: str, start: int, glued: re.Match[str]) -> Value | None:
    """Return a number whose unit or magnitude follows without a blank: 5GB, 86k."""
    digits = glued[1]
    tail = glued[2]
    numbers, decimals = _read(digits)
    if tail.casefold() in ("x",):
        return Value("number", start, start + len(digits), digits, numbers, decimals)
    if (tail in ("k", "K", "m", "M", "bn") and not unit_after(text, start + len(digits))) or tail in ("k", "M", "bn"):
        factor = words.MAGNITUDES[tail.casefold()]
        return _with_currency(
            text, Value("number", start, start + len(digits) + len(tail), glued[0], *_scaled(numbers, decimals, factor))
        )
    unit = unit_after(text, start + len(digits))
    if unit is None:
        return None
    return Value("number", start, unit[1], text[start : unit[1]], numbers, decimals, unit[0])


def _scaled(numbers: tuple[Decimal, ...], decimals: int, factor: Decimal) -> tuple[tuple[Decimal, ...], int]:
    return tuple(number * factor for number in numbers), decimals - (len(str(int(factor))) - 1)


def _read(digits: str) -> tuple[tuple[Decimal, ...], int]:
    """Return what digits with separators may be, and how many of them stand behind the point."""
    plain = re.sub(r"['\u00a0\u202f ]", "", digits).replace("−", "-")
    marks = [sign for sign in plain if sign in ".,"]
    if not marks:
        return (Decimal(plain),), 0
    last = marks[-1]
    tail = len(plain) - plain.rfind(last) - 1
    try:
        if len(set(marks)) == 2 or (len(marks) == 1 and tail != 3):
            other = "," if last == "." else "."
            return (Decimal(plain.replace(other, "").replace(last, ".")),), tail
        grouped = Decimal(plain.replace(last, ""))
        if len(marks) > 1 or plain.lstrip("-").startswith("0"):
            is_grouped = len(marks) > 1
            return ((grouped,), 0) if is_grouped else ((Decimal(plain.replace(last, ".")),), tail)
        return (grouped, Decimal(plain.replace(last, "."))), 0
    except InvalidOperation:
        return (), 0


def _number(text: str, start: int, end: int, now: datetime) -> Value | None:
    digits = text[start:end]
    numbers, decimals = _read(digits)
    if not numbers or len(digits) > 24:
        return Value("identifier", start, end, digits, token=digits) if len(digits) > 24 else None
    if day := _dotted_day(text, start, end):
        return day
    value = Value("number", start, end, digits, numbers, decimals)
    magnitude = _MAGNITUDE.match(text, end)
    # One letter behind a blank is a unit.
    if magnitude and (len(magnitude[1]) > 1 or not magnitude[0][0].isspace()):
        scaled, decimals = _scaled(numbers, decimals, words.MAGNITUDES[magnitude[1].casefold()])
        value = replace(value, end=magnitude.end(), numbers=scaled, decimals=decimals)
    return _relative(text, _with_unit(text, value), now)


def _dotted_day(text: str, start: int, end: int) -> Value | None:
    """Return the date that digits are which stand where German writes a day: "am 18.3."."""
    day, dot, month = text[start:end].partition(".")
    if not dot or not text.startswith(".", end) or not _DAY_FOLLOWS.search(text, max(0, start - 12), start):
        return None
    try:
        return Value("date", start, end + 1, text[start : end + 1], day=date(4, int(month), int(day)), grain="no year")
    except ValueError:
        return None


def _word_number(text: str, start: int, end: int, now: datetime) -> Value:
    number = Decimal(words.NUMBERS[text[start:end].casefold()])
    decimals = 0
    if half := words.AND_A_HALF.match(text, end):
        number += Decimal("0.5")
        decimals = 1
        end = half.end()
    value = _with_unit(text, Value("number", start, end, text[start:end], (number,), decimals, is_word=True))
    return _relative(text, value, now)


def _with_currency(text: str, value: Value) -> Value:
    before = currency_before(text, value.start)
    if before is None:
        return value
    return replace(value, start=before[1], unit=before[0], text=text[before[1] : value.end])


def _with_unit(text: str, value: Value) -> Value:
    start = max(0, value.start - 24)
    side = 0
    if words.MORE_THAN.search(text, start, value.start):
        side = 1
    elif words.LESS_THAN.search(text, start, value.start):
        side = -1
    value = replace(value, is_about=bool(words.ABOUT.search(text, start, value.start)), side=side)
    with_currency = _with_currency(text, value)
    if with_currency is not value:
        return with_currency
    after = unit_after(text, value.end)
    if after is None:
        return replace(value, text=text[value.start : value.end])
    # "per cent" and the like end the value; so does any other unit.
    return replace(value, end=after[1], unit=after[0], text=text[value.start : after[1]])


def _relative(text: str, value: Value, now: datetime) -> Value:
    """Return "3 days ago" as the date that it is; other numbers as they are."""
    if value.unit.dimension not in ("time", "months") or value.unit.base(Decimal(1)) < 1:
        return value
    ago = words.AGO.match(text, value.end)
    vor = words.VOR.search(text, max(0, value.start - 6), value.start)
    if not ago and not vor:
        return value
    if value.unit.dimension == "months":
        days = value.numbers[0] * value.unit.factor * Decimal("30.44")
        slack = 16 * int(value.unit.factor)
    else:
        days = value.numbers[0] * value.unit.factor / DAY.factor
        slack = 0 if value.unit == DAY else 4
    if not 0 <= days < 40_000 or (value.unit.factor < DAY.factor and value.unit.dimension == "time"):
        return value
    start = vor.start() if vor else value.start
    end = ago.end() if ago else value.end
    day = now.date() - timedelta(days=int(days))
    return Value("date", start, end, text[start:end], numbers=value.numbers, unit=value.unit, day=day, slack=slack)


def _time(match: re.Match[str], start: int, end: int, shown: str) -> Value | None:
    if match["time"] is not None:
        hour = int(match["th"])
        minute = int(match["tm"])
        half = match["half"]
    elif match["hour"] is not None:
        hour = int(match["hh"])
        minute = 0
        half = match["hhalf"]
    elif match["clock"] is not None:
        hour = int(match["ch"])
        minute = 0
        half = None
    elif match["uhr"] is not None:
        hour = int(match["uh"])
        minute = int(match["um"] or 0)
        half = None
    else:
        return None
    if hour > 24 or minute > 59:
        return None
    if half:
        hour = hour % 12 + (12 if half.casefold() == "p" else 0)
    is_half_day = match["clock"] is not None and hour <= 12
    if match["time"] is not None and not half and (pace := _PACE.match(match.string, end)):
        # Minutes and seconds for a kilometre, and no time of day.
        number = hour + Decimal(minute) / 60
        return Value("number", start, end + len(pace[1]), shown + pace[1], (number,), 2, unit=MINUTE)
    minutes = hour * 60 + minute
    return Value("time", start, end, shown, minutes=minutes % 720 if is_half_day else minutes, is_half_day=is_half_day)


def _date(match: re.Match[str], start: int, end: int, shown: str) -> Value | None:
    groups = match.groupdict()
    months = words.months()
    grain: Literal["day", "month", "no year"] = "day"
    second: tuple[int, int] | None = None
    if groups["iso"] is not None:
        year = int(groups["iy"])
        month = int(groups["im"])
        day = int(groups["id"])
    elif groups["dotted"] is not None:
        year = _year(groups["dy"])
        month = int(groups["dm"])
        day = int(groups["dd"])
    elif groups["slashed"] is not None:
        year = _year(groups["sy"])
        month = int(groups["s1"])
        day = int(groups["s2"])
        second = day, month
    elif groups["dayfirst"] is not None:
        month = months[groups["fm"].casefold()]
        day = int(groups["fd"])
        year = int(groups["fy"] or 1)
    elif groups["monthfirst"] is not None:
        month = months[groups["mm"].casefold()]
        day = int(groups["md"])
        year = int(groups["my"] or 1)
    elif groups["monthyear"] is not None:
        year = int(groups["oy"])
        month = months[groups["om"].casefold()]
        day = 1
        grain = "month"
    else:
        return None
    if year == 1:
        grain = "no year"
    hour = int(groups["ih"]) * 60 + int(groups["imin"]) if groups["iso"] is not None and groups["ih"] else -1
    for pair in ((month, day), second):
        if pair is not None:
            try:
                return Value(
                    "date", start, end, shown, day=date(4 if year == 1 else year, *pair), grain=grain, minutes=hour
                )
            except ValueError:
                continue
    return None


def _year(text: str) -> int:
    return int(text) if len(text) == 4 else 2000 + int(text)
