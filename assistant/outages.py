"""The site's pages while the database or Redis is away: said as it is, and to be asked for again."""

from __future__ import annotations

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from assistant.services.errors import OUTAGE_ERRORS, RETRY_AFTER_SECONDS


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`, which is called while the exception is handled, and after it was logged."""
    if not isinstance(sys.exc_info()[1], OUTAGE_ERRORS):
        return defaults.server_error(request)
    answer = defaults.server_error(request, "503.html")
    answer.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    answer["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return answer
