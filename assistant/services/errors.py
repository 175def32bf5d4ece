"""Refusals and failures of services, with codes and messages that are safe to show."""

from __future__ import annotations

import errno
import logging
import math
import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from assistant.toolkit.translation import OUR_SIDE, gettext, gettext_noop, with_error_id

# Raised while the database cannot be reached.
DATABASE_ERRORS = (OperationalError, InterfaceError)


class Refused(Exception):
    """A request was refused, usually one to open a run.

    Args:
        code: one of the error codes of runs.
        message: safe to show to the caller.
        resets_at: when the caller may try again; None if waiting does not help.
    """

    def __init__(self, code: str, message: str, *, resets_at: datetime | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.resets_at = resets_at

    @property
    def retry_after(self) -> int | None:
        """The value of a `Retry-After` header: whole seconds, at least one. None if waiting does not help."""
        if self.resets_at is None:
            return None
        return max(1, math.ceil((self.resets_at - timezone.now()).total_seconds()))


RETRY_AFTER_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Failure:
    """An unexpected failure. `code` is `unavailable` or `internal_error`; `message` is safe to show to anybody."""

    code: str
    message: str

    @property
    def is_outage(self) -> bool:
        return self.code == "unavailable"

    @property
    def refusal(self) -> Refused:
        """The failure as a refused run; run errors have no code of their own for an outage."""
        soon = timezone.now() + timedelta(seconds=RETRY_AFTER_SECONDS)
        return Refused("internal_error", self.message, resets_at=soon if self.is_outage else None)

    @property
    def status(self) -> int:
        """The HTTP status of an error response."""
        return 503 if self.is_outage else 500

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers of an error response."""
        return {"Retry-After": str(RETRY_AFTER_SECONDS)} if self.is_outage else {}


StorageProblem = Literal["disk full", "read-only"]
_BY_SQLSTATE: dict[str, StorageProblem] = {"53100": "disk full", "25006": "read-only"}
_BY_SQLITE_CODE: dict[int, StorageProblem] = {sqlite3.SQLITE_FULL: "disk full", sqlite3.SQLITE_READONLY: "read-only"}
_BY_ERRNO: dict[int, StorageProblem] = {
    errno.ENOSPC: "disk full",
    errno.EDQUOT: "disk full",
    errno.EROFS: "read-only",
}
_SENTENCES: dict[StorageProblem | None, str] = {
    "disk full": gettext_noop("The server's disk is full, so that nothing can be stored. Try again later."),
    "read-only": gettext_noop(
        "The server's storage is read-only at the moment, so that nothing can be stored. Try again later."
    ),
    None: gettext_noop("The service is temporarily unavailable. Try again in a moment."),
}


def storage_problem(exc: BaseException | None) -> StorageProblem | None:
    """Return why the database or a file could not be written; None for any other exception."""
    if isinstance(exc, OSError):
        return _BY_ERRNO.get(exc.errno or 0)
    # Django's exceptions have the driver's as their cause.
    cause = getattr(exc, "__cause__", None)
    # The low byte, without SQLite's finer distinctions.
    sqlite_code = (getattr(cause, "sqlite_errorcode", None) or 0) & 0xFF
    return _BY_SQLSTATE.get(getattr(cause, "sqlstate", None) or "") or _BY_SQLITE_CODE.get(sqlite_code)


_explanations: list[Callable[[BaseException | None], str]] = []

# PostgreSQL's (sqlstate 53300) and PgBouncer's words. libpq gives no sqlstate for a connection that was refused.
_AT_LIMIT = ("too many clients", "too many connections", "connection slots", "no more connections allowed")


def is_at_connection_limit(exc: BaseException | None) -> bool:
    """Whether the database refused a connection because it has no free one."""
    return isinstance(exc, DATABASE_ERRORS) and any(words in str(exc) for words in _AT_LIMIT)


def explain_with(explain: Callable[[BaseException | None], str]) -> None:
    """Have an optional app say which exceptions mean that a store of its own does not work.

    Args:
        explain: returns why, as `describe_outage` does; "" for exceptions of others.
    """
    _explanations.append(explain)


def _sentence_of_store(exc: BaseException | None) -> str:
    return next(filter(None, (explain(exc) for explain in _explanations)), "")


def describe_outage(exc: BaseException) -> str:
    """Return why the database or Redis does not work, as a sentence for operators without its full stop."""
    if sentence := _sentence_of_store(exc):
        return sentence
    if is_at_connection_limit(exc):
        return "The database has no free connection: see max_connections, and the limits of its role and of a pooler"
    return f"The database cannot be reached ({exc})" if isinstance(exc, DATABASE_ERRORS) else repr(exc)


def is_outage(exc: BaseException | None) -> bool:
    """Whether an exception means that the database or Redis cannot be reached or written, so that a retry may help."""
    return isinstance(exc, DATABASE_ERRORS) or storage_problem(exc) is not None or bool(_sentence_of_store(exc))


def unavailable() -> Refused:
    """Return the refusal of a run while the service cannot store anything."""
    return Failure("unavailable", gettext(_SENTENCES[None])).refusal


def log_failure(logger: logging.Logger, exc: Exception, what: str, *args: object) -> Failure:
    """Log an exception with a new error id and return the failure, whose message contains the id.

    Args:
        what: the log message, which says what failed, with placeholders for `args`.
    """
    error_id = uuid.uuid4().hex[:12]
    logger.error("%s [%s]", what % args, error_id, exc_info=exc)
    if is_outage(exc):
        return Failure("unavailable", with_error_id(gettext(_SENTENCES[storage_problem(exc)]), error_id))
    return Failure("internal_error", with_error_id(gettext(OUR_SIDE), error_id))
