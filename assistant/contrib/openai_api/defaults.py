"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether programs can use the Responses API of /v1, with its conversations and its websocket; chat completions stay.
ASSISTANT_RESPONSES_API = ENVIRONMENT.flag("ASSISTANT_RESPONSES_API", True)

__all__ = ["ASSISTANT_RESPONSES_API"]
