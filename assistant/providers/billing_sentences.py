"""Recognises that an account has no money left, by the codes and sentences of real providers.

docs/provider-quirks.md lists the providers. Gemini's "You exceeded your current quota, please check your plan and
billing details" is not among them: it also says that of its limits of requests a minute.
"""

from __future__ import annotations

import re

# Characters of an error that are looked at.
MAX_SEARCHED = 4_000
_CODES = re.compile(
    r"insufficient_(?:quota|balance|credit|funds)|billing_(?:error|disabled|not_active|hard_limit)|payment_required"
    r"|exceeded_current_quota|budget_exceeded|exceededbudget|arrearage|freetieronly|(?:spend|spending)_limit"
    r"|account_?overdue|resourcepackexhausted",
)
# A character as JSON of ASCII alone has it.
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
# Statuses with which providers refuse such requests; None for an error in a stream.
_STATUSES = frozenset({None, 400, 401, 403, 412, 429})
_SENTENCES = re.compile(
    "|".join(
        (
            r"credit balance is too low",
            r"insufficient (?:account )?(?:balance|credit|funds)",
            r"balance is (?:insufficient|not enough|too low)",
            r"(?:all available|out of|requires more|no more|prepayment|monthly included) credits\b",
            r"(?:spending|spend|billing) (?:limit|cap)\b",
            r"specified API usage limits",
            r"billing to be enabled|enable billing|billing is disabled",
            r"budget has been exceeded|over budget",
            r"key limit exceeded",
            r"check your billing details",
            r"free tier of the model has been exhausted",
            r"unpaid invoice|past invoices|account is in good standing",
            r"余额不足|欠费",
        )
    ),
    re.IGNORECASE,
)


def is_unpaid(status: int | None, codes: str, sentence: str) -> bool:
    """Return whether an error says that the account has no money left, or may spend no more.

    Args:
        status: the HTTP status; None if there is none.
        codes: the error's codes and types, in lower case.
        sentence: its text.
    """
    if status == 402 or _CODES.search(codes):
        return True
    return status in _STATUSES and _SENTENCES.search(sentence[:MAX_SEARCHED]) is not None


def says_unpaid(body: bytes) -> bool:
    """Return whether the body of a 429, in any wire format, says that the account has no money left."""
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), body[:MAX_SEARCHED].decode("utf-8", "replace"))
    return is_unpaid(429, text.lower(), text)
