"""Makes attachments of files that came within a request."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from assistant.services.db.threads import in_database
from assistant.services.files.attachments import delete_unsent, limits_of, read_upload, store_attachment
from assistant.services.files.reader_threads import in_reader
from assistant.services.files.reader_turns import Uploader
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.tenancy.members import Member


@asynccontextmanager
async def stored_inline(*, member: Member, files: Sequence[tuple[str, bytes]]) -> AsyncIterator[list[uuid.UUID]]:
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
