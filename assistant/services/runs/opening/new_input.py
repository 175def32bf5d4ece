"""The new parts of a run's input: the message, results of client-side tools, and decisions on approvals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.core.toolcalls.protocols import Decision
from assistant.core.values.messages import Message
from assistant.models import Approval, Conversation, Tenant, ToolCall
from assistant.models import Message as MessageRow
from assistant.services.conversations.stored_messages import open_calls
from assistant.services.errors import Refused
from assistant.services.runs.approval_expiry import oldest_answerable
from assistant.services.runs.opening.known_runs import AnsweredAlready
from assistant.services.runs.opening.sent_files import claimed_files
from assistant.services.runs.run_input import RunInput
from assistant.services.toolcalls.approvers import check_approver
from assistant.services.toolcalls.later_results import NO_WAITS, Waits, later_results
from assistant.services.toolcalls.midway_questions import answers_with, number_of
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit import InvalidArguments, Tool, ToolError
from assistant.toolkit.calls.arguments import parse_arguments
from assistant.toolkit.calls.gate import HandedIn, NoAnswer, ask_from_thread
from assistant.toolkit.context import UserId
from assistant.toolkit.definition.questions import Question

logger = logging.getLogger(__name__)

# Sent to the model, and not stored, after an answer that was cut off.
GO_ON = Message("user", "Your last answer was cut off. Go on exactly where it ends, and repeat nothing of it.")


def extract_new_input(
    given: RunInput, history: Sequence[Message], decided_by: UserId, conversation: Conversation, *, has_message: bool
) -> tuple[list[Message], dict[str, Decision], Waits]:
    """Return the messages to store, by call id the decisions on calls that wait for approval, and other waiting calls.

    Args:
        history: the messages of the conversation that the model is sent.
        decided_by: the user who decides on approvals.
        has_message: whether the input's message is stored already.

    Raises:
        Refused: `invalid_input`, if an approval does not exist, was answered or has expired, or if nothing is new;
            `attachment_refused`, as `claimed_files` does.
    """
    pending = open_calls(history)
    waits = later_results().waits_of(given, pending, conversation) if pending else NO_WAITS
    if pending and (given.resume or given.must_answer):
        _check_coverage(given, pending, conversation)
    known = {message.id for message in history}
    new = _new_tool_results(given, pending, known, conversation) if pending and given.tool_answers else []
    decisions = _record_decisions(given, pending, decided_by, conversation, waits) if given.resume else {}
    is_tool_answer = given.message is not None and given.message.id in {message.id for message in new}
    if given.message is not None and not is_tool_answer and not has_message:
        replaced = _sources_of_replaced(given, conversation) if given.options.replaces else ()
        sources = (*given.message.sources, *replaced)
        files = claimed_files(given.message, conversation) if given.message.files else ()
        new.append(replace(given.message, sources=sources).stored(files))
    last = history[-1] if history and not pending else None
    is_unanswered = last is not None and (last.role != "assistant" or last.is_partial)
    if not (new or decisions or is_unanswered or waits.is_answer):
        raise Refused("invalid_input", "There is nothing new to answer: the last message is answered already.")
    return new, decisions, waits


def _sources_of_replaced(given: RunInput, conversation: Conversation) -> list[str]:
    """Return where untrusted text in the question came from that the message is a change of: it may be in this too."""
    rows = MessageRow.objects.filter(conversation=conversation, conversation__tenant_id=conversation.tenant_id)
    return rows.filter(message_id=given.options.replaces).values_list("sources", flat=True).first() or []


def request_to_go_on(history: Sequence[Message]) -> tuple[Message, ...]:
    """Return what asks the model to go on with its last message, if that was cut off and nothing follows it."""
    is_cut = bool(history) and history[-1].role == "assistant" and history[-1].is_partial and not open_calls(history)
    return (GO_ON,) if is_cut else ()


def check_decisions(
    decisions: Mapping[str, Decision],
    history: Sequence[Message],
    tools: Iterable[EffectiveTool],
    *,
    tenant: Tenant,
    asked_by: UserId,
    decided_by: UserId,
) -> None:
    """Check who approves, the edited arguments and answers to questions, before the waiting call is used up.

    A tool that is not available any more is refused when the call is run.

    Args:
        history: ends with the calls that wait.
        asked_by: the user whose conversation it is; they answer a tool's questions themselves.

    Raises:
        OwnApproval: the tenant wants approvals by others, and who asked has approved a call.
        Refused: edited arguments do not fit the tool's parameters, an answer does not fit the question's schema, a
            question is approved without an answer, something else is answered as if it were a question, or a function
            of the tool's author gives no answer.
    """
    pending, offered = open_calls(history), {one.tool.name: one.tool for one in tools}
    for call_id, decision in decisions.items():
        tool = offered.get(pending[call_id].name)
        if not decision.approved:
            continue
        if decision.answers is not None:
            continue  # an answer, which was checked when it was recorded
        if tool is None or tool.asks is None:
            check_approver(by_others=tenant.approvals_by_others, asked_by=asked_by, decided_by=decided_by)
        if tool is None:
            continue
        try:
            if tool.asks is not None:
                _check_answer(_question_of(tool, pending[call_id].arguments), decision)
            elif decision.is_answer:
                raise Refused("invalid_input", 'A resume payload must be an object with "approved": true or false.')
            elif decision.edited_arguments is not None and decision.response is None:
                asyncio.run(tool.checked(tool.completed(decision.edited_arguments, pending[call_id].arguments)))
        except InvalidArguments as exc:
            if tool.asks is not None:
                raise _unfit_answer(exc) from exc
            values = {"tool": tool.name, "problems": _problems(exc)}
            sentence = _("These arguments do not fit %(tool)s: %(problems)s") % values
            raise Refused("invalid_input", sentence) from exc
        except (NoAnswer, ToolError) as exc:
            logger.error("The call %s of tool %s cannot be checked", call_id, tool.name, exc_info=exc)
            raise Refused("invalid_input", f"The tool {tool.name!r} cannot be used now.") from exc


def _question_of(tool: Tool, arguments: str) -> Question:
    """Return what a tool asks. Raises `NoAnswer` if it asks nothing, `InvalidArguments` and `ToolError`."""
    if tool.asks is None:
        raise NoAnswer(f"{tool.name} asks nothing")
    asked = HandedIn(tool.asks, (asyncio.run(tool.checked(arguments)),), "asks", tool.name, Question)
    try:
        question: Question = ask_from_thread(asked).result()
    except (ToolError, NoAnswer):
        raise
    except Exception as exc:  # the author's function can raise anything
        raise NoAnswer(f"{asked.label} raised {type(exc).__name__}") from exc
    return question


def _check_answer(question: Question, decision: Decision) -> None:
    if decision.response is None:
        raise _unanswered()
    question.check(decision.response)


def _unanswered() -> Refused:
    return Refused("invalid_input", _("This is a question: answer it, or reject it."))


def _unfit_answer(exc: InvalidArguments) -> Refused:
    return Refused("invalid_input", _("This answer does not fit: %(problems)s") % {"problems": _problems(exc)})


def _problems(exc: InvalidArguments) -> str:
    return "; ".join(f"{field}: {why}" for field, why in exc.fields.items()) or str(exc)


def _new_tool_results(
    given: RunInput, pending: Mapping[str, Any], known: set[str], conversation: Conversation
) -> list[Message]:
    """Return the new results of client-side calls, one for each. Results for the server's tools are ignored."""
    own = ToolCall.objects.filter(
        tenant_id=conversation.tenant_id, run__conversation=conversation, call_id__in=list(pending)
    )
    awaited = set(pending) - set(own.values_list("call_id", flat=True))
    first: dict[str, Message] = {}
    for answer in given.tool_answers:
        is_new = answer.id not in {message.id for message in first.values()}
        if answer.tool_call_id in awaited and is_new and not _is_known(answer.id, known, conversation):
            message = Message("tool", answer.text, id=answer.id, tool_call_id=answer.tool_call_id, from_caller=True)
            first.setdefault(answer.tool_call_id, message)
    return list(first.values())


def _check_coverage(given: RunInput, pending: Mapping[str, Any], conversation: Conversation) -> None:
    """Raise `Refused` unless every call that waits for a person is answered; those whose time is over need not be."""
    waiting = Approval.objects.filter(
        tenant_id=conversation.tenant_id,
        run__conversation=conversation,
        call_id__in=list(pending),
        started_at__gte=oldest_answerable(),
    )
    answered = {answer.interrupt_id for answer in given.resume}
    left = [call_id for call_id in waiting.values_list("call_id", flat=True).order_by("pk") if call_id not in answered]
    if left:
        sentence = f"This conversation waits for answers: resume needs an entry for each of {', '.join(left)}."
        raise Refused("invalid_input", sentence)


def _is_known(message_id: str, recent: set[str], conversation: Conversation) -> bool:
    if message_id in recent:
        return True
    if conversation.message_count <= len(recent):
        return False
    return MessageRow.objects.filter(
        conversation=conversation, conversation__tenant_id=conversation.tenant_id, message_id=message_id
    ).exists()


def _record_decisions(
    given: RunInput, pending: Mapping[str, Any], decided_by: UserId, conversation: Conversation, waits: Waits
) -> dict[str, Decision]:
    """Record decisions on approvals. If several clients answer the same one, only the first answer counts."""
    decisions: dict[str, Decision] = {}
    for answer in given.resume:
        if answer.interrupt_id in waits.call_ids:
            continue
        rows = ToolCall.objects.filter(
            tenant_id=conversation.tenant_id, run__conversation=conversation, call_id=answer.interrupt_id
        )
        in_time = rows.filter(started_at__gte=oldest_answerable())
        waiting = in_time.filter(status=ToolCall.Status.AWAITING_APPROVAL)
        status = ToolCall.Status.APPROVED if answer.approved else ToolCall.Status.DECLINED
        row = rows.values("questions", "arguments").first()
        kept = "" if row is None else row["questions"]
        is_asked = answer.interrupt_id in pending and answer.question == number_of(kept)
        decided = is_asked and waiting.update(status=status, decided_by_id=decided_by, decided_at=timezone.now())
        is_expired = Q(status=ToolCall.Status.EXPIRED) | ~Q(pk__in=in_time)
        if not decided and rows.filter(is_expired).exists():
            if not answer.is_abandoned or answer.interrupt_id not in pending:
                sentence = _("This approval has expired. Send your message again to be asked again.")
                raise Refused("invalid_input", sentence)
        elif not decided:
            raise AnsweredAlready
        decision = Decision(answer.approved, answer.edited_arguments, answer.reason, answer.response, answer.is_answer)
        if row is not None and kept and answer.approved:
            decision = _with_answers(decision, row, pending[answer.interrupt_id].arguments)
        decisions[answer.interrupt_id] = decision
    return decisions


def _with_answers(decision: Decision, row: Mapping[str, Any], arguments: str) -> Decision:
    """Return the decision with which a call that has asked is run again. Raises `Refused` for an unfit answer.

    Args:
        arguments: the model's; the row has those that a person has edited, if one has.
    """
    if decision.response is None:
        raise _unanswered()
    edited = None if row["arguments"] == arguments else parse_arguments(row["arguments"]).parsed
    try:
        answers = answers_with(row["questions"], decision.response)
    except InvalidArguments as exc:
        raise _unfit_answer(exc) from exc
    return replace(decision, edited_arguments=edited, answers=answers)
