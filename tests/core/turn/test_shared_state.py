"""Tools change the state of the client's page, and the client is told how."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assistant.core.values.events import StateDelta, StateSnapshot
from assistant.core.values.messages import Reply, ToolCall
from assistant.toolkit import Tool, ToolContext, ToolError
from assistant.toolkit.context import SharedState
from tests.core.scripted_turns import run_script


def rename(context: ToolContext, title: str) -> str:
    """Rename the draft."""
    context.set_state({**context.state, "title": title})
    return "Renamed."


async def arename(context: ToolContext, title: str) -> str:
    """Rename the draft."""
    return rename(context, title)


def told(events: list[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, StateSnapshot | StateDelta)]


@pytest.mark.parametrize("function", [rename, arename], ids=["in a thread", "on the loop"])
async def test_a_first_change_is_a_snapshot_and_later_ones_are_patches(function: Any) -> None:
    calls = [Reply(tool_calls=(ToolCall(title, "rename", f'{{"title": "{title}"}}'),)) for title in ("One", "Two")]
    tool = Tool.from_function(function, name="rename", description="Rename the draft.")
    context = ToolContext(shared_state=SharedState('{"title": "", "a/b": 1}'))
    result = await run_script([*calls, Reply("Done.")], tool, context=context)
    snapshot, delta = told(result.events)
    assert snapshot.snapshot == {"title": "One", "a/b": 1}
    assert delta.delta == [{"op": "replace", "path": "/title", "value": "Two"}]
    assert context.state == {"title": "Two", "a/b": 1}


def test_members_come_and_go() -> None:
    state, changes = SharedState('{"gone": 1, "a/~b": 1}'), []
    state.change({"gone": 1, "a/~b": 1}, lambda *change: changes.append(change))
    state.change({"a/~b": [2], "new": None}, lambda *change: changes.append(change))
    state.change([1], lambda *change: changes.append(change))
    state.change([1], lambda *change: changes.append(change))
    assert changes[0] == ({"gone": 1, "a/~b": 1}, None)
    assert changes[1][1] == [
        {"op": "remove", "path": "/gone"},
        {"op": "replace", "path": "/a~1~0b", "value": [2]},
        {"op": "add", "path": "/new", "value": None},
    ]
    assert changes[2:] == [([1], None)]


@pytest.mark.parametrize("value", [float("nan"), object(), {"x": "y" * 40_000}], ids=["NaN", "no JSON", "too long"])
def test_what_is_no_state_is_refused(value: Any) -> None:
    state = SharedState('{"kept": true}')
    with pytest.raises(ToolError):
        state.change(value, lambda *change: pytest.fail("told"))
    assert state.value == {"kept": True}


def test_a_copy_is_given() -> None:
    context = ToolContext(shared_state=SharedState('{"list": []}'))
    context.state["list"].append(1)
    assert context.state == {"list": []}


def test_without_a_page_nothing_is_changed() -> None:
    assert ToolContext().state == {}
    with pytest.raises(ToolError, match="no page"):
        ToolContext().set_state({})


async def test_two_threads_lose_no_change() -> None:
    state, seen = SharedState(), []

    def put(name: str) -> None:
        state.change({name: 1}, lambda value, _: seen.append(value))

    await asyncio.gather(*(asyncio.to_thread(put, str(number)) for number in range(20)))
    assert len(seen) == 20 and seen[-1] == state.value
