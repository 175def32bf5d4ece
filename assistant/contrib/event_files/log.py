"""The event log of a deployment with SQLite and no Redis: in memory, with files for the events of running runs.

When a process is killed, the process that recovers its runs reads from the files what clients had seen. The files are
mapped into memory, so that writing an event copies it, without a system call or waiting for a disk. What was copied
survives the end of the process, but not a power failure.
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
# A file is deleted at the end of its run. One of this age was left behind by a process that was killed just then. More
# than a day, by which the clock may have jumped since the file was written.
STALE_FILE_SECONDS = 72 * 3600.0
# The part of a file that is mapped at a time; holds about sixty events of a token each.
WINDOW_BYTES = 4 * ALLOCATIONGRANULARITY
_LINE = re.compile(rb"\d+ \d+ [^\0\n]+\n")


class FileWriter:
    """Writes a run's events to its file, each before readers get it."""

    failure: Exception | None = None

    def __init__(self, log: ThreadLog, path: Path) -> None:
        self._log = log
        self._path = path
        self._file: FileIO | None = None
        # The mapped part of the file, its offset in the file, and the end of the events in it.
        self._window: mmap | None = None
        self._start = self._end = 0
        self._is_broken = False
        self._outlives_run = False
        log.writers.add(self)

    def write(self, entry: Entry) -> None:
        is_kept = not self._is_broken
        try:
            if is_kept and entry.is_end and not self._outlives_run:  # the run is stored in the database
                self._close()
                self._path.unlink(missing_ok=True)
            elif is_kept:
                line = b"%d %d %b\n" % (entry.number, entry.seq, entry.frame.encode())
                end = self._end + len(line)
                if self._window is None or end > WINDOW_BYTES:
                    if self._file is None:
                        self._file = self._begin(entry)
                    line = self._map_next_window(self._file, line)
                    end = self._end + len(line)
                self._window[self._end : end] = line  # type: ignore[index]  # `_map_next_window` has set it
                self._end = end
        except (OSError, ValueError):
            # Readers still get the events, and the next checkpoint stores them. The file must not have a gap.
            self._is_broken = True
            self._close()
            logger.exception("The events of a run cannot be kept in %s", self._path)
        self._log.append((entry,))

    def keep_events(self) -> None:
        self._outlives_run = True

    async def flush(self) -> None:
        return

    def _begin(self, first: Entry) -> FileIO:
        """Create the file, with the events that another process has written of the same run.

        The other's file is replaced, not truncated: a process that has lost the run and still writes to its mapping
        would be killed by the system.
        """
        new = self._path.with_stem(f"{self._path.stem}-new")
        file = FileIO(new, "w+")
        kept = b"" if first.seq == 1 else b"".join(_whole_lines(self._path))
        _write_at(file, 0, kept)
        new.replace(self._path)
        self._end = len(kept)
        return file

    def _map_next_window(self, file: FileIO, line: bytes) -> bytes:
        """Map the next part of the file, and return what is to be copied there; a long `line` is written instead.

        The part is first written with zeros: writing to a mapped page without space on the disk kills the process.
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


def _write_at(file: FileIO, offset: int, data: bytes) -> None:
    """Write all data at an offset. Raises OSError."""
    rest = memoryview(data)
    file.seek(offset)
    while rest:
        rest = rest[file.write(rest) :]


class FileLog(MemoryLog):
    """A `MemoryLog` that keeps the events of running runs in `folder`, which all processes of a database share."""

    survives_process = True
    is_writable = True

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    async def start(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._folder.glob(f"*{SUFFIX}"):
            if time.time() - path.stat().st_mtime > STALE_FILE_SECONDS:
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
    """Return the entries of a file, up to the first incomplete one."""
    entries: list[Entry] = []
    for line in _whole_lines(path):
        number, seq, frame = line.rstrip(b"\n").split(b" ", 2)
        entries.append(Entry(int(number), int(seq), frame.decode()))
    return entries


def _whole_lines(path: Path) -> list[bytes]:
    """Return the lines `NUMBER SEQ FRAME`. A frame is JSON without newlines or NUL; unused space holds NUL."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return list(takewhile(_LINE.fullmatch, lines))
