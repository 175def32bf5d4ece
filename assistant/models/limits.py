"""Limits of a tenant and its members per minute, day and month, and what they have used."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from assistant.models.tenants import Tenant

_EMPTY = "Empty: the deployment's. 0: no limit."


def _number(name: str) -> models.PositiveBigIntegerField[int | None, int | None]:
    return models.PositiveBigIntegerField(name, null=True, blank=True, help_text=_EMPTY)


def _money(name: str) -> models.DecimalField[Any, Any]:
    return models.DecimalField(
        name,
        max_digits=14,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
        help_text=f"In the currency of the providers' prices. {_EMPTY}",
    )


class TenantLimits(models.Model):
    """A tenant's limits: for all of its members together, and for each member."""

    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, related_name="limits")
    tenant_messages_per_minute = _number("messages a minute")
    tenant_messages_per_day = _number("messages a day")
    tenant_tokens_per_day = _number("tokens a day")
    tenant_tokens_per_month = _number("tokens a month")
    tenant_cost_per_day = _money("cost a day")
    tenant_cost_per_month = _money("cost a month")
    tenant_tool_calls_per_day = _number("tool calls a day")
    tenant_connections = _number("open connections")
    member_messages_per_minute = _number("messages a minute")
    member_messages_per_day = _number("messages a day")
    member_tokens_per_day = _number("tokens a day")
    member_tokens_per_month = _number("tokens a month")
    member_cost_per_day = _money("cost a day")
    member_cost_per_month = _money("cost a month")
    member_tool_calls_per_day = _number("tool calls a day")
    member_connections = _number("open connections")

    class Meta:
        verbose_name = verbose_name_plural = "limits"

    def __str__(self) -> str:
        return f"Limits of {self.tenant}"


def _of(scope: str) -> tuple[str, ...]:
    names = (field.name for field in TenantLimits._meta.fields)
    return tuple(name for name in names if name.startswith(f"{scope}_"))


OF_TENANT, OF_MEMBER = _of("tenant"), _of("member")


class QuotaUse(models.Model):
    """What a tenant (if `user` is null) or a member used in its latest minute, day and month.

    Days and months are in UTC. Tokens and cost include the reservations of unfinished runs. Rows exist only where a
    limit applies; one that was deleted is recomputed from runs, usage and tool calls.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="quota_uses")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    minute_at = models.DateTimeField()
    minute_messages = models.BigIntegerField(default=0)
    day_at = models.DateTimeField()
    day_messages = models.BigIntegerField(default=0)
    day_tokens = models.BigIntegerField(default=0)
    day_cost = models.BigIntegerField(default=0, help_text="In millionths of the currency's unit.")
    day_tool_calls = models.BigIntegerField(default=0)
    month_at = models.DateTimeField()
    month_tokens = models.BigIntegerField(default=0)
    month_cost = models.BigIntegerField(default=0, help_text="In millionths of the currency's unit.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="one_quota_use_per_member"),
            # SQLite has no NULLS NOT DISTINCT.
            models.UniqueConstraint(fields=["tenant"], condition=Q(user=None), name="one_quota_use_per_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.day_messages} messages on {self.day_at:%Y-%m-%d}"
