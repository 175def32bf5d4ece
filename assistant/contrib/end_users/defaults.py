"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether members who are signed in to the project get tokens for the widget.
ASSISTANT_MEMBER_TOKENS = ENVIRONMENT.flag("ASSISTANT_MEMBER_TOKENS", True)

__all__ = ["ASSISTANT_MEMBER_TOKENS"]
