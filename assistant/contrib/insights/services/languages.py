"""Guesses the language of a question for the sums, by its script and its most usual words; "" where it cannot."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Characters of a question that are looked at.
LOOKED_AT = 300
_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "uk": re.compile("[іїєґ]", re.IGNORECASE),
    "ru": re.compile("[\u0400-\u04ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
}
_USUAL: Mapping[str, str] = {
    "en": "the and is are what how where can you my do does this with for have when please which",
    "de": "der das und ist sind wie wo kann ich mein meine nicht ein eine mit für haben wann bitte welche",
    "fr": "le les et est sont où je mon ma pas une avec pour avez quand quel quelle vous puis",
    "es": "el los y es son cómo dónde puedo mi mis una con para tienen cuándo qué cuál usted",
    "it": "il gli è sono dove posso mio mia non una con per avete quando che quale della",
    "nl": "het een zijn hoe waar kan ik mijn niet met voor hebben wanneer welke jullie graag",
    "pt": "os são onde posso meu minha não uma com para têm quando qual você vocês está",
    "pl": "jest są jak gdzie czy mój moja nie z dla kiedy jaki która proszę się mam",
}
_WORDS: Mapping[str, frozenset[str]] = {code: frozenset(words.split()) for code, words in _USUAL.items()}
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str:
    """Return the code of the language of a text, such as "de"; "" if its words do not tell."""
    beginning = text[:LOOKED_AT]
    for code, letters in _SCRIPTS.items():
        if len(letters.findall(beginning)) * 5 > len(_WORD.findall(beginning)):
            return code
    words = [word.lower() for word in _WORD.findall(beginning)]
    counts = sorted(((sum(word in usual for word in words), code) for code, usual in _WORDS.items()), reverse=True)
    (most, code), (second, _) = counts[:2]
    return code if most > second else ""
