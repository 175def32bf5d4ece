"""Forwards questions that external servers ask during a call to the client that called: as a form of MCP's."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import CallToolResult, ElicitRequest, ElicitRequestFormParams, ElicitResult

from assistant.contrib.mcp_server.direct_call import Decision
from assistant.contrib.mcp_server.direct_questions import UnfitAnswer, settle_question, waiting_question
from assistant.contrib.mcp_server.elicitation import InputNeeded
from assistant.contrib.mcp_server.tool_results import failed
from assistant.services.db.threads import in_database
from assistant.services.tenancy.members import Member
from assistant.toolkit import Question
from assistant.toolkit.schema.json_schema import JsonSchema

QUESTION = "question"
ANSWERED = "Not run: this question was answered before, or has expired. Call the tool again."


def ask(question: Question, call_id: str, problem: str = "") -> InputNeeded:
    """Return the form with a question. `problem`: why the last answer to it was not taken."""
    message = f"{question.text}\n{problem}" if problem else question.text
    form = ElicitRequestFormParams(message=message, requested_schema=_form(question.schema))
    state = {"waiting": call_id, QUESTION: question.key}
    return InputNeeded({QUESTION: ElicitRequest(params=form)}, json.dumps(state))


async def take_answer(
    member: Member, call_id: str, key: str, answer: object
) -> Decision | InputNeeded | CallToolResult:
    """Return the decision with which a call is run after its question, or the result for the client if there is none.

    Args:
        key: that of the question, from the state of the earlier round.
        answer: the client's; anything but an `ElicitResult` asks again.
    """
    which: dict[str, Any] = {"member": member, "call_id": call_id, "key": key}
    if not isinstance(answer, ElicitResult):
        question = await in_database(waiting_question, **which)
        return failed(ANSWERED) if question is None else ask(question, call_id)
    content = (answer.content or {}) if answer.action == "accept" else None
    reason = f"the caller's answer was {answer.action}"
    try:
        decision = await in_database(settle_question, **which, content=content, reason=reason)
    except UnfitAnswer as exc:
        return ask(exc.question, call_id, f"Your last answer does not fit: {exc}")
    return failed(ANSWERED) if decision is None else decision


def _form(schema: JsonSchema) -> JsonSchema:
    """Return a question's schema in the words that MCP allows: the answer is checked against the question's own."""
    fields = {name: _field(one) for name, one in schema["properties"].items()}
    return {"type": "object", "properties": fields, "required": list(schema.get("required", ()))}


def _field(schema: JsonSchema) -> JsonSchema:
    field: dict[str, Any] = {
        key: value for key, value in schema.items() if key not in ("pattern", "uniqueItems", "items")
    }
    if "enum" in schema:
        field["type"] = "string"
    if "items" in schema:
        field["items"] = {"type": "string", **schema["items"]}
    return field
