"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# What all costs are in: the currency of the prices that the providers' pages and the price list hold.
ASSISTANT_CURRENCY = ENVIRONMENT.text("ASSISTANT_CURRENCY", "USD")
# Whether server processes keep sums of days, which pages then read in place of the rows of days that are over.
ASSISTANT_PANEL_SUMS = ENVIRONMENT.flag("ASSISTANT_PANEL_SUMS", True)

__all__ = ["ASSISTANT_CURRENCY", "ASSISTANT_PANEL_SUMS"]
