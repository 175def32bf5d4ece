"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether a change set begins only once an operator has approved it who did not submit it.
ASSISTANT_CHANGE_SETS_BY_TWO = ENVIRONMENT.flag("ASSISTANT_CHANGE_SETS_BY_TWO", False)

# Without them a site is less safe.
PROTECTING = ("ASSISTANT_CHANGE_SETS_BY_TWO",)

__all__ = ["ASSISTANT_CHANGE_SETS_BY_TWO"]
