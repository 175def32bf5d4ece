"""Stores the answers of running runs so far, those of all runs of this process together.

A crossing into a database thread and a commit cost more than the update between them, and two hundred answers that
stream at once come due two hundred and fifty times a second.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import defaultdict
from collections.abc import Sequence

from django.db import connection, transaction

from assistant.services.db.threads import in_database
from assistant.services.runs.leases import Checkpoint, LostRun, checkpoint_run, checkpoint_runs
from assistant.services.tenancy.row_scope import tenant_scope

logger = logging.getLogger(__name__)

# What comes due within this time goes along. PostgreSQL stores all of a tenant's by one statement: of more of them each
# costs less.
GATHER_SECONDS = 0.2 if connection.vendor == "postgresql" else 0.05

# Fewer of them cost more together than alone, each without a transaction around it.
_WORTHWHILE = 4


class CheckpointWriter:
    """Of the runs of one event loop."""

    def __init__(self) -> None:
        self._due: list[tuple[Checkpoint, asyncio.Future[bool]]] = []
        self._storing: asyncio.Task[None] | None = None

    async def keep(self, checkpoint: Checkpoint) -> bool:
        """Store it and renew the run's lease; returns whether somebody asked to cancel the run.

        Raises:
            LostRun: another process has taken the run over.
            DatabaseError, InterfaceError: it could not be stored.
        """
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._due.append((checkpoint, future))
        if self._storing is None:
            # In a context of its own: it works for all tenants, not for the one that came first.
            self._storing = asyncio.create_task(self._store(), name="checkpoints", context=contextvars.Context())
        return await future

    async def _store(self) -> None:
        try:
            while self._due:
                await asyncio.sleep(GATHER_SECONDS)
                # Who was cancelled meanwhile has ended, and stores its end.
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
    """What `checkpoint_run` returns for each, or raises; one that cannot be stored keeps no other from it."""
    together = _stored_on_postgresql if connection.vendor == "postgresql" else _stored_on_sqlite
    found = together(checkpoints) if len(checkpoints) > 1 else {}
    return [found[one.key.pk] if one.key.pk in found else _stored_alone(one) for one in checkpoints]


def _stored_on_sqlite(checkpoints: Sequence[Checkpoint]) -> dict[int, bool | Exception]:
    """By run what became of those that were stored together: of all or of none. SQLite's cost is the commit."""
    try:
        with transaction.atomic():
            return {one.key.pk: _stored(one) for one in checkpoints}
    except Exception:
        logger.debug("Checkpoints are stored one by one, as one cannot be", exc_info=True)
        return {}


def _stored_on_postgresql(checkpoints: Sequence[Checkpoint]) -> dict[int, bool | Exception]:
    """The same, of each tenant's by themselves; runs that are cancelled or lost are not among them."""
    of_tenant: dict[int, list[Checkpoint]] = defaultdict(list)
    for one in checkpoints:
        of_tenant[one.key.tenant_id].append(one)
    found: dict[int, bool | Exception] = {}
    for tenant_id, own in of_tenant.items():
        if len(own) < _WORTHWHILE:
            continue
        try:
            with tenant_scope(tenant_id):
                found |= dict.fromkeys(checkpoint_runs(tenant_id=tenant_id, checkpoints=own), False)
        except Exception:
            logger.debug("Checkpoints are stored one by one, as one cannot be", exc_info=True)
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
