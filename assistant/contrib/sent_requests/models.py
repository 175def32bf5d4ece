"""What models were sent, and for which tenants it is kept."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.fields import EncryptedTextField


class Keeping(models.Model):
    """Until when what models are sent for a tenant is kept."""

    tenant = models.OneToOneField("assistant.Tenant", on_delete=models.CASCADE, related_name="+")
    until = models.DateTimeField(help_text=_("Set by operators, for a day at most."))

    class Meta:
        verbose_name = _("keeping of sent requests")
        verbose_name_plural = _("keeping of sent requests")

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.until:%Y-%m-%d %H:%M}"


class KeptRequest(models.Model):
    """One request as it was sent to a model, kept for a few days where an operator has switched that on."""

    tenant = models.ForeignKey("assistant.Tenant", on_delete=models.CASCADE, related_name="kept_requests")
    run = models.ForeignKey("assistant.Run", on_delete=models.CASCADE, related_name="kept_requests")
    number = models.PositiveIntegerField(help_text=_("Counts the requests of the run from 1."))
    provider = models.CharField(max_length=100)
    model = models.CharField(max_length=200)
    size = models.PositiveIntegerField(help_text=_("Bytes of the whole request."))
    content = EncryptedTextField(help_text=_("The body: JSON, or its beginning if it was too long to keep."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("kept request")
        verbose_name_plural = _("kept requests")
        ordering = ["run", "number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="kept_request_number_per_run")]
        indexes = [models.Index(fields=["created_at"], name="kept_requests_by_age")]

    def __str__(self) -> str:
        return f"{self.model}, request {self.number}"
