"""What a program hands to `ChatClient` may be async or not; an awaitable is never taken for an answer."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import pytest

from assistant.client import (
    ChatClient,
    GuardrailTripped,
    InMemoryStore,
    Invocation,
    Limits,
    Message,
    RunFailed,
    ToolCall,
    stores,
)
from assistant.client.reply import InMemoryJournal
from assistant.client.turns import Turn
from assistant.providers import ScriptedModel
from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import InvalidTool, Tool, ToolContext, ToolError, ToolResult, register_converter, tool
from assistant.toolkit.calls import json_values
from assistant.toolkit.calls.gate import NoAnswer
from tests.core.scripted_turns import plan_for


@tool
def look_up(number: int) -> str:
    """Look a customer up."""
    return "Bob"


LOOKUP = ToolCall("", "look_up", '{"number": 1}')


def scripted(*turns: Any, **options: Any) -> ChatClient[Any]:
    return ChatClient(model=ScriptedModel(turns), tools=[look_up], **options)


@pytest.fixture(autouse=True)
def awaited() -> Iterator[None]:
    """No test forgets a coroutine."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(one.message) for one in heard if "never awaited" in str(one.message)] == []


async def refuse(text: str, context: ToolContext) -> None:
    await asyncio.sleep(0)
    raise GuardrailTripped("No.")


async def refuse_later(text: str, context: ToolContext) -> Any:
    return refuse(text, context)


def yields(value: Any, context: Any) -> Iterator[None]:
    raise GuardrailTripped("No.")
    yield


async def yields_later(value: Any, context: Any) -> AsyncIterator[None]:
    raise GuardrailTripped("No.")
    yield


class Yields:
    def __call__(self, value: Any, context: Any) -> Iterator[None]:
        return (yield)


CHECKS = ["input_guardrails", "output_guardrails", "output_validators"]


@pytest.mark.parametrize("option", [*CHECKS, "interceptors", "on_question"])
@pytest.mark.parametrize("function", [yields, yields_later, Yields()])
def test_a_generator_which_would_check_nothing_is_refused(option: str, function: Any) -> None:
    with pytest.raises(TypeError, match=f"{option}: .* is a generator, and must return its answer"):
        scripted("Hello.", **{option: function if option == "on_question" else [function]})


@pytest.mark.parametrize("option", CHECKS)
@pytest.mark.parametrize("function", [yields, yields_later])
async def test_a_check_that_gives_a_generator_ends_the_turn(option: str, function: Any) -> None:
    with pytest.raises(RunFailed, match="Something went wrong on our side"):
        await scripted("Hello.", **{option: [lambda *given: function(*given)]}).call("Hi")  # noqa: PLW0108 - it yields nothing itself


@pytest.mark.parametrize("option", CHECKS)
async def test_a_check_that_leaves_an_awaitable_among_its_answer_ends_the_turn(option: str) -> None:
    with pytest.raises(RunFailed, match="Something went wrong on our side"):
        await scripted("Hello.", **{option: [lambda *given: {"answers": [refuse(*given)]}]}).call("Hi")


@pytest.mark.parametrize("option", ["input_guardrails", "output_guardrails"])
@pytest.mark.parametrize(
    ("guardrail", "sentence"),
    [
        (refuse, "No."),
        (lambda *given: refuse(*given), "No."),  # noqa: PLW0108 - it is not async itself
        (refuse_later, "Something went wrong on our side"),
    ],
)
async def test_a_guardrail_whose_answer_is_to_be_awaited_is_awaited(option: str, guardrail: Any, sentence: str) -> None:
    with pytest.raises(RunFailed, match=sentence):
        await scripted("Hello.", **{option: [guardrail]}).call("Hi")


async def says_no(text: str, context: ToolContext) -> Any:
    return False


@pytest.mark.parametrize("option", ["input_guardrails", "output_guardrails"])
@pytest.mark.parametrize(
    "answer", [says_no, lambda *given: False, lambda *given: True, lambda *given: {"tripped": True}]
)
async def test_a_guardrail_that_answers_in_place_of_raising_ends_the_turn_by_its_name(
    option: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(RunFailed, match="Something went wrong on our side"):
        await scripted("Hello.", **{option: [answer]}).call("Hi")
    assert option in caplog.text and "not None" in caplog.text


async def longer(answer: str, context: ToolContext) -> str:
    if len(answer) < 5:
        raise ToolError("Too short.")
    return answer.upper()


async def test_a_validator_whose_answer_is_to_be_awaited_is_awaited() -> None:
    client = scripted("Hi.", "Hello.", output_validators=[lambda *given: longer(*given)])  # noqa: PLW0108 - it is not async itself
    assert (await client.call("Hi")).output == "HELLO."


async def test_a_sync_guardrail_runs_in_a_thread() -> None:
    seen: list[bool] = []
    guardrail = lambda *_: seen.append(threading.current_thread() is threading.main_thread())  # noqa: E731
    await scripted("Hello.", input_guardrails=[guardrail]).call("Hi")
    assert seen == [False]


def passing(invocation: Invocation, call: Any) -> Any:
    """Not async itself, and in a thread, as it may query a database."""
    assert threading.current_thread() is not threading.main_thread()
    return call(invocation)


async def shouting(invocation: Invocation, call: Any) -> ToolResult:
    return ToolResult((await call(invocation)).content.upper())


async def test_an_interceptor_may_be_sync() -> None:
    client = scripted(LOOKUP, "ok", interceptors=[passing, shouting])
    assert (await client.call("Who?")).tool_calls[0].result == "BOB"


@pytest.mark.parametrize("wrong", [lambda *_: None, lambda *_: "Bob", lambda *_: True])
async def test_an_interceptor_without_a_result_fails_the_call_by_its_name(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    reply = await scripted(LOOKUP, "ok", interceptors=[wrong]).call("Who?")
    assert reply.tool_calls[0].status == "error" and "Bob" not in (reply.tool_calls[0].result or "")
    assert "interceptor" in caplog.text and "not a ToolResult" in caplog.text


async def reminded(request: Any, ask: Any) -> AsyncIterator[Any]:
    async for item in ask(request):
        yield item


async def deferred(request: Any, ask: Any) -> Any:
    return ask(request)


@pytest.mark.parametrize("interceptor", [reminded, deferred, lambda request, ask: ask(request)])
async def test_a_model_interceptor_may_be_a_generator_async_or_sync(interceptor: Any) -> None:
    assert (await scripted("Hello.", model_interceptors=[interceptor]).call("Hi")).text == "Hello."


async def test_a_model_interceptor_without_a_stream_ends_the_turn() -> None:
    with pytest.raises(RunFailed) as failed:
        await scripted("Hello.", model_interceptors=[lambda request, ask: None]).call("Hi")
    assert failed.value.code == "internal_error"


class SyncStore:
    def __init__(self) -> None:
        self.messages: list[Message] = []

    def load(self, key: str) -> Sequence[Message]:
        assert threading.current_thread() is not threading.main_thread()
        return list(self.messages)

    def append(self, key: str, messages: Sequence[Message]) -> None:
        self.messages.extend(messages)


async def test_a_store_may_be_sync() -> None:
    store = SyncStore()
    client = scripted("Hello Ann.", "You are Ann.", store=store)  # type: ignore[arg-type]
    await client.call("I am Ann", conversation="1")
    assert (await client.call("Who am I?", conversation="1")).text == "You are Ann."
    assert [message.role for message in store.messages] == ["user", "assistant"] * 2


class SlowStore(InMemoryStore):
    """A store that takes for ever to load, or to add to, conversations."""

    def __init__(self, slow: str) -> None:
        super().__init__()
        self.slow = slow

    async def load(self, key: str) -> Sequence[Message]:
        if self.slow == "load":
            await asyncio.Event().wait()
        return await super().load(key)

    async def append(self, key: str, messages: Sequence[Message]) -> None:
        if self.slow == "append":
            await asyncio.Event().wait()
        await super().append(key, messages)


@pytest.mark.parametrize("message", ["Hello", None])
async def test_loading_a_conversation_counts_towards_the_time_of_the_turn(message: str | None) -> None:
    store = SlowStore("load")
    client = scripted("Hello Ann.", store=store, limits=Limits(seconds=0.1))
    with pytest.raises(RunFailed, match=r"0\.1 seconds") as failed:
        await client.call(message, conversation="1")
    assert failed.value.code == "limit_reached" and failed.value.reply.usage.total_tokens == 0
    assert client.model.requests == []  # type: ignore[attr-defined]
    store.slow = ""
    assert await store.load("1") == []


async def test_a_stream_whose_conversation_takes_too_long_ends_with_an_error() -> None:
    stream = scripted("Hello Ann.", store=SlowStore("load"), limits=Limits(seconds=0.1)).stream("Hi", conversation="1")
    assert [event.type async for event in stream][-1] == "RUN_ERROR"


async def test_a_store_that_takes_too_long_to_add_a_turn_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "STORE_SECONDS", 0.1)
    with pytest.raises(NoAnswer, match="SlowStore: append took longer"):
        await scripted("Hello Ann.", store=SlowStore("append")).call("Hi", conversation="1")


async def test_a_turn_that_is_left_waits_for_its_store_as_long_as_for_a_tool() -> None:
    turn = Turn(plan_for(["Hello"], grace=0.1), InMemoryJournal(), store=SlowStore("append"), conversation="1")
    events = turn.events()
    await anext(events)
    with pytest.raises(NoAnswer):
        await events.aclose()


async def resolve(name: str) -> Tool | None:
    await asyncio.sleep(0)
    return look_up if name == "look_up" else None


@pytest.mark.parametrize("resolver", [resolve, lambda name: resolve(name), {"look_up": look_up}.get])  # noqa: PLW0108 - it is not async itself
async def test_a_resolver_may_be_async(resolver: Any) -> None:
    client = ChatClient(model=ScriptedModel([LOOKUP, "Bob."]), resolvers=[resolver])
    assert (await client.call("Who?", tools=["look_up"])).tool_calls[0].result == "Bob"


@pytest.mark.parametrize(
    ("resolver", "problem"),
    [(lambda name: resolve(name), "gave a coroutine"), (lambda name: True, "gave a bool")],  # noqa: PLW0108 - it is not async itself
)
def test_a_resolver_that_cannot_be_asked_is_refused_when_the_client_is_made(resolver: Any, problem: str) -> None:
    with pytest.raises(InvalidTool, match=problem):
        ChatClient(model=ScriptedModel("Hi"), tools=["look_up"], resolvers=[resolver])


@pytest.mark.parametrize(
    "option", ["input_guardrails", "output_guardrails", "output_validators", "interceptors", "model_interceptors"]
)
@pytest.mark.parametrize("wrong", [lambda one: None, "shout", None])
def test_what_is_no_function_of_two_arguments_is_refused(option: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=option):
        scripted("Hi", **{option: [wrong]})


async def shorten(found: list[str]) -> str:
    await asyncio.sleep(0)
    return f"{len(found)} found"


async def shorten_later(found: list[str]) -> Any:
    return shorten(found)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("converter", [shorten, lambda found: shorten(found)])  # noqa: PLW0108 - it is not async itself
async def test_a_result_converter_may_be_async(converter: Any, is_async: bool) -> None:
    async def find() -> list[str]:
        return ["a", "b"]

    made = Tool.from_function(
        find if is_async else lambda: ["a", "b"], name="find", description="Find.", result_converter=converter
    )
    assert (await ToolTester(made).call()).content == "2 found"
    with pytest.raises(Exception, match="gave an awaitable that gave another one"):
        await ToolTester(made.replace(result_converter=shorten_later)).call()


async def test_a_tool_that_gives_a_coroutine_of_a_coroutine_fails() -> None:
    async def find() -> Any:
        return shorten(["a"])

    with pytest.raises(Exception, match="tool find gave an awaitable"):
        await ToolTester(Tool.from_function(find, description="Find.")).call()


async def test_a_coroutine_in_a_result_is_an_error() -> None:
    made = Tool.from_function(lambda: [shorten([])], name="find", description="Find.")
    assert "cannot be shown as text" in await ToolTester(made).read()


class Money:
    pass


@pytest.fixture
def converters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "_converters", list(json_values._converters))


async def is_money(value: Any) -> bool:
    return isinstance(value, Money)


@pytest.mark.usefixtures("converters")
async def test_a_converter_is_sync_and_its_test_a_bool() -> None:
    with pytest.raises(InvalidTool, match="test of a converter is async"):
        register_converter(is_money, str)  # type: ignore[arg-type]
    with pytest.raises(InvalidTool, match="conversion of a converter is async"):
        register_converter(lambda value: False, is_money)
    with pytest.raises(InvalidTool, match="must take 1 positional argument"):
        register_converter(lambda: False, str)  # type: ignore[arg-type]
    register_converter(lambda value: is_money(value), lambda value: "9 EUR")  # type: ignore[arg-type] # noqa: PLW0108 - it is not async itself
    made = Tool.from_function(lambda: {"total": Money()}, name="sum", description="Sum up.")
    assert "cannot be shown as text" in await ToolTester(made).read()


@pytest.mark.usefixtures("converters")
async def test_a_conversion_runs_in_a_thread_for_async_tools_too() -> None:
    threads: list[threading.Thread] = []

    def convert(value: Money) -> str:
        threads.append(threading.current_thread())
        return "9 EUR"

    register_converter(lambda value: isinstance(value, Money), convert)

    async def total() -> dict[str, Money]:
        return {"total": Money()}

    assert (await ToolTester(Tool.from_function(total, description="Sum up.")).call()).content == '{"total":"9 EUR"}'
    assert threading.main_thread() not in threads
