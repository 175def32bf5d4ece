"""A member's conversations: list and search them, make, rename, archive and delete them."""

from __future__ import annotations

import re
import uuid

from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from assistant.models import Assistant, Conversation, Run
from assistant.services.tenancy.members import Member
from assistant.toolkit.text import clean_text

LISTED = 100
MAX_TITLE = 200
MAX_SEARCH = 200


class ConversationBusy(Exception):
    """The conversation is still being answered."""


def list_conversations(*, member: Member, search: str = "", limit: int = LISTED) -> list[Conversation]:
    """A member's conversations, the latest first; with `search`, those whose title or messages contain it.

    Those that were put into the archive are left out.
    """
    return list(conversations_of(member=member, search=search).filter(archived_at=None).order_by("-updated_at")[:limit])


def conversations_of(*, member: Member, search: str = "") -> QuerySet[Conversation]:
    """A member's conversations with assistants that are active; with `search`, those that contain it."""
    found = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    if words := clean_text(search)[:MAX_SEARCH].strip():
        in_messages = _contains("messages__content", words) & Q(messages__role__in=["user", "assistant"])
        matching = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id).filter(
            _contains("title", words) | in_messages
        )
        found = found.filter(pk__in=matching.values("pk"))
    return found.filter(assistant__is_active=True).select_related("assistant")


def _contains(column: str, words: str) -> Q:
    """Whether a text contains `words`, whatever their case."""
    if connection.vendor == "sqlite":
        # LIKE knows the cases of ASCII alone there; expressions are Python's own.
        return Q(**{f"{column}__iregex": re.escape(words)})
    return Q(**{f"{column}__icontains": words})


def find_conversation(*, member: Member, conversation_id: uuid.UUID) -> Conversation | None:
    """A member's own conversation with its assistant and what decides who answers there; None if it is not theirs."""
    return (
        Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
        .filter(pk=conversation_id)
        .select_related("assistant", "assistant__provider", "assistant__tenant", "assistant__tenant__default_provider")
        .first()
    )


def create_conversation(
    *, member: Member, assistant: Assistant, conversation_id: uuid.UUID, title: str = ""
) -> Conversation | None:
    """Make an empty conversation of a member with one of the tenant's assistants; None if its id is taken."""
    try:
        with transaction.atomic():
            return Conversation.objects.create(
                pk=conversation_id,
                tenant_id=member.tenant_id,
                user_id=member.user_id,
                assistant=assistant,
                title=_as_title(title),
            )
    except IntegrityError:
        return None


def archive_conversation(*, member: Member, conversation_id: uuid.UUID, is_archived: bool) -> bool:
    """Put a conversation into the archive, or take it out; false if there is no such conversation."""
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    return bool(own.filter(pk=conversation_id).update(archived_at=timezone.now() if is_archived else None))


def _as_title(text: str) -> str:
    return " ".join(clean_text(text).split())[:MAX_TITLE]


def rename_conversation(*, member: Member, conversation_id: uuid.UUID, title: str) -> str | None:
    """Give a conversation another title. Returns the title as kept; None if there is no such conversation.

    Raises:
        ValueError: the title is empty.
    """
    kept = _as_title(title)
    if not kept:
        raise ValueError("A conversation needs a title.")
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    return kept if own.filter(pk=conversation_id).update(title=kept) else None


def delete_conversation(*, member: Member, conversation_id: uuid.UUID) -> bool:
    """Delete a conversation and all that was said in it; false if there is no such conversation.

    Raises:
        ConversationBusy: it is still being answered.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    running = Run.objects.filter(
        tenant_id=member.tenant_id,
        conversation_id=conversation_id,
        user_id=member.user_id,
        status=Run.Status.RUNNING,
        lease_until__gt=timezone.now(),
    )
    if running.exists():
        raise ConversationBusy
    deleted, _ = own.filter(pk=conversation_id).delete()
    return bool(deleted)
