"""The assistant below one address, where the project has a page too."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt
def size(request: HttpRequest) -> HttpResponse:
    """The project's own page that takes files."""
    return HttpResponse(f"{len(request.read())} bytes")


urlpatterns = [
    path("size/", size),
    path("help/mcp/", lambda request: HttpResponse("the project's own")),
    path("help/", include("assistant.urls")),
]
