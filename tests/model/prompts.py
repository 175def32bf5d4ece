"""The evaluation's sixty prompts: what is asked of whom, the tools that should be called, and what is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from assistant.client.reply import ChatReply

VIENNA = ZoneInfo("Europe/Vienna")
Judge = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question; `tools` are the calls it takes, in their order, and `is_right` judges the answer's text.

    `or_tools` are calls that do as well, where there are two ways.
    """

    text: str
    tools: tuple[str, ...]
    is_right: Judge
    assistant: Literal["support", "front-desk"] = "support"
    or_tools: tuple[str, ...] = ()

    def chose_well(self, reply: ChatReply[object]) -> bool:
        """Whether these tools were called first, and nothing was where nothing was needed."""
        called = tuple(call.name for call in reply.tool_calls)
        ways = [way for way in (self.tools, self.or_tools) if way]
        return any(called[: len(way)] == way for way in ways) if ways else not called


def says(*patterns: str) -> Judge:
    """All of these are in the text, in any case."""
    return lambda text: all(re.search(pattern, _plain(text), re.IGNORECASE) for pattern in patterns)


def _plain(text: str) -> str:
    """Without the marks that part thousands, and with one kind of space."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(text.replace("**", "").split()))


def now(zone: str = "Europe/Vienna", minutes: int = 0) -> Judge:
    """The time there, or so many minutes from now, give or take two; in either way of counting hours."""

    def judge(text: str) -> bool:
        moment = datetime.now(ZoneInfo(zone)) + timedelta(minutes=minutes)
        near = [moment + timedelta(minutes=offset) for offset in range(-2, 2)]
        return any(f"{at:%H:%M}" in text or f"{at.hour % 12 or 12}:{at:%M}" in text for at in near)

    return judge


def today(text: str) -> bool:
    """The date or the day of the week."""
    at = datetime.now(VIENNA)
    return any(word in text for word in (f"{at.day} {at:%B}", f"{at:%B} {at.day}", f"{at:%Y-%m-%d}", f"{at:%A}"))


def tomorrow(text: str) -> bool:
    """The date of tomorrow, or its day of the week."""
    at = datetime.now(VIENNA) + timedelta(days=1)
    return any(word in text for word in (f"{at.day} {at:%B}", f"{at:%B} {at.day}", f"{at:%Y-%m-%d}", f"{at:%A}"))


def both(*judges: Judge) -> Judge:
    """What all of these judges call right."""
    return lambda text: all(judge(text) for judge in judges)


def anything(text: str) -> bool:
    return bool(text.strip())


DESK: Literal["front-desk"] = "front-desk"
# The demo's own questions; each of them must succeed.
DEMO = (
    Prompt("what time is it", ("current_time",), now(), DESK),
    Prompt("tell me about customer 42", ("get_customer",), says("Lena Hofbauer", "Innsbruck|Alpine Guides")),
    Prompt("what is 12.5% of 840", ("calculate",), says(r"\b105\b")),
    Prompt("how do I get a refund", ("search_docs",), says("return", r"\[\d+\.\d+\]")),
    Prompt(
        "set an alarm in ten minutes",
        ("current_time", "set_alarm"),
        now(minutes=10),
        DESK,
        or_tools=("set_alarm",),
    ),
)
PROMPTS = (
    *DEMO,
    # Customers
    Prompt("who is customer 31?", ("get_customer",), says("Matthias Huber")),
    Prompt("what's the phone number of customer 7?", ("get_customer",), says("5550 121")),
    Prompt("give me the email address of customer number 45", ("get_customer",), says("oliver.grant@mail.example")),
    Prompt("which city does customer 58 live in?", ("get_customer",), says("Gothenburg")),
    Prompt("what are the notes on customer 36?", ("get_customer",), says("chargeback|advance payment")),
    Prompt("is there a customer called Lindqvist?", ("find_customers",), says("Marie Lindqvist")),
    Prompt("find customers in Innsbruck", ("find_customers",), says("Moser", "Huber", "Hofbauer")),
    Prompt("do we have any customers in Oslo?", ("find_customers",), says("Henrik Dahl")),
    Prompt("look up the customer Rifugio Bianchi", ("find_customers",), says("Luca.Bianchi|18")),
    Prompt("search for a customer named Zebedee", ("find_customers",), says(r"\bno\b|not|n't|0")),
    Prompt("tell me about customer 9999", ("get_customer",), says(r"\bno\b|not|n't")),
    Prompt(
        "change the phone number of customer 33 to +33 4 5550 77", ("update_customer",), says("5550 77|updated|changed")
    ),
    Prompt("customer 27 moved to Salzburg", ("update_customer",), says("Salzburg")),
    Prompt("set the status of customer 66 to active", ("update_customer",), says("active")),
    # Orders
    Prompt("what is in order 1003?", ("get_order",), says("Titanium cook set")),
    Prompt("what's the status of order 1005?", ("get_order",), says("refunded")),
    Prompt("who placed order 1042?", ("get_order",), says("Greta Sandberg")),
    Prompt("how much was order 1026?", ("get_order",), says("1875")),
    Prompt("show me the open orders", ("find_orders",), says("1041|1039")),
    Prompt("list the orders of customer 42", ("find_orders",), says("1006|1018|1030|1034|1045")),
    Prompt("what has customer 23 ordered?", ("find_orders",), says("1043|1038|1035|1026|1015")),
    Prompt("which orders were cancelled?", ("find_orders",), says("1047|1037|1027")),
    Prompt("does customer 72 have any orders?", ("find_orders",), says("1042|yes|one|1")),
    # Documents
    Prompt("how long does delivery take?", ("search_docs",), says(r"working day")),
    Prompt("what does shipping to Germany cost?", ("search_docs",), says(r"4\.90|12\.90")),
    Prompt("how long is the warranty on a backpack?", ("search_docs",), says("lifetime|2 years|legal")),
    Prompt("can I return a climbing rope?", ("search_docs",), says(r"not|n't|no\b")),
    Prompt("when is the store in Vienna open on Saturdays?", ("search_docs",), says(r"\b9(:00)?\b|18:00")),
    Prompt("what does it cost to resole hiking boots?", ("search_docs",), says("79")),
    Prompt("how much is it to rent an avalanche kit?", ("search_docs",), says("15")),
    Prompt("how can customers pay?", ("search_docs",), says("Visa|Mastercard|PayPal|Klarna")),
    Prompt("what discount do mountain guides get?", ("search_docs",), says("15")),
    Prompt("are gift cards refundable?", ("search_docs",), says(r"not|n't|no\b|cannot")),
    # Sums
    Prompt("how much is 17 * 23?", ("calculate",), says(r"\b391\b")),
    Prompt("divide 1000 by 8", ("calculate",), says(r"\b125\b")),
    Prompt("what's 15 percent off 329 euros?", ("calculate",), says(r"279\.65|49\.35")),
    Prompt("what is the square root of 1764?", ("calculate",), says(r"\b42\b")),
    Prompt("add up 189, 399 and 99", ("calculate",), says(r"\b687\b")),
    Prompt("2 to the power of 20", ("calculate",), says(r"1048576")),
    # Clock, alarms, weather
    Prompt("what's the date today?", ("current_time",), today, DESK),
    Prompt("what time is it in Tokyo?", ("current_time",), now("Asia/Tokyo"), DESK),
    Prompt("how late is it in New York now?", ("current_time",), now("America/New_York"), DESK),
    Prompt("what is 15:00 in Vienna in Tokyo time?", ("convert_time",), says(r"\b2[23]:00|1[01]:00 ?pm"), DESK),
    Prompt("set an alarm for 7:30", ("set_alarm",), says(r"\b0?7:30"), DESK),
    Prompt("wake me tomorrow at 6:15", ("set_alarm",), both(says(r"\b0?6:15"), tomorrow), DESK),
    Prompt(
        "remind me in 45 minutes to call Lena",
        ("current_time", "set_alarm"),
        now(minutes=45),
        DESK,
        or_tools=("set_alarm",),
    ),
    Prompt("which alarms do I have?", ("list_alarms",), anything, DESK),
    Prompt("cancel alarm 1", ("cancel_alarm",), says("cancel"), DESK),
    Prompt("what's the weather in Paris?", ("get_weather",), says("Paris", r"^(?!hardly|no\b).*(rain|7|8)"), DESK),
    Prompt("will it rain in Paris today?", ("get_weather",), says(r"^(?!hardly|no\b).*(yes|rain)"), DESK),
    # Nothing to look up
    Prompt("hello!", (), anything),
    Prompt("thanks, that's all", (), anything),
    Prompt("what does HTTP stand for?", (), says("hypertext")),
    Prompt("who are you and what can you do for me?", (), anything, DESK),
    Prompt("write a two-line poem about mountains", (), says("mountain|peak|summit|snow|high|sky"), DESK),
)
