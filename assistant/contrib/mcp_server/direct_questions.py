"""Questions that external servers ask during calls outside of runs, and their answers by the caller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from assistant.contrib.mcp_server.direct_journal import calls_of
from assistant.core.toolcalls.protocols import Decision
from assistant.models import ToolCall
from assistant.services.tenancy.members import Member
from assistant.services.toolcalls.midway_questions import answers_with, stored_question
from assistant.toolkit import InvalidArguments, Question
from assistant.toolkit.text import clean_text


class UnfitAnswer(Exception):
    """An answer that does not fit its question, which waits for another one; the message can be shown."""

    def __init__(self, question: Question, problems: str) -> None:
        super().__init__(problems)
        self.question = question


def waiting_question(*, member: Member, call_id: str, key: str) -> Question | None:
    """Return the question with this key that a member's call waits for; None if it waits for no such one."""
    rows = calls_of(member).filter(call_id=call_id, status=ToolCall.Status.AWAITING_APPROVAL)
    question = stored_question(rows.values_list("questions", flat=True).first() or "")
    return question if question is not None and question.key == key else None


def settle_question(
    *, member: Member, call_id: str, key: str, content: Mapping[str, Any] | None, reason: str
) -> Decision | None:
    """Take the answer to a question, once. Return the decision that its call is run with; None if it is not waiting.

    The caller answers even where approvals need another person, because an answer permits nothing.

    Args:
        content: the answer; None if there is none, so that the call is declined.
        reason: why there is none; the caller reads it.

    Raises:
        UnfitAnswer: the answer does not fit.
    """
    waiting = calls_of(member).filter(call_id=call_id, status=ToolCall.Status.AWAITING_APPROVAL)
    kept = waiting.values_list("questions", flat=True).first() or ""
    question = stored_question(kept)
    if question is None or question.key != key:
        return None
    decision, status = Decision(False, reason=reason), ToolCall.Status.DECLINED
    if content is not None:
        try:
            answers = answers_with(kept, clean_text(json.dumps(content, ensure_ascii=False)))
        except InvalidArguments as exc:
            problems = "; ".join(f"{field}: {why}" for field, why in exc.fields.items()) or str(exc)
            raise UnfitAnswer(question, problems) from exc
        decision, status = Decision(True, answers=answers), ToolCall.Status.RUNNING
    # Of two answers that come at the same time, one counts.
    settled = waiting.filter(questions=kept).update(
        status=status, questions="", decided_by_id=member.user_id, decided_at=timezone.now()
    )
    return decision if settled else None
