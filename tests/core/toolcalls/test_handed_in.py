"""Functions among a tool's options that decide on a call: async or not, and safe without an answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest

from assistant.toolkit import Change, InvalidTool, Question, ToolContext, ToolError
from assistant.toolkit.calls import gate
from tests.core.scripted_turns import run_script
from tests.core.toolcalls.test_batch import Switched, add, call

ADD = call("add", '{"a":1,"b":2}', "c1")
SIZES = {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}


async def is_big(arguments: Mapping[str, Any], context: ToolContext) -> bool:
    await asyncio.sleep(0)
    return bool(arguments["a"] > 10)


@pytest.mark.parametrize("function", [is_big, lambda *given: is_big(*given)])  # noqa: PLW0108 - it is not async itself
async def test_an_approval_can_depend_on_an_async_check(function: Any) -> None:
    careful = add.replace(requires_approval=function)
    assert (await run_script([ADD, "ok"], careful)).results == ["3"]
    asked = await run_script([call("add", '{"a":11,"b":2}')], careful)
    assert asked.journal.statuses == {"add": "awaiting_approval"}


async def never_settled(arguments: Mapping[str, Any], context: ToolContext) -> Any:
    return is_big(arguments, context)


@pytest.mark.parametrize("function", [lambda *_: None, lambda *_: "no", lambda *_: 0, never_settled])
async def test_a_person_is_asked_if_the_tool_does_not_say(function: Any, caplog: pytest.LogCaptureFixture) -> None:
    turn = await run_script([ADD], add.replace(requires_approval=function))
    assert turn.journal.statuses == {"add": "awaiting_approval"}
    assert "Tool add does not say whether a call needs approval" in caplog.text and "requires_approval" in caplog.text


async def test_a_person_is_asked_if_the_tool_thinks_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "CHECK_SECONDS", 0.2)
    held = threading.Event()
    async with asyncio.timeout(10):
        turn = await run_script([ADD], add.replace(requires_approval=lambda *_: held.wait(20)))
    held.set()
    assert turn.journal.statuses == {"add": "awaiting_approval"}


@pytest.mark.parametrize("option", [None, "yes", 1])
def test_whether_a_call_needs_approval_is_a_bool_or_a_function(option: Any) -> None:
    with pytest.raises(InvalidTool, match="requires_approval of tool 'add'"):
        add.replace(requires_approval=option)


async def ask_for_size(arguments: Mapping[str, Any]) -> Question:
    return Question(f"Which size of {arguments['a']}?", SIZES)


async def test_a_question_may_be_async() -> None:
    turn = await run_script([ADD], add.replace(asks=ask_for_size))
    (interrupt,) = turn.outcome.interrupts
    assert interrupt.message == "Which size of 1?"


@pytest.mark.parametrize("asks", [lambda arguments: None, lambda arguments: "Which?", lambda arguments: True])
async def test_a_tool_that_asks_no_question_never_runs(asks: Any, caplog: pytest.LogCaptureFixture) -> None:
    turn = await run_script([ADD, "Then not."], add.replace(asks=asks))
    assert turn.journal.statuses == {"add": "refused"}
    assert "add: asks" in caplog.text


async def changes(arguments: Mapping[str, Any], context: ToolContext) -> list[Change]:
    return [Change("Sum", 0, arguments["a"])]


async def yielded(arguments: Mapping[str, Any], context: ToolContext) -> AsyncIterator[Change]:
    yield Change("Sum", 0, arguments["a"])


def generated(arguments: Mapping[str, Any], context: ToolContext) -> Iterator[Change]:
    yield Change("Sum", 0, arguments["a"])


async def lazily(arguments: Mapping[str, Any], context: ToolContext) -> Iterator[Change]:
    return generated(arguments, context)


async def refuses(arguments: Mapping[str, Any], context: ToolContext) -> list[Change]:
    raise ToolError("There is no such sum.")


@pytest.mark.parametrize("preview", [changes, yielded, generated, lazily])
async def test_a_preview_may_be_async(preview: Any) -> None:
    turn = await run_script([ADD], toolset=Switched(add.replace(preview=preview), add="ask"))
    (interrupt,) = turn.outcome.interrupts
    assert interrupt.metadata["changes"] == [{"label": "Sum", "old": 0, "new": 1}]


async def test_an_async_preview_that_refuses_asks_nobody() -> None:
    turn = await run_script([ADD, "Then not."], toolset=Switched(add.replace(preview=refuses), add="ask"))
    assert turn.results == ["There is no such sum."]


async def test_a_preview_that_never_ends_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "CHECK_SECONDS", 0.2)
    held = threading.Event()
    risky = add.replace(preview=lambda arguments, context: [Change("Held", 0, held.wait(20))])
    async with asyncio.timeout(10):
        turn = await run_script([ADD], toolset=Switched(risky, add="ask"))
    held.set()
    (interrupt,) = turn.outcome.interrupts
    assert "changes" not in interrupt.metadata
