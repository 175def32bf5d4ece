"""Incidents: tool results with another tenant's rows, for the operator to investigate."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from assistant.models.tenants import Tenant


class Incident(models.Model):
    """A tool result that contained another tenant's row and was withheld from the model."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="incidents")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    tool = models.CharField(max_length=64)
    run_id = models.CharField(max_length=200, blank=True)
    call_id = models.CharField(max_length=128, blank=True)
    description = models.TextField()
    is_resolved = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["tenant", "-created_at"], name="incidents_of_a_tenant")]

    def __str__(self) -> str:
        return f"{self.tool}: {self.description[:80]}"
