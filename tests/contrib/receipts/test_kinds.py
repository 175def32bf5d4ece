"""Kinds of data and of sentences that the committed answers do not have."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from assistant.contrib.receipts.matching.claims import Done, claims_of
from assistant.contrib.receipts.services.receipt import make_receipt
from assistant.core.values.messages import Message

NOW = datetime(2026, 11, 28, 10, tzinfo=UTC)
ROOMS = {
    "rooms": [
        {"name": "Elbe", "seats": 12, "price_per_hour": "35.00"},
        {"name": "Spree", "seats": 8, "price_per_hour": "28.00"},
        {"name": "Isar", "seats": 20, "price_per_hour": "52.50"},
    ],
    "currency": "EUR",
}
INVOICE = {"net": "1840.00", "vat": "349.60", "gross": "2189.60", "currency": "EUR"}
READINGS = {"readings": [{"hour": 8, "celsius": 18.4}, {"hour": 12, "celsius": 21.9}]}
FAIR = {"sold": 412, "capacity": 600}
PAYSLIP = {"month": "2026-10", "gross": "4,250.00", "net": "2.731,18", "tax": "682,40", "currency": "EUR"}


def not_found(result: Any, answer: str, question: str = "Well?") -> list[str]:
    """Return the values of an answer that are marked."""
    messages = (Message("user", question), Message("tool", json.dumps(result), tool_call_id="call"))
    receipt = make_receipt(answer, messages=messages, calls=(), now=NOW)
    return [mark["text"] for mark in receipt.marks if "reason" in mark]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (ROOMS, "Elbe costs €35 an hour."),
        (ROOMS, "Together they seat 40 people. Isar is the largest."),
        (ROOMS, "Isar is €210 for four hours."),
        (INVOICE, "Net it is €1,840.00, and 19 % VAT of €349.60."),
        (READINGS, "It is 21.9 °C now, 3.5 degrees more than before."),
        (FAIR, "412 of 600 tickets are sold (68.7 %)."),
        (PAYSLIP, "Im Oktober 2026 waren es 4.250,00 € brutto, 2.731,18 € netto und 682,40 € Steuern."),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_was_looked_up_or_computed_is_found(result: Any, answer: str) -> None:
    assert not_found(result, answer, "What about four hours?") == []


@pytest.mark.parametrize(
    ("result", "answer", "wrong"),
    [
        (ROOMS, "Elbe costs €36 an hour.", ["€36"]),
        (ROOMS, "Together they seat 41 people. Isar is the largest.", ["41"]),
        (ROOMS, "Isar is €215 for four hours.", ["€215"]),
        (INVOICE, "Net it is €1,840.00, and 21 % VAT of €349.60.", ["21 %"]),
        (READINGS, "It is 21.9 °C now, 4.5 degrees more than before.", ["4.5 degrees"]),
        (FAIR, "412 of 600 tickets are sold (78.7 %).", ["78.7 %"]),
        (PAYSLIP, "Im September 2026 waren es 4.520,00 € brutto.", ["September 2026", "4.520,00 €"]),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_was_changed_is_marked(result: Any, answer: str, wrong: list[str]) -> None:
    assert not_found(result, answer, "What about four hours?") == wrong


BOX = {"product": "Jam", "seats": 3, "lead_time_days": 21, "votes": 35, "invited": 140, "phone": "+43 660 4417702"}
STAYS = {"stays": [{"room": "Elm", "nights": 4}, {"room": "Oak", "nights": 2}, {"room": "Ash", "nights": 9}]}
LESSON = {"at": "2026-12-07T18:00:00+00:00", "minutes": 150, "fee": "184.00", "currency": "EUR", "evenings": 4}
NIGHT = {"quiet": {"from": "22:00", "until": "06:00"}, "low_c": -2}


@pytest.mark.parametrize(
    ("result", "answer", "wrong"),
    [
        (LESSON, "It ends at 8:30 pm.", []),
        (LESSON, "It ends at 8:45 pm.", ["8:45 pm"]),
        (LESSON, "That is €46 per evening.", []),
        (LESSON, "That is €64 per evening.", ["€64"]),
        (LESSON, "For all: 3 × €184 = €552.", ["3"]),
        (LESSON, "For all: 3 × €184 = €525.", ["3", "€525"]),
        (LESSON, "For example, three of you would pay 3 × €184 = €552.", []),
        (BOX, "35 votes (25 %) were cast.", []),
        (BOX, "35 votes (28 %) were cast.", ["28 %"]),
        (BOX, "35 % haben gewählt.", ["35 %"]),
        (BOX, "It takes three weeks; call 0660 4417702.", []),
        (BOX, "It takes 3 days; call 0660 4417703.", ["3 days", "0660 4417703"]),
        (BOX, "If you order today it arrives on 19 December.", []),
        (BOX, "If you order today it arrives on 21 December.", ["21 December"]),
        (STAYS, "There are three stays.", []),
        (STAYS, "There are four stays.", ["four"]),
        (NIGHT, "Ruhe ist von 22 bis 6 Uhr, bei -2 °C.", []),
        (NIGHT, "Ruhe ist von 23 bis 6 Uhr, bei -3 °C.", ["23", "-3 °C"]),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_follows_from_what_was_looked_up(result: Any, answer: str, wrong: list[str]) -> None:
    assert not_found(result, answer) == wrong


SHARE = {"price": "1240.00", "fuel_surcharge_percent": 8.5, "currency": "EUR", "pallets": 14, "gross_weight_kg": 8260}
GIFTS = {
    "months": [{"month": "2026-01", "sum": "5240.00"}, {"month": "2026-02", "sum": "7380.00"}],
    "currency": "EUR",
}
REQUESTS = {"requests": 1284530, "error_rate": 0.0042}
TICKETS = {
    "tickets": [
        {"assignee": "Marisol Vega", "hours_spent": 3.5, "opened_on": "2026-03-13"},
        {"assignee": "Kwame Mensah", "hours_spent": 7.25, "opened_on": "2026-03-10"},
        {"assignee": "Marisol Vega", "hours_spent": 1.5, "opened_on": "2026-02-07"},
        {"assignee": "Ian Doherty", "hours_spent": 2.0, "opened_on": "2026-02-04"},
    ]
}
POST = {
    "results": [
        {"name": "Swiss post", "charge": 12, "currency": "CHF"},
        {"name": "Post", "charge": 4, "currency": "EUR"},
    ]
}


@pytest.mark.parametrize(
    ("result", "answer", "wrong"),
    [
        (SHARE, "With 8.5% (€105.40) it is €1,345.40.", []),
        (SHARE, "With 8.5% (€104.50) it is €1,354.40.", ["€104.50", "€1,354.40"]),
        (SHARE, "That makes 590 kg a pallet.", []),
        (SHARE, "That makes 950 kg a pallet.", ["950 kg"]),
        (GIFTS, "In February it was 41% more.", []),
        (GIFTS, "In February it was 51% more.", ["51%"]),
        (REQUESTS, "99.58% went through.", []),
        (REQUESTS, "98.58% went through.", ["98.58%"]),
        (GIFTS, "The two sums came to around €12,620.", []),
        (GIFTS, "The larger sum was about €5,437.", ["€5,437"]),
        (TICKETS, "Marisol Vega has two of them.", []),
        (TICKETS, "Two were opened in March and two in February.", []),
        (TICKETS, "Three were opened in March.", ["Three"]),
        (TICKETS, "Kwame has spent 7 hours 15 minutes.", []),
        (TICKETS, "Kwame has spent 7 hours 25 minutes.", ["25 minutes"]),
        (TICKETS, "The average is about three and a half hours.", []),
        (TICKETS, "The average is about five and a half hours.", ["five and a half hours"]),
        (POST, "It is 12 Swiss francs.", []),
        (POST, "It is 21 Swiss francs.", ["21 Swiss francs"]),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_more_of_what_follows_from_what_was_looked_up(result: Any, answer: str, wrong: list[str]) -> None:
    assert not_found(result, answer) == wrong


@pytest.mark.parametrize(
    ("day", "answer", "is_found"),
    [
        ("2026-11-27", "It was placed last Friday.", True),
        ("2026-11-20", "It was placed last Friday.", True),
        ("2026-11-13", "It was placed last Friday.", False),
        ("2026-11-13", "It was placed on a Friday.", True),
        ("2026-12-01", "It arrives next Tuesday.", True),
        ("2026-12-15", "It arrives next Tuesday.", False),
        ("2026-11-24", "It arrives next Tuesday.", False),
        ("2026-12-01", "Es kommt am kommenden Dienstag.", True),
        ("2026-12-15", "Es kommt am kommenden Dienstag.", False),
        ("2026-11-13", "Es kam letzten Freitag.", False),
    ],
)
def test_last_and_next_are_said_by_the_clock(day: str, answer: str, is_found: bool) -> None:
    assert (not not_found({"on": day}, answer)) == is_found


def test_amounts_of_one_passage_differ_by_what_they_differ() -> None:
    text = "Standard shipping costs 4.90 EUR, express costs 14.90 EUR."
    passages = {"results": [{"number": "9.2", "source_id": "doc-9.2", "source": "Shipping", "text": text}]}
    assert not_found(passages, "Express is 10 euros more.") == []
    assert not_found(passages, "Express is 20 euros more.") == ["20 euros"]


def test_a_semicolon_goes_on_to_another_row() -> None:
    assert not_found(ROOMS, "Elbe has 8 seats at €35; Spree is €28.") == ["8"]
    assert not_found(ROOMS, "Elbe has 12 seats at €35; Spree is €28.") == []


def test_the_point_that_ends_a_sentence_is_no_part_of_a_date() -> None:
    assert not_found({}, "It was placed on 25 November. Not on 3 Oct. 2024.") == ["25 November", "3 Oct. 2024"]


@pytest.mark.parametrize(
    ("claim", "tool"),
    [
        ("Parcel 4 is redirected now.", "redirect_parcel"),
        ("I've put you on the waiting list.", "add_to_waiting_list"),
        ("Ihr Abschlag wurde jetzt auf 75 Euro gesenkt.", "reduce_instalment"),
        ("Erledigt, die Rechnung ist an Delmar verschickt.", "send_invoice"),
        ("I've rerouted your parcel.", "redirect_parcel"),
        ("I have applied the discount.", "apply_coupon"),
        ("I have requested a call back.", "request_callback"),
        ("Ich habe Ihren Gutschein eingelöst.", "redeem_voucher"),
        ("Ich habe Sie angemeldet.", "register_participant"),
        ("Die Sendung wurde soeben umgeleitet.", "redirect_parcel"),
    ],
)
def test_more_verbs_are_claims_and_have_tools(claim: str, tool: str) -> None:
    assert [one.tool for one in claims_of(claim, [Done("find_parcel", "", is_read_only=True)])] == [""]
    assert [one.tool for one in claims_of(claim, [Done(tool)])] == [tool]


def test_what_a_record_says_of_a_day_of_two_digits_is_no_claim() -> None:
    said = "The invoice was issued on 12 January and has been paid in full."
    assert not [one for one in claims_of(said, ()) if not one.tool]


@pytest.mark.parametrize("opening", ["✅ ", "🎉 ", "⚠️ ", "👋🏽 ", "1️⃣ ", "- ✔ ", "→ ", "**✅ ", "Done! 🎉 "])
def test_the_word_behind_a_picture_is_no_name(opening: str) -> None:
    assert not_found(ROOMS, f"{opening}Booking works: Elbe has 12 seats.\n\n{opening}Prices are per hour.") == []
    assert not_found(ROOMS, f"{opening}The room is led by Mallory.") == ["Mallory"]


VISIT = {"starts": "2026-11-30T16:30:00+00:00", "opens": "08:15", "ends": "17:45", "minutes": 45, "break_minutes": 15}
VOTES = {"yes": 48, "no": 72, "blank": 24, "votes": 144}


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("It starts at half past four.", []),
        ("It starts at half past four in the afternoon.", []),
        ("It starts at half past five.", ["half past five"]),
        ("It starts at half past four in the morning.", ["half past four"]),
        ("We open at a quarter past eight and close at a quarter to six.", []),
        ("We open at a quarter to eight.", ["quarter to eight"]),
        ("It takes three quarters of an hour, with a break of a quarter of an hour.", []),
        ("It takes half an hour.", ["half an hour"]),
        ("It takes nearly an hour, or about half an hour.", []),
        ("Beginn ist um halb fünf, Schluss um Viertel vor sechs.", []),
        ("Beginn ist um halb sechs.", ["halb sechs"]),
        ("Der Beginn ist um fünf nach halb fünf.", ["fünf nach halb fünf"]),
        ("Es dauert eine Dreiviertelstunde, die Pause eine Viertelstunde.", []),
        ("Es dauert eine halbe Stunde.", ["halbe Stunde"]),
    ],
)
def test_times_and_lengths_in_words_are_looked_for(answer: str, wrong: list[str]) -> None:
    assert not_found(VISIT, answer) == wrong


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("48 of 144 votes are yes, a third of them.", []),
        ("48 of 144 votes are yes, a quarter of them.", ["a quarter of"]),
        ("48 of 144 votes are yes, about a quarter of them.", []),
        ("Von 144 Stimmen sind 72 ein Nein und 48 ein Ja, das ist ein Drittel.", []),
        ("Von 144 Stimmen sind 48 ein Ja, das ist ein Viertel.", ["ein Viertel"]),
    ],
)
def test_simple_shares_in_words_are_looked_for(answer: str, wrong: list[str]) -> None:
    assert not_found(VOTES, answer) == wrong


def test_an_hour_on_the_clock_may_be_in_the_afternoon() -> None:
    assert not_found({"starts": "16:00"}, "It starts at 4 o'clock, or four o'clock.") == []
    assert not_found({"starts": "16:00"}, "It starts at 5 o'clock.") == ["5 o'clock"]


VANS = {
    "vans": [
        {"plate": "G-482KT", "km": 118430, "next_service_km": 120000},
        {"plate": "G-917MB", "km": 64210, "next_service_km": 80000},
    ]
}
TOPICS = {
    "tickets": 144,
    "closed": 131,
    "by_topic": [
        {"topic": "Billing", "tickets": 48},
        {"topic": "Login", "tickets": 36},
        {"topic": "Imports", "tickets": 31},
        {"topic": "Other", "tickets": 29},
    ],
}


@pytest.mark.parametrize(
    ("result", "answer", "wrong"),
    [
        (VANS, "G-917MB has 15,790 km left.", []),
        (VANS, "G-917MB has 17,590 km left.", ["17,590 km"]),
        (VANS, "G-482KT: 1,570 km to go.", []),
        (TOPICS, "Imports and Other together make 60 tickets.", []),
        (TOPICS, "Imports and Other together make 66 tickets.", ["66"]),
        (TOPICS, "Billing and Imports together make 60 tickets.", ["60"]),
        (TOPICS, "The queue grew by 13.", []),
        (INVOICE, "You pay €1,840.00 a month, or €22,080 a year.", []),
        (INVOICE, "You pay €1,840.00 a month, or €22,800 a year.", ["€22,800"]),
        ({"cover_years": 1}, "It is covered for 1 year, or for twelve years.", ["twelve years"]),
    ],
)
def test_what_is_left_of_what_a_sentence_names_and_comes_to_in_a_year_is_computed(
    result: Any, answer: str, wrong: list[str]
) -> None:
    assert not_found(result, answer) == wrong


@pytest.mark.parametrize(
    ("answer", "claimed"),
    [
        ("I have deleted nothing.", []),
        ("I've cancelled none of them, and sent no mail.", []),
        ("I can confirm that I changed it.", ["changed"]),
        ("I may now report that we have cancelled it.", ["cancelled"]),
    ],
)
def test_what_was_done_to_nothing_is_no_claim_and_what_is_confirmed_is_one(answer: str, claimed: list[str]) -> None:
    assert [claim.verb for claim in claims_of(answer, [])] == claimed
