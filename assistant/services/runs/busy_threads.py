"""Opens runs in threads that are being answered: after the answer, or in its place."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field

from django.db.models import QuerySet

from assistant.models import Run
from assistant.models.fields import WhenBusy
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
TOO_MANY = f"{MAX_WAITING} messages wait in this conversation already. Wait for an answer, or stop it."


@dataclass
class _Line:
    """The inputs of one thread that wait, each for its turn."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


_stopping: PerLoop[set[asyncio.Task[None]]] = PerLoop(set)
_lines: PerLoop[defaultdict[uuid.UUID, _Line]] = PerLoop(lambda: defaultdict(_Line))


async def open_when_free(busy: ThreadBusy, *, member: Member, assistant_slug: str, given: RunInput) -> OpenedRun:
    """Open a run in a busy thread as `busy` says: once nothing is answered there, or in the other run's place.

    If the caller is cancelled meanwhile, the run is opened all the same.

    Raises:
        Refused: as for `Runs.open`; `thread_busy` if the other run cannot be stopped, or the wait is too long.
    """
    if busy.when_busy is WhenBusy.REFUSE or busy.run is None:
        raise busy
    opening = _open(busy, busy.run, member=member, assistant_slug=assistant_slug, given=given)
    return await asyncio.shield(asyncio.create_task(opening, name="open-when-free"))


async def _open(busy: ThreadBusy, run: RunKey, *, member: Member, assistant_slug: str, given: RunInput) -> OpenedRun:
    line = _lines.get()[run.conversation_id]
    if line.waiting >= MAX_WAITING:
        raise Refused("thread_busy", TOO_MANY)
    wanted = busy.when_busy
    seconds = MAX_QUEUED_SECONDS if wanted is WhenBusy.QUEUE else CANCEL_WAIT_SECONDS
    until = time.monotonic() + seconds
    line.waiting += 1
    try:
        async with asyncio.timeout(seconds), line.turn:
            while True:
                await _free(run, wanted, until)
                try:
                    return await get_runs().open(
                        member=member, assistant_slug=assistant_slug, given=given, when_busy=wanted
                    )
                except ThreadBusy as again:
                    if again.run is None or time.monotonic() > until:
                        raise
                    run = again.run
    except TimeoutError:
        raise ThreadBusy from None
    finally:
        line.waiting -= 1
        if not line.waiting:
            _lines.get().pop(run.conversation_id, None)


async def _free(run: RunKey, wanted: WhenBusy, until: float) -> None:
    """Wait until a run has ended; `replace` stops it first."""
    if wanted is WhenBusy.REPLACE:
        await stop_run(run)
    await get_runs().ended(pk=run.pk)
    while time.monotonic() < until:
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
    """Cancel a run that is running or queued, in whichever process; do nothing to one that has ended."""
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
