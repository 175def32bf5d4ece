"""The address that Prometheus reads."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from assistant.services.tenancy.authentication import bearer_of


@require_safe
@never_cache
def metrics_page(request: HttpRequest) -> HttpResponse:
    """Return the metrics of this process to callers with the `ASSISTANT_METRICS_TOKEN`; answer 404 to others."""
    token = bearer_of(request.headers)
    if not settings.ASSISTANT_METRICS_TOKEN or not constant_time_compare(token or "", settings.ASSISTANT_METRICS_TOKEN):
        return HttpResponse(status=404)
    # The package takes a part of the time that a process needs to start.
    from assistant.contrib.metrics.prometheus import CONTENT_TYPE, exposition

    return HttpResponse(exposition(), content_type=CONTENT_TYPE)
