"""What schemathesis cannot read in the OpenAPI schema. It loads this module into its own process."""

from __future__ import annotations

import json
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

STREAMED = "POST /api/v1/tenants/{tenant}/assistants/{assistant}/runs/"

# A schema does not say which bytes are a file that can be read.
schemathesis.openapi.format("binary", st.text("abc \n", min_size=1).map(lambda text: f"Note: {text}".encode()))


@schemathesis.hook
def filter_body(context: Any, body: Any) -> bool:
    """Leave out two decisions on one call: a schema cannot say that one field of many objects is unique."""
    decisions = body.get("decisions") if isinstance(body, dict) else None
    if not isinstance(decisions, list):
        return True
    calls = [one["call_id"] for one in decisions if isinstance(one, dict) and isinstance(one.get("call_id"), str)]
    return len(calls) == len(set(calls))


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Read the refusal of an invalid input, of which AG-UI clients learn in their stream, as one over HTTP."""
    is_negative = case.meta is not None and case.meta.generation.mode is GenerationMode.NEGATIVE
    if case.operation.label == STREAMED and is_negative and '"type":"RUN_ERROR"' in response.text:
        response.status_code = 400
        response.headers["content-type"] = ["application/json"]
        response.content = json.dumps({"code": "invalid_input", "message": response.text, "fields": {}}).encode()
