"""What a person answers to an interrupt, as clients send it."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.services.errors import Refused
from assistant.services.runs.input.resume_entries import parse_resume
from assistant.services.text import MAX_TEXT


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("41", "41"),
        ({"sum": 41, "unit": "€"}, '{"sum": 41, "unit": "€"}'),
        ([1, 2], "[1, 2]"),
        (41, "41"),
        (False, "false"),
        ("", ""),
        (None, None),
    ],
)
def test_a_response_is_a_text_or_any_json(response: Any, text: str | None) -> None:
    assert parse_resume("c1", "resolved", {"approved": True, "response": response}).response == text


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        ({"approved": True, "response": "x" * (MAX_TEXT + 1)}, "at most"),
        ({"approved": True, "response": ["x" * MAX_TEXT]}, "at most"),
        ({"approved": False, "response": {"sum": 41}}, "approved true"),
        ({"approved": True, "answer": 41}, "answer"),
        ({"approved": "yes"}, "true or false"),
    ],
)
def test_other_payloads_are_refused(payload: dict[str, Any], told: str) -> None:
    with pytest.raises(Refused, match=told) as refused:
        parse_resume("c1", "resolved", payload)
    assert refused.value.code == "invalid_input"
