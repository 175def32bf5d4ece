"""Answers 503 for pages of the site while the database or Redis is away."""

from __future__ import annotations

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from assistant.services.errors import OUTAGE_ERRORS, RETRY_AFTER_SECONDS


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 for an outage and 500 otherwise. Django calls this `handler500` while it handles the exception."""
    if not isinstance(sys.exc_info()[1], OUTAGE_ERRORS):
        return defaults.server_error(request)
    response = defaults.server_error(request, "503.html")
    response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response
