"""Streams of events, and what starts one."""

from __future__ import annotations

from assistant.api.fields import TEXT
from assistant.api.openapi import Operation, Parameter
from assistant.api.run_events import MAX_NUMBER_DIGITS, RunEvents, StartRun
from assistant.api.serializers import EventsQuery
from assistant.contrib.docs.operations.examples import THREAD
from assistant.contrib.docs.operations.shapes import ANY_JSON, ANY_OBJECT, Operations
from assistant.services.runs.input.ids import MAX_CLIENT_ID

RUN_INPUT = {
    "threadId": THREAD,
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

OPERATIONS: Operations = {
    StartRun: {
        "post": Operation(
            "Start a run and stream its events",
            path=["assistant"],
            body=RUN_AGENT_INPUT,
            example=RUN_INPUT,
            headers=LAST_EVENT_ID,
            responses=STREAM,
            tag="streams",
            is_idempotent=True,
            description="AG-UI 1.0 as server-sent events. The same `runId` again starts nothing: the first is joined. "
            "Disconnecting stops nothing, unless `forwardedProps.onDisconnect` or the assistant's setting says so. A "
            "run that is refused is a stream of `RUN_STARTED` and `RUN_ERROR`.",
        ),
    },
    RunEvents: {
        "get": Operation(
            "Resume the events of a run",
            path=["run_id"],
            query=EventsQuery,
            headers=LAST_EVENT_ID,
            responses={**STREAM, 204: (None, None)},
            tag="streams",
            description="The events after `Last-Event-ID`; without it, from the start. If some of them are no longer "
            "kept, a snapshot: `RUN_STARTED`, `MESSAGES_SNAPSHOT`, and what follows. 204 if none will follow, so that "
            "an EventSource does not reconnect. Clients of AG-UI 1.0 say so by `protocolVersion`, as in a "
            "`RunAgentInput`.",
        ),
    },
}
