"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether members can schedule questions to assistants. Those that exist wait while it is off, as in an incident.
ASSISTANT_SCHEDULES = ENVIRONMENT.flag("ASSISTANT_SCHEDULES", True)

__all__ = ["ASSISTANT_SCHEDULES"]
