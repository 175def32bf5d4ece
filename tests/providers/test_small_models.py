"""What small models are sent: a short list of tools, and worked examples of those that fit the question."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import override_settings

from assistant.contrib.demo.tenants import load_demo_tenants
from assistant.contrib.local_model.warm_up_requests import likely_requests
from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.history_window import estimate
from assistant.core.values.messages import Message, ToolCall
from assistant.providers.embedded.model import prepared
from assistant.providers.embedded.small_models import brief, fitting, listed_tools
from assistant.toolkit import Example, Tool
from tests.fake_provider import FakeProvider
from tests.model.prompts import PROMPTS
from tests.providers.test_openai import sent as body_sent

# A prompt of the demo has at most 1,500 tokens by the model's own count (tests/model). An estimate is a fifth lower.
MOST_ESTIMATED = 1_220


def tool_of(name: str, description: str, example: str = "", **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    examples = [Example(example, {}, "Done.", "{}")] if example and not properties else []
    return Tool(name=name, description=description, parameters=schema, handler=dict, examples=examples)


WEATHER = tool_of("get_weather", "Tell the weather at a place.", "will it rain in Erewhon?")
INVOICE = tool_of("get_invoice", "Tell everything about the invoice with a given number.", "what is in invoice 90002?")
ALARMS = tool_of("list_alarms", "List the user's alarms.", "do I have any alarms?")
SEARCH = Tool(
    name="search_docs",
    description="Search the documents.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    handler=dict,
    examples=[Example("how do I bring a zebra?", {"query": "zebra"}, "At the gate.", "{}")],
)
TOOLS = [WEATHER, INVOICE, ALARMS, SEARCH]


def asked(question: str, tools: list[Tool], *earlier: Message) -> ModelRequest:
    return ModelRequest([Message("system", "Be brief."), *earlier, Message("user", question)], tools=tools)


def examples_in(request: ModelRequest) -> list[str]:
    return [call.name for message in brief(request).messages for call in message.tool_calls]


def test_the_tools_that_fit_are_those_with_words_in_common() -> None:
    assert fitting("Does it rain in Vienna?", TOOLS) == [WEATHER]
    assert fitting("what was in invoice 7?", TOOLS)[0] == INVOICE
    assert fitting("which alarms are there?", TOOLS) == [ALARMS]
    assert fitting("hello!", TOOLS) == []


def test_a_search_has_its_example_whatever_is_asked_and_a_fitting_tool_after_it() -> None:
    assert examples_in(asked("hello!", TOOLS)) == ["search_docs"]
    assert examples_in(asked("will it rain?", TOOLS)) == ["search_docs", "get_weather"]


def test_examples_of_the_earlier_question_stay_before_those_of_the_next() -> None:
    earlier = [Message("user", "will it rain?"), Message("assistant", "No.")]
    found = examples_in(asked("and which alarms are there?", TOOLS, *earlier))
    assert found == ["search_docs", "get_weather", "list_alarms"]


def test_many_tools_are_left_out_but_the_fitting_and_the_called_ones_in_one_order() -> None:
    many = [tool_of(f"tool_{number}", "Do something long and dull with many words. " * 5) for number in range(60)]
    called = Message("assistant", tool_calls=(ToolCall("a", "tool_59", "{}"),))
    kept = listed_tools(asked("will it rain in Vienna?", [*many, WEATHER], Message("user", "x"), called))
    names = [tool.name for tool in kept]
    assert names[-2:] == ["tool_59", "get_weather"] and len(names) < 20
    assert names == [tool.name for tool in [*many, WEATHER] if tool.name in names]


def test_a_tool_that_must_be_called_stays() -> None:
    many = [tool_of(f"tool_{number}", "Do something long and dull with many words. " * 5) for number in range(60)]
    request = ModelRequest([Message("user", "hi")], tools=many, tool_choice="tool_59")
    assert "tool_59" in {tool.name for tool in listed_tools(request)}


@pytest.mark.parametrize("is_small", [True, False])
async def test_a_request_of_a_small_model_has_the_short_list_and_of_another_all(
    fake_provider: FakeProvider, is_small: bool
) -> None:
    many = [tool_of(f"tool_{number}", "Do something long and dull with many words. " * 5) for number in range(60)]
    body = await body_sent(fake_provider, asked("hi", many), small=is_small)
    assert (len(body["tools"]) < 20) == is_small


@pytest.fixture
def demo_requests(db: None) -> list[ModelRequest]:
    """The beginnings of conversations with the demo's four assistants."""
    with override_settings(DEBUG=True):
        load_demo_tenants()
    return likely_requests(count=4)


def tokens_of(request: ModelRequest) -> int:
    """The tokens of a prompt as the chat template writes it, about."""
    lines = [f"## {tool.name}\n{tool.description}\n" for tool in request.tools]
    for tool in request.tools:
        for name, schema in tool.parameters.get("properties", {}).items():
            choices = json.dumps([one.get("enum") for one in schema.get("anyOf", [schema]) if "enum" in one])
            lines.append(f"- {name} (string, required): {schema.get('description', '')} {choices}\n")
    return estimate(Message("system", "".join(lines))) + sum(estimate(message) for message in request.messages)


@pytest.fixture
def sent(demo_requests: list[ModelRequest]) -> list[ModelRequest]:
    """What the model is sent for each of sixty questions, by each of the four assistants."""
    return [
        prepared(ModelRequest([request.messages[0], Message("user", prompt.text)], tools=request.tools))
        for request in demo_requests
        for prompt in PROMPTS
    ]


def test_prompts_of_the_demo_are_short(sent: list[ModelRequest]) -> None:
    assert len(sent) == 240 and max(map(tokens_of, sent)) <= MOST_ESTIMATED


def test_prompts_of_the_demo_begin_with_the_same_tools_for_all_tenants_assistants_and_questions(
    sent: list[ModelRequest],
) -> None:
    names = [[tool.name for tool in request.tools] for request in sent]
    shared = [first for first, *others in zip(*names, strict=False) if {*others} == {first}]
    assert shared == names[0][: len(shared)]
    assert shared == ["calculate", "current_time", "convert_time", "search_docs", "read_document"]


def test_the_first_requests_are_read_ahead_for_the_tenants_in_turn(demo_requests: list[ModelRequest]) -> None:
    prompts = [request.messages[0].content for request in demo_requests]
    assert "Acme" in prompts[0] and "Globex" in prompts[1]
