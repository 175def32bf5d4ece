"""What all addresses below /v1 share: API keys with their scopes, and errors in OpenAI's format."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from assistant.api.authentication import HttpRefusal, acaller_of, refusal_of_access
from assistant.api.parsers import check_texts
from assistant.contrib.openai_api.api.shapes import CompletionFailed, error
from assistant.contrib.openai_api.scopes import OPENAI as RULES
from assistant.contrib.openai_api.services.request_fields import InvalidRequest
from assistant.services.callers.doors import Door
from assistant.services.errors import Refused, log_failure
from assistant.services.limits.runs_at_once import TooManyRuns
from assistant.services.runs.idempotency import KeyReused
from assistant.services.tenancy.authentication import AccessDenied, CredentialKind

logger = logging.getLogger(__name__)

OPENAI = Door(frozenset({CredentialKind.API_KEY}))
View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]
# OpenAI's clients retry by themselves if `Retry-After` is at most this.
MAX_RETRY_SECONDS = 60


def endpoint(address: str, views: Mapping[str, View]) -> View:
    """Return the view of an address: the views of its methods, each for callers whose key has the scopes for it."""
    rules = RULES[address]

    @csrf_exempt
    @wraps(next(iter(views.values())))
    async def wrapped(request: HttpRequest, **values: Any) -> HttpResponseBase:
        method = request.method or ""
        if method not in views:
            allowed = ", ".join(views)
            return error(405, f"Only {allowed} is allowed.", code="method_not_allowed", headers={"Allow": allowed})
        try:
            check_texts([values, dict(request.GET)])
            caller = await acaller_of(request, rules[method], door=OPENAI)
            return await views[method](request, caller, **values)
        except Exception as exc:
            return answer_of(exc)

    return wrapped


def answer_of(exc: Exception) -> JsonResponse:
    """Return the error response for an exception; unexpected ones are logged with an id."""
    match exc:
        case AccessDenied():
            refusal = refusal_of_access(exc)
            return error(refusal.status, str(refusal), code=refusal.code, headers=refusal.headers)
        case HttpRefusal():
            return error(exc.status, str(exc), code=exc.code, headers=exc.headers)
        case InvalidRequest():
            return error(400, str(exc), code=exc.error_code, param=exc.param)
        case KeyReused():
            return error(409, str(exc), code="idempotency_conflict")
        case Refused():
            return _not_opened(exc)
        case CompletionFailed():
            return exc.response()
    failure = log_failure(logger, exc, "A request of the OpenAI-compatible API failed")
    return error(failure.status, failure.message, code=failure.code, headers=failure.headers)


def _not_opened(refusal: Refused) -> JsonResponse:
    """Answer a refused run. Clients may retry by themselves only if the wait is short."""
    seconds = refusal.retry_after
    if isinstance(refusal, TooManyRuns):
        return CompletionFailed("too_many_requests", str(refusal), retry_after=seconds).response()
    may_retry = seconds is None or seconds <= MAX_RETRY_SECONDS
    answer = CompletionFailed(refusal.code, str(refusal)).response(may_retry=may_retry)
    if seconds is not None:
        answer["Retry-After"] = str(seconds)
    return answer
