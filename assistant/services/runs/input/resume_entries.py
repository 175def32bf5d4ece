"""Reads the answers to interrupts in a client's input."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

from assistant.core.conversation.turn_endings import ANSWER_FIELDS
from assistant.core.values.asked import call_of
from assistant.services.errors import Refused
from assistant.services.text import MAX_TEXT
from assistant.toolkit.text import clean_text

MAX_REASON = 1000


@dataclass(frozen=True, slots=True)
class Resume:
    """A person's answer to an interrupt.

    Attributes:
        is_answer: its `response` answers a question, not an approval.
        is_abandoned: nobody answered; the call is declined, after its time too.
        question: the number of the call's question that it answers; 0 for the first, and for an approval.
    """

    interrupt_id: str
    approved: bool
    edited_arguments: dict[str, Any] | None = None
    reason: str = ""
    response: str | None = None
    is_answer: bool = False
    is_abandoned: bool = False
    question: int = 0


def digest_of_answers(entries: Iterable[Resume]) -> str:
    """Return the digest by which the same answers, sent again, are known; "" for none."""
    # As it was written before calls had several questions, for those that have one.
    values = (astuple(entry) if entry.question else astuple(entry)[:-1] for entry in entries)
    written = sorted(json.dumps(one, sort_keys=True, ensure_ascii=True) for one in values)
    return hashlib.sha256("\n".join(written).encode()).hexdigest() if written else ""


def parse_resume(interrupt_id: str, status: str, payload: object) -> Resume:
    """Parse an entry of AG-UI's `resume`. Raises `Refused`."""
    call, number = call_of(clean_text(interrupt_id))
    return replace(_read(call, status, payload), question=number)


def _read(interrupt_id: str, status: str, payload: object) -> Resume:
    if status == "cancelled":
        return Resume(interrupt_id, approved=False, is_abandoned=True)
    if isinstance(payload, Mapping) and "approved" not in payload and payload:
        return Resume(interrupt_id, approved=True, response=_answer(payload), is_answer=True)
    if not isinstance(payload, Mapping) or not isinstance(payload.get("approved"), bool):
        raise Refused("invalid_input", 'A resume payload must be an object with "approved": true or false.')
    if unknown := set(payload) - set(ANSWER_FIELDS):
        # Not ignored, because a call that the person meant to change would run unchanged.
        known = ", ".join(ANSWER_FIELDS)
        raise Refused("invalid_input", f"A resume payload has {known}, and no {clean_text(str(min(unknown)))[:100]}.")
    edited, reason, response = payload.get("editedArgs"), payload.get("reason", ""), payload.get("response")
    if edited is not None and not isinstance(edited, dict):
        raise Refused("invalid_input", "editedArgs must be an object.")
    if not isinstance(reason, str):
        raise Refused("invalid_input", "reason must be a text.")
    if response is not None and not payload["approved"]:
        raise Refused("invalid_input", "response is used in place of the call: it needs approved true.")
    answer = None if response is None else _answer(response)
    return Resume(interrupt_id, payload["approved"], edited, clean_text(reason)[:MAX_REASON], answer)


def _answer(answer: Any) -> str:
    """Return an answer as text: a text is itself, everything else its JSON.

    Opening the run checks that of a tool's question against the question's schema.
    """
    text = clean_text(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
    if len(text) > MAX_TEXT:
        raise Refused("invalid_input", f"An answer holds at most {MAX_TEXT} characters.")
    return text
