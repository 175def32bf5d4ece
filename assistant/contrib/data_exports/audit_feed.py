"""The audit as a file of lines that grows: one JSON object an entry, for programs that watch it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import QuerySet
from django.utils import timezone

from assistant.models import AuditEntry, Tenant

# Entries get their numbers before they are stored: one that is younger might come before another that is missing yet.
SETTLED = timedelta(minutes=1)
# Entries that are read at once, and bytes of the last line that are looked at.
CHUNK = 1_000
MAX_LINE = 1_000_000


class NotAFeed(ValueError):
    """The file's last line is no entry."""


def last_entry(file: IO[bytes]) -> int:
    """Return the number of the last entry in a file; 0 if it is empty. Raises `NotAFeed`."""
    size = file.seek(0, os.SEEK_END)
    if not size:
        return 0
    file.seek(max(0, size - MAX_LINE))
    lines = file.read().splitlines(keepends=True)
    try:
        found = json.loads(lines[-1])["id"]
    except (ValueError, KeyError, TypeError) as exc:
        raise NotAFeed("The last line of this file is no entry of the audit.") from exc
    if not isinstance(found, int) or not lines[-1].endswith(b"\n"):
        raise NotAFeed("The last line of this file is not a whole entry of the audit.")
    return found


def append_entries(path: Path, *, tenant: Tenant | None = None) -> int:
    """Append the entries that a file does not have, the oldest first, and return how many. Secrets are in none.

    Args:
        path: only its owner can read a file that is made.
        tenant: whose; None for all, and those of the deployment.

    Raises:
        NotAFeed: the file is none that this has written.
        OSError: it cannot be read or written.
    """
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        entries = AuditEntry.objects.select_related("tenant", "actor")
        rows = entries.filter(pk__gt=last_entry(file), created_at__lt=timezone.now() - SETTLED)
        rows = rows if tenant is None else rows.filter(tenant=tenant)
        file.seek(0, os.SEEK_END)
        count = 0
        for line in _lines(rows):
            file.write(line)
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return count


def _lines(rows: QuerySet[AuditEntry]) -> Iterator[bytes]:
    for entry in rows.order_by("pk").iterator(CHUNK):
        values: dict[str, Any] = {
            "id": entry.pk,
            "at": entry.created_at,
            "tenant": None if entry.tenant is None else entry.tenant.slug,
            "actor": None if entry.actor is None else entry.actor.get_username(),
            "action": entry.action,
            "target": entry.target,
            "details": entry.details,
        }
        yield json.dumps(values, cls=DjangoJSONEncoder).encode() + b"\n"
