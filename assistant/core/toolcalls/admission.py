"""Decides whether a call may run now; if not, makes the outcome for the model and the audit."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assistant.core.toolcalls.call_limits import CallLimiter
from assistant.core.toolcalls.call_settings import CallSettings
from assistant.core.toolcalls.protocols import Admission, Decision, PlannedCall, Status, ToolOutcome
from assistant.core.values.asked import Asked
from assistant.core.values.messages import ToolCall
from assistant.toolkit import InvalidArguments, Tool, ToolContext, ToolError
from assistant.toolkit.calls.arguments import parse_arguments
from assistant.toolkit.calls.gate import HandedIn, NoAnswer, ask
from assistant.toolkit.definition.conditions import is_offered, offered_tools
from assistant.toolkit.definition.questions import Question
from assistant.toolkit.logs import log_extra
from assistant.toolkit.schema.form import label_of

logger = logging.getLogger(__name__)

# The decision on a call that waits for approval when a new run begins without a person's decision.
NO_DECISION = Decision(False, reason="there was no answer")


async def check_call(
    call: ToolCall,
    admission: Admission,
    *,
    decision: Decision | None,
    limiter: CallLimiter,
    context: ToolContext,
    settings: CallSettings,
) -> PlannedCall | ToolOutcome:
    """Plan a call that may run; for any other return its outcome.

    Args:
        decision: a person's decision on a call that waited for approval; None if there was no request for one.
        settings: calls that need a person who cannot be asked, or wait for what cannot come later, are refused.
    """
    try:
        checked = await _check(call, admission, decision, limiter, context, can_wait=settings.callbacks is not None)
    except Exception:
        logger.exception("The check of tool %s failed in run %s", call.name, context.run_id, extra=log_extra(context))
        return _not_run(call, "refused", f"The tool {call.name!r} cannot be used now.", admission)
    if isinstance(checked, ToolOutcome) and checked.status == "awaiting_approval" and not settings.questions.can_ask:
        return _not_run(
            call, "refused", f"{call.name!r} needs a person's approval, and nobody can be asked here.", admission
        )
    is_question = isinstance(checked, ToolOutcome) and checked.asked is not None and checked.asked.question is not None
    if is_question and not settings.questions.has_forms:
        return _not_run(call, "refused", f"{call.name!r} asks a question, which nobody can answer here.", admission)
    return checked


def check_client_call(call: ToolCall, admission: Admission) -> ToolOutcome | None:
    """Return an error outcome for a client's call whose arguments are not a JSON object; None for any other.

    The client checks everything else.
    """
    try:
        parse_arguments(call.arguments)
    except InvalidArguments as exc:
        return _not_run(call, "error", str(exc), admission)
    return None


async def _check(
    call: ToolCall,
    admission: Admission,
    decision: Decision | None,
    limiter: CallLimiter,
    context: ToolContext,
    *,
    can_wait: bool,
) -> PlannedCall | ToolOutcome:
    tool = admission.tool
    if decision is not None and decision.approved is not True:
        return _not_run(call, "declined", _declined_sentence(decision), admission)
    refusal = limiter.admit(call, tool) if decision is None else None
    if refusal is not None:
        return _not_run(call, "refused", refusal, admission)
    if tool is None:
        sentence = f"There is no tool named {call.name!r}.{await _alternatives_sentence(admission, context)}"
        return _not_run(call, "refused", sentence, admission)
    if admission.policy == "off" or tool.is_provider_side or not await is_offered(tool, context):
        off = admission.switched_off
        reason = admission.outage if off is None else off.for_model
        why = f" {reason}" if reason else ""
        sentence = f"The tool {call.name!r} may not be used now.{why}{await _alternatives_sentence(admission, context)}"
        refused = _not_run(call, "refused", sentence, admission)
        return refused if off is None else replace(refused, display=off.for_people)
    if tool.waits and not can_wait:
        sentence = f"{call.name!r} waits for something outside, and nothing can be waited for here."
        return _not_run(call, "refused", sentence, admission)
    if decision is not None and decision.response is not None and decision.answers is None:
        return ToolOutcome(call, "ok", decision.response, rule="A person answered in the tool's place.")
    if tool.asks is not None and decision is not None:
        return _not_run(call, "error", "Nobody has answered the question.", admission)
    edited = decision.edited_arguments if decision is not None else None
    arguments: str | Mapping[str, Any] = call.arguments if edited is None else tool.completed(edited, call.arguments)
    try:
        checked = await tool.checked(arguments)
        fields = None if tool.augmentation is None else await tool.checked_fields(arguments)
        question: Question | None = None
        if tool.asks is not None:
            question = (await ask(HandedIn(tool.asks, (checked,), "asks", tool.name, Question))).result()
    except ToolError as exc:
        return _not_run(call, "error", str(exc), admission)
    if decision is None and (question is not None or await _needs_approval(tool, admission, checked, context)):
        asked = Asked(tool.title.strip() or label_of(tool.name), tool.parameters, question)
        return replace(_not_run(call, "awaiting_approval", "", admission), warning=admission.warning, asked=asked)
    return PlannedCall(call, tool, admission, arguments, decision, checked=checked, fields=fields)


async def _needs_approval(tool: Tool, admission: Admission, checked: Mapping[str, Any], context: ToolContext) -> bool:
    return admission.policy == "ask" or await asks_first(tool, checked, context)


async def asks_first(tool: Tool, checked: Mapping[str, Any], context: ToolContext) -> bool:
    """Whether the tool itself wants a person to approve a call; also if it does not say.

    Raises:
        Exception: what its function has raised. The call cannot run then.
    """
    if isinstance(tool.requires_approval, bool):
        return tool.requires_approval
    answer = await ask(HandedIn(tool.requires_approval, (checked, context), "requires_approval", tool.name, bool))
    try:
        return bool(answer.result())
    except NoAnswer:
        answer.report(f"Tool {tool.name} does not say whether a call needs approval, so a person is asked", context)
        return True


def _not_run(call: ToolCall, status: Status, sentence: str, admission: Admission) -> ToolOutcome:
    return ToolOutcome(call, status, sentence, error=sentence, rule=admission.rule)


async def _alternatives_sentence(admission: Admission, context: ToolContext) -> str:
    tools = [admission.tools[name] for name in admission.callable_names if name in admission.tools]
    offered = {tool.name for tool in await offered_tools(tools, context)}
    # Names without a tool here are other assistants, which have no conditions.
    names = ", ".join(name for name in admission.callable_names if name not in admission.tools or name in offered)
    return f" Tools that may be called now: {names}." if names else " No tools may be called now."


def _declined_sentence(decision: Decision) -> str:
    reason = decision.reason.strip().rstrip(".")
    return f"Not run: the user declined this call{f' ({reason})' if reason else ''}. Do not call it again unasked."
