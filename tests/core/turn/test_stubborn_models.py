"""Models, interceptors and checks that go on after they were stopped: a turn waits for their grace alone."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from assistant.client.answer_checks import Guardrails, Validators
from assistant.contrib.titles.side_question import ask_aside
from assistant.core.conversation.summary import summarise
from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.extension import Extension
from assistant.core.extensions.interceptors import AskModel, InterceptedModel
from assistant.core.llm import answer_reader
from assistant.core.llm.protocol import Delta, Model, ModelRequest, TextDelta
from assistant.core.turn.loop import run_turn
from assistant.core.turn.plan import Plan
from assistant.core.values.events import RunError
from assistant.core.values.limits import Limits
from assistant.core.values.messages import Message, Reply
from assistant.testing.scripted import ScriptedModel
from tests.core.scripted_turns import plan_for

GRACE = 0.05
# Set by a test that ends: what still runs then goes away with it.
ended = asyncio.Event()


@pytest.fixture(autouse=True)
async def _all_end() -> AsyncIterator[None]:
    global ended  # noqa: PLW0603 - each test has an event loop
    ended = asyncio.Event()
    yield
    ended.set()
    await asyncio.sleep(0)


async def goes_on(*_: Any) -> str:
    while not ended.is_set():
        with suppress(asyncio.CancelledError):
            await ended.wait()
    return "late"


class GoesOn:
    """A model that swallows its cancellation."""

    name = provider = "stubborn"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        yield TextDelta("So far")
        yield TextDelta(await goes_on())
        yield Reply(text="late")


class CleansUp(GoesOn):
    """A model that does not end when it is closed."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        try:
            yield TextDelta("So far")
            await asyncio.Event().wait()
            yield Reply()
        finally:
            await goes_on()


class PassesOn(GoesOn):
    """A model that goes on to pass text to the reader's callback."""

    def stream_to(self, on_text: Callable[[str], bool], request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        return self._passed(on_text)

    async def _passed(self, on_text: Callable[[str], bool]) -> AsyncIterator[Delta | Reply]:
        yield TextDelta("So far")
        await asyncio.sleep(0)
        assert on_text(await goes_on())
        yield Reply(text="late")


async def holds(request: ModelRequest, ask: AskModel) -> AsyncIterator[Delta | Reply]:
    try:
        async for item in ask(request):
            yield item
        await asyncio.Event().wait()
    finally:
        await goes_on()


async def holds_before_its_stream(request: ModelRequest, ask: AskModel) -> AsyncIterator[Delta | Reply]:
    await goes_on()
    return ask(request)


def plan_of(model: Model | None = None, *extensions: Extension[Any], **given: Any) -> Plan:
    plan = plan_for(["Hello."], grace=GRACE, extensions=extensions, **given)
    return plan if model is None else replace(plan, model=model)


STUBBORN = {
    "model": lambda: plan_of(GoesOn()),
    "model that closes for long": lambda: plan_of(CleansUp()),
    "interceptor": lambda: plan_of(InterceptedModel(GoesOn(), [holds])),
    "interceptor without a stream": lambda: plan_of(InterceptedModel(GoesOn(), [holds_before_its_stream])),
    "input guardrail": lambda: plan_of(None, Guardrails([goes_on], [])),
    "output guardrail": lambda: plan_of(None, Guardrails([], [goes_on])),
    "validator": lambda: plan_of(None, Validators([goes_on])),
}


@pytest.mark.parametrize("what", STUBBORN)
async def test_a_turn_ends_with_its_time(what: str, caplog: pytest.LogCaptureFixture) -> None:
    plan = STUBBORN[what]()
    plan = replace(plan, settings=replace(plan.settings, limits=Limits(seconds=0.1)))
    transcript = Transcript()
    events = [event async for event in run_turn(plan, transcript)]
    assert isinstance(events[-1], RunError) and events[-1].code == "limit_reached"
    assert not ended.is_set() and "is not waited for" in caplog.text
    (left,) = transcript.timeline.as_json()["left"]
    assert left["name"] and left["at"] >= 0 and left["ms"] is None
    ended.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert "ended" in caplog.text
    (left,) = transcript.timeline.as_json()["left"]
    assert left["ms"] >= 0


@pytest.mark.parametrize("what", STUBBORN)
async def test_a_turn_that_is_stopped_ends(what: str) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async with aclosing(run_turn(STUBBORN[what](), Transcript())) as events:
            async for _ in events:
                begun.set()

    reading = asyncio.create_task(read())
    await begun.wait()
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not ended.is_set()


async def test_what_follows_the_reply_holds_no_turn_and_does_not_fail_it() -> None:
    async def never_closes(request: ModelRequest, ask: AskModel) -> AsyncIterator[Delta | Reply]:
        try:
            async for item in ask(request):
                yield item
        finally:
            await goes_on()

    model = InterceptedModel(ScriptedModel(["Hello."]), [never_closes])
    events = [event async for event in run_turn(plan_of(model))]
    assert events[-1].type == "RUN_FINISHED" and not ended.is_set()


async def test_text_of_a_model_that_goes_on_is_not_taken() -> None:
    plan = plan_of(PassesOn(), limits=Limits(seconds=0.1))
    passed = []
    transcript = Transcript()
    async with aclosing(run_turn(plan, transcript, passed.append)) as events:
        assert [event async for event in events][-1].type == "RUN_ERROR"
    ended.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert "late" not in str(passed) and transcript.messages[-1].content == "So far"


async def test_a_model_may_give_its_stream_asynchronously() -> None:
    class Opens(GoesOn):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:  # type: ignore[override]
            return ScriptedModel(["Hello."]).stream(request)

    transcript = Transcript()
    assert [event async for event in run_turn(plan_of(Opens()), transcript)][-1].type == "RUN_FINISHED"
    assert transcript.messages[-1].content == "Hello."


async def test_a_model_that_awaits_what_was_cancelled_fails_as_any_other() -> None:
    class Confused(GoesOn):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            cancelled = asyncio.get_running_loop().create_future()
            cancelled.cancel()
            await cancelled
            yield Reply()

    events = [event async for event in run_turn(plan_of(Confused()))]
    assert isinstance(events[-1], RunError) and events[-1].code == "internal_error"


PROGRAM = """
import asyncio
from assistant.client import ChatClient, Limits, RunFailed
from assistant.providers import ScriptedModel

async def hang(*_):
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

async def hang_before(request, ask):
    await hang()
    return ask(request)

async def code(**given):
    client = ChatClient(model=ScriptedModel(["Hello."]), limits=Limits(seconds=0.1), **given)
    try:
        await client.call("Hello")
    except RunFailed as failed:
        return failed.code

async def codes():
    return await asyncio.gather(code(model_interceptors=[hang_before]), code(output_guardrails=[hang]))

print(*asyncio.run(codes()))
"""


@pytest.mark.slow
def test_the_end_of_a_program_does_not_wait_for_them() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.split() == ["limit_reached"] * 2


@pytest.mark.parametrize("model", [GoesOn(), InterceptedModel(GoesOn(), [holds_before_its_stream])])
async def test_questions_beside_a_turn_end_with_their_time(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_reader, "GRACE_SECONDS", GRACE)
    used: list[Any] = []
    aside = partial(
        ask_aside,
        model,
        question="Hello?",
        answer="Hello.",
        sources=(),
        wants_title=True,
        wants_questions=False,
        on_usage=lambda *usage: used.append(usage),
    )
    said = [Message("user", f"Word {number} " * 50, id=str(number)) for number in range(9)]
    for asking in (aside(), summarise(model, said, tokens=100)):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await asking
    assert used and not ended.is_set()
