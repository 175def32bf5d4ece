"""The error for refused requests; in its own module, so that importing it does not import the openai package."""

from __future__ import annotations

import re

from assistant.core.llm.protocol import ModelError

OPENAI_URL = "https://api.openai.com/v1"
# What providers name when they refuse one particular schema, not schemas as such: `format.schema: For 'integer' type,
# ...`.
_OF_ONE_SCHEMA = re.compile(
    r"schema\s*[.:\[]\s*\w|propert|\$(?:ref|defs)|\b(?:any|all|one)Of\b|\benum\b|'\w+' type|invalid (?:value|schema)"
    r"|schema (?:is|has|exceeds)|too (?:complex|large|deep|long|many)|\bnest|\brecurs|\bgrammar",
    re.IGNORECASE,
)


class Refusal(ModelError):
    """The server rejected the request (status 400 or 422); `reason` is its own text, not for users."""

    def __init__(self, error: ModelError, reason: str) -> None:
        super().__init__(str(error), error.code, kind=error.kind)
        self.details, self.failed_call = error.details, error.failed_call
        self.reason = reason
        for note in getattr(error, "__notes__", ()):
            self.add_note(note)


def is_about_schema(reason: str) -> bool:
    """Return whether a refusal is about one particular schema: its contents, size or depth."""
    return _OF_ONE_SCHEMA.search(reason) is not None


def in_stream(error: ModelError) -> ModelError:
    """Return a failure of a response with status 200 as the error that its own status, if any, would have been."""
    details = error.details
    if details is None or details.status not in (None, 400, 422) or error.kind not in ("", "down"):
        return error
    refusal = Refusal(error, details.message)
    refusal.kind = ""
    return refusal
