"""Result converters that know the declared type, what runs calls, and what becomes of exceptions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assistant.client import ChatClient, Decision, RunFailed, ToolCall
from assistant.core.values.messages import Reply
from assistant.providers import ScriptedModel
from assistant.toolkit import InvalidTool, Tool, ToolContext, ToolError, tool

COUNT = ToolCall("", "count", "{}")
FAIL = ToolCall("", "fail", "{}")


def with_type(value: Any, declared: Any) -> str:
    return f"{declared}: {value}"


@tool
def count() -> list[int]:
    """Count."""
    return [1, 2]


@tool
async def untyped():  # type: ignore[no-untyped-def]
    """Say it."""
    return 7


@tool(result_converter=lambda value: "own")
def own() -> str:
    """Say it."""
    return "other"


async def result_of(tools: list[Any], name: str, **options: Any) -> Any:
    client = ChatClient(model=ScriptedModel([ToolCall("", name, "{}"), "ok"]), tools=tools, **options)
    return (await client.call("?")).tool_calls[0].result


async def test_a_converter_may_take_the_declared_type() -> None:
    assert await result_of([count.replace(result_converter=with_type)], "count") == "list[int]: [1, 2]"
    assert await result_of([count.replace(result_converter=len)], "count") == "2"


async def test_a_client_has_a_converter_for_tools_without_one() -> None:
    tools = [count, untyped, own]
    assert await result_of(tools, "count", result_converter=with_type) == "list[int]: [1, 2]"
    assert await result_of(tools, "untyped", result_converter=with_type) == "typing.Any: 7"
    assert await result_of(tools, "own", result_converter=with_type) == "own"


def test_a_converter_takes_one_or_two_arguments() -> None:
    with pytest.raises(InvalidTool, match="result_converter of tool 'count' must take 1 positional argument"):
        count.replace(result_converter=lambda: "x")
    with pytest.raises(TypeError, match=r"result_converter: .* must take 1 positional argument"):
        ChatClient(model=ScriptedModel("ok"), result_converter=lambda a, b, c: "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_function_of_the_reply_decides_whether_calls_run(is_async: bool) -> None:
    seen: list[tuple[list[str], Any]] = []

    def only_counts(reply: Reply, context: ToolContext) -> bool:
        seen.append(([call.name for call in reply.tool_calls], context.extra.get("name")))
        return all(call.name == "count" for call in reply.tool_calls)

    async def later(reply: Reply, context: ToolContext) -> bool:
        await asyncio.sleep(0)
        return only_counts(reply, context)

    model = ScriptedModel([COUNT, [COUNT, FAIL]])
    client = ChatClient(model=model, tools=[count, fail], context={"name": "Ann"})
    reply = await client.call("?", execute_tools=later if is_async else only_counts)
    assert seen == [(["count"], "Ann"), (["count", "fail"], "Ann")]
    assert [call.name for call in reply.pending] == ["count", "fail"]
    assert [call.result for call in reply.tool_calls] == ["[1,2]", None, None]


@pytest.mark.parametrize("decide", [lambda reply, context: "yes", lambda reply, context: 1 / 0])
async def test_without_an_answer_calls_are_left_to_the_caller(decide: Any) -> None:
    reply = await ChatClient(model=ScriptedModel([COUNT]), tools=[count]).call("?", execute_tools=decide)
    assert [call.name for call in reply.pending] == ["count"]


class Closed(LookupError):
    pass


@tool
def fail() -> str:
    """Fail."""
    raise Closed("the shop is closed")


async def closed() -> None:
    raise Closed("the shop is closed")


@tool(name="fail")
async def fail_in_a_task() -> str:
    """Fail."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(closed())
    return "not reached"


def sentence(exc: Exception) -> str:
    return f"Not now: {exc}."


async def later_sentence(exc: Exception) -> str:
    await asyncio.sleep(0)
    return sentence(exc)


def refuse(exc: Exception) -> str:
    raise ToolError("Ask tomorrow.")


TOLD: list[tuple[Any, str]] = [
    (sentence, "Not now: the shop is closed."),
    (later_sentence, "Not now: the shop is closed."),
    ({LookupError: sentence}, "Not now: the shop is closed."),
    ({Exception: "raise", Closed: sentence}, "Not now: the shop is closed."),
    ({ValueError: sentence}, "The tool failed (error id "),
    (refuse, "Ask tomorrow."),
    (lambda exc: None, "The tool failed (error id "),
    ("model", "The tool failed (error id "),
]


@pytest.mark.parametrize("failing", [fail, fail_in_a_task], ids=["alone", "in a task"])
@pytest.mark.parametrize(("on_error", "told"), TOLD)
async def test_an_exception_becomes_a_sentence_for_the_model(failing: Tool, on_error: Any, told: str) -> None:
    model = ScriptedModel([FAIL, "ok", FAIL, "ok"])
    of_the_call = await ChatClient(model=model, tools=[failing]).call("?", on_error=on_error)
    of_the_tool = await ChatClient(model=model, tools=[failing.replace(on_error=on_error)]).call("?")
    for reply in (of_the_call, of_the_tool):
        assert str(reply.tool_calls[0].result).startswith(told)
        assert reply.tool_calls[0].status == "error"


def reraise(exc: Exception) -> str:
    raise RuntimeError("changed") from exc


@pytest.mark.parametrize(
    ("on_error", "cause"),
    [("raise", Closed), (reraise, RuntimeError), ({Closed: "raise"}, Closed), ({LookupError: reraise}, RuntimeError)],
)
@pytest.mark.parametrize("failing", [fail, fail_in_a_task], ids=["alone", "in a task"])
async def test_an_exception_may_end_the_turn(failing: Tool, on_error: Any, cause: type[Exception]) -> None:
    for options, tools in (({"on_error": on_error}, [failing]), ({}, [failing.replace(on_error=on_error)])):
        with pytest.raises(RunFailed) as failed:
            await ChatClient(model=ScriptedModel([FAIL, "ok"]), tools=tools).call("?", **options)
        assert type(failed.value.__cause__) is cause


async def test_what_the_tool_says_comes_first() -> None:
    client = ChatClient(model=ScriptedModel([FAIL, "ok"]), tools=[fail.replace(on_error=sentence)])
    assert (await client.call("?", on_error="raise")).tool_calls[0].result == "Not now: the shop is closed."


@pytest.mark.parametrize(
    ("on_error", "mistake"),
    [
        ("stop", 'must be "model", "raise", a function or a mapping'),
        ({"ValueError": "raise"}, "which is no class of exceptions"),
        ({ValueError: {KeyError: "raise"}}, "for ValueError is a mapping again"),
        (lambda: "x", "must take 1 positional argument"),
    ],
)
async def test_what_cannot_be_meant_is_refused(on_error: Any, mistake: str) -> None:
    with pytest.raises(InvalidTool, match=mistake):
        fail.replace(on_error=on_error)
    with pytest.raises(TypeError, match=mistake):
        await ChatClient(model=ScriptedModel("ok"), tools=[fail]).call("?", on_error=on_error)


async def test_a_persons_response_may_be_any_json_value() -> None:
    asked = count.replace(requires_approval=True)
    client = ChatClient(model=ScriptedModel([COUNT, "M it is."]), tools=[asked])
    waiting = await client.call("Which size?")
    decisions = {call.id: Decision(approved=True, response={"size": "M"}) for call in waiting.pending}
    reply = await client.call(history=waiting.messages, decisions=decisions)
    assert [message.content for message in reply.messages if message.role == "tool"] == ['{"size":"M"}']
    with pytest.raises(TypeError, match="response of a Decision must be a text or JSON"):
        Decision(approved=True, response=object())
