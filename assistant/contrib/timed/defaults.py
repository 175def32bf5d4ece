"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether members can schedule questions to assistants, and whether alarms ring.
SCHEDULES = ENVIRONMENT.flag("SCHEDULES", True)
ALARMS_RING = ENVIRONMENT.flag("ALARMS_RING", True)

__all__ = ["ALARMS_RING", "SCHEDULES"]
