"""Maps Anthropic's errors to errors with sentences that are safe to show to users.

Source: https://platform.claude.com/docs/en/api/errors
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.core.llm.protocol import ModelError
from assistant.providers.openai_wire.error_sentences import failure, status_in
from assistant.toolkit.translation import gettext_noop

OVERLOADED = gettext_noop("The provider is overloaded. Try again later.")
NO_KEY = "Anthropic needs a key: set ANTHROPIC_API_KEY, or the key of the provider in the admin."
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def failure_of(status: int | None, reported: Any, *, request_id: str = "") -> ModelError:
    """Return the error to raise for an error object of Anthropic's.

    Args:
        status: the HTTP status; None for an event of a stream, whose type says it.
        reported: the object with `type` and `message`, or a text.
    """
    found: Mapping[str, Any] = reported if isinstance(reported, Mapping) else {"message": reported}
    kind, said = str(found.get("type") or ""), found.get("message")
    status = status or _STATUSES.get(kind) or status_in(found.get("status"), found.get("code"))
    error = failure(status, kind, said=said if isinstance(said, str) else "", request_id=request_id)
    if status == 529 and error.kind == "down":
        overloaded = ModelError(OVERLOADED, kind="busy")
        overloaded.details = error.details
        return overloaded
    return error
