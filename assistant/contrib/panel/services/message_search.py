"""Finds conversations by the words of their messages, for the pages of the admin."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet

from assistant.models import Conversation, Message

# The newest conversations whose messages are read. Text has no index that every message would have to write.
MAX_SEARCHED = 2_000
# Words of a search that count.
MAX_WORDS = 8


def with_words(conversations: QuerySet[Conversation], text: str) -> list[uuid.UUID]:
    """Return the ids of conversations with one message that contains every word of `text`, in any case.

    Args:
        conversations: those that the caller may see; of these the newest `MAX_SEARCHED` are searched.
    """
    # Named one by one: of a subquery PostgreSQL expects so many rows that it reads the messages of all tenants.
    newest = list(conversations.order_by("-updated_at", "pk").values_list("pk", flat=True)[:MAX_SEARCHED])
    found = Message.objects.filter(conversation__in=newest, is_superseded=False)
    for word in text.replace("\x00", " ").split()[:MAX_WORDS]:
        found = found.filter(content__icontains=word)
    return list(found.order_by().values_list("conversation", flat=True).distinct())
