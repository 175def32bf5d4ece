"""Makes attachments of files that came within a request."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from functools import partial

from assistant.services.db.threads import in_database
from assistant.services.files.attachments import limits_of, read_upload, store_attachment
from assistant.services.tenancy.members import Member


async def store_inline(*, member: Member, files: Sequence[tuple[str, bytes]]) -> list[uuid.UUID]:
    """Store files, each a name and its content, as the member's unsent attachments; return their ids.

    Raises:
        FileRefused: one cannot be taken.
    """
    limits = await in_database(limits_of, member)
    # All are read before one is stored.
    read = [
        await asyncio.to_thread(partial(read_upload, content=content, name=name, limits=limits))
        for name, content in files
    ]
    rows = [await in_database(store_attachment, member=member, read=one, limits=limits) for one in read]
    return [row.pk for row in rows]
