"""The event log of a deployment on SQLite alone: in memory, and what running runs say in files beside the database.

A killed process takes its memory with it. Whoever finishes its runs finds in the files what clients had seen, so that
no word of it is lost. A write is one call of the system for all events of a turn of the event loop, and waits for no
disk: it outlives the process, not a power cut.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec
from django.db import connection

from assistant.services.eventlog import Entry, MemoryLog, ThreadLog

logger = logging.getLogger(__name__)

SUFFIX = ".events"
# Files are gone with their runs' end. One that is this old was left by a process that was killed right after it.
LEFT_OVER_SECONDS = 24 * 3600.0

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode


def events_folder() -> Path | None:
    """Where running runs are kept: beside a SQLite file; None with any other database."""
    if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's own
        return None
    return Path(f"{connection.settings_dict['NAME']}-events")


def forget_files(threads: Iterable[str]) -> None:
    """Delete what these threads' runs left behind."""
    folder = events_folder()
    for thread in threads if folder else ():
        (folder / f"{thread}{SUFFIX}").unlink(missing_ok=True)  # type: ignore[operator]


class FileWriter:
    """Writes a run's events to its file, then shows them to readers."""

    def __init__(self, log: ThreadLog, path: Path) -> None:
        self._log = log
        self._path = path
        self._file: BinaryIO | None = None
        self._pending: list[Entry] = []
        log.writers.add(self)

    def write(self, entry: Entry) -> None:
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._drain)
        self._pending.append(entry)

    async def flush(self) -> None:
        self._drain()

    def _drain(self) -> None:
        if not self._pending:
            return
        batch, self._pending = self._pending, []
        try:
            self._keep(batch)
        except OSError:
            # The events are still shown, and stored at the next checkpoint.
            logger.exception("The events of a run cannot be kept in %s", self._path)
        self._log.append(batch)

    def _keep(self, batch: list[Entry]) -> None:
        if batch[-1].is_end:
            self._close()
            return
        if self._file is None:
            self._file = self._path.open("wb" if batch[0].seq == 1 else "ab", buffering=0)
        self._file.write(b"".join(_encode(entry) + b"\n" for entry in batch))

    def _close(self) -> None:
        """The run is stored: its file has done its work."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._path.unlink(missing_ok=True)


class FileLog(MemoryLog):
    """As `MemoryLog`; `folder` is where running runs are kept, and every process on the same database uses the same."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in folder.glob(f"*{SUFFIX}"):
            if time.time() - path.stat().st_mtime > LEFT_OVER_SECONDS:
                path.unlink(missing_ok=True)

    def writer(self, thread: str, on_failure: Callable[[], object]) -> FileWriter:
        return FileWriter(self.thread(thread), self._path(thread))

    async def start_run(self, thread: str, number: int) -> None:
        await super().start_run(thread, number)
        self._path(thread).unlink(missing_ok=True)

    async def salvage(self, thread: str, number: int) -> ThreadLog:
        log = self.thread(thread)
        if log.last is None or log.last.number <= number:
            kept = await asyncio.to_thread(_read, self._path(thread))
            log.append([entry for entry in kept if entry.number == number])
        return log

    def _path(self, thread: str) -> Path:
        return self._folder / f"{thread}{SUFFIX}"


def _read(path: Path) -> list[Entry]:
    """The entries of a file, up to the first that was not written to its end."""
    entries: list[Entry] = []
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return entries
    for line in lines:
        try:
            entries.append(_decode(line))
        except msgspec.DecodeError:
            break
    return entries
