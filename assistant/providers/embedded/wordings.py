"""What a handbook may say to a question: a small model writes it in a request of its own.

In a tool's call it repeats the question, or writes few words, which is quick and finds what is said in the question's
words. Asked for nothing but headings, words and a sentence, and with what repeats the question made less likely, it
finds many questions that are asked in other words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.messages import Message

# Characters of a question that are read.
MAX_QUESTION = 500
MAX_TOKENS = 200
SYSTEM = (
    "You help to search a company's handbooks for staff and customers. People ask in everyday words; handbooks use "
    "formal words. For a question you write three headings under which it may be answered, ten formal words, and a "
    "sentence of the handbook. You avoid the question's words."
)
# Nothing that a demo or a company would be asked often: small models repeat what they see.
_EXAMPLES: Sequence[tuple[str, dict[str, Any]]] = (
    (
        "Somebody bumped into my van on a delivery. What now?",
        {
            "headings": ["Traffic accidents", "Company vehicles", "Insurance claims"],
            "words": "accident collision damage vehicle fleet report police insurance liability driver",
            "sentence": "Accidents with company vehicles are reported to the fleet manager and the police.",
        },
    ),
    (
        "May I light up on the balcony?",
        {
            "headings": ["Smoking", "House rules", "Health protection"],
            "words": "smoking tobacco cigarettes prohibited permitted designated area building premises ban",
            "sentence": "Smoking is prohibited inside buildings and permitted in designated areas only.",
        },
    ),
    (
        "I moved to another flat. Who has to know?",
        {
            "headings": ["Change of address", "Personal data", "Staff records"],
            "words": "residence address change personal data notification payroll employee personnel department",
            "sentence": "Employees notify the personnel department of each change of address.",
        },
    ),
    (
        "The trousers are too tight. Can I swap them?",
        {
            "headings": ["Exchange of goods", "Returns", "Sizes"],
            "words": "exchange return replacement clothing size garment unworn period purchase order",
            "sentence": "Garments may be exchanged for another size within the return period.",
        },
    ),
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "headings": {
            "type": "array",
            "items": {"type": "string", "maxLength": 40},
            "minItems": 3,
            "maxItems": 3,
        },
        "words": {"type": "string", "maxLength": 140},
        "sentence": {"type": "string", "maxLength": 160},
    },
    "required": ["headings", "words", "sentence"],
    "additionalProperties": False,
}
_OPTIONS = {
    "temperature": 0,
    "max_tokens": MAX_TOKENS,
    # Of the last so many tokens, in which the question is. Without a penalty they are written again.
    "repeat_penalty": 1.15,
    "repeat_last_n": 80,
}


def wordings_request(question: str) -> ModelRequest:
    """Return the request for what a handbook may say to a question."""
    shown = [
        message
        for asked, written in _EXAMPLES
        for message in (Message("user", asked), Message("assistant", json.dumps(written)))
    ]
    return ModelRequest(
        [Message("system", SYSTEM), *shown, Message("user", question[:MAX_QUESTION])],
        options=_OPTIONS,
        response_format={"type": "json_schema", "json_schema": {"name": "wordings", "schema": _SCHEMA}},
    )


def written_wordings(text: str) -> list[str]:
    """Return the headings, the sentence, and all words, that a model has written; none if it broke off."""
    try:
        written = json.loads(text)
        headings = " ".join(written["headings"])
        return [headings, written["sentence"], f"{headings} {written['words']}"]
    except (ValueError, TypeError, KeyError):
        return []
