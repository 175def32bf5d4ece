"""Notices to clients about a thread besides its events: its summary, and what apps add."""

from __future__ import annotations

import uuid

from assistant.core.values.events import Custom
from assistant.models import Conversation, Run
from assistant.services.conversations.added_notices import added_notice
from assistant.services.conversations.paths import shown_path
from assistant.services.conversations.summaries import summary_of
from assistant.services.eventlog.log import SUMMARY
from assistant.services.runs.reading.stored_thread import own_thread
from assistant.services.tenancy.members import Member


def thread_notice(*, member: Member, thread_id: uuid.UUID, number: int, what: str) -> tuple[str, Custom] | None:
    """Return the id of run `number` of a member's own thread and the event of a notice; None if there is none.

    A key that reads its own runs alone gets none: they are about the others too.

    Args:
        what: `SUMMARY`, or what an app has added.
    """
    if member.reads_only_own_runs:
        return None
    runs = Run.objects.filter(
        tenant_id=member.tenant_id, user_id=member.user_id, conversation__in=own_thread(member, thread_id)
    )
    run = runs.filter(number=number).select_related("conversation").first()
    if run is None:
        return None
    event = _summary(run.conversation) if what == SUMMARY else added_notice(what, run.conversation)
    return None if event is None else (run.run_id, event)


def _summary(conversation: Conversation) -> Custom | None:
    if not conversation.summary:
        return None
    summary, _ = summary_of(conversation, shown_path(conversation))
    return Custom("thread.summary", {"summary": summary}) if summary else None
