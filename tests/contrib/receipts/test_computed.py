"""How many values of answers that compute are judged rightly: the newest figures of docs/receipts.md."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contrib.receipts.answers.computed import ANSWERS, RUNS
from tests.contrib.receipts.test_other_hosts import PLACE, facts_of_run, is_marked, marks_of, planted


def test_few_values_of_true_answers_are_marked() -> None:
    marks = [mark for name, text in ANSWERS for mark in marks_of(PLACE.sub(r"\1", text), facts_of_run(*RUNS[name]))]
    wrong = [mark.value.text for mark in marks if not mark.is_supported]
    assert len(marks) > 850 and len(wrong) <= 0.05 * len(marks), wrong


def test_most_planted_changes_are_marked() -> None:
    changes = [(name, *change) for name, text in ANSWERS for change in planted(text)]
    missed = [
        text[start:end]
        for name, text, start, end in changes
        if not is_marked(marks_of(text, facts_of_run(*RUNS[name])), start, end)
    ]
    assert len(changes) > 460 and len(missed) <= 0.08 * len(changes), missed


TOURS = {
    "payload_kg": 1200,
    "stops": [
        {"stop": "A1", "parcels": 4, "weight_kg": 86.5, "left": "07:20"},
        {"stop": "B2", "parcels": 12, "weight_kg": 415.2, "left": "09:15"},
        {"stop": "C3", "parcels": 6, "weight_kg": 158.3, "left": None},
    ],
}
SPENT = {
    "grant": {"amount": "180000.00", "currency": "EUR"},
    "spent": {"2025": {"staff": "41200.00", "travel": "6350.00"}, "2026": {"staff": "7900.00", "travel": "820.00"}},
}
WEEKS = {"kept": {"booked": 184, "kept": 159}, "previous_week": {"booked": 171, "kept": 154}}
ORDERS = {
    "currency": "EUR",
    "orders": [
        {"number": 2063, "customer": "Greta Lindholm", "status": "open", "total": "212.00"},
        {"number": 2041, "customer": "Greta Lindholm", "status": "shipped", "total": "148.90"},
        {"number": 1950, "customer": "Ole Berg", "status": "cancelled", "total": "310.00"},
        {"number": 1902, "customer": "Ole Berg", "status": "shipped", "total": "95.40"},
    ],
}
ROOMS = {
    "arrival": "2026-05-14",
    "departure": "2026-05-17",
    "currency": "EUR",
    "rooms": [
        {"type": "double", "count": 9, "price_per_night": "118.00"},
        {"type": "single", "count": 4, "price_per_night": "84.00"},
    ],
}
RUN = {"runs": [{"km": 8.0, "duration_s": 2520}, {"km": 12.4, "duration_s": 4092}]}


@pytest.mark.parametrize(
    ("result", "answer", "wrong"),
    [
        (TOURS, "16 of 22 parcels are delivered.", "17 of 22 parcels are delivered."),
        (TOURS, "The load of 660 kg is 55 % of the payload.", "The load of 660 kg is 65 % of the payload."),
        (SPENT, "So far €56,270 are spent.", "So far €52,670 are spent."),
        (SPENT, "Staff has cost €49,100.", "Staff has cost €41,900."),
        (WEEKS, "- Kept: 159, up 5", "- Kept: 159, up 9"),
        (
            WEEKS,
            "It fell from 90.1 % to 86.4 %, by 3.7 percentage points.",
            "90.1 % to 86.4 %, by 2.7 percentage points.",
        ),
        (ORDERS, "Leaving out the cancelled order it is €456.30.", "Leaving out the cancelled order it is €465.30."),
        (ORDERS, "There are two shipped orders.", "There are three shipped orders."),
        (ORDERS, "Order 2063 is of Greta Lindholm.", "Order 2063 is of Greta Lindgren."),
        (ROOMS, "All rooms are €4,194 for the three nights.", "All rooms are €4,149 for the three nights."),
        (RUN, "8 km in 42 minutes are 5:15 per km.", "8 km in 42 minutes are 5:25 per km."),
        (RUN, "Together that was 1 h 50 min.", "Together that was 1 h 40 min."),
        (ROOMS, "They arrive on Thursday, 14 May.", "They arrive on Thursday, 15 May."),
        (ORDERS, "It was not 3 but two shipped orders.", "It was two but 3 shipped orders."),
        (ORDERS, "If you sell 7 more, order 2063 is still €212.", "You sold 7 more than planned."),
    ],
)
def test_what_follows_is_found_and_what_does_not_is_marked(result: Any, answer: str, wrong: str) -> None:
    facts = facts_of_run("Well?", [("look_up", {}, result)])
    assert [mark.value.text for mark in marks_of(answer, facts) if not mark.is_supported] == []
    facts = facts_of_run("Well?", [("look_up", {}, result)])
    assert [mark.value.text for mark in marks_of(wrong, facts) if not mark.is_supported]
