"""Which conversations belong to the share that a change set is given to."""

from __future__ import annotations

import hashlib
import uuid

from django.db.models import Exists, OuterRef, Q, QuerySet

from assistant.contrib.change_sets.models import EVERYTHING, AppliedChange


def in_share(*, change_set: int, conversation: uuid.UUID, percent: int) -> bool:
    """Whether a conversation has the changes of a set that is given to `percent` of all conversations.

    It depends on the two ids alone, so that a conversation stays where it is, and a larger share has all conversations
    of a smaller one.
    """
    digest = hashlib.sha256(f"{change_set}:{conversation}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % EVERYTHING < percent


def changes_of_shares() -> QuerySet[AppliedChange]:
    """Return the changes that only a share of the conversations has now; the caller names the tenant."""
    return AppliedChange.objects.filter(is_in_force=True, percent__lt=EVERYTHING)


def has_shares() -> Exists:
    """Return the condition of assistants with changes that only a share of their conversations has."""
    own = Q(assistant=None) | Q(assistant=OuterRef("pk"))
    return Exists(changes_of_shares().filter(own, tenant=OuterRef("tenant")))
