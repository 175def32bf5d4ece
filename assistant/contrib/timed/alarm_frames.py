"""The frames of a connection that are about its member's alarms, and the events that answer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from assistant.contrib.timed.services.reminders.alarms import (
    ALARMS,
    DEFAULT_SNOOZE,
    MAX_SNOOZE,
    MIN_SNOOZE,
    end_alarm,
    mark_seen,
    ringing_of,
    snooze_alarm,
)
from assistant.services.db.threads import in_database
from assistant.websocket.followed_notice import FollowedNotice
from assistant.websocket.frames import protocol_error

ACTIONS = ("seen", "done", "snooze")
MAX_NUMBER = 2**31 - 1
NOT_UNDERSTOOD = (
    f"alarm has number, action (one of {', '.join(ACTIONS)}) and minutes, from {MIN_SNOOZE} to {MAX_SNOOZE}."
)


class AlarmFrames(FollowedNotice):
    """Sends a client the ringing alarms of its member, and handles what the member does with them."""

    name = ALARMS

    def read(self) -> Mapping[str, Any]:
        found = ringing_of(tenant_id=self.member.tenant_id, user_id=self.member.user_id)
        return {"ringing": [alarm.as_mapping() for alarm in found]}

    async def handle(self, frame: Mapping[str, Any]) -> None:
        """Follow the alarms, or do what a frame says about one."""
        if frame["type"] == ALARMS:
            await self.follow()
        else:
            await self.act(frame)

    async def act(self, frame: Mapping[str, Any]) -> None:
        """Do what a frame says about one alarm: `seen`, `done` or `snooze`."""
        action, number = frame.get("action"), _number(frame.get("number"), 1, MAX_NUMBER)
        minutes = _number(frame.get("minutes", DEFAULT_SNOOZE), MIN_SNOOZE, MAX_SNOOZE)
        if number is None or minutes is None or action not in ACTIONS:
            await self.send(protocol_error("invalid_frame", NOT_UNDERSTOOD))
        elif action == "seen":
            await in_database(mark_seen, member=self.member, number=number)
        else:
            if action == "done":
                await in_database(end_alarm, member=self.member, number=number)
            else:
                await in_database(snooze_alarm, member=self.member, number=number, minutes=minutes)
            # Also where nothing has changed, because another window was faster, or there is no such alarm.
            self.answer()


def _number(value: object, least: int, most: int) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return cast(int, value) if is_number else None
