"""The OpenAPI schema of the REST API, made by drf-spectacular of what is said of its operations."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any, Literal

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.generators import EndpointEnumerator, SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.settings import patched_settings
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework.serializers import CharField, ListField

from assistant import optional_apps
from assistant.api import openapi
from assistant.api.base import TenantView
from assistant.api.fields import TEXT
from assistant.api.openapi import Operation, Parameter
from assistant.contrib.docs.operations.of_core import operation_of
from assistant.contrib.docs.operations.shapes import ANY_JSON_SCHEMA, ANY_OBJECT, PATH_PARAMETERS, Error

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
    "PREPROCESSING_HOOKS": [],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "assistant.contrib.docs.rest_schema.add_common_parts",
    ],
    "ENUM_NAME_OVERRIDES": {
        "RunStatus": "assistant.models.runs.Run.Status",
        "DocumentKind": "assistant.models.knowledge.Document.Kind",
    },
}
ERRORS = {
    400: ("invalid_input", "Some of the input is not valid."),
    401: ("unauthorized", "The API key is unknown, expired or revoked."),
    404: ("not_found", "There is no such thing here."),
    413: ("too_large", "A body holds at most 262144 bytes."),
    415: ("unsupported_media_type", "Unsupported media type in request."),
    429: (
        "too_many_requests",
        "This key may send 60 requests a minute. It may send more from 2026-11-21T09:31:00Z on.",
    ),
}
# What only requests with a body are answered with.
OF_BODIES = (413, 415)
KEY_REUSED = {"idempotency_conflict": "This Idempotency-Key was sent before, with another request."}
IDEMPOTENCY_KEY = Parameter(
    "The same key and body again within a day get the same answer, and nothing is done twice.",
    "order-4711-question-1",
    {"pattern": "^[!-~]{1,255}$"},
)
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
        made: dict[str, Any] = _Generator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


class _Endpoints(EndpointEnumerator):
    def should_include_endpoint(self, path: str, callback: Any) -> bool:
        """Leave out the views of a host project."""
        return issubclass(getattr(callback, "cls", object), TenantView)


class _Generator(SchemaGenerator):
    endpoint_inspector_cls = _Endpoints

    def create_view(self, callback: Any, method: str, request: Any = None) -> Any:
        view = super().create_view(callback, method, request)  # type: ignore[no-untyped-call]
        view.schema = _OperationSchema(operation_of(view, method.lower()))
        view.schema.view = view
        return view


class _OperationSchema(AutoSchema):
    """Describes a method by its `Operation`."""

    def __init__(self, operation: Operation) -> None:
        super().__init__()
        self._operation = operation

    def get_operation_id(self) -> str:
        return self._operation.summary.lower().replace(" ", "_").replace("'", "")

    def get_summary(self) -> str:
        return self._operation.summary

    def get_description(self) -> str:  # type: ignore[override]  # as in drf-spectacular
        return self._operation.description or f"{self._operation.summary}."

    def get_tags(self) -> list[str]:
        return [self._operation.tag]

    def get_override_parameters(self) -> list[Any]:
        said = self._operation
        headers = {**({"Idempotency-Key": IDEMPOTENCY_KEY} if said.is_idempotent else {}), **said.headers}
        described_of = {**PATH_PARAMETERS, **openapi.PATH_PARAMETERS}
        return [
            *(_parameter(name, described_of[name], "path") for name in ("tenant", *said.path)),
            *([said.query] if said.query else []),
            *(_parameter(name, described, "header") for name, described in headers.items()),
        ]

    def get_request_serializer(self) -> Any:
        said = self._operation
        return {said.body_type: said.body} if said.body else None

    def get_examples(self) -> list[OpenApiExample]:
        said = self._operation
        sentence = f"This key has no {self.view.rule_of(self.method)} scope."  # type: ignore[attr-defined]
        refused = _error("forbidden", sentence, response_only=True, status_codes=["403"])
        if said.example is None:
            return [refused]
        return [refused, OpenApiExample("request", said.example, request_only=True, media_type=said.body_type)]

    def get_response_serializers(self) -> Any:
        said = self._operation
        documented: dict[Any, OpenApiResponse] = {
            status: OpenApiResponse(shape, examples=[] if shape is None else [_answer(sample)])
            for status, (shape, sample) in said.responses.items()
        }
        errors = {status: [_error(*error)] for status, error in ERRORS.items() if said.body or status not in OF_BODIES}
        # Its example is among `get_examples`.
        errors[403] = []
        if conflicts := {**said.conflicts, **(KEY_REUSED if said.is_idempotent else {})}:
            errors[409] = [_error(*conflict) for conflict in conflicts.items()]
        return documented | {
            status: OpenApiResponse(Error, examples=examples) for status, examples in sorted(errors.items())
        }


def _answer(sample: Any) -> OpenApiExample:
    # drf-spectacular puts the example of a list into a list.
    return OpenApiExample("answer", value=sample[0] if isinstance(sample, list) else sample)


def _parameter(name: str, said: Parameter, location: Literal["path", "header"]) -> OpenApiParameter:
    return OpenApiParameter(
        name,
        {"type": "string", **said.schema},
        location,
        required=location == "path",
        description=said.description,
        examples=[OpenApiExample(name, value=said.example)],
    )


def _error(code: str, message: str, **options: Any) -> OpenApiExample:
    return OpenApiExample(code, value={"code": code, "message": message, "fields": {}}, **options)


class _Constraints(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # of drf-spectacular
    target_class = "assistant.api.serializers.ApiSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        described: dict[str, Any] = auto_schema._map_serializer(  # type: ignore[no-untyped-call]
            self.target, direction, bypass_extensions=True
        )
        if direction == "response":
            return described
        for name, field in self.target.fields.items():
            # Not by an extension for fields: drf-spectacular describes a blank text with a pattern as two texts.
            if isinstance(field, CharField):
                described["properties"][name]["pattern"] = getattr(field, "pattern", TEXT)
            elif isinstance(field, ListField) and isinstance(field.child, CharField):
                described["properties"][name]["items"]["pattern"] = getattr(field.child, "pattern", TEXT)
        # Unknown fields are ignored, but read.
        return {**described, **ANY_OBJECT, **self._changes(auto_schema), **self.target.constraints}

    def _changes(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """Return that a PATCH needs one of the fields, if it needs none of them by itself."""
        fields = self.target.fields
        if auto_schema.method != "PATCH" or any(field.required for field in fields.values()):
            return {}
        return {"anyOf": [{"required": [name]} for name in fields]}


class _AnyObject(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # of drf-spectacular
    target_class = "assistant.api.fields.JsonObject"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        return dict(ANY_OBJECT)


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
