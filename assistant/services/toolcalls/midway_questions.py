"""The question that a running call has asked, and its earlier answers, as the call's row keeps them until it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.toolkit import Question

Answers = Mapping[str, Mapping[str, Any]]


def to_store(outcome: ToolOutcome) -> str:
    """Return what the row of a call keeps, a JSON text; "" for a call that asks nothing while it runs."""
    asked = outcome.asked
    if outcome.status != "awaiting_approval" or asked is None or asked.question is None or not asked.question.key:
        return ""
    question = {"text": asked.question.text, "schema": asked.question.schema, "key": asked.question.key}
    return json.dumps({"question": question, "answers": asked.answers})


def stored_question(text: str) -> Question | None:
    """Return the question of a waiting call; None if it waits for an approval."""
    return Question(**json.loads(text)["question"]) if text else None


def number_of(text: str) -> int:
    """Return the number of a waiting call's question, as `Resume.question` counts; 0 for an approval."""
    answered = len(json.loads(text)["answers"]) if text else 0
    return answered + 1 if answered else 0


def answers_with(text: str, response: str) -> Answers:
    """Return all answers of a waiting call by their keys, the new one checked.

    Args:
        text: what its row keeps.
        response: the answer to its question, a JSON text.

    Raises:
        InvalidArguments: the answer does not fit the question's schema.
    """
    kept = json.loads(text)
    question = Question(**kept["question"])
    return {**kept["answers"], question.key: question.check(response)}
