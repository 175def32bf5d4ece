"""Finds names in an answer: those that sources name, and those that none does."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from assistant.contrib.receipts.matching.facts import WORD, Facts
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.steps import Steps
from assistant.contrib.receipts.matching.values import Value
from assistant.contrib.receipts.matching.words import common_words, language_of, months, weekdays

# Words that are written with a capital letter and name nobody.
_CAPITALS = frozenset(
    {
        "i", "i'm", "i'd", "i've", "i'll", "hi", "hello", "dear", "mr", "mrs", "ms", "dr", "miss", "sir",
        "madam", "no", "nr", "new", "year", "day", "christmas", "easter", "eve", "year's", "year’s",
        "ok", "okay", "yes", "sure",
        "sorry", "thanks", "thank", "step", "option", "note", "total", "order", "orders", "customer",
        "date", "amount", "price", "name", "phone", "city", "email", "e-mail", "status", "sum", "herr",
        "prozent", "prozentpunkte", "drittel", "viertel", "fünftel", "hälfte", "zehntel", "stück", "stunden", "minuten",
        "herrn", "frau", "familie", "firma", "liebe", "lieber", "hallo", "guten", "tag", "uhr", "euro",
        "dollar", "ende", "anfang", "mitte", "nummer", "seite",
    }
)  # fmt: skip
_HONORIFIC = frozenset(
    {
        "mr", "mrs", "ms", "dr", "miss", "herr", "herrn", "frau", "familie",
    }
)  # fmt: skip
# Pictures, with what colours and joins them, open a sentence; an arrow does where a line begins, and else joins names.
_PICTURE = "[\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u20e3\U0001f000-\U0001faff]"
_SENTENCE_END = re.compile(rf"(?:^|[.!?:;|\n>(\[\"„“”*_#-]|\d[.)]|{_PICTURE})\s*(?:[\u2190-\u21ff•]\s*)?[*_\"„“(\[]*$")
_ADJECTIVE = re.compile(r"\w{4,}(?:e|en|es|em)")
_GAP = re.compile(r"[ \u00a0](?:[A-Z]\. ?)?|-| & ")
# Before and behind the value of a field in a line, or in the second column of a table.
_LABEL = re.compile(r"(?:^|\n)[ \t>*+|-]*([^\W\d][\w ]{1,30})(?:\**:|[ \t]*\|)[ \t*]+$")
# The headings of a table are no values.
_WHOLE = re.compile(r"[*]*[ \t]*(?:$|[\n,(]|\|[ \t]*(?:$|\n(?![ \t|:]*-)))")


# Words of one name.
MAX_RUN = 8


def known_names(prose: str, facts: Facts, steps: Steps) -> Iterator[tuple[Value, list[Fact]]]:
    """Yield the names in a prose that stand in sources, with where: whole ones, and parts of those of people.

    Args:
        steps: counts what is tried; once they are spent, no more names are found.
    """
    words = list(WORD.finditer(prose))
    keys = [word[0].casefold() for word in words]
    place = 0
    while place < len(words) and not steps.is_spent:
        length, found = _longest(keys, place, facts, steps)
        if found:
            start = words[place].start()
            end = words[place + length - 1].end()
            yield Value("name", start, end, prose[start:end], token=" ".join(keys[place : place + length])), found
            place += length
            continue
        part = facts.parts.get(keys[place]) or facts.parts.get(_singular(keys[place])) or []
        if part and words[place][0][0].isupper() and not _is_common_anywhere(keys[place]):
            if other := _other_half(prose, words, place, facts):
                start, end = other
                yield Value("name", start, end, prose[start:end], token=prose[start:end].casefold()), []
                place += 1 + (start == words[place].start())
                continue
            yield Value("name", words[place].start(), words[place].end(), words[place][0], token=keys[place]), part
        place += 1


def _other_half(prose: str, words: list[re.Match[str]], place: int, facts: Facts) -> tuple[int, int] | None:
    """Return where a name stands of which only one half is known: "Felix Maier" where Felix is Felix Moser's.

    A noun may stand before a German name.
    """
    word = words[place]
    following = words[place + 1] if place + 1 < len(words) else None
    if following and _is_half(following[0], facts) and prose[word.end() : following.start()] in (" ", "\u00a0"):
        return word.start(), following.end()
    before = words[place - 1] if place else None
    if language_of(prose) == "de" or before is None or not _is_half(before[0], facts):
        return None
    is_beside = prose[before.end() : word.start()] in (" ", "\u00a0")
    return (before.start(), word.end()) if is_beside and not before[0].endswith("ly") else None


def _is_half(word: str, facts: Facts) -> bool:
    if len(word) < 3 or not _is_capital(word) or not word[1:].islower():
        return False
    return not (_is_known(word, facts) or _is_common(word, "en") or _is_common(word, "de"))


def _longest(keys: list[str], place: int, facts: Facts, steps: Steps) -> tuple[int, list[Fact]]:
    length = 0
    found = list[Fact]()
    names = facts.names.get(keys[place]) or facts.names.get(_singular(keys[place])) or {}
    for name, facts_of_name in steps.each(names.items()):
        if len(name) < length or not _fits(keys[place : place + len(name)], name):
            continue
        if len(name) > length:
            length = len(name)
            found = []
        found += facts_of_name
    return length, found


def _fits(words: list[str], name: tuple[str, ...]) -> bool:
    if len(words) != len(name):
        return False
    return words[:-1] == list(name[:-1]) and (
        words[-1] == name[-1] or _singular(words[-1]) in (name[-1], _singular(name[-1]))
    )


def _singular(word: str) -> str:
    """Return a word without the ending of a genitive or a plural."""
    for ending in ("'s", "’s", "s'", "es", "s", "'", "’"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def unknown_names(prose: str, facts: Facts, language: str, taken: list[tuple[int, int]]) -> Iterator[Value]:
    """Yield what looks like the name of somebody or something and stands in no source.

    In English a word with a capital letter within a sentence; in both languages two of them in a row.

    Args:
        taken: where other values stand.
    """
    words = [word for word in WORD.finditer(prose) if not _is_taken(word.start(), word.end(), taken)]
    place = 0
    while place < len(words):
        run = [words[place]] if _is_capital(words[place][0]) else []
        while run and len(run) < MAX_RUN and place + len(run) < len(words):
            following = words[place + len(run)]
            if not _is_capital(following[0]) or not _GAP.fullmatch(prose, run[-1].end(), following.start()):
                break
            run.append(following)
        place += max(1, len(run))
        yield from _name(prose, run, facts, language)


def _name(prose: str, run: list[re.Match[str]], facts: Facts, language: str) -> Iterator[Value]:
    before = run[0].start() if run else 0
    is_first = bool(run) and bool(_SENTENCE_END.search(prose, max(0, before - 12), before))
    titled = False
    while run and _is_common(run[0][0], language):
        titled = run[0][0].casefold() in _HONORIFIC
        run = run[1:]
        is_first = False
    while run and _is_common(run[-1][0], language):
        run = run[:-1]
    # The first word of a German sentence may be an adjective before a noun.
    if is_first and language == "de" and run and _ADJECTIVE.fullmatch(run[0][0]):
        run = run[1:]
    if not run:
        return
    if any(_is_known(word[0], facts) for word in run):
        yield from _half_wrong(prose, run, facts)
        return
    is_labelled = _is_value_of_named_field(prose, before, run[-1].end(), facts)
    is_long = len(run) > 1
    is_marked = (is_labelled or (language == "en" and not is_first)) and len(run[0][0]) > 2
    if is_long or titled or is_marked:
        start = run[0].start()
        end = run[-1].end()
        text = prose[start:end]
        yield Value("name", start, end, text, token=text.casefold())


def _is_value_of_named_field(prose: str, start: int, end: int, facts: Facts) -> bool:
    """Whether a line or a row of a table says of a field with names that this is its value: "City: Linz"."""
    label = _LABEL.search(prose, max(0, start - 60), start)
    if label is None or not _WHOLE.match(prose, end):
        return False
    return bool({word.casefold() for word in WORD.findall(label[1])} & facts.fields_with_names)


def _half_wrong(prose: str, run: list[re.Match[str]], facts: Facts) -> Iterator[Value]:
    """Yield a name of a text of which one half is another: "Carol Whitman" of Carol Whitfield."""
    for first, second in pairwise(run):
        if facts.pairs.is_other(first[0], second[0]):
            text = prose[first.start() : second.end()]
            yield Value("name", first.start(), second.end(), text, token=text.casefold())


def _is_capital(word: str) -> bool:
    # An abbreviation is no name.
    return word[0].isupper() and not any(map(str.isdigit, word)) and not (word.isupper() and len(word) > 1)


def _is_common(word: str, language: str) -> bool:
    small = word.casefold()
    return (
        small in _CAPITALS
        or small in common_words(language)
        or small in weekdays()
        or _singular(small) in weekdays()
        or small in months()
    )


def _is_common_anywhere(word: str) -> bool:
    """Whether a word stands in nearly every text of some language: the article of a title is no part of a name."""
    return word in common_words("en") or word in common_words("de")


def _is_known(word: str, facts: Facts) -> bool:
    small = word.casefold()
    return small in facts.words or _singular(small) in facts.words or small in facts.parts


def _is_taken(start: int, end: int, taken: list[tuple[int, int]]) -> bool:
    """Return whether a place is within one of some places, which are in their order and do not overlap."""
    place = bisect_right(taken, (start, float("inf")))
    return any(first < end and start < last for first, last in taken[max(0, place - 1) : place + 1])
