"""The work of a receipt has an end, whatever the answer and what was looked up are."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from assistant.contrib.receipts.matching.matching import MAX_VALUES
from assistant.contrib.receipts.matching.steps import MAX_STEPS
from assistant.contrib.receipts.services.receipt import MadeReceipt, make_receipt
from assistant.core.values.messages import Message

NOW = datetime(2026, 3, 16, 10, tzinfo=UTC)


def receipt(answer: str, content: str) -> MadeReceipt:
    messages = (Message("user", "Well?"), Message("tool", content, tool_call_id="call"))
    return make_receipt(answer, messages=messages, calls=(), now=NOW)


def test_an_answer_of_8000_characters_and_200_values_takes_few_steps() -> None:
    rows = [{"id": number, "name": f"Person {number}", "total": f"{number * 1.37:.2f}"} for number in range(500)]
    said = " ".join(f"Somebody else paid {number * 1.37 + number % 2 * 0.01:.2f} for it." for number in range(1, 201))
    made = receipt(said[:8_000].ljust(8_000, "."), json.dumps(rows))
    assert len(made.marks) == 200 and made.unsupported > 90
    assert made.steps < 20_000


@pytest.mark.parametrize(
    "piece", ["9", "1,", "a1-", "@a.", "A ", "1 ", "[1](", "`", "and I ", "+1 ", "2 May ", "Anna B. "]
)
def test_hostile_texts_stay_within_the_limits(piece: str) -> None:
    made = receipt((piece * 32_000)[:32_000], (piece * 30_000)[:30_000])
    assert len(made.marks) <= 2 * MAX_VALUES and made.steps <= MAX_STEPS


@pytest.mark.parametrize(
    "content", ["[" * 100_000, '{"a": 1e999999, "b": 1E-99999}', "9" * 5_000, '{"a": "\\ud800"}', ""]
)
def test_hostile_results_are_read(content: str) -> None:
    assert receipt("It is 7 today.", content).unsupported == 1
