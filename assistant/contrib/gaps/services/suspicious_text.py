"""What is suspicious in a text that assistants quote: what people cannot see, orders to assistants, and look-alikes.

Each finding is for a person to judge: none of it changes what the document holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from assistant.contrib.gaps.models import DocumentDoubt
from assistant.services.knowledge.invisible import INVISIBLE, without_invisible

# Findings of a document, and characters around one that are shown.
MAX_FINDINGS = 20
AROUND = 60
# Of a text this much is looked at; documents are longer only by mistake.
MAX_CHARACTERS = 2_000_000

# What a page of Markdown or HTML holds without showing it.
_UNSHOWN = re.compile(
    r"<!--.{0,2000}?-->|^\[(?://|comment)\]:\s*#.{0,500}$|style\s*=\s*[\"'][^\"'>]{0,200}"
    r"(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d]))",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
# Orders that no handbook gives its readers, in the languages of most attacks; each needs a verb and what it aims at.
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}"
    r"\b(?:instructions?|prompts?|rules|guidelines|context|guardrails?)\b"
    r"|\b(?:ignorier\w*|vergiss|missachte\w*)\b[^.\n]{0,40}\b(?:anweisung\w*|regeln|vorgaben|prompts?)\b"
    r"|\b(?:ignora\w*|olvida\w*|omite)\b[^.\n]{0,40}\b(?:instrucciones|reglas|indicaciones|istruzioni)\b"
    r"|\b(?:ignore[zr]?|oublie[zr]?)\b[^.\n]{0,40}\b(?:instructions|consignes|r[eè]gles)\b"
    r"|\b(?:you are now|from now on,? you|act as|pretend to be)\b[^.\n]{0,40}"
    r"\b(?:an? (?:assistant|ai|admin\w*|model|system)|dan|unrestricted|developer mode)\b"
    r"|\b(?:system prompt|systemprompt|developer message)\b"
    r"|\bdo not (?:tell|inform|mention|reveal)\b[^.\n]{0,30}\b(?:the )?(?:user|customer|reader)\b"
    r"|\b(?:attention|note to|hinweis an)\b[^.\n]{0,15}\b(?:ai|llm|language model)s?\b[^.:\n]{0,20}:"
    r"|<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>|</?(?:system|assistant|tool_call|function_call)>",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{3,64}")
# Scripts whose letters look like Latin ones.
_ALIKE = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")
# Letters that pass for Latin ones, for titles that are compared.
_SKELETON = str.maketrans("аеорсухіјѕԁһӏαορυνικ", "aeopcyxijsdhlaopuvik")


class Suspicion(NamedTuple):
    """What is suspicious: its kind, and the place in the text."""

    kind: str
    start: int
    detail: str


def suspicions(text: str) -> Iterator[Suspicion]:
    """Yield what is suspicious in a text, at most `MAX_FINDINGS` of a kind."""
    text = text[:MAX_CHARACTERS]
    for pattern, kind in (
        (INVISIBLE, DocumentDoubt.Kind.HIDDEN),
        (_UNSHOWN, DocumentDoubt.Kind.HIDDEN),
        (_ORDERS, DocumentDoubt.Kind.INSTRUCTIONS),
    ):
        for number, found in enumerate(pattern.finditer(text)):
            if number == MAX_FINDINGS:
                break
            # The mark of the byte order at the beginning of a file hides nothing.
            if found.start() == 0 and found[0] == "\ufeff":
                continue
            yield Suspicion(kind, found.start(), shown(text, found.start(), found.end()))
    for number, word in enumerate(_mixed_words(text)):
        if number == MAX_FINDINGS:
            break
        yield Suspicion(DocumentDoubt.Kind.LOOKALIKE, word.start(), shown(text, word.start(), word.end()))


def _mixed_words(text: str) -> Iterator[re.Match[str]]:
    """Yield words that have letters of Latin and of a script that looks like it."""
    if text.isascii():
        return
    for word in _WORD.finditer(text):
        if not word[0].isascii() and is_mixed(word[0]):
            yield word


def is_mixed(word: str) -> bool:
    """Return whether a word has letters of Latin and of a script whose letters look like these."""
    names = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
    return "LATIN" in names and not names.isdisjoint(_ALIKE)


def skeleton(title: str) -> str:
    """Return what a title looks like: two that people take for each other have the same."""
    plain = unicodedata.normalize("NFKD", without_invisible(title).casefold().translate(_SKELETON))
    letters = "".join(letter for letter in plain if letter.isalnum())
    # A capital I, a small l and a one are the same line in many typefaces.
    return letters.translate(str.maketrans("01i", "oll"))


def shown(text: str, start: int, end: int) -> str:
    """Return a place of a text with what is around it, what is invisible as its code."""
    cut = text[max(0, start - AROUND) : min(end, start + 150) + AROUND]
    visible = INVISIBLE.sub(lambda found: "".join(f"<U+{ord(one):04X}>" for one in found[0][:8]), cut)
    return " ".join(visible.split())[:300]
