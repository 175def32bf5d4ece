"""Tools on a model itself: `model.with_tools` and `model.call`."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.client import BoundModel, ToolCall
from assistant.providers import AnthropicModel, GoogleModel, OpenAIModel, ResponsesModel, ScriptedModel
from assistant.providers.embedded import EmbeddedModel
from assistant.toolkit import InvalidTool, ToolContext, tool

WHO = ToolCall("", "who", "{}")


@tool
def who(context: ToolContext) -> str:
    """Tell who asks."""
    return f"{context.extra['name']} of {context.extra['city']}"


@tool
def clock() -> str:
    """Tell the time."""
    return "noon"


async def test_a_model_calls_the_tools_of_one_call() -> None:
    model = ScriptedModel([WHO, "Ann."])
    reply = await model.call("Who am I?", tools=[who], context={"name": "Ann", "city": "Graz"})
    assert (reply.text, reply.tool_calls[0].result) == ("Ann.", "Ann of Graz")


async def test_defaults_are_replaced_or_added_to_and_the_context_is_merged() -> None:
    model = ScriptedModel(["ok", WHO, "ok", "ok", "ok"])
    bound = model.with_tools(who, context={"name": "Ann", "city": "Graz"})
    assert isinstance(bound, BoundModel)
    await bound.call("?", tools=[clock])
    reply = await bound.call("?", more_tools=[clock], context={"city": "Linz"})
    assert reply.tool_calls[0].result == "Ann of Linz"
    await bound.with_tools(clock).call("?")
    names = [[one.name for one in request.tools] for request in model.requests]
    assert names == [["clock"], ["who", "clock"], ["who", "clock"], ["who", "clock"]]
    assert [text async for text in bound.stream_text("?")] == ["ok"]


async def test_calls_may_be_returned_and_run_later() -> None:
    model = ScriptedModel([WHO, "Ann."])
    bound = model.with_tools(who, context={"name": "Ann", "city": "Graz"})
    left = await bound.call("Who am I?", execute_tools=False)
    assert [call.name for call in left.pending] == ["who"]
    done = await bound.execute(left)
    assert done.tool_calls[0].result == "Ann of Graz"
    assert (await bound.call(history=done.messages)).text == "Ann."


def test_every_model_has_both() -> None:
    models: list[Any] = [
        OpenAIModel("m", api_key="k"),
        ResponsesModel("m", api_key="k"),
        AnthropicModel("m", api_key="k"),
        GoogleModel("m", api_key="k"),
        EmbeddedModel("http://127.0.0.1:9"),
    ]
    for model in models:
        bound = model.with_tools(clock)
        assert (bound.model, bound.tools) == (model, (clock,))
    with pytest.raises(InvalidTool, match="no source of tools"):
        ScriptedModel("ok").with_tools(object())
    assert ScriptedModel("ok").with_tools(clock).call_sync("?").text == "ok"
