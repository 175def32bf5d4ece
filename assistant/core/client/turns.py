"""Turns without a database: played, kept in a store, and run by hand."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assistant.core.client.reply import ChatReply, InMemoryJournal, reply_of
from assistant.core.client.stores import ConversationStore
from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.typed_output import OutputType
from assistant.core.toolcalls.batch import Batch, CallEnvironment
from assistant.core.toolcalls.call_limits import CallLimiter
from assistant.core.toolcalls.protocols import Decision
from assistant.core.turn.loop import run_turn
from assistant.core.turn.plan import Plan
from assistant.core.turn.typed_answer import PartialAnswer
from assistant.core.values.deadline import Deadline
from assistant.core.values.events import Event
from assistant.core.values.messages import Message, current_turn_messages, unanswered_calls

T = TypeVar("T")


@dataclass
class Turn:
    """One turn, about to be played or played.

    `sent` is the conversation before it, without the client's system prompt; `new` is what of that is not in `store`.
    `watch` is entered while it is played.
    """

    plan: Plan
    journal: InMemoryJournal
    sent: tuple[Message, ...] = ()
    new: tuple[Message, ...] = ()
    store: ConversationStore | None = None
    conversation: str = ""
    transcript: Transcript = field(default_factory=Transcript)
    watch: Callable[[Turn], AbstractContextManager[Any]] = nullcontext

    async def play(self) -> AsyncGenerator[Event, None]:
        """The turn's events; whatever ends it, the store gets a valid conversation."""
        with self.watch(self):
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
        return reply_of(self.plan, self.sent, self.transcript, self.journal)


class ReplyStream:
    """The events of one turn, as they happen; iterate once, and `reply` has the whole afterwards."""

    def __init__(self, prepare: Callable[[], Awaitable[Turn]]) -> None:
        self._prepare = prepare
        self._turn: Turn | None = None
        self._read: AsyncGenerator[Event, None] | None = None

    def __aiter__(self) -> AsyncGenerator[Event, None]:
        # Not kept: a turn ends as soon as whoever iterates goes away.
        return self._play() if self._read is None else self._read

    async def __anext__(self) -> Event:
        self._read = self._read or self._play()
        return await anext(self._read)

    async def aclose(self) -> None:
        """End the turn, if `anext` began it; a loop ends it when it is left."""
        if self._read is not None:
            await self._read.aclose()

    async def _play(self) -> AsyncGenerator[Event, None]:
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


def thread_of(messages: Sequence[Message]) -> str:
    """A name for a conversation by what it holds: calls that wait in it have the same keys whenever it is sent."""
    return hashlib.sha256(repr(messages).encode("utf-8", "backslashreplace")).hexdigest()[:32]


async def stream_typed(turn: Turn, output: OutputType[T]) -> AsyncGenerator[T, None]:
    """Values of an answer in the making, and last the whole one; a mended answer begins anew. Raises `RunFailed`."""
    growing, last = PartialAnswer(output), None
    async with aclosing(turn.play()) as played:
        async for event in played:
            if (value := growing.grown(event)) is not None and value != last:
                last = value
                yield value
    whole = turn.reply().output
    if whole is not None and whole != last:
        yield whole


async def execute_calls(
    plan: Plan, reply: ChatReply[Any], decisions: Mapping[str, Decision] | None = None
) -> ChatReply[Any]:
    """Run the calls that `reply` left open; returns it with their results.

    A call runs once: for the same reply again there are the same results.
    """
    transcript = Transcript()
    journal = plan.journal if isinstance(plan.journal, InMemoryJournal) else InMemoryJournal()
    calls = unanswered_calls(reply.messages)
    limits = plan.settings.limits
    deadline = Deadline(limits.seconds)
    limiter = CallLimiter(tool_calls=limits.tool_calls, calls_per_tool=limits.calls_per_tool)
    environment = CallEnvironment(
        toolset=plan.toolset,
        journal=journal,
        context=plan.context,
        limiter=limiter,
        transcript=transcript,
        deadline=deadline,
        parallel=plan.parallel,
        default_timeout=plan.default_timeout,
        interceptors=plan.interceptors,
        on_error=plan.settings.on_error,
        observe=plan.observe,
        asked=current_turn_messages(reply.messages),
    )
    try:
        async with aclosing(Batch(calls, environment, decisions or {}, undecided=None).run()) as ran:
            async for event in ran:
                transcript.apply(event)
    finally:
        deadline.close()
    return reply.with_results(transcript.messages, journal)
