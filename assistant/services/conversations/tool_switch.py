"""Which tools are off in a conversation."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence

from assistant.models import Conversation
from assistant.services.tenancy.members import Member

# In place of names: all tools.
ALL_TOOLS = "*"
MAX_NAMES = 200


def is_off(tool: str, off: Collection[str]) -> bool:
    """Whether a tool is among those that are off."""
    return tool in off or ALL_TOOLS in off


def switch_tools(*, member: Member, conversation_id: uuid.UUID, off: Sequence[str]) -> bool:
    """Switch these tools off in a conversation from its next run on, and all others on, as far as other switches do.

    Args:
        off: names of tools, or `ALL_TOOLS`; at most `MAX_NAMES`. What is no tool now may be one later.

    Returns:
        False if the member has no such conversation.
    """
    own = Conversation.objects.visible_to(tenant_id=member.tenant_id, user_id=member.user_id)
    return bool(own.filter(pk=conversation_id).update(tools_off=sorted(set(off))))
