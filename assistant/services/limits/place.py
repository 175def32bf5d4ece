"""A run's place in its process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.services.limits.runs_at_once import QueuedRun, TooManyRuns
from assistant.services.tenancy.members import Member
from assistant.services.text import format_timestamp


@dataclass(eq=False, slots=True)
class Place:
    """A run's place in this process: it runs, or it waits.

    Attributes:
        must_wait: the process has as many runs as it may, so that the run has to be queued.
        run: the queued run; None while it does not wait.
        ahead: how many runs get their turn before it; `until`: how long it waits.
        offer: puts the run into the shared queue, once the events up to a number are written; None for any other run.
    """

    member: Member
    must_wait: bool
    run: QueuedRun | None = None
    ahead: int = 0
    until: datetime | None = None
    offer: Callable[[int], Awaitable[None]] | None = None
    _started: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def tenant_id(self) -> int:
        return self.member.tenant_id

    def as_value(self) -> dict[str, Any]:
        """Return the value of the event `run.queued`."""
        return {"ahead": self.ahead, "until": format_timestamp(self.until or timezone.now())}

    def start(self) -> None:
        """Let the run that waits in `wait` begin."""
        self.run = None
        self._started.set()

    async def wait(self, seq: int, flush: Callable[[], Awaitable[None]]) -> None:
        """Wait until the run is started.

        Args:
            seq: the number of the run's last event; `flush`: waits until that can be read.

        Raises:
            TooManyRuns: it has waited for `ASSISTANT_RUN_QUEUE_SECONDS`.
        """
        if self.offer is not None:
            await flush()
            await self.offer(seq)
        try:
            async with asyncio.timeout(settings.ASSISTANT_RUN_QUEUE_SECONDS):
                await self._started.wait()
        except TimeoutError:
            waited = _("This run has waited %(count)d seconds for its turn: too many run at once.")
            waited %= {"count": settings.ASSISTANT_RUN_QUEUE_SECONDS}
            raise TooManyRuns(waited) from None
