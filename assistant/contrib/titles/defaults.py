"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether models are asked for titles of conversations, and for follow-up questions, where assistants have that on.
ASSISTANT_GENERATED_TITLES = ENVIRONMENT.flag("ASSISTANT_GENERATED_TITLES", True)
ASSISTANT_FOLLOW_UP_QUESTIONS = ENVIRONMENT.flag("ASSISTANT_FOLLOW_UP_QUESTIONS", True)

__all__ = ["ASSISTANT_FOLLOW_UP_QUESTIONS", "ASSISTANT_GENERATED_TITLES"]
