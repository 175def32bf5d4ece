"""Which tools are off in a conversation."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence

from django.db import transaction

from assistant.models import Conversation, ToolCall
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy.named_tools import check_tool_names

# In place of names: all tools.
ALL_TOOLS = "*"
MAX_NAMES = 200


def is_off(tool: str, off: Collection[str]) -> bool:
    """Whether a tool is among those that are off."""
    return tool in off or ALL_TOOLS in off


@transaction.atomic
def switch_tools(*, member: Member, conversation_id: uuid.UUID, off: Sequence[str]) -> bool:
    """Switch these tools off in a conversation from its next run on, and all others on, as far as other switches do.

    The audit gets an entry with the tools that were off and those that are, unless they are the same.

    Args:
        off: names of tools, or `ALL_TOOLS`; at most `MAX_NAMES`. Those that are off already, or were called in the
            conversation, such as a client's tools, need be none any more.

    Returns:
        False if the member has no such conversation.

    Raises:
        UnknownTools: others are no tools.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    locked = own.select_for_update(of=("self",)).select_related("tenant", "assistant")
    conversation = locked.filter(pk=conversation_id).first()
    if conversation is None:
        return False
    before = conversation.tools_off
    after = sorted(set(off))
    if after == before:
        return True
    added = {*after}.difference(before, (ALL_TOOLS,))
    if added:
        calls = ToolCall.objects.filter(tenant_id=member.tenant_id, run__conversation=conversation, name__in=added)
        added.difference_update(calls.values_list("name", flat=True))
        check_tool_names("tools_off", added, member=member, assistant=conversation.assistant)
    own.filter(pk=conversation_id).update(tools_off=after)
    audit_trail.record(
        actor=audit_trail.actor_of(member),
        action="conversation.tools",
        target=f"conversation {conversation_id}",
        tenant=conversation.tenant,
        details={"values": {"tools_off": [", ".join(names) or None for names in (before, after)]}},
    )
    return True
