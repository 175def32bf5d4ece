"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether members can schedule questions to assistants, and whether alarms ring.
ASSISTANT_SCHEDULES = ENVIRONMENT.flag("ASSISTANT_SCHEDULES", True)
ASSISTANT_ALARMS_RING = ENVIRONMENT.flag("ASSISTANT_ALARMS_RING", True)

__all__ = ["ASSISTANT_ALARMS_RING", "ASSISTANT_SCHEDULES"]
