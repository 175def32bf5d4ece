"""Keeps track of the connections open in this process, and closes those that have lost access."""

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
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from assistant.models import Membership
from assistant.services import gauges, metrics
from assistant.services.db.fast_paths.value_lists import any_of
from assistant.services.db.threads import in_database
from assistant.services.tenancy.end_users import directory
from assistant.services.tenancy.members import Member, active_keys
from assistant.services.tenancy.row_scope import all_tenants
from assistant.services.tenancy.sessions import live_sessions
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

# A connection that has lost access is closed within 5 s: this interval plus the time of a check.
CHECK_SECONDS = 3.0


@dataclass(frozen=True, eq=False, slots=True)
class OpenConnection:
    """One open connection of a member; `close` is called when it loses access.

    `session_key` and `session_hash` are set for a browser's session and for a member's token; `until` (when it expires)
    for tokens; `assistant_id` and `origin` for those that are used on a page that has to be allowed.
    """

    member: Member
    close: Callable[[], None]
    session_key: str = ""
    session_hash: str = ""
    assistant_id: int | None = None
    origin: str = ""
    until: datetime | None = None

    @property
    def access(self) -> tuple[Any, ...]:
        """Everything that access depends on. Connections with equal values lose access together."""
        who = (self.member.tenant_id, self.member.user_id, self.member.key_id)
        return (*who, self.session_key, self.session_hash, self.assistant_id, self.origin, self.until)


@dataclass(slots=True)
class _Registry:
    """The connections of one event loop by `access`, so that a thousand tabs of one session are checked once."""

    connections: dict[tuple[Any, ...], set[OpenConnection]] = field(default_factory=dict)
    checker: asyncio.Task[None] | None = None


_registries = PerLoop(_Registry)


def register(connection: OpenConnection) -> None:
    """Check a connection's access every `CHECK_SECONDS` until it is unregistered."""
    registry = _registries.get()
    registry.connections.setdefault(connection.access, set()).add(connection)
    if registry.checker is None or registry.checker.done():
        # An empty context: the task must not inherit the tenant of the request that starts it.
        registry.checker = asyncio.create_task(
            _check(registry), name="connection-checks", context=contextvars.Context()
        )


def unregister(connection: OpenConnection) -> None:
    """Forget a connection that was closed; one that is not registered is ignored."""
    connections, access = _registries.get().connections, connection.access
    same = connections.get(access, set())
    same.discard(connection)
    if not same:
        connections.pop(access, None)


async def _check(registry: _Registry) -> None:
    while registry.connections:
        await asyncio.sleep(CHECK_SECONDS)
        began = time.perf_counter()
        try:
            one_of_each = [next(iter(same)) for same in registry.connections.values()]
            for lost in await in_database(without_access, one_of_each):
                for connection in registry.connections.pop(lost.access, ()):
                    connection.close()
        except Exception:
            # Any error: a checker that ended would leave connections open that have lost access.
            logger.warning("The access of open connections could not be checked", exc_info=True)
        else:
            metrics.counting().record_connection_check(time.perf_counter() - began)


def count_open() -> int:
    """Return the number of connections open in this process."""
    return sum(len(same) for registry in _registries.values() for same in list(registry.connections.values()))


def is_full() -> bool:
    """Return whether this process has reached ASSISTANT_MAX_CONNECTIONS."""
    return bool(settings.ASSISTANT_MAX_CONNECTIONS) and count_open() >= settings.ASSISTANT_MAX_CONNECTIONS


gauges.watch("assistant_open_connections", "Open websockets and event streams.", count_open)


@all_tenants()
def without_access(connections: list[OpenConnection]) -> list[OpenConnection]:
    """Return the connections whose tenant, user, membership, key, token or session is no longer valid.

    Runs a fixed number of queries; sessions that are not in the database are read one by one.
    """
    now = timezone.now()
    members = _session_hashes(
        Membership.objects.filter(
            tenant_id__in={c.member.tenant_id for c in connections},
            user_id__in=any_of({c.member.user_id for c in connections}),
            tenant__is_active=True,
            user__is_active=True,
        )
    )
    key_ids = {c.member.key_id for c in connections if c.member.key_id}
    keys = set(active_keys().filter(pk__in=key_ids).values_list("tenant_id", "pk")) if key_ids else set()
    origins = _allowed_origins([c for c in connections if c.origin])
    sessions = live_sessions({c.session_key for c in connections if c.session_key})

    def is_token_valid(c: OpenConnection) -> bool:
        if c.until is not None and c.until <= now:
            return False
        return not c.origin or (c.member.tenant_id, c.assistant_id, c.origin) in origins

    def has_access(c: OpenConnection) -> bool:
        membership = c.member.tenant_id, c.member.user_id
        if membership not in members or not is_token_valid(c):
            return False
        if c.member.key_id is not None:
            return (c.member.tenant_id, c.member.key_id) in keys
        return c.session_key in sessions and constant_time_compare(members[membership], c.session_hash)

    return [c for c in connections if not has_access(c)]


def _session_hashes(members: QuerySet[Membership]) -> dict[tuple[int, UserId], str]:
    """Return the hash that a valid session of a member has, by tenant and user."""
    if get_user_model().get_session_auth_hash is AbstractBaseUser.get_session_auth_hash:
        rows = members.values_list("tenant_id", "user_id", "user__password")
        return {(tenant, user): _session_hash(password) for tenant, user, password in rows}
    # A custom user model may compute it from any field.
    found = members.select_related("user")
    return {(member.tenant_id, member.user_id): member.user.get_session_auth_hash() for member in found}


# Cached, because a thousand of these hashes take longer than the rest of the check.
@lru_cache(maxsize=20_000)
def _session_hash(password: str) -> str:
    return get_user_model()(password=password).get_session_auth_hash()


def _allowed_origins(connections: list[OpenConnection]) -> set[tuple[int, int | None, str]]:
    """Return the (tenant, assistant, origin) from which end users are still allowed."""
    if not connections:
        return set()
    return directory().allowed_origins(
        tenant_ids={c.member.tenant_id for c in connections},
        assistant_ids={c.assistant_id for c in connections if c.assistant_id is not None},
    )
