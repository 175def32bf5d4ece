"""Notices to clients about a thread besides its events: its summary, tools that are off, and what apps add."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from assistant.core.values.events import Custom
from assistant.models import Conversation, Run, ToolCall
from assistant.services.conversations.added_notices import added_notice
from assistant.services.conversations.paths import shown_path
from assistant.services.conversations.summaries import summary_of
from assistant.services.eventlog.log import SUMMARY, TOOLS
from assistant.services.runs.reading.stored_thread import own_thread
from assistant.services.tenancy.members import Member
from assistant.services.text import format_timestamp
from assistant.services.toolpolicy.blocks import blocks_for
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.titles import titles_of

# Tools of one thread that are told to be off.
MAX_TOOLS_OFF = 20


def thread_notice(*, member: Member, thread_id: uuid.UUID, number: int, what: str) -> tuple[str, Custom] | None:
    """Return the id of run `number` of a member's own thread and the event of a notice; None if there is none.

    A key that reads its own runs alone gets none: they are about the others too.

    Args:
        what: `SUMMARY`, `TOOLS`, or what an app has added.
    """
    if member.reads_only_own_runs:
        return None
    runs = Run.objects.filter(
        tenant_id=member.tenant_id, user_id=member.user_id, conversation__in=own_thread(member, thread_id)
    )
    run = runs.filter(number=number).select_related("conversation").first()
    if run is None:
        return None
    read = _NOTICES.get(what)
    event = added_notice(what, run.conversation) if read is None else read(run.conversation)
    return None if event is None else (run.run_id, event)


def _summary(conversation: Conversation) -> Custom | None:
    if not conversation.summary:
        return None
    summary, _ = summary_of(conversation, shown_path(conversation))
    return Custom("thread.summary", {"summary": summary}) if summary else None


def _tools(conversation: Conversation) -> Custom:
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


_NOTICES: Mapping[str, Callable[[Conversation], Custom | None]] = {SUMMARY: _summary, TOOLS: _tools}
