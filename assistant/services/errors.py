"""Refusals and failures of services: their codes, and sentences that are safe to show."""

from __future__ import annotations

import logging
import math
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

import redis
from django.db import InterfaceError, OperationalError
from django.utils import timezone
from redis.exceptions import RedisError

# Raised while the database is away.
DATABASE_ERRORS = (OperationalError, InterfaceError)
# Raised while Redis is away. uvloop raises RuntimeError for a write to a connection that was closed.
REDIS_ERRORS = (RedisError, OSError, RuntimeError)


class Refused(Exception):
    """The run is not opened; `code` is one of the run error codes, the text is safe to show.

    `resets_at` is when to ask again, if that is a matter of time.
    """

    def __init__(self, code: str, message: str, *, resets_at: datetime | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.resets_at = resets_at

    @property
    def retry_after(self) -> int | None:
        """Whole seconds to wait, at least one, as the header says it; None if it is no matter of time."""
        if self.resets_at is None:
            return None
        return max(1, math.ceil((self.resets_at - timezone.now()).total_seconds()))


# The database or Redis is away, or too busy to answer: the same may go well in a moment.
OUTAGE_ERRORS = (*DATABASE_ERRORS, redis.ConnectionError, redis.TimeoutError)
# When to try again, in seconds.
RETRY_AFTER = 2


@dataclass(frozen=True, slots=True)
class Failure:
    """`code` is that of an answer over HTTP, `unavailable` or `internal_error`; `message` can be shown to anybody."""

    code: str
    message: str

    @property
    def is_outage(self) -> bool:
        return self.code == "unavailable"

    @property
    def refusal(self) -> Refused:
        """As a run that was not opened: run errors have one code for what is broken, and the moment to come back."""
        soon = timezone.now() + timedelta(seconds=RETRY_AFTER)
        return Refused("internal_error", self.message, resets_at=soon if self.is_outage else None)

    @property
    def status(self) -> int:
        """The HTTP status of an answer that tells of it."""
        return 503 if self.is_outage else 500

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers of that answer."""
        return {"Retry-After": str(RETRY_AFTER)} if self.is_outage else {}


def note_failure(logger: logging.Logger, exc: Exception, what: str, *args: object) -> Failure:
    """Log an exception under a new id; `what` and its arguments say what failed. Returns what may be told of it."""
    error_id = uuid.uuid4().hex[:12]
    logger.error("%s [%s]", what % args, error_id, exc_info=exc)
    if isinstance(exc, OUTAGE_ERRORS):
        sentence = "The service is temporarily unavailable. Try again in a moment"
        return Failure("unavailable", f"{sentence} (error {error_id}).")
    return Failure("internal_error", f"Something went wrong on our side (error {error_id}).")
