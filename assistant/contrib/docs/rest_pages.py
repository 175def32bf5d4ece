"""Serves the OpenAPI schema of the REST API, and Swagger UI from local files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from assistant.api.authentication import not_found

SWAGGER_UI = "static/drf_spectacular_sidecar/swagger-ui-dist"
ASSETS = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon-32x32.png": "image/png",
}


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """Serve the OpenAPI schema as JSON. It needs no sign-in, because it contains nothing of tenants."""
    # Its import takes long, and only this view needs it.
    from assistant.contrib.docs.rest_schema import api_document

    return JsonResponse(
        api_document(), content_type="application/vnd.oai.openapi+json", json_dumps_params={"indent": 2}
    )


@require_safe
def pages(request: HttpRequest) -> HttpResponse:
    """Serve Swagger UI for the schema."""
    return render(request, "assistant/docs/rest.html")


@require_safe
@cache_control(max_age=86400)
def asset(request: HttpRequest, name: str) -> HttpResponseBase:
    """Serve a file of Swagger UI from its package, which a host project need not install as an app."""
    package = find_spec("drf_spectacular_sidecar")
    if name not in ASSETS or package is None or package.origin is None:
        return not_found().response()
    return FileResponse((Path(package.origin).parent / SWAGGER_UI / name).open("rb"), content_type=ASSETS[name])
