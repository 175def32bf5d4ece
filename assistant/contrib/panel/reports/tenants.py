"""What the list of tenants, and a tenant's first page, report about each tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, OuterRef, Subquery

from assistant.contrib.panel.reports.recent_use import cost_since, runs_since
from assistant.contrib.panel.services.quota_report import QuotaUsage, uses_of_tenants
from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import Windows
from assistant.models import Assistant, Membership, Run, Tenant

ACTIVE_DAYS = 7


@dataclass(frozen=True, slots=True)
class TenantReport:
    """What a tenant used.

    Attributes:
        spend: this month's cost in UTC, by the providers' prices, without what running answers will cost.
        cost: what is used of the limit of cost a month; None without one.
        runs: those of the last `ACTIVE_DAYS` days; `failed` of them.
        last_run_at: when the last run was started; None if there was none.
        owners: the names of the owners.
        members: how many people, without end users. assistants: how many.
    """

    spend: float = 0.0
    cost: QuotaUsage | None = None
    runs: int = 0
    failed: int = 0
    last_run_at: datetime | None = None
    owners: tuple[str, ...] = ()
    members: int = 0
    assistants: int = 0


def tenant_reports(*, tenants: Collection[Tenant], now: datetime) -> Mapping[int, TenantReport]:
    """Return the report of each tenant, by id, in as many queries for any number of them.

    The tenants were loaded with their `limits`.
    """
    ids = [tenant.pk for tenant in tenants]
    runs = runs_since(tenants=ids, since=now - timedelta(days=ACTIVE_DAYS), now=now)
    last_run = Run.objects.filter(tenant=OuterRef("pk"), is_test=False).order_by("-started_at").values("started_at")
    last = dict(Tenant.objects.filter(pk__in=ids).values_list("pk", Subquery(last_run[:1])))
    spend = cost_since(tenants=ids, since=Windows.at(now).month, now=now)
    people = Membership.objects.filter(tenant__in=ids).exclude(role=Membership.Role.END_USER)
    members = _by_tenant(people, count=Count("pk"))
    assistants = _by_tenant(Assistant.objects.filter(tenant__in=ids), count=Count("pk"))
    used = uses_of_tenants(tenants=tenants, now=now)
    owners: dict[int, list[str]] = {}
    name = f"user__{get_user_model().USERNAME_FIELD}"
    owning = people.filter(tenant__in=ids, role=Membership.Role.OWNER).order_by("pk")
    for tenant_id, owner in owning.values_list("tenant_id", name):
        owners.setdefault(tenant_id, []).append(str(owner))
    return {
        tenant.pk: TenantReport(
            spend=spend.get(tenant.pk, Counter())["cost"] / MILLIONTHS,
            cost=next((use for use in used[tenant.pk] if use.key == "cost_per_month"), None),
            runs=runs.get(tenant.pk, Counter())["runs"],
            failed=runs.get(tenant.pk, Counter())["failed"],
            last_run_at=last.get(tenant.pk),
            owners=tuple(owners.get(tenant.pk, ())),
            members=members.get(tenant.pk, {}).get("count", 0),
            assistants=assistants.get(tenant.pk, {}).get("count", 0),
        )
        for tenant in tenants
    }


def _by_tenant(rows: Any, **sums: Any) -> Mapping[int, Mapping[str, Any]]:
    """Return sums of rows by the tenant's id."""
    return {row["tenant_id"]: row for row in rows.order_by().values("tenant_id").annotate(**sums)}
