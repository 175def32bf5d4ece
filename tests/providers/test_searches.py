"""Searches of documents by the embedded model: made where it made none, and without the words of worked examples."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from assistant.core.llm.protocol import ModelRequest, TextDelta, ToolCallDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.core.values.untrusted import fenced, for_model
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


WRITTEN = {"headings": ["Warranty", "Repairs", "Claims"], "words": "defect cover period", "sentence": "It lasts long."}
HEADINGS = "Warranty Repairs Claims"
QUESTION = "My W-7 broke. What is your warranty?"
FIRST = ToolCall("a", "search_docs", json.dumps({"queries": ["broke", "shards"], "limit": 2}))


def found(note: str, *before: Message, tool: Tool = SEARCH, **options: Any) -> ModelRequest:
    """A request after the model's first search."""
    results = [{"number": "1.1", "text": "Something is broke."}] if note.startswith("Weak") else []
    result = Message("tool", json.dumps({"results": results, "note": note}), tool_call_id="a")
    return asked(QUESTION, tool, *before, Message("assistant", tool_calls=(FIRST,)), result, **options)


async def answer_to(provider: FakeProvider, request: ModelRequest) -> tuple[Reply, list[Any]]:
    items = [item async for item in EmbeddedModel(provider.url).stream(request)]
    return items[-1], [one.json for one in provider.requests if one.method == "POST"]


@pytest.mark.parametrize("note", ["Weak evidence: these may be about something else.", "No document says anything."])
async def test_what_is_not_surely_found_is_searched_as_a_handbook_may_put_it(
    fake_provider: FakeProvider, note: str
) -> None:
    fake_provider.reply(json.dumps(WRITTEN))
    reply, (sent,) = await answer_to(fake_provider, found(note))
    assert json.loads(reply.tool_calls[0].arguments) == {
        "queries": [QUESTION, HEADINGS, "It lasts long.", f"{HEADINGS} defect cover period"],
        "limit": 2,
    }
    assert (reply.finish_reason, reply.text) == ("tool_calls", "") and reply.tool_calls[0].id != "a"
    assert reply.usage.output_tokens > 0
    assert sent["messages"][-1] == {"role": "user", "content": QUESTION} and "tools" not in sent
    # Without a penalty the model writes the question's words again, and without a schema anything else.
    assert sent["repeat_penalty"] > 1 and sent["response_format"]["type"] == "json_schema"


async def test_so_is_a_question_on_a_page_whose_passages_are_not_trusted(fake_provider: FakeProvider) -> None:
    first = found("Weak evidence: these may be about something else.")
    page = Message("user", QUESTION, page=fenced("Order 17\n\n[1]", "a page"))
    *before, result = first.messages[2:]
    sent = for_model([first.messages[0], page, *before, replace(result, sources=("Terms",))])
    assert sent[1].content != QUESTION and not sent[-1].content.startswith("{")
    fake_provider.reply(json.dumps(WRITTEN))
    reply, (asked_for,) = await answer_to(fake_provider, replace(first, messages=sent))
    assert wordings(reply.tool_calls[0])[0] == QUESTION
    assert asked_for["messages"][-1]["content"] == QUESTION
    needed = needed_search(ModelRequest(sent[:2], tools=[SEARCH]))
    assert needed and wordings(needed) == [QUESTION]


@pytest.mark.parametrize(
    "request_",
    [
        found("Answer from these passages."),
        found("No document says anything.", Message("assistant", tool_calls=(FIRST,)), Message("tool", "{}")),
        found("No document says anything.", tool=SUMS),
        found("No document says anything.", tool_choice="none"),
    ],
)
async def test_no_other_search_follows(fake_provider: FakeProvider, request_: ModelRequest) -> None:
    fake_provider.reply("It is so.")
    reply, _ = await answer_to(fake_provider, request_)
    assert reply.text and not reply.tool_calls


@pytest.mark.parametrize("written", ['{"headings": ["Warr', "[]", '{"headings": 3, "words": "", "sentence": ""}'])
async def test_where_the_wordings_break_off_the_answer_is_that_of_the_first_search(
    fake_provider: FakeProvider, written: str
) -> None:
    fake_provider.reply(written)
    reply, _ = await answer_to(fake_provider, found("No document says anything."))
    assert reply.text and not reply.tool_calls


async def test_a_server_that_writes_no_wordings_leaves_the_first_answer(fake_provider: FakeProvider) -> None:
    fake_provider.respond(400, {"error": {"message": "no grammar"}})
    reply, _ = await answer_to(fake_provider, found("No document says anything."))
    assert reply.text and not reply.tool_calls


async def test_the_model_reads_nothing_that_it_has_supposed(fake_provider: FakeProvider) -> None:
    supposed = ToolCall("search-b", "search_docs", json.dumps({"queries": [QUESTION, "It lasts long."], "limit": 2}))
    result = Message("tool", '{"results": [], "note": "Answer from these."}', tool_call_id="search-b")
    request = found("Weak evidence.")
    request = replace(request, messages=[*request.messages, Message("assistant", tool_calls=(supposed,)), result])
    fake_provider.reply("It lasts two years.")
    _, (sent,) = await answer_to(fake_provider, request)
    calls = [one["function"]["arguments"] for each in sent["messages"] for one in each.get("tool_calls", ())]
    # Its own calls are as it has written them.
    assert json.loads(calls[-2])["queries"] == ["broke", "shards"]
    assert json.loads(calls[-1]) == {"queries": [QUESTION], "limit": 2}
