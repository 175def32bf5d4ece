"""The event log that the deployment's settings choose: Redis, files beside an SQLite database, or memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.db import connection

from assistant.services.eventlog.file import FileLog
from assistant.services.eventlog.log import EventLog
from assistant.services.eventlog.memory import MemoryLog


def configured_log(on_control: Callable[[str], None] = lambda message: None) -> EventLog:
    """Return a new log, not yet started.

    Args:
        on_control: called with every message that `EventLog.publish_control` sends in another process.
    """
    if settings.ASSISTANT_REDIS_URL:
        from assistant.services.eventlog.redis import RedisLog

        return RedisLog(settings.ASSISTANT_REDIS_URL, on_control)
    folder = events_folder()
    return FileLog(folder) if folder else MemoryLog()


def events_folder() -> Path | None:
    """Return the folder of running runs' events, beside the SQLite file; None with any other database."""
    if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's own
        return None
    return Path(f"{connection.settings_dict['NAME']}-events")
