"""Retention: how long a tenant's records are kept. `manage.py assistant_apply_retention` deletes older ones."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.tenants import Tenant


def _days(name: Any, help_text: Any) -> models.PositiveIntegerField[int | None, int | None]:
    at_least = [MinValueValidator(1)]
    return models.PositiveIntegerField(name, null=True, blank=True, validators=at_least, help_text=help_text)


class Retention(models.Model):
    """A tenant's retention periods; `effective` applies the deployment's default and maximum."""

    tenant = models.OneToOneField(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="retention")
    conversations = _days(
        _("conversations"),
        _(
            "Since the last message; includes runs, tool calls and files. In days; empty: as long as "
            "the deployment says."
        ),
    )
    tool_calls = _days(
        _("tool calls"),
        _(
            "Arguments and results; the tool, caller, time and outcome are kept. In days; empty: as long as "
            "the deployment says."
        ),
    )
    files = _days(_("files"), _("Files that tools returned. In days; empty: as long as the deployment says."))
    deliveries = _days(
        _("deliveries"), _("Messages to webhooks and the responses. In days; empty: as long as the deployment says.")
    )
    audit = _days(
        _("audit"),
        _("Audit entries, incidents, and what has ended. In days; empty: as long as the deployment says."),
    )

    class Meta:
        verbose_name = verbose_name_plural = _("retention")

    def __str__(self) -> str:
        return f"Retention of {self.tenant}"

    def clean(self) -> None:
        """Reject periods above the deployment's maximum."""
        limit = settings.ASSISTANT_RETENTION_MAX_DAYS
        over = [name for name in KINDS if limit and (getattr(self, name) or 0) > limit]
        if over:
            problem = _("This deployment keeps nothing for longer than %(days)d days.") % {"days": limit}
            raise ValidationError(dict.fromkeys(over, problem))


KINDS = ("conversations", "tool_calls", "files", "deliveries", "audit")


def effective(own: Retention | None, kind: str) -> int | None:
    """Return for how many days records of a kind are kept; None means forever."""
    days = (getattr(own, kind) if own else None) or settings.ASSISTANT_RETENTION_DEFAULT_DAYS
    limits = [number for number in (days, settings.ASSISTANT_RETENTION_MAX_DAYS) if number]
    return min(limits, default=None)
