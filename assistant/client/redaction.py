"""Takes personal data and keys out of texts and JSON values, by patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# E-mail addresses, numbers of cards, accounts and telephones, and what looks like a key or a token.
PRIVATE = (
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    r"\+?\d(?:[ -]?\d){8,}",
    r"(?i)(?:bearer +|sk-|ghp_|eyJ)[\w.~+/-]{10,}=*",
)
MARK = "[hidden]"


class Redaction:
    """Replaces matches of regular expressions by a mark.

    Raises:
        TypeError: the patterns are no list of texts, or the mark is no text.
        ValueError: a pattern is no regular expression.
    """

    def __init__(self, patterns: Iterable[str | re.Pattern[str]], mark: str = MARK) -> None:
        if isinstance(patterns, str):
            raise TypeError(f"Give the patterns of what is hidden as a list, as [{patterns!r}].")
        if not isinstance(mark, str):
            raise TypeError(f"The mark is a text, not {mark!r}.")
        self._patterns = [_compiled(pattern) for pattern in patterns]
        self._mark = mark

    def text(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(lambda _: self._mark, text)
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON value with matches in its strings and numbers replaced."""
        if isinstance(value, dict):
            return {self.value(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int | float) and self.text(str(value)) != str(value):
            return self._mark
        return value


def _compiled(pattern: object) -> re.Pattern[str]:
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        return pattern
    if not isinstance(pattern, str):
        raise TypeError(f"A pattern of what is hidden is a text, not {pattern!r}.")
    try:
        return re.compile(pattern)
    except re.error as exc:
        raise ValueError(f"The pattern {pattern!r} is no regular expression: {exc}.") from exc
