"""What the tabs of a tenant's page list: people, assistants, this month's spend, keys, conversations, changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum

from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import Windows
from assistant.models import (
    ApiKey,
    Assistant,
    AuditEntry,
    Conversation,
    CustomRole,
    Membership,
    PromptVersion,
    Run,
    Tenant,
    UsageEntry,
)

# Rows of one list on a tab; a link leads to the whole list.
LISTED = 50
# Lines of each table of the spend.
SPENDERS = 10


@dataclass(frozen=True, slots=True)
class Spent:
    """One line of the spend: whose, the runs that it paid for, and the cost by the providers' prices."""

    name: str
    runs: int
    cost: float


@dataclass(frozen=True, slots=True)
class Spend:
    """This month's spend of a tenant in UTC, as limits count it, and what caused the most of it."""

    total: float
    assistants: tuple[Spent, ...]
    people: tuple[Spent, ...]
    models: tuple[Spent, ...]


def people_of(*, tenant: Tenant) -> QuerySet[Membership]:
    """Return the people of a tenant with their custom roles; owners first, then admins."""
    return (
        Membership.objects.filter(tenant=tenant)
        .exclude(role=Membership.Role.END_USER)
        .select_related("user", "tenant")
        .prefetch_related("custom_roles")
        .order_by("-role", "pk")
    )


def roles_of(*, tenant: Tenant) -> QuerySet[CustomRole]:
    """Return the tenant's own roles with the number of their `holders`."""
    return CustomRole.objects.filter(tenant=tenant).annotate(holders=Count("members")).order_by("name")[:LISTED]


def assistants_of(*, tenant: Tenant) -> QuerySet[Assistant]:
    """Return the assistants with the number of their published prompt and their last run."""
    published = PromptVersion.objects.filter(
        assistant=OuterRef("pk"), assistant__tenant=tenant, status=PromptVersion.Status.PUBLISHED
    )
    last = Run.objects.filter(assistant=OuterRef("pk"), tenant=tenant, is_test=False).order_by("-started_at")
    return (
        Assistant.objects.filter(tenant=tenant)
        .select_related("provider", "tenant", "tenant__default_provider")
        .prefetch_related("tenant__providers")
        .annotate(
            prompt_number=Subquery(published.values("number")[:1]),
            prompt_pk=Subquery(published.values("pk")[:1]),
            last_run_at=Subquery(last.values("started_at")[:1]),
        )
        .order_by("slug")[: LISTED + 1]
    )


def spend_of(*, tenant: Tenant, now: datetime) -> Spend:
    """Return this month's spend, in four queries."""
    used = UsageEntry.objects.filter(tenant=tenant, created_at__gte=Windows.at(now).month)
    return Spend(
        total=(used.aggregate(cost=Sum("cost"))["cost"] or 0) / MILLIONTHS,
        assistants=_most(used, "assistant__name"),
        people=_most(used, f"user__{get_user_model().USERNAME_FIELD}"),
        models=_most(used, "model"),
    )


def _most(used: QuerySet[UsageEntry], name: str) -> tuple[Spent, ...]:
    rows: Any = used.order_by().values(name).annotate(runs=Count("run", distinct=True), sum=Sum("cost"))
    return tuple(
        Spent(str(row[name] or "—"), row["runs"], (row["sum"] or 0) / MILLIONTHS)
        for row in rows.order_by("-sum", name)[:SPENDERS]
    )


def keys_of(*, tenant: Tenant) -> QuerySet[ApiKey]:
    """Return the newest API keys, those that still work first."""
    return ApiKey.objects.filter(tenant=tenant).select_related("user", "tenant").order_by("revoked_at", "-pk")[:LISTED]


def conversations_of(*, tenant: Tenant) -> QuerySet[Conversation]:
    """Return the conversations that were used last."""
    found = Conversation.objects.filter(tenant=tenant, is_stateless=False).listed()
    return found.select_related("user", "assistant", "tenant").order_by("-updated_at")[:LISTED]


def changes_of(*, tenant: Tenant) -> QuerySet[AuditEntry]:
    """Return the newest entries of the audit trail."""
    return AuditEntry.objects.filter(tenant=tenant).select_related("actor").order_by("-created_at", "-pk")[:LISTED]
