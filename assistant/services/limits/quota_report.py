"""Reports how much of each limit is used, for the pages of the admin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import Quota, Windows
from assistant.models import EndUser, QuotaUse, Tenant
from assistant.services.limits.quota_ledger import COLUMNS, current_use
from assistant.services.tenancy.quotas import quotas_of
from assistant.toolkit.context import UserId

# Members listed on a tenant's page, those with the most messages of the day first.
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
    quota = quotas_of(tenant).tenant
    return _usage(quota, _uses(tenant).filter(user=None).first())


def use_of_member(*, tenant: Tenant, user_id: UserId) -> list[QuotaUsage]:
    """Return one member's use of the limits for each member; empty if the tenant has none."""
    return _usage(quotas_of(tenant).member, _uses(tenant).filter(user=user_id).first())


def use_of_members(*, tenant: Tenant) -> list[MemberUse]:
    """Return the members with the highest use today; empty if members have no limits."""
    quotas = {is_end_user: quotas_of(tenant, is_end_user=is_end_user).member for is_end_user in (False, True)}
    now = timezone.now()
    if not any(quota.is_counted for quota in quotas.values()):
        return []
    today = _uses(tenant).filter(day_at=Windows.at(now).day).exclude(user=None).select_related("user")
    busiest = today.order_by("-day_messages", "-day_tokens", "pk")[:MAX_LISTED_MEMBERS]
    end_users = set(EndUser.objects.filter(tenant=tenant).values_list("user_id", flat=True))
    return [
        MemberUse(use.user.get_username(), tuple(_usage(quotas[use.user_id in end_users], use)))
        for use in busiest
        if use.user is not None and quotas[use.user_id in end_users].is_counted
    ]


def high_use(*, uses: Iterable[QuotaUse], share: int) -> list[tuple[Tenant, QuotaUsage]]:
    """Return the limits of tenants of which at least `share` per cent are used, the fullest first.

    Args:
        uses: rows of tenants, without a user, loaded with `tenant` and `tenant__limits`.
    """
    found = [(use.tenant, line) for use in uses for line in _usage(quotas_of(use.tenant).tenant, use)]
    return sorted((one for one in found if one[1].share >= share), key=lambda one: -one[1].share)


def _uses(tenant: Tenant) -> QuerySet[QuotaUse]:
    return QuotaUse.objects.filter(tenant=tenant)


def _usage(quota: Quota, use: QuotaUse | None) -> list[QuotaUsage]:
    now = timezone.now()
    present = None if use is None else current_use(use, now)
    return list(_lines(quota, present, Windows.at(now)))


def _lines(quota: Quota, use: QuotaUse | None, windows: Windows) -> Iterable[QuotaUsage]:
    for name, (column, window) in COLUMNS.items():
        if limit := getattr(quota, name):
            used = 0 if use is None else getattr(use, column)
            share = min(100, 100 * used // limit)
            is_cost = name.startswith("cost")
            yield QuotaUsage(
                name=name.replace("_per_", " a ").replace("_", " "),
                used=_number(used, is_cost=is_cost),
                limit=_number(limit, is_cost=is_cost),
                share=share,
                resets_at=windows.end(window),
            )


def _number(number: int, *, is_cost: bool) -> str:
    return f"{number / MILLIONTHS:,.2f}" if is_cost else f"{number:,}"
