"""Results that are answers already: the embedded model is not asked to say them again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assistant.core.llm.protocol import ModelRequest, TextDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.providers.embedded import EmbeddedModel
from assistant.providers.embedded.ready_answers import (
    MAX_QUOTED,
    MAX_ROWS,
    NOT_SURE,
    NOT_TRANSLATED,
    ready_answer,
)
from assistant.services.knowledge import quotations
from tests.fake_provider import FakeProvider

ROPES = {"number": "3.5", "heading": "What cannot be returned", "text": "Ropes that have left the sealed bag."}


def asked(question: str, *results: Any) -> list[Message]:
    """A conversation that ends with the results of the calls of one answer."""
    calls = tuple(ToolCall(str(place), "look", "{}") for place in range(len(results)))
    told = [result if isinstance(result, str) else json.dumps(result) for result in results]
    tools = [Message("tool", text, tool_call_id=str(place)) for place, text in enumerate(told)]
    return [Message("user", question), Message("assistant", tool_calls=calls), *tools]


def test_a_sentence_is_the_answer_with_its_rows_as_a_table() -> None:
    rows = [{"number": 1, "placed_on": "2026-11-01"}, {"number": 2, "placed_on": None}]
    told = ready_answer(asked("orders?", {"summary": "2 orders, 5 EUR.", "rows": rows}))
    assert told == "2 orders, 5 EUR.\n\n| Number | Placed on |\n| --- | --- |\n| 1 | 2026-11-01 |\n| 2 |  |"


def test_a_table_is_bounded_and_a_cell_cannot_end_its_row() -> None:
    rows = [{"name": "a|b\n# c"}] * 99
    lines = ready_answer(asked("x", {"summary": "Many.", "rows": rows})).splitlines()
    assert len(lines) == 2 + 2 + MAX_ROWS and lines[-1] == "| a\\|b # c |"


@pytest.mark.parametrize(
    "result",
    [
        "no JSON",
        "[]",
        "{}",
        {"summary": "Printer broken", "state": "open"},
        {"state": "open", "summary": "It is open."},
        {"summary": ["It is open."]},
        {"results": []},
        {"results": [{"text": "It is open."}]},
        {"results": "It is open."},
    ],
)
def test_other_results_are_told_by_the_model(result: Any) -> None:
    assert ready_answer(asked("was ist los?", result)) == ""
    assert ready_answer(asked("was ist los?", {"summary": "2 orders."}, result)) == ""


def test_a_conversation_that_ends_with_a_question_has_no_ready_answer() -> None:
    assert ready_answer([]) == ""
    assert ready_answer([*asked("x", {"summary": "2 orders."}), Message("user", "thanks")]) == ""


def test_passages_in_another_language_are_quoted_and_not_translated() -> None:
    told = ready_answer(asked("Was ist das Rückgaberecht bei Kletterseilen?", {"results": [ROPES], "note": ""}))
    assert told == f"{NOT_TRANSLATED}\n\n> **What cannot be returned**: Ropes that have left the sealed bag. [3.5]"
    assert ready_answer(asked("Can I return a rope that left the bag?", {"results": [ROPES]})) == ""
    # Words of the heading are the documents' language, too.
    assert ready_answer(asked("What cannot I bring?", {"results": [ROPES | {"text": "Gas."}]})) == ""


def test_what_may_not_answer_a_question_is_quoted_as_such_and_nothing_is_told_as_nothing() -> None:
    told = ready_answer(asked("Was ist das?", {"results": [ROPES], "note": f"{quotations.WEAK} Answer from these."}))
    assert told.startswith(f"{NOT_SURE}\n\n> ")
    told = ready_answer(asked("What is that?", {"results": [], "note": quotations.NOTHING}))
    assert told == "No document says anything about this."


def test_a_long_passage_is_quoted_in_part() -> None:
    told = ready_answer(asked("Was?", {"results": [{"number": "1.1", "text": "word " * 999}]}))
    assert len(told) < len(NOT_TRANSLATED) + MAX_QUOTED + 20 and told.endswith(" … [1.1]")


async def test_the_embedded_model_is_not_asked_where_the_result_is_the_answer(fake_provider: FakeProvider) -> None:
    request = ModelRequest(asked("orders?", {"summary": "2 orders."}))
    items = [item async for item in EmbeddedModel(fake_provider.url).stream(request)]
    assert [type(item) for item in items] == [TextDelta, Reply]
    assert items[-1].text == "2 orders." and fake_provider.requests == []
