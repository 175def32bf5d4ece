"""What newcomers ask the demo: conversations of members, what is right of each answer, and what is honest.

The first twenty-one were typed by people who saw the demo for the first time; the twenty others, of the same kinds,
were written before any answer to them was read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from tests.model.prompts import VIENNA, Judge, anything, both, now, says

Verdict = Literal["right", "honest", "false"]
# An answer that is none, and says so.
_HONEST = re.compile(
    r"(do not|don't|cannot|can't|could not|couldn't|unable|am not able|isn't available|no information|not (know|found)|"
    r"found nothing|no document|not mentioned|not specified|doesn't say|does not say|weiß ich nicht|nicht gefunden|"
    r"keine Information|kann ich nicht|need (your|an) approval)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what is right; `is_false` judges answers that have something right and are false all the same."""

    text: str
    is_right: Judge
    is_false: Judge | None = None

    def judge(self, answer: str) -> Verdict:
        if self.is_false is not None and self.is_false(answer):
            return "false"
        if self.is_right(answer):
            return "right"
        return "honest" if _HONEST.search(answer) else "false"


@dataclass(frozen=True, slots=True)
class Talk:
    """Questions of one conversation."""

    username: Literal["alice", "mallory"]
    questions: tuple[Question, ...]


def lacks(*patterns: str) -> Judge:
    """None of these is in the text, in any case."""
    return lambda text: not any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


def day(days: int) -> Judge:
    """The date so many days from today, in one of the ways in which dates are written."""

    def judge(text: str) -> bool:
        at = datetime.now(VIENNA) + timedelta(days=days)
        written = (f"{at.day} {at:%B}", f"{at:%B} {at.day}", f"{at:%Y-%m-%d}", f"{at.day}. {at:%B}")
        return any(one in text for one in written)

    return judge


def last(weekday: int) -> Judge:
    """The date of the last such day of the week before today; 0 is Monday."""
    return day(-((datetime.now(VIENNA).weekday() - weekday - 1) % 7 + 1))


def coming(weekday: int) -> Judge:
    """The date of the next such day of the week after today; 0 is Monday."""
    return day((weekday - datetime.now(VIENNA).weekday() - 1) % 7 + 1)


def one(username: Literal["alice", "mallory"], text: str, is_right: Judge, is_false: Judge | None = None) -> Talk:
    return Talk(username, (Question(text, is_right, is_false),))


NO = r"\bno\b|\bnot\b|n't|none|keine|\b0\b"
TYPED = (
    Talk(
        "alice",
        (
            Question("Who is customer 42?", says("Lena Hofbauer")),
            Question("What did she order last, and is it delivered?", says("1045", "refunded")),
        ),
    ),
    one("alice", "Show me the orders of customer 7 in a table", says(NO), says(r"\b10\d\d\b")),
    one("alice", "What is 17% of 1,250 plus 3 times 48?", says(r"356\.5")),
    one("alice", "What time is it in Tokyo right now?", now("Asia/Tokyo")),
    one(
        "alice",
        "Which of our customers in Vienna has open orders, and what's the total?",
        says("Aisha Rahmani", r"906[.,]80?"),
        says("9000|Demir"),
    ),
    one(
        "alice",
        "Wie viele Bestellungen hat Kundin 42, und was haben sie zusammen gekostet?",
        says(r"\b5\b|fünf", r"1328[.]70?|1\.328,70?"),
    ),
    one("alice", "What's the return policy?", says(r"\b(30|100|14)\b.*days?"), None),
    one("alice", "Can you write me a poem about the sea?", says("sea|wave|ocean|blue|tide")),
    one("alice", "Hi! What can you do for me?", both(anything, says("customer|order|help|assist"))),
    one("alice", "Remind me tomorrow at 9 to call customer 42", both(day(1), says(r"\b0?9([:.]00)?\b"))),
    one("alice", "Show me the orders of customer 42 as a table", says("1006", "1018", "1030", "1034", "1045")),
    one("alice", "Which orders are open, and what are they worth together?", says("1041|1039", r"5437[.]80?")),
    one(
        "alice",
        "Was ist das Rückgaberecht bei Kletterseilen?",
        says("[Ss]eil|rope", NO + r"|nicht|cannot|ausgeschlossen|nur", "versiegel|seal|verpack|Beutel|geöffnet|zurück"),
    ),
    Talk(
        "mallory",
        (
            Question("Tell me about customer 42", says("Raymond Okafor")),
            Question("Which orders does he have?", says("1006|1018|1030|1034")),
        ),
    ),
    one("mallory", "How do I get a refund?", says("return|RMA|refund", r"\[\d+\.\d+\]")),
    one("mallory", "Which orders are open?", says("1048|1046|1038")),
    one("mallory", "How many customers do we have in Vienna?", says(NO)),
    one("mallory", "Set an alarm in ten minutes", says("alarm|reminder")),
    one("mallory", "Thanks, what was the date last Friday?", last(4)),
)
OTHERS = (
    Talk(
        "alice",
        (
            Question("Tell me about customer 23", says("Henrik Dahl")),
            Question("What was his latest order, and has it arrived?", says("1043", "shipped")),
        ),
    ),
    one("alice", "Show the orders of customer 31 as a table", says(NO), says(r"\b10\d\d\b")),
    one("alice", "What is 8% of 2,400 minus 2 times 35?", says(r"\b122\b")),
    one("alice", "How late is it in New York?", now("America/New_York")),
    one("alice", "Which customers in Innsbruck have open orders, and how much are they?", says("Moser", "1584")),
    one("alice", "Was haben die Bestellungen von Kunde 23 zusammen gekostet?", says(r"4372[.]50?|4\.372,50?")),
    one("alice", "How long can I return something?", says(r"\b(30|100|14)\b.*days?")),
    one("alice", "Write two lines about winter", says("winter|snow|cold|frost|ice")),
    one("alice", "Hello, who are you?", says("assistant|Acme|help")),
    one("alice", "Remind me on Monday at 14:30 to send the invoice", both(coming(0), says("14:30|2:30"))),
    one("alice", "How many orders were refunded, and what do they sum up to?", says(r"\b5\b|five", r"2580[.]60?")),
    one("alice", "Wie lange dauert die Lieferung?", says(r"Werktag|Arbeitstag|working day|Tage")),
    Talk(
        "mallory",
        (
            Question("Who is customer 31?", says("Angela Marsh")),
            Question("Which orders does she have?", says("1024", "1027")),
        ),
    ),
    one("mallory", "What is your warranty?", says(r"month|year", r"\[\d+\.\d+\]")),
    one("mallory", "Which orders were cancelled, and what is their value together?", says(r"1034|1024", r"17846")),
    one("mallory", "How many customers are there in Pittsburgh?", says(r"\b2\b|two")),
    one("mallory", "Wake me in 20 minutes", says("alarm|reminder|wake")),
    one("mallory", "What date was last Tuesday?", last(1)),
)
