"""What a deployment's database, Redis and clock lack."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.files.storage import FileSystemStorage
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from assistant.contrib.deploy.findings import Finding
from assistant.models.files import attachment_storage
from assistant.optional_apps import installed
from assistant.services.db.clock import MAX_DIFFERENCE_SECONDS, database_time, read_clock
from assistant.services.eventlog.configured import is_shared
from assistant.services.roles import has_workers, problem_of_role


def store_findings() -> Iterator[Finding]:
    yield from _database()
    for app in installed():
        if app.has("deployment"):
            yield from import_module(f"{app.name}.deployment").findings()
    yield from _redis()
    yield _attachments()
    yield _role()


def _database() -> Iterator[Finding]:
    config = settings.DATABASES["default"]
    is_postgresql = config["ENGINE"].endswith("postgresql")
    try:
        difference = read_clock(database_time).difference
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as exc:
        yield Finding("database", f"it does not answer ({type(exc).__name__})", "See DATABASES in your settings.")
        return
    if is_postgresql:
        yield Finding("database", f"PostgreSQL, {config['NAME']}")
    else:
        yield Finding("database", f"{connection.display_name}: enough for one process", is_manual=True)
    yield Finding("migrations", f"{len(missing)} to apply", "manage.py migrate" if missing else "")
    given = urlsplit(os.environ.get("DATABASE_URL", ""))
    if given.path and given.path.lstrip("/") not in str(config["NAME"]):
        yield Finding(
            "DATABASE_URL",
            f"it names another database than DATABASES, {config['NAME']}",
            'Read it: DATABASES = {"default": environ.Env().db_url("DATABASE_URL")}, or remove the variable.',
        )
    if is_postgresql and config.get("CONN_MAX_AGE") != 0:
        yield Finding(
            "connections", f"CONN_MAX_AGE is {config.get('CONN_MAX_AGE')}", "0: docs/production.md#postgresql"
        )
    is_apart = abs(difference) > MAX_DIFFERENCE_SECONDS
    fix = "Run NTP on this host and on the database's." if is_apart else ""
    yield Finding("clock", f"{difference:+.1f} s ahead of the database", fix)


def _attachments() -> Finding:
    """Tell whether this process may write where attached files are stored."""
    storage = attachment_storage()
    if not isinstance(storage, FileSystemStorage):
        return Finding("attachments", f"in {type(storage).__name__}")
    folder = Path(storage.location)
    # The first upload makes what is missing of the path.
    existing = next(part for part in (folder, *folder.parents) if part.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Finding("attachments", f"in {folder}; the servers' account needs to write there, too", is_manual=True)
    return Finding("attachments", f"{folder} cannot be written", "Set ASSISTANT_ATTACHMENTS_DIR: docs/attachments.md")


def _role() -> Finding:
    if not has_workers():
        return Finding("role", "all: this process does everything")
    if problem := problem_of_role(has_shared_log=is_shared()):
        return Finding("role", problem, "docs/production.md#workers")
    return Finding("role", f"{settings.ASSISTANT_ROLE}; workers are told of jobs at once")


def _redis() -> Iterator[Finding]:
    if not is_shared():
        processes = os.environ.get("WEB_CONCURRENCY", "1")
        fix = "Set ASSISTANT_REDIS_URL, with assistant.contrib.redis in INSTALLED_APPS." if processes != "1" else ""
        message = "ASSISTANT_REDIS_URL is not set: event logs stay in the process, so there can be one only"
        yield Finding("Redis", message + (f", not {processes}" if fix else ""), fix, is_manual=True)
        return
    # Where it is configured, the package is there (`assistant.E012`).
    import redis

    try:
        with redis.Redis.from_url(settings.ASSISTANT_REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
            client.ping()
            policy = str(client.info("memory").get("maxmemory_policy"))
    except redis.RedisError as exc:
        yield Finding("Redis", f"it does not answer ({type(exc).__name__})", "See ASSISTANT_REDIS_URL.")
        return
    fix = "" if policy == "volatile-ttl" else "maxmemory-policy volatile-ttl: docs/production.md#redis"
    yield Finding("Redis", f"it answers; maxmemory-policy is {policy}", fix)
