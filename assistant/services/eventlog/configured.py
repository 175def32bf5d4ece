"""The event log of the deployment: that of an optional app, files beside an SQLite database, or memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.db import connection

from assistant.services.eventlog.file import FileLog
from assistant.services.eventlog.log import EventLog
from assistant.services.eventlog.memory import MemoryLog

MakeLog = Callable[[Callable[[str], None]], EventLog]

_shared: list[tuple[Callable[[], bool], MakeLog]] = []


def share_by(make: MakeLog, *, is_on: Callable[[], bool]) -> None:
    """Have an optional app keep the log that several server processes share.

    Args:
        make: returns a new log, not yet started, as `configured_log` does.
        is_on: whether the deployment's settings choose it.
    """
    _shared.append((is_on, make))


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
    folder = events_folder()
    return FileLog(folder) if folder else MemoryLog()


def events_folder() -> Path | None:
    """Return the folder of running runs' events, beside the SQLite file; None with any other database."""
    if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's own
        return None
    return Path(f"{connection.settings_dict['NAME']}-events")
