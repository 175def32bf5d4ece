"""What the tabs of a tenant's page list: people, assistants, this month's spend, keys, conversations, changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, OuterRef, QuerySet, Subquery

from assistant.contrib.panel.reports.months import Month
from assistant.contrib.panel.reports.spend import Line, spend_table, spend_total
from assistant.contrib.panel.reports.spend_scope import By, SpendScope
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
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
    """Return this month's spend, as the page of spend has it: runs without tests."""
    scope = SpendScope(Month.of(now), TenantFilter(frozenset({tenant.pk})))
    total = spend_total(scope)
    return Spend(
        total=total.cost,
        assistants=_most(scope, "assistant", total),
        people=_most(scope, "person", total),
        models=_most(scope, "model", total),
    )


def _most(scope: SpendScope, by: By, total: Line) -> tuple[Spent, ...]:
    found = spend_table(scope, by, total=total, listed=SPENDERS).lines
    providers = [line.belongs_to if by == "model" else "" for line in found]
    names = [" · ".join(filter(None, (of, line.name))) for of, line in zip(providers, found, strict=True)]
    return tuple(Spent(name or "—", line.runs, line.cost) for name, line in zip(names, found, strict=True))


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
