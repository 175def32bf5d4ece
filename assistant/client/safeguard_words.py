"""Ends a turn in whose question or answer stands a word that must not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from assistant.core.conversation.turn_endings import GuardrailTripped
from assistant.core.extensions.extension import Extension, ExtensionRun
from assistant.toolkit.translation import gettext


class SafeguardWords(Extension[None]):
    """Ends a turn if the message that is answered, or the answer, has one of some words.

    The words are found in any case, as whole words, however their letters are composed. A message that has one never
    reaches the model; an answer is refused when it is complete, which those who follow a stream have then seen.

    Args:
        words: words, or several with spaces between them.
        sentence: what the user reads; by default that this cannot be answered.
        answers: whether answers are searched too.

    Raises:
        ValueError: there are no words, or one is empty.
    """

    name = "assistant.safeguard_words"
    guards = True
    in_sub_agents = True

    def __init__(self, words: Iterable[str], *, sentence: str = "", answers: bool = True) -> None:
        folded = [words] if isinstance(words, str) else list(words)
        if not folded or not all(_fold(word).strip() for word in folded):
            raise ValueError("SafeguardWords needs words.")
        longest_first = sorted((_fold(word).split() for word in folded), key=len, reverse=True)
        alternatives = "|".join(r"\s+".join(map(re.escape, parts)) for parts in longest_first)
        self._pattern = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)")
        self._sentence = sentence
        self._answers = answers

    async def opened(self, run: ExtensionRun[None]) -> None:
        asked = run.messages[-1] if run.messages else None
        if asked is not None and asked.role == "user":
            self._check(f"{asked.page}\n{asked.content}")

    async def check_answer(self, run: ExtensionRun[None], answer: Any) -> Any:
        if self._answers:
            self._check(run.text)
        return answer

    def _check(self, text: str) -> None:
        if self._pattern.search(_fold(text)):
            raise GuardrailTripped(self._sentence or gettext("This cannot be answered here."))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
