"""Stores the partial answers of all runs of this process together.

Crossing into a database thread and committing cost more than the update itself, and 200 streaming answers are due 250
times a second.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

from django.db import DatabaseError, InterfaceError, connection, transaction

from assistant.services.db.threads import in_database
from assistant.services.runs.leases import Checkpoint, LostRun, checkpoint_run, checkpoint_runs
from assistant.services.tenancy.row_scope import tenant_scope

logger = logging.getLogger(__name__)

# How often a growing answer is stored. A process that is killed loses at most the text of this time and of
# `GATHER_SECONDS`.
CHECKPOINT_SECONDS = 0.8
# Each checkpoint writes the whole answer. Where the log survives the end of a process, the interval grows by a second
# for each 3,000 characters, up to the maximum: text is lost only if the log is lost at the same time.
CHARACTERS_PER_SECOND, MAX_CHECKPOINT_SECONDS = 3_000, 4.0
# Checkpoints that are due within this time are stored together. It is longer on PostgreSQL, where one statement stores
# all of a tenant's: the more there are, the less each costs.
GATHER_SECONDS = 0.2 if connection.vendor == "postgresql" else 0.05

# Fewer checkpoints of a tenant are stored one by one, which costs less than one statement with its transaction.
_MIN_BATCH = 4


def checkpoint_pause(characters: int) -> float:
    """Return the seconds until the next checkpoint of an answer, where the log survives the end of a process."""
    return min(CHECKPOINT_SECONDS + characters / CHARACTERS_PER_SECOND, MAX_CHECKPOINT_SECONDS)


class CheckpointWriter:
    """Collects the checkpoints of the runs of one event loop, and stores them."""

    def __init__(self) -> None:
        self._due: list[tuple[Checkpoint, asyncio.Future[bool]]] = []
        self._storing: asyncio.Task[None] | None = None

    async def store(self, checkpoint: Checkpoint) -> bool:
        """Store a checkpoint and renew the run's lease. Return whether the run is to be cancelled.

        Raises:
            LostRun: another process has taken the run over.
            DatabaseError, InterfaceError: the checkpoint could not be stored.
        """
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._due.append((checkpoint, future))
        if self._storing is None:
            # An empty context: the task must not inherit the tenant of the run that starts it.
            self._storing = asyncio.create_task(self._store(), name="checkpoints", context=contextvars.Context())
        return await future

    async def store_until_cancelled(
        self,
        state: Callable[[], Checkpoint],
        flush: Callable[[], Awaitable[None]],
        *,
        seq: Callable[[], int],
        survives_process: bool,
    ) -> None:
        """Store a run's checkpoints while it makes events. Return when the run is to be cancelled.

        Args:
            state: returns the run's checkpoint as it is now.
            flush: waits until the events up to it are in the log.
            seq: returns the number of the run's last event.
            survives_process: whether the log survives the end of a process.

        Raises:
            LostRun, Fenced: another process has taken the run over.
        """
        stored = 0
        pause = CHECKPOINT_SECONDS
        while True:
            await asyncio.sleep(pause)
            if seq() == stored:
                continue
            checkpoint = state()
            stored = checkpoint.seq
            if survives_process:
                pause = checkpoint_pause(sum(len(one["content"]) for one in checkpoint.partial["messages"]))
            try:
                await flush()
                if await self.store(checkpoint):
                    return
            except (DatabaseError, InterfaceError):
                logger.warning("A checkpoint of run %s could not be stored", checkpoint.key.run_id, exc_info=True)

    async def _store(self) -> None:
        try:
            while self._due:
                await asyncio.sleep(GATHER_SECONDS)
                # Runs that were cancelled meanwhile are left out, because they store their end.
                batch = [one for one in self._due if not one[1].done()]
                self._due.clear()
                await self._store_batch(batch)
        finally:
            self._storing = None

    async def _store_batch(self, batch: Sequence[tuple[Checkpoint, asyncio.Future[bool]]]) -> None:
        try:
            stored = await in_database(store_checkpoints, [checkpoint for checkpoint, _ in batch])
        except Exception as exc:
            stored = [exc] * len(batch)
        for (_, future), outcome in zip(batch, stored, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


def store_checkpoints(checkpoints: Sequence[Checkpoint]) -> list[bool | Exception]:
    """Store checkpoints; one that fails does not affect the others.

    Returns:
        For each checkpoint, what `checkpoint_run` returns or the exception that it raises.
    """
    store_batch = _stored_on_postgresql if connection.vendor == "postgresql" else _stored_on_sqlite
    found = store_batch(checkpoints) if len(checkpoints) > 1 else {}
    return [found[one.key.pk] if one.key.pk in found else _stored_alone(one) for one in checkpoints]


def _stored_on_sqlite(checkpoints: Sequence[Checkpoint]) -> dict[int, bool | Exception]:
    """Store all checkpoints in one transaction, because the commit is what costs most. Return the results by run.

    If one fails, none is stored and there are no results.
    """
    try:
        with transaction.atomic():
            return {one.key.pk: _stored(one) for one in checkpoints}
    except Exception:
        logger.debug("Storing checkpoints one by one, because one of them failed", exc_info=True)
        return {}


def _stored_on_postgresql(checkpoints: Sequence[Checkpoint]) -> dict[int, bool | Exception]:
    """Store the checkpoints of each tenant with one statement. Return the results by run.

    Runs that are cancelled or lost, and those of tenants whose statement failed, have no result.
    """
    of_tenant: dict[int, list[Checkpoint]] = defaultdict(list)
    for one in checkpoints:
        of_tenant[one.key.tenant_id].append(one)
    found: dict[int, bool | Exception] = {}
    for tenant_id, own in of_tenant.items():
        if len(own) < _MIN_BATCH:
            continue
        try:
            with tenant_scope(tenant_id):
                found |= dict.fromkeys(checkpoint_runs(tenant_id=tenant_id, checkpoints=own), False)
        except Exception:
            logger.debug("Storing checkpoints one by one, because one of them failed", exc_info=True)
    return found


def _stored_alone(checkpoint: Checkpoint) -> bool | Exception:
    try:
        return _stored(checkpoint)
    except Exception as exc:
        return exc


def _stored(checkpoint: Checkpoint) -> bool | Exception:
    key = checkpoint.key
    with tenant_scope(key.tenant_id):
        try:
            return checkpoint_run(key=key, partial=checkpoint.partial, seq=checkpoint.seq)
        except LostRun as lost:
            return lost
