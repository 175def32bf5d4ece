"""Searches, creates, renames, pins, archives and deletes a member's conversations."""

from __future__ import annotations

import re
import uuid

from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.models import Assistant, Conversation, Run
from assistant.models.runs import IS_ACTIVE
from assistant.services.conversations.paths import position_of, store_tree, tree_of
from assistant.services.db.clock import DatabaseTime
from assistant.services.tenancy.members import Member
from assistant.toolkit.text import clean_text

MAX_TITLE = 200
MAX_SEARCH = 200


class ConversationBusy(Exception):
    """The conversation has a running run."""


def conversations_of(*, member: Member, search: str = "") -> QuerySet[Conversation]:
    """Return a member's conversations with active assistants, as in lists; with `search`, those that contain it."""
    found = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id).listed()
    if words := clean_text(search)[:MAX_SEARCH].strip():
        in_messages = contains("messages__content", words) & Q(messages__role__in=["user", "assistant"])
        matching = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id).filter(
            contains("title", words) | in_messages
        )
        found = found.filter(pk__in=matching.values("pk"))
    return found.filter(assistant__is_active=True).select_related("assistant")


def contains(column: str, words: str) -> Q:
    """Return a case-insensitive search of a column for `words`."""
    if connection.vendor == "sqlite":
        # SQLite's LIKE ignores the case of ASCII letters only; its regular expressions are Python's.
        return Q(**{f"{column}__iregex": re.escape(words)})
    return Q(**{f"{column}__icontains": words})


def find_conversation(*, member: Member, conversation_id: uuid.UUID) -> Conversation | None:
    """Return a member's own conversation, with the rows that determine its provider, or None."""
    return (
        Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
        .filter(pk=conversation_id)
        .select_related("assistant", "assistant__provider", "assistant__tenant", "assistant__tenant__default_provider")
        .first()
    )


def create_conversation(
    *, member: Member, assistant: Assistant, conversation_id: uuid.UUID, title: str = ""
) -> Conversation | None:
    """Create an empty conversation; return None if the member has one with the id.

    An id of another member's conversation is treated like an unused one: it becomes the key of the new conversation.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    for is_keyed in (False, True):
        if own.filter(Q(pk=conversation_id) | Q(thread_key=str(conversation_id))).exists():
            return None
        try:
            with transaction.atomic():
                return Conversation.objects.create(
                    pk=uuid.uuid4() if is_keyed else conversation_id,
                    thread_key=str(conversation_id) if is_keyed else "",
                    tenant_id=member.tenant_id,
                    user_id=member.user_id,
                    assistant=assistant,
                    title=(clean := _clean_title(title)),
                    title_origin=Conversation.TitleOrigin.PERSON if clean else Conversation.TitleOrigin.FIRST_WORDS,
                )
        except IntegrityError:
            continue
    return None


def is_new(*, conversation: Conversation) -> bool:
    """Return whether nothing was ever asked in a conversation, as in one that the API has just made."""
    if conversation.run_count:
        return False
    # The count is written at a run's end, and the first run may not have ended.
    return not Run.objects.filter(tenant_id=conversation.tenant_id, conversation=conversation).exists()


def archive_conversation(*, member: Member, conversation_id: uuid.UUID, is_archived: bool) -> bool:
    """Archive or restore a conversation; return False if there is no such conversation."""
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    return bool(own.filter(pk=conversation_id).update(archived_at=timezone.now() if is_archived else None))


def pin_conversation(*, member: Member, conversation_id: uuid.UUID, is_pinned: bool) -> bool:
    """Pin a conversation above its member's others, or unpin it; return False if there is no such conversation."""
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    return bool(own.filter(pk=conversation_id).update(pinned_at=timezone.now() if is_pinned else None))


@transaction.atomic
def show_message(*, member: Member, conversation_id: uuid.UUID, message_id: str) -> bool:
    """Show the path of a conversation with this message, and after it what was shown there last.

    Returns:
        False if there is no such message in a conversation of the member.

    Raises:
        ConversationBusy: a run is being answered, which would continue on a path that is not shown.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    if member.assistant_id is not None:
        own = own.filter(assistant_id=member.assistant_id)
    conversation = own.select_for_update().filter(pk=conversation_id).first()
    position = None if conversation is None else position_of(conversation=conversation, message_id=message_id)
    if conversation is None or position is None:
        return False
    if Run.objects.filter(IS_ACTIVE, tenant_id=member.tenant_id, conversation=conversation).exists():
        raise ConversationBusy
    tree = tree_of(conversation).showing(position)
    store_tree(conversation_id=conversation.pk, tenant_id=member.tenant_id, tree=tree)
    return True


def _clean_title(text: str) -> str:
    return " ".join(clean_text(text).split())[:MAX_TITLE]


def rename_conversation(*, member: Member, conversation_id: uuid.UUID, title: str) -> str | None:
    """Rename a conversation; return the title as stored, or None if there is no such conversation.

    Raises:
        ValueError: the title is empty.
    """
    stored = _clean_title(title)
    if not stored:
        raise ValueError(_("A conversation needs a title."))
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    changes = {"title": stored, "title_origin": Conversation.TitleOrigin.PERSON}
    return stored if own.filter(pk=conversation_id).update(**changes) else None


def delete_conversation(*, member: Member, conversation_id: uuid.UUID) -> bool:
    """Delete a conversation with its messages; return False if there is no such conversation.

    Raises:
        ConversationBusy: it has a running run.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    running = Run.objects.filter(
        IS_ACTIVE,
        tenant_id=member.tenant_id,
        conversation_id=conversation_id,
        user_id=member.user_id,
        lease_until__gt=DatabaseTime(),
    )
    if running.exists():
        raise ConversationBusy
    deleted, _ = own.filter(pk=conversation_id).delete()
    return bool(deleted)
