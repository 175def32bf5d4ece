"""What open chats are told: the tools of a conversation that are switched off with a reason."""

from __future__ import annotations

from assistant.contrib.tool_notices.off_switches import blocks_for
from assistant.core.values.events import Custom
from assistant.models import Conversation, ToolCall
from assistant.services.text import format_timestamp
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.titles import titles_of

# Tools of one thread that are told to be off.
MAX_TOOLS_OFF = 20


def tools_of(conversation: Conversation) -> Custom:
    """Return the event with the tools that are switched off with a reason, and were called, or could be, here.

    Those that were called come first. The others are those that the person could use but for the reason.
    """
    blocks = blocks_for(tenant_id=conversation.tenant_id, assistant_id=conversation.assistant_id)
    if not blocks:
        return Custom("thread.tools", {"off": []})
    calls = ToolCall.objects.filter(tenant_id=conversation.tenant_id, run__conversation=conversation, name__in=blocks)
    called = list(calls.order_by("name").values_list("name", flat=True).distinct()[:MAX_TOOLS_OFF])
    tools = effective_tools(
        tenant_id=conversation.tenant_id, user_id=conversation.user_id, assistant_id=conversation.assistant_id
    )
    usable = [entry.tool.name for entry in tools if entry.switched_off is not None and entry.tool.name in blocks]
    names = list(dict.fromkeys((*called, *usable)))[:MAX_TOOLS_OFF]
    titles = titles_of(tenant_id=conversation.tenant_id, names=names) if names else {}
    off = [
        {
            "name": name,
            **({"title": titles[name]} if name in titles else {}),
            "reason": blocks[name].reason,
            "until": None if (until := blocks[name].until) is None else format_timestamp(until),
            "isCalled": name in called,
        }
        for name in names
    ]
    return Custom("thread.tools", {"off": off})
