"""Which connections are open in this process, and whether those behind them are still welcome."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from assistant.models import Membership, WidgetOrigin
from assistant.services import metrics
from assistant.services.db.threads import in_database
from assistant.services.db.value_lists import any_of
from assistant.services.tenancy.members import Member, good_keys
from assistant.services.tenancy.row_scope import all_tenants
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

# Whoever loses the right to be here is out within 5 s: this, plus the time that the look takes.
SWEEP_SECONDS = 3.0


@dataclass(frozen=True, eq=False, slots=True)
class Presence:
    """One open connection of a member; `leave` closes it.

    An end user is welcome at `assistant_id`, in pages of `origin`, and `until` their token ends.
    """

    member: Member
    leave: Callable[[], None]
    session_key: str = ""
    session_hash: str = ""
    assistant_id: int | None = None
    origin: str = ""
    until: datetime | None = None

    @property
    def right(self) -> tuple[Any, ...]:
        """By what it may be here; connections with the same are welcome together, or not at all."""
        who = (self.member.tenant_id, self.member.user_id, self.member.key_id)
        return (*who, self.session_key, self.session_hash, self.assistant_id, self.origin, self.until)


@dataclass(slots=True)
class _Room:
    """Those who are connected here, by their rights: a thousand open tabs are looked at every few seconds."""

    present: dict[tuple[Any, ...], set[Presence]] = field(default_factory=dict)
    sweeper: asyncio.Task[None] | None = None


_rooms = PerLoop(_Room)


def enter(presence: Presence) -> None:
    """Keep an eye on a connection until it leaves."""
    room = _rooms.get()
    room.present.setdefault(presence.right, set()).add(presence)
    if room.sweeper is None or room.sweeper.done():
        # In a context of its own: it looks after everybody, not only after whoever came first.
        room.sweeper = asyncio.create_task(_sweep(room), name="presence-sweeper", context=contextvars.Context())


def leave(presence: Presence) -> None:
    """The connection is closed."""
    present, right = _rooms.get().present, presence.right
    alike = present.get(right, set())
    alike.discard(presence)
    if not alike:
        present.pop(right, None)


async def _sweep(room: _Room) -> None:
    while room.present:
        await asyncio.sleep(SWEEP_SECONDS)
        began = time.perf_counter()
        try:
            for refused in await in_database(unwelcome, [next(iter(alike)) for alike in room.present.values()]):
                for presence in room.present.pop(refused.right, ()):
                    presence.leave()
        except Exception:
            # Whatever it was: nobody would be shown out any more.
            logger.warning("Open connections could not be checked", exc_info=True)
        else:
            metrics.note_sweep(time.perf_counter() - began)


def open_connections() -> int:
    """How many connections are open in this process."""
    return sum(len(alike) for room in _rooms.values() for alike in list(room.present.values()))


def is_full() -> bool:
    """Whether this process has as many open connections as it may."""
    return bool(settings.MAX_CONNECTIONS) and open_connections() >= settings.MAX_CONNECTIONS


metrics.watch("assistant_open_connections", "Open websockets and event streams.", open_connections)


@all_tenants()
def unwelcome(present: list[Presence]) -> list[Presence]:
    """Those whose tenant, user, membership, key, token or session has ended; four queries for any number."""
    now = timezone.now()
    members = _session_hashes(
        Membership.objects.filter(
            tenant_id__in={p.member.tenant_id for p in present},
            user_id__in=any_of({p.member.user_id for p in present}),
            tenant__is_active=True,
            user__is_active=True,
        )
    )
    given = {p.member.key_id for p in present if p.member.key_id}
    keys = set(good_keys().filter(pk__in=given).values_list("tenant_id", "pk")) if given else set()
    origins = _allowed_origins([p for p in present if p.origin])
    with_session = [p for p in present if p.session_key]
    sessions = set(
        Session.objects.filter(
            session_key__in=any_of({p.session_key for p in with_session}), expire_date__gt=now
        ).values_list("session_key", flat=True)
    )

    def is_in_time_and_place(p: Presence) -> bool:
        if p.until is not None and p.until <= now:
            return False
        return not p.origin or (p.member.tenant_id, p.assistant_id, p.origin) in origins

    def is_welcome(p: Presence) -> bool:
        place = p.member.tenant_id, p.member.user_id
        if place not in members:
            return False
        if p.member.key_id is not None:
            return (p.member.tenant_id, p.member.key_id) in keys and is_in_time_and_place(p)
        return p.session_key in sessions and constant_time_compare(members[place], p.session_hash)

    return [p for p in present if not is_welcome(p)]


def _session_hashes(members: QuerySet[Membership]) -> dict[tuple[int, UserId], str]:
    """What a session's hash must be, by tenant and user."""
    if get_user_model().get_session_auth_hash is AbstractBaseUser.get_session_auth_hash:
        rows = members.values_list("tenant_id", "user_id", "user__password")
        return {(tenant, user): _hash_of(password) for tenant, user, password in rows}
    # A user model of the project's own may make it of anything.
    found = members.select_related("user")
    return {(member.tenant_id, member.user_id): member.user.get_session_auth_hash() for member in found}


# A thousand of them take longer to make than all else that is done for who is open.
@lru_cache(maxsize=20_000)
def _hash_of(password: str) -> str:
    return get_user_model()(password=password).get_session_auth_hash()


def _allowed_origins(visiting: list[Presence]) -> set[tuple[int, int | None, str]]:
    """Tenants, assistants and origins that are still on the lists of those that end users came by."""
    if not visiting:
        return set()
    found = WidgetOrigin.objects.filter(
        tenant_id__in={p.member.tenant_id for p in visiting}, assistant__is_active=True
    ).filter(assistant_id__in={p.assistant_id for p in visiting})
    return set(found.values_list("tenant_id", "assistant_id", "origin"))
