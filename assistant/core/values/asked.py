"""What a person is shown about a call that waits for their approval or answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.toolkit.definition.questions import Question
from assistant.toolkit.schema.json_schema import JsonSchema

# Between the id of a call and the number of its question, in the ids of interrupts after its first question.
_NUMBERED = re.compile(r"(.+)~([0-9]{1,2})", re.ASCII | re.DOTALL)


def interrupt_id(call_id: str, number: int) -> str:
    """Return the id of the interrupt with a call's question of this number, from 1; that of its first is the call's.

    Each has its own, so that an answer that is sent again is not taken for one to the next question.
    """
    return call_id if number <= 1 else f"{call_id}~{number}"


def call_of(interrupt_id: str) -> tuple[str, int]:
    """Return the id of the call that an interrupt is about, and the number of the question; 0 if there is none."""
    found = _NUMBERED.fullmatch(interrupt_id)
    return (interrupt_id, 0) if found is None else (found[1], int(found[2]))


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked about a waiting call.

    Attributes:
        title: the tool's name for people.
        parameters: the tool's parameters, for a form of the arguments.
        question: what the tool asks; None if the call needs an approval.
        answers: the answers to its earlier questions, by their keys.
        changes: what the call would change, as JSON values with `label`, `old` and `new`.
    """

    title: str
    parameters: JsonSchema
    question: Question | None = None
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    changes: Sequence[dict[str, Any]] = ()
