"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether each process measures how long its event loop is held, and names the task that holds it.
ASSISTANT_LOOP_WATCH = ENVIRONMENT.flag("ASSISTANT_LOOP_WATCH", True)

__all__ = ["ASSISTANT_LOOP_WATCH"]
