"""What a member's page shows of them in one tenant: use, conversations, refusals, keys, ratings and changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum

from assistant.contrib.panel.reports.days import FAILED
from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import Windows
from assistant.models import ApiKey, AuditEntry, Conversation, Feedback, Membership, Run, ToolCall, UsageEntry

# Runs and entries of the audit are indexed by tenant and time alone: those of so many days are read.
DAYS = 30
# Rows of each list; a link leads to the whole list.
LISTED = 10
REFUSED = (ToolCall.Status.REFUSED, ToolCall.Status.DECLINED, ToolCall.Status.EXPIRED)


@dataclass(frozen=True, slots=True)
class MemberRuns:
    """A member's runs of the last `DAYS` days, how many failed, and when the last one began."""

    runs: int
    failed: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class SpentOn:
    """What a member has used of one assistant and model this month: runs, tokens, and the cost by providers' prices."""

    assistant: str
    model: str
    runs: int
    tokens: int
    cost: float


def runs_of(*, member: Membership, now: datetime) -> MemberRuns:
    """Return the use; one query. Tests of prompts are left out."""
    rows = Run.objects.filter(
        tenant=member.tenant_id, user=member.user_id, is_test=False, started_at__gte=now - timedelta(days=DAYS)
    )
    found = rows.aggregate(runs=Count("pk"), failed=Count("pk", filter=Q(status__in=FAILED)), last=Max("started_at"))
    return MemberRuns(found["runs"], found["failed"], found["last"])


def spent_by(*, member: Membership, now: datetime) -> list[SpentOn]:
    """Return this month's spend in UTC by assistant and model, the most first; one query."""
    used = UsageEntry.objects.filter(
        tenant=member.tenant_id, user=member.user_id, created_at__gte=Windows.at(now).month
    )
    rows: Any = used.order_by().values("assistant__name", "model")
    counted = rows.annotate(
        runs=Count("run", distinct=True), tokens=Sum("input_tokens") + Sum("output_tokens"), sum=Sum("cost")
    )
    return [
        SpentOn(row["assistant__name"] or "—", row["model"], row["runs"], row["tokens"], row["sum"] / MILLIONTHS)
        for row in counted.order_by("-sum", "model")[:LISTED]
    ]


def conversations_of(*, member: Membership) -> QuerySet[Conversation]:
    """Return the conversations that they used last."""
    rows = Conversation.objects.filter(tenant=member.tenant_id, user=member.user_id, is_stateless=False).listed()
    return rows.select_related("user", "assistant", "tenant").order_by("-updated_at")[:LISTED]


def refused_to(*, member: Membership, now: datetime) -> QuerySet[ToolCall]:
    """Return the newest calls in their runs that a rule refused, a person declined, or nobody answered."""
    since = now - timedelta(days=DAYS)
    of_member = Q(run__tenant=member.tenant_id, run__user=member.user_id, run__started_at__gte=since)
    rows = ToolCall.objects.filter(of_member, tenant=member.tenant_id, status__in=REFUSED, run__is_test=False)
    return rows.order_by("-started_at")[:LISTED]


def keys_of(*, member: Membership) -> QuerySet[ApiKey]:
    """Return their API keys, those that still work first."""
    return ApiKey.objects.filter(tenant=member.tenant_id, user=member.user_id).order_by("revoked_at", "-pk")[:LISTED]


def ratings_by(*, member: Membership) -> QuerySet[Feedback]:
    """Return their newest ratings of answers."""
    rows = Feedback.objects.filter(tenant=member.tenant_id, user=member.user_id)
    return rows.select_related("message__conversation__tenant").order_by("-created_at", "-pk")[:LISTED]


def changes_about(*, member: Membership, now: datetime) -> QuerySet[AuditEntry]:
    """Return the newest entries of the audit that they caused, or that changed their membership."""
    about = Q(action__startswith="membership.", target__startswith=f"{member.user.get_username()} in ")
    since = now - timedelta(days=DAYS)
    rows = AuditEntry.objects.filter(Q(actor=member.user_id) | about, tenant=member.tenant_id, created_at__gte=since)
    return rows.select_related("actor").order_by("-created_at", "-pk")[:LISTED]
