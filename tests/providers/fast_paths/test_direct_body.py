"""Text that is passed to a callback as it arrives: in order with other items, and never bypassing an interceptor."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.interceptors import AskModel, InterceptedModel
from assistant.core.llm.protocol import Delta, Model, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.turn.loop import run_turn
from assistant.core.values.deadline import IdleTimer
from assistant.core.values.events import Event, RunError, TextMessageContent
from assistant.core.values.messages import Message, Reply
from assistant.providers.openai import OpenAIModel
from assistant.providers.openai_wire.fast_paths.direct_body import ReadLoop
from tests.core.scripted_turns import plan_for
from tests.fake_answers import chunk
from tests.fake_provider import FakeProvider, Silence
from tests.providers.asking import model
from tests.providers.quirks import end, say

HI = ModelRequest([Message("user", "Hi")])
CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "get_time", "arguments": '{"zone": 1}'}}


def stream_pieces(provider: FakeProvider, *pieces: Any) -> Callable[[], None]:
    """Let the provider send the first piece; call the returned function to send each next one, once all tasks wait."""
    gates = [provider.gate() for _ in pieces[1:]]
    provider.stream(pieces[0], *(step for pair in zip(gates, pieces[1:], strict=True) for step in pair))

    def go_on() -> None:
        if gates:
            asyncio.get_running_loop().call_soon(gates.pop(0).release)

    return go_on


async def read_along(stream: AsyncIterator[Delta | Reply], go_on: Callable[[], None]) -> AsyncIterator[Delta | Reply]:
    async for item in stream:
        go_on()
        yield item


async def test_later_text_is_passed_on_without_waking_the_reader(fake_provider: FakeProvider) -> None:
    go_on = stream_pieces(fake_provider, say("One"), say(" two"), say(" three"), end())
    received: list[tuple[str, bool]] = []

    def on_text(text: str) -> bool:
        received.append((text, asyncio.current_task() is None))
        go_on()
        return True

    items = [item async for item in read_along(model(fake_provider).stream_to(on_text, HI), go_on)]
    assert received == [(" two", True), (" three", True)]
    assert items[0] == TextDelta("One")
    assert isinstance(items[1], Reply) and items[1].text == "One two three"


async def test_text_and_other_items_keep_their_order(fake_provider: FakeProvider) -> None:
    reasoning, call = chunk({"reasoning_content": "Hm"}), chunk({"tool_calls": [CALL]})
    go_on = stream_pieces(fake_provider, say("A"), say("b"), reasoning, say("C"), say("d"), call, end("tool_calls"))
    order: list[object] = []

    def put(item: object) -> bool:
        order.append(item)
        go_on()
        return True

    async for item in model(fake_provider).stream_to(put, HI):
        put(item)
    assert order[:5] == [TextDelta("A"), "b", ReasoningDelta("Hm"), TextDelta("C"), "d"]
    assert isinstance(order[5], ToolCallDelta) and isinstance(order[6], Reply)


async def test_text_for_which_on_text_returns_false_is_yielded(fake_provider: FakeProvider) -> None:
    go_on = stream_pieces(fake_provider, say("One"), say(" two"), say(" three"), end())
    stream = model(fake_provider).stream_to(lambda text: False, HI)
    items = [item async for item in read_along(stream, go_on)]
    assert items[:3] == [TextDelta("One"), TextDelta(" two"), TextDelta(" three")]


async def test_a_connection_that_breaks_while_the_reader_stops_logs_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    for is_first in (True, False):
        waited: asyncio.Future[bytes] = loop.create_future()

        async def read(waited: asyncio.Future[bytes] = waited) -> bytes:
            return await waited

        read_loop = ReadLoop(IdleTimer(60, lambda: None), read, lambda data: True)
        steps = [read_loop.finished.cancel, lambda waited=waited: waited.set_exception(OSError())]
        for step in steps if is_first else reversed(steps):
            step()
        if is_first:
            read_loop.stop()
        await asyncio.sleep(0)
        read_loop.stop()
        del read_loop, waited, steps, step, read
    gc.collect()
    assert caplog.text == ""


@pytest.mark.slow
async def test_a_server_that_never_closes_does_not_delay_the_end(fake_provider: FakeProvider) -> None:
    go_on = stream_pieces(fake_provider, say("One"), say(" two"), end(), Silence())

    def on_text(text: str) -> bool:
        go_on()
        return True

    async with asyncio.timeout(30):
        stream = model(fake_provider, timeout=120.0).stream_to(on_text, HI)
        items = [item async for item in read_along(stream, go_on)]
    assert isinstance(items[-1], Reply) and items[-1].text == "One two"


async def test_a_subclass_that_changes_the_stream_is_not_bypassed(fake_provider: FakeProvider) -> None:
    class Shouting(OpenAIModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:  # type: ignore[override]
            async for item in super().stream(request):
                yield TextDelta(item.text.upper()) if isinstance(item, TextDelta) else item

    shouting = Shouting("fake", base_url=fake_provider.url, api_key="")
    assert await texts(fake_provider, shouting) == ["ONE", " TWO"]


async def test_an_interceptor_is_not_bypassed(fake_provider: FakeProvider) -> None:
    async def shout(request: ModelRequest, ask: AskModel) -> AsyncIterator[Delta | Reply]:
        async for item in ask(request):
            yield TextDelta(item.text.upper()) if isinstance(item, TextDelta) else item

    assert await texts(fake_provider, InterceptedModel(model(fake_provider), [shout])) == ["ONE", " TWO"]


async def test_a_wrapper_that_forwards_unknown_attributes_is_not_bypassed(fake_provider: FakeProvider) -> None:
    class Shouting:
        def __init__(self, inner: OpenAIModel) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            async for item in self._inner.stream(request):
                yield TextDelta(item.text.upper()) if isinstance(item, TextDelta) else item

    assert await texts(fake_provider, Shouting(model(fake_provider))) == ["ONE", " TWO"]  # type: ignore[arg-type]


async def test_a_replaced_method_is_not_bypassed(fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    tested_model, plain = model(fake_provider), OpenAIModel.stream

    async def shout(self: OpenAIModel, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        async for item in plain(self, request):
            yield TextDelta(item.text.upper()) if isinstance(item, TextDelta) else item

    monkeypatch.setattr(OpenAIModel, "stream", shout)
    assert await texts(fake_provider, tested_model) == ["ONE", " TWO"]


async def test_a_failure_of_on_text_is_not_a_provider_error(
    fake_provider: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    go_on = stream_pieces(fake_provider, say("One"), say(" two"), end())

    def on_text_event(event: Event) -> None:
        raise ZeroDivisionError

    async with aclosing(
        run_turn(replace(plan_for([]), model=model(fake_provider)), Transcript(), on_text_event)
    ) as events:
        async for event in events:
            if isinstance(event, TextMessageContent):
                go_on()
    assert isinstance(event, RunError) and event.code == "internal_error"
    assert "ZeroDivisionError" in caplog.text


async def texts(provider: FakeProvider, tested_model: Model) -> list[str]:
    """Return the pieces of text that a turn with this model passes on."""
    go_on = stream_pieces(provider, say("One"), say(" two"), end())
    received: list[str] = []

    def on_text_event(event: Event) -> None:
        if isinstance(event, TextMessageContent):
            received.append(event.delta)
            go_on()

    async with aclosing(run_turn(replace(plan_for([]), model=tested_model), Transcript(), on_text_event)) as events:
        async for event in events:
            on_text_event(event)
    return received
