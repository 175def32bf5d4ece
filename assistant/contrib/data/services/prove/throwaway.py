"""A database that is thrown away, and a process that sends nothing to other places."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from django.conf import settings
from django.core import mail
from django.db import connection, connections
from django.test.utils import override_settings

_LOCAL_CACHE = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}


class NoNetwork(OSError):
    """A tool has tried to reach another place."""


@contextmanager
def throw_away_database(*, migrate: bool) -> Iterator[None]:
    """Work in a new database, and delete it afterwards. The project's own is not touched.

    Args:
        migrate: whether its tables are made by the migrations; else by the models alone.
    """
    before = settings.DATABASES[connection.alias]["NAME"]
    with tempfile.TemporaryDirectory() as folder:
        options = {"NAME": f"assistant_prove_{os.getpid()}", "MIGRATE": migrate}
        if connection.vendor == "sqlite":
            # Tools run in threads, and one in memory would be locked.
            options["NAME"] = str(Path(folder) / "prove.sqlite3")
        connection.settings_dict["TEST"] = {**connection.settings_dict.get("TEST", {}), **options}
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        connections.settings[connection.alias]["NAME"] = connection.settings_dict["NAME"]
        try:
            yield
        finally:
            connections.close_all()
            _end_sessions(connection.settings_dict["NAME"])
            connection.creation.destroy_test_db(before, verbosity=0)
            connections.settings[connection.alias]["NAME"] = before


def _end_sessions(database: str) -> None:
    """End the sessions of threads that tools have run in: PostgreSQL deletes no database that has any."""
    if connection.vendor != "postgresql":
        return
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database])


@contextmanager
def nothing_leaves() -> Iterator[None]:
    """Keep mail, caches and files here, and refuse connections to other places than the database's."""
    real = socket.socket.connect
    allowed = {str(one.get("HOST") or "localhost") for one in settings.DATABASES.values()}
    allowed |= {address for host in list(allowed) for address in _addresses(host)}

    def connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and str(address[0]) not in allowed:
            raise NoNetwork(f"{address[0]} is not reached from a proof")
        real(self, address)

    with (
        tempfile.TemporaryDirectory() as folder,
        override_settings(
            EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend",
            CACHES=dict.fromkeys(settings.CACHES, _LOCAL_CACHE),
            MEDIA_ROOT=folder,
        ),
        mock.patch.object(socket.socket, "connect", connect),
    ):
        mail.outbox = []
        # What tools raise is in the report.
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


def _addresses(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except OSError:
        return set()
