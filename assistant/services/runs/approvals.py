"""A member's tool calls that wait for approval."""

from __future__ import annotations

from typing import Any

from assistant.models import Approval, ToolCall
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.tenancy.members import Member
from assistant.services.toolcalls.midway_questions import number_of


def resume_of(call: ToolCall, **decision: Any) -> Resume:
    """Return a decision on what a waiting call asks now; `decision` holds the other fields of `Resume`."""
    return Resume(call.call_id, question=number_of(call.questions), **decision)


def pending_of_member(*, member: Member, run_id: str = "") -> list[Approval]:
    """Return a member's calls that wait for approval, oldest first; with `run_id`, only those of that run."""
    rows = Approval.objects.filter(tenant_id=member.tenant_id, run__user_id=member.user_id)
    if run_id:
        rows = rows.filter(run__run_id=run_id)
    return list(rows.select_related("run__conversation", "run__assistant").order_by("started_at", "pk"))
