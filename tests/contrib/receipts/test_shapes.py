"""Shapes of results: columns with rows, texts with lines, amounts in cents, moments as numbers, names as fields."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contrib.receipts.test_other_hosts import facts_of_run, marks_of

COLUMNS = {
    "columns": ["product", "store", "on_hand", "reserved"],
    "rows": [["Tarn 2", "Graz", 14, 3], ["Tarn 2", "Linz", 5, 4], ["Tarn 4", "Linz", 7, 1]],
}
HEADER = [["name", "city", "visits"], ["Ada Holm", "Graz", 12], ["Finn Roth", "Linz", 31]]
LINES = "id;name;age;fee\n501;Luca Marin;9;145.00\n502;Emma Berg;11;130.50\n503;Noor Haddad;10;145.00"
PIPES = "| room | guest | nights |\n|---|---|---|\n| 12 | Ada Holm | 4 |\n| 14 | Finn Roth | 9 |"
FIELDS = "Invoice 2187\nCustomer: Hotel Seeblick\nDate: 2026-02-16\nDue: 2026-03-02\nTotal: 2,580.00 EUR"
CHARGES = {
    "data": [
        {"id": "ch_1", "amount": 12900, "currency": "eur", "created": 1773299400},
        {"id": "ch_2", "amount": 4550, "currency": "eur", "created": 1772788500},
    ]
}
SQUARE = {"payment": {"amount": 12900, "currency": "USD"}}
PERSONS = {"entries": {"Monday": {"Ola Berg": 6.5, "Nina Petrov": 4}, "Friday": {"Nina Petrov": 5.5}}}
REVIEWS = {"requests": {"total_count": 9, "nodes": [{"number": 1466, "open_requests": 3, "added": 12}, {"number": 1}]}}
CARD = {"name": "Lena Hofbauer", "city": "Salzburg", "status": "Open"}
STARS = {"rating": 4.3, "before": 4.1, "5": 92}


@pytest.mark.parametrize(
    ("result", "answer", "wrong"),
    [
        (COLUMNS, "| Tent | Store | Stock |\n|---|---|---|\n| Tarn 4 | Linz | 7 |", []),
        (COLUMNS, "| Tent | Store | Stock |\n|---|---|---|\n| Tarn 4 | Linz | 9 |", ["9"]),
        (COLUMNS, "In Linz there are 5 of Tarn 2, 4 of them reserved.", []),
        (COLUMNS, "Together 8 are reserved.", []),
        (HEADER, "Ada Holm came 12 times, Finn Roth 31 times.", []),
        (HEADER, "Ada Holm came 31 times.", ["Ada Holm", "31"]),
        (LINES, "Three children, together €420.50? No: 420.50, and Emma Berg pays 130.50.", []),
        (LINES, "Emma Berg pays 145.00.", ["Emma Berg", "145.00"]),
        (PIPES, "Finn Roth stays nine nights in room 14.", []),
        (PIPES, "Finn Roth stays four nights.", ["Finn Roth", "four nights"]),
        (FIELDS, "It is due on 2 March, after 14 days.", []),
        (FIELDS, "It is due on 16 February, after 15 days.", ["16 February", "15 days"]),
        (CHARGES, "€129.00 on 12 March and €45.50 on 6 March, €174.50 together.", []),
        (CHARGES, "€12.90 on 13 March.", ["€12.90", "13 March"]),
        (SQUARE, "They paid $129.00.", []),
        (SQUARE, "They paid $192.00.", ["$192.00"]),
        (PERSONS, "On Monday Ola Berg worked 6.5 hours. Nobody worked on Thursday.", []),
        (PERSONS, "On Tuesday Ola Bergson worked 6.5 hours.", ["Tuesday", "Ola Bergson"]),
        (REVIEWS, "Nine requests are waiting.", []),
        (REVIEWS, "Twelve requests are waiting.", ["Twelve"]),
        (CARD, "- City: Salzburg\n- Status: Offen", []),
        (CARD, "- **City**: Innsbruck", ["Innsbruck"]),
        (CARD, "| | |\n|---|---|\n| City | Innsbruck |", ["Innsbruck"]),
        (CARD, "Of $x^2 = 4711$ nothing is said.", []),
        (STARS, "It rose from 4.1 to 4.3. 92 gave five stars.", []),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_what_a_result_of_a_shape_says_is_found_and_what_is_changed_is_marked(
    result: Any, answer: str, wrong: list[str]
) -> None:
    marks = marks_of(answer, facts_of_run("Well?", [("look_up", {}, result)]))
    assert [mark.value.text for mark in marks if not mark.is_supported] == wrong
