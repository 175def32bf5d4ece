"""Runs without a stream, and the approvals that they wait for."""

from __future__ import annotations

from assistant.api.openapi import Operation
from assistant.api.runs import NO_CALL, Approvals, CancelRun, ConversationRuns, OneRun, RunApprovals
from assistant.api.serializers import ApprovalOut, DecisionsIn, RunIn, RunOut
from assistant.contrib.docs.operations.examples import MESSAGE, THREAD
from assistant.contrib.docs.operations.shapes import Operations
from assistant.services.runs.opening.busy_thread import BUSY

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

OPERATIONS: Operations = {
    ConversationRuns: {
        "post": Operation(
            "Start a run and get its answer",
            path=["thread"],
            body=RunIn,
            example={"message": "How long may I return an umbrella?"},
            responses={201: (RunOut, RUN), 202: (RunOut, {**RUN, "status": "running", "text": "", "ended_at": None})},
            conflicts={"thread_busy": BUSY},
            tag="runs",
            is_idempotent=True,
            description="Answers 201 when the run has ended: look at `status`, for it may have failed, or wait for an "
            "approval. With `wait` false it answers 202 at once. Disconnecting does not stop the run.",
        ),
    },
    OneRun: {
        "get": Operation("Read a run", path=["run_id"], responses={200: (RunOut, RUN)}, tag="runs"),
    },
    CancelRun: {
        "post": Operation(
            "Cancel a run",
            path=["run_id"],
            responses={202: (None, None)},
            tag="runs",
            is_idempotent=True,
            description="Asks the server to stop it; a run that has ended stays as it is.",
        ),
    },
    Approvals: {
        "get": Operation(
            "List the calls that wait for an answer",
            responses={200: (ApprovalOut(many=True), [APPROVAL])},
            tag="runs",
        ),
    },
    RunApprovals: {
        "post": Operation(
            "Answer the calls that wait in a run",
            path=["run_id"],
            body=DecisionsIn,
            example={"decisions": [{"call_id": "call_1", "approved": True}]},
            responses={
                201: (RunOut, {**RUN, "id": "run-2"}),
                202: (RunOut, {**RUN, "id": "run-2", "status": "running"}),
            },
            conflicts={"thread_busy": BUSY, "conflict": NO_CALL},
            tag="runs",
            is_idempotent=True,
            description="The conversation goes on in a new run, which is answered with. Every call that waits needs a "
            "decision, each of which is taken once.",
        ),
    },
}
