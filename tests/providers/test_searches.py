"""Searches of documents by the embedded model: made where it made none, and without the words of worked examples."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assistant.core.llm.protocol import ModelRequest, TextDelta, ToolCallDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.providers.embedded import EmbeddedModel
from assistant.providers.embedded.searches import MAX_WORDING, needed_search, searched
from assistant.toolkit import Example, Tool
from tests.fake_provider import FakeProvider

SHOWN = ["Large animals may enter company premises.", "pets livestock creatures registration"]
LIST = {"type": "array", "items": {"type": "string"}}


def tool_of(name: str, schema: dict[str, Any], arguments: dict[str, Any], **options: Any) -> Tool:
    return Tool(
        name=name,
        description="Search the documents: refunds, warranty.",
        parameters={"type": "object", "properties": {**schema, "limit": {"type": "integer"}}, "required": [*schema]},
        handler=dict,
        examples=[Example("how do I bring a zebra?", arguments, "At the gate.", "{}")],
        **options,
    )


SEARCH = tool_of("search_docs", {"queries": LIST}, {"queries": SHOWN, "limit": 3}, read_only=True)
SUMS = tool_of("calculate", {"expression": {"type": "string"}}, {"expression": "warranty"}, read_only=True)


def asked(question: str, tool: Tool = SEARCH, *later: Message, **options: Any) -> ModelRequest:
    return ModelRequest([Message("system", "Be brief."), Message("user", question), *later], tools=[tool], **options)


def wordings(call: ToolCall) -> list[str]:
    return list(json.loads(call.arguments)["queries"])


def test_a_question_that_fits_the_documents_is_searched() -> None:
    call = needed_search(asked("What is your warranty?"))
    assert call and json.loads(call.arguments) == {"queries": ["What is your warranty?"], "limit": 3}
    long = needed_search(asked("warranty " * 999))
    assert long and len(wordings(long)[0]) == MAX_WORDING


@pytest.mark.parametrize(
    "request_",
    [
        asked("hello!"),
        asked("What is your warranty?", SUMS),
        asked("What is your warranty?", SEARCH.replace(read_only=False)),
        asked("What is your warranty?", SEARCH, Message("tool", "{}", tool_call_id="a")),
        asked("What is your warranty?", response_format={"type": "json_object"}),
        asked("What is your warranty?", tool_choice="none"),
        ModelRequest([]),
    ],
)
def test_nothing_else_is_searched_for_the_model(request_: ModelRequest) -> None:
    assert needed_search(request_) is None


def test_wordings_lose_what_only_the_example_says_and_the_question_comes_first() -> None:
    call = ToolCall("a", "search_docs", json.dumps({"queries": ["Shipping of large animals.", SHOWN[1]], "limit": 3}))
    reply = searched(Reply(tool_calls=(call,)), asked("Wie lange dauert die Lieferung?"), None)
    assert json.loads(reply.tool_calls[0].arguments) == {
        "queries": ["Wie lange dauert die Lieferung?", "Shipping of"],
        "limit": 3,
    }


def test_wordings_of_the_models_own_and_calls_of_other_tools_stay() -> None:
    own = ToolCall("a", "search_docs", json.dumps({"queries": ["The warranty covers large rucksacks."]}))
    other = ToolCall("b", "calculate", json.dumps({"expression": SHOWN[0]}))
    broken = ToolCall("c", "search_docs", "{")
    reply = Reply(tool_calls=(own, other, broken))
    assert searched(reply, asked("warranty?"), None) == reply
    about = ToolCall("a", "search_docs", json.dumps({"queries": ["large animals"]}))
    assert searched(Reply(tool_calls=(about,)), asked("May large animals enter?"), None).tool_calls == (about,)


async def streamed(provider: FakeProvider, question: str) -> list[Any]:
    return [item async for item in EmbeddedModel(provider.url).stream(asked(question))]


async def test_an_answer_from_memory_is_not_shown_and_a_search_takes_its_place(fake_provider: FakeProvider) -> None:
    fake_provider.reply("It is limited to the manufacturer's.")
    delta, reply = await streamed(fake_provider, "What is your warranty?")
    assert isinstance(delta, ToolCallDelta) and (delta.name, reply.text) == ("search_docs", "")
    assert reply.tool_calls == (ToolCall(delta.id, delta.name, delta.arguments),)
    assert reply.finish_reason == "tool_calls"


async def test_other_answers_and_the_models_own_searches_are_passed_on(fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello")
    items = await streamed(fake_provider, "hi there")
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == items[-1].text == "Hello"
    fake_provider.call("search_docs", {"queries": ["The warranty covers two years."]})
    items = await streamed(fake_provider, "What is your warranty?")
    assert wordings(items[-1].tool_calls[0]) == ["The warranty covers two years."]
    assert [item.name for item in items if isinstance(item, ToolCallDelta)] == ["search_docs"]
