"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# For how many days an invitation to a tenant can be accepted; 0: nobody can be invited.
ASSISTANT_INVITATION_DAYS = ENVIRONMENT.number("ASSISTANT_INVITATION_DAYS", 7)

__all__ = ["ASSISTANT_INVITATION_DAYS"]
