"""Turns without a database: played, kept in a store, asked again for a typed answer, and run by hand."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from assistant.core.deadline import Deadline
from assistant.core.events import Event, TextMessageContent, TextMessageStart
from assistant.core.execution import Batch, Workshop
from assistant.core.guard import Guard
from assistant.core.loop import run_turn, unanswered_calls
from assistant.core.messages import Message, ToolCall
from assistant.core.output import OUTPUT_TOOL, InvalidOutput, Mode, OutputType
from assistant.core.plan import Plan
from assistant.core.replies import ChatReply, Ledger, RunFailed, reply_of
from assistant.core.stores import ConversationStore
from assistant.core.toolbox import Admission, Decision, Toolset
from assistant.core.transcript import Transcript
from tools import Tool

T = TypeVar("T")

# How often a model may mend an answer that is not of the type that was asked for.
REPAIRS = 2


@dataclass
class Turn:
    """One turn, about to be played or played.

    `sent` is the conversation before it, without the client's system prompt; `new` is what of that is not in `store`.
    """

    plan: Plan
    ledger: Ledger
    tools: tuple[Tool, ...] = ()
    sent: tuple[Message, ...] = ()
    new: tuple[Message, ...] = ()
    store: ConversationStore | None = None
    conversation: str = ""
    transcript: Transcript = field(default_factory=Transcript)

    async def play(self) -> AsyncGenerator[Event, None]:
        """The turn's events; whatever ends it, the store gets a valid conversation."""
        try:
            async with aclosing(run_turn(self.plan, self.transcript)) as played:
                async for event in played:
                    yield event
        finally:
            if self.transcript.ending is None:
                self.transcript.close("cancelled")
            if self.store is not None:
                await self.store.append(self.conversation, (*self.new, *self.transcript.messages))

    async def finish(self) -> ChatReply[Any]:
        """Play it and return the reply. Raises `RunFailed`."""
        async with aclosing(self.play()) as played:
            async for _ in played:
                pass
        return self.reply()

    def reply(self) -> ChatReply[Any]:
        """The reply, once it is played. Raises `RunFailed`."""
        return reply_of(self.plan, self.sent, self.transcript, self.ledger)

    def again(self, sentence: str) -> Turn:
        """A turn that goes on from this one with a message of the user."""
        message = Message("user", sentence, id=self.plan.new_id())
        said = (*self.transcript.messages, message)
        plan = replace(self.plan, messages=(*self.plan.messages, *said), decisions={})
        return replace(self, plan=plan, sent=(*self.sent, *said), new=(message,), transcript=Transcript())


class ReplyStream:
    """The events of one turn, as they happen; iterate once, and `reply` has the whole afterwards."""

    def __init__(self, prepare: Callable[[], Awaitable[Turn]]) -> None:
        self._prepare = prepare
        self._turn: Turn | None = None

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        self._turn = await self._prepare()
        async with aclosing(self._turn.play()) as played:
            async for event in played:
                yield event

    @property
    def reply(self) -> ChatReply[Any]:
        """The reply of a stream that was read. Raises `RunFailed` if the turn failed."""
        if self._turn is None:
            raise RuntimeError("The stream has not been read yet.")
        return self._turn.reply()


async def finish_typed(turn: Turn, output: OutputType[T], mode: Mode) -> ChatReply[T]:
    """Play a turn whose answer is to have a type, and let the model mend an answer that has not.

    Raises:
        RunFailed: the turn failed, or the answer never became one.
    """
    turn = _asking_for(turn, output, mode)
    reply = await turn.finish()
    for attempt in range(REPAIRS + 1):
        if reply.pending:
            break
        try:
            return replace(reply, output=output.parse(reply.text))
        except InvalidOutput as exc:
            if attempt == REPAIRS:
                raise RunFailed("provider_error", f"The model gave no valid {output.name}. {exc}", reply) from exc
            turn = turn.again(f"This answer is not of the form that was asked for. {exc} Answer again, in that form.")
        earlier, reply = reply, await turn.finish()
        reply = replace(reply, usage=earlier.usage + reply.usage, tool_calls=(*earlier.tool_calls, *reply.tool_calls))
    return reply


async def stream_typed(turn: Turn, output: OutputType[T]) -> AsyncGenerator[T, None]:
    """Values of an answer in the making, and last the whole one. Raises `RunFailed`."""
    turn = _asking_for(turn, output, "native")
    text, last = "", None
    async with aclosing(turn.play()) as played:
        async for event in played:
            if isinstance(event, TextMessageStart):
                text = ""
            elif isinstance(event, TextMessageContent):
                text += event.delta
                value = output.parse_partial(text)
                if value is not None and value != last:
                    last = value
                    yield value
    reply = turn.reply()
    try:
        whole = output.parse(reply.text)
    except InvalidOutput as exc:
        raise RunFailed("provider_error", f"The model gave no valid {output.name}. {exc}", reply) from exc
    if whole != last:
        yield whole


def _asking_for(turn: Turn, output: OutputType[Any], mode: Mode) -> Turn:
    plan = turn.plan
    match mode:
        case "native":
            plan = replace(plan, response_format=output.response_format())
        case "tool":
            choice = plan.tool_choice if turn.tools else OUTPUT_TOOL
            plan = replace(plan, toolset=_With(plan.toolset, output.tool()), tool_choice=choice)
        case "prompt":
            plan = replace(plan, messages=_instructed(plan.messages, output.instructions()))
    return replace(turn, plan=plan)


class _With:
    """A toolset with one more tool."""

    def __init__(self, toolset: Toolset, tool: Tool) -> None:
        self._toolset = toolset
        self._tool = tool

    async def offered(self) -> Sequence[Tool]:
        return [*await self._toolset.offered(), self._tool]

    async def admit(self, calls: Sequence[ToolCall]) -> Sequence[Admission]:
        admissions = await self._toolset.admit(calls)
        return [
            Admission(self._tool) if call.name == self._tool.name else admission
            for call, admission in zip(calls, admissions, strict=True)
        ]


def _instructed(messages: Sequence[Message], instructions: str) -> tuple[Message, ...]:
    if messages and messages[0].role == "system":
        return (replace(messages[0], content=f"{messages[0].content}\n\n{instructions}"), *messages[1:])
    return (Message("system", instructions), *messages)


async def execute_calls(
    plan: Plan, reply: ChatReply[Any], decisions: Mapping[str, Decision] | None = None
) -> ChatReply[Any]:
    """Run the calls that `reply` left open; returns it with their results.

    A call runs once: for the same reply again there are the same results.
    """
    transcript = Transcript()
    ledger = plan.journal if isinstance(plan.journal, Ledger) else Ledger()
    calls = unanswered_calls(reply.messages)
    deadline = Deadline(plan.limits.seconds)
    guard = Guard(tool_calls=plan.limits.tool_calls, calls_per_tool=plan.limits.calls_per_tool)
    shop = Workshop(
        toolset=plan.toolset,
        journal=ledger,
        context=plan.context,
        guard=guard,
        transcript=transcript,
        deadline=deadline,
        parallel=plan.parallel,
        default_timeout=plan.default_timeout,
        interceptors=plan.interceptors,
        on_error=plan.on_error,
    )
    try:
        async with aclosing(Batch(calls, shop, decisions or {}, undecided=None).run()) as ran:
            async for event in ran:
                transcript.apply(event)
    finally:
        deadline.close()
    return reply.with_results(transcript.messages, ledger)
