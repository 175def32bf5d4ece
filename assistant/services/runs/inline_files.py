"""Makes attachments of the files that came within a run's input, before it is opened."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

from assistant.services.errors import Refused
from assistant.services.files.inline import stored_inline
from assistant.services.files.kinds import FileRefused
from assistant.services.runs.content_parts import REFUSED, File, InlineFile
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.opening.stateless_input import StatelessInput
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member

Given = RunInput | StatelessInput


async def open_with_files(member: Member, given: Given, open_run: Callable[[Given], Awaitable[OpenedRun]]) -> OpenedRun:
    """Open a run with ids in place of the files in its input. Raises `Refused` (`attachment_refused`).

    The files are stored first, and deleted again if the run is refused or was opened before.
    """
    inline = [file for files in _files(given) for file in files if isinstance(file, InlineFile)]
    if not inline:
        return await open_run(given)
    try:
        async with stored_inline(member=member, files=[(file.name, file.content) for file in inline]) as ids:
            return await open_run(_with_ids(given, iter(ids)))
    except FileRefused as exc:
        raise Refused(REFUSED, str(exc)) from exc


def _files(given: Given) -> list[tuple[File, ...]]:
    """Return the files of each message. The caller of a stateless run sends those of its history again."""
    if isinstance(given, StatelessInput):
        return list(given.files.values())
    return [] if given.message is None else [given.message.files]


def _with_ids(given: Given, ids: Iterator[uuid.UUID]) -> Given:
    stored = [tuple(next(ids) if isinstance(file, InlineFile) else file for file in files) for files in _files(given)]
    if isinstance(given, StatelessInput):
        return replace(given, files=dict(zip(given.files, stored, strict=True)))
    return given if given.message is None else replace(given, message=replace(given.message, files=stored[0]))
