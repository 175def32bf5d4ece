"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Of one call: the time of its statements in seconds, the bytes of its rows, and what PostgreSQL may expect it to cost,
# in the planner's units.
ASSISTANT_DATA_SECONDS = ENVIRONMENT.number("ASSISTANT_DATA_SECONDS", 5, least=1)
ASSISTANT_DATA_BYTES = ENVIRONMENT.number("ASSISTANT_DATA_BYTES", 24_000, least=1_000)
ASSISTANT_DATA_COST = ENVIRONMENT.number("ASSISTANT_DATA_COST", 2_000_000, least=1)

__all__ = [
    "ASSISTANT_DATA_BYTES",
    "ASSISTANT_DATA_COST",
    "ASSISTANT_DATA_SECONDS",
]
