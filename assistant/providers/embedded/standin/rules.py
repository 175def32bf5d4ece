"""The stand-in's rules: which of the demo's tools a message needs, and with which arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from assistant.toolkit.bounded_json import load_json


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make: a tool's name and its arguments."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Found = re.Match[str]
Maker = Callable[[Found], Call]
Done = Sequence[tuple[Call, str]]

_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_NUMBERS |= {"nine": 9, "ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "half an": 30}
_AMOUNT = r"(?P<amount>\d{1,4}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + ")"
_WAIT = re.compile(rf"\bin {_AMOUNT} (?P<unit>min|minute|hour)s?\b", re.IGNORECASE)
_ALARM = re.compile(r"\b(alarm|remind|wake)", re.IGNORECASE)
_LABEL = re.compile(r"\b(?:for|to) (?P<label>(?!\d)[a-z][\w ]{1,60})", re.IGNORECASE)
_CLOCK = r"(?P<clock>(?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d|\d{1,2} ?[ap]m)"
_ZONES = {"london": "Europe/London", "paris": "Europe/Paris", "berlin": "Europe/Berlin", "vienna": "Europe/Vienna"}
_ZONES |= {"tokyo": "Asia/Tokyo", "sydney": "Australia/Sydney", "new york": "America/New_York", "utc": "UTC"}
_ZONE = "|".join(_ZONES)
_EXPRESSION = re.compile(r"(?<![\w-])[\d(][\d\s.,+*/%()^x-]*?(?:%? of [\d.,]+|[-+*/^x]\s*[\d.(][\d\s.,+*/%()^x-]*)")
# A tool by its name, with its arguments in JSON: count_seats {"team": "sales"}.
_BY_NAME = re.compile(r"(?:(?:call|use) )?(?P<tool>[a-z_][a-z0-9_]*)\s*(?P<arguments>\{.*\})?", re.DOTALL)
_STATUS = re.compile(r"\b(?:open|paid|shipped|cancelled|refunded)\b", re.IGNORECASE)
_DOCUMENTS = (
    r"refund|return|shipping|deliver|warrant|guarantee|polic|opening|hours|contact|support|manual|"
    r"how (?:do|can|does|long)|document|price|plan|invoice|payment"
)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[text.lower()]


def _orders(found: Found) -> Call:
    status = _STATUS.search(found.string)
    return Call("find_orders", {"status": status[0].lower()} if status else {})


_RULES: Sequence[tuple[str, Maker]] = (
    (r"\bcancel\b.*\balarm\D*(?P<id>\d+)", lambda m: Call("cancel_alarm", {"alarm_id": int(m["id"])})),
    (r"\b(?:which|list|show|my|any|what)\b.*\balarms\b", lambda m: Call("list_alarms")),
    (
        rf"\b{_CLOCK}\b.*\b(?:from |in )?(?P<from>{_ZONE})\b.*\b(?P<to>{_ZONE})\b",
        lambda m: Call(
            "convert_time",
            {"time": m["clock"], "from_zone": _ZONES[m["from"].lower()], "to_zone": _ZONES[m["to"].lower()]},
        ),
    ),
    (rf"\b(?:alarm|remind|wake)\b.*\b{_CLOCK}", lambda m: Call("set_alarm", {"at": m["clock"]})),
    (rf"\btime\b.*\b(?P<zone>{_ZONE})\b", lambda m: Call("current_time", {"timezone": _ZONES[m["zone"].lower()]})),
    (r"\b(?:what|which|tell)\b.*\b(?:time|date|day)\b(?!.*\bcustomer)", lambda m: Call("current_time")),
    (
        r"\bweather\b.*\b(?:in|for|at) (?P<city>[A-Za-z][\w .'-]*)",
        lambda m: Call("get_weather", {"city": m["city"].strip()}),
    ),
    (r"\brain\b.*\bin (?P<city>[A-Z][\w .'-]*)", lambda m: Call("get_weather", {"city": m["city"].strip()})),
    (
        r"\bcustomer (?P<id>\d+)\S*\s+(?P<field>email|phone|city|name|company)\b\D*?\bto (?P<value>.+)",
        lambda m: Call("update_customer", {"customer_id": int(m["id"]), m["field"].lower(): m["value"].strip(" .")}),
    ),
    (
        r"\border\w*\b.*\bcustomer (?:number )?#?(?P<id>\d+)",
        lambda m: Call("find_orders", {"customer_id": int(m["id"])}),
    ),
    (r"\bcustomer (?:number )?#?(?P<id>\d+)\b.*\border", lambda m: Call("find_orders", {"customer_id": int(m["id"])})),
    (r"\bcustomer (?:number )?#?(?P<id>\d+)", lambda m: Call("get_customer", {"customer_id": int(m["id"])})),
    (r"\border (?:number )?#?(?P<id>\d+)", lambda m: Call("get_order", {"number": int(m["id"])})),
    (r"\borders\b", _orders),
    (
        r"\bcustomers?\b.*?\b(?:named|called|in|from|at|like) (?P<query>[\w@ .'-]+)",
        lambda m: Call("find_customers", {"query": m["query"].strip(" .")}),
    ),
    (_DOCUMENTS, lambda m: Call("search_docs", {"queries": [m.string.strip(" ?!.")]})),
)
# The rest of a question is ignored: the time of some rules grows with the square of its length.
MAX_QUESTION_CHARACTERS = 1_000
_COMPILED = [(re.compile(pattern, re.IGNORECASE), make) for pattern, make in _RULES]


def next_call(question: str, done: Done, tools: Collection[str]) -> Call | None:
    """Return the call to make now, if any.

    Args:
        question: the user's message.
        done: the calls made for it so far, with their results.
        tools: the names of the offered tools.
    """
    text = " ".join(question[:MAX_QUESTION_CHARACTERS].split())
    wait = _WAIT.search(text) if _ALARM.search(text) else None
    if wait is not None and {"current_time", "set_alarm"} <= set(tools):
        return _alarm_after(wait, text, done)
    if done:
        return None
    if (named := _named(question[:MAX_QUESTION_CHARACTERS].strip(), tools)) is not None:
        return named
    calls = (make(found) for pattern, make in _COMPILED if (found := pattern.search(text)))
    chosen = _calculation(text) or next(calls, None)
    return chosen if chosen is not None and chosen.tool in tools else None


def _named(question: str, tools: Collection[str]) -> Call | None:
    """Return the call that a message spells out, if its tool is offered and its arguments are a JSON object."""
    found = _BY_NAME.fullmatch(question)
    if found is None or found["tool"] not in tools:
        return None
    try:
        arguments = load_json(found["arguments"] or "{}")
    except ValueError:
        return None
    return Call(found["tool"], arguments)


def _alarm_after(wait: Found, text: str, done: Done) -> Call | None:
    """Return a call of `current_time` first, and then of `set_alarm` at that time plus the wait."""
    if not done:
        return Call("current_time")
    if len(done) > 1:
        return None
    try:
        now = datetime.fromisoformat(load_json(done[0][1])["iso"])
    except (ValueError, KeyError, TypeError):
        return None
    amount = _number(wait["amount"])
    minutes = amount if wait["unit"].lower().startswith("min") or wait["amount"].lower() == "half an" else amount * 60
    label = _LABEL.search(text.replace(wait[0], ""))
    arguments = {"at": (now + timedelta(minutes=minutes)).isoformat(timespec="minutes")}
    return Call("set_alarm", arguments | ({"label": label["label"].strip()} if label else {}))


def _calculation(text: str) -> Call | None:
    found = _EXPRESSION.search(text)
    if found is None or re.search(r"\d{4}-\d\d-\d\d|\d:\d\d", text):
        return None
    return Call("calculate", {"expression": found[0].strip(" .").replace("^", "**").replace("x", "*")})
