"""What the OpenAPI schema says of operations: summaries, examples of bodies, and the possible errors.

`assistant.contrib.docs` makes the schema of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assistant.api.fields import MESSAGE_ID, SLUG, TEXT
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


@dataclass(frozen=True)
class Parameter:
    """A parameter in a URL's path, or a header that may be sent.

    Attributes:
        example: a value of it.
        schema: the JSON Schema of its values, which are texts unless it says otherwise.
    """

    description: str
    example: Any
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """What the OpenAPI schema says of one method of an address.

    Attributes:
        path: the parameters in the URL's path, after the tenant.
        body: the serializer or JSON Schema of the request body, which is of the media type `body_type`; `example` is an
            example of it.
        query: the serializer of the query string.
        headers: headers that may be sent, by their names.
        responses: the serializer or JSON Schema and an example of each response, by status or by status and media type.
            None: no body.
        conflicts: the codes of 409 responses, each with a message; the code for `Idempotency-Key` is added.
        is_idempotent: the operation accepts an `Idempotency-Key`.
    """

    summary: str
    responses: Mapping[Any, tuple[Any, Any]]
    tag: str
    path: Sequence[str] = ()
    body: Any = None
    body_type: str = "application/json"
    example: Any = None
    query: Any = None
    headers: Mapping[str, Parameter] = field(default_factory=dict)
    conflicts: Mapping[str, str] = field(default_factory=dict)
    is_idempotent: bool = False
    description: str = ""


PATH_PARAMETERS = {
    "tenant": Parameter("The tenant's slug.", "acme", {"pattern": SLUG}),
    "assistant": Parameter("The assistant's slug.", "support", {"pattern": SLUG}),
    "thread": Parameter("The conversation's id.", THREAD, {"format": "uuid"}),
    "share": Parameter("The link's id.", "0d9f4f0c-9a55-4c0c-a9e8-8f3a3b1f6a52", {"format": "uuid"}),
    "message_id": Parameter("The message's id.", "msg-2", {"pattern": MESSAGE_ID}),
    "run_id": Parameter("The run's id.", "run-1", {"pattern": TEXT, "minLength": 1, "maxLength": MAX_CLIENT_ID}),
    "attachment": Parameter("The file's id.", THREAD, {"format": "uuid"}),
}


def describe_parameter(name: str, description: str, *, example: Any, schema: Mapping[str, Any]) -> None:
    """Describe a parameter in the paths of an optional app, which `operation` can name from then on."""
    PATH_PARAMETERS[name] = Parameter(description, example, schema)


def operation(summary: str, **described: Any) -> Callable[[F], F]:
    """Describe a view's method in the OpenAPI schema, by the attributes of an `Operation`."""
    said = Operation(summary, **described)

    def with_operation(method: F) -> F:
        method.operation = said  # type: ignore[attr-defined]
        return method

    return with_operation
