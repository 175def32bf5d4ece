"""The frame with which the widget asks for the newest conversations of whoever it speaks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assistant.core.values.events import Custom
from assistant.services.conversations.conversations import conversations_of
from assistant.services.db.threads import in_database
from assistant.services.eventlog.frames import bare_frame
from assistant.services.tenancy.members import Member
from assistant.services.text import format_timestamp
from assistant.websocket.follower import Send

MAX_ENTRIES = 20


class ConversationFrames:
    """Answers with a CUSTOM event: the newest conversations, of the token's assistant if it is for one."""

    def __init__(self, member: Member, *, send: Send, on_failure: Callable[[], object]) -> None:
        self._member = member
        self._send = send

    async def handle(self, frame: Mapping[str, Any]) -> None:
        entries = await in_database(self._entries)
        await self._send(bare_frame(Custom("conversations", {"entries": entries})))

    async def close(self) -> None:
        """Nothing goes on."""

    def _entries(self) -> list[dict[str, str]]:
        found = conversations_of(member=self._member).filter(
            tenant_id=self._member.tenant_id, archived_at=None, message_count__gt=0
        )
        if self._member.assistant_id is not None:
            found = found.filter(assistant_id=self._member.assistant_id)
        return [
            {"threadId": str(row.client_id), "title": row.title, "at": format_timestamp(row.updated_at)}
            for row in found.order_by("-updated_at", "-pk")[:MAX_ENTRIES]
        ]
