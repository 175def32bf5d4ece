"""Makes attachments of the files that came within a run's input, before it is opened."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Protocol, Self

from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.files.attachments import delete_unsent, limits_of, read_upload, store_attachment
from assistant.services.files.kinds import FileRefused
from assistant.services.files.reader_threads import in_reader
from assistant.services.files.reader_turns import Uploader
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.runs.content_parts import REFUSED, File, InlineFile
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.tenancy.members import Member


class Given(Protocol):
    """The input of a run."""

    @property
    def run_id(self) -> str: ...
    @property
    def thread_id(self) -> uuid.UUID | None: ...
    @property
    def has_files(self) -> bool: ...
    @property
    def file_lists(self) -> list[tuple[File, ...]]: ...

    def with_file_lists(self, lists: list[tuple[File, ...]]) -> Self: ...


async def open_with_files(member: Member, given: Given, open_run: Callable[[Given], Awaitable[OpenedRun]]) -> OpenedRun:
    """Open a run with ids in place of the files in its input. Raises `Refused` (`attachment_refused`).

    The files are stored first, and deleted again if the run is refused or was opened before.
    """
    lists = given.file_lists
    inline = [file for files in lists for file in files if isinstance(file, InlineFile)]
    if not inline:
        return await open_run(given)
    try:
        async with _stored(member=member, files=[(file.name, file.content) for file in inline]) as ids:
            left = iter(ids)
            stored: list[tuple[File, ...]] = [
                tuple(next(left) if isinstance(file, InlineFile) else file for file in files) for files in lists
            ]
            return await open_run(given.with_file_lists(stored))
    except FileRefused as exc:
        raise Refused(REFUSED, str(exc)) from exc


@asynccontextmanager
async def _stored(*, member: Member, files: Sequence[tuple[str, bytes]]) -> AsyncIterator[list[uuid.UUID]]:
    """Store files, each a name and its content, as the member's unsent attachments, and give their ids.

    Those that have not been sent when the context ends are deleted: nobody else knows of them.

    Raises:
        FileRefused: one cannot be taken.
    """
    limits = await in_database(limits_of, member)
    # All are read before one is stored.
    read_one = partial(read_upload, limits=limits, uploader=Uploader.of(member))
    read = [await in_reader(member, partial(read_one, content=content, name=name)) for name, content in files]
    ids: list[uuid.UUID] = []
    try:
        for one in read:
            row = await in_database(store_attachment, member=member, read=one, limits=limits)
            ids.append(row.pk)
        yield ids
    finally:
        # Files that are left are deleted later, like all files that are never sent.
        with suppress(*OUTAGE_ERRORS):
            await in_database(delete_unsent, member=member, attachment_ids=ids)
