"""The frames of a connection that are about its member's requests for tools, and the events that answer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.contrib.tool_requests.services.asking import ABOUT, mark_seen, told_to
from assistant.services.db.threads import in_database
from assistant.websocket.followed_notice import FollowedNotice
from assistant.websocket.frames import protocol_error

NOT_UNDERSTOOD = "tool_requests.seen has id, the number of a request."
MAX_ID = 2**63 - 1


class RequestFrames(FollowedNotice):
    """Sends a client its member's requests that wait or have a new answer, and records what the member has seen."""

    name = ABOUT

    def read(self) -> Mapping[str, Any]:
        return {"requests": told_to(self.member)}

    async def handle(self, frame: Mapping[str, Any]) -> None:
        """Follow the requests, or record that an answer was seen."""
        if frame["type"] == ABOUT:
            await self.follow()
            return
        number = frame.get("id")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= MAX_ID:
            await self.send(protocol_error("invalid_frame", NOT_UNDERSTOOD))
            return
        await in_database(self._mark_seen, number)

    def _mark_seen(self, number: int) -> None:
        mark_seen(member=self.member, request_id=number)
