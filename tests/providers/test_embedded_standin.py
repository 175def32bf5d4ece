"""The scripted stand-in: answers to the demo's questions by rules, and an explanation of what it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assistant.core.llm.protocol import ModelRequest, TextDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.core.values.untrusted import OUTSIDE, fenced
from assistant.providers.embedded import StandIn
from assistant.toolkit import Media, Tool

FAMILIES = {
    "alarms": ("set_alarm", "list_alarms", "cancel_alarm"),
    "sums and times": ("calculate", "current_time", "convert_time", "get_weather"),
    "customers": ("find_customers", "get_customer", "update_customer"),
    "orders and documents": ("find_orders", "get_order", "search_docs"),
}
NAMES = [name for names in FAMILIES.values() for name in names]
TOOLS = [Tool(name=name, description="For tests.", parameters={"type": "object"}, handler=dict) for name in NAMES]
NOW = json.dumps({"human": "Saturday 21 November 2026, 10:55", "iso": "2026-11-21T10:55:30+01:00", "timezone": "UTC"})


async def answer(*messages: Message, tools: list[Tool] = TOOLS) -> Reply:
    return [x async for x in StandIn().stream(ModelRequest(messages, tools)) if isinstance(x, Reply)][-1]


def after(question: str, *calls: tuple[str, dict[str, Any], str]) -> list[Message]:
    """Return the conversation after these tool results."""
    messages = [Message("user", question)]
    for number, (name, arguments, result) in enumerate(calls):
        call = ToolCall(f"c{number}", name, json.dumps(arguments))
        messages += [Message("assistant", tool_calls=(call,)), Message("tool", result, tool_call_id=call.id)]
    return messages


@pytest.mark.parametrize(
    ("question", "tool", "arguments"),
    [
        ("what time is it", "current_time", {}),
        ("What's the date today?", "current_time", {}),
        ("what time is it in Tokyo?", "current_time", {"timezone": "Asia/Tokyo"}),
        ("tell me about customer 42", "get_customer", {"customer_id": 42}),
        ("who is customer number 7?", "get_customer", {"customer_id": 7}),
        ("customers in Innsbruck", "find_customers", {"query": "Innsbruck"}),
        ("change customer 42's email to a@b.example", "update_customer", {"customer_id": 42, "email": "a@b.example"}),
        ("what is 12.5% of 840", "calculate", {"expression": "12.5% of 840"}),
        ("17 x 23", "calculate", {"expression": "17 * 23"}),
        ("how do I get a refund", "search_docs", {"queries": ["how do I get a refund"]}),
        ("what does shipping cost?", "search_docs", {"queries": ["what does shipping cost"]}),
        ("which orders are open?", "find_orders", {"status": "open"}),
        ("orders of customer 42", "find_orders", {"customer_id": 42}),
        ("what is in order 1003?", "get_order", {"number": 1003}),
        ("what is the weather in Innsbruck?", "get_weather", {"city": "Innsbruck"}),
        ("set an alarm for 7:30", "set_alarm", {"at": "7:30"}),
        ("which alarms do I have?", "list_alarms", {}),
        ("cancel alarm 3", "cancel_alarm", {"alarm_id": 3}),
        ("set an alarm in ten minutes", "current_time", {}),
        ("list_alarms", "list_alarms", {}),
        ('get_order {"number": 1003}', "get_order", {"number": 1003}),
        ('call set_alarm {"at": "7:30",\n "label": "{x}"}', "set_alarm", {"at": "7:30", "label": "{x}"}),
    ],
)
async def test_a_question_of_the_demo_calls_its_tool(question: str, tool: str, arguments: dict[str, Any]) -> None:
    (call,) = (await answer(Message("user", question))).tool_calls
    assert (call.name, json.loads(call.arguments)) == (tool, arguments)


async def test_an_alarm_in_ten_minutes_is_counted_from_the_clocks_answer() -> None:
    (call,) = (await answer(*after("set an alarm in ten minutes", ("current_time", {}, NOW)))).tool_calls
    assert (call.name, json.loads(call.arguments)) == ("set_alarm", {"at": "2026-11-21T11:05+01:00"})
    done = after(
        "set an alarm in ten minutes",
        ("current_time", {}, NOW),
        ("set_alarm", {}, '{"human":"Saturday 21 November 2026, 11:05"}'),
    )
    assert (await answer(*done)).text == "The alarm is set for **Saturday 21 November 2026, 11:05**."


async def test_an_answer_from_documents_names_its_source() -> None:
    found = json.dumps({"results": [{"number": "7.2", "source": "Refunds", "text": "Within 30 days."}], "note": ""})
    text = (await answer(*after("how do I get a refund", ("search_docs", {"queries": ["refund"]}, found)))).text
    assert text == "> Within 30 days.\n\n(Source: Refunds [7.2])"


async def test_a_tools_error_is_the_answer() -> None:
    text = (await answer(*after("customer 9", ("get_customer", {"customer_id": 9}, "There is no customer 9.")))).text
    assert text == "There is no customer 9."


@pytest.mark.parametrize("text", ["It ships on Tuesday.", "Two\nlines [0123abcd]", ""])
async def test_what_is_meant_for_models_is_no_part_of_an_answer(text: str) -> None:
    note = Media(b"a,b", "text/csv", name="report.csv").sentence
    for result in (fenced(text, OUTSIDE), fenced(f"{text}\n{note}", OUTSIDE, "c0"), f"{note}\n{text}"):
        assert (await answer(*after("order_lamp {}", ("order_lamp", {}, result)))).text.strip() == text


async def test_a_tool_that_is_switched_off_is_not_called() -> None:
    reply = await answer(Message("user", "tell me about customer 42"), tools=[])
    assert reply.tool_calls == ()


@pytest.mark.parametrize("chat", ["hello", "who are you?", "write a poem", "get_order {", "drop_tables {}"])
async def test_it_explains_itself_in_answer_to_anything_else(chat: str) -> None:
    text = (await answer(Message("user", chat))).text
    assert "scripted stand-in, not a language model" in text
    assert "tell me about customer 42" in text


async def test_whoever_has_other_tools_is_told_how_to_use_them() -> None:
    text = (await answer(Message("user", "hello"), tools=[])).text
    assert "set OPENAI_API_KEY" in text and "in the admin" in text


async def test_its_answer_streams_in_small_pieces() -> None:
    request = ModelRequest([Message("user", "hello")], TOOLS)
    pieces = [item.text async for item in StandIn().stream(request) if isinstance(item, TextDelta)]
    assert len(pieces) > 20
    assert "".join(pieces) == (await answer(Message("user", "hello"))).text


def test_its_name_says_what_it_is() -> None:
    assert StandIn.name == "scripted stand-in (no language model)"
