"""Recognises databases made before version 0.2.0, whose migrations no longer exist."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.recorder import MigrationRecorder

MESSAGE = (
    "This database was made before version 0.2.0 and cannot be migrated: keep a copy of it and start with an empty one "
    "(`make demo` does both)."
)
# These were the second migrations of their apps; from 0.2.0 on no migration has either name.
_OLD_MIGRATIONS = {
    ("assistant", "0002_approvals_delegates_summaries"),
    ("assistant", "0002_untrusted_sources"),
    ("tools", "0002_full_text_index"),
}


def is_old_database(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Whether the database has migrations that only versions before 0.2.0 had."""
    return not _OLD_MIGRATIONS.isdisjoint(MigrationRecorder(connections[alias]).applied_migrations())


def refuse_old_database(using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """A receiver of `pre_migrate`. Raises `CommandError` for a database made before 0.2.0."""
    if is_old_database(using):
        raise CommandError(MESSAGE)
