"""Describes streams of events, and what starts one, in the OpenAPI schema."""

from __future__ import annotations

from assistant.api.fields import TEXT
from assistant.api.openapi import ANY_JSON, ANY_OBJECT, Parameter
from assistant.services.runs.input.ids import MAX_CLIENT_ID

# Of an event's number in its run.
MAX_NUMBER_DIGITS = 9
RUN_INPUT = {
    "threadId": "0190e0c5-6b0e-7c3a-9d4e-0a1b2c3d4e5f",
    "runId": "run-1",
    "protocolVersion": "1.0",
    "messages": [{"id": "msg-1", "role": "user", "content": "How long may I return an umbrella?"}],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}
RUN_AGENT_INPUT = {
    "type": "object",
    "description": "The fields of AG-UI's `RunAgentInput` that the server uses; AG-UI's specification has the rest.",
    "properties": {
        "threadId": {"type": "string", "pattern": TEXT, "minLength": 1, "maxLength": MAX_CLIENT_ID},
        "runId": {"type": "string", "pattern": TEXT, "minLength": 1, "maxLength": MAX_CLIENT_ID},
        "protocolVersion": {"type": "string", "pattern": TEXT},
        "messages": {"type": "array", "items": ANY_OBJECT},
        "tools": {"type": "array", "items": ANY_OBJECT},
        "context": {"type": "array", "items": ANY_OBJECT},
        "state": ANY_JSON,
        "resume": {"type": "array", "items": ANY_OBJECT},
        "forwardedProps": ANY_OBJECT,
    },
    "propertyNames": {"pattern": TEXT},
    "additionalProperties": ANY_JSON,
    "required": ["threadId", "runId", "messages"],
}
EVENT = {
    "type": "object",
    "description": "A server-sent event: `id` is its number in the run, left out within a snapshot except at its "
    "end; `data` is an AG-UI event as JSON text.",
    "properties": {"id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"}},
    "required": ["data"],
}
EVENTS = 'id: 1\ndata: {"type":"RUN_STARTED","threadId":"0190e0c5-6b0e-7c3a-9d4e-0a1b2c3d4e5f","runId":"run-1"}\n\n'
STREAM = {(200, "text/event-stream"): (EVENT, EVENTS)}
LAST_EVENT_ID = {
    "Last-Event-ID": Parameter(
        "The number of the last event that was seen: those after it follow.",
        "12",
        {"pattern": f"^[0-9]{{0,{MAX_NUMBER_DIGITS}}}$"},
    )
}
