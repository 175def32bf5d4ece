"""Tool calls that wait for approval, as the inbox shows them, and answers of an operator on a member's behalf."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from assistant.models import Approval, Message, ToolCall
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.runs.approval_expiry import APPROVAL_LIFETIME
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.client_input import language_of
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member, find_member
from assistant.toolkit.context import UserId


def pending_of_runs(*, tenant_ids: Iterable[int], calls: Iterable[int]) -> dict[int, list[Approval]]:
    """Return every waiting call of the runs that `calls` belong to, by the run's primary key.

    A run continues once all of its waiting calls are answered.

    Args:
        tenant_ids: the tenants that the operator may see; other tenants' calls are left out.
        calls: primary keys of waiting calls.
    """
    wanted = Approval.objects.filter(pk__in=list(calls), tenant_id__in=list(tenant_ids))
    rows = Approval.objects.filter(run__in=wanted.values("run"), tenant_id__in=list(tenant_ids)).select_related(
        "run", "run__tenant", "run__assistant", "run__user", "run__conversation"
    )
    by_run: dict[int, list[Approval]] = defaultdict(list)
    # Calls of one batch may have begun at the same moment.
    for row in rows.order_by("started_at", "pk"):
        by_run[row.waiting_run.pk].append(row)
    return dict(by_run)


async def answer_for_member(*, calls: list[Approval], answers: Sequence[Resume], decided_by: UserId) -> OpenedRun:
    """Answer all waiting calls of one run as an operator, and continue the run as the member.

    Raises:
        Refused: the calls were answered already, or the member or assistant does not exist any more.
    """
    run = calls[0].waiting_run
    member = await in_database(member_of, calls[0])
    if member is None:
        raise Refused("invalid_input", "The member has left the tenant.")
    given = RunInput(
        thread_id=run.conversation_id,
        run_id=str(uuid.uuid4()),
        resume=tuple(answers),
        protocol_version="1.0",
        language=language_of(run),
    )
    return await get_runs().open(member=member, assistant_slug=run.assistant.slug, given=given, decided_by=decided_by)


def member_of(call: Approval) -> Member | None:
    """Return the member whose run made a call; None if they are none any more."""
    run = call.waiting_run
    member = find_member(user_id=run.user_id, tenant_slug=run.tenant.slug, with_end_users=True)
    # The run that continues has the API key of the run that asked, so that the same client can follow it.
    return None if member is None else replace(member, key_id=run.api_key_id)


def with_question(rows: QuerySet[Approval]) -> QuerySet[Approval]:
    """Add `question` to waiting calls: the message of the call's run, else the member's last one before, or None."""
    asked = Message.objects.filter(
        conversation=OuterRef("run__conversation"),
        conversation__tenant=OuterRef("tenant"),
        role=Message.Role.USER,
        created_at__lte=OuterRef("started_at"),
    )
    texts = asked.order_by("-position").values("content")
    # The last message of all may be on another path of the conversation.
    own = texts.filter(run=OuterRef("run"))
    return rows.annotate(question=Coalesce(Subquery(own[:1]), Subquery(texts[:1])))


def changes_of(call: Approval) -> list[Mapping[str, Any]]:
    """Return what a waiting call would change, as its tool's preview said when the run asked.

    Returns:
        Mappings with `label`, and where they are known `old` and `new`; empty without a preview.
    """
    ending: Any = call.waiting_run.ending
    outcome = ending.get("outcome") if isinstance(ending, dict) else None
    asked = outcome.get("interrupts") if isinstance(outcome, dict) else None
    about: Any = next((one for one in asked or () if one.get("toolCallId") == call.call_id), {})
    return list((about.get("metadata") or {}).get("changes") or ())


def expiry_of(call: ToolCall) -> datetime:
    """Return the time from which a waiting call cannot be answered any more."""
    return call.started_at + APPROVAL_LIFETIME
