"""Runs turns against a scripted model and checks each of them against AG-UI's rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, fields
from typing import Any

import msgspec

from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.extension import Interceptors
from assistant.core.extensions.typed_answer import TypedAnswer
from assistant.core.toolcalls.call_settings import CallSettings
from assistant.core.toolcalls.protocols import FixedToolset, PlannedCall, ToolOutcome, describe_media
from assistant.core.turn.loop import Plan, run_turn
from assistant.core.values.events import Custom, Event, RunError, RunFinished, ToolCallArgs, encode
from assistant.core.values.messages import Message, ToolCall, unanswered_calls
from assistant.core.values.settings import AssistantSettings
from assistant.testing.scripted import ScriptedModel, Turn
from assistant.toolkit import Media, Tool
from tests.agui import check_run

USER = Message("user", "Hello", id="u1")


class MemoryJournal:
    """A journal that records calls and outcomes, and knows the outcomes of earlier calls."""

    def __init__(self, known: Mapping[str, ToolOutcome] | None = None) -> None:
        self.started: list[str] = []
        self.outcomes: list[ToolOutcome] = []
        self._known = known or {}

    async def starting(self, batch: Sequence[PlannedCall]) -> Mapping[str, ToolOutcome]:
        self.started += [planned.call.name for planned in batch]
        return {planned.call.id: self._known[planned.call.id] for planned in batch if planned.call.id in self._known}

    async def keep(self, call: ToolCall, media: Sequence[Media]) -> Sequence[Mapping[str, Any]]:
        return describe_media(media)

    async def finished(self, outcomes: Sequence[ToolOutcome]) -> None:
        self.outcomes += outcomes

    @property
    def statuses(self) -> dict[str, str]:
        return {outcome.call.name: outcome.status for outcome in self.outcomes}


@dataclass
class TurnResult:
    """A turn that has ended."""

    events: list[Event]
    transcript: Transcript
    model: ScriptedModel
    journal: MemoryJournal

    @property
    def kinds(self) -> list[str]:
        return [event.type for event in self.events]

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.transcript.messages

    @property
    def results(self) -> list[str]:
        return [message.content for message in self.messages if message.role == "tool"]

    @property
    def ending(self) -> RunFinished | RunError:
        assert isinstance(self.events[-1], RunFinished | RunError)
        return self.events[-1]

    @property
    def error(self) -> RunError:
        assert isinstance(self.ending, RunError), self.ending
        return self.ending

    @property
    def outcome(self) -> Any:
        assert isinstance(self.ending, RunFinished), self.ending
        return self.ending.outcome

    def custom(self, name: str) -> list[Any]:
        return [event.value for event in self.events if isinstance(event, Custom) and event.name == name]


def streamed_arguments(turn: TurnResult) -> str:
    """Return the arguments of the only call, as they were streamed to clients."""
    return "".join(event.delta for event in turn.events if isinstance(event, ToolCallArgs))


def plan_for(turns: Sequence[Turn], *tools: Tool, **given: Any) -> Plan:
    """A plan of a scripted turn; `given` are fields of it, of its assistant's settings, or of its calls' settings."""
    settings = {one.name: given.pop(one.name) for one in fields(AssistantSettings) if one.name in given}
    if interceptors := given.pop("interceptors", ()):
        given["extensions"] = (Interceptors(interceptors),)
    if (output := given.pop("output", None)) is not None:
        given["extensions"] = (TypedAnswer(output), *given.get("extensions", ()))
    calls = {one.name: given.pop(one.name) for one in fields(CallSettings) if one.name in given}
    given["calls"] = CallSettings(**{"keep_ids": True, **calls})
    given.setdefault("messages", (USER,))
    given.setdefault("toolset", FixedToolset(tools))
    given.setdefault("journal", MemoryJournal())
    return Plan(model=ScriptedModel(turns), thread_id="t", run_id="r", settings=AssistantSettings(**settings), **given)


async def run_script(turns: Sequence[Turn], *tools: Tool, **given: Any) -> TurnResult:
    """Run a turn to its end."""
    plan = plan_for(turns, *tools, **given)
    transcript = Transcript()
    async with aclosing(run_turn(plan, transcript)) as events:
        turn = TurnResult([event async for event in events], transcript, plan.model, plan.journal)  # type: ignore[arg-type]
    check_run(frames(turn.events), known=[call.id for call in unanswered_calls(plan.messages)])
    check_history([*plan.messages, *transcript.messages], but=pending(turn))
    return turn


def frames(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return events as clients get them."""
    run = {"id": "r", "thread": "t"}
    return [
        msgspec.json.decode(encode(event)) | {"metadata": {"run": run | {"seq": seq}}}
        for seq, event in enumerate(events, start=1)
    ]


def pending(turn: TurnResult) -> set[str]:
    """The calls that a run may leave without a result, according to its outcome."""
    outcome: Any = getattr(turn.ending, "outcome", None)
    waiting = {interrupt.tool_call_id for interrupt in getattr(outcome, "interrupts", ())}
    waiting |= set(getattr(outcome, "pending_tool_call_ids", None) or ())
    # If other calls need approval, the outcome does not list the client's calls.
    return waiting | {
        call.id for message in turn.messages for call in message.tool_calls if waiting and call.name == "locate"
    }


def check_history(messages: Sequence[Message], but: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    """Every call has exactly one result, and every result a call."""
    calls = [call.id for message in messages for call in message.tool_calls if call.id not in but]
    results = [message.tool_call_id for message in messages if message.role == "tool"]
    assert len(calls) == len(set(calls)), "call ids repeat"
    assert sorted(calls) == sorted(results)
