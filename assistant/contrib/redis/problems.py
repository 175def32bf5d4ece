"""Why Redis could not store anything."""

from __future__ import annotations

import sys
from typing import Literal

RedisProblem = Literal["full", "read-only", "unreachable"]
# What logs say, for operators.
SENTENCES: dict[RedisProblem, str] = {
    "full": "Redis is full: it has reached maxmemory and may evict nothing",
    "read-only": "Redis is read-only: it is a replica, or its disk cannot be written",
    "unreachable": "Redis cannot be reached",
}
# Redis refuses writes with these while a snapshot cannot be stored, or while too few replicas are connected.
_UNWRITABLE = ("MISCONF", "NOREPLICAS")


def redis_problem(exc: BaseException | None) -> RedisProblem | None:
    """Return why Redis could not store anything; None for any other exception."""
    if sys.modules.get("redis") is None:
        return None  # the exception is none of its
    from redis.exceptions import ConnectionError as NoConnection
    from redis.exceptions import OutOfMemoryError, ReadOnlyError, ResponseError
    from redis.exceptions import TimeoutError as NoAnswer

    if isinstance(exc, OutOfMemoryError):
        return "full"
    if isinstance(exc, ReadOnlyError) or (isinstance(exc, ResponseError) and str(exc).startswith(_UNWRITABLE)):
        return "read-only"
    return "unreachable" if isinstance(exc, NoConnection | NoAnswer) else None


def sentence_of(exc: BaseException | None) -> str:
    """Return why Redis does not work, as a sentence for operators without its full stop; "" for other exceptions."""
    problem = redis_problem(exc)
    return SENTENCES[problem] if problem else ""
