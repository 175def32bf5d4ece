"""What a person is told about a call that waits for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.toolkit.definition.questions import Question
from assistant.toolkit.schema.json_schema import JsonSchema


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
