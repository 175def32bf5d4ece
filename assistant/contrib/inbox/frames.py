"""The frames of a connection that are about what waits for its member, and the events that answer them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from assistant.contrib.inbox.services.notices import INBOX, watch_runs
from assistant.contrib.inbox.services.waiting import entries_of, mark_seen
from assistant.services.conversations.thread_keys import own_row
from assistant.services.db.threads import in_database
from assistant.websocket.followed_notice import FollowedNotice
from assistant.websocket.frames import protocol_error

NOT_UNDERSTOOD = "inbox.seen has threadId, the id of a conversation."


class InboxFrames(FollowedNotice):
    """Sends a client what waits for its member, and records what the member has seen."""

    name = INBOX
    # Nobody is told when an approval expires, and of the end of runs whose process has died.
    reread_seconds = 60.0

    def read(self) -> Mapping[str, Any]:
        return {"entries": [entry.as_mapping() for entry in entries_of(self.member)]}

    async def handle(self, frame: Mapping[str, Any]) -> None:
        """Follow what waits, or record that a conversation was seen."""
        if frame["type"] == INBOX:
            watch_runs()
            await self.follow()
            return
        try:
            thread = uuid.UUID(frame["threadId"])
        except (KeyError, TypeError, ValueError, AttributeError):
            await self.send(protocol_error("invalid_frame", NOT_UNDERSTOOD))
            return
        await in_database(self._mark_seen, thread)

    def _mark_seen(self, thread: uuid.UUID) -> None:
        mark_seen(member=self.member, conversation_id=own_row(member=self.member, conversation_id=thread))
