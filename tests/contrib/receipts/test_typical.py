"""How many values of typical answers are judged rightly, the last figures of docs/receipts.md, and what was mended."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contrib.receipts.answers.typical import ANSWERS, RUNS
from tests.contrib.receipts.test_other_hosts import PLACE, facts_of_run, is_marked, marks_of, planted


def test_few_values_of_true_answers_are_marked() -> None:
    marks = [mark for name, text in ANSWERS for mark in marks_of(PLACE.sub(r"\1", text), facts_of_run(*RUNS[name]))]
    wrong = [mark.value.text for mark in marks if not mark.is_supported]
    assert len(ANSWERS) == 180 and len(marks) > 1_010 and len(wrong) <= 0.01 * len(marks), wrong


def test_nearly_all_planted_changes_are_marked() -> None:
    changes = [(name, *change) for name, text in ANSWERS for change in planted(text)]
    missed = [
        text[start:end]
        for name, text, start, end in changes
        if not is_marked(marks_of(text, facts_of_run(*RUNS[name])), start, end)
    ]
    assert len(changes) > 470 and len(missed) <= 0.03 * len(changes), missed


BOOKINGS = [
    {"room": "Larch", "host": "Iris Novotny", "starts_at": "2026-03-18T09:00:00+01:00", "people": 6},
    {"room": "Larch", "host": "Samuel Roth", "starts_at": "2026-03-18T13:30:00+01:00", "people": 12},
    {"room": "Rowan", "host": "Iris Novotny", "starts_at": "2026-03-19T11:00:00+01:00", "people": 4},
]
ORDER = {
    "number": 20771,
    "total": "2318.40",
    "currency": "USD",
    "placed_on": "2026-03-06",
    "lines": [
        {"product": "Flow meter", "quantity": 2, "unit_price": "689.00"},
        {"product": "Hose adapter 3/8", "quantity": 6, "unit_price": "24.90"},
        {"product": "Calibrator", "quantity": 1, "unit_price": "791.00"},
    ],
}
LINES = {
    "lines": [
        {"product": "Flow meter", "quantity": 2},
        {"product": "Hose adapter", "quantity": 6},
        {"product": "Calibrator", "quantity": 3},
    ]
}
TICKET = {
    "id": "SD-4391",
    "floor": 3,
    "comments": 2,
    "opened": "2026-03-11T14:18:00Z",
    "due": "2026-03-13T15:00:00Z",
}
DESK = {
    "open": 11,
    "tickets": [{"id": "SD-4410", "agent": "Ravi Nair"}, {"id": "SD-4405", "agent": "Joan Pike"}],
}
BY_NUMBER = {
    "HD-2207": {"title": "Printer jams", "owner": "Maud Lindgren", "comments": 5},
    "HD-2211": {"title": "No sound", "owner": "Tariq Osman", "comments": 2},
}
RATES = {"year": 2026, "months": [{"month": "2026-01", "orders": 412, "returns": 31}]}
RULES = {
    "results": [
        {
            "number": "5.1",
            "source": "Service",
            "text": "Shipping is 4.50 EUR to Austria and 14.90 EUR to Switzerland. If nothing has come after 10 days,"
            " ask Carol Whitfield. Rush service adds 30 percent, at least 150 USD. Calls are answered in 4 minutes.",
            "source_id": "doc-5.1",
        }
    ],
    "note": "Answer from these passages.",
}


@pytest.mark.parametrize(
    ("result", "answer", "wrong"),
    [
        (BOOKINGS, "Iris Novotny has two bookings.", "Iris Novotny has three bookings."),
        (BOOKINGS, "Larch is taken twice.", "Rowan is taken twice."),
        (BOOKINGS, "Iris Novotny hat zwei davon.", "Iris Novotny hat drei davon."),
        (BOOKINGS, "On Wednesday, 18 March, Larch is taken.", "On Wednesday, 19 March, Rowan is taken."),
        (ORDER, "It has 6 × Hose adapter 3/8.", "It has 8 × Hose adapter 3/8."),
        (ORDER, "It has 2 × Flow meter ($689.00).", "It has 3 × Flow meter ($689.00)."),
        (ORDER, "The total is $2,318.40.", "The total is €2,318.40."),
        (LINES, "| Product | No. |\n|---|---|\n| Flow meter | 2 |", "| Product | No. |\n|---|---|\n| Flow meter | 3 |"),
        (ORDER, "Of $2,318.40. It was placed 10 days ago.", "It is sent within 10 days."),
        (TICKET, "It is overdue since Friday.", "It is overdue since Wednesday."),
        (TICKET, "Es ist seit drei Tagen überfällig.", "Es ist seit fünf Tagen überfällig."),
        (TICKET, "It was opened on 11 March.", "It was opened on 13 March."),
        (TICKET, "It is on floor 3.", "It is on floor 2."),
        (DESK, "Eleven tickets are open. Would you like to see the other 9?", "See the other 8?"),
        (BY_NUMBER, "HD-2211 is with Tariq Osman.", "HD-2211 is with Maud Lindgren."),
        (RATES, "In January 8 % of the 412 orders came back (31).", "In January 18 % of the 412 orders came back."),
        (RULES, "If nothing has come after 10 days, ask us.", "If nothing has come after 14 days, ask us."),
        (RULES, "Ask Carol Whitfield.", "You can ask Carol Whitman."),
        (RULES, "It adds 30 percent, with a minimum of $150.", "It adds 30 percent, with a minimum of $105."),
        (RULES, "Anrufe werden nach vier Minuten angenommen.", "Anrufe werden nach fünf Minuten angenommen."),
        (
            "Customer: Desmond Achebe (no. 131)\nStatus: shipped",
            "It is for Desmond Achebe.",
            "It is for Desmond Archer.",
        ),
    ],
)
def test_what_was_looked_up_is_found_and_what_is_changed_is_marked(result: Any, answer: str, wrong: str) -> None:
    question = "Which are taken on Wednesday and Thursday?" if result is BOOKINGS else "Well?"
    marks = marks_of(answer, facts_of_run(question, [("look_up", {}, result)]))
    assert [mark.value.text for mark in marks if not mark.is_supported] == []
    marks = marks_of(wrong, facts_of_run(question, [("look_up", {}, result)]))
    assert [mark.value.text for mark in marks if not mark.is_supported]
