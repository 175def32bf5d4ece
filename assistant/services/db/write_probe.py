"""Checks whether the database can be written, with a row that is deleted again.

Without `django.contrib.sessions`, whose table it uses, nothing is checked.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.apps import apps
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from assistant.services.errors import storage_problem

logger = logging.getLogger(__name__)

OK, FAILED = "ok", "failed"
# The database is written at most this often by each process.
INTERVAL_SECONDS = 5.0
# More than fits into a page that has room by chance, and random, so that PostgreSQL does not compress it.
_CHARACTERS = 32_000
# How long to wait for another writer of SQLite; a database that is being written is not full.
_SQLITE_WAIT_MILLISECONDS = 500


class WriteProbe:
    """Writes at most once in `INTERVAL_SECONDS`, and keeps the outcome until then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tried_at: float | None = None
        self._outcome = OK

    def outcome(self) -> str:
        """Return "ok", "disk full", "read-only" or "failed"."""
        with self._lock:
            now = time.monotonic()
            if self._tried_at is None or now - self._tried_at >= INTERVAL_SECONDS:
                self._tried_at, self._outcome = now, _try()
            return self._outcome

    def reset(self) -> None:
        """Make the next call write, even within `INTERVAL_SECONDS`."""
        with self._lock:
            self._tried_at = None


write_probe = WriteProbe()


def _try() -> str:
    if not apps.is_installed("django.contrib.sessions"):
        return OK
    # A table that a deployment has anyway, with rows of no tenant. This one has expired, and its content is no session.
    key, content = f"probe-{secrets.token_hex(12)}", secrets.token_hex(_CHARACTERS // 2)
    row = apps.get_model("sessions", "Session")(key, content, timezone.now() - timedelta(days=1))
    try:
        with _short_wait():
            with transaction.atomic():
                row.save(force_insert=True)
            with transaction.atomic():
                row.delete()
    except DatabaseError as exc:
        if getattr(exc.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            return OK
        logger.exception("The database cannot be written")
        return storage_problem(exc) or FAILED
    return OK


@contextmanager
def _short_wait() -> Iterator[None]:
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        (before,) = cursor.fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {_SQLITE_WAIT_MILLISECONDS}")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(before)}")
