"""Reading other people's conversations in the control panel: whether the tenant allows it, and its record."""

from __future__ import annotations

from typing import Literal

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q

from assistant.models import Conversation
from assistant.models.tenants import ChatReading
from assistant.services.tenancy import audit_trail
from assistant.toolkit.context import UserId

# For how long a reading is not recorded again, and a reason is not asked for again.
READING_SECONDS = 3600
MAX_REASON = 300

Access = Literal["own", "open", "reason", "off"]


def access_to(*, conversation: Conversation, reader: AbstractBaseUser | AnonymousUser) -> Access:
    """Return how somebody who may read chats may read a conversation; `conversation.tenant` should be loaded."""
    if conversation.user_id == reader.pk:
        return "own"
    reading = conversation.tenant.chat_reading
    return "open" if reading == ChatReading.OPEN else "reason" if reading == ChatReading.REASON else "off"


def readable(*, reader_id: UserId, path: str = "") -> Q:
    """Return the condition of rows whose texts may be shown and searched without a reason.

    Args:
        path: the lookup from a row to its conversation, such as `run__conversation`; "" for conversations.
    """
    prefix = f"{path}__" if path else ""
    return Q(**{f"{prefix}tenant__chat_reading": ChatReading.OPEN}) | Q(**{f"{prefix}user": reader_id})


def record_reading(*, reader: audit_trail.Actor, conversation: Conversation, reason: str = "") -> None:
    """Record that somebody reads another person's conversation: who, whose, and why."""
    details = {"person": conversation.user.get_username(), "reason": reason}
    audit_trail.record(
        actor=reader,
        action="conversation.read",
        target=str(conversation.pk),
        tenant=conversation.tenant,
        details={name: value for name, value in details.items() if value},
    )
