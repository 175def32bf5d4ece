"""Recognises that a conversation is too long for the model, by the codes and sentences of real servers.

docs/provider-quirks.md lists the servers.
"""

from __future__ import annotations

import re

_CODES = re.compile(
    r"context_length|exceed_context|context_window|string_above_max_length|array_above_max_length|tokens_limit_reached|request_too_large",
    re.IGNORECASE,
)
# Statuses with which servers refuse such a request; None for an error in a stream.
_STATUSES = frozenset({None, 400, 413, 422, 500})
_SENTENCES = re.compile(
    "|".join(
        (
            r"maximum (?:context|prompt|model) length",
            r"(?:exceeds?|exceeded|longer than|over) (?:the |this |its )?(?:available |model'?s? |maximum |max )*"
            r"(?:context|token limit|number of tokens)",
            r"(?:prompt|input|request|conversation)(?: \([^)]{0,40}\))? is too (?:long|large)",
            r"prompt too long",
            r"too large for model",
            r"exceed context limit",
            r"input token count\b.{0,40}\bexceeds",
            r"longer than the (?:maximum )?model(?:'s)? (?:length|context)",
            r"reduce the length of the (?:messages|prompt|input)",
            r"range of input length should be",
            r"tokens \+ `?max_new_tokens`? must be",
            r"context (?:the )?overflows",
            r"context window exceeds",
            r"too many tokens: ",
            r"payload size exceeds",
        )
    ),
    re.IGNORECASE,
)
# One request beyond the account's tokens a minute, which would be refused at any time; 413 has no other reason at all.
_ABOVE_RATE = re.compile(r"request too large for\b.{1,300}\blimit \d+, requested \d+", re.IGNORECASE | re.DOTALL)
MAX_SEARCHED = 4_000


def is_overflow(status: int | None, codes: str, sentence: str) -> bool:
    """Return whether an error says that the conversation exceeds the model's context.

    Args:
        status: the HTTP status; None if there is none.
        codes: the error's codes and types.
        sentence: its text.
    """
    if status == 413 or _CODES.search(codes):
        return True
    if status == 429:
        return _ABOVE_RATE.search(sentence[:MAX_SEARCHED]) is not None
    return status in _STATUSES and _SENTENCES.search(sentence[:MAX_SEARCHED]) is not None
