"""Reports how much of each limit is used, for the pages of the admin.

The figures are those that runs are refused by: the counters, or where none are stored, what they would begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import LimitUse, Quota, Windows
from assistant.models import Membership, QuotaUse, Run, Tenant, TenantLimits, UsageEntry
from assistant.services.limits.quota_ledger import COLUMNS, current_use, recounted_members, recounted_tenants
from assistant.services.tenancy.quotas import quotas_of
from assistant.toolkit.context import UserId

Key = TypeVar("Key")
# Members listed on a tenant's page, those with the most runs of the day first.
MAX_LISTED_MEMBERS = 10


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """The use of one limit, as a page shows it.

    Attributes:
        key: the limit's name in the code, such as `cost_per_month`; `name` is that for people.
        share: what is used of it.
        refused_at: when it first refused something in its current window; None if it has not.
    """

    key: str
    name: str
    used: str
    limit: str
    share: LimitUse
    resets_at: datetime | None = None
    refused_at: datetime | None = None

    @property
    def percent(self) -> int:
        return self.share.percent

    @property
    def is_reached(self) -> bool:
        """Whether nothing is left, so that the limit refuses."""
        return self.share.has_reached(100)


@dataclass(frozen=True, slots=True)
class MemberUse:
    """A member's name and use."""

    name: str
    use: tuple[QuotaUsage, ...]


def use_of_tenant(*, tenant: Tenant) -> list[QuotaUsage]:
    """Return the use of the limits of all members together; empty if the tenant has none."""
    return uses_of_tenants(tenants=[tenant], now=timezone.now())[tenant.pk]


def uses_of_tenants(*, tenants: Collection[Tenant], now: datetime) -> dict[int, list[QuotaUsage]]:
    """Return the use of each tenant's limits, of all its members together, by its id.

    Runs as many queries for any number of tenants, which were loaded with their `limits`.
    """
    counted = [tenant.pk for tenant in tenants if quotas_of(tenant).tenant.is_counted]
    stored = {use.tenant_id: use for use in QuotaUse.objects.filter(tenant__in=counted, user=None)} if counted else {}
    uses = _complete(stored, counted, now, lambda missing: recounted_tenants(missing, now))
    return {
        tenant.pk: _lines(quotas_of(tenant).tenant, uses[tenant.pk], now) if tenant.pk in uses else []
        for tenant in tenants
    }


def cost_of_month(*, tenant: Tenant, spent: int) -> QuotaUsage | None:
    """Return what `spent`, in millionths, is of the tenant's present limit of cost a month; None without a limit.

    For a month that is over, or a part of what was spent; `uses_of_tenants` says what the running month counts.
    """
    limit = quotas_of(tenant).tenant.cost_per_month
    if not limit:
        return None
    texts = _number(spent, is_cost=True), _number(limit, is_cost=True)
    return QuotaUsage("cost_per_month", limit_name("cost_per_month"), *texts, LimitUse(spent, limit))


def use_of_member(*, tenant: Tenant, user_id: UserId) -> list[QuotaUsage]:
    """Return one member's use of the limits for each member; empty if the tenant has none."""
    quota = quotas_of(tenant).member
    if not quota.is_counted:
        return []
    now = timezone.now()
    return _lines(quota, _uses_of_members(tenant, [user_id], now)[user_id], now)


def use_of_members(*, tenant: Tenant) -> list[MemberUse]:
    """Return the members with the most runs today, and their use; empty if members have no limits."""
    quotas = {is_end_user: quotas_of(tenant, is_end_user=is_end_user).member for is_end_user in (False, True)}
    if not any(quota.is_counted for quota in quotas.values()):
        return []
    now = timezone.now()
    today = Run.objects.filter(tenant=tenant, is_test=False, started_at__gte=Windows.at(now).day)
    counts = today.order_by().values("user_id").annotate(runs=Count("pk")).order_by("-runs", "user_id")
    busiest = [row["user_id"] for row in counts[:MAX_LISTED_MEMBERS]]
    names = get_user_model()._default_manager.in_bulk(busiest)
    visitors = Membership.objects.filter(tenant=tenant, user__in=busiest, role=Membership.Role.END_USER)
    end_users = set(visitors.values_list("user_id", flat=True))
    limited = [user_id for user_id in busiest if quotas[user_id in end_users].is_counted]
    uses = _uses_of_members(tenant, limited, now)
    return [
        MemberUse(names[user_id].get_username(), tuple(_lines(quotas[user_id in end_users], uses[user_id], now)))
        for user_id in limited
    ]


def high_use(*, tenants: QuerySet[Tenant], percent: int, now: datetime) -> list[tuple[Tenant, QuotaUsage]]:
    """Return the limits of tenants of which at least `percent` per cent are used, the fullest first.

    Only tenants that have used something this month are looked at.
    """
    month = Windows.at(now).month
    used = Exists(UsageEntry.objects.filter(tenant=OuterRef("pk"), created_at__gte=month))
    ran = Exists(Run.objects.filter(tenant=OuterRef("pk"), started_at__gte=month))
    counted = Exists(QuotaUse.objects.filter(tenant=OuterRef("pk"), user=None, month_at__gte=month))
    limited = tenants if any(settings.ASSISTANT_TENANT_LIMITS.values()) else tenants.filter(limits__isnull=False)
    found = list(limited.filter(Q(counted) | Q(used) | Q(ran)).select_related("limits"))
    lines = uses_of_tenants(tenants=found, now=now)
    full = [(tenant, line) for tenant in found for line in lines[tenant.pk] if line.share.has_reached(percent)]
    return sorted(full, key=lambda one: -one[1].percent)


def limit_name(name: str) -> str:
    """Return what a limit is called in the language of the page: "messages_per_day" gives "messages a day"."""
    field: Any = TenantLimits._meta.get_field(f"tenant_{name}")
    return str(field.verbose_name)


def _uses_of_members(tenant: Tenant, user_ids: Collection[UserId], now: datetime) -> dict[UserId, QuotaUse]:
    rows = QuotaUse.objects.filter(tenant=tenant, user__in=user_ids)
    stored = {use.user_id: use for use in rows if use.user_id is not None}
    return _complete(stored, user_ids, now, lambda missing: recounted_members(tenant.pk, missing, now))


def _complete(
    stored: Mapping[Key, QuotaUse],
    keys: Collection[Key],
    now: datetime,
    recount: Callable[[Collection[Key]], Mapping[Key, QuotaUse]],
) -> dict[Key, QuotaUse]:
    """Return the counters of all `keys`: those that are stored, and the others computed from the runs.

    There are none after a change of limits, until a run is opened.
    """
    missing = [key for key in keys if key not in stored]
    current = {key: current_use(use, now) for key, use in stored.items()}
    return {**current, **(recount(missing) if missing else {})}


def _lines(quota: Quota, use: QuotaUse, now: datetime) -> list[QuotaUsage]:
    windows = Windows.at(now)
    return [
        QuotaUsage(
            key=name,
            name=limit_name(name),
            used=_number(used, is_cost=name.startswith("cost")),
            limit=_number(limit, is_cost=name.startswith("cost")),
            share=LimitUse(used, limit),
            resets_at=windows.end(window),
            refused_at=datetime.fromisoformat(use.refused_at[name]) if name in use.refused_at else None,
        )
        for name, (column, window) in COLUMNS.items()
        if (limit := getattr(quota, name))
        for used in [getattr(use, column)]
    ]


def _number(number: int, *, is_cost: bool) -> str:
    """Return a number of what is counted, an amount with its currency."""
    return f"{settings.ASSISTANT_CURRENCY} {number / MILLIONTHS:,.2f}" if is_cost else f"{number:,}"
