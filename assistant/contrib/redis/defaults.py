"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()
REDIS_SCHEMES = ("redis", "rediss", "unix")

# The Redis that several server processes share. Without it there can be only one process.
ASSISTANT_REDIS_URL = ENVIRONMENT.url("ASSISTANT_REDIS_URL", schemes=REDIS_SCHEMES)

__all__ = ["ASSISTANT_REDIS_URL"]
# Without the app, each of several processes would have a log and counts of its own.
PROTECTING = ("ASSISTANT_REDIS_URL",)
