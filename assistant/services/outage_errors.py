"""What is raised while the database or Redis does not work, for `except`; imports Redis' package if it is there."""

from __future__ import annotations

from assistant.services.errors import DATABASE_ERRORS

try:
    from redis.exceptions import ConnectionError as NoConnection
    from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError
    from redis.exceptions import TimeoutError as NoAnswer
except ImportError:  # without the extra `redis`

    class RedisError(Exception):  # type: ignore[no-redef]
        """Raised by nothing."""

    NoConnection = NoAnswer = OutOfMemoryError = ReadOnlyError = RedisError  # type: ignore[misc,assignment]

# Raised while Redis cannot be reached. uvloop raises RuntimeError for a write to a closed connection.
REDIS_ERRORS = (RedisError, OSError, RuntimeError)
# The database or Redis cannot be reached, refuses writes, or is too busy to answer; a retry may succeed.
OUTAGE_ERRORS = (*DATABASE_ERRORS, NoConnection, NoAnswer, OutOfMemoryError, ReadOnlyError)
