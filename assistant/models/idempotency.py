"""Stored responses to requests with an `Idempotency-Key`, so that a repeated request has no second effect."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from assistant.models.tenants import Tenant


class IdempotentAnswer(models.Model):
    """The response to a member's request with an `Idempotency-Key`; without a status the request is in progress."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text=_("SHA-256 of the method, the address and the body."))
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("stored answer")
        verbose_name_plural = _("stored answers")
        ordering = ["-created_at"]
        constraints = [models.UniqueConstraint(fields=["tenant", "user", "key"], name="idempotency_key_per_member")]
        indexes = [models.Index(fields=["created_at"], name="idempotent_answers_by_age")]

    def __str__(self) -> str:
        return self.key
