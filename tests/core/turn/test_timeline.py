"""A turn's timeline: rounds, tool calls and why it failed."""

from __future__ import annotations

import asyncio

from assistant.core.llm.protocol import ModelError, ToolCallDelta
from assistant.core.toolcalls.protocols import ToolOutcome
from assistant.core.values.limits import Limits
from assistant.core.values.messages import Reply, ToolCall, Usage
from assistant.core.values.timeline import MAX_CALLS, MAX_ROUNDS, Timeline
from assistant.toolkit import tool
from tests.core.scripted_turns import run_script

PAUSE = 0.05
CALL = ToolCall("c1", "slow", "{}")


@tool
async def slow() -> str:
    """Take a moment."""
    await asyncio.sleep(PAUSE)
    return "done"


@tool(requires_approval=True)
def send() -> str:
    """Send it."""
    return "sent"


async def test_requests_that_a_refused_tool_has_cost_are_rounds() -> None:
    refused = Reply(tool_calls=(CALL,), repeated_requests=3)
    turn = await run_script([refused, "All done"], slow, limits=Limits(rounds=5))
    assert [one.get("repeated") for one in turn.transcript.timeline.as_json()["rounds"]] == [3, None]
    assert turn.kinds[-1] == "RUN_FINISHED"
    turn = await run_script([refused, "All done"], slow, limits=Limits(rounds=4))
    assert turn.kinds[-1] == "RUN_ERROR" and "limit of 4 model calls" in turn.events[-1].message  # type: ignore[attr-defined]
    failed = ModelError("No")
    failed.repeated_requests = 4
    turn = await run_script([failed])
    assert turn.transcript.timeline.as_json()["rounds"][0]["repeated"] == 4


async def test_rounds_and_calls_have_their_times_and_tokens() -> None:
    turn = await run_script([ToolCall("c1", "slow", "{}"), "All done"], slow)
    kept = turn.transcript.timeline.as_json()
    first, second = kept["rounds"]
    (call,) = kept["calls"]
    assert (call["id"], call["name"], call["status"]) == ("c1", "slow", "ok")
    assert call["ms"] >= PAUSE * 1000 - 5
    assert first["at"] <= call["at"] <= second["at"]
    assert second["at"] >= call["at"] + call["ms"] - 5
    for one in (first, second):
        assert one["tools"] == 1 and one["in"] > 0 and one["out"] > 0 and one["ms"] >= one["first"]
    assert "error" not in kept


async def test_the_first_token_is_that_of_its_round() -> None:
    turn = await run_script([[asyncio.sleep(PAUSE), "Hello", asyncio.sleep(PAUSE), " there"]])
    (only,) = turn.transcript.timeline.as_json()["rounds"]
    assert PAUSE * 1000 - 5 <= only["first"] < only["ms"]


async def test_a_call_that_waits_has_no_time() -> None:
    turn = await run_script([ToolCall("c1", "send", "{}")], send)
    assert turn.transcript.timeline.as_json()["calls"] == [{"id": "c1", "name": "send", "status": "awaiting_approval"}]


async def test_the_providers_reason_is_kept_with_the_errors_id() -> None:
    failure = ModelError("The provider failed.")
    failure.add_note("HTTP 500: overloaded")
    turn = await run_script([[ToolCallDelta(0, "c1", "slow", "{"), failure]], slow)
    kept = turn.transcript.timeline.as_json()
    assert kept["error"]["reason"] == "HTTP 500: overloaded"
    assert kept["error"]["id"] in turn.error.message
    (only,) = kept["rounds"]
    assert "ms" in only


def test_a_timeline_is_bounded() -> None:
    timeline = Timeline()
    for number in range(MAX_ROUNDS + 10):
        timeline.ask(tools=number)
    long = ToolOutcome(ToolCall("c", "x" * 500, "{}"), "ok")
    timeline.add_calls({f"c{number}": long for number in range(MAX_CALLS + 10)})
    timeline.new_error("\x00" + "y" * 5_000)
    kept = timeline.as_json()
    assert (len(kept["rounds"]), len(kept["calls"])) == (MAX_ROUNDS, MAX_CALLS)
    assert len(kept["calls"][0]["name"]) == 128
    assert len(kept["error"]["reason"]) == 1_000 and "\x00" not in kept["error"]["reason"]


def test_tokens_written_to_a_cache_are_noted_where_there_are_any() -> None:
    timeline = Timeline()
    for written in (0, 4_096):
        timeline.ask(tools=0)
        timeline.answered("m", Usage(input_tokens=5_000, cache_write_tokens=written))
    assert [one.get("written") for one in timeline.as_json()["rounds"]] == [None, 4_096]


def test_a_request_to_a_model_that_took_over_has_its_name() -> None:
    timeline = Timeline()
    timeline.ask(tools=1)
    timeline.failed("status 503")
    timeline.fell_back("provider", "second", "down")
    timeline.ask(tools=1)
    first, then = timeline.as_json()["rounds"]
    assert (first["failed"], "model" in first, then["model"]) == ("status 503", False, "second")
