"""Which connections are open in this process, and whether those behind them are still welcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from assistant.models import ApiKey, Membership
from assistant.services.database import in_database
from assistant.services.members import Member

logger = logging.getLogger(__name__)

# Whoever loses the right to be here is out within 5 s: this, plus the time that the look takes.
SWEEP_SECONDS = 3.0


@dataclass(eq=False, slots=True)
class Presence:
    """One open connection of a member; `leave` closes it."""

    member: Member
    leave: Callable[[], None]
    session_key: str = ""
    session_hash: str = ""


@dataclass(slots=True)
class _Room:
    present: set[Presence] = field(default_factory=set)
    sweeper: asyncio.Task[None] | None = None


_rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, _Room] = WeakKeyDictionary()


def _room() -> _Room:
    return _rooms.setdefault(asyncio.get_running_loop(), _Room())


def enter(presence: Presence) -> None:
    """Keep an eye on a connection until it leaves."""
    room = _room()
    room.present.add(presence)
    if room.sweeper is None or room.sweeper.done():
        room.sweeper = asyncio.create_task(_sweep(room), name="presence-sweeper")


def leave(presence: Presence) -> None:
    """The connection is closed."""
    _room().present.discard(presence)


async def _sweep(room: _Room) -> None:
    while room.present:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            for presence in await in_database(unwelcome, list(room.present)):
                room.present.discard(presence)
                presence.leave()
        except DatabaseError:
            logger.warning("Open connections could not be checked", exc_info=True)


def unwelcome(present: list[Presence]) -> list[Presence]:
    """Those whose tenant, user, membership, key or session has ended; four queries for any number."""
    now = timezone.now()
    members = set(
        Membership.objects.filter(
            tenant_id__in={p.member.tenant_id for p in present},
            user_id__in={p.member.user_id for p in present},
            tenant__is_active=True,
            user__is_active=True,
        ).values_list("tenant_id", "user_id")
    )
    keys = set(
        ApiKey.objects.filter(pk__in={p.member.key_id for p in present if p.member.key_id}, revoked_at=None)
        .filter(Q(expires_at=None) | Q(expires_at__gt=now))
        .values_list("tenant_id", "pk")
    )
    with_session = [p for p in present if p.session_key]
    sessions = set(
        Session.objects.filter(session_key__in={p.session_key for p in with_session}, expire_date__gt=now).values_list(
            "session_key", flat=True
        )
    )
    users = get_user_model().objects.in_bulk({p.member.user_id for p in with_session}) if with_session else {}

    def is_welcome(p: Presence) -> bool:
        if (p.member.tenant_id, p.member.user_id) not in members:
            return False
        if p.member.key_id is not None:
            return (p.member.tenant_id, p.member.key_id) in keys
        user = users.get(p.member.user_id)
        return (
            p.session_key in sessions
            and user is not None
            and constant_time_compare(user.get_session_auth_hash(), p.session_hash)
        )

    return [p for p in present if not is_welcome(p)]
