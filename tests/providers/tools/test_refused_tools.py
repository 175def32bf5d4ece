"""A tool that a provider refuses is left out, and costs no turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assistant.core.llm.protocol import ModelError, ModelRequest, estimate_usage
from assistant.core.values.messages import Message, Reply
from assistant.core.values.wire_formats import ANTHROPIC, CHAT_COMPLETIONS, GOOGLE, RESPONSES, WIRE_FORMATS
from assistant.providers.tool_adaptation import refused_tools
from assistant.providers.tool_adaptation.adapted_tool import digest_of
from assistant.providers.tool_adaptation.refused_tools import MAX_REQUESTS, RefusedTool
from assistant.providers.tool_adaptation.search import Search, Unfinished
from assistant.toolkit import Tool
from tests.fake_answers import Answer, respond
from tests.fake_provider import FakeProvider
from tests.providers.tools.strict_servers import StrictServer, model_at

POISON = "poison"
SAYS: dict[str, Callable[[int, str], str]] = {
    CHAT_COMPLETIONS: lambda place, name: f"Invalid schema for function '{name}': {{...}} is not valid",
    RESPONSES: lambda place, name: f"Invalid 'tools[{place}].parameters': unknown keyword.",
    ANTHROPIC: lambda place, name: f"tools.{place}.custom.input_schema: JSON schema is invalid.",
    GOOGLE: lambda place, name: f"* GenerateContentRequest.tools[0].function_declarations[{place}].parameters: no.",
}


def forget() -> None:
    for cache in (refused_tools._refused, refused_tools._failing, refused_tools._accepted, refused_tools._unfinished):
        cache.clear()
    refused_tools.settled.clear()


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    forget()
    yield
    forget()


def tools(count: int, *poisoned: int) -> list[Tool]:
    return [
        Tool(
            name=f"tool_{number}",
            description="Does it.",
            parameters={"type": "object", "properties": {POISON if number in poisoned else "a": {"type": "string"}}},
            handler=lambda **_: "ok",
        )
        for number in range(count)
    ]


async def ask(model: Any, offered: list[Tool], **options: Any) -> Reply:
    items = [item async for item in model.stream(ModelRequest([Message("user", "Hi")], tools=offered, **options))]
    assert isinstance(items[-1], Reply)
    return items[-1]


def vague(place: int, name: str) -> str:
    return "Invalid schema for one of the tools."


@pytest.mark.parametrize("wire", WIRE_FORMATS)
async def test_the_tool_that_is_named_is_left_out_and_told(fake_provider: FakeProvider, wire: str) -> None:
    server = StrictServer(wire, POISON, SAYS[wire])
    fake_provider.rule(server)
    told: list[RefusedTool] = []
    model = model_at(fake_provider, wire, on_refused_tool=told.append)
    assert (await ask(model, tools(5, 3))).text == "Fine."
    assert server.offered == ["tool_0", "tool_1", "tool_2", "tool_4"] and len(server.refused) == 1
    assert [(one.name, one.is_certain) for one in told] == [("tool_3", True)]
    assert told[0].reason and told[0].digest


@pytest.mark.parametrize("wire", WIRE_FORMATS)
async def test_a_refusal_after_the_stream_has_begun_is_one(fake_provider: FakeProvider, wire: str) -> None:
    server = StrictServer(wire, POISON, SAYS[wire], in_stream=True)
    fake_provider.rule(server)
    told: list[RefusedTool] = []
    model = model_at(fake_provider, wire, on_refused_tool=told.append)
    reply = await ask(model, tools(5, 3))
    assert (reply.text, reply.repeated_requests) == ("Fine.", 1)
    assert server.offered == ["tool_0", "tool_1", "tool_2", "tool_4"] and len(server.refused) == 1
    assert [(one.name, one.is_certain) for one in told] == [("tool_3", True)]
    assert (await ask(model, tools(5, 3))).repeated_requests == 0


async def test_one_that_such_a_refusal_does_not_name_is_found_by_halving(fake_provider: FakeProvider) -> None:
    server = StrictServer(CHAT_COMPLETIONS, POISON, vague, in_stream=True)
    fake_provider.rule(server)
    assert (await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(8, 5))).text == "Fine."
    assert "tool_5" not in server.offered and len(fake_provider.requests) <= 1 + MAX_REQUESTS


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
async def test_another_failure_in_the_stream_of_new_tools_is_told_as_it_is(
    fake_provider: FakeProvider, kind: str
) -> None:
    failure = b'{"error": {"message": "The server is tired.", "code": 503}}'
    body = failure if kind == "application/json" else b"data: %b\n\n" % failure
    fake_provider.queue(Answer([body[:20], 0.01, body[20:]], content_type=kind))
    with pytest.raises(ModelError) as raised:
        await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(2))
    assert raised.value.kind == "down" and len(fake_provider.requests) == 1
    whole = b'{"choices": [{"message": {"role": "assistant", "content": "Fine."}, "finish_reason": "stop"}]}'
    fake_provider.queue(Answer([whole[:30], 0.01, whole[30:]], content_type="application/json"))
    assert (await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(2))).text == "Fine."


async def test_who_is_told_may_be_async_or_sync_or_fail(
    fake_provider: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []

    async def later(refused: RefusedTool) -> None:
        await asyncio.sleep(0)
        told.append(refused.name)

    def in_a_thread(refused: RefusedTool) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        return later(refused)

    def fails(refused: RefusedTool) -> None:
        raise OSError("The disk is full.")

    for on_refused in (later, in_a_thread, fails):
        forget()
        fake_provider.rule(StrictServer(CHAT_COMPLETIONS, POISON, SAYS[CHAT_COMPLETIONS]))
        model = model_at(fake_provider, CHAT_COMPLETIONS, on_refused_tool=on_refused)
        assert (await ask(model, tools(5, 3))).text == "Fine."
    assert told == ["tool_3", "tool_3"]
    assert "on_refused_tool (fails) raised OSError" in caplog.text


@pytest.mark.parametrize("wire", WIRE_FORMATS)
async def test_the_next_turn_does_not_pay_again(fake_provider: FakeProvider, wire: str) -> None:
    server = StrictServer(wire, POISON, SAYS[wire])
    fake_provider.rule(server)
    for _ in range(2):
        await ask(model_at(fake_provider, wire), tools(5, 3))
    assert len(server.refused) == 1 and len(server.accepted) == 2


@pytest.mark.parametrize("wire", WIRE_FORMATS)
async def test_one_that_was_accepted_and_is_refused_later_is_left_out(fake_provider: FakeProvider, wire: str) -> None:
    server = StrictServer(wire, "", SAYS[wire])
    fake_provider.rule(server)
    offered = tools(5, 3)
    assert [(await ask(model_at(fake_provider, wire), offered)).repeated_requests for _ in range(2)] == [0, 0]
    server.poison = POISON
    assert [(await ask(model_at(fake_provider, wire), offered)).repeated_requests for _ in range(2)] == [1, 0]
    assert server.offered == ["tool_0", "tool_1", "tool_2", "tool_4"] and len(server.refused) == 1


async def test_what_is_remembered_elsewhere_is_not_offered(fake_provider: FakeProvider) -> None:
    server = StrictServer(ANTHROPIC, POISON, SAYS[ANTHROPIC])
    fake_provider.rule(server)
    told: list[RefusedTool] = []
    await ask(model_at(fake_provider, ANTHROPIC, on_refused_tool=told.append), tools(3, 1))
    refused_tools._refused.clear()
    await ask(model_at(fake_provider, ANTHROPIC, refused_tools=[told[0].digest]), tools(3, 1))
    assert len(server.refused) == 1 and server.offered == ["tool_0", "tool_2"]


async def test_a_tool_that_has_changed_is_offered_again(fake_provider: FakeProvider) -> None:
    server = StrictServer(ANTHROPIC, POISON, SAYS[ANTHROPIC])
    fake_provider.rule(server)
    await ask(model_at(fake_provider, ANTHROPIC), tools(3, 1))
    await ask(model_at(fake_provider, ANTHROPIC), tools(3))
    assert server.offered == ["tool_0", "tool_1", "tool_2"]


async def test_several_are_left_out_one_after_the_other(fake_provider: FakeProvider) -> None:
    server = StrictServer(CHAT_COMPLETIONS, POISON, SAYS[CHAT_COMPLETIONS])
    fake_provider.rule(server)
    assert (await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(9, 0, 4, 8))).text == "Fine."
    assert len(server.offered) == 6


@pytest.mark.parametrize("wire", WIRE_FORMATS)
async def test_more_than_a_turn_can_ask_about_cost_no_turn(fake_provider: FakeProvider, wire: str) -> None:
    server = StrictServer(wire, POISON, SAYS[wire])
    fake_provider.rule(server)
    told: list[RefusedTool] = []
    offered = tools(12, *range(10))
    for _ in range(3):
        assert (await ask(model_at(fake_provider, wire, on_refused_tool=told.append), offered)).text == "Fine."
    assert server.offered == ["tool_10", "tool_11"]
    assert [one.name for one in told] == [f"tool_{number}" for number in range(10)]
    assert all(one.is_certain for one in told) and len(server.refused) == len(told)


async def test_what_was_named_is_known_after_a_turn_that_failed(fake_provider: FakeProvider) -> None:
    said = {"tool_0": "Invalid schema for function 'tool_0'.", "tool_1": "temperature: range 0..1"}
    fake_provider.rule(StrictServer(CHAT_COMPLETIONS, POISON, lambda place, name: said[name]))
    told: list[RefusedTool] = []
    with pytest.raises(ModelError):
        await ask(model_at(fake_provider, CHAT_COMPLETIONS, on_refused_tool=told.append), tools(3, 0, 1))
    assert [one.name for one in told] == ["tool_0"]


@pytest.mark.parametrize("guilty", range(8))
async def test_one_that_is_not_named_is_found_by_halving(fake_provider: FakeProvider, guilty: int) -> None:
    server = StrictServer(CHAT_COMPLETIONS, POISON, vague)
    fake_provider.rule(server)
    told: list[RefusedTool] = []
    offered = tools(8, guilty)
    model = model_at(fake_provider, CHAT_COMPLETIONS, on_refused_tool=told.append)
    reply = await ask(model, offered)
    assert len(fake_provider.requests) == 1 + reply.repeated_requests <= 1 + MAX_REQUESTS
    assert f"tool_{guilty}" in [one.name for one in told] and f"tool_{guilty}" not in server.offered
    read = estimate_usage(ModelRequest([Message("user", "Hi")]), 0).input_tokens
    assert reply.usage.input_tokens > read and reply.usage.is_estimated is (len(server.accepted) > 1)
    await ask(model, offered)
    assert [one.name for one in told if one.is_certain] == [f"tool_{guilty}"]
    assert (await ask(model, offered)).repeated_requests == 0
    assert server.offered == [tool.name for number, tool in enumerate(offered) if number != guilty]


async def test_requests_whose_answers_are_not_read_count_as_usage(fake_provider: FakeProvider) -> None:
    fake_provider.rule(server := StrictServer(CHAT_COMPLETIONS, POISON, vague))
    found = await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(8, 0))
    alone = await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(8))
    assert len(server.accepted) > 2 and found.usage.input_tokens > alone.usage.input_tokens


GUILTY = [(5, 59), (0, 1, 2), (58, 59), (3, 17, 31, 45), (59,), tuple(range(50, 60))]


@pytest.mark.parametrize("guilty", GUILTY, ids=str)
async def test_a_search_goes_on_in_the_next_turns(fake_provider: FakeProvider, guilty: tuple[int, ...]) -> None:
    server = StrictServer(ANTHROPIC, POISON, vague)
    fake_provider.rule(server)
    told: list[RefusedTool] = []
    offered = tools(60, *guilty)
    good = {tool.name for number, tool in enumerate(offered) if number not in guilty}
    accepted: set[str] = set()
    for _turn in range(2 + len(guilty) + len(guilty) // 3):
        before = len(fake_provider.requests)
        model = model_at(fake_provider, ANTHROPIC, on_refused_tool=told.append)
        assert (await ask(model, offered)).text == "Fine."
        assert len(fake_provider.requests) - before <= 1 + MAX_REQUESTS
        # What was accepted once is offered ever after.
        assert accepted <= set(server.offered)
        accepted = set(server.offered)
    assert accepted == good
    assert {one.name for one in told if one.is_certain} == {f"tool_{number}" for number in guilty}


def test_what_a_continued_search_asks_first_is_the_order_of_the_request_and_not_of_a_set() -> None:
    offered = tools(40)
    unfinished = Unfinished(frozenset(map(digest_of, offered)), frozenset(), count=0, reason="")
    search = Search.continued(offered, [], unfinished)
    assert search is not None and search.suspects == offered
    assert search.next(is_last=False) == offered[20:]


async def test_tools_with_unusual_schemas_are_left_out_first(fake_provider: FakeProvider) -> None:
    fake_provider.rule(server := StrictServer(ANTHROPIC, POISON, vague))
    told: list[RefusedTool] = []
    odd = {"type": "object", "properties": {POISON: {"type": "string", "contentEncoding": "base64"}}}
    offered = tools(12)
    for number in (2, 7, 11):
        offered[number] = offered[number].replace(parameters=odd)
    for _turn in range(2):
        await ask(model_at(fake_provider, ANTHROPIC, on_refused_tool=told.append), offered)
        assert server.offered == [f"tool_{number}" for number in range(12) if number not in (2, 7, 11)]
    assert {one.name for one in told} == {"tool_2", "tool_7", "tool_11"}


async def test_tools_that_were_accepted_before_are_not_suspected(fake_provider: FakeProvider) -> None:
    fake_provider.rule(server := StrictServer(CHAT_COMPLETIONS, POISON, vague))
    known = tools(20)
    more = tools(24, 20, 22)[20:]
    await ask(model_at(fake_provider, CHAT_COMPLETIONS), known)
    for _turn in range(2):
        await ask(model_at(fake_provider, CHAT_COMPLETIONS), [*known, *more])
        assert {tool.name for tool in known} <= set(server.offered)
    assert server.offered == [tool.name for tool in (*known, more[1], more[3])]


@pytest.mark.parametrize(
    "said",
    [
        "Invalid schema for function '%s': In context=('properties', 'x'), array schema missing items.",
        "OpenAIException - Invalid schema for function '%s': In context=(), object schema missing properties.",
        "Invalid schema for function '%s': In context=('properties', 'messages'), 'type' must not be an empty list.",
        "Invalid schema for tool %s: 'temperature' has no type.",
        "Tool `%s` has invalid parameters: property 'tools' does not support format 'uri'.",
    ],
)
async def test_a_schema_that_is_refused_by_the_tools_name_is_about_that_tool(
    fake_provider: FakeProvider, said: str
) -> None:
    server = StrictServer(CHAT_COMPLETIONS, POISON)
    body = {"error": {"message": said % "tool_3", "type": "invalid_request_error"}}
    fake_provider.rule(lambda request: answer if (answer := server(request)).status == 200 else respond(400, body))
    told: list[RefusedTool] = []
    assert (await ask(model_at(fake_provider, CHAT_COMPLETIONS, on_refused_tool=told.append), tools(5, 3))).text
    assert [(one.name, one.is_certain) for one in told] == [("tool_3", True)]
    assert server.offered == ["tool_0", "tool_1", "tool_2", "tool_4"] and len(server.refused) == 1


BROKEN = {"loc": ["body", "tools", 3, "function", "parameters"], "msg": "Input should be a valid dictionary"}
UNSAID = {
    "a path": (422, {"detail": [{"type": "dict_type", **BROKEN}]}),
    "a path in a text": (400, {"error": {"message": "[{'type': 'x', 'loc': ('body', 'tools', 3, 'function')}]"}}),
    "a path as its parameter": (400, {"error": {"message": "Invalid.", "param": "tools[3].function.parameters"}}),
    "a grammar": (400, {"error": {"message": "Failed to compile the grammar"}}),
    "nothing": (400, {"error": {"message": "Bad request"}}),
    "not even that": (400, {}),
    "a name, as a failure": (500, {"error": {"message": "Cannot convert the schema of function 'tool_3'"}}),
    "a grammar, as a failure": (500, {"error": {"message": "Failed to compile the grammar"}}),
    "a schema, as a failure": (502, {"error": {"message": "JSON schema conversion failed: Unresolved $ref"}}),
    "a template, as a failure": (500, {"error": "Error rendering prompt with jinja template: not a function"}),
}


@pytest.mark.parametrize("said", UNSAID)
async def test_a_tool_is_found_whatever_a_server_says(fake_provider: FakeProvider, said: str) -> None:
    server = StrictServer(CHAT_COMPLETIONS, POISON)
    status, body = UNSAID[said]
    fake_provider.rule(lambda request: answer if (answer := server(request)).status == 200 else respond(status, body))
    told: list[RefusedTool] = []
    assert (await ask(model_at(fake_provider, CHAT_COMPLETIONS, on_refused_tool=told.append), tools(5, 3))).text
    assert [one.name for one in told] == ["tool_3"] and told[0].is_certain
    assert server.offered == ["tool_0", "tool_1", "tool_2", "tool_4"]
    assert len(server.refused) == 1 or "a path" not in said


async def test_a_failure_for_a_tool_is_paid_for_once(fake_provider: FakeProvider) -> None:
    server = StrictServer(CHAT_COMPLETIONS, POISON)
    body = {"error": {"message": "failed to parse grammar"}}
    fake_provider.rule(lambda request: answer if (answer := server(request)).status == 200 else respond(500, body))
    model = model_at(fake_provider, CHAT_COMPLETIONS, max_retries=1)
    assert (await ask(model, tools(8, 5))).repeated_requests <= MAX_REQUESTS
    # The client repeats the first only.
    assert len(fake_provider.requests) <= 2 + MAX_REQUESTS
    fake_provider.requests.clear()
    assert (await ask(model, tools(8, 5))).repeated_requests <= 1
    fake_provider.requests.clear()
    await ask(model, tools(8, 5))
    assert len(fake_provider.requests) == 1 and "tool_5" not in server.offered


async def test_a_tool_whose_failure_may_pass_is_left_out_for_some_minutes(fake_provider: FakeProvider) -> None:
    server = StrictServer(CHAT_COMPLETIONS, POISON)
    body = {"error": {"message": "The function 'tool_3' is not available at the moment."}}
    fake_provider.rule(lambda request: answer if (answer := server(request)).status == 200 else respond(503, body))
    told: list[RefusedTool] = []
    for _turn in range(2):
        await ask(model_at(fake_provider, CHAT_COMPLETIONS, on_refused_tool=told.append), tools(5, 3))
    assert len(fake_provider.requests) == 3
    assert [(one.name, one.is_certain) for one in told] == [("tool_3", False)]
    refused_tools._failing.clear()
    fake_provider.rule(StrictServer(CHAT_COMPLETIONS))
    await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(5, 3))
    assert "tool_3" in str(fake_provider.requests[-1].json["tools"])


NOT_OF_A_TOOL = [
    "Internal server error",
    "database schema is out of date",
    "error parsing tool call for function 'tool_1'",
]


@pytest.mark.parametrize("said", NOT_OF_A_TOOL)
async def test_other_failures_are_not_blamed_on_a_tool(fake_provider: FakeProvider, said: str) -> None:
    fake_provider.rule(lambda request: respond(500, {"error": {"message": said}}))
    with pytest.raises(ModelError):
        await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(3))
    assert len(fake_provider.requests) == 1


async def test_a_failure_that_no_tool_explains_is_the_failure(fake_provider: FakeProvider) -> None:
    fake_provider.rule(lambda request: respond(500, {"error": {"message": "failed to parse grammar"}}))
    for _turn in range(2):
        with pytest.raises(ModelError) as failed:
            await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(8))
        assert failed.value.kind == "down" and not failed.value.is_worth_repeating
    assert len(fake_provider.requests) == 2 * (1 + MAX_REQUESTS)


async def test_a_search_that_a_busy_server_breaks_off_goes_on(fake_provider: FakeProvider) -> None:
    server = StrictServer(CHAT_COMPLETIONS, POISON, vague)
    busy = [False]
    fake_provider.rule(
        lambda request: respond(429) if busy[0] and len(fake_provider.requests) == 3 else server(request)
    )
    busy[0] = True
    model = model_at(fake_provider, CHAT_COMPLETIONS)
    with pytest.raises(ModelError):
        await ask(model, tools(16, 15, 2))
    busy[0] = False
    fake_provider.requests.clear()
    assert (await ask(model, tools(16, 15, 2))).text == "Fine."
    assert len(fake_provider.requests[0].json["tools"]) < 16


async def test_a_tool_that_is_named_during_a_search_is_known_at_once(fake_provider: FakeProvider) -> None:
    named = "Invalid schema for function 'tool_9'."
    server = StrictServer(CHAT_COMPLETIONS, POISON, lambda place, name: named if name == "tool_9" else vague(0, ""))
    fake_provider.rule(server)
    told: list[RefusedTool] = []
    for _turn in range(4):
        await ask(model_at(fake_provider, CHAT_COMPLETIONS, on_refused_tool=told.append), tools(12, 1, 9))
    assert {one.name for one in told if one.is_certain} == {"tool_1", "tool_9"} and len(server.offered) == 10


async def test_tools_beside_an_unfinished_search_are_offered_at_once(fake_provider: FakeProvider) -> None:
    fake_provider.rule(StrictServer(CHAT_COMPLETIONS, POISON, vague))
    model = model_at(fake_provider, CHAT_COMPLETIONS)
    await ask(model, tools(40, 1, 12, 30))
    others = [tool.replace(name=f"other_{number}") for number, tool in enumerate(tools(30))]
    fake_provider.requests.clear()
    await ask(model, others)
    assert [len(request.json["tools"]) for request in fake_provider.requests] == [30]


async def test_a_refusal_that_no_tool_explains_is_the_failure(fake_provider: FakeProvider) -> None:
    fake_provider.rule(lambda request: respond(400, {"error": {"message": "Bad request"}}))
    told: list[RefusedTool] = []
    with pytest.raises(ModelError) as failed:
        await ask(model_at(fake_provider, CHAT_COMPLETIONS, on_refused_tool=told.append), tools(8))
    assert told == [] and failed.value.repeated_requests == len(fake_provider.requests) - 1 == MAX_REQUESTS
    fake_provider.requests.clear()
    fake_provider.rule(StrictServer(CHAT_COMPLETIONS))
    await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(8))
    fake_provider.rule(lambda request: respond(400, {"error": {"message": "Bad request"}}))
    with pytest.raises(ModelError):
        await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(8))
    assert len(fake_provider.requests) == 2  # all were accepted before


@pytest.mark.parametrize(
    "reason",
    [
        "messages.3: tool_use ids were found without tool_result blocks",
        "This model does not support tools.",
        "Invalid tool_choice: function not found",
        "Invalid tool_choice: function 'tool_1' has no schema",
        "messages.3: the parameters of tool_call 'tool_1' are no JSON",
        "Invalid value at 'tools'.",
        "temperature: range 0..1",
    ],
)
async def test_other_refusals_are_not_blamed_on_a_tool(fake_provider: FakeProvider, reason: str) -> None:
    fake_provider.rule(StrictServer(CHAT_COMPLETIONS, POISON, lambda place, name: reason))
    with pytest.raises(ModelError):
        await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(3, 1))
    assert len(fake_provider.requests) == 1


async def test_a_choice_of_the_tool_that_is_left_out_falls_away(fake_provider: FakeProvider) -> None:
    server = StrictServer(CHAT_COMPLETIONS, POISON, SAYS[CHAT_COMPLETIONS])
    fake_provider.rule(server)
    await ask(model_at(fake_provider, CHAT_COMPLETIONS), tools(3, 1), tool_choice="tool_1")
    assert "tool_choice" not in server.bodies[-1]
