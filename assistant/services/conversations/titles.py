"""Stores the titles and follow-up questions that a model wrote for conversations."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet

from assistant.models import Conversation, Run
from assistant.services.run_key import RunKey

# A conversation gets its title after one of its first runs: after the next one, if the model could not be asked.
MAX_RUNS = 3
_Origin = Conversation.TitleOrigin


def claim_title(*, key: RunKey) -> bool:
    """Return whether a conversation lacks a title that a person or a model wrote, and no other process asks for it.

    The caller must then call `store_title`; until it does, no other run can ask for the title.
    """
    waiting = _conversation(key).filter(title_origin=_Origin.FIRST_WORDS)
    return key.number <= MAX_RUNS and bool(waiting.update(title_origin=_Origin.ASKING))


def store_title(*, key: RunKey, title: str) -> bool:
    """Store the title of a conversation for which it was claimed, unless a person wrote one meanwhile.

    Args:
        title: "" if the model gave none; the conversation then keeps the one that it has.

    Returns:
        Whether the conversation has another title now.
    """
    claimed = _conversation(key).filter(title_origin=_Origin.ASKING)
    if not title:
        claimed.update(title_origin=_Origin.FIRST_WORDS)
        return False
    return bool(claimed.update(title=title, title_origin=_Origin.MODEL))


@transaction.atomic
def store_follow_ups(*, key: RunKey, questions: Sequence[str]) -> bool:
    """Store the questions that could follow a run's answer; return whether they were, as no later run has begun."""
    # The row is locked first, as by everything that changes a conversation.
    kept = _conversation(key).update(follow_ups=list(questions), follow_ups_run=key.number)
    later = Run.objects.filter(tenant_id=key.tenant_id, conversation_id=key.conversation_id, number__gt=key.number)
    if kept and later.exists():
        transaction.set_rollback(True)
        return False
    return bool(kept and questions)


def _conversation(key: RunKey) -> QuerySet[Conversation]:
    return Conversation.objects.filter(pk=key.conversation_id, tenant_id=key.tenant_id)
