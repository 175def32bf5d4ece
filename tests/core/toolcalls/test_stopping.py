"""Tools that go on after they were stopped: nothing waits for them longer than their grace."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

import pytest

from assistant.client import Agent, ChatClient, FixedToolset, RunFailed
from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.core.turn.loop import run_turn
from assistant.core.values.messages import ToolCall
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import Tool, ToolContext, ToolError, ToolResult, tool
from tests.core.scripted_turns import plan_for, run_script
from tests.core.toolcalls.test_late_calls import LateEndJournal

GRACE = 0.05
# Set by a test that ends: what still runs then goes away with it.
ended = asyncio.Event()
CHARGE = ToolCall("", "charge", "{}")


@pytest.fixture(autouse=True)
async def _all_end() -> AsyncIterator[None]:
    global ended  # noqa: PLW0603 - each test has an event loop
    ended = asyncio.Event()
    yield
    ended.set()
    await asyncio.sleep(0)


@tool(timeout=0.05, name="charge")
async def cleans_up_for_long() -> str:
    """Charge."""
    try:
        await asyncio.Event().wait()
    finally:
        await ended.wait()
    return ""


@tool(timeout=0.05, name="charge")
async def goes_on() -> str:
    """Charge."""
    while not ended.is_set():
        with suppress(asyncio.CancelledError):
            await ended.wait()
    return "Charged 5 euro"


@tool(timeout=0.05, name="charge")
async def yields_for_ever() -> Any:
    """Charge."""
    try:
        yield "a part"
        await asyncio.Event().wait()
    finally:
        await ended.wait()


@tool(timeout=0.05, name="charge")
async def never_closes() -> Any:
    """Charge."""

    class Items:
        def __aiter__(self) -> Items:
            return self

        async def __anext__(self) -> str:
            await asyncio.Event().wait()
            return ""

        async def aclose(self) -> None:
            await ended.wait()

    return Items()


STUBBORN = [cleans_up_for_long, goes_on, yields_for_ever, never_closes]


@pytest.mark.parametrize("stubborn", STUBBORN)
async def test_a_turn_does_not_wait_for_a_tool_that_goes_on_after_its_time(stubborn: Tool) -> None:
    turn = await run_script([CHARGE, "Done."], stubborn, grace=GRACE)
    assert not ended.is_set()
    assert "was not waited for. It still runs" in turn.results[0]
    assert turn.journal.statuses == {"charge": "timeout"}


async def test_an_interceptor_that_goes_on_is_not_waited_for_either() -> None:
    async def holds(invocation: Invocation, call: CallTool) -> ToolResult:
        try:
            return await call(invocation)
        finally:
            await ended.wait()

    turn = await run_script([CHARGE, "Done."], goes_on, grace=GRACE, interceptors=(holds,))
    assert "was not waited for" in turn.results[0]


async def test_the_other_calls_of_the_reply_are_not_held() -> None:
    @tool
    async def add() -> str:
        """Add."""
        return "3"

    calls = [CHARGE, ToolCall("", "add", "{}")]
    turn = await run_script([calls, "Done."], goes_on, add, grace=GRACE, parallel=1)
    assert turn.results[1] == "3"


async def test_a_late_end_is_recorded_and_told_and_its_result_is_not_used() -> None:
    journal = LateEndJournal()

    @tool
    async def release() -> str:
        """Let the tool end."""
        ended.set()
        await journal.has_late.wait()
        return "released"

    given = {"grace": GRACE, "journal": journal}
    turn = await run_script([CHARGE, ToolCall("", "release", "{}"), "Done."], goes_on, release, **given)
    assert [(one.status, one.content) for one in journal.late] == [("ok", "Charged 5 euro")]
    assert [late["content"] for late in turn.custom("tool.late")] == ["Charged 5 euro"]
    assert "Charged" not in str(turn.messages)


@tool(timeout=0.05, name="charge")
async def fails_late() -> str:
    """Charge."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await ended.wait()
    raise ToolError("No money")


LATE_ENDS = [
    (goes_on, "ok"),
    (fails_late, "error"),
    (cleans_up_for_long, "unknown"),
    (replace(cleans_up_for_long, read_only=True), "cancelled"),
]


@pytest.mark.parametrize(("stubborn", "status"), LATE_ENDS)
async def test_a_late_end_is_told_as_failed_only_if_the_tool_said_so(stubborn: Tool, status: str) -> None:
    journal = LateEndJournal()

    @tool
    async def release() -> str:
        """Let the tool end."""
        ended.set()
        await journal.has_late.wait()
        return "released"

    given = {"grace": GRACE, "journal": journal}
    turn = await run_script([CHARGE, ToolCall("", "release", "{}"), "Done."], stubborn, release, **given)
    assert [one.status for one in journal.late] == [status]
    assert [late["status"] for late in turn.custom("tool.late")] == [status]


@pytest.mark.parametrize(("stubborn", "status"), [(goes_on, "ok"), (cleans_up_for_long, "unknown")])
async def test_the_late_end_of_a_call_of_a_stopped_run_is_recorded(stubborn: Tool, status: str) -> None:
    journal = LateEndJournal()
    plan = plan_for([CHARGE, "Done."], stubborn.replace(timeout=None), journal=journal, grace=GRACE)

    async def read() -> None:
        async with aclosing(run_turn(plan, Transcript())) as events:
            async for event in events:
                if getattr(event, "name", "") == "tool.started":
                    asyncio.current_task().cancel()  # type: ignore[union-attr]

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(read())
    assert journal.statuses == {"charge": "cancelled"} and not ended.is_set()
    ended.set()
    await journal.has_late.wait()
    assert [one.status for one in journal.late] == [status]


async def test_a_result_within_the_grace_is_late_too() -> None:
    @tool(timeout=0.01, name="charge")
    async def charges_all_the_same() -> str:
        """Charge."""
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "Charged 5 euro"

    turn = await run_script([CHARGE, "Done."], charges_all_the_same)
    assert "It has completed since" in turn.results[0] and "5 euro" not in turn.results[0]
    assert [late["content"] for late in turn.custom("tool.late")] == ["Charged 5 euro"]


async def test_a_tool_can_say_why_it_was_too_slow() -> None:
    @tool(timeout=0.01, name="charge")
    async def explains() -> str:
        """Charge."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ToolError("The bank is slow today.") from None
        return ""

    turn = await run_script([CHARGE, "Done."], explains)
    assert turn.results == ["The bank is slow today."]


async def test_a_sub_agents_tool_does_not_hold_the_turn_and_its_tokens_count() -> None:
    helper = Agent("helper", "Helps.", ScriptedModel([CHARGE, "Charged."]), FixedToolset([goes_on]))
    ask = ToolCall("", "helper", '{"task": "Charge"}')
    turn = await run_script([ask, "Done."], helper.as_tool().replace(timeout=0.1), grace=0.2)
    assert "took longer than 0.1 seconds" in turn.results[0]
    assert sum(usage.total_tokens for usage in turn.transcript.usage.values()) > 0
    assert not ended.is_set()


async def test_what_a_call_reports_after_its_end_is_not_kept() -> None:
    reported = asyncio.Event()

    @tool(timeout=0.01, name="charge")
    async def reports(context: ToolContext) -> str:
        """Charge."""
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        with suppress(asyncio.CancelledError):
            await ended.wait()
        await context.report_progress(1)
        reported.set()
        return ""

    @tool
    async def release() -> str:
        """Let the tool end."""
        ended.set()
        await reported.wait()
        return "released"

    calls = [[CHARGE, ToolCall("", "wait", "{}")], ToolCall("", "release", "{}"), "Done."]
    turn = await run_script(calls, reports, release, grace=GRACE)
    assert turn.custom("tool.progress") == []


@pytest.mark.parametrize("of", ["tool", "client"])
async def test_a_failure_that_ends_the_turn_is_its_cause(of: str) -> None:
    broken = OSError("The disk is full.")

    @tool(on_error="raise" if of == "tool" else "model")
    def save() -> str:
        """Save."""
        raise broken

    client = ChatClient(model=ScriptedModel([ToolCall("", "save", "{}"), "Done."]), tools=[save])
    with pytest.raises(RunFailed) as failed:
        await client.call("Save", on_error="raise" if of == "client" else "model")
    assert failed.value.__cause__ is broken and failed.value.details is None
    assert "disk" not in failed.value.message


@pytest.mark.parametrize("of", ["tool", "client"])
@pytest.mark.parametrize("depth", [1, 2])
async def test_a_failure_of_a_sub_agents_tool_ends_the_whole_turn(of: str, depth: int) -> None:
    broken = OSError("The disk is full.")

    @tool(on_error="raise" if of == "tool" else "model")
    def save() -> str:
        """Save."""
        raise broken

    called = save
    helper = ToolCall("", "save", "{}")
    for level in range(depth):
        own = Agent(f"helper{level}", "Helps.", ScriptedModel([helper, "Saved."]), FixedToolset([called]))
        called = own.as_tool()
        helper = ToolCall("", own.name, '{"task": "Save"}')
    client = ChatClient(model=ScriptedModel([helper, "Done."]), tools=[called])
    with pytest.raises(RunFailed) as failed:
        await client.call("Save", on_error="raise" if of == "client" else "model")
    assert failed.value.__cause__ is broken
    assert failed.value.reply.text == "" and "disk" not in failed.value.message


PROGRAM = """
import asyncio
from assistant.client import ChatClient, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import tool

@tool(timeout=0.05)
async def hang() -> str:
    "Hang."
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

client = ChatClient(model=ScriptedModel([ToolCall("", "hang", "{}"), "Done."]), tools=[hang])
print(asyncio.run(client.call("Hang")).text)
"""


def test_the_end_of_a_program_does_not_wait_for_such_a_tool() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "Done."
