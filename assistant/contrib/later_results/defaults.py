"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether tools can wait for results from outside.
ASSISTANT_PENDING_CALLS = ENVIRONMENT.flag("ASSISTANT_PENDING_CALLS", True)

__all__ = ["ASSISTANT_PENDING_CALLS"]
