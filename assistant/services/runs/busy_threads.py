"""Opens runs in threads that are being answered: after the running answer, or instead of it."""

from __future__ import annotations

import asyncio
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from assistant.models import Run
from assistant.models.fields import OnDisconnect, WhenBusy
from assistant.models.runs import IS_ACTIVE
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.run_key import RunKey
from assistant.services.runs.cancelling import CANCEL_WAIT_SECONDS
from assistant.services.runs.leases import mark_for_cancel
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.busy_thread import ThreadBusy
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member
from assistant.toolkit.per_loop import PerLoop

# Inputs of one thread that wait in a process.
MAX_WAITING = 5
# How long one waits for the answers before it.
MAX_QUEUED_SECONDS = 600.0
# How often the database is asked whether a run of another process has ended.
LOOK_SECONDS = 0.25
TOO_MANY = gettext_noop("%(count)d messages wait in this conversation already. Wait for an answer, or stop it.")


@dataclass
class _Line:
    """The inputs of one thread that wait, each for its turn."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


_stopping: PerLoop[set[asyncio.Task[None]]] = PerLoop(set)
_lines: PerLoop[defaultdict[uuid.UUID, _Line]] = PerLoop(lambda: defaultdict(_Line))


class WaitingInput:
    """An input that waits for its thread: its run is opened once the running one has ended, or was replaced.

    Args:
        busy: the refusal of the input, which says how it waits.
        has_access: asked just before the run is opened whether the caller may still open one.
        while_access_lasts: a block that calls its argument when the caller loses access: the input is dropped then.
    """

    def __init__(
        self,
        busy: ThreadBusy,
        *,
        member: Member,
        assistant_slug: str,
        given: RunInput,
        has_access: Callable[[], Awaitable[bool]],
        while_access_lasts: Callable[[Callable[[], None]], AbstractContextManager[None]],
    ) -> None:
        self._busy = busy
        self._open = partial(
            get_runs().open, member=member, assistant_slug=assistant_slug, given=given, when_busy=busy.when_busy
        )
        self._has_access = has_access
        self._while_access_lasts = while_access_lasts
        self._waiting: asyncio.Task[OpenedRun | None] | None = None
        self._opening: asyncio.Task[OpenedRun] | None = None
        self._is_left = False

    async def opened(self) -> OpenedRun | None:
        """Wait, and return the run; None if the input was dropped. If this is cancelled, the waiting itself continues.

        Raises:
            Refused: as for `Runs.open`; `thread_busy` if the other run cannot be stopped, or the wait is too long.
        """
        if self._busy.when_busy is WhenBusy.REFUSE or self._busy.run is None:
            raise self._busy
        self._waiting = asyncio.create_task(self._wait(self._busy.run), name="open-when-free")
        try:
            return await asyncio.shield(self._waiting)
        except asyncio.CancelledError:
            if self._waiting.cancelled():
                return None
            raise

    def leave(self) -> None:
        """Note that the client has disconnected: with `onDisconnect: cancel` its run is not opened, or is stopped."""
        self._is_left = True
        if self._opening is not None and self._opening.done():
            self._stop_if_left(self._opening)
        if self._busy.on_disconnect is OnDisconnect.CANCEL:
            self.drop()

    def drop(self) -> None:
        """Open no run for the input, if none is being opened yet."""
        if self._waiting is not None:
            self._waiting.cancel()

    async def _wait(self, run: RunKey) -> OpenedRun | None:
        line = _lines.get()[run.conversation_id]
        if line.waiting >= MAX_WAITING:
            raise Refused("thread_busy", _(TOO_MANY) % {"count": MAX_WAITING})
        is_queued = self._busy.when_busy is WhenBusy.QUEUE
        until = asyncio.get_running_loop().time() + (MAX_QUEUED_SECONDS if is_queued else CANCEL_WAIT_SECONDS)
        line.waiting += 1
        try:
            with self._while_access_lasts(self.drop):
                return await self._wait_in(line, run, until)
        except TimeoutError:
            raise ThreadBusy from None
        finally:
            line.waiting -= 1
            if not line.waiting:
                _lines.get().pop(run.conversation_id, None)

    async def _wait_in(self, line: _Line, run: RunKey, until: float) -> OpenedRun | None:
        async with _turn(line, until):
            while True:
                # Only the waiting has a time limit: a run that is being opened is not abandoned half way.
                async with asyncio.timeout_at(until):
                    await _free(run, self._busy.when_busy)
                if not await self._has_access():
                    return None
                try:
                    return await self._opened_whole()
                except ThreadBusy as again:
                    if again.run is None or asyncio.get_running_loop().time() > until:
                        raise
                    run = again.run

    async def _opened_whole(self) -> OpenedRun:
        """Open the run; if this is cancelled, that is not."""
        self._opening = asyncio.create_task(self._open(), name="open-waiting")
        self._opening.add_done_callback(self._stop_if_left)
        return await asyncio.shield(self._opening)

    def _stop_if_left(self, opening: asyncio.Task[OpenedRun]) -> None:
        if opening.cancelled() or opening.exception() is not None or not self._is_left:
            return
        opened = opening.result()
        if opened.setup is not None and opened.on_disconnect is OnDisconnect.CANCEL:
            stop_soon(opened.key)


@asynccontextmanager
async def _turn(line: _Line, until: float) -> AsyncIterator[None]:
    """Hold the turn of a line for the block. Raises `TimeoutError` if it does not come in time."""
    async with asyncio.timeout_at(until):
        await line.turn.acquire()
    try:
        yield
    finally:
        line.turn.release()


async def _free(run: RunKey, wanted: WhenBusy) -> None:
    """Wait until a run has ended; `replace` stops it first."""
    if wanted is WhenBusy.REPLACE:
        await stop_run(run)
    await get_runs().ended(pk=run.pk)
    while True:
        if not await in_database(_is_active, run):
            return
        await asyncio.sleep(LOOK_SECONDS)


def stop_soon(key: RunKey) -> None:
    """Cancel a run as `stop_run` does, in the background; for code that may not wait, such as a closing stream."""
    stopping = _stopping.get()
    task = asyncio.create_task(stop_run(key), name=f"stop-{key.pk}")
    stopping.add(task)
    task.add_done_callback(stopping.discard)


async def stop_run(key: RunKey) -> None:
    """Cancel a run that is running or queued, in any process; do nothing to one that has ended."""
    await get_runs().stop_marked(await in_database(_mark, key))


def _active(key: RunKey) -> QuerySet[Run]:
    return Run.objects.filter(IS_ACTIVE, pk=key.pk, tenant_id=key.tenant_id)


def _is_active(key: RunKey) -> bool:
    return _active(key).exists()


def _mark(key: RunKey) -> list[int]:
    pks = list(_active(key).values_list("pk", flat=True))
    if pks:
        mark_for_cancel(_active(key))
    return pks
