"""Stores for the conversations that `ChatClient` continues between calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Protocol

from assistant.core.values.messages import Message
from assistant.toolkit import TenantInfo, ToolContext, UserInfo
from assistant.toolkit.calls.gate import HandedIn, called

# The time of one call of a store.
STORE_SECONDS = 60.0


class ConversationKey(str):
    """The key of a conversation in a store, with what it is made of.

    Attributes:
        conversation: the `conversation` of the call.
        tenant: the tenant of the call's context.
        user: its user.
    """

    conversation: str
    tenant: TenantInfo
    user: UserInfo


class ConversationStore(Protocol):
    """Keeps messages by a conversation's key, which is opaque. Implement it to use a file, a cache or a database.

    The methods may also be sync functions, which run in a thread.
    """

    async def load(self, key: ConversationKey) -> Sequence[Message]:
        """Return the conversation so far, oldest message first; empty if there is none."""

    async def append(self, key: ConversationKey, messages: Sequence[Message]) -> None:
        """Add the messages of one turn."""


def key_of(conversation: str, context: ToolContext[Any]) -> ConversationKey:
    """Return the key of a conversation in a store: with the tenant and the user of the context, if it has any.

    What one of them calls `c1` is never what another calls so.

    Raises:
        TypeError: the context has a tenant or a user that is none, such as a text, so that all would share the key.
    """
    tenant = context.tenant
    user = context.user
    for name, info in (("tenant", tenant), ("user", user)):
        if context.extra.get(name) and info == type(info)():
            known = ", ".join(field.name for field in fields(info))
            raise TypeError(
                f"{name} of context must be a {type(info).__name__}, or a mapping of its fields: {known}. Otherwise "
                "conversations in the store would be nobody's."
            )
    owner = [
        {"id": str(tenant.id)} if tenant.id is not None else {"slug": tenant.slug},
        {"id": str(user.id)} if user.id is not None else {"username": user.username},
    ]
    has_owner = owner != [{"slug": ""}, {"username": ""}]
    key = ConversationKey(json.dumps([*owner, conversation]) if has_owner else conversation)
    key.conversation = conversation
    key.tenant = tenant
    key.user = user
    return key


async def load(store: ConversationStore, key: ConversationKey) -> Sequence[Message]:
    """Return what a store has of a conversation. Raises what the store raises, or `NoAnswer`."""
    name = type(store).__name__
    messages: Sequence[Message] = await called(HandedIn(store.load, (key,), "load", name, Sequence, STORE_SECONDS))
    return messages


async def append(
    store: ConversationStore, key: ConversationKey, messages: Sequence[Message], *, seconds: float
) -> None:
    """Add messages to a conversation in a store, in at most `STORE_SECONDS`.

    Raises what the store raises, or `NoAnswer`.
    """
    limit = min(seconds, STORE_SECONDS)
    await called(HandedIn(store.append, (key, messages), "append", type(store).__name__, seconds=limit))
