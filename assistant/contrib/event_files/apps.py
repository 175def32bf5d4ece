"""The Django app of the event log in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.optional_apps import OptionalApp

if TYPE_CHECKING:
    from pathlib import Path

    from assistant.services.eventlog.log import EventLog


class EventFilesConfig(OptionalApp):
    name = "assistant.contrib.event_files"
    label = "assistant_event_files"
    verbose_name = "Assistant: events in files"

    def register(self) -> None:
        from assistant.services.eventlog import configured

        configured.keep_by(_log)


def _log() -> EventLog | None:
    folder = events_folder()
    if folder is None:
        return None
    from assistant.contrib.event_files.log import FileLog  # with the first log that is made

    return FileLog(folder)


def events_folder() -> Path | None:
    """Return the folder of running runs' events, beside the SQLite file; None with any other database."""
    from pathlib import Path

    from django.db import connection

    if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's own
        return None
    return Path(f"{connection.settings_dict['NAME']}-events")
