"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# What all hostile checks of an assistant may cost in one run, in the currency of the prices; 0: no limit but the
# tenant's.
ASSISTANT_HOSTILE_CHECKS_MAX_COST = ENVIRONMENT.number("ASSISTANT_HOSTILE_CHECKS_MAX_COST", 5)

__all__ = ["ASSISTANT_HOSTILE_CHECKS_MAX_COST"]
