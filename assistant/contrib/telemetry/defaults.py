"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether spans contain messages, arguments and results, and not just names, tokens and durations.
ASSISTANT_TRACE_CONTENT = ENVIRONMENT.flag("ASSISTANT_TRACE_CONTENT")

__all__ = ["ASSISTANT_TRACE_CONTENT"]
