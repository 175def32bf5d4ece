"""Reads without a chance to write: a read-only transaction, a time for each statement, and a bound on what it costs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, connections, transaction
from django.db.models import QuerySet

from assistant.toolkit import ToolError

_READS = ("SELECT", "WITH", "EXPLAIN", "(SELECT", "SET ", "SAVEPOINT", "RELEASE", "ROLLBACK", "BEGIN", "COMMIT")
# Steps of SQLite's engine between two looks at the clock.
_STEPS = 20_000


class NoQuery(Exception):
    """Code that may not query the database has tried to."""


@contextmanager
def reading(hint: str) -> Iterator[None]:
    """Let a block read the database, and nothing else.

    Args:
        hint: what the model can narrow a call by, for the error of a statement that takes too long.

    Raises:
        ToolError: a statement has taken longer than ASSISTANT_DATA_SECONDS.
    """
    is_outermost = not connection.in_atomic_block
    try:
        with transaction.atomic(), connection.execute_wrapper(_OnlyReads()), _time_limit(is_outermost=is_outermost):
            yield
    except DatabaseError as exc:
        if not _was_stopped(exc):
            raise
        raise ToolError(f"This takes longer than {settings.ASSISTANT_DATA_SECONDS} seconds. {hint}") from exc


class _OnlyReads:
    """Refuses statements of this thread that do not read: tests lend their connection to other threads, which write."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if threading.get_ident() == self._thread and not str(sql).lstrip().upper().startswith(_READS):
            raise NoQuery("a tool that reads has tried to change the database")
        return execute(sql, params, many, context)


@contextmanager
def _time_limit(*, is_outermost: bool) -> Iterator[None]:
    seconds = settings.ASSISTANT_DATA_SECONDS
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            limit = f"SET LOCAL statement_timeout = {int(seconds * 1000)}"
            # Not in a transaction of the caller's, which may go on to write.
            cursor.execute(f"SET TRANSACTION READ ONLY; {limit}" if is_outermost else limit)
        yield
        return
    connection.ensure_connection()
    raw = connection.connection
    if not hasattr(raw, "set_progress_handler"):
        yield
        return
    ends_at = time.monotonic() + seconds
    raw.set_progress_handler(lambda: int(time.monotonic() > ends_at), _STEPS)
    try:
        yield
    finally:
        raw.set_progress_handler(None, 0)


def _was_stopped(exc: DatabaseError) -> bool:
    cause = exc.__cause__
    return type(cause).__name__ == "QueryCanceled" or "interrupted" in str(exc)


def check_cost(rows: QuerySet[Any, Any], hint: str) -> None:
    """Raise `ToolError` if PostgreSQL expects a query to cost more than ASSISTANT_DATA_COST.

    Other databases are not asked.
    """
    if connection.vendor != "postgresql":
        return
    explained = rows.explain(format="json")
    if not explained:  # Django knows that no row fits, and asks nothing
        return
    (answer,) = json.loads(explained)
    plan = answer["Plan"]
    if plan["Total Cost"] > settings.ASSISTANT_DATA_COST:
        count = max(_rows_in(plan))
        raise ToolError(f"This would read too much: about {count:,} rows. {hint}")


def _rows_in(plan: dict[str, Any]) -> Iterator[int]:
    yield int(plan.get("Plan Rows", 0))
    for part in plan.get("Plans", ()):
        yield from _rows_in(part)


@contextmanager
def without_queries() -> Iterator[None]:
    """Refuse each statement of a block with `NoQuery`."""
    with ExitStack() as stack:
        for each in connections.all():
            stack.enter_context(each.execute_wrapper(_refused))
        yield


def _refused(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    raise NoQuery("no query is allowed here")
