"""Finds actions that an answer claims to have done, and whether a call of the run did them.

A claim is a sentence in which the assistant says that it has done something ("I have cancelled it"), or that something
was done just now ("Your booking has been moved"). Verbs are in groups of one meaning; a tool belongs to the
groups whose words its name, title or description has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.prose import masked, sentences
from assistant.contrib.receipts.matching.verbs import (
    EMPTY,
    GROUPS,
    OF_TEXTS,
    english_verbs,
    german_verbs,
    groups_of,
)

# Limits of one answer.
MAX_CLAIMS = 20
MAX_CHARACTERS = 32_000
# Characters of a sentence that are looked at.
MAX_SENTENCE = 600


@dataclass(frozen=True, slots=True)
class Done:
    """A call of a run.

    Attributes:
        text: its name, title and description.
        is_read_only: whether the tool changes nothing.
        is_successful: whether it returned a result.
    """

    name: str
    text: str = ""
    is_read_only: bool = False
    is_successful: bool = True


@dataclass(frozen=True, slots=True)
class Claim:
    """An action that an answer claims, and the name of the tool that did it; "" if none has."""

    start: int
    end: int
    verb: str
    tool: str = ""


@cache
def _english() -> re.Pattern[str]:
    verbs = words.alternatives(english_verbs())
    adverb = (
        r"(?:(?:just|now|already|also|successfully|meanwhile|gone ahead and"
        r"|went ahead and|even|since|both|duly|happily|immediately)[ ,]+){0,3}"
    )
    return re.compile(
        rf"""
        \b(?P<who>I|we)(?:[ ]have|['’]ve|[ ]had)?[ ]+{adverb}(?P<active>{verbs})\b
        |\b(?:I|we)(?:['’]ve|[ ]have)?[ ](?!have\b|had\b|can\b|could\b|will\b)[^.;:?!\n]{{1,60}}?
            [ ]and[ ]{adverb}(?P<then>{verbs})\b
        |\b(?P<passive>has|have)[ ]+(?:now[ ]|just[ ]|already[ ]|also[ ]|successfully[ ]){{0,2}}
            been[ ]+{adverb}(?P<been>{verbs})\b
        |\b(?P<past>was|were|is|are)[ ]+(?:now|just|successfully|already)[ ]+(?P<done>{verbs})\b
        |\b(?:is|are)[ ]+(?P<since>{verbs})[ ]+now\b
        |^[*_ ]*(?:done|all[ ]set|all[ ]done|ok(?:ay)?|sure)[*_]*[,:!.–-]+[ ]*(?:[\w-]+[ ]){{0,3}}(?P<short>{verbs})\b
        |^[*_ ]*(?P<alone>{verbs})[*_ ]*[.!]?$
        |\b(?P<bare>was|were)[ ]+(?P<simple>{verbs})\b
        |(?P<more>\b(?:and|then|,)[ ]+{adverb}(?P<also>{verbs})\b)
        |(?P<tail>\band[ ](?:the[ ])?[\w -]{{1,30}}?[ ]{adverb}(?P<last>{verbs})(?=[.!,]|$))
        """,
        re.VERBOSE | re.IGNORECASE,
    )


@cache
def _german() -> re.Pattern[str]:
    verbs = words.alternatives(german_verbs())
    return re.compile(rf"\b(?P<verb>{verbs})\b", re.IGNORECASE)


_GERMAN_ACTIVE = re.compile(r"\b(?:habe ich|ich habe|ich hab|haben wir|wir haben|habe)\b", re.IGNORECASE)
_GERMAN_PASSIVE = re.compile(
    r"\b(?:wurden?|worden|ist jetzt|ist nun|sind jetzt|sind nun|^erledigt\W.*(?:ist|sind))\b", re.IGNORECASE
)
_RECENT = re.compile(
    r"\b(?:just|now|successfully|a minute ago|a moment ago|your|done"
    r"|soeben|gerade|jetzt|nun|eben|erfolgreich|ihre?[mnrs]?|erledigt)\b",
    re.IGNORECASE,
)
# What makes a sentence no claim: a negation, a condition, an offer, a question, a rule.
_NO_CLAIM = re.compile(
    r"\b(?:not|n['’]t|never|nothing|cannot|if|once|when|after|before|unless|until|should|would|could|can|may|might|must|shall"
    r"|will|to be"
    r"|once|whether|any(?:one|body|thing)? that|that have been|that has been|which (?:has|have) been|can no longer"
    r"|nicht|nichts|kein\w*|nie|wenn|falls|sobald|sofern|bevor|nachdem|soll(?:en|te)?|würde\w*|könnte\w*|kann|können|werde|wird|werden)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
# Behind a verb, what says that it was done to nothing.
_NOTHING = re.compile(r"[ ]+(?:nothing|none|nobody|no(?:[ ]one)?|neither)\b", re.IGNORECASE)
# Before a claim, and no part of it.
_CONFIRMED = re.compile(r"\b(?:can|may)[ ](?:now[ ]|also[ ])?(?:confirm|report|tell you|say)\b", re.IGNORECASE)
# What an answer is made of, and what changes nothing when it is made.
_OF_ANSWER = re.compile(
    r"\b(?:(?<!waiting )(?<!guest )lists?|tables?|overview|summary"
    r"|drafts?|below|above|example|calculation|chart|diagram|here|in order"
    r"|liste|tabelle|übersicht|zusammenfassung|entwurf|unten|oben|beispiel|hier)\b",
    re.IGNORECASE,
)
# A statement about the past that a record makes, not the assistant.
_RECORDED = re.compile(
    r"\b(?:by (?:the|your|our|a|an|him|her|them|it)\b|on \w+day|on \d+|in (?:19|20)\d\d|in \w+ (?:19|20)\d\d"
    r"|ago|yesterday|last (?:week|month|year)"
    r"|on (?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r"|you (?:have|had|cancelled|ordered|paid)|yourself|since"
    r"|vor \d+|vor \w+ (?:tagen|wochen|monaten)|gestern"
    r"|im (?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)"
    r"|am \d+|\w+mal|(?:19|20)\d\d|vom kunden)\b",
    re.IGNORECASE,
)


def claims_of(answer: str, calls: Sequence[Done], looked_up: Iterable[str] = ()) -> list[Claim]:
    """Return the actions that an answer claims, in its order, each with the tool that did it or "".

    Args:
        calls: of the run, and of earlier runs of the thread.
        looked_up: words of what the run has read, in small letters: what was done before and stands there is no claim.
    """
    prose = masked(answer[:MAX_CHARACTERS])
    known = frozenset(looked_up)
    changing = [call for call in calls if not call.is_read_only and call.is_successful]
    found = list[Claim]()
    for start, end in sentences(prose):
        sentence = prose[start : min(end, start + MAX_SENTENCE)]
        if sentence.rstrip("*_ ").endswith("?"):
            continue
        for place, verb, is_active in _claimed(sentence):
            if _OF_ANSWER.search(sentence) and set(groups_of().get(verb, ())) & OF_TEXTS:
                continue
            if not is_active and (verb in known or _stem_is_known(verb, known)) and not _says_now(sentence):
                continue
            tool = _doer(verb, changing) or _doer_of_noun(verb, sentence, changing)
            found.append(Claim(start + place, start + place + len(verb), verb, tool))
    return found[:MAX_CLAIMS]


def _claimed(sentence: str) -> list[tuple[int, str, bool]]:
    """Return the verbs of a sentence that are claims: where each stands, in small letters, and if in the active."""
    found = list[tuple[int, str, bool]]()
    is_open = False
    for match in _english().finditer(sentence):
        group = next(
            name
            for name in ("active", "then", "short", "alone", "been", "done", "since", "simple", "also", "last")
            if match[name]
        )
        place = match.start(group)
        verb = match[group].casefold()
        before = _CONFIRMED.sub("", _clause(sentence, place))
        if _NO_CLAIM.search(before) or _NOTHING.match(sentence, match.end(group)):
            is_open = False
            continue
        if group in ("also", "last"):
            if is_open and found:
                found.append((place, verb, found[-1][2]))
            continue
        if group in ("active", "then", "short", "alone"):
            is_open = True
            found.append((place, verb, True))
        elif _RECORDED.search(sentence) or (group == "simple" and not _RECENT.search(sentence)):
            is_open = False
        else:
            is_open = True
            found.append((place, verb, False))
    return found + _claimed_in_german(sentence)


def _claimed_in_german(sentence: str) -> list[tuple[int, str, bool]]:
    is_active = bool(_GERMAN_ACTIVE.search(sentence))
    is_passive = bool(_GERMAN_PASSIVE.search(sentence))
    found = list[tuple[int, str, bool]]()
    if not (is_active or is_passive) or _NO_CLAIM.search(
        sentence.replace("werden", "").replace("wird", "") if is_active else sentence
    ):
        return found
    if not is_active and _RECORDED.search(sentence):
        return found
    return [(match.start("verb"), match["verb"].casefold(), is_active) for match in _german().finditer(sentence)]


def _clause(sentence: str, place: int) -> str:
    """Return what stands before a verb in its clause: behind the last semicolon or full stop, or "but"."""
    start = max(sentence.rfind(sign, 0, place) for sign in (";", ". ", " but ", ": ")) + 1
    return sentence[start:place]


def _says_now(sentence: str) -> bool:
    return bool(re.search(r"\b(?:just|now|successfully|soeben|gerade|jetzt|erfolgreich)\b", sentence, re.IGNORECASE))


def _stem_is_known(verb: str, known: frozenset[str]) -> bool:
    return verb.replace("cancelled", "canceled") in known or verb.replace("canceled", "cancelled") in known


def _doer(verb: str, changing: Sequence[Done]) -> str:
    """Return the tool that did what a verb says: one of the verb's groups, else one of no group at all."""
    groups = groups_of().get(verb, ())
    of_no_group = ""
    for call in changing:
        own = _groups_of(call.name, call.text)
        if any(group in own for group in groups):
            return call.name
        if not own:
            of_no_group = of_no_group or call.name
    return of_no_group


def _doer_of_noun(verb: str, sentence: str, changing: Sequence[Done]) -> str:
    """Return the tool whose verb a sentence has as a noun: "the refund has been issued" is said of one that refunds."""
    if verb not in EMPTY:
        return ""
    nouns = _groups_said(sentence.casefold())
    return next((call.name for call in changing if nouns & _named_in(call.name)), "")


def has_verb(tool: Done) -> bool:
    """Return whether the name, the title or the description of a tool has one of the verbs."""
    return bool(_groups_of(tool.name, tool.text))


def _groups_said(sentence: str) -> frozenset[int]:
    return _named_in(" ".join(word for word in re.findall(r"\w+", sentence) if word not in groups_of()))


@cache
def _groups_of(name: str, text: str) -> frozenset[int]:
    by_name = _named_in(name)
    return by_name | _named_in(text) if by_name else _named_in(text)


def _named_in(text: str) -> frozenset[int]:
    parts = [part.casefold() for part in re.findall(r"[A-Z]?[a-zäöüß]+|[A-Z]+", text)]
    return frozenset(
        number
        for number, group in enumerate(GROUPS)
        if any(_is_verb(part, stem) for part in parts for stem in group.tools.split())
    )


def _is_verb(part: str, stem: str) -> bool:
    return part == stem or (len(stem) >= 4 and part.startswith(stem) and len(part) - len(stem) <= 4)
