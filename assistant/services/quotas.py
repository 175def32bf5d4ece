"""What a tenant and each of its members may use in a minute, a day and a month: as it is set, and as it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal

from django.conf import settings

from assistant.core.pricing import MILLIONTHS
from assistant.models import Tenant, TenantLimits
from assistant.services.inputs import Refused, written

Scope = Literal["tenant", "member"]
Window = Literal["minute", "day", "month"]


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of one scope; 0 is no limit. Costs are in millionths."""

    scope: Scope
    messages_per_minute: int = 0
    messages_per_day: int = 0
    tokens_per_day: int = 0
    tokens_per_month: int = 0
    cost_per_day: int = 0
    cost_per_month: int = 0
    tool_calls_per_day: int = 0
    connections: int = 0

    @property
    def is_counted(self) -> bool:
        """Whether anything is limited that is counted in the database; connections are counted where they are."""
        return any(getattr(self, name) for name in COUNTED)


COUNTED = tuple(field.name for field in fields(Quota) if field.name not in {"scope", "connections"})


@dataclass(frozen=True)
class Quotas:
    """The limits of a tenant, and those of each of its members."""

    tenant: Quota = Quota("tenant")
    member: Quota = Quota("member")

    @cached_property
    def counted(self) -> tuple[Quota, ...]:
        """Those that are counted in the database, the tenant's first: everybody locks their rows in this order."""
        return tuple(quota for quota in (self.tenant, self.member) if quota.is_counted)


NO_QUOTAS = Quotas()


def quotas_of(tenant: Tenant) -> Quotas:
    """The limits that hold in a tenant that was loaded with its `limits`: its own, else the deployment's."""
    own: TenantLimits | None = getattr(tenant, "limits", None)
    of_tenants, of_members = settings.TENANT_LIMITS, settings.MEMBER_LIMITS
    if own is not None:
        return Quotas(_quota("tenant", own, of_tenants), _quota("member", own, of_members))
    made = _of_deployment.get("quotas")
    # Made once for the same settings, for every turn asks.
    if made is None or made[0] is not of_tenants or made[1] is not of_members:
        made = of_tenants, of_members, Quotas(_quota("tenant", None, of_tenants), _quota("member", None, of_members))
        _of_deployment["quotas"] = made
    return made[2]


_of_deployment: dict[str, tuple[Mapping[str, float], Mapping[str, float], Quotas]] = {}


def _quota(scope: Scope, own: TenantLimits | None, defaults: Mapping[str, float]) -> Quota:
    limits = {}
    for name in (*COUNTED, "connections"):
        number = getattr(own, f"{scope}_{name}", None)
        number = defaults.get(name, 0) if number is None else number
        limits[name] = int(number * MILLIONTHS) if name.startswith("cost") else int(number)
    return Quota(scope, **limits)


@dataclass(frozen=True, slots=True)
class Windows:
    """When the minute, day and month began that a moment lies in; days and months are UTC's."""

    minute: datetime
    day: datetime
    month: datetime

    @classmethod
    def at(cls, moment: datetime) -> Windows:
        minute = moment.replace(second=0, microsecond=0)
        day = minute.replace(hour=0, minute=0)
        return cls(minute, day, day.replace(day=1))

    def end(self, window: Window) -> datetime:
        """When it ends, and what is counted in it begins anew."""
        if window == "minute":
            return self.minute + timedelta(minutes=1)
        if window == "day":
            return self.day + timedelta(days=1)
        return (self.month + timedelta(days=31)).replace(day=1)


class QuotaReached(Refused):
    """A quota is used up until `resets_at`; the sentence says so, and can be shown.

    `quota` is the name of the limit, such as `messages_per_day`, and `limit` its number (cost in millionths).
    """

    def __init__(self, quota: Quota, name: str, resets_at: datetime) -> None:
        self.scope, self.quota, self.limit = quota.scope, name, int(getattr(quota, name))
        super().__init__("quota_exceeded", _sentence(self.scope, name, self.limit, resets_at), resets_at=resets_at)


def _sentence(scope: Scope, name: str, limit: int, resets_at: datetime) -> str:
    whose = "Your organisation has" if scope == "tenant" else "You have"
    what, _, window = name.partition("_per_")
    amount = f"{limit / MILLIONTHS:,.2f} of cost" if what == "cost" else f"{limit:,} {what.replace('_', ' ')}"
    return f"{whose} used up the limit of {amount} a {window}. It is free again from {written(resets_at)} on."
