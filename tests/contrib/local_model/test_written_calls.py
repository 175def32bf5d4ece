"""Calls of tools that models write into their text, in the notations of their templates."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from assistant.client import ChatClient, RunFailed
from assistant.contrib.local_model.call_notations import CERTAIN, NotACall, read_calls
from assistant.contrib.local_model.written_calls import MAX_HELD, WrittenCalls
from assistant.core.llm.protocol import TextDelta
from assistant.core.values.messages import Reply
from assistant.providers import OpenAIModel, model_class, read_texts_with
from assistant.toolkit import tool
from tests.fake_answers import Answer, chunk
from tests.fake_provider import FakeProvider
from tests.providers.native.wires import WIRES
from tests.providers.quirks import end, sse
from tests.providers.test_reader_cost import calls_of

ROME = {"city": "Rome", "days": 2}
JSON = json.dumps(ROME)
NAMED = json.dumps({"name": "get_weather", "arguments": ROME})
LLAMA = json.dumps({"name": "get_weather", "parameters": ROME})
XML = "<parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n</parameter>"
INVOKED = (
    '<invoke name="get_weather"><parameter name="city">Rome</parameter><parameter name="days">2</parameter></invoke>'
)
DSML = (
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Rome'
    '</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
    "</｜DSML｜function_calls>"
)
NOTATIONS = {
    "Hermes": f"<tool_call>\n{NAMED}\n</tool_call>",
    "Hermes, without an end": f"<tool_call>{NAMED}",
    "Qwen Coder": f"<tool_call>\n<function=get_weather>\n{XML}\n</function>\n</tool_call>",
    "Qwen Coder, without the outer tag": f"<function=get_weather>\n{XML}\n</function>\n</tool_call>",
    "GLM": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n<arg_key>days</arg_key>\n"
    "<arg_value>2</arg_value>\n</tool_call>",
    "Llama 3.1": f"<function=get_weather>{JSON}</function><|eot_id|>",
    "Llama": f"<|python_tag|>{LLAMA}<|eom_id|>",
    "Mistral": f"[TOOL_CALLS] [{NAMED}]</s>",
    "Mistral, newer": f"[TOOL_CALLS]get_weather[ARGS]{JSON}",
    "Mistral, with an id": f"[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{JSON}",
    "Mistral, in between": f"[TOOL_CALLS]get_weather{JSON}",
    "DeepSeek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
    f"{JSON}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "DeepSeek 3.1": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{JSON}<｜tool▁call▁end｜>"
    "<｜tool▁calls▁end｜>",
    "DeepSeek 3.2": DSML,
    "Kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
    f"{JSON}<|tool_call_end|><|tool_calls_section_end|>",
    "MiniMax": f"<minimax:tool_call>\n{INVOKED}\n</minimax:tool_call>",
    "Granite": f"<|tool_call|>[{NAMED}]",
    "gpt-oss": "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>" + JSON + "<|call|>",
    "gpt-oss, as a new message": "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json"
    f"<|message|>{JSON}<|call|>",
    "gpt-oss, with the recipient first": "<|start|>assistant to=functions.get_weather<|channel|>commentary json"
    f"<|message|>{JSON}",
    "Llama 4": '<|python_start|>[get_weather(city="Rome", days=2)]<|python_end|>',
    "LFM": "<|tool_call_start|>[get_weather(city='Rome', days=2)]<|tool_call_end|>",
    "Command": f'<|START_ACTION|>[\n{{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {JSON}}}\n]'
    "<|END_ACTION|>",
    "InternLM": f"<|action_start|><|plugin|>{LLAMA}<|action_end|>",
    "Seed": f"<seed:tool_call>\n<function=get_weather>\n{XML}\n</function>\n</seed:tool_call>",
    "Nemotron": f"<TOOLCALL>[{NAMED}]</TOOLCALL>",
    "OLMo": '<function_calls>get_weather(city="Rome", days=2)</function_calls>',
    "Hermes, with Python's quotes": "<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Rome', 'days': 2}}"
    "</tool_call>",
    "Gemma": "```tool_code\nprint(get_weather(city='Rome', days=2))\n```",
    "Gemma, without print": '```tool_code\nget_weather(city="Rome", days=2)\n```\n',
    "Gemma, with a module": '```tool_code\nprint(default_api.get_weather(city="Rome", days=2))\n```',
    "Gemma, as a list and without an end": '```tool_code\n[get_weather(city="Rome", days=2)]',
    "Gemma, with a result that it has made up": "```tool_code\nprint(get_weather(city='Rome', days=2))\n```\n"
    "```tool_output\nRain.\n```\nIt rains in Rome.",
    "gpt-oss, in its analysis": f"<|channel|>analysis to=functions.get_weather code<|message|>{JSON}",
}
BARE = {
    "Llama, without a token": LLAMA,
    "Llama, with a type": f'{{"type": "function", "name": "get_weather", "parameters": {JSON}}}<|eom_id|>',
    "a function": f'{{\n  "type": "function",\n  "function": {{"name": "get_weather", "arguments": {JSON}}}\n}}',
    "the answer of an API": f'{{"tool_calls": [{{"type": "function", "function": {NAMED}}}]}}',
    "a list": f"[\n  {NAMED}\n]",
    "Python": '[get_weather(city="Rome", days=2)]<|eot_id|>',
    "Python, with a bracket in a text": "[ get_weather(days = 2, city='Rome') ]",
}
# Tokens of a template, which a model writes right after its words.
TOKENS = [name for name, text in NOTATIONS.items() if text.startswith(("<|", "<｜", "[TOOL_CALLS]", "<minimax"))]
BROKEN = {
    "an unknown tool": '<tool_call>{"name": "rm", "arguments": {}}</tool_call>',
    "arguments that are no JSON": '<tool_call>{"name": "get_weather", "arguments": {"city": Rome}}</tool_call>',
    "arguments that are no object": '<tool_call>{"name": "get_weather", "arguments": [1]}</tool_call>',
    "an end that is missing": '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"ci',
    "a call of code": '<|python_tag|>get_weather.call(city="Rome")',
    "one of two that is unknown": f'[TOOL_CALLS] [{NAMED}, {{"name": "rm", "arguments": {{}}}}]',
    "FunctionGemma": "<start_function_call>call:get_weather{city:<escape>Rome<escape>}<end_function_call>",
    "Gemma 4": '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>}<tool_call|>',
    "Apertus": f'<|tools_prefix|>[{{"get_weather": {JSON}}}]<|tools_suffix|>',
    "Step": "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>get_weather",
    "Gemma, an unknown tool": "```tool_code\nprint(rm(path='/'))\n```",
    "Gemma, code in an argument": "```tool_code\nprint(get_weather(city=open('/etc/passwd').read(), days=2))\n```",
    "Gemma, code around a call": "```tool_code\nsun = get_weather(city='Rome', days=2)\nprint(sun)\n```",
    "Gemma, code after a call": "```tool_code\nget_weather(city='Rome', days=2)\nimport os\n```",
    "Gemma, code alone": "```tool_code\nimport os\nos.remove('/')\n```",
    "Gemma, nested too deeply": "```tool_code\n" + "print(" * 200,
    "nested too deeply": '<tool_call>{"name": "get_weather", "arguments": {"city": ' + "[" * 200,
}
TALK = (
    "<tool_call> is the tag that Qwen writes.",
    "[TOOL_CALLS] begins the calls of Mistral.",
    "<function= and so on.",
    "<|python_tag|> is a token of Llama's.",
    f"Qwen writes:\n```\n<tool_call>{NAMED}</tool_call>\n```\nand waits.",
    f"```\n<tool_call>{NAMED}</tool_call>\n```",
    f"It writes `<tool_call>{NAMED}</tool_call>` for that.",
    f"It writes <tool_call>{NAMED}</tool_call> for that.",
    "```tool_code is how Gemma begins.",
    "Gemma writes `tool_code`: ``` and then ```tool_code\nget_weather(city='Rome', days=2)\n```",
    "Gemma writes:\n```tool_code\nrm(path='/')\n```",
    "Gemma writes:\n```tool_code\nget_weather(city='Rome', days=2)\n```\nand waits.",
    "````\n```tool_code\nget_weather(city='Rome', days=2)\n```\n````",
    "```python\nget_weather(city='Rome', days=2)\n```",
    "<tool",
    "[1, 2] is a list.",
    "< 5",
    f"Mistral writes [TOOL_CALLS] [{NAMED}] for that.",
    f"Mistral writes `[TOOL_CALLS] [{NAMED}]`",
    f"For example:\n[TOOL_CALLS] [{NAMED}]\nand then it waits.",
    f"For example:\n```\n[TOOL_CALLS] [{NAMED}]\n```",
    '[TOOL_CALLS] is of Mistral, as in:\n[TOOL_CALLS] [{"name": "rm", "arguments": {}}]',
    'Look.\n{"name": "rm", "parameters": {}}',
    '{"name": "get_weather", "kind": "tool"}',
    f"It would be {LLAMA}",
    f"{LLAMA}\nis how Llama does it.",
    "[get_weather(1)]",
    "[get_weather(city=open)]",
    '[get_weather(city="Rome")](https://example.com) is a link.',
    '[rm(path="/")]',
    "[get_weather",
    "Look:\n[get_weather(city=" + "[" * 200,
)
SCHEMAS: dict[str, Any] = {
    "get_weather": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
}


@tool
def get_weather(city: str, days: int) -> str:
    """Tell the weather."""
    return f"{days} days of sun in {city}"


def client_of(provider: FakeProvider, **options: Any) -> ChatClient:
    return ChatClient(
        model=OpenAIModel("fake", base_url=provider.url, api_key="", max_retries=0, **options), tools=[get_weather]
    )


@pytest.mark.parametrize("name", [*NOTATIONS, *BARE])
async def test_a_call_that_is_written_as_text_is_a_call(fake_provider: FakeProvider, name: str) -> None:
    fake_provider.reply(chunks=[*(NOTATIONS | BARE)[name]])
    fake_provider.reply("Sun.")
    stream = client_of(fake_provider).stream("Weather?")
    shown = "".join([event.delta async for event in stream if event.type == "TEXT_MESSAGE_CONTENT"])
    (call,) = stream.reply.tool_calls
    assert (shown, call.arguments, call.result) == ("Sun.", ROME, "2 days of sun in Rome")


async def test_a_call_after_the_name_of_a_module_is_a_call(fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=[*f"functools[{NAMED}]"])
    fake_provider.reply("Sun.")

    reply = await client_of(fake_provider).call("Weather in Rome?")

    assert reply.tool_calls[0].result == "2 days of sun in Rome"


@pytest.mark.parametrize("text", ["functools is a module of Python.", "functools[0]", "<TOOLCALL> is a tag."])
async def test_names_of_notations_alone_are_text(fake_provider: FakeProvider, text: str) -> None:
    fake_provider.reply(chunks=[*text])

    assert (await client_of(fake_provider).call("Hm?")).text == text


@pytest.mark.parametrize("name", BROKEN)
async def test_a_written_call_that_cannot_be_run_is_a_failure(
    fake_provider: FakeProvider, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    fake_provider.reply(chunks=[*BROKEN[name]])
    stream = client_of(fake_provider).stream("Weather?")
    with caplog.at_level(logging.WARNING):
        shown = [event async for event in stream if event.type == "TEXT_MESSAGE_CONTENT"]
    with pytest.raises(RunFailed, match="wrote the call of a tool as text") as failed:
        _ = stream.reply
    assert (shown, failed.value.code, len(fake_provider.requests)) == ([], "provider_error", 1)
    assert failed.value.details is not None and failed.value.details.code == "written_call"
    assert "written_call" in caplog.text


async def test_without_tools_a_written_call_is_a_failure_too(fake_provider: FakeProvider) -> None:
    fake_provider.reply(NOTATIONS["Hermes"])
    with pytest.raises(RunFailed, match="as text"):
        await client_of(fake_provider).call("Weather?", tools=[])


@pytest.mark.parametrize("text", TALK)
async def test_an_answer_about_calls_is_shown(fake_provider: FakeProvider, text: str) -> None:
    for chunks in ([text], [*text]):
        fake_provider.reply(chunks=chunks)
        assert (await client_of(fake_provider).call("How does Qwen call tools?")).text == text


async def test_text_before_a_call_is_shown_and_the_call_is_run(fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=[*f"I look.\n{NOTATIONS['Qwen Coder']}"])
    fake_provider.reply("Sun.")
    reply = await client_of(fake_provider).call("Weather?")
    assert (reply.text, [call.arguments for call in reply.tool_calls]) == ("Sun.", [ROME])
    assert fake_provider.requests[1].messages[1]["content"] == "I look.\n"


async def test_a_block_of_gemma_after_words_is_a_call_and_each_of_its_lines_is_one(fake_provider: FakeProvider) -> None:
    line = "print(get_weather(city='Rome', days=2))"
    text = f"I look with `get_weather`.\n```tool_code\n{line}\n{line}\n```"
    for chunks in ([text], [*text]):
        fake_provider.reply(chunks=chunks)
        fake_provider.reply("Sun.")
        reply = await client_of(fake_provider).call("Weather?")
        assert (reply.text, [call.arguments for call in reply.tool_calls]) == ("Sun.", [ROME, ROME])


async def test_two_calls_and_reasoning_are_read(fake_provider: FakeProvider) -> None:
    fake_provider.reply(f"<think>Hm.</think>\n{NOTATIONS['Hermes']}\n{NOTATIONS['Hermes']}")
    fake_provider.reply("Sun.")
    assert len((await client_of(fake_provider).call("Weather?")).tool_calls) == 2


async def test_calls_stay_in_the_text_where_nothing_reads_them(fake_provider: FakeProvider) -> None:
    fake_provider.reply(NOTATIONS["Hermes"])
    read_texts_with("")
    try:
        reply = await client_of(fake_provider).call("Hi")
    finally:
        read_texts_with("assistant.contrib.local_model.written_calls.WrittenCalls")
    assert reply.text == NOTATIONS["Hermes"]


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_call_that_comes_in_the_text_and_as_a_call_is_one(fake_provider: FakeProvider, is_first: bool) -> None:
    native = {"index": 0, "id": "n1", "function": {"name": "get_weather", "arguments": JSON}}
    parts = [chunk({"content": NOTATIONS["Hermes"]}), chunk({"tool_calls": [native]})]
    fake_provider.queue(Answer([sse(*(parts if is_first else parts[::-1]), end("tool_calls"))]))
    fake_provider.reply("Sun.")
    reply = await client_of(fake_provider).call("Weather?")
    assert [call.arguments for call in reply.tool_calls] == [ROME]


@pytest.mark.parametrize("wire", WIRES)
async def test_other_wire_formats_read_them_too(fake_provider: FakeProvider, wire: str) -> None:
    fake_provider.queue(WIRES[wire].say(NOTATIONS["Mistral"]), WIRES[wire].say("Sun."))
    model = model_class(wire)(WIRES[wire].model, base_url=fake_provider.url, api_key="", max_retries=0)
    reply = await ChatClient(model=model, tools=[get_weather]).call("Weather?")
    assert (reply.text, [call.arguments for call in reply.tool_calls]) == ("Sun.", [ROME])


async def test_a_call_that_never_ends_is_held_within_bounds_and_fails(fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=['<tool_call>{"name": "', *["x" * 1_000] * (MAX_HELD // 1_000 + 1)])
    with pytest.raises(RunFailed, match="as text") as failed:
        await client_of(fake_provider).call("Weather?")
    assert "too long" in str(failed.value.details)


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("name", [*NOTATIONS, *BARE])
async def test_a_call_after_words_is_a_call(fake_provider: FakeProvider, name: str, size: int) -> None:
    for words in ("I look.\n", "Ich *sehe* nach: `a` [1].") if name in TOKENS else ("I look.\n",):
        text = words + (NOTATIONS | BARE)[name]
        fake_provider.reply(chunks=[text[at : at + size] for at in range(0, len(text), size)])
        fake_provider.reply("Sun.")
        stream = client_of(fake_provider).stream("Weather?")
        shown = "".join([event.delta async for event in stream if event.type == "TEXT_MESSAGE_CONTENT"])
        (call,) = stream.reply.tool_calls
        assert (shown, call.arguments) == (f"{words}Sun.", ROME)
        assert fake_provider.requests[-1].messages[1]["content"] == words


@pytest.mark.parametrize("wire", WIRES)
async def test_other_wire_formats_read_calls_after_words(fake_provider: FakeProvider, wire: str) -> None:
    for text in (NOTATIONS["DeepSeek"], NOTATIONS["Hermes"], BARE["Python"]):
        fake_provider.queue(WIRES[wire].say(f"I look.\n{text}"), WIRES[wire].say("Sun."))
        model = model_class(wire)(WIRES[wire].model, base_url=fake_provider.url, api_key="", max_retries=0)
        reply = await ChatClient(model=model, tools=[get_weather]).call("Weather?")
        assert [call.arguments for call in reply.tool_calls] == [ROME]


ORDINARY = (
    'A list:\n[1, 2]\n{"a": 1}\n',
    "if a < b and c[0] == {1}: print('<div>')\n" * 50,
    '```json\n{"name": "get_weather", "parameters": {"city": "Rome"}}\n```\nis such a call.\n' * 3,
    "Tokens such as <|im_start|>, [TOOL and <｜ are of templates.\n",
    '{"name": "Ann", "parameters": {"age": 7}}\n[Ann](x)\n',
)


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_answer_is_passed_on_as_it_comes(text: str) -> None:
    written = WrittenCalls([get_weather])
    shown = 0
    for at, character in enumerate(text):
        shown += sum(len(delta.text) for delta in written.passed([TextDelta(character)]))  # type: ignore[union-attr]
        assert at + 1 - shown <= CERTAIN
    assert shown == len(text)


def test_a_text_that_names_no_tool_is_not_held_for_long() -> None:
    written = WrittenCalls([get_weather])
    text = 'So:\n[TOOL_CALLS] [{"name": "rm", "arguments": {}}]' + " and so on" * 100
    shown = "".join(delta.text for one in text for delta in written.passed([TextDelta(one)]))  # type: ignore[union-attr]
    assert shown == text


def test_text_that_is_passed_directly_is_looked_at_too() -> None:
    written = WrittenCalls([get_weather])
    direct = list[str]()

    def take(text: str) -> bool:
        direct.append(text)
        return True

    on_text = written.passing(take)
    assert not on_text("Hel") and list(written.passed([TextDelta("Hel")])) == [TextDelta("Hel")]
    assert on_text("lo.\n") and not on_text("[") and direct == ["lo.\n"]
    assert list(written.passed([TextDelta(BARE["Python"])])) == []
    reply = written.finished(Reply(text="Hello.\n" + BARE["Python"]))[1]
    assert (reply.text, [call.name for call in reply.tool_calls]) == ("Hello.\n", ["get_weather"])


@pytest.mark.parametrize("piece", ["<parameter=a>", "<arg_key>", '<parameter name="a">', "<function=a>", "["])
def test_text_that_is_made_to_take_long_is_refused(piece: str) -> None:
    for opening in ("<tool_call><function=get_weather>", "<tool_call>get_weather<arg_key>", "[TOOL_CALLS]"):
        with pytest.raises(NotACall):
            read_calls(opening + piece * (MAX_HELD // len(piece)), SCHEMAS)


# Each begins like a call, and is none.
@pytest.mark.parametrize(
    "piece", ["[a", "{", "\n[", "`[get_weather(`", "`[TOOL_CALLS][{`", '{"name": "x"}\n', "`", "\n```tool_code\n"]
)
def test_brackets_without_end_cost_no_more_than_some(piece: str) -> None:
    tools = [get_weather.replace(name=name) for name in ("get_weather", "get_forecast")]

    def look_through(count: int) -> None:
        calls = WrittenCalls(tools)
        assert "".join(part.text for part in calls.passed([TextDelta(f"So: {piece * count}")])).startswith("So: ")

    assert calls_of(lambda: look_through(20_000)) == calls_of(lambda: look_through(40_000))
