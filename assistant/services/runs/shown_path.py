"""Shows another path of a conversation, wherever the conversation is open."""

from __future__ import annotations

import uuid

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from assistant.services.conversations.conversations import ConversationBusy, show_message
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.eventlog.log import PATH
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.busy_thread import BUSY
from assistant.services.tenancy.members import Member

NOT_FOUND = gettext_noop("There is no such message.")


async def show_path(*, member: Member, conversation_id: uuid.UUID, message_id: str) -> None:
    """Show the path with a message of a member's conversation, and tell all connections that follow it.

    Raises:
        Refused: `thread_not_found`, if there is no such message; `thread_busy`, while a run is being answered.
    """
    try:
        is_shown = await in_database(
            show_message, member=member, conversation_id=conversation_id, message_id=message_id
        )
    except ConversationBusy:
        raise Refused("thread_busy", _(BUSY)) from None
    if not is_shown:
        raise Refused("thread_not_found", _(NOT_FOUND))
    await get_runs().log.publish_change(str(conversation_id), PATH)
