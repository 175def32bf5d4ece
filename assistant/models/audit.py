"""The audit trail: who changed which switch, prompt, key or setting."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.tenants import Tenant


class AuditEntry(models.Model):
    """One change by an operator or a member; never contains a secret."""

    tenant = models.ForeignKey(
        Tenant, verbose_name=_("tenant"), null=True, on_delete=models.CASCADE, related_name="audit_entries"
    )
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("actor"), null=True, on_delete=models.SET_NULL, related_name="+"
    )
    action = models.CharField(_("action"), max_length=64)
    target = models.CharField(_("target"), max_length=200)
    details = models.JSONField(_("details"), default=dict)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("audit entry")
        ordering = ["-created_at"]
        verbose_name_plural = _("audit entries")
        indexes = [
            models.Index(fields=["tenant", "-created_at"], name="audit_of_a_tenant"),
            models.Index(fields=["-created_at"], name="audit_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target}"
