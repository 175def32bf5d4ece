"""Finds conversations by AG-UI's threadId: the id of a conversation, or a key that its client chose."""

from __future__ import annotations

import uuid

from django.db.models import Q

from assistant.models import Conversation
from assistant.services.tenancy.members import Member


def find_thread(*, member: Member, assistant_slug: str, thread: str) -> uuid.UUID | None:
    """Return the id of a member's own conversation; None if there is none that the member may see.

    Args:
        assistant_slug: the assistant that is addressed. Keys are separate for each; ids of conversations are not.
        thread: AG-UI's threadId.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    if member.assistant_id is not None:
        own = own.filter(assistant_id=member.assistant_id)
    keyed = own.filter(thread_key=thread, assistant__slug=assistant_slug).values_list("pk", flat=True).first()
    if keyed is not None:
        return keyed
    try:
        return own.filter(pk=uuid.UUID(thread)).values_list("pk", flat=True).first()
    except ValueError:
        return None


def own_row(*, member: Member, conversation_id: uuid.UUID) -> uuid.UUID:
    """Return the id of the row of a member's conversation by the id that they know, `Conversation.client_id`.

    An id that the member has no conversation with is returned as it is: nothing is found by it.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    named = own.filter(Q(pk=conversation_id) | Q(thread_key=str(conversation_id)))
    return named.values_list("pk", flat=True).first() or conversation_id
