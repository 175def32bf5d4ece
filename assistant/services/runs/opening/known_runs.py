"""Finds the run that an input names or repeats, so that nothing is run twice."""

from __future__ import annotations

import uuid

from django.utils.translation import gettext as _

from assistant.models import Conversation, Run
from assistant.services.errors import Refused
from assistant.services.runs.input.resume_entries import digest_of_answers
from assistant.services.runs.opening.run_setup import RunName
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member


class AnsweredAlready(Refused):
    """Interrupts that are answered already were answered again, and not in the same way."""

    def __init__(self) -> None:
        super().__init__("invalid_input", _("This approval was answered already, or does not exist."))


def known_run(*, given: RunInput, conversation: Conversation, same_run: int | None) -> Run | None:
    """Return the run that the caller joins in place of a new one; None if the input begins one.

    Answers that are sent again join the run that they began. A run that waits is continued by answers under its own id.

    Args:
        same_run: the primary key of the conversation's run with the input's run id; None if there is none.

    Raises:
        AnsweredAlready: other answers have continued the run of this id.
    """
    runs = Run.objects.filter(tenant_id=conversation.tenant_id, conversation=conversation)
    answers = digest_of_answers(given.resume) if given.resume else ""
    if answers:
        repeated = runs.filter(answers=answers).select_related("conversation").order_by("-pk").first()
        if repeated is not None:
            return repeated
    if same_run is None:
        return None
    run = runs.select_related("conversation").get(pk=same_run)
    if not answers:
        return run
    if _last_of(run).status != Run.Status.WAITING:
        # Its interrupts would be shown again, and could never be answered.
        raise AnsweredAlready
    return None


def name_of(given: RunInput, *, is_known: bool) -> RunName:
    """Return the names of a run that answers. If its id `is_known`, it continues that run, and has one of its own."""
    answers = digest_of_answers(given.resume) if given.resume else ""
    return RunName(uuid.uuid4().hex, given.run_id, answers) if is_known else RunName(given.run_id, "", answers)


def check_readable(run: Run, member: Member) -> None:
    """Raise `Refused` for a run that another key began, if the member's key may read its own runs alone."""
    if member.reads_only_own_runs and run.api_key_id != member.key_id:
        raise Refused("invalid_input", "This key may only follow the runs that it began.")


def _last_of(run: Run) -> Run:
    """Return the last run that continues `run` under its id, or the run itself."""
    later = Run.objects.filter(tenant_id=run.tenant_id, conversation_id=run.conversation_id, continues=run.run_id)
    return later.order_by("-number").first() or run
