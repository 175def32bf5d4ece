"""Limits how many websockets and event streams a tenant and a member may have open.

They are counted over all processes if an optional app does so, such as `redis`, otherwise only in this process.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from django.utils.translation import gettext as _

from assistant.core.values.quota_kinds import Quota
from assistant.services.tenancy.members import Member

KEY_PREFIX = "assistant:connections:"
# How long the slots of a process that died stay taken. A live process renews its own in the housekeeping of `Runs`.
SLOT_SECONDS = 20


class TooManyConnections(Exception):
    """The limit of open connections is reached; the message can be shown to the user."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One counted connection; `keys` are the counters of its tenant and of its member."""

    id: str
    keys: tuple[str, str]


class ConnectionLimiter(Protocol):
    """Counts open connections against the limits of tenants and members."""

    async def acquire(self, member: Member) -> Slot:
        """Count one more connection. Raises `TooManyConnections`."""

    async def release(self, slot: Slot) -> None:
        """Stop counting a connection that was closed."""

    async def renew(self) -> None:
        """Extend the slots of this process, which otherwise expire after `SLOT_SECONDS`."""

    async def close(self) -> None:
        """Close the connections to what is shared."""


class LocalConnectionLimiter:
    """Counts the connections of this process."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    async def acquire(self, member: Member) -> Slot:
        slot = _slot(member)
        for key, quota in zip(slot.keys, quotas_of(member), strict=True):
            if quota.connections and self._open[key] >= quota.connections:
                raise too_many(quota)
        self._open.update(slot.keys)
        return slot

    async def release(self, slot: Slot) -> None:
        for key in slot.keys:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    async def renew(self) -> None:
        return None

    async def close(self) -> None:
        return None


_shared: list[tuple[Callable[[], bool], Callable[[], ConnectionLimiter]]] = []


def count_by(make: Callable[[], ConnectionLimiter], *, is_on: Callable[[], bool]) -> None:
    """Have an optional app count the connections of all processes.

    Args:
        make: returns a new limiter.
        is_on: whether the deployment's settings choose it.
    """
    _shared.append((is_on, make))


def configured_limiter() -> ConnectionLimiter:
    """Return a new limiter: that of an optional app over all processes, else one of this process."""
    return next((make() for is_on, make in _shared if is_on()), LocalConnectionLimiter())


def _slot(member: Member) -> Slot:
    tenant = f"{KEY_PREFIX}{member.tenant_id}"
    return Slot(uuid.uuid4().hex, (tenant, f"{tenant}:{member.user_id}"))


def quotas_of(member: Member) -> tuple[Quota, Quota]:
    """Return the limits of a slot's counters, in their order."""
    return member.quotas.tenant, member.quotas.member


def too_many(quota: Quota) -> TooManyConnections:
    """Return the exception for a limit, whose message says which."""
    if quota.scope == "tenant":
        sentence = _("Too many connections: your organisation may have %(count)d open. Close one first.")
    else:
        sentence = _("Too many connections: you may have %(count)d open. Close one first.")
    return TooManyConnections(sentence % {"count": quota.connections})
