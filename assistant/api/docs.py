"""The REST API's own description: its OpenAPI schema, and pages to read and try it, from local files."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularJSONAPIView

from assistant.api.callers import not_found


class Schema(SpectacularJSONAPIView):
    """The OpenAPI schema, as JSON; open to all, for it tells of no tenant."""

    authentication_classes = ()
    permission_classes = ()


@require_safe
def pages(request: HttpRequest) -> HttpResponse:
    """Swagger UI on the schema."""
    return render(request, "api/docs.html")


@csrf_exempt
def nothing_here(request: HttpRequest) -> HttpResponse:
    """An address that the API does not have."""
    return not_found().response()


def add_common_parts(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Finishes the schema: whatever else goes wrong has the shape of an error too."""
    error = {"description": "Any other error.", "content": _as_json({"$ref": "#/components/schemas/Error"})}
    for path in result["paths"].values():
        for operation in path.values():
            operation["responses"]["default"] = error
    return result


def _as_json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
