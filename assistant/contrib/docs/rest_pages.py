"""Serves the OpenAPI schema of the REST API, and Swagger UI from local files."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import patched_settings

from assistant import optional_apps
from assistant.api.authentication import not_found
from assistant.api.openapi import ANY_JSON_SCHEMA

# Not in Django's settings, where a host project configures its own schema.
SETTINGS: dict[str, Any] = {
    "TITLE": "Tenant Assistant",
    "DESCRIPTION": "Assistants, conversations and runs of one tenant, for one of its members.",
    "VERSION": "1",
    # Names of properties have patterns since 3.1.
    "OAS_VERSION": "3.1.0",
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,
    "SORT_OPERATIONS": False,
    "APPEND_COMPONENTS": {
        "schemas": {"AnyJson": ANY_JSON_SCHEMA},
        "securitySchemes": {
            "apiKey": {"type": "http", "scheme": "bearer", "description": "An API key of one member of the tenant."}
        },
    },
    "SECURITY": [{"apiKey": []}],
    "PREPROCESSING_HOOKS": ["assistant.contrib.docs.rest_pages.only_ours"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "assistant.contrib.docs.rest_pages.add_common_parts",
    ],
    "ENUM_NAME_OVERRIDES": {"RunStatus": "assistant.models.runs.Run.Status"},
}
# Where views are whose operations the schema describes.
OURS = ("assistant.api.", "assistant.contrib.")
SWAGGER_UI = "static/drf_spectacular_sidecar/swagger-ui-dist"
ASSETS = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon-32x32.png": "image/png",
}
# drf-spectacular's settings are patched for the whole process while the schema is generated.
_generation_lock = Lock()


def api_document() -> dict[str, Any]:
    """Return the OpenAPI schema."""
    with _generation_lock:
        return _document()


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    enum_names = SETTINGS["ENUM_NAME_OVERRIDES"] | {
        name: choices for app in optional_apps.installed() for name, choices in app.enum_names.items()
    }
    with patched_settings({**SETTINGS, "ENUM_NAME_OVERRIDES": enum_names}):
        made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """Serve the OpenAPI schema as JSON. It needs no sign-in, because it contains nothing of tenants."""
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
    package = find_spec("drf_spectacular_sidecar")  # of the extra `api-docs`
    if name not in ASSETS or package is None or package.origin is None:
        return not_found().response()
    return FileResponse((Path(package.origin).parent / SWAGGER_UI / name).open("rb"), content_type=ASSETS[name])


def only_ours(endpoints: list[Any], **_options: Any) -> list[Any]:
    """Leave out the views of a host project."""
    return [endpoint for endpoint in endpoints if endpoint[3].__module__.startswith(OURS)]


def add_common_parts(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add the common error response to every operation."""
    error = {"description": "Any other error.", "content": _as_json({"$ref": "#/components/schemas/Error"})}
    for path in result["paths"].values():
        for operation in path.values():
            operation["responses"]["default"] = error
            if "requestBody" in operation:
                operation["requestBody"]["required"] = True
    return result


def _as_json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
