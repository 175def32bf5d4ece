"""Decides whether a call may run now, by its limits too; if not, makes the outcome for the model and the audit."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pydantic_core

from assistant.core.toolcalls.call_settings import CallSettings
from assistant.core.toolcalls.protocols import Admission, Decision, PlannedCall, Status, ToolOutcome
from assistant.core.values.asked import Asked
from assistant.core.values.limits import Allowance, Limits
from assistant.core.values.messages import ToolCall, Usage
from assistant.core.values.pricing import MILLIONTHS
from assistant.toolkit import InvalidArguments, Tool, ToolContext, ToolError
from assistant.toolkit.calls.arguments import parse_arguments
from assistant.toolkit.calls.gate import HandedIn, NoAnswer, ask
from assistant.toolkit.definition.conditions import offered_tools
from assistant.toolkit.definition.questions import Question
from assistant.toolkit.logs import log_extra
from assistant.toolkit.schema.form import label_of
from assistant.toolkit.translation import gettext, ngettext

logger = logging.getLogger(__name__)


# Of identical calls in one run, the third and later ones are refused, and the fifth ends the run.
FIRST_REFUSED_REPEAT = 3
LAST_REPEAT = 5


@dataclass(eq=False, slots=True)
class CallLimiter:
    """Counts the calls of one run.

    Attributes:
        limits: of the run. A tool's own `max_calls` can be lower than `calls_per_tool`.
        stop: why the run must end after this batch; empty while it need not.
        code: the run error code for it.
    """

    limits: Limits
    stop: str = field(default="", init=False)
    code: str = field(default="limit_reached", init=False)
    _total: int = field(default=0, init=False)
    _by_tool: Counter[str] = field(default_factory=Counter, init=False)
    _identical: Counter[tuple[str, str]] = field(default_factory=Counter, init=False)

    def admit(self, call: ToolCall, tool: Tool | None) -> str | None:
        """Count a call; returns None if it may run, else the reason as a sentence for the model."""
        self._total += 1
        self._by_tool[call.name] += 1
        canonical = call.canonical
        if tool is not None and tool.augmentation is not None:
            canonical = replace(call, arguments=str(tool.own_arguments(call.arguments))).canonical
        self._identical[canonical] += 1
        repeats = self._identical[canonical]
        if self.limits.tool_calls and self._total > self.limits.tool_calls:
            self._reach(self.limits.tool_calls)
        elif repeats >= LAST_REPEAT:
            self.stop = self.stop or gettext(
                "The model called the tool '%(tool)s' with the same arguments %(count)d times."
            ) % {"tool": call.name, "count": repeats}
        if self.stop:
            return f"Not run: {self.stop}"
        if repeats >= FIRST_REFUSED_REPEAT:
            return (
                f"Not run: you have called {call.name!r} with these same arguments {repeats - 1} times already. "
                "Use the results you have, or do something else."
            )
        # The first call is within any limit.
        made = self._by_tool[call.name]
        if made > 1 and (limit := self._limit_of(tool)) and made > limit:
            often = "once" if limit == 1 else f"{limit} times"
            return f"Not run: {call.name!r} may be called {often} in one run. Answer with what you have."
        return None

    def count_made(self, call: ToolCall, tool: Tool) -> None:
        """Count a call that has run already, so that nobody can refuse it: one beyond its tool's limit ends the run."""
        self.admit(call, tool)
        if (limit := self._limit_of(tool)) and self._by_tool[call.name] > limit:
            self._reach(limit)

    def _limit_of(self, tool: Tool | None) -> int:
        return min(
            (limit for limit in (self.limits.calls_per_tool, tool.max_calls if tool else None) if limit), default=0
        )

    def _reach(self, limit: int) -> None:
        self.stop = self.stop or ngettext(
            "This run has reached its limit of %(count)d tool call.",
            "This run has reached its limit of %(count)d tool calls.",
            limit,
        ) % {"count": limit}

    def check_budget(self, usage: Usage, allowances: Iterable[Allowance]) -> None:
        """Set `stop` if the tokens or the cost have reached a limit of the run, or what is left of a shared quota."""
        for allowance in allowances:
            if _is_used_up(usage, allowance):
                self.stop = allowance.sentence
                self.code = "quota_exceeded"
        limits = self.limits
        if limits.tokens and usage.total_tokens >= limits.tokens:
            self.stop = self.stop or gettext("This run has reached its limit of %(count)d tokens.") % {
                "count": limits.tokens
            }
        if limits.cost and usage.cost >= limits.cost:
            self.stop = self.stop or gettext("This run has reached its limit of %(cost)s of cost.") % {
                "cost": f"{limits.cost / MILLIONTHS:.4g}"
            }


def _is_used_up(usage: Usage, left: Allowance) -> bool:
    return bool((left.tokens and usage.total_tokens >= left.tokens) or (left.cost and usage.cost >= left.cost))


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
        checked = await _check(call, admission, decision, limiter, context, settings=settings)
    except Exception:
        logger.exception("The check of tool %s failed in run %s", call.name, context.run_id, extra=log_extra(context))
        return _not_run(call, "refused", f"The tool {call.name!r} cannot be used now.", admission)
    questions = settings.questions
    is_question = isinstance(checked, ToolOutcome) and checked.asked is not None and checked.asked.question is not None
    if is_question and not (questions.can_ask and questions.has_forms):
        return _not_run(call, "refused", f"{call.name!r} asks a question, which nobody can answer here.", admission)
    if isinstance(checked, ToolOutcome) and checked.status == "awaiting_approval" and not questions.can_ask:
        return _not_run(
            call, "refused", f"{call.name!r} needs a person's approval, and nobody can be asked here.", admission
        )
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
    settings: CallSettings,
) -> PlannedCall | ToolOutcome:
    tool = admission.tool
    if decision is not None and decision.approved is not True:
        return _not_run(call, "declined", _declined_sentence(decision), admission)
    refusal = limiter.admit(call, tool) if decision is None else None
    if refusal is not None:
        return _not_run(call, "refused", refusal, admission)
    if tool is None:
        sentence = f"There is no tool named {call.name!r}.{await _alternatives_sentence(admission, context, settings)}"
        return _not_run(call, "refused", sentence, admission)
    is_offered = not tool.has_conditions or bool(await offered_tools([tool], context))
    if admission.policy == "off" or tool.is_provider_side or not is_offered:
        off = admission.switched_off
        reason = admission.outage if off is None else off.for_model
        why = f" {reason}" if reason else ""
        others = await _alternatives_sentence(admission, context, settings)
        sentence = f"The tool {call.name!r} may not be used now.{why}{others}"
        refused = _not_run(call, "refused", sentence, admission)
        return refused if off is None else replace(refused, display=off.for_people)
    if tool.waits and settings.callbacks is None:
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
    is_asked = question is not None or admission.policy == "ask"
    if decision is None and not is_asked and tool.requires_approval is not False:
        is_asked = await asks_first(tool, checked, context)
    if decision is None and is_asked:
        asked = Asked(tool.title.strip() or label_of(tool.name), tool.parameters, question)
        return replace(_not_run(call, "awaiting_approval", "", admission), warning=admission.warning, asked=asked)
    if not isinstance(arguments, str):
        arguments = json.dumps(dict(arguments), ensure_ascii=False, default=pydantic_core.to_jsonable_python)
    return PlannedCall(call, tool, admission, arguments, decision, checked=checked, fields=fields)


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


async def _alternatives_sentence(admission: Admission, context: ToolContext, settings: CallSettings) -> str:
    tools = [admission.tools[name] for name in admission.callable_names if name in admission.tools]
    offered = {tool.name for tool in await offered_tools(tools, context) if settings.serves(tool)}
    # Names without a tool here are other assistants, which have no conditions.
    names = ", ".join(name for name in admission.callable_names if name not in admission.tools or name in offered)
    return f" Tools that may be called now: {names}." if names else " No tools may be called now."


def _declined_sentence(decision: Decision) -> str:
    reason = decision.reason.strip().rstrip(".")
    return f"Not run: the user declined this call{f' ({reason})' if reason else ''}. Do not call it again unasked."
