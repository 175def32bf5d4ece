"""The error for refused requests; in its own module, so that importing it does not import the openai package."""

from __future__ import annotations

from assistant.core.llm.protocol import ModelError

OPENAI_URL = "https://api.openai.com/v1"


class Refusal(ModelError):
    """The server rejected the request (status 400 or 422); `reason` is its own text, not for users."""

    def __init__(self, error: ModelError, reason: str) -> None:
        super().__init__(str(error), error.code, kind=error.kind)
        self.details, self.failed_call = error.details, error.failed_call
        self.reason = reason
        for note in getattr(error, "__notes__", ()):
            self.add_note(note)
