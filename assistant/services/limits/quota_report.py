"""Reports how much of each limit is used, for the pages of the admin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count
from django.utils import timezone

from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import Quota, Windows
from assistant.models import EndUser, QuotaUse, Run, Tenant, TenantLimits
from assistant.services.limits.quota_ledger import COLUMNS, current_use, recounted
from assistant.services.tenancy.quotas import quotas_of
from assistant.toolkit.context import UserId

# Members listed on a tenant's page, those with the most runs of the day first.
MAX_LISTED_MEMBERS = 10


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """The use of one limit, as a page shows it: its name, what is used, and when it resets.

    `share` is a whole percentage, at most 100.
    """

    name: str
    used: str
    limit: str
    share: int
    resets_at: datetime


@dataclass(frozen=True, slots=True)
class MemberUse:
    """A member's name and use."""

    name: str
    use: tuple[QuotaUsage, ...]


def use_of_tenant(*, tenant: Tenant) -> list[QuotaUsage]:
    """Return the use of the limits of all members together; empty if the tenant has none."""
    return _usage(quotas_of(tenant).tenant, tenant, None)


def use_of_member(*, tenant: Tenant, user_id: UserId) -> list[QuotaUsage]:
    """Return one member's use of the limits for each member; empty if the tenant has none."""
    return _usage(quotas_of(tenant).member, tenant, user_id)


def use_of_members(*, tenant: Tenant) -> list[MemberUse]:
    """Return the members with the most runs today, and their use; empty if members have no limits."""
    quotas = {is_end_user: quotas_of(tenant, is_end_user=is_end_user).member for is_end_user in (False, True)}
    if not any(quota.is_counted for quota in quotas.values()):
        return []
    today = Run.objects.filter(tenant=tenant, is_test=False, started_at__gte=Windows.at(timezone.now()).day)
    counts = today.order_by().values("user_id").annotate(runs=Count("pk")).order_by("-runs", "user_id")
    busiest = [row["user_id"] for row in counts[:MAX_LISTED_MEMBERS]]
    names = get_user_model()._default_manager.in_bulk(busiest)
    end_users = set(EndUser.objects.filter(tenant=tenant, user__in=busiest).values_list("user_id", flat=True))
    return [
        MemberUse(names[user_id].get_username(), tuple(_usage(quotas[user_id in end_users], tenant, user_id)))
        for user_id in busiest
        if quotas[user_id in end_users].is_counted
    ]


def high_use(*, uses: Iterable[QuotaUse], share: int) -> list[tuple[Tenant, QuotaUsage]]:
    """Return the limits of tenants of which at least `share` per cent are used, the fullest first.

    Args:
        uses: rows of tenants, without a user, loaded with `tenant` and `tenant__limits`.
    """
    now = timezone.now()
    windows = Windows.at(now)
    found = [
        (use.tenant, line)
        for use in uses
        for line in _lines(quotas_of(use.tenant).tenant, current_use(use, now), windows)
        if line.share >= share
    ]
    return sorted(found, key=lambda one: -one[1].share)


def limit_name(name: str) -> str:
    """Return what a limit is called in the language of the page: "messages_per_day" gives "messages a day"."""
    field: Any = TenantLimits._meta.get_field(f"tenant_{name}")
    return str(field.verbose_name)


def _usage(quota: Quota, tenant: Tenant, user_id: UserId | None) -> list[QuotaUsage]:
    """Return the use of a quota; without stored counters, as after a change of limits, it is computed from the runs."""
    if not quota.is_counted:
        return []
    now = timezone.now()
    stored = QuotaUse.objects.filter(tenant=tenant, user=user_id).first()
    use = recounted(tenant.pk, user_id, now) if stored is None else current_use(stored, now)
    return list(_lines(quota, use, Windows.at(now)))


def _lines(quota: Quota, use: QuotaUse, windows: Windows) -> Iterable[QuotaUsage]:
    for name, (column, window) in COLUMNS.items():
        if limit := getattr(quota, name):
            used = getattr(use, column)
            share = min(100, 100 * used // limit)
            is_cost = name.startswith("cost")
            yield QuotaUsage(
                name=limit_name(name),
                used=_number(used, is_cost=is_cost),
                limit=_number(limit, is_cost=is_cost),
                share=share,
                resets_at=windows.end(window),
            )


def _number(number: int, *, is_cost: bool) -> str:
    return f"{number / MILLIONTHS:,.2f}" if is_cost else f"{number:,}"
