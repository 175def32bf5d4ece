"""Stores the titles and follow-up questions that a model wrote for conversations, and tells clients of them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet

from assistant.contrib.titles.models import FollowUpQuestions
from assistant.core.values.events import Custom
from assistant.models import Conversation, Message, Run
from assistant.services.conversations.paths import on_path, shown_path
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
    is_there = _conversation(key).select_for_update().values_list("pk").first()
    later = Run.objects.filter(tenant_id=key.tenant_id, conversation_id=key.conversation_id, number__gt=key.number)
    if is_there is None or later.exists():
        return False
    FollowUpQuestions.objects.update_or_create(
        tenant_id=key.tenant_id,
        conversation_id=key.conversation_id,
        defaults={"run_number": key.number, "questions": list(questions)},
    )
    return bool(questions)


def title_of(conversation: Conversation) -> Custom | None:
    """Return the event with a conversation's title; None without one."""
    return Custom("thread.title", {"title": conversation.title}) if conversation.title else None


def follow_ups_of(conversation: Conversation) -> Custom | None:
    """Return the event with the questions, if the answer that they follow is the last one shown."""
    tenant_id = conversation.tenant_id
    stored = FollowUpQuestions.objects.filter(tenant_id=tenant_id, conversation=conversation).first()
    if stored is None:
        return None
    shown = Message.objects.filter(
        on_path(shown_path(conversation)), conversation=conversation, conversation__tenant_id=tenant_id
    )
    last = shown.order_by("-position").values_list("run__number", "run__run_id").first()
    newest = Run.objects.filter(tenant_id=tenant_id, conversation=conversation).order_by("-number")
    number = newest.values_list("number", flat=True).first()
    if last is None or not stored.run_number == last[0] == number:
        return None
    return Custom("thread.follow_ups", {"runId": last[1], "questions": list(stored.questions)})


def _conversation(key: RunKey) -> QuerySet[Conversation]:
    return Conversation.objects.filter(pk=key.conversation_id, tenant_id=key.tenant_id)
