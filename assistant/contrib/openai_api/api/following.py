"""Follows the run of a request to its end: collects its answer, and keeps the outcome for repetitions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Protocol, TypeVar

from django.http import StreamingHttpResponse

from assistant.api.event_stream import RunReader
from assistant.contrib.openai_api.api.shapes import CompletionFailed
from assistant.contrib.openai_api.services.stateless_runs import discard_unstarted
from assistant.services.connections import shutdown
from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import Entry
from assistant.services.run_key import RunKey
from assistant.services.runs.idempotency import Claim, release_claim, store_answer
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import Member

T_co = TypeVar("T_co", covariant=True)
# A stream begins after this long at the latest, and has a comment after this long without a part of the answer: proxies
# take a tool that is at work for a server that does not answer.
BEGIN_SECONDS = 1.5
KEEP_ALIVE_SECONDS = 15
KEEP_ALIVE = ": keep-alive\n\n"
RESTARTING = "The server restarts, and the answer was not complete yet. Ask again in a moment."
_background_tasks: set[asyncio.Task[Any]] = set()


class Pauses:
    """Says when a client that is waiting for a part of an answer has to be sent something in its place."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._sent_at = self._clock()
        self._patience: float = BEGIN_SECONDS

    def sent(self) -> None:
        """A part was sent."""
        self._sent_at = self._clock()

    def is_due(self) -> bool:
        """Return whether it is time; the next time is `KEEP_ALIVE_SECONDS` later."""
        if self._clock() - self._sent_at < self._patience:
            return False
        self._patience = KEEP_ALIVE_SECONDS
        self.sent()
        return True


class Collector(Protocol[T_co]):
    """Makes an answer of a run's events.

    Attributes:
        is_complete: the last event was taken.
        was_refused: the run ended in the queue.
        body: the whole answer, once it is complete.
    """

    is_complete: bool
    was_refused: bool

    @property
    def body(self) -> Mapping[str, Any]: ...

    def begin(self, opened: OpenedRun) -> None:
        """Take the run that was started or joined."""

    def wants(self, entry: Entry) -> bool:
        """Whether an event is to be taken."""

    def lacks_events(self, entry: Entry) -> bool:
        """Whether `load` is needed before the last event is taken, because earlier ones were not."""

    async def load(self, member: Member, key: RunKey) -> None:
        """Load from the database what was in the events."""

    def take(self, entry: Entry) -> Iterator[T_co]:
        """Process one event, and yield what it adds. Raises `CompletionFailed` if the run failed."""


async def followed(
    caller: Caller,
    open_run: Callable[[], Awaitable[OpenedRun]],
    collector: Collector[T_co],
    *,
    claimed: Claim | None,
    outlives: bool = False,
) -> AsyncGenerator[T_co | None]:
    """Start or join a run, yield what its events add, and store the outcome of a claimed request.

    Yields None where `Pauses` says that it is time.

    Closing the generator cancels the run, unless the request is claimed and can be repeated.

    Args:
        outlives: the run is not cancelled in any case.

    Raises:
        CompletionFailed: the run ended in an error.
    """
    member = caller.member
    outcome: tuple[int, Mapping[str, Any]] | None = None
    try:
        opened = await open_run()
        collector.begin(opened)
        ended, keeps_running = False, claimed is not None
        pauses = Pauses()
        try:
            async with aclosing(entries_of(caller, opened.key, collector)) as entries:
                async for entry in entries:
                    if entry is not None:
                        ended = entry.is_end
                        for part in collector.take(entry):
                            pauses.sent()
                            yield part
                    if pauses.is_due():
                        yield None
            keeps_running = False
            if not collector.is_complete:
                raise CompletionFailed("interrupted", "The answer broke off.")
        except CompletionFailed as exc:
            outcome = (exc.status, exc.body) if ended and exc.retry_after is None else None
            if collector.was_refused and claimed is not None:
                await asyncio.shield(in_background(in_database(discard_unstarted, key=opened.key)))
            raise
        finally:
            # At a shutdown runs get time to finish; only a disconnect cancels.
            if not (ended or keeps_running or outlives or shutdown.is_shutting_down()):
                in_background(get_runs().cancel(member=member, run_id=opened.key.run_id))
        outcome = 200, collector.body
    finally:
        if claimed is not None:
            await asyncio.shield(in_background(in_database(settle, member, claimed, outcome)))


async def entries_of(caller: Caller, key: RunKey, collector: Collector[Any]) -> AsyncGenerator[Entry | None]:
    """Yield the events that a collector wants, which loads what it lacks before the last one.

    Yields None in place of others, and after each second without any.

    Raises:
        CompletionFailed: the server is shutting down.
    """
    async with aclosing(RunReader(caller).entries(key)) as entries:
        async for entry in entries:
            if shutdown.must_end_streams():
                raise CompletionFailed("interrupted", RESTARTING)
            if entry is None or not (entry.is_end or collector.wants(entry)):
                yield None
                continue
            if entry.is_end and collector.lacks_events(entry):
                await collector.load(caller.member, key)
            yield entry


def settle(member: Member, claimed: Claim, outcome: tuple[int, Mapping[str, Any]] | None) -> None:
    """Store the outcome of a run that started, also an error, since tools may have run. Otherwise release the key."""
    if outcome is None:
        release_claim(member=member, claim=claimed)
    else:
        store_answer(member=member, claim=claimed, status=outcome[0], body=outcome[1])


def in_background(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Run a coroutine in a new task, because the current one may be cancelled."""
    task = asyncio.create_task(work, name="after-a-completion")
    _background_tasks.add(task)
    task.add_done_callback(_background_tasks.discard)
    return task


def as_stream(events: AsyncIterator[str], **headers: str) -> StreamingHttpResponse:
    """Return server-sent events as a response."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **headers}
    return StreamingHttpResponse(events, content_type="text/event-stream", headers=headers)
