"""What optional apps say of their REST operations: summaries, examples of bodies, and the possible errors.

`assistant.contrib.docs` makes the OpenAPI schema of it, and of what it says of the core's operations itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assistant.services.text import INTEGERS

F = TypeVar("F", bound=Callable[..., Any])

POSITIVE_INTEGER: Mapping[str, Any] = {"type": "integer", "minimum": 1, "exclusiveMaximum": INTEGERS.stop}


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


# Of optional apps, by their names.
PATH_PARAMETERS: dict[str, Parameter] = {}


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
