"""Describes the websocket API as an AsyncAPI 3.0 document, generated from the types of its frames.

Source: https://www.asyncapi.com/docs/reference/specification/v3.0.0
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from ag_ui.core import RunAgentInput

from assistant.core.values.events import PROTOCOL_VERSION, AnyEvent, CallMetadata
from assistant.services.addresses import api_url
from assistant.websocket.added_frames import described_frames

Schema = dict[str, Any]

_REF = "#/components/schemas/"
_RUN_ID: Schema = {"type": "string", "pattern": "^[!-~]{1,128}$"}
_THREAD_ID: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_SEQ: Schema = {"type": "integer", "minimum": 0}
_METADATA: Schema = {
    "type": "object",
    "description": "Which event of which run this is; `seq` counts from 1 within the run, without "
    "gaps except where a snapshot replaces events.",
    "properties": {
        "run": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "thread": {"type": "string"}, "seq": _SEQ},
            "required": ["id", "thread", "seq"],
            "additionalProperties": False,
        },
        "tool": {"$ref": f"{_REF}CalledTool", "description": "At the start of a call, if its tool has a title."},
    },
    "required": ["run"],
    "additionalProperties": False,
}


def _frame(kind: str, required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    properties = {"type": {"const": kind}, **required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": ["type", *required]}


# The frames that clients send besides a RunAgentInput, with a description each.
_CLIENT_FRAMES: dict[str, tuple[str, Schema]] = {
    "attach": (
        "Catch up with a thread and follow it; without `after`, from a snapshot.",
        _frame(
            "attach",
            {"threadId": _THREAD_ID},
            {
                "after": {
                    "type": "object",
                    "properties": {"runId": _RUN_ID, "seq": _SEQ},
                    "required": ["runId", "seq"],
                },
                "render": {"const": "html"},
                "protocolVersion": {"type": "string"},
            },
        ),
    ),
    "cancel": ("Stop a run on the server.", _frame("cancel", {"runId": _RUN_ID})),
    "feedback": (
        "Rate an answer, or with 0 take the rating back. Answered by a CUSTOM event named feedback.",
        _frame(
            "feedback",
            {
                "threadId": _THREAD_ID,
                "messageId": {"type": "string"},
                "rating": {"enum": [1, -1, 0]},
            },
            {"comment": {"type": "string"}},
        ),
    ),
    "show": (
        "Show the branch of a thread with a message, on every connection that follows the thread.",
        _frame("show", {"threadId": _THREAD_ID, "messageId": {"type": "string"}}),
    ),
    "ping": ("Answered by a CUSTOM event named pong.", _frame("ping", {})),
}


def event_schemas() -> dict[str, Schema]:
    """Return the JSON Schema of every event by its type, and of the parts of events by their names."""
    kinds = {kind.__name__: str(kind.__struct_config__.tag) for kind in get_args(AnyEvent)}
    _, parts = msgspec.json.schema_components(get_args(AnyEvent), ref_template=_REF + "{name}")
    schemas: dict[str, Schema] = {}
    del parts[CallMetadata.__name__]  # a frame has it as a part of Metadata
    for name, part in parts.items():
        schema = {**_on_the_wire(part), "additionalProperties": False}
        if name in kinds:
            schema["properties"]["metadata"] = {"$ref": f"{_REF}Metadata"}
        schemas[kinds.get(name, name)] = schema
    return {**schemas, "Metadata": _METADATA}


def asyncapi_document(*, host: str, scheme: str) -> dict[str, Any]:
    """Return the document for the deployment at `host`; `scheme` is ws or wss."""
    socket = api_url("websocket", tenant="-", assistant="-").removesuffix("-/-/")
    sent = {kind: ("An event of AG-UI.", {"$ref": _REF + kind}) for kind in _event_types()}
    run_input = ("Start a run.", {"$ref": f"{_REF}RunAgentInput"})
    received = {"RunAgentInput": run_input, **_CLIENT_FRAMES, **_added_frames()}
    names = {**sent, **received}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Tenant Assistant: the websocket API",
            "version": PROTOCOL_VERSION,
            "description": "AG-UI 1.0, one JSON object in each text frame. See docs/websocket.md.",
        },
        "defaultContentType": "application/json",
        "servers": {
            "this": {"host": host, "protocol": scheme, "security": [{"$ref": "#/components/securitySchemes/key"}]}
        },
        "channels": {
            "assistant": {
                "address": f"{socket}{{tenant}}/{{assistant}}/",
                "parameters": {
                    "tenant": {"description": "The tenant's slug.", "examples": ["acme"]},
                    "assistant": {"description": "The assistant's slug.", "examples": ["support"]},
                },
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
            }
        },
        "operations": {"say": _operation("receive", received), "hear": _operation("send", sent)},
        "components": {
            "messages": {
                name: {"name": name, "summary": summary, "payload": payload}
                for name, (summary, payload) in names.items()
            },
            "schemas": {**event_schemas(), **_input_schemas()},
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Or the subprotocol bearer.<key>.",
                }
            },
        },
    }


def _added_frames() -> dict[str, tuple[str, Schema]]:
    """Return the frames of the installed optional apps."""
    return {
        kind: (frame.summary, _frame(kind, dict(frame.required), dict(frame.optional)))
        for kind, frame in described_frames().items()
    }


def _event_types() -> list[str]:
    return [str(kind.__struct_config__.tag) for kind in get_args(AnyEvent)]


def _operation(action: str, messages: dict[str, tuple[str, Schema]]) -> dict[str, Any]:
    channel = "#/channels/assistant"
    found = [{"$ref": f"{channel}/messages/{name}"} for name in messages]
    return {"action": action, "channel": {"$ref": channel}, "messages": found}


def _input_schemas() -> dict[str, Schema]:
    schema = RunAgentInput.model_json_schema(by_alias=True, ref_template=_REF + "{model}")
    parts = schema.pop("$defs", {})
    return {name: _without_discriminators(part) for name, part in {**parts, "RunAgentInput": schema}.items()}


def _on_the_wire(schema: Any) -> Any:
    """Change a schema to match what is sent: optional fields are left out, never null."""
    if isinstance(schema, list):
        return [_on_the_wire(item) for item in schema if item != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    return {name: _on_the_wire(value) for name, value in schema.items() if name not in {"default", "discriminator"}}


def _without_discriminators(schema: Any) -> Any:
    """Drop OpenAPI's `discriminator` objects: AsyncAPI expects a string there."""
    if isinstance(schema, list):
        return [_without_discriminators(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_discriminators(value)
        for name, value in schema.items()
        if not (name == "discriminator" and isinstance(value, dict))
    }
