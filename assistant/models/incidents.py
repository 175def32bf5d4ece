"""Incidents: tool results with another tenant's rows, for the operator to investigate."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.tenants import Tenant


class Incident(models.Model):
    """A tool result that contained another tenant's row and was withheld from the model."""

    tenant = models.ForeignKey(Tenant, verbose_name=_("tenant"), on_delete=models.CASCADE, related_name="incidents")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), null=True, on_delete=models.SET_NULL, related_name="+"
    )
    tool = models.CharField(_("tool"), max_length=64)
    run_id = models.CharField(max_length=200, blank=True)
    call_id = models.CharField(max_length=128, blank=True)
    description = models.TextField(_("description"))
    is_resolved = models.BooleanField(_("resolved"), default=False)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["tenant", "-created_at"], name="incidents_of_a_tenant")]

    def __str__(self) -> str:
        return f"{self.tool}: {self.description[:80]}"
