"""Tells a member's connections that something of what waits for them has changed."""

from __future__ import annotations

from assistant.services.eventlog.configured import is_shared
from assistant.services.eventlog.member_notices import notify_from_loop
from assistant.services.run_key import RunKey
from assistant.services.runs.run_watchers import tell_of_runs, watchers

# The subject of the notices to a member's connections.
INBOX = "inbox"


def run_changed(key: RunKey) -> None:
    """Tell the connections of a run's member that it has begun or ended. Called on the server's event loop."""
    if not key.is_test and not key.is_stateless:
        notify_from_loop(tenant_id=key.tenant_id, user_id=key.user_id, about=INBOX)


def watch_runs() -> None:
    """Have the connections told of the runs of this process. Later calls do nothing."""
    if run_changed not in watchers:
        tell_of_runs(run_changed)


class RunWatch:
    """A service of each server process: where several share the log, connections of others may follow its runs.

    A process alone begins with its first connection that follows what waits, so that runs enter nothing of it before.
    """

    def start(self) -> None:
        """Watch runs, if the log is shared."""
        if is_shared():
            watch_runs()

    async def stop(self) -> None:
        """Do nothing: runs are watched as long as the process lives."""
