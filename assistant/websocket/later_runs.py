"""The runs of one connection that still need it: those to open later, and those to stop when it is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from assistant.services.errors import Refused, log_failure
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.run_key import RunKey
from assistant.services.runs.busy_threads import WaitingInput, stop_run

logger = logging.getLogger(__name__)

# A connection begins few runs that end with it; beyond this number the oldest have ended already.
MAX_STOPPED = 50
Refuse = Callable[[Refused], Awaitable[None]]


class LaterRuns:
    """The runs of one connection that wait for their thread, and those that are stopped when it is lost.

    Args:
        on_failure: called when nothing can be sent to the client any more; it must close the connection.

    Attributes:
        keeps_runs: the server itself closes the connection, and stops no run with it.
    """

    def __init__(self, *, on_failure: Callable[[], object]) -> None:
        self.keeps_runs = False
        self._on_failure = on_failure
        self._waiting: dict[asyncio.Task[None], WaitingInput] = {}
        self._stopped: list[RunKey] = []

    def begin(self, refuse: Refuse, waiting: WaitingInput, opening: Coroutine[Any, Any, None]) -> None:
        """Open the run of a waiting input in the background; `refuse` is called if that is refused."""
        task = asyncio.create_task(self._open(refuse, opening), name="open-later")
        self._waiting[task] = waiting
        task.add_done_callback(self._waiting.pop)

    async def _open(self, refuse: Refuse, opening: Coroutine[Any, Any, None]) -> None:
        try:
            try:
                await opening
            except Refused as refusal:
                await refuse(refusal)
            except Exception as exc:
                await refuse(log_failure(logger, exc, "A run could not be opened").refusal)
        except OSError:  # the client has gone
            self._on_failure()

    def stop_at_end(self, key: RunKey) -> None:
        """Stop a run when the connection is lost, if it has not ended then."""
        self._stopped = [*self._stopped[1 - MAX_STOPPED :], key]

    async def close(self) -> None:
        """Stop the runs that end with the connection, and drop their waiting inputs. Other waiting runs are opened."""
        for task, waiting in list(self._waiting.items()):
            if not self.keeps_runs:
                waiting.leave()
            task.cancel()
        for key in [] if self.keeps_runs else self._stopped:
            try:
                await stop_run(key)
            except OUTAGE_ERRORS:
                logger.warning("Run %s could not be stopped with its connection", key.run_id, exc_info=True)
