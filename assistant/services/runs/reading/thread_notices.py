"""Notices to clients about a thread besides its events: its summary, title, follow-up questions, tools that are off."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from assistant.core.values.events import Custom
from assistant.models import Conversation, Message, Run, ToolCall
from assistant.services.conversations.paths import on_path, shown_path
from assistant.services.conversations.summaries import summary_of
from assistant.services.eventlog.log import FOLLOW_UPS, SUMMARY, TITLE, TOOLS
from assistant.services.runs.reading.stored_thread import own_thread
from assistant.services.tenancy.members import Member
from assistant.services.text import format_timestamp
from assistant.services.toolpolicy.blocks import blocks_for
from assistant.services.toolpolicy.titles import titles_of

# Tools of one thread that are told to be off.
MAX_TOOLS_OFF = 20


def thread_notice(*, member: Member, thread_id: uuid.UUID, number: int, what: str) -> tuple[str, Custom] | None:
    """Return the id of run `number` of a member's own thread and the event of a notice; None if there is none.

    A key that reads its own runs alone gets none: they are about the others too.

    Args:
        what: `SUMMARY`, `TITLE`, `FOLLOW_UPS` or `TOOLS`.
    """
    if member.reads_only_own_runs:
        return None
    runs = Run.objects.filter(
        tenant_id=member.tenant_id, user_id=member.user_id, conversation__in=own_thread(member, thread_id)
    )
    run = runs.filter(number=number).select_related("conversation").first()
    event = None if run is None else _NOTICES[what](run.conversation)
    return None if run is None or event is None else (run.run_id, event)


def _summary(conversation: Conversation) -> Custom | None:
    if not conversation.summary:
        return None
    summary, _ = summary_of(conversation, shown_path(conversation))
    return Custom("thread.summary", {"summary": summary}) if summary else None


def _title(conversation: Conversation) -> Custom | None:
    return Custom("thread.title", {"title": conversation.title}) if conversation.title else None


def _follow_ups(conversation: Conversation) -> Custom | None:
    """Return the event with the questions, if the answer that they follow is the last one shown."""
    if not conversation.follow_ups:
        return None
    shown = Message.objects.filter(
        on_path(shown_path(conversation)), conversation=conversation, conversation__tenant_id=conversation.tenant_id
    )
    last = shown.order_by("-position").values_list("run__number", "run__run_id").first()
    newest = Run.objects.filter(tenant_id=conversation.tenant_id, conversation=conversation).order_by("-number")
    number = newest.values_list("number", flat=True).first()
    if last is None or not conversation.follow_ups_run == last[0] == number:
        return None
    return Custom("thread.follow_ups", {"runId": last[1], "questions": list(conversation.follow_ups)})


def _tools(conversation: Conversation) -> Custom:
    """Return the event with the tools that were called in the conversation and that are switched off with a reason."""
    blocks = blocks_for(tenant_id=conversation.tenant_id, assistant_id=conversation.assistant_id)
    calls = ToolCall.objects.filter(tenant_id=conversation.tenant_id, run__conversation=conversation, name__in=blocks)
    called = list(calls.order_by("name").values_list("name", flat=True).distinct()[:MAX_TOOLS_OFF]) if blocks else []
    titles = titles_of(tenant_id=conversation.tenant_id, names=called) if called else {}
    off = [
        {
            "name": name,
            **({"title": titles[name]} if name in titles else {}),
            "reason": blocks[name].reason,
            "until": None if (until := blocks[name].until) is None else format_timestamp(until),
        }
        for name in called
    ]
    return Custom("thread.tools", {"off": off})


_NOTICES: Mapping[str, Callable[[Conversation], Custom | None]] = {
    SUMMARY: _summary,
    TITLE: _title,
    FOLLOW_UPS: _follow_ups,
    TOOLS: _tools,
}
