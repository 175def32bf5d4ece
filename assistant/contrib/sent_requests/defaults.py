"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether whole prompts and replies are logged (assistant.client.PromptLog).
ASSISTANT_LOG_PROMPTS = ENVIRONMENT.flag("ASSISTANT_LOG_PROMPTS", False)

__all__ = ["ASSISTANT_LOG_PROMPTS"]
