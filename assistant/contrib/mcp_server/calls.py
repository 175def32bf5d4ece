"""`tools/list` and `tools/call`."""

from __future__ import annotations

import json
import uuid
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from assistant.contrib.mcp_server.caller import Context, member_of
from assistant.contrib.mcp_server.cancellation import cancellable
from assistant.contrib.mcp_server.direct_call import Decision, ToolCall, TooManyCalls, call_tool, tools_for
from assistant.contrib.mcp_server.direct_journal import settle_approval
from assistant.contrib.mcp_server.elicitation import CALLER, CannotAsk, InputNeeded, McpCaller, accepts, run_with_input
from assistant.contrib.mcp_server.forwarded_questions import ANSWERED, QUESTION, ask, take_answer
from assistant.contrib.mcp_server.paging import page
from assistant.contrib.mcp_server.progress import ProgressReporter
from assistant.contrib.mcp_server.tool_results import describe, failed, result_of
from assistant.services.db.threads import in_database
from assistant.services.toolcalls.approvers import OwnApproval
from assistant.toolkit.text import clean_text

APPROVAL = "approval"
SHOWN_ARGUMENTS = 2000  # characters


async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    """List the tools that the member may use now."""
    tools, cursor = page(await tools_for(member=member_of(context)), params, lambda tool: tool.name)
    return ListToolsResult(tools=[describe(tool) for tool in tools], next_cursor=cursor)


async def call(context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
    """Call a tool, after asking the client for an approval, or for input that the tool needs.

    Raises:
        MCPError: the member has no such tool, or the call was cancelled.
    """

    async def step(caller: McpCaller) -> CallToolResult | InputNeeded:
        return await _step(context, params, caller)

    try:
        with cancellable(context):
            return await run_with_input(context, step, answers=params.input_responses, state=params.request_state)
    except (CannotAsk, TooManyCalls, OwnApproval) as exc:
        return failed(str(exc))


async def _step(context: Context, params: CallToolRequestParams, caller: McpCaller) -> CallToolResult | InputNeeded:
    state = _read_state(caller.state)
    call_id = state.get("waiting") or f"mcp_{uuid.uuid4().hex}"
    decision = None
    if "waiting" in state:
        settled = await _settled(context, params, caller, state)
        if not isinstance(settled, Decision):
            return settled
        decision = settled
    called = await call_tool(
        member=member_of(context),
        call=ToolCall(call_id, clean_text(params.name), _arguments_json(params.arguments)),
        decision=decision,
        can_ask=accepts(context, "elicitation/create"),
        extra={CALLER: McpCaller(caller.capabilities, caller.answers, state.get("tool", ""))},
        on_progress=ProgressReporter(context, params.name),
    )
    if called.tool is None and called.outage:
        return failed(called.outage)
    if called.tool is None:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
    if called.outcome.status == "awaiting_approval":
        asked = called.outcome.asked
        question = None if asked is None else asked.question
        return _ask_for_approval(params, call_id) if question is None else ask(question, call_id)
    if called.result is not None and isinstance(called.result.value, InputNeeded):
        if decision is not None:
            return failed("Not done: a tool cannot ask for an approval and for more input in one call.")
        needed = called.result.value
        return InputNeeded(needed.questions, json.dumps({"tool": needed.state}) if needed.state else "")
    return result_of(called)


async def _settled(
    context: Context, params: CallToolRequestParams, caller: McpCaller, state: dict[str, str]
) -> Decision | InputNeeded | CallToolResult:
    """Return the decision on the call that waits for the client, or the result for the client if there is none."""
    member, call_id = member_of(context), state["waiting"]
    if QUESTION in state:
        return await take_answer(member, call_id, state[QUESTION], caller.answers.get(QUESTION))
    answer = caller.answers.get(APPROVAL)
    if not isinstance(answer, ElicitResult):
        return _ask_for_approval(params, call_id)
    decision = _decision(answer)
    is_settled = await in_database(settle_approval, member=member, call_id=call_id, approved=decision.approved)
    return decision if is_settled else failed(ANSWERED)


def _arguments_json(arguments: dict[str, Any] | None, indent: int | None = None) -> str:
    """Return a call's arguments as JSON text without lone surrogates, which JSON can hold but databases cannot."""
    return clean_text(json.dumps(arguments or {}, ensure_ascii=False, indent=indent))


def _read_state(text: str) -> dict[str, str]:
    """Return the state of an earlier round. The SDK encrypts it, so the client cannot have changed it."""
    state: dict[str, str] = json.loads(text) if text else {}
    return state


def _ask_for_approval(params: CallToolRequestParams, call_id: str) -> InputNeeded:
    arguments = _arguments_json(params.arguments, indent=2)
    if len(arguments) > SHOWN_ARGUMENTS:
        arguments = f"{arguments[:SHOWN_ARGUMENTS]}\n[{len(arguments) - SHOWN_ARGUMENTS} more characters]"
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "title": "Run it", "description": "Whether the tool may run this once."}
        },
        "required": ["approved"],
    }
    form = ElicitRequestFormParams(
        message=f"{params.name} asks before it runs. Arguments:\n{arguments}", requested_schema=schema
    )
    return InputNeeded({APPROVAL: ElicitRequest(params=form)}, json.dumps({"waiting": call_id}))


def _decision(answer: ElicitResult) -> Decision:
    approved = answer.action == "accept" and (answer.content or {}).get("approved") is True
    reason = (
        f"the caller's answer was {answer.action}" if answer.action != "accept" else "the caller did not tick Run it"
    )
    return Decision(approved, reason="" if approved else reason)
