"""Makes attachments of the files that came within a run's input, before it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assistant.services.errors import Refused
from assistant.services.files.inline import store_inline
from assistant.services.files.kinds import FileRefused
from assistant.services.runs.content_parts import REFUSED, File, InlineFile
from assistant.services.runs.opening.completion import StatelessInput
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member


async def with_stored_files(member: Member, given: RunInput) -> RunInput:
    """Return the input with ids in place of the files in it. Raises `Refused` (`attachment_refused`)."""
    if given.message is None or not given.message.files:
        return given
    (files,) = await _stored(member, [given.message.files])
    return replace(given, message=replace(given.message, files=files))


async def with_all_stored(member: Member, given: StatelessInput) -> StatelessInput:
    """Do the same as `with_stored_files` for all messages of a stateless run, whose caller sends its history again."""
    if not given.files:
        return given
    stored = await _stored(member, list(given.files.values()))
    return replace(given, files=dict(zip(given.files, stored, strict=True)))


async def _stored(member: Member, groups: Sequence[tuple[File, ...]]) -> list[tuple[File, ...]]:
    inline = [file for files in groups for file in files if isinstance(file, InlineFile)]
    if not inline:
        return list(groups)
    try:
        ids = iter(await store_inline(member=member, files=[(file.name, file.content) for file in inline]))
    except FileRefused as exc:
        raise Refused(REFUSED, str(exc)) from exc
    return [tuple(next(ids) if isinstance(file, InlineFile) else file for file in files) for files in groups]
