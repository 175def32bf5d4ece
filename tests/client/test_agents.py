from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from assistant.client.agents import Agent
from assistant.core.conversation.sub_agent_transcripts import SubAgentRun, from_stored, to_stored
from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.toolcalls.protocols import FixedToolset, PlannedCall, RunTakenOver, ToolOutcome
from assistant.core.turn.loop import Limits, run_turn
from assistant.core.values.messages import Message, ToolCall
from assistant.core.values.settings import AssistantSettings
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import TenantInfo, Tool, ToolContext, tool
from tests.core.scripted_turns import USER, MemoryJournal, check_history, plan_for, run_script


@tool
async def whoami(context: ToolContext) -> str:
    """Tell who is asking."""
    return f"{context.tenant.slug}/{context.assistant}"


def agent(*turns: Any, name: str = "research", tools: tuple[Tool, ...] = (), **settings: Any) -> Agent:
    model = ScriptedModel(turns, name=f"{name}-model")
    return Agent(name, "Looks things up.", model, FixedToolset(tools), system="Be exact.", **settings)


def repeat_last(request: ModelRequest) -> str:
    return request.messages[-1].content


def ask(name: str = "research", arguments: str = '{"task":"Find owls"}') -> ToolCall:
    return ToolCall("c1", name, arguments)


async def test_an_agent_answers_as_a_tool() -> None:
    helper = agent("Three owls")
    turn = await run_script([ask(), "There are three."], helper.as_tool())
    assert turn.results == ["Three owls"]
    assert [m.content for m in helper.model.requests[0].messages] == ["Be exact.", "Find owls"]  # type: ignore[attr-defined]


async def test_its_messages_are_attributed_and_not_part_of_the_conversation() -> None:
    turn = await run_script([ask(), "ok"], agent("Three owls").as_tool())
    inner = [event for event in turn.events if getattr(event, "subagent_run_id", None)]
    assert [event.type for event in inner] == [
        "SUBAGENT_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "SUBAGENT_FINISHED",
    ]
    assert inner[0].parent_tool_call_id == "c1"  # type: ignore[attr-defined]
    assert [m.role for m in turn.messages] == ["assistant", "tool", "assistant"]


async def test_its_tools_get_the_same_tenant_and_are_in_the_same_journal() -> None:
    helper = agent(ToolCall("c1", "whoami", "{}"), repeat_last, tools=(whoami,))
    turn = await run_script([ask(), "ok"], helper.as_tool(), context=ToolContext(tenant=TenantInfo(slug="acme")))
    assert turn.results == ["acme/research"]
    assert turn.journal.statuses == {"whoami": "ok", "research": "ok"}
    assert len({outcome.call.id for outcome in turn.journal.outcomes}) == 2


async def test_its_usage_counts_to_the_run() -> None:
    turn = await run_script([ask(), "ok"], agent("Three owls").as_tool())
    assert [usage.model for usage in turn.ending.usage or []] == ["scripted", "research-model"]


async def test_its_failure_is_read_by_the_calling_agent() -> None:
    turn = await run_script([ask(), "Sorry."], agent(ModelError("Overloaded.")).as_tool())
    assert turn.results[0].startswith("'research' could not finish: Overloaded")
    assert "SUBAGENT_ERROR" in turn.kinds


async def test_its_limits_are_its_own() -> None:
    helper = agent(
        *[ToolCall("", "whoami", "{}")] * 3, tools=(whoami,), settings=AssistantSettings(limits=Limits(rounds=1))
    )
    turn = await run_script([ask(), "Sorry."], helper.as_tool())
    assert "1 model calls" in turn.results[0]


async def test_agents_may_call_each_other_but_not_in_a_circle() -> None:
    tools: list[Tool] = []
    second = agent(ask("first"), repeat_last, name="second")
    first = agent(ask("second"), repeat_last, name="first")
    tools += [first.as_tool(), second.as_tool()]
    object.__setattr__(first, "toolset", FixedToolset(tools))
    object.__setattr__(second, "toolset", FixedToolset(tools))
    turn = await run_script([ask("first"), "ok"], *tools)
    assert "already at work" in turn.results[0]


async def test_agents_may_not_call_the_runs_own_assistant() -> None:
    front = agent("I am a second front desk.", name="ask_front", slug="front")
    second = agent(ask("ask_front"), repeat_last, name="second", tools=(front.as_tool(),))
    turn = await run_script([ask("second"), "ok"], second.as_tool(), context=ToolContext(assistant="front"))
    assert "already at work" in turn.results[0]
    assert front.model.requests == []  # type: ignore[attr-defined]


async def test_depth_is_bounded() -> None:
    inner = agent("Deep", name="a4").as_tool()
    for name in ("a3", "a2", "a1"):
        inner_name = inner.name
        inner = agent(ask(inner_name), repeat_last, name=name, tools=(inner,)).as_tool()
    turn = await run_script([ask("a1"), "ok"], inner)
    assert "3 deep" in turn.results[0]


async def test_a_sub_agents_call_cannot_ask_for_approval() -> None:
    careful = whoami.replace(requires_approval=True)
    helper = agent(ToolCall("", "whoami", "{}"), repeat_last, tools=(careful,))
    turn = await run_script([ask(), "ok"], helper.as_tool())
    assert "nobody can be asked" in turn.results[0]
    assert turn.journal.statuses["whoami"] == "refused"


class Search(BaseModel):
    subject: str
    most: int = 3


async def test_its_task_and_its_answer_can_have_types() -> None:
    helper = agent("no", '{"value":["Barn owl"]}', input_type=Search, output_type=list[str])
    turn = await run_script([ask(arguments='{"subject":"owls"}'), "ok"], helper.as_tool())
    assert turn.results == ['["Barn owl"]']
    assert helper.model.requests[0].messages[1] == Message("user", '{"subject":"owls","most":3}')  # type: ignore[attr-defined]
    assert helper.as_tool().parameters["required"] == ["subject"]


async def test_a_timeout_closes_what_it_had_open() -> None:
    helper = agent(["Let me", asyncio.Event().wait()], settings=AssistantSettings(limits=Limits(seconds=0)))
    turn = await run_script([ask(), "ok"], helper.as_tool().replace(timeout=0.05))
    assert turn.kinds.count("TEXT_MESSAGE_END") == 2
    assert "SUBAGENT_ERROR" in turn.kinds
    assert turn.journal.statuses == {"research": "timeout"}


async def test_a_cancellation_stops_it() -> None:
    asked, stopped = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    transcript, journal = Transcript(), MemoryJournal()
    plan = plan_for([ask()], agent(["Let me", hang()]).as_tool(), journal=journal)

    async def read() -> None:
        async with aclosing(run_turn(plan, transcript)) as events:
            async for _ in events:
                pass

    task = asyncio.create_task(read())
    await asyncio.wait_for(asked.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()
    assert [event.type for event in transcript.close("cancelled")] == [
        "TEXT_MESSAGE_END",
        "SUBAGENT_ERROR",
        "TOOL_CALL_RESULT",
    ]
    check_history([USER, *transcript.messages])


class TakenOver(MemoryJournal):
    """The journal of a run that another process takes over while a sub-agent is at work."""

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        if any(planned.agent for planned in batch):
            raise RunTakenOver("r1")
        return await super().starting(batch)


async def test_no_model_is_asked_again_when_another_process_has_the_run() -> None:
    stopped = asyncio.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    inner = agent(ToolCall("c2", "whoami", "{}"), "again", name="inner", tools=(whoami,))
    outer = agent(ask("inner"), "again", name="outer", tools=(inner.as_tool(),))
    journal = TakenOver()
    plan = plan_for([[ask("outer"), ToolCall("c3", "wait", "{}")], "again"], outer.as_tool(), wait, journal=journal)
    with pytest.raises(RunTakenOver):
        async for _ in run_turn(plan, Transcript()):
            pass
    asked = [len(each.model.requests) for each in (inner, outer)]  # type: ignore[attr-defined]
    assert (asked, len(plan.model.requests)) == ([0, 1], 1)  # type: ignore[attr-defined]
    assert stopped.is_set() and journal.outcomes == []


async def test_its_transcript_is_stored_with_the_call_that_started_it() -> None:
    inner = agent("Deep words", name="inner")
    outer = agent(["Let me ask", ask("inner")], "Outer words", name="outer", tools=(inner.as_tool(),))
    turn = await run_script([ask("outer"), "ok"], outer.as_tool())
    said = {outcome.call.name: outcome.sub_agents for outcome in turn.journal.outcomes}
    assert said["inner"] == ()
    first, second = said["outer"]
    assert (first.name, first.status, first.call_id) == ("outer", "ok", "c1")
    assert [m.content for m in first.messages] == ["Let me ask", "Deep words", "Outer words"]
    assert (second.name, second.parent_id) == ("inner", first.id)
    assert [m.content for m in second.messages] == ["Deep words"]
    assert from_stored(to_stored(said["outer"]) or ()) == list(said["outer"])


async def test_the_transcript_of_a_stopped_agent_is_stored() -> None:
    said = asyncio.Event()

    async def hang() -> None:
        said.set()
        await asyncio.Event().wait()

    journal, transcript = MemoryJournal(), Transcript()
    helper = agent(["Half of", hang()])
    plan = plan_for([ask()], helper.as_tool(), journal=journal)

    async def read() -> None:
        async with aclosing(run_turn(plan, transcript)) as events:
            async for _ in events:
                pass

    task = asyncio.create_task(read())
    await asyncio.wait_for(said.wait(), 5)
    again = Transcript.from_state(transcript.to_state())
    assert [one.messages for one in again.sub_agents.all()] == [one.messages for one in transcript.sub_agents.all()]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (one,) = journal.outcomes[0].sub_agents
    assert (one.status, one.error) == ("error", "Stopped before it had an answer.")
    assert [(m.content, m.is_partial) for m in one.messages] == [("Half of", True)]
    assert "SUBAGENT_ERROR" in [event.type for event in again.close("interrupted")]


def test_messages_of_a_long_transcript_are_shortened() -> None:
    long = SubAgentRun("a", "research", messages=tuple(Message("assistant", "owl " * 20_000) for _ in range(5)))
    (kept,) = from_stored(to_stored([long]) or ())
    assert all("Cut here" in message.content for message in kept.messages)
    assert to_stored([replace(long, messages=long.messages * 50)]) is None


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"toolset": [whoami]}, "toolset of an Agent must be a Toolset, such as FixedToolset([...]), not list"),
        ({"model": "gpt-4.1"}, "model of an Agent must be a model, such as OpenAIModel('gpt-4.1-mini'), not str"),
        ({"fallbacks": ["gpt-4.1"]}, "fallbacks of an Agent must be Fallback values; 'gpt-4.1' is none"),
        ({"settings": {}}, "settings of an Agent must be an AssistantSettings, not dict"),
    ],
)
def test_an_option_of_another_type_is_refused_when_the_agent_is_made(option: dict[str, Any], told: str) -> None:
    options = {"model": ScriptedModel("ok"), "toolset": FixedToolset([]), **option}
    with pytest.raises(TypeError, match=re.escape(told)):
        Agent("helper", "Helps.", **options)
