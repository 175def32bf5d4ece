"""All conversations of a member at once."""

from __future__ import annotations

from assistant.models import Conversation, Tenant
from assistant.services.conversations.conversations import ConversationBusy, delete_conversation
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import Member

# Conversations that one request deletes.
MAX_DELETED = 500


def delete_own_conversations(*, member: Member) -> tuple[int, int]:
    """Delete a member's conversations in a tenant, those that are being answered excepted; the oldest first.

    Returns:
        How many are deleted, `MAX_DELETED` at most, and how many are left.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    deleted = 0
    for pk in own.order_by("created_at").values_list("pk", flat=True)[:MAX_DELETED]:
        try:
            deleted += delete_conversation(member=member, conversation_id=pk)
        except ConversationBusy:
            continue
    if deleted:
        audit_trail.record(
            actor=audit_trail.actor_of(member),
            action="conversations.delete",
            target=member.user.username,
            tenant=Tenant.objects.get(pk=member.tenant_id),
            details={"count": deleted},
        )
    return deleted, own.count()
