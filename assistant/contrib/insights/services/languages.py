"""Guesses the language of a question for the sums, by its script, else by its stop words; "" where it cannot."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assistant.services.knowledge.stems import languages_of

# Characters of a question that are looked at.
LOOKED_AT = 300
# Of languages without stop words of ours, and of those that a letter tells more surely.
_SIGNS: Mapping[str, re.Pattern[str]] = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "uk": re.compile("[іїєґ]", re.IGNORECASE),
    "ru": re.compile("[\u0400-\u04ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "pl": re.compile(r"[łęąśżźćń]|\b(?:jest|są|gdzie|czy|mój|moja|się|kiedy)\b", re.IGNORECASE),
}
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str:
    """Return the code of the language of a text, such as "de"; "" if its words do not tell."""
    beginning = text[:LOOKED_AT]
    words = len(_WORD.findall(beginning))
    for code, signs in _SIGNS.items():
        if len(signs.findall(beginning)) * 5 > words:
            return code
    found = languages_of(beginning)
    return found[0] if len(found) == 1 else ""
