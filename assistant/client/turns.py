"""Runs turns without a database, and stores what they add to a conversation."""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, cast

from assistant.client.reply import ChatReply, InMemoryJournal, reply_of
from assistant.client.stores import ConversationKey, ConversationStore, append
from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.typed_answer import PartialAnswer
from assistant.core.llm.typed_output import OutputType
from assistant.core.toolcalls.admission import CallLimiter
from assistant.core.toolcalls.batch import Batch
from assistant.core.toolcalls.protocols import Decision
from assistant.core.turn.loop import environment_of, run_turn
from assistant.core.turn.plan import Plan
from assistant.core.values.deadline import Deadline
from assistant.core.values.events import Event, TextMessageContent
from assistant.core.values.messages import Message, unanswered_calls
from assistant.core.values.untrusted import ReadText
from assistant.toolkit import TenantInfo, ToolContext, UserInfo
from assistant.toolkit.lazy_module import LazyModule

_spans = LazyModule("assistant.client.spans.turns")
Info = TypeVar("Info", TenantInfo, UserInfo)


def context_of(values: Mapping[str, Any], thread_id: str, run_id: str) -> ToolContext:
    """Return the context of one turn.

    Args:
        values: `tenant` and `user` may be `TenantInfo` and `UserInfo`, or mappings of their fields; all others become
            `context.extra`.
    """
    extra = dict(values)
    return ToolContext(
        tenant=_info(TenantInfo, "tenant", extra),
        user=_info(UserInfo, "user", extra),
        thread_id=thread_id,
        run_id=run_id,
        extra=extra,
    )


def _info(kind: type[Info], name: str, extra: dict[str, Any]) -> Info:
    """Take the tenant or the user out of `extra`; a mapping with further keys also stays there."""
    given = extra.get(name)
    if isinstance(given, kind):
        return cast("Info", extra.pop(name))
    if not isinstance(given, Mapping):
        return kind()
    known = {field.name for field in fields(kind)}
    if given.keys() <= known:
        del extra[name]
    return kind(**{key: value for key, value in given.items() if key in known})


T = TypeVar("T")


@dataclass
class Turn:
    """One turn of `ChatClient`; it runs once, by `events` or `finish`.

    Attributes:
        sent: the conversation before the turn, without the client's system prompt.
        new: the part of `sent` that is not in `store` yet.
        conversation: the conversation's key in `store`.
        until: when the time limit is over, by `time.monotonic`. The store then has a grace, as it has when the turn is
            stopped.
        watch: returns a context manager around the run of the turn, such as one that records spans.
    """

    plan: Plan
    journal: InMemoryJournal
    sent: tuple[Message, ...] = ()
    new: tuple[Message, ...] = ()
    store: ConversationStore | None = None
    conversation: ConversationKey | None = None
    until: float = math.inf
    transcript: Transcript = field(default_factory=Transcript)
    watch: Callable[[Turn], AbstractContextManager[Any]] = nullcontext

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the turn and yield its events; however it ends, the store gets a valid conversation."""
        with self.watch(self):
            seconds = self.plan.calls.grace
            try:
                async with aclosing(run_turn(self.plan, self.transcript)) as events:
                    async for event in events:
                        yield event
                seconds = max(seconds, self.until - time.monotonic())
            finally:
                if self.transcript.ending is None:
                    self.transcript.close("cancelled")
                if self.store is not None and self.conversation is not None:
                    added = (*self.new, *self.transcript.messages)
                    await append(self.store, self.conversation, added, seconds=seconds)

    async def finish(self) -> ChatReply[Any]:
        """Run the turn and return its reply. Raises `RunFailed`."""
        async with aclosing(self.events()) as events:
            async for _ in events:
                pass
        return self.reply()

    def reply(self) -> ChatReply[Any]:
        """Return the reply of a turn that has run. Raises `RunFailed`."""
        return reply_of(self.plan, self.sent, self.transcript, self.journal)


async def observed(turn: Turn) -> Turn:
    """Return the turn with spans around it, in programs that have set up OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return turn
    watched: Turn = (await _spans.get()).with_spans(turn)
    return watched


class ReplyStream:
    """The events of one turn as they happen. Iterate once; `reply` is available afterwards."""

    def __init__(self, prepare: Callable[[], Awaitable[Turn]]) -> None:
        self._prepare = prepare
        self._turn: Turn | None = None
        self._read: AsyncGenerator[Event, None] | None = None

    def __aiter__(self) -> AsyncGenerator[Event, None]:
        # Not stored, so that the generator, and with it the turn, ends when the loop over it is left.
        return self._events() if self._read is None else self._read

    async def __anext__(self) -> Event:
        self._read = self._read or self._events()
        return await anext(self._read)

    async def aclose(self) -> None:
        """End the turn if it was started with `anext`. A turn in an `async for` loop ends when the loop is left."""
        if self._read is not None:
            await self._read.aclose()

    async def _events(self) -> AsyncGenerator[Event, None]:
        self._turn = await self._prepare()
        async with aclosing(self._turn.events()) as events:
            async for event in events:
                yield event

    @property
    def reply(self) -> ChatReply[Any]:
        """The reply, once the stream has been read. Raises `RunFailed` if the turn failed."""
        if self._turn is None:
            raise RuntimeError("The stream has not been read yet.")
        return self._turn.reply()


def thread_id_of(messages: Sequence[Message]) -> str:
    """Return an id made from a conversation's content, so that its pending calls keep their idempotency keys."""
    return hashlib.sha256(repr(messages).encode("utf-8", "backslashreplace")).hexdigest()[:32]


async def stream_text(turn: Turn) -> AsyncGenerator[str, None]:
    """Yield the text of the answer as it arrives. Raises `RunFailed`."""
    async with aclosing(turn.events()) as events:
        async for event in events:
            if isinstance(event, TextMessageContent) and event.subagent_run_id is None:
                yield event.delta
    turn.reply()


async def stream_typed(turn: Turn, output: OutputType[T]) -> AsyncGenerator[T, None]:
    """Yield partial values of a typed answer, then the complete one. A repaired answer starts over.

    Raises `RunFailed`.
    """
    partial, last = PartialAnswer(output), None
    async with aclosing(turn.events()) as events:
        async for event in events:
            if (value := await partial.update(event)) is not None and value != last:
                last = value
                yield value
    whole = turn.reply().output
    if whole is not None and whole != last:
        yield whole


def check_decisions(decisions: Mapping[str, Decision], messages: Sequence[Message]) -> None:
    """Raise `ValueError` for decisions on calls that the messages do not end with: theirs would go on undecided."""
    waiting = [call.id for call in unanswered_calls(messages)]
    if unknown := sorted(decisions.keys() - set(waiting)):
        raise ValueError(
            f"decisions name {', '.join(unknown)}, which no call waits for. Calls: {', '.join(waiting) or 'none'}."
        )


async def execute_calls(reply: ChatReply[Any], decisions: Mapping[str, Decision] | None = None) -> ChatReply[Any]:
    """Run the pending calls of `reply` and return it with their results.

    Each call runs once: a second time for the same reply returns the same results.

    Raises:
        ValueError: no client has made the reply, or a decision is on none of its calls.
    """
    plan = reply.plan if isinstance(reply, ChatReply) else None
    if plan is None:
        raise ValueError(f"This {type(reply).__name__} is no reply that a client has made.")
    transcript = Transcript()
    transcript.read = ReadText.of(reply.messages)
    journal = plan.journal if isinstance(plan.journal, InMemoryJournal) else InMemoryJournal()
    calls = unanswered_calls(reply.messages)
    check_decisions(decisions or {}, reply.messages)
    limits = plan.settings.limits
    deadline = Deadline(limits.seconds)
    environment = environment_of(
        replace(plan, journal=journal), transcript, deadline, CallLimiter(limits), messages=reply.messages, late=deque()
    )
    try:
        async with aclosing(Batch(calls, environment, decisions or {}, undecided=None).run()) as ran:
            async for event in ran:
                transcript.apply(event)
    finally:
        deadline.close()
    return reply.with_results(transcript.messages, journal)
