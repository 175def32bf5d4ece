"""What a server says no to, apart from the package that asks it."""

from __future__ import annotations

from assistant.core.llm.protocol import ModelError

OPENAI_URL = "https://api.openai.com/v1"


class Refusal(ModelError):
    """The server cannot read the request (status 400 or 422); `reason` is its own text, and not for users."""

    def __init__(self, error: ModelError, reason: str) -> None:
        super().__init__(str(error), error.code)
        self.reason = reason
        for note in getattr(error, "__notes__", ()):
            self.add_note(note)
