"""The event log of the deployment: that of an optional app, or memory."""

from __future__ import annotations

from collections.abc import Callable

from assistant.services.eventlog.log import EventLog
from assistant.services.eventlog.memory import MemoryLog

MakeLog = Callable[[Callable[[str], None]], EventLog]

_shared: list[tuple[Callable[[], bool], MakeLog]] = []
_own: list[Callable[[], EventLog | None]] = []


def share_by(make: MakeLog, *, is_on: Callable[[], bool]) -> None:
    """Have an optional app keep the log that several server processes share.

    Args:
        make: returns a new log, not yet started, as `configured_log` does.
        is_on: whether the deployment's settings choose it.
    """
    _shared.append((is_on, make))


def keep_by(make: Callable[[], EventLog | None]) -> None:
    """Have an optional app keep the log of one process, where no app keeps a shared one.

    Args:
        make: returns a new log, not yet started; None where the deployment leaves nowhere to keep it.
    """
    _own.append(make)


def is_shared() -> bool:
    """Return whether several server processes share the log."""
    return any(is_on() for is_on, _ in _shared)


def configured_log(on_control: Callable[[str], None] = lambda message: None) -> EventLog:
    """Return a new log, not yet started.

    Args:
        on_control: called with every message that `EventLog.publish_control` sends in another process.
    """
    for is_on, make in _shared:
        if is_on():
            return make(on_control)
    kept = (make_own() for make_own in _own)
    return next((log for log in kept if log is not None), None) or MemoryLog()
