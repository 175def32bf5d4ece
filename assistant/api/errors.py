"""Turns exceptions into the API's error body: `code`, `message`, `fields`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from assistant.api.authentication import HttpRefusal, not_found, refusal_of_access
from assistant.services.errors import RETRY_AFTER_SECONDS, Refused, log_failure
from assistant.services.runs.idempotency import KeyReused
from assistant.services.tenancy.authentication import AccessDenied

logger = logging.getLogger(__name__)

# The status for each code of a refused run.
STATUS_OF_REFUSAL = {
    "invalid_input": 400,
    "attachment_refused": 400,
    "approval_forbidden": 403,
    "test_forbidden": 403,
    "thread_not_found": 404,
    "thread_busy": 409,
    "limit_reached": 429,
    "quota_exceeded": 429,
}
CODE_OF_STATUS = {405: "method_not_allowed", 413: "too_large", 415: "unsupported_media_type", 429: "too_many_requests"}


def refusal_of(exc: Exception) -> HttpRefusal:
    """Return the error response for an exception; unexpected ones are logged with an id."""
    if isinstance(exc, HttpRefusal):
        return exc
    if isinstance(exc, AccessDenied):
        return refusal_of_access(exc)
    if isinstance(exc, Refused):
        return HttpRefusal(STATUS_OF_REFUSAL.get(exc.code, 400), exc.code, str(exc), retry_after=exc.retry_after)
    if isinstance(exc, KeyReused):
        return HttpRefusal(409, "idempotency_conflict", str(exc))
    if isinstance(exc, Http404 | exceptions.NotFound):
        return not_found()
    if isinstance(exc, exceptions.ValidationError):
        fields = dict(_fields(exc.detail, ""))
        return HttpRefusal(400, "invalid_input", "Some of the input is not valid.", fields)
    if isinstance(exc, exceptions.APIException):
        code = CODE_OF_STATUS.get(exc.status_code, "invalid_input")
        return HttpRefusal(exc.status_code, code, str(exc.detail))
    failure = log_failure(logger, exc, "A request failed")
    retry_after = RETRY_AFTER_SECONDS if failure.is_outage else None
    return HttpRefusal(failure.status, failure.code, failure.message, retry_after=retry_after)


def answer_error(exc: Exception, context: dict[str, Any]) -> Response:
    """Return the response to an exception. Django REST framework calls this."""
    refusal = refusal_of(exc)
    return Response(refusal.body, status=refusal.status, headers=refusal.headers)


def _fields(detail: Any, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the messages of a validation error by the path of their field, such as `decisions.0.approved`."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            own = "" if name == "non_field_errors" else str(name)
            yield from _fields(inner, ".".join(part for part in (path, own) if part))
    elif isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        for number, inner in enumerate(detail):
            yield from _fields(inner, f"{path}.{number}" if path else str(number))
    else:
        yield path or "body", [str(item) for item in (detail if isinstance(detail, list) else [detail])]
