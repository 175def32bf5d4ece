"""Members' feedback on answers, one for each answer."""

from __future__ import annotations

import uuid

from assistant.models import Conversation, Feedback
from assistant.models import Message as MessageRow
from assistant.services.tenancy.members import Member
from assistant.toolkit.text import clean_text

MAX_COMMENT = 4000


def give_feedback(
    *, member: Member, conversation_id: uuid.UUID, message_id: str, rating: int, comment: str = ""
) -> Feedback | None:
    """Store a member's feedback on an answer, replacing earlier feedback; return None if there is no such answer.

    `rating` is 1 (helpful) or -1 (not helpful).
    """
    message = _answer(member, conversation_id, message_id)
    if message is None:
        return None
    feedback, _ = Feedback.objects.update_or_create(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        message=message,
        defaults={"rating": rating, "comment": clean_text(comment)[:MAX_COMMENT]},
    )
    return feedback


def withdraw_feedback(*, member: Member, conversation_id: uuid.UUID, message_id: str) -> bool:
    """Delete a member's feedback on an answer; return False if there is no such answer."""
    message = _answer(member, conversation_id, message_id)
    if message is None:
        return False
    Feedback.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id, message=message).delete()
    return True


def rate_answer(*, member: Member, conversation_id: uuid.UUID, message_id: str, rating: int, comment: str) -> bool:
    """Store a member's rating of an answer, or with 0 take it back; return False if there is no such answer."""
    if not rating:
        return withdraw_feedback(member=member, conversation_id=conversation_id, message_id=message_id)
    found = give_feedback(
        member=member, conversation_id=conversation_id, message_id=message_id, rating=rating, comment=comment
    )
    return found is not None


def _answer(member: Member, conversation_id: uuid.UUID, message_id: str) -> MessageRow | None:
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    if member.assistant_id is not None:
        own = own.filter(assistant_id=member.assistant_id)
    return MessageRow.objects.filter(
        conversation__in=own.filter(pk=conversation_id),
        message_id=message_id,
        role=MessageRow.Role.ASSISTANT,
        is_superseded=False,
    ).first()
