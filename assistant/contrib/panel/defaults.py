"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether server processes keep sums of days, which pages then read in place of the rows of days that are over.
ASSISTANT_PANEL_SUMS = ENVIRONMENT.flag("ASSISTANT_PANEL_SUMS", True)

__all__ = ["ASSISTANT_PANEL_SUMS"]
