"""Fills sentences with values, and plants one change into them: a digit, a date, a name, a sum or a unit.

A slot is `{name|format!change}`. Format and change are optional; a slot with a change is one that may be changed. In
`{=text!change}` the text itself stands in the place of a value, for what is said of documents.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tests.contrib.receipts.answers.scenes import NOW, Scene

SLOT = re.compile(r"\{(=?)([^{}|!]+)(?:\|(\w+))?(?:!(\w+))?\}")
MONTHS = {
    "en": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    "de": [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ],
}
DAYS = {
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "de": ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
}
WORDS = {
    "en": ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
    "de": ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"],
}
ORDINALS = {1: "1st", 2: "2nd", 3: "3rd", 21: "21st", 22: "22nd", 23: "23rd", 31: "31st"}


@dataclass(frozen=True)
class Template:
    """A sentence or more about the runs of a scene; `language` is "en" or "de"."""

    scene: Callable[[int], Scene]
    text: str
    language: str = "en"


@dataclass(frozen=True)
class Planted:
    """An answer with one change: where it is, what stood there, and of which kind it is."""

    text: str
    start: int
    end: int
    before: str
    kind: str


def _group(value: Decimal, places: int, group: str, point: str) -> str:
    text = f"{value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):,.{places}f}"
    return text.replace(",", "\0").replace(".", point).replace("\0", group)


def _plain(value: Any) -> str:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def _hour12(moment: datetime) -> str:
    half = "am" if moment.hour < 12 else "pm"
    hour = (moment.hour - 1) % 12 + 1
    return f"{hour}:{moment.minute:02} {half}" if moment.minute else f"{hour} {half}"


FORMATS: dict[str, Callable[[Any], str]] = {
    "eur": lambda v: f"€{_group(v, 2, ',', '.')}",
    "eurafter": lambda v: f"{_group(v, 2, ',', '.')} EUR",
    "euros": lambda v: f"{_group(v, 0, ',', '.')} euros",
    "usd": lambda v: f"${_group(v, 2, ',', '.')}",
    "money": lambda v: _group(v, 2, ",", "."),
    "moneyafter": lambda v: _group(v, 2, ",", "."),
    "demoney": lambda v: _group(v, 2, ".", ","),
    "number2": lambda v: _group(v, 2, ",", "."),
    "deeur": lambda v: f"{_group(v, 2, '.', ',')} €",
    "deeuro": lambda v: f"{_group(v, 0, '.', ',')} Euro",
    "deeurcode": lambda v: f"EUR {_group(v, 2, '.', ',')}",
    "int": lambda v: f"{int(v):,}",
    "deint": lambda v: f"{int(v):,}".replace(",", "."),
    "thin": lambda v: f"{int(v):,}".replace(",", "\u202f"),
    "million": lambda v: f"{Decimal(v) / 1_000_000:.1f} million",
    "demillion": lambda v: f"{Decimal(v) / 1_000_000:.1f}".replace(".", ",") + " Millionen",
    "thousand": lambda v: f"{round(Decimal(v) / 1000)}k",
    "plain": _plain,
    "de": lambda v: _plain(v).replace(".", ","),
    "one": lambda v: _group(Decimal(v), 1, ",", "."),
    "deone": lambda v: _group(Decimal(v), 1, ".", ","),
    "whole": lambda v: _group(Decimal(v), 0, ",", "."),
    "dewhole": lambda v: _group(Decimal(v), 0, ".", ","),
    "word": lambda v: WORDS["en"][v] if v < 13 else str(v),
    "deword": lambda v: WORDS["de"][v] if v < 13 else str(v),
    "Word": lambda v: (WORDS["en"][v] if v < 13 else str(v)).capitalize(),
    "Deword": lambda v: (WORDS["de"][v] if v < 13 else str(v)).capitalize(),
    "iso": lambda v: f"{v:%Y-%m-%d}",
    "long": lambda v: f"{v.day} {MONTHS['en'][v.month - 1]} {v.year}",
    "us": lambda v: f"{MONTHS['en'][v.month - 1]} {v.day}, {v.year}",
    "short": lambda v: f"{v.day} {MONTHS['en'][v.month - 1][:3]}",
    "noyear": lambda v: f"{MONTHS['en'][v.month - 1]} {v.day}",
    "ordinal": lambda v: f"{ORDINALS.get(v.day, f'{v.day}th')} of {MONTHS['en'][v.month - 1]}",
    "slash": lambda v: f"{v:%m/%d/%Y}",
    "month": lambda v: f"{MONTHS['en'][v.month - 1]} {v.year}",
    "dots": lambda v: f"{v:%d.%m.%Y}",
    "dedots": lambda v: f"{v.day}.{v.month}.{v.year}",
    "delong": lambda v: f"{v.day}. {MONTHS['de'][v.month - 1]} {v.year}",
    "denoyear": lambda v: f"{v.day}. {MONTHS['de'][v.month - 1]}",
    "demonth": lambda v: f"{MONTHS['de'][v.month - 1]} {v.year}",
    "weekday": lambda v: DAYS["en"][v.weekday()],
    "deweekday": lambda v: DAYS["de"][v.weekday()],
    "ago": lambda v: f"{(NOW.date() - v).days} days ago",
    "deago": lambda v: f"vor {(NOW.date() - v).days} Tagen",
    "hhmm": lambda v: f"{v:%H:%M}",
    "hour12": _hour12,
    "dehhmm": lambda v: f"{v:%H:%M} Uhr",
    "dedot": lambda v: f"{v:%H.%M} Uhr",
    "upper": lambda v: str(v).upper(),
    "surname": lambda v: str(v).split()[-1],
}


def _other_digit(text: str, chance: random.Random) -> str:
    places = [place for place, sign in enumerate(text) if sign.isdigit()]
    place = chance.choice(places)
    old = text[place]
    new = chance.choice([digit for digit in "123456789" if digit != old])
    return text[:place] + new + text[place + 1 :]


UNITS = {
    "€": "$", "EUR": "USD", "euros": "dollars", "Euro": "Dollar", "$": "€", "USD": "EUR",
    "days": "weeks", "weeks": "days", "hours": "days", "minutes": "hours", "months": "years", "years": "months",
    "day": "week", "week": "month", "month": "year", "hour": "minute", "year": "month", "business days": "weeks",
    "Tage": "Wochen", "Tagen": "Wochen", "Wochen": "Monate", "Stunden": "Tage", "Monate": "Jahre", "Monaten": "Jahren",
    "Minuten": "Stunden", "Jahre": "Monate", "Jahren": "Monaten", "Woche": "Monat", "Jahr": "Monat",
    "GB": "MB", "kg": "g", "cm": "mm", "m²": "km²", "m³": "liters", "percent": "EUR", "%": "EUR", "Prozent": "Euro",
    "Kubikmeter": "Liter", "cubic metres": "liters", "ms": "seconds", "Millisekunden": "Sekunden", "lb": "kg",
    "square metres": "square feet", "Quadratmeter": "Quadratkilometer", "psi": "bar", "foot-pounds": "inch-pounds",
}  # fmt: skip
_UNIT = re.compile(
    "|".join(
        (rf"(?<!\w){re.escape(unit)}(?!\w)" if unit[0].isalpha() else re.escape(unit))
        for unit in sorted(UNITS, key=len, reverse=True)
    )
)


def fill(template: Template, index: int, change: bool = False) -> tuple[Scene, str, Planted | None]:
    """Return a scene and the answer about it, with one change planted if that is wanted."""
    scene = template.scene(index)
    slots = [slot for slot in SLOT.finditer(template.text) if slot[4]]
    chosen = slots[index % len(slots)] if change and slots else None
    text = ""
    end = 0
    planted = None
    for slot in SLOT.finditer(template.text):
        text += template.text[end : slot.start()]
        end = slot.end()
        shown = _shown(scene, slot)
        if chosen is not None and slot.start() == chosen.start():
            new = _changed(scene, slot, shown, index)
            planted = Planted("", len(text), len(text) + len(new), shown, slot[4])
            shown = new
        text += shown
    text += template.text[end:]
    if planted is not None:
        planted = Planted(text, planted.start, planted.end, planted.before, planted.kind)
    return scene, text, planted


def _shown(scene: Scene, slot: re.Match[str], value: Any = None) -> str:
    if slot[1]:
        return slot[2]
    if value is None:
        value = scene.values[slot[2]]
    shown = FORMATS[slot[3] or "plain"](value)
    # The demo's tenants have other currencies.
    sign, code = ("$", "USD") if "USD" in str(scene.calls) else ("€", "EUR")
    around = {"money": f"{sign}{shown}", "moneyafter": f"{shown} {code}", "demoney": f"{shown} {sign}"}
    return around.get(slot[3] or "", shown)


def _changed(scene: Scene, slot: re.Match[str], shown: str, index: int) -> str:
    chance = random.Random(f"{slot[2]}{slot[3]}{index}{shown}")
    kind = slot[4]
    value = None if slot[1] else scene.values[slot[2]]
    if kind == "unit":
        return _UNIT.sub(lambda unit: UNITS[unit[0]], shown, count=1)
    if kind == "name":
        return _swapped(scene, slot, shown, chance)
    for _ in range(50):
        if kind == "date" and isinstance(value, date):
            step = chance.choice([1, 2, 3, 5, 9, 33, -1, -2, -4, -8, -31])
            new = _shown(scene, slot, value + timedelta(days=step))
        elif kind == "sum" and isinstance(value, int | Decimal):
            steps = (
                [1, 2, -1] if isinstance(value, int) else [Decimal(10), Decimal("0.9"), Decimal(-100), Decimal("7.5")]
            )
            new = _shown(scene, slot, value + chance.choice(steps))
        elif kind == "digitless":  # an address without digits: a letter
            place = chance.randrange(1, 4)
            new = shown[:place] + chance.choice("bdfghklmprtvwz") + shown[place + 1 :]
        elif kind in ("word", "deword"):
            language = "de" if kind == "deword" else "en"
            words = WORDS[language][2:]
            new = re.sub("|".join(words), lambda _word, words=words: chance.choice(words), shown, count=1)
        else:
            new = _other_digit(shown, chance)
        if new != shown and not _is_true_too(scene, slot, new):
            return new
    raise AssertionError(f"nothing else can stand in {slot[0]}")


def _swapped(scene: Scene, slot: re.Match[str], shown: str, chance: random.Random) -> str:
    """Return another name: of a row of the run for every second change, else of one that the run has not returned."""
    prefix, _, field = slot[2].partition(".")
    rows = [
        value
        for name, value in scene.values.items()
        if field and name.endswith(f".{field}") and not name.startswith(f"{prefix}.") and value != scene.values[slot[2]]
    ]
    others = rows if rows and chance.random() < 0.5 else list(scene.others)
    name = chance.choice(others)
    return FORMATS[slot[3] or "plain"](name) if slot[3] else name


def _is_true_too(scene: Scene, slot: re.Match[str], new: str) -> bool:
    """Return whether a changed text is what the slot's format makes of another value of the run, so that it is no error
    that anybody could find."""
    if slot[1]:
        return any(new in str(call.result) for call in scene.calls)
    for value in scene.values.values():
        try:
            if FORMATS[slot[3] or "plain"](value) == new:
                return True
        except (TypeError, AttributeError, IndexError, ValueError, ArithmeticError):
            continue
    return False


def slots_of(templates: Sequence[Template]) -> int:
    """Return how many slots of templates may be changed."""
    return sum(bool(slot[4]) for template in templates for slot in SLOT.finditer(template.text))
