"""One reader of a run's events, let out when they lose the right to be here."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from assistant.services import presence
from assistant.services.eventlog import Entry
from assistant.services.leases import RunKey
from assistant.services.members import Member
from assistant.services.presence import Presence
from assistant.services.reading import run_entries

# Whoever is no longer welcome is noticed this often, when nothing else happens.
IDLE_SECONDS = 1.0


class Visit:
    """A member who reads a run; `session_key` and `session_hash` are set if a session speaks for them."""

    def __init__(self, member: Member, session_key: str = "", session_hash: str = "") -> None:
        self.is_welcome = True
        self._member = member
        self._presence = Presence(member, self._leave, session_key, session_hash)

    def _leave(self) -> None:
        self.is_welcome = False

    async def entries(self, key: RunKey, after: int = 0, *, repaints: bool = False) -> AsyncGenerator[Entry | None]:
        """The run's events after number `after`; None after each second without one. Going away ends only this.

        `repaints`: a fresh picture is told in the place of events that are gone, as `run_entries` says.
        """
        member = self._member if repaints else None
        presence.enter(self._presence)
        try:
            async with aclosing(run_entries(key=key, after=after, patience=IDLE_SECONDS, member=member)) as entries:
                async for entry in entries:
                    if not self.is_welcome:
                        return
                    yield entry
        finally:
            presence.leave(self._presence)
