"""Makes the test database refuse to write as one does on a full disk, or one that is read-only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from assistant.services.errors import StorageProblem

_SQLITE_MOST_PAGES = 2**30
_REFUSE = """
CREATE FUNCTION refuse_to_store() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{state}'; END $$
"""
_TABLES = ("assistant_run", "assistant_message", "django_session")
_SQLSTATES = {"disk full": "53100", "read-only": "25006"}


def block_storage(problem: StorageProblem) -> None:
    """Have writes refused: on SQLite those of this thread's connection, on PostgreSQL those of the tables above."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA page_count")
            (pages,) = cursor.fetchone()
            cursor.execute(f"PRAGMA max_page_count = {pages}" if problem == "disk full" else "PRAGMA query_only = 1")
            return
        cursor.execute(_REFUSE.format(state=_SQLSTATES[problem]))
        for table in _TABLES:
            when = f"BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW"
            cursor.execute(f"CREATE TRIGGER refuse {when} EXECUTE FUNCTION refuse_to_store()")


def unblock_storage() -> None:
    """Undo `block_storage`; does nothing without it."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA query_only = 0")
            cursor.execute(f"PRAGMA max_page_count = {_SQLITE_MOST_PAGES}")
            return
        cursor.execute("DROP FUNCTION IF EXISTS refuse_to_store CASCADE")


@contextmanager
def blocked_storage(problem: StorageProblem) -> Iterator[None]:
    """Have writes refused within the block."""
    block_storage(problem)
    try:
        yield
    finally:
        unblock_storage()


def more_than_is_free() -> str:
    """A text for which SQLite's file has to grow, whatever is free in it."""
    if connection.vendor != "sqlite":
        return "x"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA freelist_count")
        (pages,) = cursor.fetchone()
        cursor.execute("PRAGMA page_size")
        (size,) = cursor.fetchone()
    return "x" * (pages + 20) * size
