"""A store of `ChatClient` in the project's database."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.contrib.auth import get_user_model

from assistant.client.sessions import EventStore, SessionEvent
from assistant.client.stores import ConversationKey
from assistant.contrib.sessions.models import MAX_NAME, StoredEvent
from assistant.models import Membership
from assistant.services.db.threads import in_database
from assistant.services.tenancy.row_scope import NO_TENANTS, all_tenants, tenant_scope, visible_tenants

T = TypeVar("T")


class DjangoStore(EventStore):
    """Keeps conversations of members in the database: each is one member's of one tenant.

    The context of a call names both, the tenant by `id` or `slug`, the user by `id` or `username`.

    All methods raise:
        LookupError: the user is no member of the tenant, or the tenant is not active.
        ValueError: the context names no tenant or no user, or the name of the conversation is too long.
    """

    async def read(self, key: ConversationKey) -> list[SessionEvent]:
        return await in_database(_in_scope, key, _read)

    async def write(self, key: ConversationKey, events: Sequence[SessionEvent]) -> None:
        await in_database(_in_scope, key, lambda member, name: _write(member, name, events))


def _in_scope(key: ConversationKey, work: Callable[[Membership, str], T]) -> T:
    """Do the work with the rows of the key's tenant alone, which a narrower scope of the caller does not widen."""
    if len(key.conversation) > MAX_NAME:
        raise ValueError(f"The name of a conversation has at most {MAX_NAME} characters, not {len(key.conversation)}.")
    if visible_tenants() != NO_TENANTS:
        return work(_member(key), key.conversation)
    with all_tenants():
        member = _member(key)
    with tenant_scope(member.tenant_id):
        return work(member, key.conversation)


def _member(key: ConversationKey) -> Membership:
    tenant = key.tenant
    user = key.user
    if (tenant.id is None and not tenant.slug) or (user.id is None and not user.username):
        raise ValueError("DjangoStore keeps conversations of members: name the tenant and the user in the context.")
    username = f"user__{get_user_model().USERNAME_FIELD}"
    members = Membership.objects.filter(
        **({"tenant": tenant.id} if tenant.id is not None else {"tenant__slug": tenant.slug}),
        **({"user": user.id} if user.id is not None else {username: user.username}),
        tenant__is_active=True,
        user__is_active=True,
    )
    member = members.first()
    if member is None:
        raise LookupError("The user is no member of the tenant, or one of them is not active.")
    return member


def _read(member: Membership, name: str) -> list[SessionEvent]:
    rows = StoredEvent.objects.filter(tenant=member.tenant_id, user=member.user_id, conversation=name)
    values = rows.order_by("pk").values_list("kind", "value", "at")
    return [SessionEvent(kind, json.loads(value), at) for kind, value, at in values]


def _write(member: Membership, name: str, events: Sequence[SessionEvent]) -> None:
    StoredEvent.objects.bulk_create(
        StoredEvent(
            tenant_id=member.tenant_id,
            user_id=member.user_id,
            conversation=name,
            kind=event.kind,
            value=json.dumps(event.value),
            at=event.at,
        )
        for event in events
    )
