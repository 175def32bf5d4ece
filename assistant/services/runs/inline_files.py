"""Makes attachments of the files that came within a run's input, before it is opened."""

from __future__ import annotations

from dataclasses import replace

from assistant.services.errors import Refused
from assistant.services.files.inline import store_inline
from assistant.services.files.kinds import FileRefused
from assistant.services.runs.content_parts import REFUSED, InlineFile
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member


async def with_stored_files(member: Member, given: RunInput) -> RunInput:
    """Return the input with ids in place of the files in it. Raises `Refused` (`attachment_refused`)."""
    message = given.message
    inline = [file for file in message.files if isinstance(file, InlineFile)] if message is not None else []
    if message is None or not inline:
        return given
    try:
        ids = iter(await store_inline(member=member, files=[(file.name, file.content) for file in inline]))
    except FileRefused as exc:
        raise Refused(REFUSED, str(exc)) from exc
    files = tuple(next(ids) if isinstance(file, InlineFile) else file for file in message.files)
    return replace(given, message=replace(message, files=files))
