"""The quotas of a tenant and its members for a minute, a day and a month, and the refusal when one is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.conf import settings

from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import NAMES, Quota, Scope, window_of
from assistant.models import Tenant, TenantLimits
from assistant.services.errors import Refused
from assistant.services.text import format_timestamp


@dataclass(frozen=True)
class Quotas:
    """The limits of a tenant, and of each of its members."""

    tenant: Quota
    member: Quota

    @cached_property
    def counted(self) -> tuple[Quota, ...]:
        """The quotas that are counted in the database, in the order in which their rows are locked."""
        return tuple(quota for quota in (self.tenant, self.member) if quota.is_counted)


NO_QUOTAS = Quotas(Quota("tenant"), Quota("member"))


def quotas_of(tenant: Tenant) -> Quotas:
    """Return the limits of a tenant that was loaded with its `limits`: its own, else the deployment's."""
    own: TenantLimits | None = getattr(tenant, "limits", None)
    of_tenants, of_members = settings.TENANT_LIMITS, settings.MEMBER_LIMITS
    if own is not None:
        return Quotas(_quota("tenant", own, of_tenants), _quota("member", own, of_members))
    cached = _deployment_quotas.get("quotas")
    # Cached for the same settings, because every turn asks.
    if cached is None or cached[0] is not of_tenants or cached[1] is not of_members:
        cached = of_tenants, of_members, Quotas(_quota("tenant", None, of_tenants), _quota("member", None, of_members))
        _deployment_quotas["quotas"] = cached
    return cached[2]


_deployment_quotas: dict[str, tuple[Mapping[str, float], Mapping[str, float], Quotas]] = {}


def _quota(scope: Scope, own: TenantLimits | None, defaults: Mapping[str, float]) -> Quota:
    limits = {}
    for name in NAMES:
        number = getattr(own, f"{scope}_{name}", None)
        number = defaults.get(name, 0) if number is None else number
        limits[name] = int(number * MILLIONTHS) if name.startswith("cost") else int(number)
    return Quota(scope, **limits)


class QuotaReached(Refused):
    """A quota is used up until `resets_at`; the message says so and can be shown to the user.

    `quota` is the limit's name, such as `messages_per_day`, and `limit` its value (cost in millionths).
    """

    def __init__(self, quota: Quota, name: str, resets_at: datetime) -> None:
        self.scope, self.quota, self.limit = quota.scope, name, int(getattr(quota, name))
        super().__init__("quota_exceeded", _sentence(self.scope, name, self.limit, resets_at), resets_at=resets_at)


def _sentence(scope: Scope, name: str, limit: int, resets_at: datetime) -> str:
    whose = "Your organisation has reached its" if scope == "tenant" else "You have reached your"
    what, window = window_of(name)
    amount = f"{limit / MILLIONTHS:,.2f} of cost" if what == "cost" else f"{limit:,} {_noun(limit, what)}"
    return f"{whose} limit of {amount} a {window}. There is more from {format_timestamp(resets_at)} on."


def _noun(number: int, what: str) -> str:
    """Return the name of what is counted as it follows a number: `tool_calls` becomes `tool call` after 1."""
    words = what.replace("_", " ")
    return words[:-1] if number == 1 else words
