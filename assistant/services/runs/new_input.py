"""What of a member's input is new to its conversation: a message, results of client-side calls, decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils import timezone

from assistant.core.toolcalls.protocols import Decision
from assistant.core.values.messages import Message
from assistant.models import Conversation, ToolCall
from assistant.models import Message as MessageRow
from assistant.services.conversations.stored_messages import open_calls
from assistant.services.errors import Refused
from assistant.services.runs.approval_expiry import APPROVAL_LIFETIME
from assistant.services.runs.run_input import RunInput
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.toolkit import InvalidArguments
from assistant.toolkit.context import UserId


def extract_new_input(
    given: RunInput, history: Sequence[Message], decided_by: UserId, conversation: Conversation, *, has_message: bool
) -> tuple[list[Message], dict[str, Decision]]:
    """Messages to store, and decisions on calls that wait for approval by the calls' ids.

    `history` is what the conversation's model is shown of it; `has_message`: the input's message is stored already.

    Raises:
        Refused: `invalid_input`, when an approval cannot be answered (any more), or nothing is new.
    """
    pending = open_calls(history)
    new = _answers(given, pending, {message.id for message in history}, conversation)
    decisions = _decide(given, pending, decided_by, conversation)
    is_doubled = given.message is not None and given.message.id in {message.id for message in new}
    if given.message is not None and not is_doubled and not has_message:
        new.append(Message("user", given.message.text, id=given.message.id))
    last = history[-1] if history and not pending else None
    is_unanswered = last is not None and (last.role != "assistant" or last.is_partial)
    if not new and not decisions and not is_unanswered:
        raise Refused("invalid_input", "There is nothing new to answer: the last message is answered already.")
    return new, decisions


def check_edits(decisions: Mapping[str, Decision], history: Sequence[Message], tools: Iterable[EffectiveTool]) -> None:
    """Raise `Refused` if a person's own arguments do not fit the tool: the approval is not used up by them.

    `history` ends with the calls that wait; a tool that is gone is refused when the call is run.
    """
    pending, offered = open_calls(history), {one.tool.name: one.tool for one in tools}
    for call_id, decision in decisions.items():
        tool = offered.get(pending[call_id].name)
        if tool is None or decision.edited_arguments is None or not decision.approved or decision.response is not None:
            continue
        try:
            tool.check(decision.edited_arguments)
        except InvalidArguments as exc:
            wrong = "; ".join(f"{field}: {why}" for field, why in exc.fields.items()) or str(exc)
            raise Refused("invalid_input", f"These arguments do not fit {tool.name}: {wrong}") from exc


def _answers(given: RunInput, pending: Mapping[str, Any], known: set[str], conversation: Conversation) -> list[Message]:
    """Results of client-side calls, one each; a call of the server's tools is answered by the server alone."""
    if not given.tool_answers or not pending:
        return []
    own = ToolCall.objects.filter(
        tenant_id=conversation.tenant_id, run__conversation=conversation, call_id__in=list(pending)
    )
    awaited = set(pending) - set(own.values_list("call_id", flat=True))
    first: dict[str, Message] = {}
    for answer in given.tool_answers:
        is_new = answer.id not in {message.id for message in first.values()}
        if answer.tool_call_id in awaited and is_new and not _is_known(answer.id, known, conversation):
            message = Message("tool", answer.text, id=answer.id, tool_call_id=answer.tool_call_id)
            first.setdefault(answer.tool_call_id, message)
    return list(first.values())


def _is_known(message_id: str, recent: set[str], conversation: Conversation) -> bool:
    if message_id in recent:
        return True
    if conversation.message_count <= len(recent):
        return False
    return MessageRow.objects.filter(
        conversation=conversation, conversation__tenant_id=conversation.tenant_id, message_id=message_id
    ).exists()


def _decide(
    given: RunInput, pending: Mapping[str, Any], decided_by: UserId, conversation: Conversation
) -> dict[str, Decision]:
    """Settle approvals, each once: whoever finds the row still waiting has decided it."""
    decisions: dict[str, Decision] = {}
    for answer in given.resume:
        asked = ToolCall.objects.filter(
            tenant_id=conversation.tenant_id, run__conversation=conversation, call_id=answer.interrupt_id
        )
        in_time = asked.filter(started_at__gte=timezone.now() - APPROVAL_LIFETIME)
        waiting = in_time.filter(status=ToolCall.Status.AWAITING_APPROVAL)
        status = ToolCall.Status.APPROVED if answer.approved else ToolCall.Status.DECLINED
        decided = answer.interrupt_id in pending and waiting.update(
            status=status, decided_by_id=decided_by, decided_at=timezone.now()
        )
        if not decided and asked.exclude(pk__in=in_time).exists():
            raise Refused("invalid_input", "This question has expired. Ask again, and the assistant may ask you anew.")
        if not decided:
            raise Refused("invalid_input", "This approval was answered already, or does not exist.")
        decisions[answer.interrupt_id] = Decision(
            answer.approved, answer.edited_arguments, answer.reason, answer.response
        )
    return decisions
