"""Text that is told where it arrives: in its place among all else, and never past what stands around the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from assistant.core.events import Event, TextMessageContent
from assistant.core.interceptors import AskModel, InterceptedModel
from assistant.core.loop import run_turn
from assistant.core.messages import Message, Reply
from assistant.core.model import Delta, Model, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.transcript import Transcript
from assistant.providers.openai import OpenAIModel
from tests.core.playing import plan_for
from tests.fake_answers import chunk
from tests.fake_provider import FakeProvider, Silence
from tests.providers.asking import model
from tests.providers.quirks import end, say

HI = ModelRequest([Message("user", "Hi")])
PAUSE = 0.02
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}


async def test_text_that_comes_later_is_told_without_waking_the_reader(fake_provider: FakeProvider) -> None:
    fake_provider.stream(say("One"), PAUSE, say(" two"), PAUSE, say(" three"), PAUSE, end())
    told: list[tuple[str, bool]] = []

    def hear(text: str) -> bool:
        told.append((text, asyncio.current_task() is None))
        return True

    items = [item async for item in model(fake_provider).stream_to(hear, HI)]
    assert told == [(" two", True), (" three", True)]
    assert items[0] == TextDelta("One")
    assert isinstance(items[1], Reply) and items[1].text == "One two three"


async def test_everything_keeps_its_place(fake_provider: FakeProvider) -> None:
    steps = [
        *(
            say("A"),
            PAUSE,
            say("b"),
            PAUSE,
            chunk({"reasoning_content": "Hm"}),
            PAUSE,
            say("C"),
            PAUSE,
            say("d"),
            PAUSE,
        ),
        *(chunk({"tool_calls": [CALL]}), PAUSE, end("tool_calls")),
    ]
    fake_provider.stream(*steps)
    order: list[object] = []

    def put(item: object) -> bool:
        order.append(item)
        return True

    async for item in model(fake_provider).stream_to(put, HI):
        put(item)
    assert order[:5] == [TextDelta("A"), "b", ReasoningDelta("Hm"), TextDelta("C"), "d"]
    assert isinstance(order[5], ToolCallDelta) and isinstance(order[6], Reply)


async def test_what_is_not_taken_is_yielded(fake_provider: FakeProvider) -> None:
    fake_provider.stream(say("One"), PAUSE, say(" two"), PAUSE, say(" three"), PAUSE, end())
    items = [item async for item in model(fake_provider).stream_to(lambda text: False, HI)]
    assert items[:3] == [TextDelta("One"), TextDelta(" two"), TextDelta(" three")]


async def test_a_server_that_never_closes_does_not_hold_up_the_end(fake_provider: FakeProvider) -> None:
    fake_provider.stream(say("One"), PAUSE, say(" two"), PAUSE, end(), Silence())
    async with asyncio.timeout(30):
        items = [item async for item in model(fake_provider, timeout=120.0).stream_to(lambda text: True, HI)]
    assert isinstance(items[-1], Reply) and items[-1].text == "One two"


async def test_a_subclass_that_changes_what_comes_is_not_passed_by(fake_provider: FakeProvider) -> None:
    class Shouting(OpenAIModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:  # type: ignore[override]
            async for item in super().stream(request):
                yield TextDelta(item.text.upper()) if isinstance(item, TextDelta) else item

    shouting = Shouting("fake", base_url=fake_provider.url, api_key="")
    assert await texts(fake_provider, shouting) == ["ONE", " TWO"]


async def test_an_interceptor_is_not_passed_by(fake_provider: FakeProvider) -> None:
    async def shout(request: ModelRequest, ask: AskModel) -> AsyncIterator[Delta | Reply]:
        async for item in ask(request):
            yield TextDelta(item.text.upper()) if isinstance(item, TextDelta) else item

    assert await texts(fake_provider, InterceptedModel(model(fake_provider), [shout])) == ["ONE", " TWO"]


async def test_one_that_hands_on_what_it_does_not_know_is_not_passed_by(fake_provider: FakeProvider) -> None:
    class Shouting:
        def __init__(self, inner: OpenAIModel) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            async for item in self._inner.stream(request):
                yield TextDelta(item.text.upper()) if isinstance(item, TextDelta) else item

    assert await texts(fake_provider, Shouting(model(fake_provider))) == ["ONE", " TWO"]  # type: ignore[arg-type]


async def test_a_failure_of_whom_it_is_told_is_not_the_providers(
    fake_provider: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    fake_provider.stream(say("One"), PAUSE, say(" two"), PAUSE, say(" three"), PAUSE, end())

    def tell(event: Event) -> None:
        raise ZeroDivisionError

    plan = replace(plan_for([]), model=model(fake_provider))
    async with aclosing(run_turn(plan, Transcript(), tell)) as events:
        error = [event async for event in events][-1]
    assert (error.type, getattr(error, "code", "")) == ("RUN_ERROR", "internal_error")
    assert "ZeroDivisionError" in caplog.text


async def texts(provider: FakeProvider, asked: Model) -> list[str]:
    """The pieces of text that are told of a turn with this model."""
    provider.stream(say("One"), PAUSE, say(" two"), PAUSE, end())
    told: list[str] = []

    def tell(event: Event) -> None:
        assert isinstance(event, TextMessageContent)
        told.append(event.delta)

    async with aclosing(run_turn(replace(plan_for([]), model=asked), Transcript(), tell)) as events:
        told += [event.delta async for event in events if isinstance(event, TextMessageContent)]
    return sorted(told, key=str.strip)
