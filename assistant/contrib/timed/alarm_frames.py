"""The frames of a connection that are about its member's alarms, and the events that answer them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

from assistant.contrib.timed.services.reminders.alarms import (
    DEFAULT_SNOOZE,
    MAX_SNOOZE,
    MIN_SNOOZE,
    Ringing,
    end_alarm,
    mark_seen,
    ringing_of,
    snooze_alarm,
)
from assistant.core.values.events import Custom
from assistant.services.db.threads import in_database
from assistant.services.eventlog.frames import bare_frame
from assistant.services.eventlog.member_notices import add_listener
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.tenancy.members import Member
from assistant.websocket.follower import Send
from assistant.websocket.frames import protocol_error

logger = logging.getLogger(__name__)

ACTIONS = ("seen", "done", "snooze")
MAX_NUMBER = 2**31 - 1
NOT_UNDERSTOOD = (
    f"alarm has number, action (one of {', '.join(ACTIONS)}) and minutes, from {MIN_SNOOZE} to {MAX_SNOOZE}."
)


class AlarmFrames:
    """Sends a client the ringing alarms of its member, once it has asked, and handles what the member does with them.

    `send` sends a frame to the client. `on_failure` is called when that fails, and must close the connection.
    """

    def __init__(self, member: Member, *, send: Send, on_failure: Callable[[], object]) -> None:
        self._member = member
        self._send = send
        self._on_failure = on_failure
        self._changed = asyncio.Event()
        self._is_asked = False
        self._task: asyncio.Task[None] | None = None
        self._remove: Callable[[], None] | None = None

    async def follow(self) -> None:
        """Send which alarms ring, now and whenever it changes."""
        if self._task is None:
            whose = {"tenant_id": self._member.tenant_id, "user_id": self._member.user_id}
            self._remove = add_listener(**whose, listener=self._changed.set)
            self._task = asyncio.create_task(self._follow(), name="follow-alarms")
        self._answer()

    async def handle(self, frame: Mapping[str, Any]) -> None:
        """Follow the alarms, or do what a frame says about one."""
        if frame["type"] == "alarms":
            await self.follow()
        else:
            await self.act(frame)

    async def act(self, frame: Mapping[str, Any]) -> None:
        """Do what a frame says about one alarm: `seen`, `done` or `snooze`."""
        action, number = frame.get("action"), _number(frame.get("number"), 1, MAX_NUMBER)
        minutes = _number(frame.get("minutes", DEFAULT_SNOOZE), MIN_SNOOZE, MAX_SNOOZE)
        if number is None or minutes is None or action not in ACTIONS:
            await self._send(protocol_error("invalid_frame", NOT_UNDERSTOOD))
        elif action == "seen":
            await in_database(mark_seen, member=self._member, number=number)
        else:
            if action == "done":
                await in_database(end_alarm, member=self._member, number=number)
            else:
                await in_database(snooze_alarm, member=self._member, number=number, minutes=minutes)
            # Also where nothing has changed, because another window was faster, or there is no such alarm.
            self._answer()

    async def close(self) -> None:
        """Stop sending changes to the client."""
        if self._remove is not None:
            self._remove()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _answer(self) -> None:
        self._is_asked = True
        self._changed.set()

    async def _follow(self) -> None:
        told: list[Ringing] | None = None
        whose = {"tenant_id": self._member.tenant_id, "user_id": self._member.user_id}
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                try:
                    found = await in_database(ringing_of, **whose)
                except OUTAGE_ERRORS:
                    continue  # sent at the next change, or when the client connects again
                # A change may be reported twice: by this process, and by the message that it sends to all processes.
                if found == told and not self._is_asked:
                    continue
                told, self._is_asked = found, False
                await self._send(bare_frame(Custom("alarms", {"ringing": [alarm.as_mapping() for alarm in found]})))
        except OSError:  # the client has gone
            self._on_failure()
        except Exception:
            logger.exception("Telling a client of tenant %s of its alarms failed", self._member.tenant_id)
            self._on_failure()


def _number(value: object, least: int, most: int) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return cast(int, value) if is_number else None
