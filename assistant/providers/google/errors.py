"""Maps Google's errors to errors with sentences that are safe to show to users.

Source: https://ai.google.dev/gemini-api/docs/troubleshooting and google.rpc.Code
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assistant.core.llm.protocol import ModelError
from assistant.providers.openai_wire.error_sentences import failure

NO_KEY = "Google Gemini needs a key: set GEMINI_API_KEY, or the key of the provider in the admin."
_STATUSES = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_SECONDS = re.compile(r"(\d{1,6}(?:\.\d+)?)s")


def failure_of(status: int | None, reported: Any, *, request_id: str = "") -> ModelError:
    """Return the error to raise for an error object of Google's.

    Args:
        status: the HTTP status; None for an event of a stream, which says it itself.
        reported: the object with `code`, `status` and `message`, alone or as the field `error`, or a text.
    """
    found = _error(reported)
    code, name, said = found.get("code"), str(found.get("status") or ""), found.get("message")
    status = status or (code if isinstance(code, int) else None) or _STATUSES.get(name)
    reasons = [str(detail["reason"]) for detail in _details(found) if detail.get("reason")]
    if "API_KEY_INVALID" in reasons:  # which has the status 400
        status = 401
    return failure(status, name, *reasons, said=said if isinstance(said, str) else "", request_id=request_id)


def retry_delay(reported: Any) -> float | None:
    """Return the seconds after which a request may be sent again; None if the error does not say it."""
    for detail in _details(_error(reported)):
        if found := _SECONDS.fullmatch(str(detail.get("retryDelay") or "")):
            return float(found[1])
    return None


def _error(reported: Any) -> Mapping[str, Any]:
    if isinstance(reported, list) and reported:
        reported = reported[0]
    if isinstance(reported, Mapping):
        inner = reported.get("error")
        return inner if isinstance(inner, Mapping) else reported
    return {"message": reported}


def _details(error: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    details = error.get("details")
    for detail in details[:20] if isinstance(details, list) else ():
        if isinstance(detail, Mapping):
            yield detail
