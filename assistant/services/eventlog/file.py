"""The event log of a deployment on SQLite alone: in memory, and what running runs say in files beside the database.

A killed process takes its memory with it. Whoever finishes its runs finds in the files what clients had seen, so that
no word of it is lost. The files are mapped into memory: to write an event is to copy it, without a call of the system
and without waiting for a disk. What was copied outlives the process, not a power cut.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Sequence
from io import FileIO
from itertools import takewhile
from mmap import ALLOCATIONGRANULARITY, mmap
from pathlib import Path

from assistant.services.eventlog.log import Entry, ThreadLog
from assistant.services.eventlog.memory import MemoryLog

logger = logging.getLogger(__name__)

SUFFIX = ".events"
# Files are gone with their runs' end. One that is this old was left by a process that was killed right after it.
LEFT_OVER_SECONDS = 24 * 3600.0
# Of a run's file, so much is mapped at a time: room for some sixty tokens that come by themselves.
WINDOW_BYTES = 4 * ALLOCATIONGRANULARITY
_LINE = re.compile(rb"\d+ \d+ [^\0\n]+\n")


class FileWriter:
    """Writes a run's events to its file, each before readers are shown it."""

    failure: Exception | None = None

    def __init__(self, log: ThreadLog, path: Path) -> None:
        self._log = log
        self._path = path
        self._file: FileIO | None = None
        # The part of the file that is being written, where that begins, and up to where in it there are events.
        self._window: mmap | None = None
        self._start = self._end = 0
        self._is_broken = False
        log.writers.add(self)

    def write(self, entry: Entry) -> None:
        if not self._is_broken:
            try:
                self._keep(entry)
            except (OSError, ValueError):
                # The events are still shown, and stored at the next checkpoint. Of the file, none can follow the gap.
                self._is_broken = True
                self._close()
                logger.exception("The events of a run cannot be kept in %s", self._path)
        self._log.append((entry,))

    async def flush(self) -> None:
        return

    def _keep(self, entry: Entry) -> None:
        if entry.is_end:  # the run is stored: its file has done its work
            self._close()
            self._path.unlink(missing_ok=True)
            return
        line = b"%d %d %b\n" % (entry.number, entry.seq, entry.frame.encode())
        end = self._end + len(line)
        if self._window is None or end > WINDOW_BYTES:
            if self._file is None:
                self._file = self._begin(entry)
            line = self._move_on(self._file, line)
            end = self._end + len(line)
        self._window[self._end : end] = line  # type: ignore[index]  # moving on opens one
        self._end = end

    def _begin(self, first: Entry) -> FileIO:
        """A new file, with what another process has left of the same run.

        That one's is left alone: a process that goes on with a run it has lost would end if its file became shorter.
        """
        new = self._path.with_stem(f"{self._path.stem}-new")
        file = FileIO(new, "w+")
        kept = b"" if first.seq == 1 else b"".join(_whole_lines(self._path))
        _write_at(file, 0, kept)
        new.replace(self._path)
        self._end = len(kept)
        return file

    def _move_on(self, file: FileIO, line: bytes) -> bytes:
        """Map the next part of the file; returns what of `line` is to be copied there, as long ones are written.

        All of the part is written, with zeros: to touch a page that has no room on the disk would end the process.
        """
        end = self._start + self._end
        if self._window is not None:
            self._window.close()
            self._window = None
        if len(line) > WINDOW_BYTES // 2:
            _write_at(file, end, line)
            end, line = end + len(line), b""
        self._start = end - end % ALLOCATIONGRANULARITY
        self._end = end - self._start
        _write_at(file, end, bytes(WINDOW_BYTES - self._end))
        self._window = mmap(file.fileno(), WINDOW_BYTES, offset=self._start)
        return line

    def _close(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None
        if self._file is not None:
            self._file.close()
            self._file = None


def _write_at(file: FileIO, place: int, data: bytes) -> None:
    """Write all of it. Raises OSError."""
    rest = memoryview(data)
    file.seek(place)
    while rest:
        rest = rest[file.write(rest) :]


class FileLog(MemoryLog):
    """As `MemoryLog`; `folder` is where running runs are kept, and every process on the same database uses the same."""

    survives_process = True

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    async def start(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._folder.glob(f"*{SUFFIX}"):
            if time.time() - path.stat().st_mtime > LEFT_OVER_SECONDS:
                path.unlink(missing_ok=True)

    def writer(self, thread: str, on_failure: Callable[[], object]) -> FileWriter:
        return FileWriter(self.thread(thread), self._path(thread))

    async def start_run(self, thread: str, number: int) -> ThreadLog:
        self._path(thread).unlink(missing_ok=True)
        return await super().start_run(thread, number)

    async def open_for_recovery(self, thread: str, number: int) -> ThreadLog:
        log = self.thread(thread)
        if log.last is None or log.last.number <= number:
            kept = await asyncio.to_thread(_read, self._path(thread))
            log.append([entry for entry in kept if entry.number == number])
        return log

    def forget(self, threads: Sequence[str]) -> None:
        super().forget(threads)
        for thread in threads:
            self._path(thread).unlink(missing_ok=True)

    def _path(self, thread: str) -> Path:
        return self._folder / f"{thread}{SUFFIX}"


def _read(path: Path) -> list[Entry]:
    """The entries of a file, up to the first that was not written to its end."""
    entries: list[Entry] = []
    for line in _whole_lines(path):
        number, seq, frame = line.rstrip(b"\n").split(b" ", 2)
        entries.append(Entry(int(number), int(seq), frame.decode()))
    return entries


def _whole_lines(path: Path) -> list[bytes]:
    """Each `NUMBER SEQ FRAME`; a frame is JSON, without ends of lines and zeros, and the file's room is zeros."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return list(takewhile(_LINE.fullmatch, lines))
