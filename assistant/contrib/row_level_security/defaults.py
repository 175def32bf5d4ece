"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether PostgreSQL limits statements to the visible tenants, by the policies of `assistant_row_level_security`.
ASSISTANT_ROW_LEVEL_SECURITY = ENVIRONMENT.flag("ASSISTANT_ROW_LEVEL_SECURITY")

# Without the app, a site that asks for the second defence has none.
PROTECTING = ("ASSISTANT_ROW_LEVEL_SECURITY",)

__all__ = ["ASSISTANT_ROW_LEVEL_SECURITY"]
