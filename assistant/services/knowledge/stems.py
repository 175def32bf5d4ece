"""Words as the index and queries have them: without endings, accents and stop words, by the language of the text."""

from __future__ import annotations

import importlib
import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

# The languages whose stop words are known, by their ISO codes: the name of each one's Snowball algorithm.
LANGUAGES = {
    "en": "english",
    "da": "danish",
    "de": "german",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
# Characters of a text by which its language is told, and of a word; the rest of either is ignored.
MAX_SAMPLE = 20_000
MAX_WORD = 64

_WORD = re.compile(r"[^\W_]+")
# Words that are written together, as AB-1200 and manual_v2.3 are.
_JOINED = re.compile(r"[^\W_]+(?:[-_./][^\W_]+)*")
_SEPARATORS = re.compile(r"[-_./]")
# Scripts that write no blanks between words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_FOLDER = Path(__file__).parent / "stop_words"
_stemmer_lock = threading.Lock()


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the words of a language that say nothing about the subject, with and without accents."""
    words = (_FOLDER / f"{language}.txt").read_text("utf-8").split()
    return frozenset((*words, *map(_folded, words)))


def language_of(text: str) -> str:
    """Return the ISO code of the language that a text is in, by its stop words; "" if there are none."""
    found = languages_of(text)
    return found[0] if found else ""


def languages_of(text: str) -> list[str]:
    """Return the languages that a text may be in, by its stop words; several where they have equally many.

    A stop word counts less the more languages have it.
    """
    weights = dict.fromkeys(LANGUAGES, 0.0)
    for word in _WORD.findall(text[:MAX_SAMPLE].lower()):
        having = _languages_by_stop_word().get(word, ())
        for language in having:
            weights[language] += 1 / len(having)
    most = max(weights.values())
    return [language for language, weight in weights.items() if weight == most] if most else []


@cache
def _languages_by_stop_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for language in LANGUAGES:
        for word in stop_words(language):
            found.setdefault(word, []).append(language)
    return found


def stems(text: str, language: str) -> Iterator[str]:
    """Yield the words of a text in its order, stop words too, as the index has them: lower case, no endings or accents.

    A word with a digit that is joined by hyphens, points, slashes or underscores is followed by itself without them. Of
    scripts without blanks between words, pairs of letters.

    Args:
        language: an ISO code; any other than `LANGUAGES` counts as English.
    """
    for word in words_of(text):
        yield stem(word, language)


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case, before their endings are removed."""
    for joined in _JOINED.findall(unicodedata.normalize("NFKC", text).lower()):
        parts = _SEPARATORS.split(joined)
        for word in parts:
            yield from _parts(word)
        if len(parts) > 1 and len(joined) <= MAX_WORD and any(letter.isdecimal() for letter in joined):
            yield "".join(parts)


def _parts(word: str) -> Iterator[str]:
    if _UNSPACED.search(word) is None:
        yield word[:MAX_WORD]
        return
    for run in _UNSPACED.findall(word):
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))


@lru_cache(maxsize=100_000)
def stem(word: str, language: str) -> str:
    """Return a word in lower case without its ending and accents."""
    if not word.isalpha():
        return _folded(word)
    stemmer = _stemmer(LANGUAGES.get(language, "english"))
    with _stemmer_lock:
        return _folded(stemmer.stemWord(word)) or word


@cache
def _stemmer(algorithm: str) -> Any:
    # The package imports all of its languages, which most processes never need.
    return importlib.import_module("snowballstemmer").stemmer(algorithm)


def _folded(word: str) -> str:
    """Return a word without accents, in which FTS5 and PostgreSQL see one token."""
    letters = unicodedata.normalize("NFKD", word)
    kept = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return "".join(_WORD.findall(unicodedata.normalize("NFC", kept)))
