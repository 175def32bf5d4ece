"""Describes operations in the OpenAPI schema: summaries, examples of bodies, and the possible errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.serializers import CharField, ListField

from assistant.api.fields import MESSAGE_ID, SLUG, TEXT
from assistant.api.serializers import Error
from assistant.services.runs.input.ids import MAX_CLIENT_ID
from assistant.services.text import INTEGERS

F = TypeVar("F", bound=Callable[..., Any])

THREAD = "0190e0c5-6b0e-7c3a-9d4e-0a1b2c3d4e5f"
CONVERSATION = {
    "id": THREAD,
    "title": "Return of an umbrella",
    "assistant": "support",
    "is_archived": False,
    "tools_off": [],
    "message_count": 2,
    "created_at": "2026-11-21T09:30:00Z",
    "updated_at": "2026-11-21T09:30:04Z",
}
MESSAGE = {
    "id": "msg-2",
    "run": "run-1",
    "role": "assistant",
    "content": "You have 30 days to return it.",
    "reasoning": "",
    "tool_calls": [],
    "tool_call_id": "",
    "is_partial": False,
    "is_superseded": False,
    "cut_reason": "",
    "attachments": [],
    "versions": None,
    "created_at": "2026-11-21T09:30:04Z",
    "feedback": {"rating": 1, "comment": ""},
    "added": {},
}
APPROVAL = {
    "call_id": "call_1",
    "run": "run-1",
    "conversation": THREAD,
    "assistant": "support",
    "tool": "cancel_order",
    "arguments": '{"order_id": 7}',
    "rule": "Set to ask first for the tenant.",
    "asked_at": "2026-11-21T09:30:02Z",
}
RUN = {
    "id": "run-1",
    "conversation": THREAD,
    "assistant": "support",
    "status": "finished",
    "text": "You have 30 days to return it.",
    "messages": [MESSAGE],
    "approvals": [],
    "error_code": "",
    "error_message": "",
    "model": "gpt-4.1-mini",
    "input_tokens": 812,
    "output_tokens": 11,
    "started_at": "2026-11-21T09:30:01Z",
    "ended_at": "2026-11-21T09:30:04Z",
}

ERRORS: Mapping[int, tuple[str, str]] = {
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
KEY_REUSED = {"idempotency_conflict": "This Idempotency-Key was sent before, with another request."}
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": "^[!-~]{1,255}$"},
    OpenApiParameter.HEADER,
    required=False,
    description="The same key and body again within a day get the same answer, and nothing is done twice.",
    examples=[OpenApiExample("a key", value="order-4711-question-1")],
)
_PATH: dict[str, tuple[str, Any]] = {
    "tenant": ("The tenant's slug.", "acme"),
    "assistant": ("The assistant's slug.", "support"),
    "thread": ("The conversation's id.", THREAD),
    "share": ("The link's id.", "0d9f4f0c-9a55-4c0c-a9e8-8f3a3b1f6a52"),
    "message_id": ("The message's id.", "msg-2"),
    "run_id": ("The run's id.", "run-1"),
    "attachment": ("The file's id.", THREAD),
}
_PATH_SCHEMAS: dict[str, Mapping[str, Any]] = {
    "tenant": {"pattern": SLUG},
    "assistant": {"pattern": SLUG},
    "message_id": {"pattern": MESSAGE_ID},
    "run_id": {"pattern": TEXT, "minLength": 1, "maxLength": MAX_CLIENT_ID},
}
POSITIVE_INTEGER: Mapping[str, Any] = {"type": "integer", "minimum": 1, "exclusiveMaximum": INTEGERS.stop}
# The component of values that no field describes, such as the arguments of tools.
ANY_JSON = {"$ref": "#/components/schemas/AnyJson"}
ANY_JSON_SCHEMA = {
    "description": "Any JSON value. Texts hold no NUL, and numbers fit into 64 bits.",
    "type": ["string", "number", "boolean", "null", "array", "object"],
    "pattern": TEXT,
    "minimum": INTEGERS.start,
    "exclusiveMaximum": INTEGERS.stop,
    "items": ANY_JSON,
    "propertyNames": {"pattern": TEXT},
    "additionalProperties": ANY_JSON,
}
ANY_OBJECT = {"type": "object", "propertyNames": {"pattern": TEXT}, "additionalProperties": ANY_JSON}


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
        return {**described, **ANY_OBJECT, **self.target.constraints}


class _AnyObject(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # of drf-spectacular
    target_class = "assistant.api.fields.JsonObject"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        return dict(ANY_OBJECT)


def path_parameter(name: str) -> OpenApiParameter:
    """Return the description of a parameter in the URL's path."""
    description, value = _PATH[name]
    schema = {"type": "string", **_PATH_SCHEMAS.get(name, {"format": "uuid"})}
    return OpenApiParameter(
        name, schema, OpenApiParameter.PATH, description=description, examples=[OpenApiExample(name, value=value)]
    )


def _error(code: str, message: str, **options: Any) -> OpenApiExample:
    return OpenApiExample(code, value={"code": code, "message": message, "fields": {}}, **options)


class _WithScope(AutoSchema):
    """Adds an example of a 403 that names the required scope."""

    def get_examples(self) -> list[OpenApiExample]:
        sentence = f"This key has no {self.view.rule_of(self.method)} scope."  # type: ignore[attr-defined]
        refused = _error("forbidden", sentence, response_only=True, status_codes=["403"])
        return [*super().get_examples(), refused]


def describe_parameter(name: str, description: str, *, example: Any, schema: Mapping[str, Any]) -> None:
    """Describe a parameter in the paths of an optional app, which `operation` can name from then on."""
    _PATH[name] = (description, example)
    _PATH_SCHEMAS[name] = schema


def operation(
    summary: str,
    *,
    path: Sequence[str] = (),
    body: Any = None,
    body_type: str = "application/json",
    example: Any = None,
    query: Any = None,
    responses: Mapping[Any, tuple[Any, Any]],
    conflicts: Mapping[str, str] | None = None,
    tag: str,
    is_idempotent: bool = False,
    description: str = "",
) -> Callable[[F], F]:
    """Describe one operation in the OpenAPI schema.

    Args:
        path: the parameters in the URL's path, after the tenant.
        body: the serializer of the request body, which is of the media type `body_type`; `example` is an example of it.
        query: the serializer of the query string.
        responses: the serializer and an example of each response, by status or by status and media type. None: no body.
        conflicts: the codes of 409 responses, each with a message; the code for `Idempotency-Key` is added.
        is_idempotent: the operation accepts an `Idempotency-Key`.
    """
    documented: dict[int | tuple[int, str], Any] = {
        status: OpenApiResponse(shape, examples=[] if shape is None else [OpenApiExample("answer", value=sample)])
        for status, (shape, sample) in responses.items()
    }
    conflicts = {**(conflicts or {}), **(KEY_REUSED if is_idempotent else {})}
    errors = {status: [_error(*ERRORS[status])] for status in (400, 401, 404, 429, *((413, 415) if body else ()))}
    # Its example comes from `_WithScope`.
    errors[403] = []
    if conflicts:
        errors[409] = [_error(*conflict) for conflict in conflicts.items()]
    for status, examples in sorted(errors.items()):
        documented[status] = OpenApiResponse(Error, examples=examples)
    described: Callable[[F], F] = extend_schema(
        operation_id=summary.lower().replace(" ", "_").replace("'", ""),
        summary=summary,
        description=description or f"{summary}.",
        tags=[tag],
        request={body_type: body} if body else None,
        responses=documented,
        parameters=[
            *(path_parameter(name) for name in ("tenant", *path)),
            *([query] if query else []),
            *([IDEMPOTENCY_KEY] if is_idempotent else []),
        ],
        examples=[OpenApiExample("request", value=example, request_only=True, media_type=body_type)]
        if example is not None
        else None,
    )

    def with_schema(view: F) -> F:
        # `extend_schema` subclasses what it finds here; a host project's default may not be drf-spectacular's class.
        view.schema = _WithScope()  # type: ignore[attr-defined]
        found = described(view)
        del view.schema  # type: ignore[attr-defined]
        return found

    return with_schema
