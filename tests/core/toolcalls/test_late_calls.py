"""Sync tools that end after their time: the model is told, and the late end is recorded and told too."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.core.turn.loop import run_turn
from assistant.core.values.events import Custom
from assistant.core.values.messages import ToolCall
from assistant.toolkit import Tool, ToolError, tool
from tests.core.scripted_turns import MemoryJournal, plan_for


class LateEndJournal(MemoryJournal):
    """A journal that also records late ends."""

    def __init__(self) -> None:
        super().__init__()
        self.late: list[ToolOutcome] = []
        self.has_late = asyncio.Event()

    async def ended_late(self, outcome: ToolOutcome) -> None:
        self.late.append(outcome)
        self.has_late.set()


async def run_late(slow: Tool) -> tuple[LateEndJournal, list[Any], str]:
    """Run a tool past its time and let it end before the model's second call; return what the model read, too."""
    journal = LateEndJournal()
    turns = [ToolCall("", "charge", "{}"), ToolCall("", "release", "{}"), "Done."]
    plan = plan_for(turns, slow, wait_for(journal), journal=journal)
    events = [event async for event in run_turn(plan)]
    told = next(outcome.content for outcome in journal.outcomes if outcome.call.name == "charge")
    return journal, [event for event in events if isinstance(event, Custom) and event.name == "tool.late"], told


def wait_for(journal: LateEndJournal) -> Tool:
    @tool
    async def release() -> str:
        """Let the tool end."""
        RELEASED.set()
        await journal.has_late.wait()
        return "released"

    return release


RELEASED = threading.Event()
CHARGED = threading.Event()


@pytest.fixture(autouse=True)
def _held() -> None:
    RELEASED.clear()


@tool(timeout=0.05, name="charge")
def charge() -> str:
    """Charge."""
    RELEASED.wait(20)
    return "Charged 5 euro"


@tool(timeout=0.05, name="charge")
def refuse() -> str:
    """Charge."""
    RELEASED.wait(20)
    raise ToolError("The card was refused.")


@tool(timeout=0.05, name="charge")
def crash() -> str:
    """Charge."""
    RELEASED.wait(20)
    raise ValueError("password=hunter2")


@tool(timeout=0.05, name="charge")
async def hang() -> str:
    """Charge."""
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize(
    ("slow", "status", "content"),
    [(charge, "ok", "Charged 5 euro"), (refuse, "error", "The card was refused."), (crash, "error", "ValueError")],
)
async def test_a_late_end_is_recorded_and_told(slow: Tool, status: str, content: str) -> None:
    journal, events, told = await run_late(slow)
    assert "may complete" in told and "was stopped" not in told
    assert [(one.call.name, one.status, one.content) for one in journal.late] == [("charge", status, content)]
    (event,) = events
    assert (event.value["status"], event.value["content"]) == (status, content)
    assert event.value["toolCallId"] == journal.late[0].call.id


async def run_hanging(slow: Tool) -> str:
    """Run an async tool past its time; return what the model read."""
    journal = MemoryJournal()
    plan = plan_for([ToolCall("", "charge", "{}"), "Done."], slow, journal=journal)
    _ = [event async for event in run_turn(plan)]
    return journal.outcomes[0].content


async def test_an_async_tool_that_only_reads_is_stopped() -> None:
    assert "and was stopped" in await run_hanging(hang.replace(read_only=True))


@tool(timeout=0.05, name="charge")
async def charge_in_a_thread() -> str:
    """Charge."""
    return await asyncio.to_thread(charge_once_released)


@tool(timeout=0.05, name="charge")
async def charge_behind_a_shield() -> str:
    """Charge."""
    return await asyncio.shield(asyncio.create_task(asyncio.to_thread(charge_once_released)))


def charge_once_released() -> str:
    RELEASED.wait(20)
    CHARGED.set()
    return "Charged 5 euro"


@pytest.mark.parametrize("slow", [charge_in_a_thread, charge_behind_a_shield])
async def test_an_async_tool_whose_threads_or_tasks_go_on_is_not_said_to_be_stopped(slow: Tool) -> None:
    CHARGED.clear()
    told = await run_hanging(slow)
    assert not CHARGED.is_set()
    RELEASED.set()
    assert await asyncio.to_thread(CHARGED.wait, 20)
    assert "stopped" not in told
    assert "was not waited for any longer" in told and "Whether this call took effect is not known." in told
