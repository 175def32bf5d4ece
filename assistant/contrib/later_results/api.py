"""Takes results of tool calls that come later, from systems that have a call's token."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from assistant.api.authentication import HttpRefusal
from assistant.api.errors import refusal_of
from assistant.api.parsers import object_of
from assistant.contrib.later_results.services.arrivals import ArrivalRefused, Reason, deliver

STATUS: Mapping[Reason, int] = {
    "not_found": 404,
    "already_answered": 409,
    "wait_over": 410,
    "invalid_input": 400,
    "too_many_requests": 429,
}
RETRY_AFTER_SECONDS = 10


# Cookies are ignored: the token is the credential.
@csrf_exempt
def pending_result(request: HttpRequest, tenant: str, token: str) -> HttpResponse:
    """Take the result of a call: `{"result": ...}`, or `{"error": "..."}`. Answers 202."""
    if request.method != "POST":
        return _unlogged(HttpRefusal(405, "method_not_allowed", "A result is sent with POST.").response())
    try:
        value, is_error = _result_of(request)
        deliver(tenant_slug=tenant, token=token, value=value, is_error=is_error)
    except ArrivalRefused as exc:
        seconds = RETRY_AFTER_SECONDS if exc.reason == "too_many_requests" else None
        return _unlogged(HttpRefusal(STATUS[exc.reason], exc.reason, str(exc), retry_after=seconds).response())
    except Exception as exc:
        return _unlogged(refusal_of(exc).response())
    return HttpResponse(status=202)


def _unlogged(response: HttpResponse) -> HttpResponse:
    """Keep Django from logging the refused request, because its address holds the token."""
    response._has_been_logged = True  # type: ignore[attr-defined]  # django.utils.log.log_response looks at it
    return response


def _result_of(request: HttpRequest) -> tuple[object, bool]:
    body = object_of(request)
    if set(body) == {"result"}:
        return body["result"], False
    if set(body) == {"error"} and isinstance(body["error"], str) and body["error"].strip():
        return body["error"], True
    raise HttpRefusal(400, "invalid_input", 'The body must be {"result": ...} or {"error": "..."}.')
