"""The quotas of a tenant and its members for a minute, a day and a month, and the refusal when one is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import NAMES, Quota, Scope, Window, window_of
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


def quotas_of(tenant: Tenant, *, is_end_user: bool = False) -> Quotas:
    """Return the limits of a tenant that was loaded with its `limits`: its own, else the deployment's.

    With `is_end_user`, `member` has the limits of an end user.
    """
    own: TenantLimits | None = getattr(tenant, "limits", None)
    defaults = settings.ASSISTANT_TENANT_LIMITS, settings.ASSISTANT_MEMBER_LIMITS, settings.ASSISTANT_END_USER_LIMITS
    if own is not None:
        return _quotas(own, defaults, is_end_user=is_end_user)
    cached = _deployment_quotas.get(is_end_user)
    # Cached for the same settings, because every turn asks.
    if cached is None or any(old is not new for old, new in zip(cached[0], defaults, strict=True)):
        cached = _deployment_quotas[is_end_user] = defaults, _quotas(None, defaults, is_end_user=is_end_user)
    return cached[1]


_deployment_quotas: dict[bool, tuple[tuple[Mapping[str, float], ...], Quotas]] = {}


def _quotas(own: TenantLimits | None, defaults: tuple[Mapping[str, float], ...], *, is_end_user: bool) -> Quotas:
    of_tenants, of_members, of_end_users = defaults
    member = _limits("member", own, of_members)
    if is_end_user:
        # Without limits of their own, end users have the deployment's or those of members, whichever are lower.
        lower = {
            name: min((limit for limit in (of_end_users.get(name, 0), member[name]) if limit), default=0)
            for name in NAMES
        }
        member = _limits("end_user", own, lower)
    return Quotas(_quota("tenant", _limits("tenant", own, of_tenants)), _quota("member", member))


def _limits(prefix: str, own: TenantLimits | None, defaults: Mapping[str, float]) -> dict[str, float]:
    """Return each limit as the tenant's columns with this prefix have it, else its default."""
    columns = {name: getattr(own, f"{prefix}_{name}", None) for name in NAMES}
    return {name: defaults.get(name, 0) if number is None else number for name, number in columns.items()}


def _quota(scope: Scope, limits: Mapping[str, float]) -> Quota:
    numbers = {name: limit * MILLIONTHS if name.startswith("cost") else limit for name, limit in limits.items()}
    return Quota(scope, **{name: int(number) for name, number in numbers.items()})


class QuotaReached(Refused):
    """A quota is used up until `resets_at`; the message says so and can be shown to the user.

    `quota` is the limit's name, such as `messages_per_day`, and `limit` its value (cost in millionths).
    """

    def __init__(self, quota: Quota, name: str, resets_at: datetime) -> None:
        self.scope, self.quota, self.limit = quota.scope, name, int(getattr(quota, name))
        super().__init__("quota_exceeded", _sentence(self.scope, name, self.limit, resets_at), resets_at=resets_at)


def _sentence(scope: Scope, name: str, limit: int, resets_at: datetime) -> str:
    what, window = window_of(name)
    if what == "cost":
        amount = _("%(amount)s of cost") % {"amount": number_format(limit / MILLIONTHS, 2, force_grouping=True)}
    else:
        amount = _AMOUNTS[what] % {"count": limit, "amount": number_format(limit, force_grouping=True)}
    reached = _REACHED[scope, window] % {"amount": amount}
    more = _("There is more from %(time)s on.") % {"time": format_timestamp(resets_at)}
    return f"{reached} {more}"


_AMOUNTS = {
    "messages": ngettext_lazy("%(amount)s message", "%(amount)s messages", "count"),
    "tokens": ngettext_lazy("%(amount)s token", "%(amount)s tokens", "count"),
    "tool_calls": ngettext_lazy("%(amount)s tool call", "%(amount)s tool calls", "count"),
}
_REACHED: dict[tuple[Scope, Window], Any] = {
    ("tenant", "minute"): gettext_lazy("Your organisation has reached its limit of %(amount)s a minute."),
    ("tenant", "day"): gettext_lazy("Your organisation has reached its limit of %(amount)s a day."),
    ("tenant", "month"): gettext_lazy("Your organisation has reached its limit of %(amount)s a month."),
    ("member", "minute"): gettext_lazy("You have reached your limit of %(amount)s a minute."),
    ("member", "day"): gettext_lazy("You have reached your limit of %(amount)s a day."),
    ("member", "month"): gettext_lazy("You have reached your limit of %(amount)s a month."),
}
