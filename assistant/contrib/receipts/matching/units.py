"""Units and currencies as English and German texts, and names of JSON fields, write them."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from babel import Locale

LOCALES = ("en", "de")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: what it measures, and how many of the smallest unit of that are in it."""

    dimension: str
    factor: Decimal

    def base(self, number: Decimal) -> Decimal:
        """Return a number of this unit in the smallest unit of its dimension."""
        return number * self.factor


# A number that stands in a sentence without any unit.
NO_UNIT = Unit("none", Decimal(1))
PERCENT = Unit("percent", Decimal(1))
DAY = Unit("time", Decimal(86_400))
MINUTE = Unit("time", Decimal(60))
HOUR = Unit("time", Decimal(3_600))
MONTH = Unit("months", Decimal(1))
CENTS = Unit("cents", Decimal(1))

TEMPERATURES = frozenset({"degrees", "celsius", "fahrenheit"})

# Names of each unit, in the singular and plural of both languages.
_NAMED: tuple[tuple[str, str, str], ...] = (
    ("time", "0.001", "ms millisecond milliseconds millisekunde millisekunden"),
    ("time", "1", "s sec secs second seconds sekunde sekunden"),
    ("time", "60", "min mins minute minutes minuten"),
    ("time", "3600", "h hr hrs hour hours stunde stunden std"),
    ("time", "86400", "day days tag tage tagen werktag werktage werktagen night nights nacht nächte nächten"),
    ("time", "604800", "week weeks wk wks woche wochen"),
    ("months", "1", "month months monat monate monaten monats"),
    ("months", "3", "quarters quartale quartalen"),
    ("months", "12", "year years yr yrs jahr jahre jahren"),
    ("bytes", "1", "byte bytes"),
    ("bytes", "1000", "kb kilobyte kilobytes"),
    ("bytes", "1000000", "mb megabyte megabytes"),
    ("bytes", "1000000000", "gb gigabyte gigabytes"),
    ("bytes", "1000000000000", "tb terabyte terabytes"),
    ("mass", "0.001", "mg milligram milligrams milligramm"),
    ("mass", "1", "g gram grams gramm"),
    ("mass", "1000", "kg kilo kilos kilogram kilograms kilogramm"),
    ("mass", "1000000", "t tonne tonnes tonnen"),
    ("mass", "453.59237", "lb lbs pound pounds pfund"),
    ("length", "0.001", "mm millimetre millimetres millimeter millimeters millimetern"),
    ("length", "0.01", "cm centimetre centimetres centimeter centimeters zentimeter zentimetern"),
    ("length", "1", "m metre metres meter meters metern"),
    ("length", "1000", "km kilometre kilometres kilometer kilometers kilometern"),
    ("length", "0.0254", "inch inches zoll"),
    ("length", "0.3048", "ft foot feet"),
    ("length", "1609.344", "mi mile miles meile meilen"),
    ("area", "1", "m² m2 sqm qm"),
    ("area", "1000000", "km² km2"),
    ("volume", "0.001", "l liter liters litre litres litern"),
    ("volume", "0.000001", "ml milliliter milliliters millilitre millilitres"),
    ("volume", "1", "m³ m3 cbm kubikmeter kubikmetern"),
    ("degrees", "1", "° degree degrees grad"),
    ("celsius", "1", "°c celsius"),
    ("fahrenheit", "1", "°f fahrenheit"),
    ("pressure", "1", "pa pascal"),
    ("pressure", "100000", "bar"),
    ("pressure", "6894.757", "psi"),
    ("flow", "1", "gpm"),
    ("energy", "1", "wh"),
    ("energy", "1000", "kwh kilowattstunde kilowattstunden"),
    ("power", "1", "w watt"),
    ("power", "1000", "kw kilowatt"),
    ("torque", "1", "nm newtonmeter"),
    ("torque", "1.3558179", "foot-pounds foot-pound ft-lb"),
    ("torque", "0.1129848", "inch-pounds inch-pound in-lb"),
)
# Units of several words.
_PHRASES: tuple[tuple[str, str, str], ...] = (
    (r"(?:business|working|work|calendar|full|whole) days?", "time", "86400"),
    (r"(?:business|working|work) weeks?|Arbeitswochen?", "time", "432000"),
    (r"(?:full|whole|more) weeks?", "time", "604800"),
    (r"(?:full|whole|more) months?", "months", "1"),
    (r"(?:full|whole|more) years?", "months", "12"),
    (r"more days?", "time", "86400"),
    (r"more hours?", "time", "3600"),
    (r"(?:square (?:metres?|meters?))|Quadratmetern?", "area", "1"),
    (r"square feet", "area", "0.09290304"),
    (r"(?:square kilomet(?:re|er)s?)|Quadratkilometern?", "area", "1000000"),
    (r"cubic (?:metres?|meters?)", "volume", "1"),
    (r"degrees Fahrenheit", "fahrenheit", "1"),
    (r"degrees Celsius|Grad Celsius", "celsius", "1"),
    (r"(?:US|American) dollars?|US-Dollars?", "currency:USD", "1"),
    (r"Swiss francs?|Schweizer Franken", "currency:CHF", "1"),
    (r"British pounds?|pounds? sterling|britische Pfund", "currency:GBP", "1"),
    (r"(?:percent(?:age)?|per cent|%)[ -]points?|Prozentpunkten?", "percent", "1"),
    (r"per ?cent|percent|Prozent|%|pct", "percent", "1"),
)
_SYMBOLS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "CHF": "CHF", "Fr.": "CHF", "zł": "PLN", "Kč": "CZK"}
_CURRENCY_WORDS = {
    "euro": "EUR", "euros": "EUR", "dollar": "USD", "dollars": "USD", "dollarn": "USD", "franken": "CHF",
    "francs": "CHF", "sterling": "GBP", "yen": "JPY",
}  # fmt: skip
# Fields that hold amounts, where a field beside or above them names the currency.
_MONEY_FIELDS = frozenset(
    {
        "amount", "price", "cost", "total", "sum", "balance", "fee", "rent", "deposit", "subtotal", "net",
        "gross", "paid", "due", "refund", "value", "rate", "preis", "betrag", "kosten", "summe", "gebuehr", "gebühr",
        "gebuehren", "gebühren", "miete", "kaution", "saldo", "guthaben", "abschlag", "umsatz", "spend", "revenue",
        "budget", "spent", "salary", "wage", "income", "expense", "expenses", "tax", "vat", "discount", "premium",
        "donation", "turnover", "profit", "margin", "charge", "payout", "debt", "credit", "bonus", "grant", "savings",
        "beitrag", "beitraege", "beiträge", "lohn", "gehalt", "einnahmen", "ausgaben", "steuer", "rabatt", "spenden",
        "erloes", "erlös", "preise", "betraege", "beträge", "aufwand", "loan", "interest", "prices", "fees", "amounts",
        "costs", "payments", "payment", "zahlung", "zahlungen",
        "rechnung", "mrr", "arr", "tariff", "tarif", "fare", "charged",
        "tips", "deductions", "billed", "earnings", "takings",
    }
)  # fmt: skip
# The last part of a German word that names such a field.
_MONEY_ENDINGS = re.compile(r"(?:preis|betrag|kosten|summe|geb(?:ü|ue)hr|miete|abschlag|umsatz)$")
# Fields of which a number is not one of units.
_COUNT_FIELDS = frozenset(
    {
        "count", "quantity", "number", "id", "seats", "persons", "floor", "orders", "items", "pieces",
        "total_found", "found",
    }
)  # fmt: skip


def are_alike(unit: Unit, other: Unit) -> bool:
    """Return whether one unit may be said for the other: it is the same, or degrees of a temperature."""
    dimensions = {unit.dimension, other.dimension}
    return unit == other or ("degrees" in dimensions and dimensions <= TEMPERATURES)


@cache
def _by_word() -> dict[str, Unit]:
    units = {word: Unit(dimension, Decimal(factor)) for dimension, factor, words in _NAMED for word in words.split()}
    units |= dict.fromkeys(("cent", "cents"), CENTS)
    return units | {word: currency(code) for word, code in _CURRENCY_WORDS.items()}


@cache
def codes() -> frozenset[str]:
    """Return the codes of the currencies of the world."""
    return frozenset(code for code in map(str, Locale("en").currencies) if len(code) == 3 and code.isupper())


@cache
def currency(code: str) -> Unit:
    """Return a currency by its code, such as EUR."""
    return Unit(f"currency:{code}", Decimal(1))


_WORD_AFTER = re.compile(r"[\s\u00a0\u202f]{0,2}-?(°[CF]?|%|[€$£¥]|[A-Za-zäöüß]+[²³23]?(?:-[a-z]+)?)")
_PHRASE_AFTER = re.compile(
    r"[\s\u00a0\u202f]{0,2}-?(?:"
    + "|".join(f"(?P<u{place}>{one[0]})" for place, one in enumerate(_PHRASES))
    + r")(?!\w)"
)
_BEFORE = re.compile(r"(?:([€$£¥])|\b([A-Z]{3}))[\s\u00a0\u202f]?$")


def unit_after(text: str, place: int) -> tuple[Unit, int] | None:
    """Return the unit that stands behind a number, and where it ends; None if there is none."""
    if phrase := _PHRASE_AFTER.match(text, place):
        index = next(number for number in range(len(_PHRASES)) if phrase[f"u{number}"])
        _pattern, dimension, factor = _PHRASES[index]
        return Unit(dimension, Decimal(factor)), phrase.end()
    word = _WORD_AFTER.match(text, place)
    if word is None or (word.end() < len(text) and text[word.end()].isalnum()):
        return None
    name = word[1]
    if name in _SYMBOLS:
        return currency(_SYMBOLS[name]), word.end()
    if name in codes():
        return currency(name), word.end()
    if text[word.end() : word.end() + 1] == "/" and text[word.end() + 1 : word.end() + 2].isalpha():
        # "g/dl" and "km/h" are no grams and no kilometres.
        return None
    unit = _by_word().get(name.casefold())
    # "5 M" is no length, and "3 S" no time: units of one letter are small letters.
    if unit is None or (len(name) == 1 and not (name.islower() or name == "°")):
        return None
    if (
        len(name) == 1
        and text[place : place + 1].isspace()
        and name in "smh"
        and text[word.end() : word.end() + 1] == "'"
    ):
        return None
    return unit, word.end()


def currency_before(text: str, place: int) -> tuple[Unit, int] | None:
    """Return the currency that stands before a number, and where it begins; None if there is none."""
    found = _BEFORE.search(text, max(0, place - 5), place)
    if found is None:
        return None
    if found[1]:
        return currency(_SYMBOLS[found[1]]), found.start()
    return (currency(found[2]), found.start()) if found[2] in codes() else None


# Words of fields that hold percentages.
SHARES = frozenset(
    {
        "rate", "share", "ratio", "quote", "anteil", "progress", "occupancy", "coverage", "utilization", "utilisation",
        "auslastung", "completion", "score", "level", "humidity", "discount", "rabatt", "tax",
        "vat", "steuer", "margin",
        "growth", "change", "fill", "full", "probability", "chance", "load", "fortschritt", "battery", "attendance",
    }
)  # fmt: skip
_PER = frozenset({"per", "pro", "je"})
_PARTS = re.compile(r"[A-Z]?[a-z0-9²³]+|[A-Z]+")


@cache
def words_of(field: str) -> tuple[str, ...]:
    """Return the words of the name of a field: `storage_gb` and `storageGb` are "storage" and "gb".

    What a rate is per does not count: `price_per_hour` is a price.
    """
    words = [word.casefold() for word in _PARTS.findall(field)]
    rate = next((place for place, word in enumerate(words) if place and word in _PER), len(words))
    return tuple(words[:rate])


@cache
def per_of(field: str) -> Unit | None:
    """Return the unit of what a rate is per: an hour for `price_per_hour`; None if it is per something else."""
    parts = [word.casefold() for word in _PARTS.findall(field)]
    place = next((place for place, word in enumerate(parts) if word in _PER), None)
    return _by_word().get(parts[-1]) if place is not None and place < len(parts) - 1 else None


@cache
def is_rate(field: str) -> bool:
    """Return whether the name of a field says what its number is per, as `price_per_hour` does."""
    words = words_of(field)
    return len(words) < len(_PARTS.findall(field)) or words[:1] in (("per",), ("pro",), ("je",))


# Short units that as the whole name of a field say nothing else.
_PERIODS = frozenset({"day", "week", "month", "quarter", "year", "tag", "woche", "monat", "quartal", "jahr"})
_CLEAR = frozenset({"km", "kg", "kwh", "mwh", "kw", "gb", "mb", "tb", "cm", "mm", "ml"})


@cache
def unit_of_field(field: str) -> Unit | None:
    """Return the unit that the name of a field says; None if it says none."""
    words = words_of(field)
    # "per_hour" is what an hour costs, and "this_week" when something was.
    if len(words) < 1 or words[0] in _PER or (len(words) > 1 and words[-1] in _PERIODS):
        return None
    if {"percent", "pct", "percentage", "prozent"} & set(words):
        return PERCENT
    if any(pair in ("square metres", "square meters") for pair in map(" ".join, itertools.pairwise(words))):
        return Unit("area", Decimal(1))
    if any(pair in ("cubic metres", "cubic meters") for pair in map(" ".join, itertools.pairwise(words))):
        return Unit("volume", Decimal(1))
    if len(words) > 1 and words[-1] in ("c", "f"):
        return _by_word()[f"°{words[-1]}"]
    if words[-1] in ("cents", "minor"):
        return CENTS
    for word in reversed(words):
        if word.upper() in ("EUR", "USD", "GBP", "CHF"):
            return currency(word.upper())
        # A word such as "min" or "second" says something else where it is the whole name or stands in front.
        if len(words) > 1 and word in _by_word() and (word == words[-1] or len(word) > 3):
            return _by_word()[word]
        if len(words) == 1 and (len(word) > 3 or word in _CLEAR) and word in _by_word():
            return _by_word()[word]
    return None


_LENGTH = re.compile(
    r"(?:^|_)(?:last_?|next_?)?(\d{1,4})_?(d|days?|tage|h|hours?|min|minutes|w|weeks?|m|months?)(?:_|$)"
)
_SHORT = {"d": "day", "h": "hour", "w": "week", "m": "month"}


@cache
def length_of_field(field: str) -> tuple[Decimal, Unit] | None:
    """Return the length of time that the name of a field says, as `solved_7d` does; None if it says none."""
    found = _LENGTH.search(field.casefold())
    return (Decimal(found[1]), _by_word()[_SHORT.get(found[2], found[2])]) if found else None


def is_period(field: str) -> bool:
    """Return whether a field of this name holds what is said of one day, week, month or year, such as the last one."""
    return words_of(field)[-1:] != () and words_of(field)[-1] in _PERIODS


def is_count(field: str) -> bool:
    """Return whether a field of this name holds how many there are, or which one it is."""
    return bool(_COUNT_FIELDS & {field, *words_of(field)[-1:]})


def is_money(field: str) -> bool:
    """Return whether a field of this name holds amounts of a currency that another field names."""
    words = words_of(field)
    names_money = bool(_MONEY_FIELDS & set(words)) or any(map(_MONEY_ENDINGS.search, words))
    return names_money and not _COUNT_FIELDS & {field, words[-1] if words else ""}
