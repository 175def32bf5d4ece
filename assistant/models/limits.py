"""Limits of a tenant and its members per minute, day and month, and what they have used."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from assistant.models.assistants import Provider
from assistant.models.files import Attachment
from assistant.models.tenants import Tenant, validate_same_tenant

_EMPTY = _("Empty: the deployment's. 0: no limit.")


def _number(name: Any) -> models.PositiveBigIntegerField[int | None, int | None]:
    return models.PositiveBigIntegerField(name, null=True, blank=True, help_text=_EMPTY)


def _money(name: Any) -> models.DecimalField[Any, Any]:
    return models.DecimalField(
        name,
        max_digits=14,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
        help_text=_("In the currency of the providers' prices. Empty: the deployment's. 0: no limit."),
    )


def validate_kinds(value: str) -> None:
    """Raise `ValidationError` unless a text names kinds of attachments, or is "none"."""
    unknown = set(value.replace(",", " ").split()) - {*Attachment.Kind.values, "none"}
    if unknown:
        names = ", ".join(sorted(unknown))[:100]
        raise ValidationError(_("These are no kinds of attached files: %(names)s.") % {"names": names})


class TenantLimits(models.Model):
    """A tenant's limits: for all of its members together, for each member, and for each end user.

    An end user has the limits of members, except for those that end users have of their own. The model that answers
    above the soft threshold is about the limit `tenant_cost_per_month`.
    """

    tenant = models.OneToOneField(Tenant, on_delete=models.CASCADE, related_name="limits")
    tenant_messages_per_minute = _number(_("messages a minute"))
    tenant_messages_per_day = _number(_("messages a day"))
    tenant_tokens_per_day = _number(_("tokens a day"))
    tenant_tokens_per_month = _number(_("tokens a month"))
    tenant_cost_per_day = _money(_("cost a day"))
    tenant_cost_per_month = _money(_("cost a month"))
    tenant_tool_calls_per_day = _number(_("tool calls a day"))
    tenant_connections = _number(_("open connections"))
    tenant_runs = _number(_("runs at once"))
    tenant_turns = models.PositiveBigIntegerField(
        _("turns in the queue"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_("How many of its queued runs start for one of another tenant. Empty: 1."),
    )
    member_messages_per_minute = _number(_("messages a minute"))
    member_messages_per_day = _number(_("messages a day"))
    member_tokens_per_day = _number(_("tokens a day"))
    member_tokens_per_month = _number(_("tokens a month"))
    member_cost_per_day = _money(_("cost a day"))
    member_cost_per_month = _money(_("cost a month"))
    member_tool_calls_per_day = _number(_("tool calls a day"))
    member_connections = _number(_("open connections"))
    member_runs = _number(_("runs at once"))
    end_user_messages_per_minute = _number(_("messages a minute"))
    end_user_runs = _number(_("runs at once"))
    attachments_mb = _number(_("attached files in all (MB)"))
    attachment_mb = _number(_("one attached file (MB)"))
    attachments_per_message = _number(_("files of a message"))
    attachment_kinds = models.CharField(
        _("kinds of attached files"),
        max_length=100,
        blank=True,
        default="",
        db_default="",
        validators=[validate_kinds],
        help_text=_(
            "Of image, pdf, docx, xlsx, pptx and text. Empty: the deployment's. none: nobody can attach files."
        ),
    )
    soft_percent = models.PositiveSmallIntegerField(
        _("another model from (%)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_("Of the limit of cost a month. Empty: never."),
    )
    soft_provider = models.ForeignKey(
        Provider,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("provider of that model"),
        help_text=_("Empty: the one that would answer otherwise."),
    )
    soft_model = models.CharField(
        _("that model"),
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=_("Empty: the provider's default model."),
    )

    class Meta:
        verbose_name = verbose_name_plural = _("limits")

    def __str__(self) -> str:
        return f"Limits of {self.tenant}"

    def clean(self) -> None:
        super().clean()
        validate_same_tenant(self, self.tenant_id, "soft_provider")
        if self.soft_percent and self.soft_provider_id is None and not self.soft_model:
            raise ValidationError({"soft_model": _("Choose the model that answers, its provider, or both.")})


def _of(scope: str) -> tuple[str, ...]:
    names = (field.name for field in TenantLimits._meta.fields)
    return tuple(name for name in names if name.startswith(f"{scope}_"))


OF_TENANT, OF_MEMBER, OF_END_USER = _of("tenant"), _of("member"), _of("end_user")
# Of these, only operators set those that are about space.
OF_ATTACHMENT_SPACE = ("attachment_mb", "attachments_mb")
OF_ATTACHMENTS = ("attachment_kinds", "attachments_per_message", *OF_ATTACHMENT_SPACE)


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
    day_cost = models.BigIntegerField(default=0, help_text=_("In millionths of the currency's unit."))
    day_tool_calls = models.BigIntegerField(default=0)
    month_at = models.DateTimeField()
    month_tokens = models.BigIntegerField(default=0)
    month_cost = models.BigIntegerField(default=0, help_text=_("In millionths of the currency's unit."))
    # Name of a limit -> when it first refused something in the current window, as an ISO 8601 time.
    refused_at = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()), blank=True)

    class Meta:
        verbose_name = _("use of a limit")
        verbose_name_plural = _("uses of limits")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="one_quota_use_per_member"),
            # SQLite has no NULLS NOT DISTINCT.
            models.UniqueConstraint(fields=["tenant"], condition=Q(user=None), name="one_quota_use_per_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.day_messages} messages on {self.day_at:%Y-%m-%d}"
