"""The work of a receipt has an end, whatever the answer and what was looked up are."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

import pytest

from assistant.contrib.receipts.matching.matching import MAX_VALUES, Mark, marks_of
from assistant.contrib.receipts.matching.steps import MAX_STEPS, Steps
from assistant.contrib.receipts.services.receipt import MadeReceipt, facts_of, make_receipt
from assistant.core.values.messages import Message

NOW = datetime(2026, 3, 16, 10, tzinfo=UTC)


def receipt(answer: str, content: str) -> MadeReceipt:
    messages = (Message("user", "Well?"), Message("tool", content, tool_call_id="call"))
    return make_receipt(answer, messages=messages, calls=(), now=NOW)


def counted(answer: str, content: str) -> tuple[list[Mark], int, int]:
    """Return the marks of an answer, the steps, and how many functions were called to find them, those in C too."""
    facts = facts_of((Message("tool", content, tool_call_id="call"),), NOW)
    marks_of(answer, facts)  # patterns are compiled once
    steps = Steps()
    calls = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        marks = marks_of(answer, facts, steps)
    finally:
        sys.setprofile(None)
    return marks, steps.count, calls


def pages(count: int, fields: int) -> str:
    """Return a result with objects, each of some counts."""
    names = ["clicks", "visits", "orders", "returns", "refunds", "opens", "sends", "bounces", "replies", "sales"]
    return json.dumps(
        {"pages": [{name: row * 31 + at + 2 for at, name in enumerate(names[:fields])} for row in range(count)]}
    )


def test_shares_of_a_sentence_take_few_steps() -> None:
    said = "The clicks were " + ", ".join(f"{number}.{number}7%" for number in range(11, 21)) + " of those, "
    marks, steps, calls = counted((said + "which is what everybody had hoped for " * 100)[:3_000], pages(20, 10))
    assert len(marks) == 10
    assert steps < 20_000 and calls < 200_000


def test_a_long_sentence_over_many_numbers_takes_few_steps() -> None:
    answer = ("It was 17.37%, and then 23.91% of them, " + "which is what everybody had hoped for " * 200)[:7_500]
    marks, steps, calls = counted(answer, pages(200, 10))
    assert len(marks) == 2 and not any(mark.is_supported for mark in marks)
    assert steps < 20_000 and calls < 200_000


def test_an_answer_of_one_long_line_has_an_end() -> None:
    said = " ".join(f"clicks {number}.37% less" for number in range(1, 401))
    marks, steps, calls = counted(said, pages(100, 10))
    # What was not looked for everywhere is not said to be nowhere.
    assert all(mark.is_supported for mark in marks)
    assert steps <= MAX_STEPS and calls < 2_500_000


def test_an_answer_of_8000_characters_and_200_values_takes_few_steps() -> None:
    rows = [{"id": number, "name": f"Person {number}", "total": f"{number * 1.37:.2f}"} for number in range(500)]
    said = " ".join(f"Somebody else paid {number * 1.37 + number % 2 * 0.01:.2f} for it." for number in range(1, 201))
    made = receipt(said[:8_000].ljust(8_000, "."), json.dumps(rows))
    assert len(made.marks) == 200 and made.unsupported > 90
    assert made.steps < 40_000


def test_names_with_one_first_word_take_bounded_steps() -> None:
    rows = [{"name": f"Anna {chr(97 + number % 26)}{chr(97 + number // 26)}x"} for number in range(500)]
    marks, steps, calls = counted("And Anna Zzz paid. " * 1_500, json.dumps(rows))
    # What was not looked for everywhere is not said to be nowhere.
    assert all(mark.is_supported for mark in marks)
    assert MAX_STEPS <= steps < MAX_STEPS + 1_000 and calls < 3_000_000


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


SENTINELS = json.dumps(
    {"orders": [{"until": "9999-12-31", "from": "2026-01-01"}, {"until": "9999-12-31T23:59:00", "minutes": 90}]}
)


@pytest.mark.parametrize(
    "answer",
    [
        "It runs for 12 months.",
        "It runs for 3 years.",
        "It ends in 2 days.",
        "It ends at 01:29.",
        "It ends at 17:20.",
        "It began on 31 December 9999, 12 months and 3 days before 1 May.",
        "About 31 December 9999 and 1 day more.",
        "Between 1 January 0001 and 2 May lie 12 months and 4 days; about 31 December 0001.",
    ],
)
def test_the_last_and_the_first_day_of_the_calendar_are_days(answer: str) -> None:
    assert receipt(answer, SENTINELS).marks


def test_months_until_the_last_day_of_the_calendar_are_counted() -> None:
    (mark,) = receipt("It is valid for 7973 years.", SENTINELS).marks
    assert mark["derived"] == "time"
