"""How much of which limit is used, for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import Quota, Windows
from assistant.models import QuotaUse, Tenant
from assistant.services.limits.quota_ledger import COLUMNS, present_use
from assistant.services.tenancy.quotas import quotas_of
from assistant.toolkit.context import UserId

# Members who are listed, those with the most messages of the day first.
LISTED = 10


@dataclass(frozen=True, slots=True)
class Used:
    """One limit: its name for people, what is used of how much, and when it begins anew.

    `share` is a whole number of per cent, 100 at most.
    """

    name: str
    used: str
    limit: str
    share: int
    resets_at: datetime


@dataclass(frozen=True, slots=True)
class MemberUse:
    """A member and what they have used of the limits of each member."""

    name: str
    use: tuple[Used, ...]


def use_of_tenant(*, tenant: Tenant) -> list[Used]:
    """What all members together have used; nothing where nothing is limited."""
    quota = quotas_of(tenant).tenant
    return _used(quota, _uses(tenant).filter(user=None).first())


def use_of_member(*, tenant: Tenant, user_id: UserId) -> list[Used]:
    """What one member has used."""
    return _used(quotas_of(tenant).member, _uses(tenant).filter(user=user_id).first())


def use_of_members(*, tenant: Tenant) -> list[MemberUse]:
    """Those who have used most today, where each member has limits."""
    quota, now = quotas_of(tenant).member, timezone.now()
    if not quota.is_counted:
        return []
    today = _uses(tenant).filter(day_at=Windows.at(now).day).exclude(user=None).select_related("user")
    busiest = today.order_by("-day_messages", "-day_tokens", "pk")[:LISTED]
    return [MemberUse(use.user.get_username(), tuple(_used(quota, use))) for use in busiest if use.user is not None]


def _uses(tenant: Tenant) -> QuerySet[QuotaUse]:
    return QuotaUse.objects.filter(tenant=tenant)


def _used(quota: Quota, use: QuotaUse | None) -> list[Used]:
    now = timezone.now()
    present = None if use is None else present_use(use, now)
    return list(_lines(quota, present, Windows.at(now)))


def _lines(quota: Quota, use: QuotaUse | None, windows: Windows) -> Iterable[Used]:
    for name, (column, window) in COLUMNS.items():
        if limit := getattr(quota, name):
            used = 0 if use is None else getattr(use, column)
            share = min(100, 100 * used // limit)
            is_cost = name.startswith("cost")
            yield Used(
                name=name.replace("_per_", " a ").replace("_", " "),
                used=_number(used, is_cost=is_cost),
                limit=_number(limit, is_cost=is_cost),
                share=share,
                resets_at=windows.end(window),
            )


def _number(number: int, *, is_cost: bool) -> str:
    return f"{number / MILLIONTHS:,.2f}" if is_cost else f"{number:,}"
