"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether models are asked for titles of conversations, where assistants have that on.
ASSISTANT_GENERATED_TITLES = ENVIRONMENT.flag("ASSISTANT_GENERATED_TITLES", True)

__all__ = ["ASSISTANT_GENERATED_TITLES"]
