"""A notice that a connection subscribes to: what it lists is sent at once, and whenever it changes."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from assistant.core.values.events import Custom
from assistant.services.db.threads import in_database
from assistant.services.eventlog.frames import bare_frame
from assistant.services.eventlog.member_notices import add_listener
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.tenancy.members import Member
from assistant.websocket.follower import Send

logger = logging.getLogger(__name__)


class FollowedNotice(ABC):
    """Sends a client a CUSTOM event of the notice's name, once it has asked, with what the notice lists for its member.

    Args:
        send: sends a frame to the client.
        on_failure: called when that fails, and must close the connection.

    Attributes:
        name: of the notice, of its event, and the subject of `member_notices` whose changes it follows.
        reread_seconds: after how long it is read again although nothing was told; None: never.
    """

    name: ClassVar[str]
    reread_seconds: ClassVar[float | None] = None

    def __init__(self, member: Member, *, send: Send, on_failure: Callable[[], object]) -> None:
        self.member = member
        self.send = send
        self._on_failure = on_failure
        self._changed = asyncio.Event()
        self._is_asked = False
        self._task: asyncio.Task[None] | None = None
        self._remove: Callable[[], None] | None = None

    @abstractmethod
    def read(self) -> Mapping[str, Any]:
        """Return the value of the event. Called in a database thread."""

    async def follow(self) -> None:
        """Send what the notice lists, now and whenever it changes."""
        if self._task is None:
            whose = {"tenant_id": self.member.tenant_id, "user_id": self.member.user_id}
            self._remove = add_listener(**whose, about=self.name, listener=self._changed.set)
            self._task = asyncio.create_task(self._follow(), name=f"follow-{self.name}")
        self.answer()

    def answer(self) -> None:
        """Send the event again, even if nothing has changed."""
        self._is_asked = True
        self._changed.set()

    async def close(self) -> None:
        """Stop sending changes to the client."""
        if self._remove is not None:
            self._remove()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        told: Mapping[str, Any] | None = None
        try:
            while True:
                await self._wait()
                self._changed.clear()
                try:
                    found = await in_database(self.read)
                except OUTAGE_ERRORS:
                    continue  # sent at the next change, or when the client connects again
                # A change may be reported twice: by this process, and by the message that it sends to all processes.
                if found == told and not self._is_asked:
                    continue
                told = found
                self._is_asked = False
                await self.send(bare_frame(Custom(self.name, dict(found))))
        except OSError:  # the client has gone
            self._on_failure()
        except Exception:
            logger.exception("Telling a client of tenant %s of its %s failed", self.member.tenant_id, self.name)
            self._on_failure()

    async def _wait(self) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), self.reread_seconds)
        except TimeoutError:
            return
