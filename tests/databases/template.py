"""Creates test databases. They begin as copies of a migrated one.

To run all migrations takes ten seconds of a core, in every process that tests. So the first to do it keeps a copy: on
SQLite a file in `.pytest_cache`, on PostgreSQL a database beside the test's. Its name has a digest of what it is made
from. `migrate` runs on each copy too, with nothing to do.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.db import connection
from django.test.utils import setup_databases


def digest() -> str:
    """Return a digest of what a new database depends on: migrations, and what models have permissions for."""
    found = hashlib.sha256(f"{django.__version__} {connection.vendor}".encode())
    for app in apps.get_app_configs():
        found.update(app.label.encode())
        if find_spec(f"{app.name}.migrations"):
            folder = Path(str(import_module(f"{app.name}.migrations").__file__)).parent
            for path in sorted(folder.glob("*.py")):
                found.update(path.name.encode() + path.read_bytes())
    for model in apps.get_models():
        meta = model._meta
        found.update(f"{meta.label} {meta.verbose_name} {meta.default_permissions} {meta.permissions}".encode())
    return found.hexdigest()[:16]


class DatabaseTemplate:
    """The migrated database; `folder` has the file, and the lock for which one process makes it and others wait."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / f"{digest()}.sqlite3"
        # Of SQLite the name is a path. The prefix is that of the test's database.
        self._prefix = f"test_{Path(connection.settings_dict['NAME']).name}_template_"
        self._database = self._prefix + digest()

    @contextmanager
    def locked(self) -> Iterator[None]:
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def exists(self) -> bool:
        return self._file.exists() if connection.vendor == "sqlite" else self._database in self._databases()

    def begin_copy(self) -> None:
        """Have the test database begin as a copy when it is created."""
        if connection.vendor == "sqlite":
            shutil.copyfile(self._file, connection.creation._get_test_db_name())
        else:
            connection.settings_dict["TEST"]["TEMPLATE"] = self._database

    def keep(self) -> None:
        """Make it from the test database, which has just been created, and remove those of earlier digests."""
        if connection.vendor == "sqlite":
            for earlier in self._folder.glob("*.sqlite3"):
                earlier.unlink()
            unfinished = self._file.with_suffix(".unfinished")
            with closing(sqlite3.connect(unfinished)) as copy:
                connection.ensure_connection()
                connection.connection.backup(copy)
            unfinished.rename(self._file)
            return
        name = connection.ops.quote_name
        connection.close()  # PostgreSQL copies a database that nobody is connected to
        with connection._nodb_cursor() as cursor:
            for earlier in self._databases():
                cursor.execute(f"DROP DATABASE {name(earlier)}")
            cursor.execute(f"CREATE DATABASE {name(self._database)} TEMPLATE {name(connection.settings_dict['NAME'])}")

    def _databases(self) -> list[str]:
        with connection._nodb_cursor() as cursor:
            cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [self._prefix])
            return [name for (name,) in cursor.fetchall()]


def create_databases(folder: Path) -> Any:
    """Create this process's test database, from the template or for it; returns what `teardown_databases` takes."""
    folder.mkdir(parents=True, exist_ok=True)
    template = DatabaseTemplate(folder)
    with template.locked():
        if is_copy := template.exists():
            template.begin_copy()
        # SQLite's file is there already. A database of PostgreSQL that an ended run left behind is made again.
        is_there = is_copy and connection.vendor == "sqlite"
        created = setup_databases(verbosity=0, interactive=False, keepdb=is_there, serialized_aliases=())
        if not is_copy:
            template.keep()
    return created
